"""Launches on a GPU: how generated code is loaded, and handed to the driver through CuPy."""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, ClassVar

import cupy
import numpy as np
from cupy_backends.cuda.api import driver, runtime

from execspace import Kernel, LaunchSpec, ViewType
from execspace.base.dataclass import dataclass
from execspace.contract.memory import bytes_at
from execspace_compiler.backend import (
    Call,
    CallBuilder,
    DeviceCode,
    DeviceLaunch,
    DevicePlan,
    Frame,
    Grid,
)

from .arrays import launch_of_arrays
from .device_space import DeviceSpace
from .devices import ERRORS, ERRORS_OR_MEMORY, NO_CONTEXT, on_device
from .forks import remember_plan
from .frame import BufferFrame
from .interop import after, before
from .occupancy import Limits, describe_limit
from .program import Program


@dataclass
class GpuPlan(DevicePlan):
    """A compiled launch; see `execspace.Plan`."""

    space: DeviceSpace
    device_launch: GpuLaunch

    @property
    def resource_usage(self) -> dict[str, dict[str, int]]:
        """What the driver says of each kernel: registers, memory, block, and occupancy."""
        launch, space = self.device_launch, self.space
        with space.current():
            found = space.resource_usage(launch.usual, launch.group)
            if launch.limits is not None:
                usual = launch.usual
                for name, function in zip(usual.code.entry.kernels, usual.functions, strict=True):
                    kernel, limit = launch.limits.found(function, launch.group)
                    found[name]["occupancy"] = 100 * limit.blocks * launch.group // kernel.keeps
        return found

    def mapping(self, bounds: tuple[int, ...]) -> list[str]:
        """The mapping of a range, and what an occupancy comes to."""
        launch, lines = self.device_launch, super().mapping(bounds)
        if launch.limits is None:
            return lines
        with self.space.current():
            function, threads = launch.usual.functions[0], launch.sources.threads_of(bounds)
            kernel, limit = launch.limits.found(function, threads)
            return [*lines, describe_limit(launch.limits.percent, kernel, limit)]

    @property
    def cache(self) -> tuple[str, str]:
        """Key of the entry in the cache on disk, and whether it was found."""
        launch = self.device_launch
        return launch.usual.compiled.describe(self.kernel, launch.shared)

    @property
    def kept(self) -> bool | None:
        """Whether a later process finds it on disk."""
        return self.device_launch.usual.compiled.kept

    def launch_of_arrays(self, classes: tuple[type | None, ...]) -> Call | None:
        """A launch on arrays of CuPy or PyTorch, which makes no Views of them where their streams
        are that of the space."""
        types, name = self.spec.arguments, self.kernel.name
        return launch_of_arrays(self.space, classes, types, name, self._in_order, self.launch)

    def _in_order(self) -> Call:
        """The launch on arrays of other libraries whose work is in order with that of the space."""
        launch = self.device_launch
        builder = GpuCallBuilder(launch, named=True)
        builder.foreign = []
        return launch.caller(builder)

    def launch_as(self, label: str, bounds: tuple[int, ...], args: tuple[Any, ...]) -> Any:
        """As `launch`; a report of a fault names the label."""
        name = self.kernel.name
        if label == name:
            return self.launch(bounds, args)
        self.space.queue.note(f"'{name}' (label '{label}')")
        return self._unnamed(bounds, args)

    @cached_property
    def _unnamed(self) -> Call:
        launch = self.device_launch
        return launch.caller(launch.call_builder(named=False))


def compile_plan(space: DeviceSpace, kernel: Kernel, spec: LaunchSpec) -> GpuPlan:
    """Compile `kernel` for the device; see `DeviceLaunch.compile`."""
    launch = GpuLaunch.compile(space, space.traits, kernel, spec, space.name)
    plan = GpuPlan.of(kernel, launch)
    remember_plan(plan)
    return plan


