"""Compile a lowered kernel through LLVM, and build the plan that launches it.

A launch is one module: the kernel, helpers, loops, and an entry that Python calls as a built-in
function. Its machine code is in the cache with the facts that launches need, so a later process
loads both and compiles nothing.
"""

from __future__ import annotations

import ctypes
import platform
import re
import sys
import threading
import time
from collections.abc import Callable
from ctypes import addressof, c_int64
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np

import execspace
from execspace import (
    BackendCompileError,
    ExecutionSpace,
    Kernel,
    KernelTypeError,
    LaunchSpec,
    SpaceError,
    profiling,
)
from execspace.base.interrupts import held

from .. import ir
from ..analysis.overlap import written_pairs
from ..cache import disk
from ..cache.fingerprint import fingerprint
from ..ir import Assertion
from ..ir.diagnostics import Diagnostic
from ..ir.types import ViewTy
from ..launch.describe import describe_host_teams, describe_rows
from ..launch.failures import failure
from ..launch.plan import DescribedPlan
from ..mapping.loops import index_order
from ..passes.pipeline import check_limits, lower_kernel
from ..reductions.results import check_out, result_maker, result_shape, store_result
from ..teams.host_teams import HostTeam, host_team
from ..teams.scratch import Sizes
from ..teams.sizes import HostTeamSizes, team_limits
from ..typing.lowered import Lowered
from . import machine
from .entry import METHOD
from .fork import checked_call
from .launch_source import Facts, decoded, launch_facts, launch_module
from .launcher import Launcher
from .output import flush_c_output
from .pool import ENTRY
from .python_api import OBJECTS, TABLE
from .wide import aligned_call, has_cheap_masks, refuse_wide


@dataclass
class HostPlan(HostTeamSizes, DescribedPlan):
    """A compiled launch.

    Attributes
    ----------
    launch : callable
        ``launch(bounds, args)``; see `execspace.Plan`.
    launcher : Launcher
    disjoint : bool
        It is for Views that do not overlap.
    path : Path
        Its entry in the cache.
    from_disk : bool
        Machine code came from the cache.
    loaded : bool
        It was loaded in this process before.
    """

    space: ExecutionSpace
    kernel: Kernel
    spec: LaunchSpec
    launch: Callable[[tuple[int, ...], tuple[Any, ...]], Any]
    launcher: Launcher
    disjoint: bool
    path: Path
    from_disk: bool
    loaded: bool

    @property
    def source(self) -> str:
        """The generated LLVM IR."""
        return _Text(self.lowered, self.spec).written(self.launcher, self.disjoint)

    @property
    def optimised(self) -> str:
        """The LLVM IR after LLVM's passes."""
        return str(machine.optimised(self.source))

    @property
    def assembly(self) -> str:
        """The machine code as text."""
        return machine.assembly(self.source)

    @property
    def vectorisation(self) -> tuple[str, ...]:
        """Descriptions of LLVM's vectorisation of the loops."""
        from .vectorising import describe_vectors  # not needed for launches

        return describe_vectors(self.optimised)

    @property
    def cache(self) -> tuple[str, str]:
        """Key of the entry in the cache on disk, and whether it was found."""
        from ..cache.history import describe_entry  # needed by launches only if they compile

        hit = "in this process" if self.loaded else "on disk" if self.from_disk else ""
        return describe_entry(self.path.parent, self.path.stem, self.kernel, hit)

    def mapping(self, bounds: tuple[int, ...]) -> list[str]:
        """The mapping of a range."""
        if self.spec.policy.kind == "team":
            return describe_host_teams(self.lowered, self.team_sizes())
        return describe_rows(self.lowered)

    @cached_property
    def lowered(self) -> Lowered:  # type: ignore[override]  # computed on first use
        """The kernel in typed IR; lowered again if the plan came from the cache."""
        return lower_kernel(self.kernel, self.spec)

    @property
    def order(self) -> tuple[int, ...]:
        """Dimensions from the slowest to the fastest."""
        return index_order(self.lowered.body, self.spec)


