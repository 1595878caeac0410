"""Compile a lowered kernel with Numba, and build the plan that launches it.

Body, helpers, chunk and launcher are in one generated file named by a hash of all that they depend
on. An entry next to it holds the machine code, so a later process runs the file and loads the code
without compiling.
"""

from __future__ import annotations

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
from types import ModuleType
from typing import Any

import llvmlite
import llvmlite.binding
import numba
import numpy as np

import execspace
from execspace import (
    BackendCompileError,
    ExecutionSpace,
    Kernel,
    KernelTypeError,
    LaunchSpec,
    ScalarType,
    SpaceError,
    ViewType,
    profiling,
)

from .. import ir
from ..analysis.overlap import written_pairs
from ..cache import disk
from ..cache.fingerprint import fingerprint
from ..ir import Assertion
from ..ir.diagnostics import Diagnostic, Loc
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
from .fork import checked_call
from .frames import with_room
from .launch_source import Launcher, launch_module
from .output import flush_c_output
from .pool import ENTRY
from .wide import aligned_call, has_cheap_masks, refuse_wide


@dataclass
class HostPlan(HostTeamSizes, DescribedPlan):
    """A compiled launch.

    Attributes
    ----------
    launch : callable
        ``launch(bounds, args)``; see `execspace.Plan`.
    path : Path
        File of the generated source.
    from_disk : bool
        Machine code came from the cache.
    loaded : bool
        It was loaded in this process before.
    """

    space: ExecutionSpace
    kernel: Kernel
    spec: LaunchSpec
    launch: Callable[[tuple[int, ...], tuple[Any, ...]], Any]
    path: Path
    from_disk: bool
    loaded: bool

    @property
    def source(self) -> str:
        """The generated source."""
        return str(sys.modules[self.path.stem].SOURCE)

    @property
    def vectorisation(self) -> tuple[str, ...]:
        """Descriptions of LLVM's vectorisation of the loops."""
        from .vectorising import describe_vectors, optimised  # not needed for launches

        launch = sys.modules[self.path.stem].launch
        ir_text = optimised(next(iter(launch.overloads.values())).library)
        return describe_vectors(ir_text) if ir_text else ()

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


_lock = threading.Lock()


@dataclass
class _Overlapping:
    """The plan for Views that overlap, compiled at the first such launch."""

    space: ExecutionSpace
    kernel: Kernel
    spec: LaunchSpec
    launcher: Launcher
    plan: HostPlan | None = None

    def launch(self, bounds: tuple[int, ...], args: tuple[Any, ...]) -> None:
        if self.plan is None:
            self.plan = compile_plan(
                self.space, self.kernel, self.spec, self.launcher, may_overlap=True
            )
        self.plan.launch(bounds, args[: len(self.spec.arguments)])


