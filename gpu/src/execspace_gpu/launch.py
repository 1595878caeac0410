"""Compiles generated text for a GPU and makes the plan that launches it."""

from __future__ import annotations

import ctypes
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import cupy
import numpy as np
from cupy_backends.cuda.api import driver, runtime

from execspace import Kernel, LaunchSpec, TeamSizes, ViewType, profiling
from execspace.reducers.base import flattened
from execspace_compiler.codegen.cfamily.lookback import scratch_bytes
from execspace_compiler.codegen.cfamily.states import ROWS, SLOT
from execspace_compiler.launch.arguments import ranges_of
from execspace_compiler.launch.failures import failure
from execspace_compiler.launch.plan import TellsOfKernel
from execspace_compiler.reductions.results import result_maker
from execspace_compiler.typing.lowered import Lowered

from .compiling import cache_of
from .devices import ERRORS, ERRORS_OR_MEMORY, NO_CONTEXT, on_device
from .forks import remember_plan
from .interop import after, before
from .memory import bytes_at
from .packing import MOST_UNITS, Frame, caller_text, names_used, packer, record_size
from .program import Program
from .space import GpuExecutionSpace
from .texts import TextKey, Texts, lowered_for

_GROUP = 256  # threads of a block of reductions and scans
_BLOCKS_PER_UNIT = 8
_THREADS_PER_UNIT = 2048  # that run at once, of a limited number of blocks
_MOST_ITEMS = 1 << 30

Grid = tuple[int, int, int, int, int, int]  # blocks, and threads of a block, along x, y and z


@dataclass
class GpuPlan(TellsOfKernel):
    """A compiled launch; see `execspace.Plan`."""

    space: GpuExecutionSpace
    kernel: Kernel
    spec: LaunchSpec
    lowered: Lowered
    launch: Callable[[tuple[int, ...], tuple[Any, ...]], Any]
    program: Program
    _launcher: _Launch

    @property
    def source(self) -> str:
        """The generated text."""
        return self.program.text.source

    def mapping(self, bounds: tuple[int, ...]) -> list[str]:
        """How it goes through a range."""
        return self._launcher.mapping(bounds)

    def team_sizes(self) -> TeamSizes:
        """Of a TeamPolicy: what it chose where the policy does not say."""
        assert self._launcher.teams is not None
        return self._launcher.teams.team_sizes(self.space.limits.threads)

    def team_size_max(self, bounds: tuple[int, ...], args: tuple[Any, ...]) -> int:
        """Threads of the largest team for which a launch with these arguments works."""
        return self._launcher.team_size_max(bounds, args)

    def team_size_recommended(self, bounds: tuple[int, ...], args: tuple[Any, ...]) -> int:
        """Threads of a team of such a launch."""
        return self._launcher.team_size_of(bounds, args)

    @property
    def figures(self) -> dict[str, dict[str, int]]:
        """What the driver says of each kernel: registers, memory, block, and occupancy."""
        with self.space.current():
            return self.space.figures(self.program, self._launcher.group)

    @property
    def cache(self) -> tuple[str, str]:
        """Key of the entry in the cache on disk, and whether it was found."""
        loaded, program = self._launcher.loaded, self.program
        hit = "in this process" if loaded else "on disk" if program.from_disk else ""
        return cache_of(program.key, self.kernel, self.space.short, hit)

    def launch_as(self, label: str, bounds: tuple[int, ...], args: tuple[Any, ...]) -> Any:
        """As `launch`; a report of a fault names the label."""
        name = self.kernel.name
        if label == name:
            return self.launch(bounds, args)
        self.space.note(f"'{name}' (label '{label}')")
        return self._unnamed(bounds, args)

    @cached_property
    def _unnamed(self) -> Callable[[tuple[int, ...], tuple[Any, ...]], Any]:
        return self._launcher.caller(named=False)


def compile_plan(space: GpuExecutionSpace, kernel: Kernel, spec: LaunchSpec) -> GpuPlan:
    """Compile `kernel` for the device.

    Raises
    ------
    KernelSyntaxError, KernelTypeError
        For faults in the kernel.
    BackendCompileError
        If the compiler refuses the generated text: a defect of execspace.
    """
    started = time.perf_counter()
    lowered = lowered_for(space, kernel, spec)
    launch = _Launch(space, lowered)
    if profiling.TOOLS:
        seconds = time.perf_counter() - started
        profiling.emit("on_compile", kernel.name, space.name, seconds, launch.usual.from_disk)
    plan = GpuPlan(space, kernel, spec, lowered, launch.caller(), launch.usual, launch)
    remember_plan(plan)
    return plan