class _Text:
    """The LLVM IR of a launch."""

    def __init__(self, lowered: Lowered, spec: LaunchSpec) -> None:
        self.team: HostTeam | None = None
        if spec.policy.kind == "team":
            policy = spec.policy
            self.team = host_team(lowered, policy.team_size or 1, policy.vector_length or 1)
            lowered = self.team.lowered
        self.lowered = lowered
        self.order = index_order(lowered.body, spec)

    def written(self, launcher: Launcher, disjoint: bool) -> str:
        """The module."""
        pool = None if self.team is None else self.team.pool
        masks = has_cheap_masks()
        return launch_module(self.lowered, self.order, launcher, disjoint, pool, masks)


_lock = threading.Lock()
_loaded: set[str] = set()  # names of entries that this process has loaded


@dataclass
class _Overlapping:
    """The plan for Views that overlap, compiled at the first such launch."""

    space: ExecutionSpace
    kernel: Kernel
    spec: LaunchSpec
    launcher: Launcher
    plan: HostPlan | None = None

    def __call__(self, bounds: tuple[int, ...], args: tuple[Any, ...]) -> None:
        if self.plan is None:
            self.plan = compile_plan(
                self.space, self.kernel, self.spec, self.launcher, may_overlap=True
            )
        self.plan.launch(bounds, args[: len(self.spec.arguments)])


@dataclass(frozen=True)
class _Entry:
    """An entry of the cache."""

    path: Path
    facts: Facts
    code: bytes
    from_disk: bool = True


def compile_plan(
    space: ExecutionSpace,
    kernel: Kernel,
    spec: LaunchSpec,
    launcher: Launcher,
    may_overlap: bool = False,
) -> HostPlan:
    """Compile `kernel` for the host, or load it from the cache.

    A parallel_for is compiled for Views that do not overlap in memory. Its launcher checks them at
    each launch; if they do, a second plan is compiled that allows it (`may_overlap`).

    Raises
    ------
    KernelSyntaxError, KernelTypeError
        For faults in the kernel.
    SpaceError
        If the threads of `launcher` were not started.
    BackendCompileError
        If LLVM refuses the generated module: a defect of execspace.
    """
    started = time.perf_counter()
    _refuse_without_threads(space, launcher)
    folder = disk.folder("host")
    key = partial(disk.key, *_versions(), package=type(space).__module__.partition(".")[0])
    # Checks of launches of teams follow from lowering.
    print_ = None if spec.policy.kind == "team" else fingerprint(kernel, spec)
    record = None
    team: HostTeam | None = None
    if print_ is not None:
        record = folder / f"{key(print_, f'{launcher} {may_overlap}')}.launch"
    with _lock:
        entry = _recalled(record)
        if entry is None:
            text = _Text(lower_kernel(kernel, spec), spec)
            team = text.team
            _refuse_float16(text.lowered, space)
            refuse_wide(text.lowered, space)
            if text.lowered.reduction is not None:
                check_out(kernel.name, spec, text.lowered.reduction.result)
            disjoint = not may_overlap and bool(written_pairs(text.lowered))
            facts = launch_facts(text.lowered, disjoint)
            module = text.written(launcher, disjoint)
            path = folder / f"{key(module, facts.encoded().decode())}.code"
            entry = _read(path) or _compiled(kernel, module, facts, path)
            if record is not None:
                disk.keep(record, path.stem)
            disk.limit_size(folder)
        loaded = entry.path.stem in _loaded
        _loaded.add(entry.path.stem)
    if not entry.from_disk:
        from ..cache.history import record_miss

        tools = _tools(space, launcher, may_overlap)
        record_miss(folder, entry.path.stem, kernel, spec, tools)
    facts = entry.facts
    overlapping = _Overlapping(space, kernel, spec, launcher) if facts.disjoint else None
    call = _callable(kernel.name, spec, facts, entry.code, overlapping)
    if launcher.fork is not None:
        call = checked_call(call, kernel.name, launcher.fork)
    elif launcher.name == "prange":
        call = _on_numba(call)
    if facts.aligned:
        call = aligned_call(call, kernel.name, facts.aligned)
    if facts.prints or facts.assertions:
        call = _reporting(call, kernel.name, facts, spec.policy.rank)
    if team is not None and team.layout:
        call = _with_scratch(call, team.sizes(space.name, team_limits(space).scratch))
    if profiling.TOOLS:
        seconds = time.perf_counter() - started
        profiling.emit("on_compile", kernel.name, space.name, seconds, entry.from_disk)
    return HostPlan(
        space, kernel, spec, call, launcher, facts.disjoint, entry.path, entry.from_disk, loaded
    )


