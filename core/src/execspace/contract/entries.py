"""What plugins announce: spaces, reducers, profiling tools, and health checks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..base.dataclass import dataclass
from .forward import Reducer
from .space import ExecutionSpace

__all__ = [
    "API_VERSION",
    "HealthCheck",
    "Probe",
    "ReducerEntry",
    "SpaceEntry",
    "ToolEntry",
]

API_VERSION = (0, 1)


@dataclass(frozen=True, slots=True)
class Probe:
    """Answer of a cheap look at the machine: usable, or why not and what to do.

    Attributes
    ----------
    usable : bool
    reason : str
        Why not, and what to do. Of a usable space it may say what is worth knowing.
    device : str
        What kernels would run on, in words: "host", "NVIDIA H200". Empty if only starting the
        space can tell.
    """

    usable: bool
    reason: str = ""
    device: str = ""


@dataclass(frozen=True, slots=True)
class SpaceEntry:
    """A space as a plugin announces it.

    Attributes
    ----------
    name : str
        Short name, used in `space="name"` and in EXECSPACE_DEFAULT.
    factory : callable
        ``factory(device: str | None) -> ExecutionSpace``; does the heavy imports.
    api_version : (int, int)
        Version of the contract that the plugin was written for: `execspace.API_VERSION`.
        Another major is refused, an older minor accepted.
    priority : int
        The usable space of highest priority is the default. Negative: never chosen unasked.
    probe : callable
        ``probe() -> Probe``; cheap, imports nothing heavy, never raises. May be called from any
        thread and more than once; EXECSPACE_PROBE_TIMEOUT limits its time.
    summary : str
        One line for `es.spaces()`.
    claims : callable
        ``claims(source) -> str | None``: name of the space, as `es.space` takes it, in whose
        memory an array of another library is; None if it is in none of this entry's. The space
        must be a `WrapsArrays`. Asked for each array that NumPy does not own, so it should be
        cheap, and imports nothing that the array's library has not imported.
    target : callable
        ``target(name) -> ExecutionSpace | None``: a space that compiles for a kind of device and
        launches nothing, so that no such device is needed; None for a name that it does not know.
        For ``explain(target="gfx942")``. May raise `SpaceUnavailableError` for want of a compiler.
    devices : callable
        ``devices() -> sequence of str``: what may follow "name:", for each device among which
        ranks of a host are divided, first that of the name alone; none if there is no choice.
        Called once `probe` has said "usable", and only under a launcher of several ranks.
    """

    name: str
    factory: Callable[[str | None], ExecutionSpace]
    api_version: tuple[int, int]
    priority: int = 0
    probe: Callable[[], Probe] = lambda: Probe(True)
    summary: str = ""
    claims: Callable[[Any], str | None] = lambda source: None
    target: Callable[[str], ExecutionSpace | None] = lambda name: None
    devices: Callable[[], Sequence[str]] = lambda: ()


@dataclass(frozen=True, slots=True)
class ReducerEntry:
    """A reducer that a plugin adds, usable as ``reducer="name"``."""

    name: str
    reducer: Reducer
    summary: str = ""


@dataclass(frozen=True, slots=True)
class ToolEntry:
    """A profiling tool that a plugin adds, chosen by name in EXECSPACE_TOOLS or `es.profile`.

    Attributes
    ----------
    name : str
    factory : callable
        Makes the tool, see `execspace.profiling.Tool`. Its parameters are the tool's options, which
        users give after the name, ``name:option=value``; all have defaults, and text is converted
        to the type of the default. ``name:value`` is for the first of them.
    summary : str
        One line for ``execspace run --list``.
    """

    name: str
    factory: Callable[..., Any]
    summary: str = ""


@dataclass(frozen=True, slots=True)
class HealthCheck:
    """A further row of `execspace doctor`.

    Attributes
    ----------
    name : str
        What is checked, in a few words: "CUDA driver".
    check : callable
        ``check() -> Probe``: `usable` says whether all is well, `reason` what was found, or what
        to do. It runs in a process of its own with a time limit, and may import what it needs.
    """

    name: str
    check: Callable[[], Probe]
