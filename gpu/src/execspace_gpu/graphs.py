"""Graphs of a GPU: launches are captured into one of the driver's, and replayed by one call.

What a launch needs beside its arguments (scratch memory of reductions, status of scans) belongs to
the graph for as long as it lives, so that launches outside of it never meet it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any, cast

import cupy
from cupy_backends.cuda.api import runtime

from execspace import EnqueuedWork, GraphLaunch, Plan, View
from execspace_compiler.backend import Call, CallBuilder, CapturedLaunch, DeviceLaunch, Frame

from .device_space import DeviceSpace
from .devices import ERRORS_OR_MEMORY, NO_CONTEXT
from .graph_functions import GraphError, GraphFunctions
from .interop import ForeignArray, after, before
from .launch import GpuCallBuilder, GpuLaunch, GpuPlan
from .program import Program

_FAULTS: tuple[type[Exception], ...] = (GraphError, *ERRORS_OR_MEMORY)
_LEGACY = (0, 1)  # handles of the legacy default stream
_Caller = Callable[[int, tuple[int, ...], tuple[Any, ...]], object]
_MOST_STREAMS = 32  # of a capture; with more branches some run one after another


class GpuGraph:
    """Launches that are replayed by calling it; see `execspace.SupportsGraphs.instantiate`."""

    def __init__(
        self, space: DeviceSpace, functions: GraphFunctions, launches: Sequence[GraphLaunch]
    ) -> None:
        self._space, self._functions = space, functions
        self._turn = threading.Lock()
        self._callers: dict[int, tuple[GpuPlan, CapturedGpuLaunch, Call]] = {}
        self._executable: _Executable | None = None
        self._aside: _Aside | None = None
        self.renew(launches)

    def renew(self, launches: Sequence[GraphLaunch]) -> None:
        """Have later replays do these launches."""
        space = self._space
        with self._turn:
            self._launches = tuple(launches)
            self._foreign = [
                a
                for one in launches
                for a in one.args
                if isinstance(a, View) and isinstance(a.allocation.owner, ForeignArray)
            ]
            self._names = list(dict.fromkeys(f"'{_name(one)}'" for one in launches))
            enqueues = any(isinstance(one.plan, EnqueuedWork) for one in launches)
            try:
                with space.current():
                    self._aside = _Aside() if enqueues and int(space.stream) in _LEGACY else None
                    graph = self._captured()
                    try:
                        # What libraries enqueue may belong to one graph, and is not updated.
                        known = None if enqueues else self._executable
                        if known is None or not self._functions.update(known.handle, graph):
                            made = self._functions.instantiate(graph)
                            self._executable = _Executable(self._functions, made)
                    finally:
                        self._functions.destroy(graph)
            except _FAULTS as error:
                raise space.fault("A graph", error) from error

    def __call__(self) -> None:
        """Replay."""
        space, queue = self._space, self._space.queue
        with self._turn, space.current():
            executable = self._executable
            assert executable is not None
            if space.parent is not None:
                queue.await_allocations()
            streams = before(space, self._foreign) if self._foreign else None
            queue.recent.update(dict.fromkeys(self._names))
            aside = self._aside
            stream = space.stream if aside is None else aside.begun(space.stream)
            status = self._functions.launch(executable.handle, stream)
            if status in NO_CONTEXT:  # the calling thread has none yet
                runtime.setDevice(space.number)
                status = self._functions.launch(executable.handle, stream)
            if aside is not None:
                aside.ended(space.stream)
            if status:
                raise space.fault("A graph", GraphError("launch", status))
            if self._foreign:
                after(space, streams)
            queue.hold(executable, self._launches)

    # -- capture ----------------------------------------------------------------------------------

    def _captured(self) -> int:
        """The graph of the launches; the device is current."""
        capture = _Capture(self._space.number)
        calls = [self._caller(one.plan, capture) for one in self._launches]
        for _, launch, _ in self._callers.values():
            launch.used.clear()
        self._functions.begin(capture.origin.ptr)
        try:
            capture.fork()
            for one, call in zip(self._launches, calls, strict=True):
                stream = capture.stream_after(one.after)
                call(int(stream.ptr), one.bounds, one.args)
                capture.enqueued(stream)
            capture.join()
        except BaseException:
            graph = _ended(self._functions, int(capture.origin.ptr))
            if graph:
                self._functions.destroy(graph)
            raise
        return self._functions.end(capture.origin.ptr)

    def _caller(self, plan: Plan, capture: _Capture) -> _Caller:
        """What enqueues launches of a plan on a stream."""
        if isinstance(plan, EnqueuedWork):
            return lambda stream, bounds, args: plan.enqueue(stream)
        known = self._callers.get(id(plan))
        if known is None:
            made = cast(GpuPlan, plan)
            own = CapturedGpuLaunch.of(made.device_launch)
            known = self._callers[id(plan)] = made, own, own.caller()
        _, launch, call = known

        def enqueue(stream: int, bounds: tuple[int, ...], args: tuple[Any, ...]) -> None:
            launch.space.stream = stream
            call(bounds, args)

        return enqueue


def _name(one: GraphLaunch) -> str:
    plan: Any = one.plan
    return str(plan.name if isinstance(plan, EnqueuedWork) else plan.kernel.name)


class _Aside:
    """A stream that takes turns with the legacy default stream, on which graphs of what libraries
    enqueue, such as NCCL, take milliseconds."""

    def __init__(self) -> None:
        self._stream: Any = cupy.cuda.Stream(non_blocking=True)
        self._events = [cupy.cuda.Event(disable_timing=True) for _ in range(2)]

    def begun(self, home: int) -> int:
        """The stream, after what another one was given."""
        stream = int(self._stream.ptr)
        _follow(self._events[0], home, stream)
        return stream

    def ended(self, home: int) -> None:
        """Have that one come after this."""
        _follow(self._events[1], int(self._stream.ptr), home)


def _follow(event: Any, first: int, second: int) -> None:
    runtime.eventRecord(event.ptr, first)
    runtime.streamWaitEvent(second, event.ptr)


def _ended(functions: GraphFunctions, stream: int) -> int:
    """The graph of a capture that has failed, if there is one."""
    try:
        return functions.end(stream)
    except GraphError:
        return 0


class _Executable:
    """An executable graph of the driver, destroyed with this object."""

    def __init__(self, functions: GraphFunctions, handle: int) -> None:
        self._functions, self.handle = functions, handle

    def __del__(self) -> None:
        self._functions.destroy_exec(self.handle)


class _Capture:
    """Streams of a capture. What follows what, they tell by their order and by events."""

    def __init__(self, number: int) -> None:
        self.origin: Any = cupy.cuda.Stream(non_blocking=True)
        self._streams: list[Any] = [self.origin]
        self._last: list[int | None] = [None]  # the launch that each stream ends with
        self._events: list[Any] = []  # one after each launch
        self._begin: Any = None

    def fork(self) -> None:
        """Mark the beginning, after which all streams come."""
        self._begin = _event(self.origin)

    def stream_after(self, after: Sequence[int]) -> Any:
        """A stream that is ordered after some launches, by their numbers."""
        place = self._place(after)
        stream = self._streams[place]
        for n in after:
            if n != self._last[place]:
                runtime.streamWaitEvent(int(stream.ptr), self._events[n].ptr)
        self._last[place] = len(self._events)
        return stream

    def _place(self, after: Sequence[int]) -> int:
        for place, last in enumerate(self._last):
            if last in after or (last is None and not after):
                return place
        if len(self._streams) == _MOST_STREAMS:
            return len(self._events) % _MOST_STREAMS
        stream = cupy.cuda.Stream(non_blocking=True)
        runtime.streamWaitEvent(int(stream.ptr), self._begin.ptr)
        self._streams.append(stream)
        self._last.append(None)
        return len(self._streams) - 1

    def enqueued(self, stream: Any) -> None:
        """A launch was enqueued."""
        self._events.append(_event(stream))

    def join(self) -> None:
        """Order the end of the first stream after all others."""
        for last in self._last[1:]:
            assert last is not None
            runtime.streamWaitEvent(int(self.origin.ptr), self._events[last].ptr)


def _event(stream: Any) -> Any:
    event = cupy.cuda.Event(disable_timing=True)
    event.record(stream)
    return event


class CapturedGpuLaunch(CapturedLaunch[Program], GpuLaunch):
    """A launch that is captured, on the stream that `space` has at the moment.

    Attributes
    ----------
    space : DeviceSpace
        A copy, whose stream is another one.
    home : DeviceSpace
        Where the graph is replayed.
    """

    home: DeviceSpace

    def taken_over(self, launch: DeviceLaunch[Program]) -> None:
        if isinstance(launch, CapturedGpuLaunch):
            self.space, self.home = launch.space, launch.home
        else:
            assert isinstance(launch, GpuLaunch)
            self.space, self.home = _like(launch.space), launch.space

    def call_builder(self, named: bool = True) -> CallBuilder:
        return _CapturedCallBuilder(self)

    def room(self, frame: Frame, units: int) -> tuple[int, int]:
        """As for a first launch: each replay finds the status of tiles cleared."""
        space, home = self.space, self.home
        nbytes = self.room_bytes(units)
        frame.give("scratch", self.allocate(nbytes, 0))
        with home.current():
            runtime.memsetAsync(frame.extra["scratch"].ptr, 0, nbytes, space.stream)
        return self.groups(units), 1

    def allocate(self, nbytes: int, zeros: int) -> Any:
        home = self.home
        try:
            with home.current(), home.stream_object:
                block = home.device.block(nbytes)
                if zeros:  # once, not at each replay: kernels leave it as it was
                    runtime.memsetAsync(block.ptr, 0, zeros, home.stream)
        except ERRORS_OR_MEMORY as error:
            raise self.fault(error) from error
        return block


def _like(space: DeviceSpace) -> DeviceSpace:
    """An object like a space; `copy` would give the space itself, as a pickle of it does."""
    made = object.__new__(type(space))
    made.__dict__.update(space.__dict__)
    return made


class _CapturedCallBuilder(GpuCallBuilder):
    """Asks for the stream at each call, and leaves order with others to the graph."""

    stream = "space.stream"

    def __init__(self, launch: CapturedGpuLaunch) -> None:
        super().__init__(launch, named=False)
        self.instance, self.foreign = False, []


def instantiate(
    space: DeviceSpace,
    functions: GraphFunctions,
    launches: Sequence[GraphLaunch],
    earlier: Callable[[], None] | None,
) -> Callable[[], None]:
    """As `execspace.SupportsGraphs.instantiate`."""
    if isinstance(earlier, GpuGraph):
        earlier.renew(launches)
        return earlier
    return GpuGraph(space, functions, launches)
