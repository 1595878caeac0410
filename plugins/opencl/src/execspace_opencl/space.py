"""The OpenCL space: one device, an in-order queue, and further queues as instances."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING, Any

import pyopencl as cl

from execspace import (
    HOST,
    Capabilities,
    ExecutionSpace,
    Kernel,
    LaunchSpec,
    MemorySpace,
    Plan,
    SpaceError,
    TeamLimits,
    profiling,
)
from execspace.base import config
from execspace.contract.tiles import NO_TILES, fitted_tile, table_of
from execspace_compiler.backend import OPENCL, OPENCL_NVIDIA, Limits, Traits, gpu_tiles

from .devices import Found, choose, driver_error
from .drivers.ending import remember
from .memory import Buffer, BufferMemory, Mover
from .svm import SharedMemory, has_svm, has_system_svm
from .timing import Clock, Mark

if TYPE_CHECKING:
    from execspace.contract.space import CandidateGenerator

_GROUP = 128  # work-items of a group of a parallel_for on a GPU
_TIMED = cl.command_queue_properties.PROFILING_ENABLE


class OpenCL(ExecutionSpace):
    """Runs kernels on an OpenCL device.

    Launches are asynchronous where all Views are in memory of the device. On a device that is
    the host's own processor kernels take host memory as well, without a copy; such a launch
    returns when it is done, because nobody fences before he reads a NumPy array.

    Attributes
    ----------
    flat : bool
        One call of the kernel for each work-item (GPUs), not a contiguous part (CPUs).
    takes_host : bool
        Kernels take memory of the host.
    takes_addresses : bool
        They take it by its address, whoever allocated it.
    """

    def __init__(self, device: str | None = None, parent: OpenCL | None = None) -> None:
        remember(self)
        self._instances: weakref.WeakSet[OpenCL] = weakref.WeakSet()
        self._lock = threading.Lock()
        self.turn = threading.RLock()  # of threads of the host, at the queue
        self._clock: Clock | None = None
        self._mover: Mover | None = None
        self.parent = parent
        self.found: Found = choose(device) if parent is None else parent.found
        self.name = "opencl" if device is None else f"opencl:{device}"
        self.context: Any = cl.Context([self.found.device]) if parent is None else parent.context
        if parent is not None:
            self.name = parent.name
        self.memory: BufferMemory = BufferMemory(self) if parent is None else parent.memory
        self.device = self.found.device
        shared = SharedMemory(self) if parent is None and has_svm(self.device) else None
        self.shared: SharedMemory | None = shared if parent is None else parent.shared
        self.takes_host: bool = _takes_host(self.found) if parent is None else parent.takes_host
        self.takes_addresses = self.takes_host and has_system_svm(self.device)
        self._plain = cl.CommandQueue(self.context, self.device)
        self._timed: Any = None
        self.queue: Any = self._plain
        self.flat = _is_flat(self.found)
        self.default_layout = "left" if self.flat else "right"
        self.tiles = gpu_tiles("opencl") if self.flat else NO_TILES
        self.capabilities = Capabilities(
            asynchronous=not self.takes_host,
            float16="cl_khr_fp16" in self.device.extensions,
            atomic_bytes=8,
            ordered_reductions=not self.flat,
        )

    @property
    def memory_space(self) -> MemorySpace:
        return HOST if self.takes_host else self.memory

    @property
    def memory_spaces(self) -> tuple[MemorySpace, ...]:
        shared = () if self.shared is None else (self.shared,)
        host = (HOST,) if self.takes_host else ()
        return (self.memory, *shared, *host)

    @property
    def concurrency(self) -> int:
        units = int(self.device.max_compute_units)
        return units * 2048 if self.flat else units

    @property
    def units(self) -> int:
        """Compute units of the device."""
        return int(self.device.max_compute_units)

    @cached_property
    def traits(self) -> Traits:
        """What the source of kernels depends on."""
        nvidia = "NVIDIA" in self.device.platform.name
        shared = int(self.device.local_mem_size)
        dialect = OPENCL_NVIDIA if nvidia else OPENCL
        return Traits("OpenCL", dialect, self.flat, self.limits, _GROUP, shared, shared)

    def team_limits(self) -> TeamLimits:
        return self.traits.team_limits()

    @cached_property
    def limits(self) -> Limits:
        """Largest groups, and grids: drivers do not tell; these are what GPUs launch."""
        sizes = (*(int(n) for n in self.device.max_work_item_sizes), 1, 1)[:3]
        most = int(self.device.max_work_group_size)
        return Limits(most, sizes, (2**31 - 1, 65535, 65535))  # type: ignore[arg-type]

    def default_tile(
        self, rank: int, iterate: str, extents: Sequence[int], access: str = "stencil"
    ) -> tuple[int, ...] | None:
        return fitted_tile(table_of(self), rank, iterate, extents, access)

    def queue_of(self, instance: ExecutionSpace | None) -> Any:
        """The queue that work for an instance goes to."""
        return instance.queue if isinstance(instance, OpenCL) else self.queue

    @contextmanager
    def in_turn(self, instance: ExecutionSpace | None) -> Iterator[Any]:
        """That queue, for several commands: meanwhile no other one takes its place."""
        owner = instance if isinstance(instance, OpenCL) else self
        with owner.turn:
            yield owner.queue

    @property
    def mover(self) -> Mover:
        """The kernel that copies between layouts, built when it is first needed."""
        with self._lock:
            if self._mover is None:
                self._mover = Mover(self.context)
            return self._mover

    @cached_property
    def nothing(self) -> Buffer:
        """What kernels get for a View without elements."""
        return Buffer(self.context, cl.mem_flags.READ_WRITE, 16)

    def compile(self, kernel: Kernel, spec: LaunchSpec) -> Plan:
        from .launch import compile_plan

        return compile_plan(self, kernel, spec)

    def synchronize(self, label: str = "") -> None:
        with self._lock:
            spaces = [self, *self._instances]
        try:
            for space in spaces:
                space.queue.finish()
                if not profiling.TIMED:  # no tool wants times any more
                    space._go_on_with(space._plain)
                else:
                    space.clock.compare()
        except cl.Error as error:
            raise driver_error("A fence", self.found, error) from error

    def tuning_candidates(self, plan: Any, bounds: tuple[int, ...]) -> Sequence[CandidateGenerator]:
        from execspace_compiler.backend import device_candidates

        return device_candidates(plan, bounds)

    def mark(self) -> Mark:
        clock = self.clock
        with self.turn:
            if self._timed is None:
                self._timed = cl.CommandQueue(self.context, self.device, properties=_TIMED)
            self._go_on_with(self._timed)
            return clock.mark(self._timed)

    def _go_on_with(self, queue: Any) -> None:
        """Work goes to another queue from now on, in order with all before.

        Events of one of the two have times, and a launch costs more there.
        """
        with self.turn:
            if self.queue is queue:
                return
            before = cl.enqueue_marker(self.queue)
            self.queue.flush()
            cl.enqueue_barrier(queue, wait_for=[before])
            self.queue = queue

    def time_of(self, mark: Mark) -> float | None:
        return self.clock.time_of(mark)

    @property
    def clock(self) -> Clock:
        """Tells when queues passed marks."""
        root = self.parent or self
        with root._lock:
            if root._clock is None:
                root._clock = Clock(self.context, self.device, self.found.is_cpu)
            return root._clock

    def instance(self) -> OpenCL:
        """A queue of its own on the same device; Views of the device are shared."""
        root = self.parent or self
        made = OpenCL(parent=root)
        with root._lock:
            root._instances.add(made)
        return made


def _is_flat(found: Found) -> bool:
    """The mapping for a device: EXECSPACE_OPENCL_MAPPING, else by its type."""
    chosen = config.get("OPENCL_MAPPING")
    if chosen not in (None, "flat", "chunked"):
        raise SpaceError(
            f"EXECSPACE_OPENCL_MAPPING={chosen!r} is not a mapping; expected flat or chunked."
        )
    return not found.is_cpu if chosen is None else chosen == "flat"


def _takes_host(found: Found) -> bool:
    """Whether kernels take memory of the host: EXECSPACE_OPENCL_MEMORY, else on CPUs."""
    chosen = config.get("OPENCL_MEMORY")
    if chosen not in (None, "device", "host"):
        raise SpaceError(f"EXECSPACE_OPENCL_MEMORY={chosen!r}; expected device or host.")
    if chosen == "host" and not found.is_cpu:
        raise SpaceError(
            f"EXECSPACE_OPENCL_MEMORY=host: device {found} does not run kernels on memory of the "
            f"host; expected device."
        )
    return found.is_cpu and chosen != "device"
