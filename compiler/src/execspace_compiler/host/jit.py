"""Compile a lowered kernel with Numba and make the plan that launches it.

Body, helpers, chunk and launcher go into one generated file named by a hash of all that they
depend on. Numba's own cache beside it holds the machine code, so a later process imports the
file and loads the code without compiling.
"""

from __future__ import annotations

import importlib.util
import platform
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from types import ModuleType
from typing import Any

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
    ViewType,
    profiling,
)

from .. import cache, ir
from ..assertions import failure
from ..diagnostics import Diagnostic, Loc
from ..fingerprint import fingerprint
from ..mapping import (
    PART_STRIDE,
    chunk_function,
    cost,
    finish_function,
    index_order,
    items_function,
    units_function,
)
from ..modules import Assertion
from ..pipeline import Lowered, check_limits, lower_kernel
from ..printers.numba import VERSION, NumbaPrinter
from ..printers.python import function_name, identifier, part_of_view
from ..types import Pointer, Scalar, ViewTy
from .output import flush_c_output
from .wide import aligned_call, aligned_views, refuse_wide

# Below this much work, in additions, a range runs on the calling thread: waking a team costs
# about a microsecond when it is spinning, and far more when it sleeps.
SERIAL_WORK = 16_000


@dataclass(frozen=True, slots=True)
class Launcher:
    """How parts of a range are spread over threads.

    Attributes
    ----------
    name : str
        "serial", "libgomp" (a direct call of GOMP_parallel) or "prange" (Numba's own layer).
    parts : int
        Parts that a large range is split into; reductions join in the order of parts.
    """

    name: str
    parts: int = 1


@dataclass
class HostPlan:
    """A compiled launch.

    Attributes
    ----------
    launch : callable
        ``launch(bounds, args)``; see `execspace.Plan`.
    path : Path
        File of the generated text.
    from_disk : bool
        Machine code came from the cache.
    """

    space: ExecutionSpace
    kernel: Kernel
    spec: LaunchSpec
    launch: Callable[[tuple[int, ...], tuple[Any, ...]], Any]
    path: Path
    from_disk: bool

    @property
    def source(self) -> str:
        """The generated text."""
        return self.path.read_text(encoding="utf-8")

    @cached_property
    def lowered(self) -> Lowered:
        """The kernel in typed IR; lowered again where the plan came from the cache."""
        return lower_kernel(self.kernel, self.spec)

    @property
    def order(self) -> tuple[int, ...]:
        """Dimensions from the slowest to the fastest."""
        return index_order(self.lowered.body, self.spec.policy)


_lock = threading.Lock()


@dataclass
class _Overlapping:
    """The plan for Views that overlap, compiled when the first such launch comes."""

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


def compile_plan(
    space: ExecutionSpace,
    kernel: Kernel,
    spec: LaunchSpec,
    launcher: Launcher,
    may_overlap: bool = False,
) -> HostPlan:
    """Compile `kernel` for the host, or load it from the cache.

    A parallel_for is compiled for Views that do not overlap in memory. Its launcher looks at
    them each time; where they do, a second plan is compiled that allows it (`may_overlap`).

    Raises
    ------
    KernelSyntaxError, KernelTypeError
        For faults in the kernel.
    BackendCompileError
        If Numba refuses the generated text: a defect of execspace.
    """
    started = time.perf_counter()
    folder = cache.folder("numba")
    versions = (VERSION, numba.__version__, platform.python_version(), platform.machine())
    print_ = fingerprint(kernel, spec)
    record = None
    if print_ is not None:
        options = f"{launcher} {may_overlap} {np.__version__} {execspace.__version__}"
        record = folder / f"{cache.key(print_, options, *versions)}.launch"
    with _lock:
        found = _recalled(record)
        if found is None:
            lowered = lower_kernel(kernel, spec)
            _refuse_float16(lowered, space)
            refuse_wide(lowered, space)
            order = index_order(lowered.body, spec.policy)
            disjoint = not may_overlap and bool(_written_pairs(lowered))
            text = launch_module(lowered, order, launcher, disjoint)
            name = f"execspace_{cache.key(text, *versions)}"
            if not (folder / f"{name}.py").exists():  # Numba's cache goes by its time stamp
                cache.write(folder / f"{name}.py", text)
            if record is not None:
                cache.write(record, f"{name} {disjoint}")
            cache.limit_size(folder)
        else:
            name, disjoint = found
        path = folder / f"{name}.py"
        module = _module(name, path, kernel)
    launch = module.launch
    entry = next(iter(launch.overloads.values())).entry_point
    from_disk = bool(launch.stats.cache_hits)
    overlapping = _Overlapping(space, kernel, spec, launcher) if disjoint else None
    call = _caller(kernel.name, spec, entry, launcher, overlapping, module)
    if module.ALIGNED:
        call = aligned_call(call, kernel.name, module.ALIGNED)
    if module.PRINTS or module.ASSERTIONS:
        call = _reporting(call, kernel.name, module, spec.policy.rank)
    if profiling.TOOLS:
        seconds = time.perf_counter() - started
        profiling.emit("on_compile", kernel.name, space.name, seconds, from_disk)
    return HostPlan(space, kernel, spec, call, path, from_disk)


