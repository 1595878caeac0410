"""The launch of a kernel on a device: from bounds and arguments to "enqueue this function".

A backend derives a class that loads programs, enqueues functions, and has memory. The choice of a
variant, grid and scratch memory, and the handling of results, assertions and prints are here and
are the same for all.
"""

from __future__ import annotations

import ctypes
import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import cached_property
from typing import Any, ClassVar, Generic, Protocol, Self, TypeVar

import numpy as np

from execspace import ExecutionSpace, Kernel, LaunchSpec, profiling

from ..analysis.effects import effects_of
from ..codegen.cfamily.lookback import scratch_bytes
from ..codegen.cfamily.states import ROWS, SLOT
from ..mapping.variant import Variant
from ..teams.scratch_sizes import Sizes
from .call_builder import CallBuilder
from .call_source import MOST_UNITS
from .decoding import result_decoder
from .device_code import DeviceCode
from .device_teams import Room, WorkItemTeams
from .failures import failure
from .fitting_teams import FittingTeams
from .frame import Frame
from .sources import THREADS_PER_UNIT, Sources, Traits

Grid = tuple[int, int, int, int, int, int]  # groups, and work-items of a group, along x, y and z
Call = Callable[[tuple[int, ...], tuple[Any, ...]], Any]

_GROUPS_PER_UNIT = 8  # in reductions and scans
_JOINING = 1 << 16  # work-items that join the rows of an array reduction


class Program(Protocol):
    """A source that a backend has loaded."""

    @property
    def from_disk(self) -> bool:
        """Whether it was in the cache on disk."""

    @property
    def most_threads(self) -> int:
        """Most work-items of a group in each of its kernels."""


P = TypeVar("P", bound=Program)


class _TooLarge(Exception):
    """A group of a launch is larger than its program allows; nothing is enqueued yet."""

    def __init__(self, most: int) -> None:
        super().__init__(f"at most {most} work-items")
        self.most = most