class GpuCallBuilder(CallBuilder):
    """Packs a `BufferFrame`, and calls the driver without a function between."""

    keeps_views = False
    stream = "stream"  # expression of the stream that the usual kernel goes to

    def __init__(self, launch: GpuLaunch, named: bool) -> None:
        super().__init__(launch.sources, launch.code, launch.watched)
        self.launch, self.named = launch, named
        space = launch.space
        self.instance = space.parent is not None
        self.foreign = [
            n
            for n in self.entry.buffers
            if isinstance(t := self.types[n], ViewType) and t.memory == space.foreign.name
        ]

    def pack(self, values: Sequence[str], pointers: Sequence[str]) -> list[str]:
        return [f"pack(frame.buffer, 0, {', '.join([*values, *pointers])})"]

    def scope(self) -> dict[str, Any]:
        launch, space = self.launch, self.launch.space
        packed = struct.Struct(f"{self.entry.format}{len(self.entry.buffers)}Q")
        return {
            **super().scope(), "pack": packed.pack_into, "driver": driver.launchKernel,
            "function": launch.usual.functions[0], "limits_of_blocks": launch.limits,
            "space": space, "stream": space.stream,
            "before": before, "after": after, "queue": space.queue,
            "recent": space.queue.recent if self.named else {},
            "kernel": f"'{launch.name}'",
        }  # fmt: skip

    def before(self) -> list[str]:
        views = ", ".join(f"a{n}" for n in self.foreign)
        return [
            *["queue.await_allocations()"] * self.instance,
            *[f"streams = before(space, ({views},))"] * bool(self.foreign),
            "recent[kernel] = None",
        ]

    def shared(self, function: str, grid: str) -> str:
        """Expression of the bytes of shared memory that a launch adds."""
        own = "frame.shared" if self.scratch else "0"
        if self.launch.limits is None:
            return own
        added = f"limits_of_blocks[{function}, {' * '.join(grid.rsplit(', ', 3)[1:])}]"
        return f"max({own}, {added})" if self.scratch else added

    def usual(self, program: str, grid: str) -> list[str]:
        function = f"{program}.functions[0]" if "[" in program else "function"
        shared = self.shared(function, grid)
        return [
            f"try: driver({function}, {grid}, {shared}, {self.stream}, frame.parameters, 0)",
            f"except errors as error: launch.with_context(error, {function}, ({grid}), frame)",
        ]

    def reduction(self, program: str) -> list[str]:
        launch, most = self.launch, self.launch.most_groups
        if most is None:
            return super().reduction(program)
        group = launch.group
        grid = f"groups, 1, 1, {group}, 1, 1"
        shared = self.shared("reducing", grid)
        result = "None" if self.spec.out else "launch.awaited(frame)"
        return [
            f"groups = (units + {group - 1}) // {group} or 1",
            f"if groups > {most}: groups = {most}",
            f"reducing = ({program}).functions[0]",
            f"try: driver(reducing, {grid}, {shared}, {self.stream}, frame.parameters, 0)",
            f"except errors as error: launch.with_context(error, reducing, ({grid}), frame)",
            f"result = {result}",
        ]

    def after(self) -> list[str]:
        return [
            *["after(space, streams)"] * bool(self.foreign),
            *["queue.hold(args)"] * self.instance,
        ]


