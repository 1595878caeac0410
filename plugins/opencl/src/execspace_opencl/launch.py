"""Launches on an OpenCL device: how Views become arguments, and kernels are enqueued."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, cached_property
from typing import Any, ClassVar

import numpy as np
import pyopencl as cl

from execspace import HOST, Kernel, LaunchSpec, View, ViewType
from execspace.base.dataclass import dataclass
from execspace.contract.dtypes import dtype_of
from execspace_compiler.backend import (
    CallBuilder,
    DeviceCode,
    DeviceLaunch,
    DevicePlan,
    Frame,
    Grid,
)

from .device import Buffer, DeviceSpace
from .devices import driver_error
from .host_memory import WORD, address, give_back, lend, unit_of
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
        kernel, OpenCLLaunch.compile(space, device.traits, kernel, spec, f"device {device.found}")
    )


class LocalMemory(cl.LocalMemory):  # type: ignore[misc]
    """Memory of a group; of a class of our own there are weak references."""


class OpenCLCallBuilder(CallBuilder):
    """Views are buffers with an offset; of the host they are addresses, or lent for the launch."""

    def __init__(self, launch: OpenCLLaunch) -> None:
        super().__init__(launch.sources, launch.code, launch.watched)
        by_address = launch.space.device.takes_addresses
        self.by_address = launch.host if by_address else ()
        self.lent = () if by_address else launch.host

    def pointer(self, n: int) -> str:
        if n in self.by_address:
            return f"address(a{n}.data_ptr & {-WORD})"
        return (
            f"lent[{self.lent.index(n)}][0]" if n in self.lent else f"a{n}.allocation.owner.owner"
        )

    def first(self, n: int) -> str:
        size = unit_of(dtype_of(self.types[n].dtype))
        if n in self.by_address:
            return f"(a{n}.data_ptr & {WORD - 1}) // {size}" if size < WORD else "0"
        if n in self.lent:
            return f"lent[{self.lent.index(n)}][1] // {size}"
        return f"(a{n}.data_ptr - a{n}.allocation.pointer) // {size}"

    def pack(self, values: Sequence[str], pointers: Sequence[str]) -> list[str]:
        views = ", ".join(f"a{n}" for n in self.lent)
        lending = [f"lent = launch.lend([{views}])"] * bool(self.lent)
        return [*lending, *super().pack(values, pointers)]

    def scope(self) -> dict[str, Any]:
        return {**super().scope(), "address": address}


def size_of(grid: Grid) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """All work-items, and those of a group; dimensions that are not there cost time."""
    gx, gy, gz, bx, by, bz = grid
    if gy * by * gz * bz > 1:
        return (gx * bx, gy * by, gz * bz), (bx, by, bz)
    return (gx * bx,), (bx,)


class OpenCLLaunch(DeviceLaunch[Program]):
    """The programs of a plan, and frames with buffers."""

    space: DeviceSpace
    errors: ClassVar[tuple[type[Exception], ...]] = (cl.Error,)

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
        return self.space.device.buffer(nbytes, cl.mem_flags.ALLOC_HOST_PTR)

    group_memory = staticmethod(cache(LocalMemory))

    def read(self, memory: Buffer, nbytes: int) -> Any:
        found = np.empty(nbytes, np.uint8)
        cl.enqueue_copy(self.space.queue.handle, found, memory)  # blocks
        return found

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