@with_room
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
        If Numba refuses the generated source: a defect of execspace.
    """
    started = time.perf_counter()
    _refuse_without_threads(space, launcher)
    folder = disk.folder("numba")
    key = partial(disk.key, *_versions(), package=type(space).__module__.partition(".")[0])
    # Checks of launches of teams follow from lowering.
    print_ = None if spec.policy.kind == "team" else fingerprint(kernel, spec)
    record = None
    team: HostTeam | None = None
    masks = has_cheap_masks()
    if print_ is not None:
        record = folder / f"{key(print_, f'{launcher} {may_overlap} {masks}')}.launch"
    with _lock:
        found = _recalled(record)
        if found is None:
            lowered = lower_kernel(kernel, spec)
            if spec.policy.kind == "team":
                policy = spec.policy
                team = host_team(lowered, policy.team_size or 1, policy.vector_length or 1)
                lowered = team.lowered
            _refuse_float16(lowered, space)
            refuse_wide(lowered, space)
            if lowered.reduction is not None:
                check_out(kernel.name, spec, lowered.reduction.result)
            order = index_order(lowered.body, spec)
            disjoint = not may_overlap and bool(written_pairs(lowered))
            pool = None if team is None else team.pool
            source = launch_module(lowered, order, launcher, disjoint, pool, masks)
            name = f"execspace_{key(source)}"
            path = folder / f"{name}.py"
            if disk.read(path) is None:
                disk.keep(path, source)
            if record is not None:
                disk.keep(record, f"{name} {disjoint}")
            disk.limit_size(folder)
        else:
            name, disjoint, source = found
            path = folder / f"{name}.py"
        loaded = name in sys.modules
        module = _module(name, path, source, kernel)
    launch = module.launch
    entry = next(iter(launch.overloads.values())).entry_point
    from_disk = bool(launch.stats.cache_hits)
    if not loaded and not from_disk:
        from ..cache.history import record_miss

        record_miss(folder, name, kernel, spec, _tools(space, launcher, may_overlap))
    overlapping = _Overlapping(space, kernel, spec, launcher) if disjoint else None
    call = _caller(kernel.name, spec, entry, launcher, overlapping, module)
    if launcher.fork is not None:
        call = checked_call(call, kernel.name, launcher.fork)
    if module.ALIGNED:
        call = aligned_call(call, kernel.name, module.ALIGNED)
    if module.PRINTS or module.ASSERTIONS:
        call = _reporting(call, kernel.name, module, spec.policy.rank)
    if team is not None and team.layout:
        call = _with_scratch(call, team.sizes(space.name, team_limits(space).scratch))
    if profiling.TOOLS:
        seconds = time.perf_counter() - started
        profiling.emit("on_compile", kernel.name, space.name, seconds, from_disk)
    return HostPlan(space, kernel, spec, call, path, from_disk, loaded)


# Settings of Numba that affect generated code, but not the names of its own files.
_SETTINGS = (
    "OPT", "LOOP_VECTORIZE", "SLP_VECTORIZE", "BOUNDSCHECK", "DEBUGINFO_DEFAULT", "USING_SVML",
    "CPU_NAME", "CPU_FEATURES",
)  # fmt: skip


def _versions() -> tuple[str, ...]:
    """Dependences of source and machine code besides the launch and execspace's own code."""
    settings = [f"{name}={getattr(numba.config, name, None)}" for name in _SETTINGS]
    return (
        execspace.__version__, numba.__version__, llvmlite.__version__, np.__version__,
        platform.python_version(), platform.machine(), " ".join(settings),
    )  # fmt: skip


def _tools(space: ExecutionSpace, launcher: Launcher, may_overlap: bool) -> dict[str, str]:
    """Dependences of machine code besides the kernel and its launch, for people."""
    return {
        "space": space.name,
        "threads": f"{launcher.name} in {launcher.parts} parts",
        "Views": "may overlap" if may_overlap else "do not overlap",
        "Numba": numba.__version__,
        "NumPy": np.__version__,
        "Python": platform.python_version(),
        "execspace": disk.compiler_version(),
        "processor": f"{platform.machine()} {llvmlite.binding.get_host_cpu_name()}",
    }


def _with_scratch(call: Callable[..., Any], sizes: Sizes) -> Callable[..., Any]:
    """A launch that raises LaunchError if scratch memory exceeds the limits."""

    def launch(bounds: tuple[int, ...], args: tuple[Any, ...]) -> Any:
        sizes(bounds[1], args)
        return call(bounds, args)

    return launch


_RECORD = re.compile(r"(execspace_[0-9a-f]{40}) (True|False)")


def _recalled(record: Path | None) -> tuple[str, bool, str] | None:
    """What an earlier process recorded of a launch: its generated module, whether Views must be
    disjoint, and the module's source. None if there is no record, or the module is gone."""
    found = None if record is None else _RECORD.fullmatch(disk.read_text(record) or "")
    if record is None or found is None:
        return None
    source = disk.read_text(record.with_name(f"{found[1]}.py"))
    return None if source is None else (found[1], found[2] == "True", source)


# What machine code calls by name, and what provides it. LLVM links a name that it does not find as
# address 0, so the first launch on several threads would end the process.
_PROVIDERS = {
    "pool": (ENTRY, "execspace_compiler.backend.start({parts})"),
    "libgomp": (
        "GOMP_parallel",
        'llvmlite.binding.load_library_permanently("libgomp.so.1")',
    ),
}


def _refuse_without_threads(space: ExecutionSpace, launcher: Launcher) -> None:
    symbol, call = _PROVIDERS.get(launcher.name, (None, ""))
    if symbol is not None and not llvmlite.binding.address_of_symbol(symbol):
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


