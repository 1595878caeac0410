"""Compilation through the cache on disk, as all backends do it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Generic, TypeVar

from execspace import Kernel, LaunchSpec
from execspace.base.dataclass import dataclass

from . import disk

T = TypeVar("T")


@dataclass(frozen=True)
class Compiled(Generic[T]):
    """Compiled code.

    Attributes
    ----------
    loaded : Any
        The loaded code.
    path : Path, optional
        Its entry in the cache; None where a driver keeps what it has compiled itself.
    from_disk : bool
        The entry existed.
    """

    loaded: T
    path: Path | None
    from_disk: bool

    @property
    def kept(self) -> bool | None:
        """A plan's attribute `kept`."""
        return None if self.path is None else disk.is_kept(self.path)

    def describe(self, kernel: Kernel, in_process: bool = False) -> tuple[str, str]:
        """A plan's attribute `cache`. `in_process`: this process had loaded it before."""
        from .history import describe_entry

        if self.path is None:
            return "", "the driver keeps what it has built, and does not tell of it"
        hit = "in this process" if in_process else "on disk" if self.from_disk else ""
        return describe_entry(self.path.parent, self.path.stem, kernel, hit)


def compiled(
    kind: str,
    parts: Sequence[str],
    make: Callable[[], tuple[bytes, T]],
    load: Callable[[bytes, Path], T],
    *,
    package: str,
    refused: tuple[type[Exception], ...] = (),
    suffix: str = ".bin",
    launch: tuple[Kernel, LaunchSpec] | None = None,
    tools: Mapping[str, str] | None = None,
) -> Compiled[T]:
    """Load code from the cache, or compile and store it; blocks.

    Parameters
    ----------
    kind : str
        Folder of the cache: the name of the backend.
    parts : sequence of str
        All that the code depends on: source, options, version of the compiler, device. The code of
        execspace and of the backend's package is included automatically.
    make : callable
        Compiles; returns the bytes to store, and the loaded code.
    load : callable
        Loads code from stored bytes and their path.
    package : str
        The backend's package, on whose code the result depends.
    refused : tuple of exception types
        `load` raises them if a driver or a system no longer accepts the bytes; the code is then
        compiled again.
    launch : (Kernel, LaunchSpec), optional
        What is compiled, to record why it was not in the cache. `tools` are names and versions to
        compare for that, besides those of execspace.
    """
    folder = disk.folder(kind)
    path = folder / f"{disk.key(*parts, package=package)}{suffix}"
    content = disk.read(path)
    if content is not None:
        try:
            return Compiled(load(content, path), path, True)
        except refused:
            disk.discard(path)
    content, loaded = make()
    disk.keep(path, content)
    if launch is not None:
        from .history import record_miss  # needed only when something is compiled

        versions = {**(tools or {}), "execspace": disk.compiler_version()}
        record_miss(folder, path.stem, *launch, versions)
    disk.limit_size(folder)
    return Compiled(loaded, path, False)