def _recalled(record: Path | None) -> tuple[str, bool] | None:
    """What an earlier process noted of a launch: its generated module, and whether Views must
    be disjoint. None if there is no note, or the module is gone."""
    if record is None:
        return None
    try:
        name, disjoint = record.read_text(encoding="utf-8").split()
    except (OSError, ValueError):
        return None
    return (name, disjoint == "True") if (record.parent / f"{name}.py").exists() else None


def _refuse_float16(lowered: Lowered, space: ExecutionSpace) -> None:
    for function in lowered.functions:
        for e in [*function.parameters, *ir.walk_expressions(function.body)]:
            type = e.type.element if isinstance(e.type, ViewTy) else e.type
            if "float16" in str(type):
                loc = e.loc if e.loc.line else function.loc
                message = f"space '{space.name}' cannot compute with float16"
                found = Diagnostic(loc, message, "use float32")
                raise KernelTypeError(f"in kernel '{lowered.kernel.name}'\n\n{found}")


def _module(name: str, path: Path, kernel: Kernel) -> ModuleType:
    known = sys.modules.get(name)
    if known is not None:
        return known
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # Numba's cache imports functions by the name of their module
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        del sys.modules[name]
        raise BackendCompileError(
            f"in kernel '{kernel.name}'\nNumba could not compile the generated text {path}: "
            f"{type(error).__name__}: {error}\nThis is a defect of execspace; please report it "
            f"with that file."
        ) from error
    return module


# -- generated text ---------------------------------------------------------------------------


def _written_pairs(lowered: Lowered) -> list[tuple[ir.Var, ir.Var]]:
    """Pairs of Views of a parallel_for of which one is written: they must not overlap."""
    if lowered.reduction is not None:
        return []
    written = ir.written_views(lowered.body)
    views = [p for p in lowered.body.parameters if isinstance(p.type, ViewTy)]
    return [
        (a, b)
        for n, a in enumerate(views)
        for b in views[n + 1 :]
        if a.name in written or b.name in written
    ]


def _pairs_to_check(lowered: Lowered) -> list[tuple[ir.Var, ir.Var]]:
    """Those pairs of which nobody has promised, by the trait "restrict", that they do not."""
    return [
        (a, b)
        for a, b in _written_pairs(lowered)
        if not any(isinstance(v.type, ViewTy) and "restrict" in v.type.traits for v in (a, b))
    ]


def _overlap_check(pairs: list[tuple[ir.Var, ir.Var]]) -> list[str]:
    """Lines that return False where two Views overlap of which one is written."""
    out = []
    for p in dict.fromkeys(v for pair in pairs for v in pair):
        assert isinstance(p.type, ViewTy)
        name, size = identifier(p.name), p.type.element.itemsize
        low, high, address = (part_of_view(name, w) for w in ("lo", "hi", "d"))
        out.append(f"    {low}, {high} = _r.footprint({address}, {p.type.rank}, {size})")
    for a, b in ((identifier(a.name), identifier(b.name)) for a, b in pairs):
        out += [f"    if _{a}_lo < _{b}_hi and _{b}_lo < _{a}_hi:", "        return False"]
    return out