def _module(name: str, path: Path, source: str, kernel: Kernel) -> ModuleType:
    known = sys.modules.get(name)
    if known is not None:
        return known
    module = ModuleType(name)
    module.__dict__.update(__file__=str(path), SOURCE=source)
    try:
        sys.modules[name] = module  # Numba finds functions again by the name of their module
        exec(compile(source, path, "exec", dont_inherit=True), module.__dict__)
    except BaseException as error:  # Ctrl-C, too: a partial module must not stay
        sys.modules.pop(name, None)
        if not isinstance(error, Exception) or isinstance(error, MemoryError):
            raise
        raise BackendCompileError(
            f"in kernel '{kernel.name}'\nNumba could not compile the generated source {path}: "
            f"{type(error).__name__}: {error}\nThis is a defect of execspace; please report it "
            f"with that file."
        ) from error
    return module


# -- the hot path -----------------------------------------------------------------------------

# Globals of all generated callers. In a forked child `sign` is -1: the pool of threads did not
# survive the fork, and waiting for it would hang.
_caller_globals: dict[str, Any] = {"sign": 1}


def forbid_teams() -> None:
    """Run all ranges of this process on the calling thread from now on."""
    _caller_globals["sign"] = -1


def _reporting(
    call: Callable[..., Any], kernel: str, module: ModuleType, rank: int
) -> Callable[..., Any]:
    """A launch whose kernel prints or asserts: output is flushed, and failures are raised."""
    assertions = [Assertion(Loc(*row[:5]), row[5]) for row in module.ASSERTIONS]
    if not module.PRINTS:
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


def _caller(
    kernel: str,
    spec: LaunchSpec,
    entry: Any,
    launcher: Launcher,
    overlapping: _Overlapping | None,
    module: ModuleType,
) -> Callable[..., Any]:
    """A function that unpacks bounds and arguments and calls the machine code."""
    n_bounds = spec.policy.rank * (3 if spec.policy.tiled else 2)
    bounds = ", ".join(f"b{n}" for n in range(n_bounds))
    types: tuple[ViewType | ScalarType, ...] = spec.arguments
    names = [f"a{n}" for n in range(len(types))]
    passed = [_passed(name, t) for name, t in zip(names, types, strict=True)]
    names += [f"out{n}" for n in range(len(spec.out))]
    if module.ASSERTIONS:
        names.append("status")
        passed.append("status")
    parts = "1" if launcher.name == "serial" else f"{launcher.parts} * sign"
    if launcher.fork is not None:
        names.append("table")
        parts += ", table"
    lines = [
        "def call(bounds, args, entry=entry, overlapping=overlapping, refuse=refuse, "
        "limits=limits, empty=empty, make=make, store=store):",
        f"    {bounds}, = bounds",
    ]
    if names:
        lines.append(f"    {', '.join(names)}, = args")
    for n, _, low, high in module.LIMITS:
        lines.append(f"    if not {low} <= a{n} <= {high}: refuse(limits, args)")
    scope: dict[str, Any] = {
        "entry": entry, "overlapping": overlapping, "refuse": partial(check_limits, kernel),
        "limits": module.LIMITS, "empty": None, "make": None, "store": None,
    }  # fmt: skip
    shape = spec.array_shape
    if shape is not None:
        scope["empty"] = partial(np.empty, shape, module.RESULT)
        lines.append("    array = empty()")
        passed.append("array.ctypes.data")
    call = f"entry({', '.join([parts, bounds, *passed])})"
    if shape is not None:
        lines.append(f"    {call}")
        call = "array"
    if overlapping is not None:
        lines += [f"    if not {call}:", "        overlapping.launch(bounds, args)"]
    elif spec.out:
        scope["store"] = partial(store_result, kernel)
        views = "".join(f"out{n}, " for n in range(len(spec.out)))
        lines.append(f"    store(({views}), {call}, {result_shape(spec)})")
    else:
        scope["make"] = None if spec.reducer is None else result_maker(spec, module.RESULT)
        make = scope["make"] is not None and shape is None
        lines.append(f"    return make({call})" if make else f"    return {call}")
    exec("\n".join(lines), _caller_globals, scope)
    found: Callable[..., Any] = scope["call"]
    return found


def _passed(name: str, t: ViewType | ScalarType) -> str:
    if isinstance(t, ViewType):
        return f"{name}.descriptor"
    return name if t.weak or t.dtype in ("bool", "float64") else f"{name}.item()"
