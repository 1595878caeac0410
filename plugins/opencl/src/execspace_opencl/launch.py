"""Launches on an OpenCL device: generated code built by its driver, and kernels enqueued."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar
from weakref import ref

import numpy as np
import pyopencl as cl

from execspace import HOST, Kernel, LaunchSpec, PolicyError, ViewType
from execspace.contract.dtypes import dtype_of
from execspace_compiler.backend import (
    Call,
    CallBuilder,
    DeviceCode,
    DeviceLaunch,
    DevicePlan,
    Frame,
    Grid,
)

from .build import Built, build, resource_usage
from .devices import driver_error
from .drivers.ending import remember_object
from .host_memory import WORD, Lent, addresses, lend
from .memory import Buffer
from .space import OpenCL

_STACK = 1 << 21  # bytes of private arrays that a thread of a CPU has room for


@dataclass
class OpenCLPlan(DevicePlan):
    """A compiled launch; see `execspace.Plan`."""

    space: OpenCL
    device_launch: OpenCLLaunch

    @property
    def resource_usage(self) -> dict[str, dict[str, int]]:
        """What the driver says of each kernel."""
        launch = self.device_launch
        return resource_usage(self.space, launch.code, launch.usual.kernels)

    @property
    def cache(self) -> tuple[str, str]:
        """Key of the entry in the cache on disk, and whether it was found."""
        return self.device_launch.usual.built.describe_entry(self.kernel)


def compile_plan(space: OpenCL, kernel: Kernel, spec: LaunchSpec) -> OpenCLPlan:
    """Compile `kernel` for the device; see `DeviceLaunch.compile`."""
    device = f"device {space.found}"
    launch = OpenCLLaunch.compile(space, space.traits, kernel, spec, device)
    return OpenCLPlan.of(kernel, launch)


class Program:
    """Kernels of one source, and the arguments that they have.

    Attributes
    ----------
    code : DeviceCode
    built : Built
    kernels : list of pyopencl.Kernel
    most_threads : int
        Work-items that a group may have: few where a kernel needs many registers.
    """

    def __init__(self, space: OpenCL, code: DeviceCode) -> None:
        self.code = code
        self.built: Built = build(space, code)
        remember_object(self)
        self.kernels = [getattr(self.built.program, n) for n in code.entry.kernels]
        self.records: list[bytes | None] = [None for _ in self.kernels]
        # Weak, for a plan must not keep the memory of Views that the program has dropped.
        self.last: list[list[Any]] = [[] for _ in self.kernels]
        most = min(_largest_group(k, space) for k in self.kernels)
        if space.flat and space.found.is_cpu:  # a thread keeps what all work-items of a group have
            private = max(1, code.private_bytes)
            most = min(most, 1 << max(0, (_STACK // private).bit_length() - 1))
        self.most_threads = most

    @property
    def from_disk(self) -> bool:
        """It was built before."""
        return self.built.from_disk

    def enqueue(self, queue: Any, n: int, record: bytes, rest: list[Any], size: Any) -> None:
        """Set the arguments that changed since the last launch, and enqueue."""
        kernel, last = self.kernels[n], self.last[n]
        if not last:
            last += [_never] * len(rest)
        if record != self.records[n]:
            # The public set_arg tries other meanings of bytes first, which takes 20 us.
            kernel._set_arg_buf(0, record)
            self.records[n] = record
        for position, value in enumerate(rest):
            if last[position]() is not value:
                kernel.set_arg(position + 1, value)
                last[position] = ref(value)
        cl.enqueue_nd_range_kernel(queue, kernel, *size)


def _largest_group(kernel: Any, space: OpenCL) -> int:
    """Work-items that a group of this kernel may have: few where it needs many registers."""
    what = cl.kernel_work_group_info.WORK_GROUP_SIZE
    return int(kernel.get_work_group_info(what, space.device))


def _never() -> None:
    """Stands for a weak reference to an argument that was never set."""


class LocalMemory(cl.LocalMemory):  # type: ignore[misc]
    """Memory of a group; of a class of our own there are weak references."""


class OpenCLCallBuilder(CallBuilder):
    """Views are buffers with an offset; of the host they may be addresses."""

    def __init__(self, launch: OpenCLLaunch) -> None:
        super().__init__(launch.sources, launch.code, launch.watched)
        self.by_address = launch.host if launch.space.takes_addresses else ()

    def pointer(self, n: int) -> str:
        if n in self.by_address:
            return f"addresses[a{n}.data_ptr & {-WORD}]"
        return f"a{n}.allocation.owner"

    def first(self, n: int) -> str:
        dtype = dtype_of(self.types[n].dtype)
        size = 1 if dtype.fields is not None else dtype.itemsize
        if n in self.by_address:
            return f"(a{n}.data_ptr & {WORD - 1}) // {size}" if size < WORD else "0"
        return f"(a{n}.data_ptr - a{n}.allocation.pointer) // {size}"

    def scope(self) -> dict[str, Any]:
        return {**super().scope(), "addresses": addresses}


class OpenCLLaunch(DeviceLaunch[Program]):
    """The programs of a plan, and frames with buffers."""

    space: OpenCL
    errors: ClassVar[tuple[type[Exception], ...]] = (cl.Error,)

    @property
    def units(self) -> int:
        return self.space.units

    @property
    def queue(self) -> Any:
        """Where launches go; another one while a tool wants times."""
        return self.space.queue

    @cached_property
    def turn(self) -> Any:
        """Threads of the host take turns, since they share the arguments of kernels."""
        return self.space.turn

    def load(self, code: DeviceCode) -> Program:
        return Program(self.space, code)

    def enqueue(self, program: Program, number: int, grid: Grid, frame: Frame) -> None:
        gx, gy, gz, bx, by, bz = grid
        group = bx * by * bz
        if group > program.most_threads:
            raise PolicyError(
                f"Kernel '{self.name}': a block of {group} threads; for this range and these Views "
                f"this device launches it with at most {program.most_threads}. Give a smaller "
                f"tile, or launch_bounds."
            )
        arguments = frame.views
        if frame.extra:
            arguments = [*arguments, *frame.extra.values()]
            if "result" in frame.extra and number < len(program.kernels) - 1:
                arguments.pop()
        # Dimensions that are not there cost time.
        size: Any = ((gx * bx,), (bx,))
        if gy * by * gz * bz > 1:
            size = (gx * bx, gy * by, gz * bz), (bx, by, bz)
        with self.turn:
            program.enqueue(self.space.queue, number, frame.record, arguments, size)

    def fault(self, error: Exception) -> Exception:
        return driver_error(f"Kernel '{self.name}'", self.space.found, error)

    # -- memory -----------------------------------------------------------------------------------

    def allocate(self, nbytes: int, zeros: int) -> Buffer:
        buffer = Buffer(self.space.context, cl.mem_flags.READ_WRITE, nbytes)
        if zeros:
            with self.turn:
                cl.enqueue_fill_buffer(self.queue, buffer, np.uint8(0), 0, zeros)
        return buffer

    def allocate_result(self, nbytes: int) -> Buffer:
        flags = cl.mem_flags.READ_WRITE | cl.mem_flags.ALLOC_HOST_PTR
        return Buffer(self.space.context, flags, nbytes)

    def group_memory(self, nbytes: int) -> Any:
        found = self._local.get(nbytes)
        if found is None:
            found = self._local[nbytes] = LocalMemory(nbytes)
        return found

    @cached_property
    def _local(self) -> dict[int, LocalMemory]:
        return {}

    def read(self, memory: Buffer, nbytes: int) -> bytes:
        queue = self.queue
        mapped, _ = cl.enqueue_map_buffer(
            queue, memory, cl.map_flags.READ, 0, (nbytes,), np.uint8, is_blocking=True
        )
        found: bytes = mapped.tobytes()
        mapped.base.release(queue)
        return found

    def wait(self) -> None:
        self.queue.finish()

    # -- memory of the host -----------------------------------------------------------------------

    @cached_property
    def host(self) -> tuple[int, ...]:
        """Arguments that are Views in memory of the host."""
        types = (*self.spec.arguments, *self.spec.out)
        views = ((n, types[n]) for n in self.entry.buffers)
        return tuple(n for n, t in views if isinstance(t, ViewType) and t.memory == HOST.name)

    def call_builder(self) -> CallBuilder:
        return OpenCLCallBuilder(self)

    def caller(self, builder: CallBuilder | None = None) -> Call:
        call = super().caller(builder)
        if not self.host:
            return call
        return self._blocking(call if self.space.takes_addresses else self._lending(call))

    def _blocking(self, call: Call) -> Call:
        """Nobody fences before he reads a NumPy array."""

        def blocking(bounds: tuple[int, ...], args: tuple[Any, ...]) -> Any:
            try:
                return call(bounds, args)
            finally:
                self.wait()

        return blocking

    def _lending(self, call: Call) -> Call:
        """Kernels get buffers over memory of the host, which are given back."""

        def lending(bounds: tuple[int, ...], args: tuple[Any, ...]) -> Any:
            try:
                given, changed = self._lend(args)
            except cl.Error as error:
                raise self.fault(error) from error
            try:
                return call(bounds, given)
            finally:  # what a kernel stored before its assertion failed counts as well
                for buffer in changed:
                    self._give_back(buffer)

        return lending

    def _lend(self, args: tuple[Any, ...]) -> tuple[tuple[Any, ...], list[Buffer]]:
        """Arguments with Views of the host in buffers, and the buffers that a kernel changes."""
        there = [n for n in self.host if args[n].size]
        lent = lend(self.space.context, [args[n] for n in there]) if there else []
        given = list(args)
        for n in self.host:
            given[n] = Lent(args[n], self.space.nothing, 0)
        for n, (buffer, first) in zip(there, lent, strict=True):
            given[n] = Lent(args[n], buffer, first)
        changed = {b: None for n, (b, _) in zip(there, lent, strict=True) if n in self.written}
        return tuple(given), list(changed)

    def _give_back(self, buffer: Any) -> None:
        """Let the host see what kernels wrote into a buffer over its memory."""
        mapped, _ = cl.enqueue_map_buffer(
            self.queue, buffer, cl.map_flags.READ, 0, (buffer.size,), np.uint8, is_blocking=False
        )
        mapped.base.release(self.queue)
