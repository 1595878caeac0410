"""Compiles generated OpenCL C with the device's driver and makes the plan that launches it."""

from __future__ import annotations

import struct
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from math import prod
from typing import Any
from weakref import ref

import numpy as np
import numpy.typing as npt
import pyopencl as cl

from execspace import HOST, Kernel, LaunchError, LaunchSpec, PolicyError, TeamSizes, profiling
from execspace.contract.tiles import table_of
from execspace.reducers.base import flattened
from execspace_compiler.analysis.overlap import written_pairs
from execspace_compiler.codegen.cfamily.dialect import OPENCL, OPENCL_NVIDIA, Dialect
from execspace_compiler.codegen.cfamily.states import ROWS, SLOT
from execspace_compiler.ir import written_views
from execspace_compiler.ir.private_arrays import private_total
from execspace_compiler.launch.arguments import ranges_of
from execspace_compiler.launch.describe import (
    tell_device_teams,
    tell_host_teams,
    tell_rows,
    tell_threads,
)
from execspace_compiler.launch.device_text import DeviceText, device_text
from execspace_compiler.launch.failures import failure
from execspace_compiler.launch.plan import TellsOfKernel
from execspace_compiler.mapping.loops import index_order
from execspace_compiler.mapping.thread_blocks import (
    USUAL_THREADS,
    Geometry,
    blocks_of,
    tile_chooser,
)
from execspace_compiler.passes.contiguous import linear_body
from execspace_compiler.passes.pipeline import lower_kernel
from execspace_compiler.reductions.results import check_out, result_maker
from execspace_compiler.teams.device import DeviceTeam
from execspace_compiler.teams.scratch import Sizes
from execspace_compiler.teams.sizes import ScratchBySize, most_threads, with_team_size
from execspace_compiler.typing.lowered import Lowered

from .build import build, figures, refuse
from .devices import driver_error
from .ending import remember_object
from .memory import Buffer, lend
from .packing import MOST_UNITS, caller_text
from .space import OpenCL
from .teams import Teams

_GROUP = 128  # work-items of a group of a parallel_for on a GPU
_GROUPS_PER_UNIT = 8  # of reductions and scans
_MOST_ITEMS = 1 << 30
_STACK = 1 << 21  # bytes of private arrays that a thread of a CPU has room for

Size = tuple[tuple[int, ...], tuple[int, ...]]  # work-items in all, and of a group
# Narrow, disjoint, small, in line: see `device_text` of `execspace_compiler.launch.device_text`.
Variant = tuple[bool, bool, bool, bool]
# Units, size, text, and bytes of scratch memory of a team at both levels.
How = tuple[int, Size | None, Variant, tuple[int, int]]


@dataclass
class OpenCLPlan(TellsOfKernel):
    """A compiled launch; see `execspace.Plan`."""

    space: OpenCL
    kernel: Kernel
    spec: LaunchSpec
    lowered: Lowered
    launch: Callable[[tuple[int, ...], tuple[Any, ...]], Any]
    text: DeviceText
    _launcher: _Launch

    def mapping(self, bounds: tuple[int, ...]) -> list[str]:
        """How it goes through a range."""
        launch = self._launcher
        if launch.teams is not None and launch.teams.device is not None:
            return tell_device_teams(launch.teams.device)
        if launch.teams is not None:
            return tell_host_teams(self.lowered, self.team_sizes())
        if not self.space.flat:
            return tell_rows(self.lowered)
        return tell_threads(
            self.lowered, bounds, group=launch.group, blocks=launch.blocks, shapes=launch.shapes,
            linear=launch.linear, table=table_of(self.space),
        )  # fmt: skip

    def team_sizes(self) -> TeamSizes:
        """Of a TeamPolicy: what it chose where the policy does not say."""
        assert self._launcher.teams is not None
        return self._launcher.teams.team_sizes(self._launcher.usual.largest)

    def team_size_max(self, bounds: tuple[int, ...], args: tuple[Any, ...]) -> int:
        """Threads of the largest team for which a launch with these arguments works."""
        limits, lanes = self.space.team_limits(), self.team_sizes().vector_length
        scratch = ScratchBySize(self.lowered, self.space.name, limits.scratch)
        most = most_threads(self.spec, lanes, limits.threads_max, limits.team_size_max)
        if not self.space.flat:
            return scratch.largest(most, bounds[1], args)

        def attempt(size: int) -> None:
            launch = _Launch(self.space, with_team_size(self.lowered, size))
            needed = launch.entry.group_memory
            if needed > limits.scratch[0]:
                raise LaunchError(f"{needed} bytes of local memory to join values")
            launch.team_size_of(bounds, args)

        return scratch.largest(most, bounds[1], args, attempt)

    def team_size_recommended(self, bounds: tuple[int, ...], args: tuple[Any, ...]) -> int:
        """Threads of a team of such a launch."""
        return self._launcher.team_size_of(bounds, args)

    @property
    def source(self) -> str:
        """The generated text."""
        return self.text.source

    @property
    def figures(self) -> dict[str, dict[str, int]]:
        """What the driver says of each kernel."""
        return figures(self.space, self.text, self._launcher.usual.kernels)

    @property
    def cache(self) -> tuple[str, str]:
        """Key of the entry in the cache on disk, and whether it was found."""
        return self._launcher.usual.built.told(self.kernel)