class GpuLaunch(DeviceLaunch[Program]):
    """The programs of a plan, and frames with memory of the device.

    Attributes
    ----------
    shared : bool
        Another launch of this process had loaded the usual program.
    """

    space: DeviceSpace
    errors: ClassVar[tuple[type[Exception], ...]] = ERRORS
    shared = False

    @property
    def watched(self) -> bool:
        return self.space.blocking or super().watched

    @property
    def units(self) -> int:
        return self.space.units

    def load(self, code: DeviceCode) -> Program:
        """From the programs of all instances of the space, if it is there."""
        space = self.space
        try:
            # How it divides a multiprocessor's memory is a property of what is loaded.
            percent = self.spec.policy.occupancy
            key = (code.source, *space.compiler.options(code, space.arch), percent)
            found = space.device.programs.get(key)
            if found is not None:
                self.shared = self.shared or not self.programs
            else:
                with space.current():
                    found = Program.load(code, space.compiler, space.arch, space.short)
                    space.device.programs[key] = found
                    found.all_shared = space.all_shared if percent else 0
                    large = self.sources.team is not None or percent
                    if large and space.shared > space.shared_always:
                        found.allow_shared(space.shared)
            if self.limits is not None:
                self.limits.add(found)
        except ERRORS as error:
            raise space.fault(f"Loading kernel '{self.name}'", error) from error
        return found

    @cached_property
    def limits(self) -> Limits | None:
        """What launches ask for beside their own, if the policy limits their occupancy."""
        percent = self.spec.policy.occupancy
        return Limits(percent, self.space.residency) if percent else None

    def _shared(self, function: int, grid: Grid, frame: Frame) -> int:
        """Bytes of shared memory that a launch adds."""
        if self.limits is None:
            return frame.shared
        return max(frame.shared, self.limits[function, grid[3] * grid[4] * grid[5]])

    def enqueue(self, program: Program, number: int, grid: Grid, frame: Frame) -> None:
        assert isinstance(frame, BufferFrame)
        function = program.functions[number]
        try:
            stream, shared = self.space.stream, self._shared(function, grid, frame)
            driver.launchKernel(function, *grid, shared, stream, frame.parameters, 0)
        except ERRORS as error:
            self.with_context(error, function, grid, frame)

    def with_context(self, error: Any, function: int, grid: Grid, frame: BufferFrame) -> None:
        """Launch once more if only the calling thread had no context, else raise."""
        if getattr(error, "status", 0) not in NO_CONTEXT:
            raise self.fault(error) from error
        try:
            runtime.setDevice(self.space.number)
            stream, shared = self.space.stream, self._shared(function, grid, frame)
            driver.launchKernel(function, *grid, shared, stream, frame.parameters, 0)
        except ERRORS as second:
            raise self.fault(second) from second

    def awaited(self, frame: Frame) -> Any:
        """The result of a reduction that was enqueued; blocks.

        A number is looked for where the kernel stores it, for a short while: the driver tells of
        the end of a kernel later. The kernel comes after all before it on the stream, and does
        nothing but compute that number.
        """
        memory: _ResultBytes = frame.extra["result"]
        queue, words, armed = self.space.queue, memory.words, memory.armed
        if words is not None:
            for _ in _LOOKS:
                if words[0] != armed:
                    break
            else:
                words = None
        if words is not None:
            queue.recent.clear()
        else:
            try:
                queue.synchronize()
            except ERRORS as error:
                raise self.fault(error) from error
        result = self.result(memory.bytes)
        if memory.words is not None:
            memory.words[0] = armed
        return result

    def fault(self, error: Exception) -> Exception:
        return self.space.fault(f"Kernel '{self.name}'", error)

    # -- memory -----------------------------------------------------------------------------------

    def new_frame(self, extra: tuple[str, ...]) -> Frame:
        record = struct.calcsize(self.entry.format)
        return BufferFrame(extra, record, len(self.entry.buffers))

    def allocate(self, nbytes: int, zeros: int) -> Any:
        space = self.space
        try:
            with space.current(), space.stream_object:
                # A freed block goes to later work of the same stream only, so it is freed at once.
                block = space.device.block(nbytes)
                if zeros:
                    runtime.memsetAsync(block.ptr, 0, zeros, space.stream)
        except ERRORS_OR_MEMORY as error:
            raise self.fault(error) from error
        return block

    def allocate_result(self, nbytes: int) -> Any:
        try:
            with self.space.current():
                return _ResultBytes(nbytes, self.lone_number if self.most_groups else None)
        except ERRORS_OR_MEMORY as error:
            raise self.fault(error) from error

    def read(self, memory: Any, nbytes: int) -> Any:
        self.wait()
        if isinstance(memory, _ResultBytes):
            return memory.bytes
        raw = bytearray(nbytes)
        address = ctypes.addressof(ctypes.c_char.from_buffer(raw))
        runtime.memcpy(address, memory.ptr, nbytes, 2)
        return raw

    def wait(self) -> None:
        self.space.synchronize_stream(f"Kernel '{self.name}'")

    # -- callers ----------------------------------------------------------------------------------

    def call_builder(self, named: bool = True) -> CallBuilder:
        """`named`: launches are among the recent ones, which a report of a fault names."""
        return GpuCallBuilder(self, named)

    def caller(self, builder: CallBuilder | None = None) -> Call:
        call = super().caller(builder)
        return call if self.space.device.alone else self._on_device(call)

    def _on_device(self, call: Callable[..., Any]) -> Call:
        """With several devices: launch with ours current, and leave the caller's as it was."""
        number, get = self.space.number, runtime.getDevice

        def switched(bounds: tuple[int, ...], args: tuple[Any, ...]) -> Any:
            if get() == number:
                return call(bounds, args)
            with on_device(number):
                return call(bounds, args)

        return switched


# By bytes of a number: what is there before a kernel stores it. Bits that hardly any result has;
# one that has them is waited for.
_ARMED = {4: 0x7FC1_5EED, 8: 0x7FF9_5EED_0BAD_5EED}
_LOOKS = range(300)  # for about 10 us


class _ResultBytes:
    """Memory of the host that kernels write.

    Attributes
    ----------
    words : memoryview or None
        Its only number as an integer, where the host may look at it: `armed` until it is stored.
    """

    def __init__(self, nbytes: int, number: np.dtype[Any] | None) -> None:
        block = cupy.cuda.alloc_pinned_memory(nbytes)
        self.ptr = int(block.ptr)
        self.bytes = bytes_at(self.ptr, nbytes, block)
        self.words: memoryview | None = None
        self.armed = 0
        if number is not None and number.kind in "iuf" and number.itemsize in _ARMED:
            self.armed = _ARMED[number.itemsize]
            view = memoryview(self.bytes[: number.itemsize])  # type: ignore[arg-type]
            self.words = view.cast("I") if number.itemsize == 4 else view.cast("Q")
            self.words[0] = self.armed