class DeviceLaunch(ABC, Generic[P]):
    """The state of a plan: its programs, and frames with memory for launches.

    Backends must override `load`, `enqueue`, `allocate`, `read`, `wait`, and `units`. They may
    override `errors` and `fault`, `new_frame`, `allocate_result`, `group_memory`, `flush_prints`,
    and `call_builder`.

    Parameters
    ----------
    space : ExecutionSpace
    traits : Traits
    sources : Sources

    Attributes
    ----------
    sources : Sources
        Those passed, or with smaller groups if a kernel needs many registers.
    programs : dict of Variant to program
    usual : program
    extra : tuple of str
        Names of the memory that kernels take after the Views.
    code : DeviceCode
        Code of `usual`. Launches with equal sources may share a program; this is the code of this
        launch's kernel.
    entry : Entry
        Calling convention of the kernels; the same for all variants.
    """

    errors: ClassVar[tuple[type[Exception], ...]] = ()

    def __init__(
        self,
        space: ExecutionSpace,
        traits: Traits,
        sources: Sources,
    ) -> None:
        self.space, self.traits, self.sources = space, traits, sources
        self.name = sources.original.kernel.name
        self.spec: LaunchSpec = sources.spec
        self.programs: dict[Variant, P] = {}
        self._codes: dict[Variant, DeviceCode] = {}
        self._loaded: dict[str, P] = {}
        self._within: dict[int, Call] = {}
        self.usual = self.program(self.sources.usual)
        while self.usual.most_threads < self.sources.group:  # it needs many registers
            self.sources = self.sources.within(self.usual.most_threads)
            self.programs.clear()
            self.usual = self.program(self.sources.usual)
        self.lowered = self.sources.lowered
        self.code = self._codes[self.sources.usual]
        self.entry = self.code.entry
        self.group = self.sources.group
        self.teams = self.sources.teams
        self.check = self.teams and self.teams.scratch(self.entry.group_memory)
        self.shape = self.spec.array_shape
        self.extra = self.extra_of(self.code)

    @classmethod
    def compile(
        cls, space: ExecutionSpace, traits: Traits, kernel: Kernel, spec: LaunchSpec, device: str
    ) -> Self:
        """Lower a kernel and load its usual program; blocks.

        `device` describes the device, for messages.

        Raises
        ------
        KernelSyntaxError, KernelTypeError
            For faults in the kernel, and for operations that the device does not support.
        BackendCompileError
            If the compiler refuses generated code: a defect of execspace or of the compiler.
        """
        started = time.perf_counter()
        sources = Sources.of(space, traits, kernel, spec, device)
        launch = cls(space, traits, sources)
        if profiling.TOOLS:
            seconds = time.perf_counter() - started
            from_disk = launch.usual.from_disk
            profiling.emit("on_compile", kernel.name, space.name, seconds, from_disk)
        return launch

    # -- for backends -----------------------------------------------------------------------------

    @property
    @abstractmethod
    def units(self) -> int:
        """Multiprocessors, compute units, or threads of the host; must."""

    @abstractmethod
    def load(self, code: DeviceCode) -> P:
        """Compile generated code, or load it from the cache; must.

        Raises
        ------
        BackendCompileError
            If the compiler refuses it; `DeviceCode.complaint` makes its message.
        """

    @abstractmethod
    def enqueue(self, program: P, number: int, grid: Grid, frame: Frame) -> None:
        """Enqueue a kernel of a program, by its number in `Entry.kernels`; must. Need not block.

        Its arguments are those of the frame: record, Views, and `extra`, in which only the last
        kernel takes the result. Where the compiler does not take the size of groups, it calls
        `check_group` first: an unusual variant may need more registers than the usual one.
        """

    @staticmethod
    def check_group(program: Program, grid: Grid) -> None:
        """Give up a launch of groups that the program cannot have, and begin with smaller ones."""
        if grid[3] * grid[4] * grid[5] > program.most_threads:
            raise _TooLarge(program.most_threads)

    @abstractmethod
    def allocate(self, nbytes: int, zeros: int) -> Any:
        """Allocate memory of the device whose first `zeros` bytes are zero; must.

        Enqueued work may still use memory that is dropped.
        """

    @abstractmethod
    def read(self, memory: Any, nbytes: int) -> Any:
        """Wait for all enqueued work, and return the bytes in memory; must."""

    @abstractmethod
    def wait(self) -> None:
        """Wait for all enqueued work; must."""

    def allocate_result(self, nbytes: int) -> Any:
        """Memory that kernels write and the host reads; may."""
        return self.allocate(nbytes, 0)

    def group_memory(self, nbytes: int) -> Any:
        """The argument for memory of a group, if it is one; may."""
        raise NotImplementedError(f"{type(self).__name__} gives no memory of a group")

    def new_frame(self, extra: tuple[str, ...]) -> Frame:
        """A frame for these names; may."""
        return Frame(extra)

    def flush_prints(self) -> None:
        """Flush the output of kernels; may. By default, that in buffers of the C library."""
        library = ctypes.cdll.msvcrt if sys.platform == "win32" else ctypes.CDLL(None)
        library.fflush(None)

    def fault(self, error: Exception) -> Exception:
        """The exception for one of `errors`; may, must if there are any."""
        return error

    def call_builder(self) -> CallBuilder:
        """The generator of the function that launches; may."""
        return CallBuilder(self.sources, self.code, self.watched)

    @cached_property
    def written(self) -> frozenset[int]:
        """Arguments that are Views into which the kernel may store; those of `out` are last."""
        parameters = self.lowered.body.parameters[self.lowered.leading :]
        names, inputs = self.lowered.written, len(self.spec.arguments)
        views = self.entry.buffers
        return frozenset(n for n in views if n >= inputs or parameters[n].name in names)

    # -- programs ---------------------------------------------------------------------------------

    def program(self, variant: Variant) -> P:
        """The program of a variant, loaded on first use."""
        found = self.programs.get(variant)
        if found is None:
            code = self._codes[variant] = self.sources.code(variant)
            usual = self._codes[self.sources.usual]
            assert code.entry.fields == usual.entry.fields, "variants have the same arguments"
            found = self._loaded.get(code.source)
            if found is None:
                found = self._loaded[code.source] = self.load(code)
            self.programs[variant] = found
        return found

    def other(self, narrow: bool, overlap: bool, large: bool, roomy: bool) -> P:
        """The program for an unusual launch; see `Sources.other`."""
        return self.program(self.sources.other(narrow, overlap, large, bool(roomy)))

    @cached_property
    def private(self) -> P:
        """The program whose groups add to copies of Views."""
        return self.program(self.sources.private)

    def private_grid(self, units: int) -> Grid:
        """Its grid: as many groups as run at once, so that few copies are added at the end."""
        group, most = self.sources.private_groups
        return max(1, min(-(-units // group), self.units * most)), 1, 1, group, 1, 1

    @property
    def watched(self) -> bool:
        """Whether launches block although they return nothing, due to prints or asserts; may."""
        return self.lowered.prints or bool(self.lowered.assertions)

    def caller(self, builder: CallBuilder | None = None) -> Call:
        """The hot path, specialised for the launch."""
        builder = builder or self.call_builder()
        scope: dict[str, Any] = {
            **builder.scope(), "launch": self, "usual": self.usual, "programs": _Usual(self),
            "frames": self.new_frames(), "make_frame": self.make_frame, "scratch": self.check,
            "errors": self.errors, "too_large": _TooLarge,
        }  # fmt: skip
        exec(builder.source(), scope)
        found: Call = scope["call"]
        smaller = None if self.teams is None else self.teams.with_smaller_teams
        if smaller is not None:
            assert isinstance(self.check, Sizes)
            found = self.check.with_fallback(found, lambda: self.with_room(smaller))
        return found if self.fitting is None else self.fitting.caller(found, self.with_room)

    def with_room(self, room: Room) -> Call:
        """The launch in teams for which groups have other limits."""
        return self.with_sources(self.sources.with_room(room)).caller()

    @cached_property
    def fitting(self) -> FittingTeams | None:
        """Sizes of teams that fit a launch; None if they are settled."""
        if not isinstance(self.teams, WorkItemTeams) or self.teams.ranges is None:
            return None
        check = self.check if isinstance(self.check, Sizes) else None
        return FittingTeams(
            self.teams, check, self.units, self.traits.shared, self.usual.most_threads
        )

    def sources_for(self, bounds: tuple[int, ...], args: tuple[Any, ...]) -> Sources:
        """The sources of such a launch."""
        if self.fitting is None:
            return self.sources
        return self.sources.with_room(self.fitting.room(self.fitting.counts(bounds[1], args)))

    def within(self, threads: int) -> Call:
        """The launch in groups of at most so many work-items; compiled once."""
        found = self._within.get(threads)
        if found is None:
            made = self.with_sources(self.sources.within(threads))
            found = self._within[threads] = made.caller()
        return found

    def with_sources(self, sources: Sources) -> Self:
        """A launch of the same kernel with other sources."""
        return type(self)(self.space, self.traits, sources)

    # -- frames -----------------------------------------------------------------------------------

    def extra_of(self, code: DeviceCode) -> tuple[str, ...]:
        """Names of the memory that kernels take after the Views; see `Frame.extra`."""
        entry, team = code.entry, self.sources.team
        names = ["status"] * entry.status
        if team is not None and team.uses(0) and not self.traits.dialect.memory.dynamic_group:
            names.append("group")
        if entry.pool or (team is not None and team.uses(1)):
            names.append("pool")
        if entry.states:
            names += ["scratch"] + ["result"] * (not self.spec.out)
        return tuple(names)

    def new_frames(self) -> list[Frame]:
        """Where frames wait for the next launch; may, if no launch shall have that of another."""
        return []

    def make_frame(self) -> Frame:
        """A frame, with the memory that does not depend on the launch."""
        frame, entry = self.new_frame(self.extra), self.entry
        if "status" in self.extra:
            # A launch with a failed assertion does not return its frame, so the status is zero.
            nbytes = self._status_bytes
            frame.give("status", self.allocate(nbytes, nbytes))
        if "scratch" in self.extra and not entry.tile:
            groups = self.groups(1 << 62)
            rows = groups * self.group if entry.array else groups
            nbytes = ROWS + rows * (entry.array or entry.states) * SLOT
            frame.give("scratch", self.allocate(nbytes, ROWS))
        if "result" in self.extra:
            frame.give("result", self.allocate_result(self._result_bytes))
        return frame

    @property
    def _status_bytes(self) -> int:
        return 8 * (2 + self.spec.policy.rank)

    @property
    def _result_bytes(self) -> int:
        return max(self.entry.results, 1) * SLOT

    def room_of_teams(self, frame: Frame, first: int, second: int, units: int) -> None:
        """Set the scratch memory of a launch, from the bytes of a team at each level."""
        team = self.sources.team
        if team is None:
            nbytes = first * self.groups(units)
        else:
            if team.uses(0):
                frame.shared = first * team.shape.side_by_side
                if "group" in frame.extra:
                    frame.extra["group"] = self.group_memory(max(frame.shared, 16))
            nbytes = max(second, 1) * self.groups(units) * team.shape.side_by_side
        if "pool" in frame.extra and (nbytes > frame.pool or frame.extra["pool"] is None):
            frame.give("pool", self.allocate(max(nbytes, 16), 0))
            frame.pool = nbytes
        frame.room = first, second, units

    def room_bytes(self, units: int) -> int:
        """Bytes of the scratch memory of a scan."""
        return scratch_bytes(self.groups(units), self.entry.states)

    def room(self, frame: Frame, units: int) -> tuple[int, int]:
        """Tiles for which the scratch memory of a scan has room, and the number of the launch."""
        tiles = self.groups(units)
        if tiles > frame.tiles:
            nbytes = self.room_bytes(units)
            frame.give("scratch", self.allocate(nbytes, nbytes))
            frame.tiles = tiles
        frame.epoch += 1
        return frame.tiles, frame.epoch

    # -- grids ------------------------------------------------------------------------------------

    def groups(self, units: int) -> int:
        """Groups of a reduction or scan, of teams, or of contiguous parts."""
        team = self.sources.team
        if team is not None:
            return team.groups(units, self.units * max(1, THREADS_PER_UNIT // self.group))
        if self.entry.tile:
            return max(1, -(-units // self.entry.tile))
        each = _GROUPS_PER_UNIT if self.traits.flat and self.shape is None else 1
        return max(1, min(-(-units // self.group), self.units * each))

    @cached_property
    def most_groups(self) -> int | None:
        """Of a plain reduction of numbers by one kernel: the most groups; None for others."""
        plain = self.spec.pattern == "reduce" and self.shape is None and self.teams is None
        single = len(self.entry.kernels) == 1 and not self.entry.tile and not self.entry.array
        return self.groups(1 << 62) if plain and single else None

    def items(self, units: int) -> int:
        """Work-items of the first kernel of an array reduction."""
        return self.groups(units) * self.group

    def grid(self, units: int) -> Grid:
        """Grid of a parallel_for without thread blocks."""
        groups = -(-units // self.group)
        if self.sources.team is not None or not self.traits.flat:
            groups = self.groups(units)
        elif groups * self.group > MOST_UNITS:  # grid-stride loops
            groups = max(1, MOST_UNITS // self.group)
        return groups, 1, 1, self.group, 1, 1

    # -- launches ---------------------------------------------------------------------------------

    def reduce(self, program: P, units: int, frame: Frame) -> Any:
        """Launch the kernels of a reduction or scan, and wait if the result is returned."""
        grid = (self.groups(units), 1, 1, self.group, 1, 1)
        last = len(self.entry.kernels) - 1
        for number in range(last):
            self.enqueue(program, number, grid, frame)
        if self.entry.array:
            groups = min(-(-self.entry.array // self.group), max(1, _JOINING // self.group))
            grid = (groups, 1, 1, self.group, 1, 1)
        self.enqueue(program, last, grid, frame)
        if self.spec.out:
            return None
        return self.result(self.read(frame.extra["result"], self._result_bytes))

    @cached_property
    def result(self) -> Callable[[Any], Any]:
        """A function from the bytes of a result to the user's result."""
        return result_decoder(self.spec, self.lowered)

    @property
    def lone_number(self) -> np.dtype[Any] | None:
        """The dtype of the number that a launch returns if it does nothing else that is seen."""
        reduction, effects = self.lowered.reduction, effects_of(self.lowered)
        number = None if reduction is None else reduction.result
        more = effects.written or effects.prints or self.entry.status or self.spec.out
        if more or not isinstance(number, str) or self.spec.array_shape is not None:
            return None
        return np.dtype(number)

    def watch(self, program: P, units: int, grid: Grid | None, frame: Frame) -> Any:
        """A launch that prints or asserts, or that must be synchronous; blocks."""
        prints = self.lowered.prints
        if prints:
            sys.stdout.flush()  # so that output of Python and of the kernel is in order
        result = None
        if grid is None:
            result = self.reduce(program, units, frame)
        elif units:
            self.enqueue(program, 0, grid, frame)
        read = self.entry.status or (grid is None and not self.spec.out)  # which waits
        if prints or not read:
            self.wait()
        if prints:
            self.flush_prints()
        if self.entry.status:
            raw = self.read(frame.extra["status"], self._status_bytes)
            failed, code, *indices = np.frombuffer(raw, np.int64).tolist()
            if failed:
                raise failure(self.name, self.lowered.assertions, code, indices)
        return result


class _Usual(dict[bool, Any]):
    """Programs for numbers that fit in 32 bits, by whether Views are contiguous."""

    def __init__(self, launch: DeviceLaunch[Any]) -> None:
        super().__init__()
        self.launch = launch

    def __missing__(self, contiguous: bool) -> Any:
        variant = self.launch.sources.usual_if(contiguous)
        made = self[contiguous] = self.launch.program(variant)
        return made
