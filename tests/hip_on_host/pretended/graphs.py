"""Graphs of the pretended driver: work on captured streams is kept, and done when it is replayed.

The functions are those of a shared library with the name of ROCm's, as the plugin calls them. What
the real one refuses is refused: other threads' captures, work that is not joined, and events from
outside.
"""

from __future__ import annotations

import ctypes
import itertools
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from . import machine
from .compiling import own_folder, shared_library

Work = Callable[[], None]
_INVALID, _UNJOINED, _ISOLATION = 1, 904, 905


@dataclass
class _Capture:
    """What is captured: streams, work in order, and what each stream and event comes after."""

    origin: int
    streams: dict[int, set[int]] = field(default_factory=dict)  # -> numbers of the work before
    events: dict[int, set[int]] = field(default_factory=dict)
    work: list[Work] = field(default_factory=list)


_captures: list[_Capture] = []
_graphs: dict[int, list[Work]] = {}
_executables: dict[int, list[Work]] = {}
_handles = itertools.count(0x70000)


def _of_stream(stream: int) -> _Capture | None:
    return next((c for c in _captures if stream in c.streams), None)


def captured(stream: int, work: Work) -> bool:
    """Keep work for a graph, if its stream is captured."""
    found = _of_stream(stream)
    if found is None:
        return False
    found.streams[stream].add(len(found.work))
    found.work.append(work)
    return True


def recorded(event: int, stream: int) -> None:
    """An event was recorded."""
    found = _of_stream(stream)
    for capture in _captures:
        capture.events.pop(event, None)
    if found is not None:
        found.events[event] = set(found.streams[stream])


def awaited(stream: int, event: int) -> None:
    """A stream waits for an event; of another capture, or of none, a captured one cannot."""
    own = _of_stream(stream)
    other = next((c for c in _captures if event in c.events), None)
    if own is not None and other is not own:
        raise machine.CUDARuntimeError(_ISOLATION, "an event from outside of the capture")
    if other is not None:
        other.streams.setdefault(stream, set()).update(other.events[event])


def is_captured(stream: int) -> bool:
    """Whether a stream is captured, so that nobody can wait for it."""
    return _of_stream(stream) is not None


def _begin(stream: int, mode: int, *_: int) -> int:
    if _of_stream(stream) is not None or mode != 2 or not stream:
        return _INVALID
    _captures.append(_Capture(stream, {stream: set()}))
    return 0


def _end(stream: int, graph: int, *_: int) -> int:
    found = _of_stream(stream)
    if found is None or found.origin != stream:
        return _INVALID
    _captures.remove(found)
    if found.streams[stream] != set(range(len(found.work))):
        return _UNJOINED
    _store(graph, _graphs, found.work)
    return 0


def _store(place: int, where: dict[int, list[Work]], work: list[Work]) -> None:
    handle = next(_handles)
    where[handle] = list(work)
    ctypes.c_void_p.from_address(place).value = handle


def _instantiate(made: int, graph: int, flags: int, *_: int) -> int:
    if graph not in _graphs or flags:
        return _INVALID
    _store(made, _executables, _graphs[graph])
    return 0


def _launch(executable: int, stream: int, *_: int) -> int:
    if executable not in _executables:
        return _INVALID
    for work in _executables[executable]:
        work()
    return 0


def _update(executable: int, graph: int, node: int, result: int) -> int:
    if not node or not result or len(_graphs[graph]) != len(_executables[executable]):
        return 910
    _executables[executable] = list(_graphs[graph])
    return 0


def _destroy_exec(executable: int, *_: int) -> int:
    return 0 if _executables.pop(executable, None) is not None else _INVALID


def _destroy(graph: int, *_: int) -> int:
    return 0 if _graphs.pop(graph, None) is not None else _INVALID


_Function = ctypes.CFUNCTYPE(ctypes.c_int, *[ctypes.c_void_p] * 4)


def _given(function: Callable[..., int]) -> Any:
    return _Function(lambda *args: function(*(a or 0 for a in args)))


_functions = tuple(
    map(_given, (_begin, _end, _instantiate, _launch, _update, _destroy_exec, _destroy))
)


def load() -> ctypes.CDLL:
    """Load the library, so that who asks for ROCm's gets it."""
    made = shared_library("graphs.c", "libamdhip64.so", own_folder())
    library = ctypes.CDLL(str(made), ctypes.RTLD_GLOBAL)
    library._es_give.argtypes = (ctypes.c_int, ctypes.c_void_p)
    for n, function in enumerate(_functions):
        library._es_give(n, ctypes.cast(function, ctypes.c_void_p))
    return library


LIBRARY = load()
