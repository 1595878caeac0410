"""A device of this process: what a space and all its instances share."""

from __future__ import annotations

import threading
import weakref
from functools import cached_property
from typing import Any

import pyopencl as cl

from execspace import ExecutionSpace, SpaceError, profiling
from execspace.base import config
from execspace_compiler.backend import OPENCL, OPENCL_NVIDIA, Limits, Traits

from .devices import choose, driver_error
from .drivers.ending import remember_object
from .queue import Queue
from .timing import Clock

# Bytes of a group's memory that NVIDIA's GPUs keep for themselves. A launch on an H200 whose groups
# had all that the driver says, 48 KiB, failed with OUT_OF_RESOURCES.
_SYSTEM = 1024
_GROUP = 128  # work-items of a group of a parallel_for on a GPU


class Buffer(cl.Buffer):  # type: ignore[misc]
    """A buffer that can be remembered without being kept: pyopencl's own has no weak references."""

    __slots__ = ("__weakref__",)

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        remember_object(self)


class Device:
    """A device, with a context of its own.

    Parameters
    ----------
    name : str, optional
        As users write it after "opencl:".

    Attributes
    ----------
    found : Found
    name : str
        Of spaces that use it.
    called : str
        In messages.
    handle : pyopencl.Device
    context : pyopencl.Context
    units : int
        Compute units.
    flat : bool
        One call of a kernel for each work-item (GPUs), not a contiguous part (CPUs).
    takes_host : bool
        Kernels take memory of the host.
    takes_addresses : bool
        They take it by its address, whoever allocated it.
    buffers : dict
        What kernels take for memory of the device, by the address that Views have for it.
    default : Queue
        Of the space itself.
    """

    def __init__(self, name: str | None) -> None:
        self.found = found = choose(name)
        self.name = "opencl" if name is None else f"opencl:{name}"
        self.called = f"device {found}"  # in a forked child nobody may ask the driver
        mapping = _chosen("MAPPING", "flat", "chunked")
        memory = _chosen("MEMORY", "device", "host")
        if memory == "host" and not found.is_cpu:
            raise SpaceError(
                f"EXECSPACE_OPENCL_MEMORY=host: device {found} does not run kernels on memory of "
                f"the host; expected device."
            )
        if config.is_portable("opencl"):
            if memory == "host":
                raise SpaceError(
                    "EXECSPACE_OPENCL_MEMORY=host: kernels take memory of the host, which "
                    "EXECSPACE_CHECK=portable forbids; unset one of them."
                )
            memory = "device"
        self.flat = not found.is_cpu if mapping is None else mapping == "flat"
        self.takes_host = found.is_cpu and memory != "device"
        system = cl.device_svm_capabilities.FINE_GRAIN_SYSTEM
        self.takes_addresses = self.takes_host and found.has_svm(system)
        self.handle = found.device
        self.units = int(self.handle.max_compute_units)
        self.context = cl.Context([self.handle])
        self.buffers: dict[int, Any] = {}
        self._left: list[cl.Event] = []  # of queues that are gone, which may be at work yet
        self.default = Queue(self.context, self.handle, self._left)
        self._queues: weakref.WeakSet[Queue] = weakref.WeakSet()
        self._frees: cl.CommandQueue | None = None  # from when there are further queues
        self._lock = threading.RLock()  # reentrant for the garbage collector's sake
        self._clock: Clock | None = None

    def new_queue(self) -> Queue:
        """A further queue, for an instance."""
        made = Queue(self.context, self.handle, self._left)
        with self._lock:
            if self._frees is None:
                self._frees = cl.CommandQueue(self.context, self.handle)
            self._queues.add(made)
            made.wait_for(self.default.record())  # which zeroes Views that it may be given
        return made

    @property
    def has_further_queues(self) -> bool:
        """Whether it ever had another queue than the default one."""
        return self._frees is not None

    def _all(self) -> tuple[list[Queue], list[cl.Event]]:
        """Queues, the default one first, and ends of work of those that are gone."""
        with self._lock:
            self._left[:] = [end for end in self._left if not _is_over(end)]
            return [self.default, *self._queues], list(self._left)

    def free(self, block: cl.SVMAllocation) -> None:
        """Free shared memory once all queues are done with what they have been given so far."""
        if self._frees is None:
            block.enqueue_release(self.default.handle)
            return
        with self._lock:
            queues, left = self._all()
            ends = [queue.record() for queue in queues]
            block.enqueue_release(self._frees, wait_for=[*ends, *left])
            self._frees.flush()

    def synchronize(self, queue: Queue) -> None:
        """Wait for a queue, and for all if it is the default one; blocks."""
        queues, left = self._all() if queue is self.default else ([queue], [])
        timed = bool(profiling.TIMED)
        try:
            for one in queues:
                one.finish(timed)
            for end in left:
                end.wait()
            if timed:
                self.clock.compare()
        except cl.Error as error:
            raise driver_error("A fence", self.found, error) from error

    @property
    def clock(self) -> Clock:
        """Tells when queues passed marks; one for all threads, whose marks are compared."""
        with self._lock:
            if self._clock is None:
                self._clock = Clock(self.context, self.handle, self.found.is_cpu)
            return self._clock

    def buffer(self, nbytes: int, flags: int = 0) -> Buffer:
        """Memory that kernels read and write."""
        return Buffer(self.context, cl.mem_flags.READ_WRITE | flags, nbytes)

    @cached_property
    def nothing(self) -> Buffer:
        """What kernels get for a View without elements."""
        return self.buffer(16)

    @cached_property
    def traits(self) -> Traits:
        """What the source of kernels depends on.

        Drivers do not tell how large grids may be; these are what GPUs launch.
        """
        device = self.handle
        sizes = (*(int(n) for n in device.max_work_item_sizes), 1, 1)[:3]
        most, shared = int(device.max_work_group_size), int(device.local_mem_size)
        limits = Limits(most, sizes, (2**31 - 1, 65535, 65535))  # type: ignore[arg-type]
        dialect = OPENCL
        if "NVIDIA" in device.platform.name:
            dialect, shared = OPENCL_NVIDIA, shared - _SYSTEM
        return Traits("OpenCL", dialect, self.flat, limits, _GROUP, shared, shared)


def _is_over(end: cl.Event) -> bool:
    return int(end.command_execution_status) <= int(cl.command_execution_status.COMPLETE)


def _chosen(what: str, *known: str) -> str | None:
    """What the environment says of a device, None if nothing."""
    found = config.get(f"OPENCL_{what}")
    if found not in (None, *known):
        raise SpaceError(f"EXECSPACE_OPENCL_{what}={found!r}; expected {' or '.join(known)}.")
    return found


class DeviceSpace(ExecutionSpace):
    """A space as memories and launches see it.

    Attributes
    ----------
    device : Device
    queue : Queue
        Of this instance.
    """

    device: Device
    queue: Queue
