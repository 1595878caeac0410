"""A space of one GPU: its default stream, and streams of their own as instances.

A plugin makes its space of `GpuExecutionSpace`, which says what it must tell of its platform. All
else that a launch needs is here and in the modules beside.
"""

from __future__ import annotations

import threading
import weakref
from abc import abstractmethod
from contextlib import AbstractContextManager
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

from execspace import Kernel, LaunchSpec, MemorySpace, Plan, View
from execspace.base import config
from execspace_compiler.backend import Limits

from .claiming import Protocols
from .device import GpuDevice
from .devices import ERRORS, name_of, number_of
from .forks import remember_space
from .kind import GpuKind
from .memory import DeviceMemory, ForeignMemory, ManagedMemory, PinnedMemory, StagingMemory
from .program import Program
from .sorting import Sorts
from .timing import Mark

if TYPE_CHECKING:
    from execspace.contract.space import CandidateGenerator


class GpuExecutionSpace(Sorts, GpuKind):
    """Runs kernels on a GPU, through CuPy.

    Launches are asynchronous. The space itself works on the legacy default stream, as CuPy,
    PyTorch and Numba do unless told otherwise, so work on shared arrays is in order. `instance`
    makes a stream that waits for no other one.

    A platform is a subclass, which is made of nothing but the number of a device and, for an
    instance, the space that it is an instance of. It gives:

    must: `protocols`, and what a `GpuKind` must. should: `tiles`, and `units`,
    `threads_per_unit`, `limits` and `shared` where CuPy has other attributes of a device than for
    CUDA. may: `has_async_pool`, `resource_usage`, `description`, and what a `GpuKind` may.

    Attributes
    ----------
    has_async_pool : bool
        CuPy has the driver's stream-ordered pool. The plugin then declares EXECSPACE_<SHORT>_POOL;
        it always declares EXECSPACE_<SHORT>_BLOCKING.
    number : int
        Of the device, as the platform counts.
    device : GpuDevice
        What instances share.
    queue : Queue
        Its stream; `stream` is the driver's handle, 0 the legacy default stream.
    """

    has_async_pool: ClassVar[bool] = False

    def __init__(self, number: int, parent: GpuExecutionSpace | None = None) -> None:
        remember_space(self)
        self.number = number
        self.parent = parent
        self.name = self.short if number == 0 else f"{self.short}:{number}"
        if parent is None:
            self.device = GpuDevice(number, self.short, self.title)
            self.queue = self.device.default
            self.memory = DeviceMemory(self)
            self.foreign = ForeignMemory(self)
            self.managed = ManagedMemory(self)
            self.pinned = PinnedMemory(self)
            self.staging = StagingMemory(self)
        else:
            self.device = parent.device
            self.queue = self.device.new_queue()
            self.memory, self.foreign = parent.memory, parent.foreign
            self.managed, self.pinned = parent.managed, parent.pinned
            self.staging = parent.staging
        self.stream, self.stream_object = self.queue.stream, self.queue.stream_object
        self.blocking = bool(config.get_bool(self.variable("BLOCKING")))

    # -- what a platform gives --------------------------------------------------------------------

    @property
    @abstractmethod
    def protocols(self) -> Protocols:
        """How arrays of other libraries on the platform tell of themselves; must."""

    def resource_usage(self, program: Program, group: int) -> dict[str, dict[str, int]]:
        """What is known of each kernel of a program, launched in blocks of `group` threads, for
        `explain`; may. The device is current."""
        return program.resource_usage(group, self.threads_per_unit)

    # From the names that CuPy for CUDA has for attributes of a device; all of them should.

    @cached_property
    def units(self) -> int:
        """Multiprocessors of the device."""
        return self.device.attribute("MultiProcessorCount")

    @property
    def threads_per_unit(self) -> int:
        """Threads that a multiprocessor runs at once."""
        return self.device.attribute("MaxThreadsPerMultiProcessor")

    @cached_property
    def shared(self) -> int:
        """Bytes of shared memory that a block may ask for."""
        return self.device.attribute("MaxSharedMemoryPerBlockOptin")

    @cached_property
    def limits(self) -> Limits:
        """Largest blocks and grids."""
        block, grid = (
            tuple(self.device.attribute(f"Max{what}Dim{axis}") for axis in "XYZ")
            for what in ("Block", "Grid")
        )
        return Limits(self.device.attribute("MaxThreadsPerBlock"), block, grid)  # type: ignore[arg-type]

    @cached_property
    def description(self) -> str:
        """The device in words; may."""
        return name_of(self.number)

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
        queues = self.device.queues() if self.parent is None else [self.queue]
        try:
            self.device.synchronize(queues)
        except ERRORS as error:
            raise self.fault("A fence", error) from error

    def instance(self) -> GpuExecutionSpace:
        """A stream of its own on the same device; Views of the device are shared."""
        try:
            return type(self)(self.number, self.root)
        except ERRORS as error:
            raise self.fault("A new instance", error) from error

    def tuning_candidates(self, plan: Any, bounds: tuple[int, ...]) -> list[CandidateGenerator]:
        from execspace_compiler.backend import device_candidates

        return device_candidates(plan, bounds)

    def mark(self) -> Mark:
        if self.device.alone:
            return self.device.clock.mark(self.stream_object)
        with self.current():
            return self.device.clock.mark(self.stream_object)

    def time_of(self, mark: Mark) -> float | None:
        return self.device.clock.time_of(mark)

    # -- for the parts of this package ------------------------------------------------------------

    def variable(self, what: str) -> str:
        """Name of an environment variable of the platform, without the prefix."""
        return f"{self.short.upper()}_{what}"

    def current(self) -> AbstractContextManager[None]:
        """Make the device that of the calling thread for the time of a block."""
        return self.device.current()

    def fault(self, what: str, error: Any) -> Exception:
        """The exception for an error of the platform."""
        return self.device.fault(what, error)

    def synchronize_stream(self, what: str) -> None:
        """Wait for this stream; blocks."""
        try:
            self.queue.synchronize()
        except ERRORS as error:
            raise self.fault(what, error) from error


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
