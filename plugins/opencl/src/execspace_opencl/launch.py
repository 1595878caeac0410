"""Launches on an OpenCL device: how Views become arguments, and kernels are enqueued."""

from __future__ import annotations

from functools import cache, cached_property
from typing import Any, ClassVar

import numpy as np
import pyopencl as cl
from pyopencl._cl import _enqueue_read_buffer as read_buffer  # without its search for a meaning

from execspace import HOST, Kernel, LaunchSpec, View, ViewType
from execspace.base.dataclass import dataclass
from execspace_compiler.backend import (
    CallBuilder,
    DeviceCode,
    DeviceLaunch,
    DevicePlan,
    Frame,
    Grid,
)

from .call_builder import OpenCLCallBuilder, size_of
from .device import Buffer, DeviceSpace
from .devices import driver_error
from .host_memory import give_back, lend
from .program import Program


@dataclass
class OpenCLPlan(DevicePlan):
    """A compiled launch; see `execspace.Plan`."""

    space: DeviceSpace
    device_launch: OpenCLLaunch

    @property
    def resource_usage(self) -> dict[str, dict[str, int]]:
        """What the driver says of each kernel."""
        return self.device_launch.usual.resource_usage

    @property
    def cache(self) -> tuple[str, str]:
        """Key of the entry in the cache on disk, and whether it was found."""
        return self.device_launch.usual.compiled.describe(self.kernel)

    @property
    def kept(self) -> bool | None:
        """Whether a later process finds it on disk."""
        return self.device_launch.usual.compiled.kept


def compile_plan(space: DeviceSpace, kernel: Kernel, spec: LaunchSpec) -> OpenCLPlan:
    """Compile `kernel` for the device; see `DeviceLaunch.compile`."""
    device = space.device
    return OpenCLPlan.of(
        kernel, OpenCLLaunch.compile(space, device.traits, kernel, spec, device.called)
    )


class ResultBuffer(Buffer):
    """Memory that kernels write and the host reads.

    Attributes
    ----------
    host : ndarray of uint8
        What was read last.
    """

    __slots__ = ("host",)

    def __init__(self, context: Any, nbytes: int) -> None:
        super().__init__(context, cl.mem_flags.READ_WRITE | cl.mem_flags.ALLOC_HOST_PTR, nbytes)
        self.host = np.empty(nbytes, np.uint8)


class LocalMemory(cl.LocalMemory):  # type: ignore[misc]
    """Memory of a group; of a class of our own there are weak references."""


class OpenCLLaunch(DeviceLaunch[Program]):
    """The programs of a plan, and frames with buffers."""

    space: DeviceSpace
    errors: ClassVar[tuple[type[Exception], ...]] = (cl.Error,)
    inlines = True
    """Whether generated code enqueues what is launched again with the same Views, by `again`."""
    again = staticmethod(cl.enqueue_nd_range_kernel)

    @property
    def units(self) -> int:
        return self.space.device.units

    def load(self, code: DeviceCode) -> Program:
        return Program(self.space.device, code)

    def enqueue(self, program: Program, number: int, grid: Grid, frame: Frame) -> None:
        self.check_group(program, grid)
        arguments, size = self.arguments(program, number, frame), size_of(grid)
        queue = self.space.queue
        with queue.turn:  # threads of the host share the arguments of kernels
            program.enqueue(queue.handle, number, frame.record, arguments, size)
            if self._given_back and number == len(program.kernels) - 1:
                for buffer in {frame.views[n] for n in self._given_back}:
                    give_back(queue.handle, buffer)

    @staticmethod
    def arguments(program: Program, number: int, frame: Frame) -> list[Any]:
        """What a kernel of a program takes after the record."""
        arguments: list[Any] = frame.views
        if frame.extra:
            arguments = [*arguments, *frame.extra.values()]
            if "result" in frame.extra and number < len(program.kernels) - 1:
                arguments.pop()
        return arguments

    def fault(self, error: Exception) -> Exception:
        return driver_error(f"Kernel '{self.name}'", self.space.device.found, error)

    # -- memory -----------------------------------------------------------------------------------

    def allocate(self, nbytes: int, zeros: int) -> Buffer:
        buffer = self.space.device.buffer(nbytes)
        if zeros:
            queue = self.space.queue
            with queue.turn:
                cl.enqueue_fill_buffer(queue.handle, buffer, np.uint8(0), 0, zeros)
        return buffer

    def allocate_result(self, nbytes: int) -> Buffer:
        return ResultBuffer(self.space.device.context, nbytes)

    group_memory = staticmethod(cache(LocalMemory))

    def read(self, memory: Buffer, nbytes: int) -> Any:
        found = np.empty(nbytes, np.uint8)
        cl.enqueue_copy(self.space.queue.handle, found, memory)  # blocks
        return found

    def awaited(self, frame: Frame) -> Any:
        """The result of a reduction that was enqueued; blocks."""
        result: ResultBuffer = frame.extra["result"]
        read_buffer(self.space.queue.handle, result, result.host, 0, is_blocking=True)
        return self.result(result.host)

    def wait(self) -> None:
        self.space.queue.handle.finish()

    # -- memory of the host -----------------------------------------------------------------------

    @cached_property
    def host(self) -> tuple[int, ...]:
        """Arguments that are Views in memory of the host."""
        types = (*self.spec.arguments, *self.spec.out)
        views = ((n, types[n]) for n in self.entry.buffers)
        return tuple(n for n, t in views if isinstance(t, ViewType) and t.memory == HOST.name)

    def call_builder(self) -> CallBuilder:
        return OpenCLCallBuilder(self)

    @property
    def watched(self) -> bool:
        """Nobody fences before he reads a NumPy array."""
        return bool(self.host) or super().watched

    def watch(self, program: Program, units: int, grid: Grid | None, frame: Frame) -> Any:
        try:
            return super().watch(program, units, grid, frame)
        except BaseException:
            if self.host:  # which may be gone when the caller has caught it
                self.wait()
            raise

    def lend(self, views: list[View]) -> list[tuple[Buffer, int]]:
        """Buffers over memory of the host."""
        return lend(self.space.device, views)

    @cached_property
    def _given_back(self) -> tuple[int, ...]:
        """Those lent that the kernel changes, as numbers of Views in a frame."""
        if self.space.device.takes_addresses:
            return ()
        changed = self.written.intersection(self.host)
        return tuple(position for position, n in enumerate(self.entry.buffers) if n in changed)
