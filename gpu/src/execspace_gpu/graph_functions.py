"""The driver's functions for graphs, which CuPy has not for every platform, by ctypes.

Work is captured: what is enqueued on a stream meanwhile becomes nodes of a graph, in the order
that streams and events give it.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from execspace import SpaceError
from execspace.base.dataclass import dataclass

_RELAXED = 2  # mode of capture: this thread may allocate meanwhile, and others do what they like


class GraphError(Exception):
    """A function of the driver failed; `status` is what it returned."""

    def __init__(self, function: str, status: int) -> None:
        super().__init__(f"{function} returned {status}")
        self.status = status


@dataclass(frozen=True)
class GraphNames:
    """Where a platform has its functions for graphs.

    Attributes
    ----------
    libraries : tuple of str
        Names of the shared library, of which the first that there is counts.
    begin, end, instantiate, launch, update, destroy_exec, destroy : str
        Names of ``cuStreamBeginCapture`` and of those for the same on this platform.
    """

    libraries: tuple[str, ...]
    begin: str
    end: str
    instantiate: str
    launch: str
    update: str
    destroy_exec: str
    destroy: str


CUDA_GRAPHS = GraphNames(
    ("nvcuda.dll",) if sys.platform == "win32" else ("libcuda.so.1", "libcuda.so"),
    "cuStreamBeginCapture_v2",
    "cuStreamEndCapture",
    "cuGraphInstantiateWithFlags",
    "cuGraphLaunch",
    "cuGraphExecUpdate_v2",
    "cuGraphExecDestroy",
    "cuGraphDestroy",
)
HIP_GRAPHS = GraphNames(
    ("libamdhip64.so", "libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5"),
    "hipStreamBeginCapture",
    "hipStreamEndCapture",
    "hipGraphInstantiateWithFlags",
    "hipGraphLaunch",
    "hipGraphExecUpdate",
    "hipGraphExecDestroy",
    "hipGraphDestroy",
)

_POINTER, _INT = ctypes.c_void_p, ctypes.c_int
_OUT = ctypes.POINTER(ctypes.c_void_p)


class GraphFunctions:
    """Graphs of a platform: capture, instantiate, launch, update, destroy.

    All raise `GraphError`, but `launch`, which returns the status, and `destroy` and
    `destroy_exec`, which have nobody to tell.
    """

    def __init__(self, names: GraphNames, library: Any = None) -> None:
        found = _library(names.libraries) if library is None else library

        def function(name: str, *arguments: Any) -> Any:
            made = getattr(found, name)
            made.argtypes, made.restype = arguments, _INT
            return made

        self._begin = function(names.begin, _POINTER, _INT)
        self._end = function(names.end, _POINTER, _OUT)
        self._instantiate = function(names.instantiate, _OUT, _POINTER, ctypes.c_ulonglong)
        self._update = function(names.update, _POINTER, _POINTER, _POINTER, _POINTER)
        self.launch: Callable[[int, int], int] = function(names.launch, _POINTER, _POINTER)
        self.destroy_exec: Callable[[int], int] = function(names.destroy_exec, _POINTER)
        self.destroy: Callable[[int], int] = function(names.destroy, _POINTER)
        self._names = names

    def begin(self, stream: int) -> None:
        """Begin to capture a stream."""
        self._check(self._names.begin, self._begin(stream, _RELAXED))

    def end(self, stream: int) -> int:
        """End it; returns the graph."""
        made = ctypes.c_void_p()
        self._check(self._names.end, self._end(stream, ctypes.byref(made)))
        return made.value or 0

    def instantiate(self, graph: int) -> int:
        """An executable graph."""
        made = ctypes.c_void_p()
        status = self._instantiate(ctypes.byref(made), graph, 0)
        self._check(self._names.instantiate, status)
        return made.value or 0

    def update(self, executable: int, graph: int) -> bool:
        """Have an executable graph do what a graph of the same form does; False if the forms
        differ."""
        # CUDA's takes one pointer, to three words, and HIP's two, to a word each.
        room = (ctypes.c_ulonglong * 8)()
        first = ctypes.addressof(room)
        return bool(self._update(executable, graph, first, first + 32) == 0)

    @staticmethod
    def _check(function: str, status: int) -> None:
        if status:
            raise GraphError(function, status)


@cache
def graph_functions(names: GraphNames) -> GraphFunctions:
    """The functions of a platform, loaded once."""
    return GraphFunctions(names)


def _library(names: Sequence[str]) -> Any:
    for name in names:
        try:
            return ctypes.CDLL(name)
        except OSError:
            continue
    raise SpaceError(f"Graphs: none of the libraries {', '.join(names)} can be loaded.")