class _Launch(Texts):
    """The state of a plan: programs, and frames with scratch memory and results."""

    def __init__(
        self, space: GpuExecutionSpace, lowered: Lowered, room: tuple[int, bool] | None = None
    ) -> None:
        super().__init__(space, lowered, room)
        self.space: GpuExecutionSpace = space
        self.name = f"'{lowered.kernel.name}'"
        self.reduces = lowered.reduction is not None
        self.programs: dict[TextKey, Program] = {}
        self.loaded = False
        self.usual = self.program(*self.usual_key)
        self.entry = self.usual.text.entry
        memory = self.entry.group_memory
        self.check = None if self.teams is None else self.teams.check(memory)
        self.watched = lowered.prints or bool(lowered.assertions)
        self.blocking = space.blocking
        self.shape = self.spec.array_shape
        self.make: Callable[[Any], Any] | None = None
        self.dtypes: list[np.dtype[Any]] = []
        if lowered.reduction is not None:
            names = lowered.reduction.result
            self.dtypes = [np.dtype(n) for n in flattened(names)]
            if self.shape is None:
                self.make = result_maker(self.spec, names)

    def program(
        self, narrow: bool, disjoint: bool, small: bool, group: int, in_line: bool = False
    ) -> Program:
        """The kernels of a text; see `execspace_compiler.launch.device_text.device_text`."""
        chosen = narrow, disjoint, small, group, in_line
        found = self.programs.get(chosen)
        if found is None:
            text = self.text(chosen)
            space, shared = self.space, self.space.programs  # of all instances
            try:
                key = (text.source, *space.compiler.options(text, space.arch))
                found = shared.get(key)
                self.loaded = self.loaded or (found is not None and not self.programs)
                if found is None:
                    with space.current():
                        found = Program.load(text, space.compiler, space.arch, space.short)
                        shared[key] = found
                        if self.teams is not None and space.shared > space.shared_always:
                            found.allow_shared(space.shared)
            except ERRORS as error:
                raise self.space.fault(f"Loading kernel {self.name}", error) from error
            self.programs[chosen] = found
        return found

    def other(self, units: int, overlap: bool, large: bool) -> Program:
        """The program for an unusual launch."""
        return self.program(
            units < MOST_UNITS, self.disjoint and not overlap, not large, self.group
        )

    def other_form(self, form: int, overlap: bool, large: bool) -> Program:
        """The program for an unusual launch in blocks; `form` as in `Geometry`."""
        group = self.most if form & 2 else self.group
        return self.program(not form & 1, self.disjoint and not overlap, not large, group)

    def caller(self, named: bool = True) -> Callable[[tuple[int, ...], tuple[Any, ...]], Any]:
        """The hot path, with all that is known of the launch written out.

        `named`: the kernel is noted among the recent ones, which a report of a fault names.
        """
        # A program is shared by all launches of equal texts, whatever they were made of.
        space, text = self.space, replace(self.usual.text, lowered=self.lowered)
        types = (*self.spec.arguments, *self.spec.out)
        foreign = [
            n
            for n in self.entry.buffers
            if isinstance(t := types[n], ViewType) and t.memory == space.foreign.name
        ]
        watched = self.watched or self.blocking
        run = "watch" if watched else "reduce" if self.reduces else "launch"
        source = caller_text(
            text,
            run=run,
            foreign=foreign,
            instance=space.parent is not None,
            disjoint=self.disjoint,
            blocks=self.blocks,
            linear=self.linear,
            group=self.group,
            team=self.device_team,
            scratch=self.check is not None,
        )
        scope: dict[str, Any] = {
            **names_used(self.lowered), "launch": self, "frames": [], "usual": self.usual,
            "scratch": self.check,
            "function": self.usual.functions[0], "shapes": self.shapes,
            "ranges": ranges_of(text), "programs": _Usual(self),
            "make_frame": self.make_frame, "pack": packer(text), "driver": driver.launchKernel,
            "stream": space.stream, "space": space, "errors": ERRORS, "before": before,
            "after": after, "recent": space.recent if named else {}, "kernel": self.name,
        }  # fmt: skip
        exec(source, scope)
        found: Callable[[tuple[int, ...], tuple[Any, ...]], Any] = scope["call"]
        if self.teams is not None and (room := self.teams.roomier) is not None:
            assert self.check is not None
            found = self.check.or_other_teams(
                found, lambda: _Launch(space, self.source, room).caller()
            )
        if not space.alone:
            return self._guarded(self._on_device(found))
        plain = space.parent is None and not foreign and run == "launch"
        return found if plain else self._guarded(found)

    def _guarded(self, call: Any) -> Callable[[tuple[int, ...], tuple[Any, ...]], Any]:
        """Errors of the platform in what comes beside the launch itself."""

        def guarded(bounds: tuple[int, ...], args: tuple[Any, ...]) -> Any:
            try:
                return call(bounds, args)
            except ERRORS as error:
                raise self.space.fault(f"Kernel {self.name}", error) from error

        return guarded

    def _on_device(self, call: Any) -> Callable[[tuple[int, ...], tuple[Any, ...]], Any]:
        """With several devices: launch with ours current, and leave the caller's as it was."""
        number, get = self.space.number, runtime.getDevice

        def switched(bounds: tuple[int, ...], args: tuple[Any, ...]) -> Any:
            if get() == number:
                return call(bounds, args)
            with on_device(number):
                return call(bounds, args)

        return switched

    # -- frames -----------------------------------------------------------------------------------

    def make_frame(self) -> Frame:
        """Room for the arguments of a launch, with what it needs beside them."""
        fixed: list[int] = []
        kept: list[Any] = []
        result = None
        space, entry = self.space, self.entry
        try:
            with space.current(), space.stream_object:
                if self.reduces:
                    scratch = self._scratch(ROWS if entry.tile else self._scratch_size())
                    kept.append(scratch)
                    fixed.append(int(scratch.ptr))
                    if not self.spec.out:
                        nbytes = max(entry.results, 1) * SLOT
                        block = cupy.cuda.alloc_pinned_memory(nbytes)
                        kept.append(block)
                        fixed.append(int(block.ptr))
                        result = bytes_at(int(block.ptr), nbytes, block)
                if entry.status:
                    size = 8 * (2 + self.spec.policy.rank)
                    status = space.memory.block(size)
                    kept.append(status)
                    # The body takes it among its own pointers, before those of a reduction.
                    fixed.insert(0, int(status.ptr))
                if self.pools:
                    fixed.insert(1 if entry.status else 0, 0)  # told at each launch
        except ERRORS_OR_MEMORY as error:
            raise space.fault(f"Kernel {self.name}", error) from error
        frame = Frame(record_size(self.usual.text), len(entry.buffers), fixed, kept)
        if result is not None:
            frame.result = [
                result[n * SLOT : n * SLOT + t.itemsize].view(t) for n, t in enumerate(self.dtypes)
            ]
            if self.shape is not None:
                frame.result = result
        return frame

    @property
    def pools(self) -> bool:
        """Whether teams have scratch memory of level 1."""
        return self.teams is not None and self.teams.device.uses(1)

    def room_of_teams(self, frame: Frame, first: int, second: int, units: int) -> None:
        """Give a launch scratch memory, of so many bytes of a team at both levels."""
        assert self.teams is not None
        team = self.teams.device
        frame.shared = first * team.shape.side_by_side if team.uses(0) else 0
        if not self.pools:
            return
        nbytes = max(second, 1) * self.blocks_for(units) * team.shape.side_by_side
        if nbytes > frame.pool[0]:
            space = self.space
            try:
                with space.current(), space.stream_object:
                    # What is given back is used by later work of the same stream only.
                    frame.pool = nbytes, space.memory.block(nbytes)
            except ERRORS_OR_MEMORY as error:
                raise space.fault(f"Kernel {self.name}", error) from error
            frame.give(1 if self.entry.status else 0, int(frame.pool[1].ptr))

    def _scratch(self, nbytes: int) -> Any:
        """Memory for partial results; counts and flags in it begin with zero."""
        block = self.space.memory.block(nbytes)
        zeros = nbytes if self.entry.tile else ROWS
        runtime.memsetAsync(block.ptr, 0, zeros, self.space.stream)
        return block

    def room(self, frame: Frame, units: int) -> tuple[int, int]:
        """Tiles that the scratch memory of a scan has room for, and the number of the launch."""
        tiles = self.blocks_for(units)
        if tiles > frame.tiles:
            space = self.space
            try:
                with space.current(), space.stream_object:
                    # What is given back is used by later work of the same stream only.
                    frame.kept[0] = self._scratch(scratch_bytes(tiles, self.entry.states))
            except ERRORS_OR_MEMORY as error:
                raise space.fault(f"Kernel {self.name}", error) from error
            frame.give(1 if self.entry.status else 0, int(frame.kept[0].ptr))
            frame.tiles = tiles
        frame.epoch += 1
        return frame.tiles, frame.epoch

    def _scratch_size(self) -> int:
        entry = self.entry
        blocks = self.blocks_for(1 << 62)
        rows = blocks * self.group if entry.array else blocks
        return ROWS + rows * (entry.array or entry.states) * SLOT

    def blocks_for(self, units: int) -> int:
        """Blocks of a reduction or scan."""
        if self.teams is not None:
            most = self.space.units * max(1, _THREADS_PER_UNIT // self.group)
            return self.teams.device.groups(units, most)
        if self.entry.tile:
            return max(1, -(-units // self.entry.tile))
        most = self.space.units * (_BLOCKS_PER_UNIT if self.shape is None else 1)
        return max(1, min(-(-units // self.group), most))

    def items(self, units: int) -> int:
        """Threads of the first kernel of an array reduction."""
        return self.blocks_for(units) * self.group

    # -- launches ---------------------------------------------------------------------------------

    def enqueue(self, function: int, grid: Grid, frame: Frame) -> None:
        """Hand a kernel to the driver."""
        try:
            stream, shared = self.space.stream, frame.shared
            driver.launchKernel(function, *grid, shared, stream, frame.parameters, 0)
        except ERRORS as error:
            self.again(error, function, grid, frame)

    def again(self, error: Any, function: int, grid: Grid, frame: Frame) -> None:
        """Launch once more if only the calling thread had no context, else raise."""
        what = f"Kernel {self.name}"
        if getattr(error, "status", 0) not in NO_CONTEXT:
            raise self.space.fault(what, error) from error
        try:
            runtime.setDevice(self.space.number)
            stream, shared = self.space.stream, frame.shared
            driver.launchKernel(function, *grid, shared, stream, frame.parameters, 0)
        except ERRORS as second:
            raise self.space.fault(what, second) from second

    def grid(self, units: int) -> Grid:
        """Of a flat parallel_for, and of teams."""
        if self.teams is not None:
            return self.blocks_for(units), 1, 1, self.group, 1, 1
        blocks = -(-units // self.group)
        if units >= MOST_UNITS:  # its threads go on with the stride of the grid
            blocks = _MOST_ITEMS // self.group
        return blocks, 1, 1, self.group, 1, 1

    def run(self, program: Program, grid: Grid, frame: Frame) -> None:
        """An unusual parallel_for."""
        self.enqueue(program.functions[0], grid, frame)

    def reduce(self, program: Program, units: int, frame: Frame) -> Any:
        """Launch the kernels of a reduction or scan, and wait for a result that is returned."""
        blocks = self.blocks_for(units)
        *first, last = program.functions
        for function in first:
            self.enqueue(function, (blocks, 1, 1, self.group, 1, 1), frame)
        if self.entry.array:
            blocks = min(-(-self.entry.array // self.group), 256)
        self.enqueue(last, (blocks, 1, 1, self.group, 1, 1), frame)
        if self.spec.out:
            return None
        self.space.synchronize_stream(f"Kernel {self.name}")
        return self._result(frame)

    def _result(self, frame: Frame) -> Any:
        if self.shape is not None:
            dtype = self.dtypes[0]
            found = frame.result[: self.entry.array * dtype.itemsize].view(dtype)
            return found.copy().reshape(self.shape)
        numbers = tuple(slot.item(0) for slot in frame.result)
        number = numbers[0] if len(numbers) == 1 else numbers
        return number if self.make is None else self.make(number)

    def watch(self, program: Program, units: int, grid: Grid | None, frame: Frame) -> Any:
        """A launch that prints or asserts, or that shall be waited for; blocks.

        `grid` is that of a launch in blocks.
        """
        space = self.space
        status = frame.kept[-1] if self.entry.status else None
        table = np.zeros(2 + self.spec.policy.rank, np.int64)
        if status is not None:
            runtime.memsetAsync(status.ptr, 0, table.nbytes, space.stream)
        if self.lowered.prints:
            sys.stdout.flush()  # so that text of Python and of the kernel comes in order
        result = None
        if self.reduces:
            result = self.reduce(program, units, frame)
        elif units:
            self.run(program, grid or self.grid(units), frame)
        space.synchronize_stream(f"Kernel {self.name}")
        if self.lowered.prints:
            _flush()
        if status is not None:
            runtime.memcpy(table.ctypes.data, status.ptr, table.nbytes, 2)
            if table[0]:
                code, *indices = table[1:].tolist()
                raise failure(self.lowered.kernel.name, self.lowered.assertions, code, indices)
        return result


class _Usual(dict[bool, Program]):
    """Programs for Views of less than 2^31 places, by whether they lie in memory as numbered."""

    def __init__(self, launch: _Launch) -> None:
        super().__init__()
        self.launch = launch

    def __missing__(self, in_line: bool) -> Program:
        launch = self.launch
        made = self[in_line] = launch.program(True, launch.disjoint, True, launch.group, in_line)
        return made


def _flush() -> None:
    """Write out what C's library holds of the text that kernels printed."""
    library = ctypes.cdll.msvcrt if sys.platform == "win32" else ctypes.CDLL(None)
    library.fflush(None)
