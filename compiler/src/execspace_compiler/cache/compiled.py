"""Code that a compiler makes of a source, by way of the cache on disk: what all backends do."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

from execspace import Kernel, LaunchSpec

from . import disk

T = TypeVar("T")


@dataclass(frozen=True)
class Compiled(Generic[T]):
    """Compiled code.

    Attributes
    ----------
    loaded : Any
        What came of it.
    path : Path, optional
        Its entry in the cache; None where a driver keeps what it has compiled itself.
    from_disk : bool
        It was there.
    """

    loaded: T
    path: Path | None
    from_disk: bool

    def describe(self, kernel: Kernel, in_process: bool = False) -> tuple[str, str]:
        """What a plan has as `cache`. `in_process`: this process had loaded it before."""
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
    """Load what the cache has, or compile and keep it; blocks.

    Parameters
    ----------
    kind : str
        Folder of the cache: the name of the backend.
    parts : sequence of str
        All that the code depends on: source, options, version of the compiler, device. The code of
        execspace and of the backend's package count by themselves.
    make : callable
        Compiles: the bytes to keep, and what is loaded of them.
    load : callable
        What is loaded of bytes that were kept, and of their path.
    package : str
        The backend's package, whose code what it compiles depends on.
    refused : tuple of exception types
        `load` raises them where a driver or a system takes the bytes no more; it is compiled again.
    launch : (Kernel, LaunchSpec), optional
        What is compiled, to note why it was not there. `tools` are names and versions that such a
        note compares, beside those of execspace.
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
        from .history import note_miss  # which only what compiles needs

        note_miss(folder, path.stem, *launch, {**(tools or {}), "execspace": disk.made_by()})
    disk.limit_size(folder)
    return Compiled(loaded, path, False)