def _versions() -> tuple[str, ...]:
    """Dependences of machine code besides the launch and execspace's own code."""
    return (execspace.__version__, np.__version__, platform.python_version(), *machine.versions())


def _tools(space: ExecutionSpace, launcher: Launcher, may_overlap: bool) -> dict[str, str]:
    """Dependences of machine code besides the kernel and its launch, for people."""
    llvm, processor, name, _ = machine.versions()
    return {
        "space": space.name,
        "threads": f"{launcher.name} in {launcher.parts} parts",
        "Views": "may overlap" if may_overlap else "do not overlap",
        "llvmlite": llvm,
        "NumPy": np.__version__,
        "Python": platform.python_version(),
        "execspace": disk.compiler_version(),
        "processor": f"{processor} {name}",
    }


def _with_scratch(call: Callable[..., Any], sizes: Sizes) -> Callable[..., Any]:
    """A launch that raises LaunchError if scratch memory exceeds the limits."""

    def launch(bounds: tuple[int, ...], args: tuple[Any, ...]) -> Any:
        sizes(bounds[1], args)
        return call(bounds, args)

    return launch


# -- the cache --------------------------------------------------------------------------------

_RECORD = re.compile(r"[0-9a-f]{40}")


def _recalled(record: Path | None) -> _Entry | None:
    """The entry that an earlier process recorded for a launch, if it is still there."""
    name = None if record is None else disk.read_text(record)
    if record is None or name is None or not _RECORD.fullmatch(name):
        return None
    return _read(record.with_name(f"{name}.code"))


def _read(path: Path) -> _Entry | None:
    content = disk.read(path)
    if content is None:
        return None
    line, _, code = content.partition(b"\n")
    try:
        return _Entry(path, decoded(line), code)
    except (ValueError, TypeError):  # not what `_compiled` wrote
        return None


def _compiled(kernel: Kernel, module: str, facts: Facts, path: Path) -> _Entry:
    try:
        code = machine.object_code(module)
    except RuntimeError as error:
        told = str(error).strip()
        raise BackendCompileError(
            f"in kernel '{kernel.name}'\nLLVM could not compile the generated module: {told}\n"
            f"This is a defect of execspace; please report it with the kernel."
        ) from error
    disk.keep(path, facts.encoded() + code)
    return _Entry(path, facts, code, from_disk=False)


# What machine code calls by name, and what provides it.
_PROVIDERS = {
    "pool": (ENTRY, "execspace_compiler.backend.start({parts})"),
    "libgomp": (
        "GOMP_parallel",
        'llvmlite.binding.load_library_permanently("libgomp.so.1")',
    ),
}


def _refuse_without_threads(space: ExecutionSpace, launcher: Launcher) -> None:
    symbol, call = _PROVIDERS.get(launcher.name, (None, ""))
    if symbol is not None and not machine.address_of(symbol):
        raise SpaceError(
            f"Space '{space.name}' compiles for Launcher({launcher.name!r}, {launcher.parts}), but "
            f"this process has no {symbol}, which launches call; the space must call "
            f"{call.format(parts=launcher.parts)} once, before its first compile_plan."
        )


def _refuse_float16(lowered: Lowered, space: ExecutionSpace) -> None:
    for function in lowered.functions:
        for e in [*function.parameters, *ir.walk_expressions(function.body)]:
            type = e.type.element if isinstance(e.type, ViewTy) else e.type
            if "float16" in str(type):
                loc = e.loc if e.loc.line else function.loc
                message = f"space '{space.name}' cannot compute with float16"
                found = Diagnostic(loc, message, "use float32")
                raise KernelTypeError(f"in kernel '{lowered.kernel.name}'\n\n{found}")


# -- the hot path -----------------------------------------------------------------------------

# In a forked child it is -1: the pool of threads did not survive the fork, and waiting for it would
# hang.
_process = c_int64(1)


def forbid_teams() -> None:
    """Run all ranges of this process on the calling thread from now on."""
    _process.value = -1