def dialect_of(space: OpenCL) -> Dialect:
    """The language of a device."""
    return OPENCL_NVIDIA if "NVIDIA" in space.device.platform.name else OPENCL


def compile_plan(space: OpenCL, kernel: Kernel, spec: LaunchSpec) -> OpenCLPlan:
    """Compile `kernel` for the device.

    Raises
    ------
    KernelSyntaxError, KernelTypeError
        For faults in the kernel.
    BackendCompileError
        If the driver refuses the generated text: a defect of execspace or of the driver.
    """
    started = time.perf_counter()
    lowered = lower_kernel(kernel, spec)
    refuse(lowered, space)
    if lowered.reduction is not None:
        check_out(kernel.name, spec, lowered.reduction.result)
    launch = _Launch(space, lowered)
    if profiling.TOOLS:
        seconds = time.perf_counter() - started
        from_disk = launch.usual.built.from_disk
        profiling.emit("on_compile", kernel.name, space.name, seconds, from_disk)
    return OpenCLPlan(space, kernel, spec, lowered, launch.caller(), launch.usual.text, launch)


class _Program:
    """Kernels of one text, and the arguments that they have."""

    def __init__(self, launch: _Launch, variant: Variant) -> None:
        space = launch.space
        narrow, disjoint, small, in_line = variant
        teams = launch.teams
        self.text = device_text(
            launch.lowered, dialect_of(space), flat=space.flat, group=launch.group, narrow=narrow,
            disjoint=disjoint, small=small, scaled=True, blocks=launch.blocks,
            linear=launch.linear if in_line else None, team=launch.device_team,
            pools=() if teams is None else teams.pools,
        )  # fmt: skip
        self.built = build(space, self.text)
        remember_object(self)
        self.kernels = [getattr(self.built.program, n) for n in self.text.entry.kernels]
        self.records: list[bytes | None] = [None for _ in self.kernels]
        # Weak, for a plan must not keep the memory of Views that the program has dropped.
        self.last: list[list[Any]] = [[] for _ in self.kernels]
        self.largest = min(_largest_group(k, space) for k in self.kernels)
        if space.flat and space.found.is_cpu:  # a thread keeps what all work-items of a group have
            private = max(1, private_total(launch.lowered.functions))
            self.largest = min(self.largest, 1 << max(0, (_STACK // private).bit_length() - 1))

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


def _never() -> None:
    """Stands for a weak reference to an argument that was never set."""


def _largest_group(kernel: Any, space: OpenCL) -> int:
    """Work-items that a group of this kernel may have: few where it needs many registers."""
    most = kernel.get_work_group_info(cl.kernel_work_group_info.WORK_GROUP_SIZE, space.device)
    return int(most)


class _Launch:
    """The state of a plan: programs, scratch memory and results."""

    def __init__(self, space: OpenCL, lowered: Lowered, room: int | None = None) -> None:
        self.space, self.lowered, self.spec = space, lowered, lowered.spec
        self.source = lowered
        self.name = lowered.kernel.name
        self.teams: Teams | None = None
        if lowered.spec.policy.kind == "team":
            most = room or (int(space.device.max_work_group_size) if space.flat else 1)
            self.teams = Teams(space, lowered, dialect_of(space), most)
            self.lowered = lowered = self.teams.lowered
        team = self.device_team
        self.statuses: list[Buffer] = []  # for assertions: all zeros, and in no launch's use
        self.lock = space.turn  # threads of the host share the kernels' arguments, too
        self.order = index_order(lowered.body, lowered.spec)
        self.reduces = lowered.reduction is not None
        own = space.flat and team is None
        self.blocks = blocks_of(lowered, table_of(space)) if own else None
        self.group = space.group if self.reduces else _GROUP if space.flat else 1
        bounds = lowered.spec.policy.launch_bounds or self.group
        while self.group > max(bounds, 32 if self.reduces else 1):
            self.group //= 2
        if team is not None:
            self.group = team.shape.group
        self.disjoint = bool(written_pairs(lowered))
        self.programs: dict[Variant, _Program] = {}
        self.linear = linear_body(lowered) if own and self.blocks is None else None
        variant = (space.flat, self.disjoint, space.flat, self.linear is not None)
        self.usual = self.program(variant)
        while self.usual.largest < self.group:
            if team is not None:
                team = self._smaller()
                self.usual = self.program(variant)
                continue
            self.group //= 2
            if self.reduces:  # their texts depend on it
                self.programs.clear()
                self.usual = self.program(variant)
        self.shapes: Geometry | None = None
        if self.blocks is not None:
            most = min(space.limits.threads, self.usual.largest)
            most = min(most, lowered.spec.policy.launch_bounds or most)
            limits = replace(space.limits, threads=most)
            usual = replace(limits, threads=min(USUAL_THREADS, most))
            chooser = tile_chooser(self.blocks, space, usual)
            self.shapes = Geometry(self.blocks, chooser, limits, most, lowered.kernel.name)
        self.entry = self.usual.text.entry
        self.check = self.teams and self.teams.check(self.entry.group_memory)
        self.shape = self.spec.array_shape
        self.scratch: Any = None
        self.result: Any = None
        self.make: Callable[[Any], Any] | None = None
        self.dtypes: list[np.dtype[Any]] = []
        if lowered.reduction is not None:
            names = lowered.reduction.result
            self.dtypes = [np.dtype(n) for n in flattened(names)]
            if self.shape is None:
                self.make = result_maker(self.spec, names)

    def _smaller(self) -> DeviceTeam:
        """Teams for which the device has registers, where the policy leaves their size open."""
        most = self.usual.largest
        self.teams = Teams(self.space, self.source, dialect_of(self.space), most)
        assert self.teams.device is not None
        self.lowered, self.group = self.teams.lowered, self.teams.device.shape.group
        self.programs.clear()
        return self.teams.device

    @property
    def queue(self) -> Any:
        """Where launches go; another one while a tool wants times."""
        return self.space.queue

    @property
    def device_team(self) -> DeviceTeam | None:
        """The teams of which members are work-items."""
        return None if self.teams is None else self.teams.device

    def program(self, variant: Variant) -> _Program:
        """The kernels of a text."""
        found = self.programs.get(variant)
        if found is None:
            found = self.programs[variant] = _Program(self, variant)
        return found

    def caller(self) -> Callable[[tuple[int, ...], tuple[Any, ...]], Any]:
        """The hot path, with all that is known of the launch written out."""
        text = caller_text(
            self.usual.text, self.space, self.watched, self.disjoint, self.blocks, self.linear,
            self.check is not None, self.teams.sizes[0] if self.teams is not None else 1,
        )  # fmt: skip
        scope: dict[str, Any] = {
            "launch": self,
            "scratch": self.check,
            "shapes": self.shapes,
            "ranges": ranges_of(self.usual.text),
            **text.scope,
        }
        exec(text.source, scope)
        found: Callable[[tuple[int, ...], tuple[Any, ...]], Any] = scope["call"]
        room = None if self.teams is None else self.teams.roomier
        if room is None:
            return found
        assert isinstance(self.check, Sizes)
        return self.check.or_other_teams(
            found, lambda: _Launch(self.space, self.source, room).caller()
        )

    def team_size_of(self, bounds: tuple[int, ...], args: tuple[Any, ...]) -> int:
        """Threads of a team of a launch: where scratch memory does not suffice, fewer than usual.

        Raises
        ------
        LaunchError
            Where it does not suffice for any that the policy leaves open.
        """
        assert self.teams is not None
        size, check, room = self.teams.sizes[0], self.check, self.teams.roomier
        if not check:
            return size
        if room is not None and isinstance(check, Sizes):
            if check.found(bounds[1], args)[0] > check.limits[0]:
                return _Launch(self.space, self.source, room).team_size_of(bounds, args)
        check(bounds[1], args)
        return size

    def run(self, how: How, record: bytes, buffers: list[Any]) -> Any:
        """Launch with packed numbers and device buffers.

        `how`: the number of units, the size of a launch in blocks, and which text runs.
        """
        units, size, variant, scratch = how
        try:
            with self.lock:
                program = self.program(variant)
                if self.teams is not None:
                    more = self.teams.memory(*scratch, self.sizes(units)[0][0])
                    buffers = [*buffers, *more]
                if self.reduces:
                    return self._reduce(program, units, record, buffers)
                if size is not None and prod(size[1]) > program.largest:
                    self._refuse_size(size, program)
                if units:
                    program.enqueue(self.queue, 0, record, buffers, size or self.sizes(units))
                return None
        except cl.Error as error:
            raise self._failed(error) from error

    def _refuse_size(self, size: Size, program: _Program) -> None:
        """For a text of which a group may have fewer work-items than of the usual one."""
        raise PolicyError(
            f"Kernel '{self.name}': a block of {prod(size[1])} threads, for this range and these "
            f"Views this device launches it with at most {program.largest}. Give a smaller tile."
        )

    def _failed(self, error: cl.Error) -> Exception:
        return driver_error(f"Kernel '{self.name}'", self.space.found, error)

    def run_watched(self, how: How, record: bytes, buffers: list[Any]) -> Any:
        """As `run`, for kernels that print or assert: blocks until they are done."""
        try:
            return self._run_watched(how, record, buffers)
        except cl.Error as error:
            raise self._failed(error) from error

    def run_blocking(self, how: How, record: bytes, buffers: list[Any]) -> Any:
        """As `run`, for kernels that take memory of the host by its address."""
        try:
            return self.run(how, record, buffers)
        finally:
            self.queue.finish()

    def _run_watched(self, how: How, record: bytes, buffers: list[Any]) -> Any:
        status = self._taken_status() if self.entry.status else None
        if status is not None:
            buffers = [*buffers, status]
        if self.lowered.prints:
            sys.stdout.flush()  # so that text of Python and of the driver comes in order
        result = self.run(how, record, buffers)
        if status is None or self.lowered.prints:
            self.queue.finish()
        if status is not None:
            table = self._status_table()
            cl.enqueue_copy(self.queue, table, status, is_blocking=True)
            if table[0]:
                code, *indices = table[1:].tolist()
                raise failure(self.name, self.lowered.assertions, code, indices)
            self.statuses.append(status)
        return result

    def _status_table(self) -> npt.NDArray[np.int64]:
        return np.zeros(2 + self.spec.policy.rank, np.int64)

    def _taken_status(self) -> Buffer:
        """A buffer of zeros that no other launch uses; after a failed assertion it is given up."""
        try:
            return self.statuses.pop()
        except IndexError:
            flags = cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR
            return Buffer(self.space.context, flags, hostbuf=self._status_table())

    def run_on_host(self, how: How, values: list[int], pack: Any, views: list[Any]) -> Any:
        """Launch on Views of which some are lent by the host; blocks, and gives them back."""
        try:
            return self._run_on_host(how, values, pack, views)
        except cl.Error as error:
            raise self._failed(error) from error
        except struct.error as error:
            raise OverflowError(str(error)) from None

    def _run_on_host(self, how: How, values: list[int], pack: Any, views: list[Any]) -> Any:
        on_host = [view for _, view in views if view.memory_space is HOST and view.size]
        lent = lend(self.space.context, on_host) if on_host else []
        given = iter(lent)
        buffers: list[Any] = []
        changed: dict[Any, None] = {}
        for n, (place, view) in enumerate(views):
            if view.memory_space is not HOST:
                buffer = view.allocation.owner
                first = view.data_ptr - view.allocation.pointer
            else:
                buffer, first = next(given) if view.size else (self.space.nothing, 0)
                if n in self.written and view.size:
                    changed[buffer] = None
            buffers.append(buffer)
            values[place] = first if view.dtype.fields is not None else first // view.dtype.itemsize
        run = self.run_watched if self.watched else self.run
        try:
            return run(how, pack(*values), buffers)
        finally:  # what a kernel stored before its assertion failed counts as well
            for buffer in changed:
                self._give_back(buffer)
            self.queue.finish()

    @cached_property
    def written(self) -> frozenset[int]:
        """Which of the entry's buffers the kernel may store into; those of `out=` are the last."""
        parameters = self.lowered.body.parameters[self.lowered.leading :]
        names = written_views(self.lowered.body)
        inputs = len(self.spec.arguments)
        return frozenset(
            n
            for n, argument in enumerate(self.entry.buffers)
            if argument >= inputs or parameters[argument].name in names
        )

    @property
    def watched(self) -> bool:
        """Whether the kernel prints or asserts."""
        return self.lowered.prints or bool(self.lowered.assertions)

    def sizes(self, units: int) -> Size:
        """Work-items in all, and of a group, of a launch that is not in blocks."""
        space = self.space
        team = self.device_team
        if team is not None:
            groups = team.groups(units, space.units * _GROUPS_PER_UNIT)
            return (groups * self.group,), (self.group,)
        if self.reduces:
            most = space.units * (_GROUPS_PER_UNIT if space.flat and self.shape is None else 1)
            groups = max(1, min(-(-units // self.group), most))
            return (groups * self.group,), (self.group,)
        if space.flat:
            items = -(-units // self.group) * self.group
            return (items if units < MOST_UNITS else _MOST_ITEMS,), (self.group,)
        return (min(units, space.units),), (1,)

    def _reduce(self, program: _Program, units: int, record: bytes, buffers: list[Any]) -> Any:
        if self.scratch is None:
            self._make_scratch()
        size = self.sizes(units)
        rest = [*buffers, self.scratch] if self.spec.out else [*buffers, self.scratch, self.result]
        if len(program.kernels) == 2:
            program.enqueue(self.queue, 0, record, [*buffers, self.scratch], size)
        last = size
        if self.entry.array:
            group = self.group
            last = (min(-(-self.entry.array // group) * group, 65536),), (group,)
        program.enqueue(self.queue, len(program.kernels) - 1, record, rest, last)
        return None if self.spec.out else self._read_result()

    def _make_scratch(self) -> None:
        most = self.sizes(1 << 62)[0][0]
        entry, context = self.entry, self.space.context
        groups = most if entry.array else most // self.group
        size = ROWS + groups * (entry.array or entry.states) * SLOT
        scratch = Buffer(context, cl.mem_flags.READ_WRITE, size)
        cl.enqueue_fill_buffer(self.queue, scratch, np.uint8(0), 0, ROWS)
        if not self.spec.out:
            flags = cl.mem_flags.READ_WRITE | cl.mem_flags.ALLOC_HOST_PTR
            self.result = Buffer(context, flags, max(entry.results, 1) * SLOT)
        self.scratch = scratch

    def _read_result(self) -> Any:
        mapped, _ = cl.enqueue_map_buffer(
            self.queue, self.result, cl.map_flags.READ, 0, (self.result.size,), np.uint8,
            is_blocking=True,
        )  # fmt: skip
        if self.shape is not None:
            dtype = self.dtypes[0]
            found: Any = mapped[: self.entry.array * dtype.itemsize].view(dtype).copy()
            found = found.reshape(self.shape)
        else:
            found = tuple(
                mapped[n * SLOT : n * SLOT + t.itemsize].view(t)[0].item()
                for n, t in enumerate(self.dtypes)
            )
        mapped.base.release(self.queue)
        if self.shape is not None:
            return found
        number = found[0] if len(found) == 1 else found
        return number if self.make is None else self.make(number)

    def _give_back(self, buffer: Any) -> None:
        """Let the host see what kernels wrote into a buffer over its memory."""
        mapped, _ = cl.enqueue_map_buffer(
            self.queue, buffer, cl.map_flags.READ, 0, (buffer.size,), np.uint8, is_blocking=False
        )
        mapped.base.release(self.queue)