def launch_module(
    lowered: Lowered, order: tuple[int, ...], launcher: Launcher, disjoint: bool = False
) -> str:
    """Text of the module for a launch; a pure function, so goldens need no Numba."""
    policy, reduction = lowered.spec.policy, lowered.reduction
    functions = [
        units_function(policy, order, "_units"),
        items_function(policy, "_items"),
        chunk_function(lowered.body, policy, order, reduction, "_chunk"),
    ]
    if reduction is not None:
        functions.append(finish_function(reduction, "_finish"))
    module = lowered.module(*functions, disjoint=disjoint)
    printer = NumbaPrinter(module)
    head = [
        f'"""Generated by execspace from kernel {lowered.kernel.name!r}."""',
        "",
        "import math",
        "",
        "import numba",
        "import numpy as np",
        "",
        "from execspace_compiler.host import runtime as _r",
    ]
    body = _launch_text(printer, module, lowered, launcher)
    body += ["", "", f"PRINTS = {lowered.prints}", f"ASSERTIONS = {_assertion_table(lowered)}"]
    body.append(f"LIMITS = {lowered.limits}")
    body.append(f"ALIGNED = {aligned_views(lowered)}")
    return "\n".join(head) + "\n" + printer.text() + "\n\n" + "\n".join(body) + "\n"


def _assertion_table(lowered: Lowered) -> str:
    """The asserts of a kernel as a literal: a later process reports them without lowering."""
    rows = [
        (a.loc.file, a.loc.line, a.loc.column, a.loc.end_line, a.loc.end_column, a.message)
        for a in lowered.assertions
    ]
    return repr(rows)


def _launch_text(
    printer: NumbaPrinter, module: ir.Module, lowered: Lowered, launcher: Launcher
) -> list[str]:
    chunk, units = module.function("_chunk"), module.function("_units")
    reduction = lowered.reduction
    bounds = [p.name for p in units.parameters]
    rest = chunk.parameters[3 + len(reduction.states) :] if reduction else chunk.parameters[2:]
    inputs = [_parameter(p) for p in rest]
    signature = ", ".join(["numba.int64", *(_numba_type(p) for p in rest)])
    work = cost(lowered.body, lowered.functions)
    parallel = ", parallel=True" if launcher.name == "prange" else ""
    out = [
        f"@numba.njit([({signature},)], cache=True, {printer.options()}{parallel})",
        f"def launch(_parts, {', '.join(inputs)}):",
        *(_overlap_check(_pairs_to_check(lowered)) if module.disjoint else []),
        f"    _total = {function_name('_units')}({', '.join(bounds)})",
        "    _threads = _parts",
        "    _parts = abs(_parts)",
    ]
    if launcher.name != "serial" and work is not None:
        few = SERIAL_WORK // max(work, 1)
        out += [
            f"    if {function_name('_items')}({', '.join(bounds)}) < {few}:",
            "        _parts = 1",
        ]
    args = list(inputs)
    if reduction is not None:
        size = PART_STRIDE * 16
        out += [f"    _space = _r.workspace(_parts * {size * len(reduction.states)})"]
        out += [f"    _p{n} = _space + _parts * {size * n}" for n in range(len(reduction.states))]
        args = [*(f"_p{n}" for n in range(len(reduction.states))), *inputs]
    out += _spread(launcher, args, reduces=reduction is not None)
    if reduction is not None:
        rows = ", ".join(f"_p{n}" for n in range(len(reduction.states)))
        out.append(f"    return {function_name('_finish')}(_parts, {rows})")
    elif module.disjoint:
        out.append("    return True")
    return out