class _Code:
    """Machine code of a launch with the objects that it uses: the `self` of its entry."""

    def __init__(self, code: bytes, objects: dict[str, Any], imports: dict[str, int]) -> None:
        self.objects = objects
        self.library = machine.Library(code, (METHOD, TABLE), imports)
        table = (ctypes.c_void_p * len(OBJECTS)).from_address(self.library.address(TABLE))
        for n, name in enumerate(OBJECTS):
            if name == "process":
                table[n] = addressof(_process)
            elif objects.get(name) is not None or name == "none":
                table[n] = id(objects.get(name))


def _callable(
    kernel: str, spec: LaunchSpec, facts: Facts, code: bytes, overlapping: _Overlapping | None
) -> Callable[..., Any]:
    """The entry of a launch as a function of bounds and arguments."""
    finish = None
    count, shape = len(spec.arguments), spec.array_shape
    if spec.out:
        stored, views = result_shape(spec), slice(count, count + len(spec.out))

        def finish(numbers: Any, args: tuple[Any, ...]) -> None:
            store_result(kernel, args[views], numbers, stored)

    elif spec.reducer is not None and shape is None:
        make = result_maker(spec, facts.result)
        if make is not None:

            def finish(numbers: Any, args: tuple[Any, ...]) -> Any:
                return make(numbers)

    objects = {
        "descriptor": "descriptor",
        "item": "item",
        "refuse": partial(check_limits, kernel, facts.limits),
        "overlapping": overlapping,
        "finish": None if shape is not None else finish,
        "misused": partial(_misused, kernel),
    }
    imports = {ENTRY: found} if (found := machine.address_of(ENTRY)) else {}
    owner = _Code(code, objects, imports)
    call: Callable[..., Any] = machine.built_in(owner.library.address(METHOD), owner)
    if shape is None:
        return call
    empty = partial(np.empty, shape, facts.result)

    def launch(bounds: tuple[int, ...], args: tuple[Any, ...]) -> Any:
        array = empty()
        call(bounds, (*args, array.ctypes.data))
        return array if finish is None else finish(array, args)

    return launch


_numba_table = (c_int64 * 2)()


def _on_numba(call: Callable[..., Any]) -> Callable[..., Any]:
    """A launch on Numba's threads."""
    with held():  # what Numba prepares at its first start is not prepared again
        from .numba_threads import ADDRESS

    _numba_table[0] = ADDRESS
    table = addressof(_numba_table)

    def launch(bounds: tuple[int, ...], args: tuple[Any, ...]) -> Any:
        return call(bounds, (*args, table))

    return launch


def _misused(kernel: str) -> None:
    raise TypeError(
        f"Kernel '{kernel}': a plan's launch takes two tuples, the bounds and all arguments."
    )


def _reporting(
    call: Callable[..., Any], kernel: str, facts: Facts, rank: int
) -> Callable[..., Any]:
    """A launch whose kernel prints or asserts: output is flushed, and failures are raised."""
    assertions = list(facts.assertions)
    if not facts.prints:
        return _asserting(call, kernel, assertions, rank)
    table = c_int64 * (1 + rank)

    def launch(bounds: tuple[int, ...], args: tuple[Any, ...]) -> Any:
        if sys.stdout is not None:
            sys.stdout.flush()  # so that output of Python and of C is in order
        status = table() if assertions else None
        try:
            return call(bounds, args if status is None else (*args, addressof(status)))
        finally:
            flush_c_output()
            if status is not None and status[0]:
                code, *indices = status
                raise failure(kernel, assertions, code, indices)

    return launch


def _asserting(
    call: Callable[..., Any], kernel: str, assertions: list[Assertion], rank: int
) -> Callable[..., Any]:
    """A launch that raises failures; launches reuse the memory of the status."""
    table = c_int64 * (1 + rank)
    idle: list[tuple[Any, int]] = []

    def launch(bounds: tuple[int, ...], args: tuple[Any, ...]) -> Any:
        try:
            status, address = slot = idle.pop()
        except IndexError:  # the first launch, or others are under way
            status = table()
            address = addressof(status)
            slot = status, address
        result = call(bounds, (*args, address))
        if status[0]:
            code, *indices = status
            raise failure(kernel, assertions, code, indices)
        idle.append(slot)
        return result

    return launch
