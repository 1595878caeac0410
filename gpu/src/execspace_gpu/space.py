"""A space of one GPU: its default stream, and streams of their own as instances.

A plugin makes its space of `GpuExecutionSpace`, which says what it must tell of its platform. All
else that a launch needs is here and in the modules beside.
"""

from __future__ import annotations

import threading
import weakref
from abc import abstractmethod
from collections import deque
from contextlib import AbstractContextManager
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import cupy
from cupy_backends.cuda.api import runtime

from execspace import Kernel, LaunchSpec, MemorySpace, Plan, View
from execspace.base import config
from execspace_compiler.mapping.thread_blocks import Limits

from .claiming import Protocols
from .devices import ERRORS, Faults, name_of, number_of, on_device
from .forks import remember_space
from .memory import DeviceMemory, ForeignMemory, ManagedMemory, PinnedMemory, StagingMemory
from .program import Program
from .sorting import Sorts
from .texts import TextSpace
from .timing import Clock, Mark

if TYPE_CHECKING:
    from execspace.tuning import Stage

_MOST_HELD = 64  # launches of an instance whose Views are held before it is asked what is done
_MOST_LABELS = 64  # that the report of a fault may name


class GpuExecutionSpace(Sorts, TextSpace):
    """Runs kernels on a GPU, through CuPy.

    Launches are asynchronous. The space itself works on the legacy default stream, as CuPy,
    PyTorch and Numba do unless told otherwise, so work on shared arrays is in order. `instance`
    makes a stream that waits for no other one.

    A platform is a subclass, which is made of nothing but the number of a device and, for an
    instance, the space that it is an instance of. It gives:

    must: `protocols`, and what a `TextSpace` must. should: `tiles`, and `units`,
    `threads_per_unit`, `limits` and `shared` where CuPy has other attributes of a device than for
    CUDA. may: `has_async_pool`, `figures`, `description`, and what a `TextSpace` may.

    Attributes
    ----------
    has_async_pool : bool
        CuPy has the driver's stream-ordered pool. The plugin then declares EXECSPACE_<SHORT>_POOL;
        it always declares EXECSPACE_<SHORT>_BLOCKING.
    number : int
        Of the device, as the platform counts.
    stream : int
        The driver's handle; 0 is the legacy default stream.
    """

    has_async_pool: ClassVar[bool] = False

    def __init__(self, number: int, parent: GpuExecutionSpace | None = None) -> None:
        remember_space(self)
        self.number = number
        self.parent = parent
        self.name = self.short if number == 0 else f"{self.short}:{number}"
        self.recent: dict[str, None] = {}  # kernels that were launched since the last fence
        self._held: list[Any] = []
        self._done: deque[tuple[Any, list[Any]]] = deque()
        self._seen = -1
        self._clock: Clock | None = None
        if parent is None:
            self._instances: weakref.WeakSet[GpuExecutionSpace] = weakref.WeakSet()
            self._busy: set[GpuExecutionSpace] = set()  # instances that hold Views, dropped or not
            self._lock = threading.RLock()  # reentrant for the garbage collector's sake
            self.faults = Faults(number, self.short, self.title)
            self.device = cupy.cuda.Device(number)
            self.stream_object: Any = cupy.cuda.Stream.null
            self.programs: dict[Any, Program] = {}
            self.allocations = 0  # counts Views that instances must wait for
            with self.device:
                self.allocated = cupy.cuda.Event(disable_timing=True)
            self.memory = DeviceMemory(self)
            self.foreign = ForeignMemory(self)
            self.managed = ManagedMemory(self)
            self.pinned = PinnedMemory(self)
            self.staging = StagingMemory(self)
        else:
            self._instances, self._lock = parent._instances, parent._lock
            self._busy = parent._busy
            self.faults, self.device, self.programs = parent.faults, parent.device, parent.programs
            with self.device:
                self.stream_object = cupy.cuda.Stream(non_blocking=True)
            self.memory, self.foreign = parent.memory, parent.foreign
            self.managed, self.pinned = parent.managed, parent.pinned
            self.staging = parent.staging
        self.stream = int(self.stream_object.ptr)
        self.blocking = bool(config.get_bool(self.variable("BLOCKING")))
        self.alone = int(runtime.getDeviceCount()) == 1

    # -- what a platform gives --------------------------------------------------------------------

    @property
    @abstractmethod
    def protocols(self) -> Protocols:
        """How arrays of other libraries on the platform tell of themselves; must."""

    def figures(self, program: Program, group: int) -> dict[str, dict[str, int]]:
        """What is known of each kernel of a program, launched in blocks of `group` threads, for
        `explain`; may. The device is current."""
        return program.figures(group, self.threads_per_unit)

    # From the names that CuPy for CUDA has for attributes of a device; all of them should.

    @cached_property
    def units(self) -> int:
        """Multiprocessors of the device."""
        return self.attribute("MultiProcessorCount")

    @property
    def threads_per_unit(self) -> int:
        """Threads that a multiprocessor runs at once."""
        return self.attribute("MaxThreadsPerMultiProcessor")

    @cached_property
    def shared(self) -> int:
        """Bytes of shared memory that a block may ask for."""
        return self.attribute("MaxSharedMemoryPerBlockOptin")

    @cached_property
    def limits(self) -> Limits:
        """Largest blocks and grids."""
        block, grid = (
            tuple(self.attribute(f"Max{what}Dim{axis}") for axis in "XYZ")
            for what in ("Block", "Grid")
        )
        return Limits(self.attribute("MaxThreadsPerBlock"), block, grid)  # type: ignore[arg-type]

    @cached_property
    def description(self) -> str:
        """The device in words; may."""
        return name_of(self.number)

    @property
    def clock(self) -> Clock:
        """Tells when marks were passed; the device must be current when it is made."""
        root = self.root
        if root._clock is None:
            with self._lock:
                root._clock = root._clock or Clock()
        return root._clock

    # -- what core asks for -----------------------------------------------------------------------

    @property
    def root(self) -> GpuExecutionSpace:
        """The space that this is an instance of, or itself."""
        return self.parent or self

    @property
    def memory_space(self) -> MemorySpace:
        return self.memory

    @property
    def memory_spaces(self) -> tuple[MemorySpace, ...]:
        return (self.memory, self.managed, self.pinned)

    @property
    def concurrency(self) -> int:
        return self.units * self.threads_per_unit

    def compile(self, kernel: Kernel, spec: LaunchSpec) -> Plan:
        from .launch import compile_plan

        return compile_plan(self, kernel, spec)

    def view_of(self, source: Any, label: str) -> View:
        from .interop import wrap

        return wrap(self, source, label)

    def synchronize(self, label: str = "") -> None:
        spaces = self._everyone() if self.parent is None else [self]
        held = [space.let_go() for space in spaces]
        try:
            with self.current():
                for space in spaces:
                    runtime.streamSynchronize(space.stream)
        except ERRORS as error:
            raise self.fault("A fence", error) from error
        del held
        for space in spaces:
            space.recent.clear()

    def instance(self) -> GpuExecutionSpace:
        """A stream of its own on the same device; Views of the device are shared."""
        try:
            made = type(self)(self.number, self.root)
        except ERRORS as error:
            raise self.fault("A new instance", error) from error
        with self._lock:
            self._instances.add(made)
        return made

    def tuning_stages(self, plan: Any, bounds: tuple[int, ...]) -> list[Stage]:
        from execspace_compiler.mapping.tuning_candidates import (
            device_stages,  # only what tunes needs it
        )

        return device_stages(plan, bounds, self.limits.threads, self.team_limits())

    def mark(self) -> Mark:
        if self.alone:
            return self.clock.mark(self.stream_object)
        with self.current():
            return self.clock.mark(self.stream_object)

    def time_of(self, mark: Mark) -> float | None:
        return self.clock.time_of(mark)

    # -- for the parts of this package ------------------------------------------------------------

    def attribute(self, name: str) -> int:
        """An attribute of the device, by the name that CuPy has for it."""
        return int(self.device.attributes[name])

    def variable(self, what: str) -> str:
        """Name of an environment variable of the platform, without the prefix."""
        return f"{self.short.upper()}_{what}"

    def current(self) -> AbstractContextManager[None]:
        """Make the device that of the calling thread for the time of a block."""
        return on_device(self.number)

    def _everyone(self) -> list[GpuExecutionSpace]:
        with self._lock:
            return list(dict.fromkeys((self.root, *self._instances, *self._busy)))

    def fault(self, what: str, error: Any) -> Exception:
        """The exception for an error of the platform."""
        launches = [name for space in self._everyone() for name in list(space.recent)]
        return self.faults.exception(what, error, launches)

    def note(self, name: str) -> None:
        """Remember a launch with a label, of which there may be any number."""
        self.recent[name] = None
        while len(self.recent) > _MOST_LABELS:
            self.recent.pop(next(iter(self.recent)), None)

    def synchronize_stream(self, what: str) -> None:
        """Wait for this stream; blocks."""
        try:
            runtime.streamSynchronize(self.stream)
        except ERRORS as error:
            raise self.fault(what, error) from error
        self.recent.clear()

    def await_allocations(self) -> None:
        """Order an instance after the zeros of Views that were allocated since it last looked."""
        root = self.root
        if self._seen != root.allocations:
            with self._lock:
                seen = root.allocations
                runtime.streamWaitEvent(self.stream, root.allocated.ptr)
                self._seen = seen

    def note_allocation(self) -> None:
        """Let instances wait for what was queued on the default stream for a new View."""
        root = self.root
        with self._lock:
            root.allocated.record(root.stream_object)
            root.allocations += 1

    def hold(self, *things: Any) -> None:
        """Keep objects alive until the work that is queued on this instance now is done.

        The default stream needs it for memory that is not freed in order with it.
        """
        with self._lock:
            held = self._held
            held.append(things)
            self._busy.add(self)
            if len(held) < _MOST_HELD:
                return
            event = cupy.cuda.Event(disable_timing=True)
            event.record(self.stream_object)
            self._held = []
            self._done.append((event, held))
            finished = []
            while len(self._done) > 1 and self._done[0][0].done:
                finished.append(self._done.popleft())
        del finished  # not under the lock: what is freed may run anything

    def let_go(self) -> Any:
        """What is held; to be dropped when the stream is done."""
        with self._lock:
            held, self._held = self._held, []
            done, self._done = self._done, deque()
            self._busy.discard(self)
        return held, done

    def release_held(self) -> None:
        """Wait for all instances and let go of what they hold; for want of memory. Blocks."""
        for space in self._everyone():
            held = space.let_go()
            runtime.streamSynchronize(space.stream)
            del held


_made: weakref.WeakValueDictionary[tuple[type, int], GpuExecutionSpace] = (
    weakref.WeakValueDictionary()
)
_lock = threading.Lock()


def space_of(kind: type[GpuExecutionSpace], name: str | None) -> GpuExecutionSpace:
    """The space of a platform's device, made once: "cuda" and "cuda:0" are the same one."""
    number = number_of(name, kind.short, kind.title)
    with _lock:
        found = _made.get((kind, number))
        if found is None:
            found = _made[kind, number] = kind(number)
        return found