def _spread(launcher: Launcher, args: list[str], reduces: bool) -> list[str]:
    """Lines that run the chunk for every part."""
    part = "_part, " if reduces else ""
    call = f"{function_name('_chunk')}(_first, _last, {part}{', '.join(args)})"

    def each_part(loop: str) -> list[str]:
        return [
            f"for _part in {loop}(_parts):",
            "    _first = _r.truncdiv(_part * _total, _parts)",
            "    _last = _r.truncdiv((_part + 1) * _total, _parts)",
            f"    {call}",
        ]

    if launcher.name == "serial":
        return ["    " + line for line in each_part("range")]
    if launcher.name == "prange":
        team = each_part("numba.prange")
    else:
        fork = "fork_reduce" if reduces else "fork_for"
        chunk = function_name("_chunk")
        team = [f"_r.{fork}({chunk}, _threads, _parts, _total, ({', '.join(args)},))"]
    return [
        # A negative number of parts says that this process must not fork a team.
        "    if _parts == 1 or _threads < 0:",
        *("        " + line for line in each_part("range")),
        "    else:",
        *("        " + line for line in team),
    ]


def _parameter(p: ir.Var) -> str:
    name = identifier(p.name)
    return part_of_view(name, "d") if isinstance(p.type, ViewTy | Pointer) else name


def _numba_type(p: ir.Var) -> str:
    if isinstance(p.type, Scalar):
        return "numba.boolean" if p.type.name == "bool" else f"numba.{p.type.name}"
    return "numba.int64"


# -- the hot path -----------------------------------------------------------------------------

# Globals of every generated caller. In a forked child `sign` is -1: the team of threads did not
# survive the fork, and waiting for it would hang.
_caller_globals: dict[str, Any] = {"sign": 1}


def forbid_teams() -> None:
    """Run every range of this process on the calling thread from now on."""
    _caller_globals["sign"] = -1


def teams_forbidden() -> bool:
    """Whether `forbid_teams` was called, by the user or after a fork."""
    return bool(_caller_globals["sign"] < 0)


def _reporting(
    call: Callable[..., Any], kernel: str, module: ModuleType, rank: int
) -> Callable[..., Any]:
    """A launch whose kernel prints or asserts: text is flushed, and failures are raised."""
    assertions = [Assertion(Loc(*row[:5]), row[5]) for row in module.ASSERTIONS]

    def launch(bounds: tuple[int, ...], args: tuple[Any, ...]) -> Any:
        if module.PRINTS:
            sys.stdout.flush()  # so that text of Python and of C comes in order
        status = np.zeros(1 + rank, np.int64) if assertions else None
        try:
            return call(bounds, args if status is None else (*args, status.ctypes.data))
        finally:
            if module.PRINTS:
                flush_c_output()
            if status is not None and status[0]:
                code, *indices = status.tolist()
                raise failure(kernel, assertions, code, indices)

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
    if spec.out is not None:
        names.append("out")
    if module.ASSERTIONS:
        names.append("status")
        passed.append("status")
    parts = "1" if launcher.name == "serial" else f"{launcher.parts} * sign"
    lines = [
        "def call(bounds, args, entry=entry, overlapping=overlapping, refuse=refuse, "
        "limits=limits):",
        f"    {bounds}, = bounds",
    ]
    if names:
        lines.append(f"    {', '.join(names)}, = args")
    for n, _, low, high in module.LIMITS:
        lines.append(f"    if not {low} <= a{n} <= {high}: refuse(limits, args)")
    call = f"entry({', '.join([parts, bounds, *passed])})"
    if overlapping is not None:
        lines += [f"    if not {call}:", "        overlapping.launch(bounds, args)"]
    elif spec.out is None:
        lines.append(f"    return {call}")
    else:
        lines.append(f"    out.memory_space.fill(out, {call}, None)")
    refuse = partial(check_limits, kernel)
    scope: dict[str, Any] = {
        "entry": entry, "overlapping": overlapping, "refuse": refuse, "limits": module.LIMITS
    }  # fmt: skip
    exec("\n".join(lines), _caller_globals, scope)
    found: Callable[..., Any] = scope["call"]
    return found


def _passed(name: str, t: ViewType | ScalarType) -> str:
    if isinstance(t, ViewType):
        return f"{name}.descriptor"
    return name if t.weak or t.dtype in ("bool", "float64") else f"{name}.item()"
