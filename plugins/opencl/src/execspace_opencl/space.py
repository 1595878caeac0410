"""The OpenCL space: a device, a queue on it, and further queues as instances."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import pyopencl as cl

from execspace import (
    HOST,
    Capabilities,
    GraphLaunch,
    Kernel,
    LaunchSpec,
    MemorySpace,
    Plan,
    ReductionResult,
    TeamLimits,
)
from execspace.base import config
from execspace.contract.ordering import Event
from execspace.contract.tiles import NO_TILES, fitted_tile, table_of
from execspace_compiler.backend import gpu_tiles

from .device import Device, DeviceSpace
from .devices import driver_error
from .drivers.ending import remember
from .memory import BufferMemory, SharedMemory
from .queue import Queue
from .timing import Mark

if TYPE_CHECKING:
    from execspace.contract.space import CandidateGenerator


class OpenCL(DeviceSpace):
    """Runs kernels on an OpenCL device.

    Launches are asynchronous where all Views are in memory of the device. On a device that is
    the host's own processor kernels take host memory as well, without a copy; such a launch
    returns when it is done, because nobody fences before he reads a NumPy array.

    Attributes
    ----------
    device : Device
        What instances share.
    queue : Queue
        Its own; `queue.handle` is pyopencl's.
    found : Found
        Number, name and platform of the device.
    units : int
        Its compute units.
    memory : MemorySpace
        Its buffers.
    """

    def __init__(self, device: Device, queue: Queue, memories: tuple[MemorySpace, ...]) -> None:
        remember(self)
        self.device, self.queue = device, queue
        self.name, self.found, self.units = device.name, device.found, device.units
        self.memory, *_ = self._memories = memories
        self.default_layout = "left" if device.flat or config.is_portable("opencl") else "right"
        self.tiles = gpu_tiles("opencl") if device.flat else NO_TILES
        self.capabilities = Capabilities(
            asynchronous=not device.takes_host,
            float16=True,
            atomic_bytes=8,
            ordered_reductions=not device.flat,
            hints=("work_items",) if device.flat else (),
        )

    @property
    def memory_space(self) -> MemorySpace:
        return HOST if self.device.takes_host else self.memory

    @property
    def memory_spaces(self) -> tuple[MemorySpace, ...]:
        return self._memories

    @property
    def concurrency(self) -> int:
        return self.units * 2048 if self.device.flat else self.units

    @property
    def max_total_tile_size(self) -> int | None:
        return self.device.traits.limits.threads if self.device.flat else None

    def team_limits(self) -> TeamLimits:
        return self.device.traits.team_limits()

    def default_tile(
        self, rank: int, iterate: str, extents: Sequence[int], access: str = "stencil"
    ) -> tuple[int, ...] | None:
        return fitted_tile(table_of(self), rank, iterate, extents, access)

    def tuning_candidates(self, plan: Any, bounds: tuple[int, ...]) -> list[CandidateGenerator]:
        from execspace_compiler.backend import device_candidates

        return device_candidates(plan, bounds)

    def compile(self, kernel: Kernel, spec: LaunchSpec) -> Plan:
        from .launch import compile_plan

        return compile_plan(self, kernel, spec)

    def result_of(self, kernel: Kernel, spec: LaunchSpec) -> ReductionResult:
        from execspace_compiler.backend import result_of

        # Not shared memory, which the host reads: only buffers outlive a View that is dropped while
        # work on another queue than the default one is under way.
        return result_of(kernel, spec, self.memory)

    def can_replay(self, plan: Plan) -> bool:
        from .launch import OpenCLPlan

        if not isinstance(plan, OpenCLPlan) or plan.space is not self:
            return False
        return not plan.device_launch.watched

    def instantiate(
        self, launches: Sequence[GraphLaunch], earlier: Callable[[], None] | None
    ) -> Callable[[], None]:
        from .graphs import OpenCLGraph

        return OpenCLGraph(self, launches)

    def synchronize(self, label: str = "") -> None:
        self.device.synchronize(self.queue)

    def instance(self) -> OpenCL:
        """A queue of its own on the same device; Views of the device are shared."""
        return OpenCL(self.device, self.device.new_queue(), self._memories)

    def record_event(self) -> Any:
        try:
            return self.queue.record()
        except cl.Error as error:
            raise driver_error("An event", self.found, error) from error

    def event_passed(self, handle: Any) -> bool:
        status = int(handle.command_execution_status)
        if status < 0:  # OpenCL's code of what went wrong
            self.await_event(handle)
        return status == int(cl.command_execution_status.COMPLETE)

    def await_event(self, handle: Any) -> None:
        try:
            handle.wait()
        except cl.Error as error:
            raise driver_error("An event", self.found, error) from error

    def wait_in_queue(self, event: Event) -> bool:
        if not isinstance(event.space, OpenCL) or event.space.device is not self.device:
            return False  # events of another context mean nothing here
        try:
            self.queue.wait_for(event.handle)
        except cl.Error as error:
            raise driver_error("wait_for", self.found, error) from error
        return True

    def mark(self) -> Mark:
        return self.queue.mark(self.device.clock)

    def time_of(self, mark: Mark) -> float | None:
        return self.device.clock.time_of(mark)


def space_of(name: str | None) -> OpenCL:
    """The space of a device, in a context of its own."""
    device = Device(name)
    memories: list[MemorySpace] = [BufferMemory(device)]
    if device.found.has_svm(cl.device_svm_capabilities.FINE_GRAIN_BUFFER):
        memories.append(SharedMemory(device))
    if device.takes_host:
        memories.append(HOST)
    return OpenCL(device, device.default, tuple(memories))
