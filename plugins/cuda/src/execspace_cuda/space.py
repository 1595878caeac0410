"""The CUDA space: one GPU, the legacy default stream, and streams of their own as instances."""

from __future__ import annotations

import threading
import weakref
from collections import deque
from collections.abc import Sequence
from contextlib import AbstractContextManager
from functools import cached_property
from typing import Any

import cupy
from cupy_backends.cuda.api import runtime

from execspace import (
    Capabilities,
    ExecutionSpace,
    Kernel,
    LaunchSpec,
    MemorySpace,
    Plan,
    TeamLimits,
    View,
    config,
)
from execspace.tiles import fitted_tile, table_of
from execspace_compiler.blocks import Limits
from execspace_compiler.gpu_tiles import gpu_tiles

from .build import Program
from .devices import ERRORS, Faults, name_of, number_of, on_device
from .memory import DeviceMemory, ForeignMemory, ManagedMemory, PinnedMemory, StagingMemory
from .sorting import Sorts

_MOST_HELD = 64  # launches of an instance whose Views are held before it is asked what is done
_MOST_LABELS = 64  # that the report of a fault may name


class CudaSpace(Sorts, ExecutionSpace):
    """Runs kernels on an NVIDIA GPU.

    Launches are asynchronous. The space itself works on CUDA's legacy default stream, as CuPy,
    PyTorch and Numba do unless told otherwise, so work on shared arrays is in order. `instance`
    makes a stream that waits for no other one.

    Attributes
    ----------
    number : int
        Of the device, as CUDA counts.
    stream : int
        The driver's handle; 0 is the legacy default stream.
    units : int
        Multiprocessors of the device.
    capability : str
        Compute capability: "90" for 9.0.
    """

    default_layout = "left"
    tiles = gpu_tiles("cuda")
    capabilities = Capabilities(
        asynchronous=True, float16=True, atomic_bytes=8, ordered_reductions=False
    )

    def __init__(self, number: int, parent: CudaSpace | None = None) -> None:
        self.number = number
        self.parent = parent
        self.name = "cuda" if number == 0 else f"cuda:{number}"
        self.recent: dict[str, None] = {}  # kernels that were launched since the last fence
        self._held: list[Any] = []
        self._done: deque[tuple[Any, list[Any]]] = deque()
        self._seen = -1
        if parent is None:
            self._instances: weakref.WeakSet[CudaSpace] = weakref.WeakSet()
            self._busy: set[CudaSpace] = set()  # instances that hold Views, dropped or not
            self._lock = threading.RLock()  # reentrant for the garbage collector's sake
            self.faults = Faults(number)
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
        self.blocking = bool(config.get_bool("CUDA_BLOCKING"))
        self.alone = int(runtime.getDeviceCount()) == 1

    @property
    def root(self) -> CudaSpace:
        """The space that this is an instance of, or itself."""
        return self.parent or self

    @property
    def memory_space(self) -> MemorySpace:
        return self.memory

    @property
    def memory_spaces(self) -> tuple[MemorySpace, ...]:
        return (self.memory, self.managed, self.pinned)

    @cached_property
    def units(self) -> int:
        return int(self.device.attributes["MultiProcessorCount"])

    @cached_property
    def capability(self) -> str:
        return str(self.device.compute_capability)

    @property
    def concurrency(self) -> int:
        return self.units * int(self.device.attributes["MaxThreadsPerMultiProcessor"])

    @cached_property
    def shared(self) -> int:
        """Bytes of shared memory that a block may ask for."""
        return int(self.device.attributes["MaxSharedMemoryPerBlockOptin"])

    def team_limits(self) -> TeamLimits:
        from .teams import limits_of

        return limits_of(self)

    @cached_property
    def limits(self) -> Limits:
        """Largest blocks and grids."""
        found = self.device.attributes
        block, grid = (
            tuple(int(found[f"Max{what}Dim{axis}"]) for axis in "XYZ") for what in ("Block", "Grid")
        )
        return Limits(int(found["MaxThreadsPerBlock"]), block, grid)  # type: ignore[arg-type]

    def default_tile(
        self, rank: int, iterate: str, extents: Sequence[int], access: str = "stencil"
    ) -> tuple[int, ...] | None:
        return fitted_tile(table_of(self), rank, iterate, extents, access)

    @cached_property
    def description(self) -> str:
        """The device in words."""
        return name_of(self.number)

    def compile(self, kernel: Kernel, spec: LaunchSpec) -> Plan:
        from .launch import compile_plan

        return compile_plan(self, kernel, spec)

    def view_of(self, source: Any, label: str) -> View:
        from .interop import wrap

        return wrap(self, source, label)

    def fence(self, label: str = "") -> None:
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

    def instance(self) -> CudaSpace:
        """A stream of its own on the same device; Views of the device are shared."""
        try:
            made = CudaSpace(self.number, self.root)
        except ERRORS as error:
            raise self.fault("A new instance", error) from error
        with self._lock:
            self._instances.add(made)
        return made

    # -- for the parts of this plugin -------------------------------------------------------------

    def current(self) -> AbstractContextManager[None]:
        """Make the device that of the calling thread for the time of a block."""
        return on_device(self.number)

    def _everyone(self) -> list[CudaSpace]:
        with self._lock:
            return list(dict.fromkeys((self.root, *self._instances, *self._busy)))

    def fault(self, what: str, error: Any) -> Exception:
        """The exception for an error of CUDA."""
        launches = [name for space in self._everyone() for name in list(space.recent)]
        return self.faults.exception(what, error, launches)

    def note(self, name: str) -> None:
        """Remember a launch with a label, of which there may be any number."""
        self.recent[name] = None
        while len(self.recent) > _MOST_LABELS:
            self.recent.pop(next(iter(self.recent)), None)

    def synchronize(self, what: str) -> None:
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


_made: weakref.WeakValueDictionary[int, CudaSpace] = weakref.WeakValueDictionary()
_lock = threading.Lock()


def space_of(name: str | None) -> CudaSpace:
    """The space of a device, made once: "cuda" and "cuda:0" are the same one."""
    number = number_of(name)
    with _lock:
        found = _made.get(number)
        if found is None:
            found = _made[number] = CudaSpace(number)
        return found
