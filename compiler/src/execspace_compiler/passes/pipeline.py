"""From a kernel and a LaunchSpec to typed IR: the path that every backend shares."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from types import FunctionType
from typing import Any

import numpy as np

from execspace import (
    Capture,
    Kernel,
    KernelTypeError,
    LaunchError,
    LaunchSpec,
    Reducer,
    ScalarType,
    ViewType,
)
from execspace.base.config import checks
from execspace.contract.dtypes import dtype_of
from execspace.kernels.captures import keyword_only
from execspace.kernels.locks import TABLE
from execspace.launch.structs import argument_names

from .. import ir
from ..analysis.ranges import drop_sign_fixups
from ..frontend import hir
from ..frontend.lowering import lower
from ..frontend.names import Names, variable_name
from ..frontend.source import Source, source_of
from ..ir import STATUS_PARAMETER
from ..ir.diagnostics import Diagnostic, Fault, Loc, Reporter, counted
from ..ir.private_arrays import excess
from ..ir.types import (
    BOOL,
    INDEX,
    PYTHON_WEAK,
    Scalar,
    SubArray,
    Type,
    ViewTy,
    element_of,
    flat_scalars,
)
from ..reductions.building import ReductionBuilder
from ..reductions.reduction import Reduction
from ..typing.function import TypedFunction, type_function, typer_of_module
from ..typing.lowered import Lowered
from ..typing.module import ModuleTyper, Resolver
from ..typing.scan_prefix import with_settled_prefix
from ..typing.value_types import TeamTy
from ..typing.values import TEAM_PARTS


def argument_type(type: ViewType | ScalarType) -> Type:
    """The compiler's type of a launch argument."""
    if isinstance(type, ScalarType):
        return Scalar(type.dtype, PYTHON_WEAK if type.weak else 0)
    element = element_of(dtype_of(type.dtype))
    assert not isinstance(element, SubArray)
    return ViewTy(
        element, type.rank, type.layout, type.unit, type.readonly, None, type.static, type.traits
    )


def lower_kernel(
    kernel: Kernel,
    spec: LaunchSpec,
    resolver: Resolver | None = None,
    vector_bytes: int = 8,
    vectors: bool = False,
    checks_bounds: bool = True,
) -> Lowered:
    """Compile a kernel to typed IR.

    Parameters
    ----------
    kernel : Kernel
    spec : LaunchSpec
    resolver : callable, optional
        Of a space that can call host functions; see `typing.module.Resolver`.
    vector_bytes : int
        `Capabilities.vector_bytes` of the space.
    vectors : bool
        The printer of the space knows vectors; for others each lane is a number.
    checks_bounds : bool
        Indices are tested under EXECSPACE_CHECK=bounds; False where printed code always does it.

    Raises
    ------
    LaunchError
        If the kernel's parameters do not fit the policy and the arguments.
    KernelSyntaxError, KernelTypeError
        With all faults found, each with its location in the source.
    """
    if kernel.parts:
        from .fusion import fused  # few programs have such

        types = [argument_type(a) for a in spec.arguments]
        again = partial(
            lower_kernel, resolver=resolver, vector_bytes=vector_bytes, vectors=vectors,
            checks_bounds=checks_bounds,
        )  # fmt: skip
        return fused(kernel, spec, types, again)
    source = source_of(kernel.fn, kernel.source)
    captures = {c.name: c for c in spec.captures}
    hidden = _hidden_variables(spec)
    explicit = len(spec.arguments) - len(hidden)
    names = Names(kernel.fn, frozenset(spec.bound), captures, hidden)
    reporter = Reporter(kernel.name)
    function = lower(source.node, source.file, names, reporter)
    if source.node.args.vararg is not None or source.node.args.kwarg is not None:
        reporter.check()
    _check_parameters(kernel.fn, source, spec, len(spec.structs) or explicit, function.parameters)
    declared = function.parameters
    if spec.team_array:
        from ..teams.array_reductions import returning_elements  # few kernels have such

        function = returning_elements(function, spec, names, reporter)
    parameters = (*function.parameters, *hidden.values())
    types = [argument_type(a) for a in spec.arguments]
    if spec.structs:
        from .structs import put_together  # few kernels get such

        own = put_together(declared[spec.leading :], spec.structs, types[:explicit])
        types = [*own, *types[explicit:]]
    typed = _typed_reduction if spec.reducer is not None else _typed
    bounds = checks_bounds and "bounds" in checks()

    def new() -> ModuleTyper:
        made = typer_of_module(resolver, vector_bytes, bounds)
        if TABLE in hidden:
            made.hidden = {TABLE: hidden[TABLE]}
        return made

    module, found, reduction = typed(spec, function, parameters, types, reporter, captures, new)
    body = found.function
    handles = len(TEAM_PARTS) if spec.policy.kind == "team" else spec.policy.rank
    leading = handles
    if spec.pattern == "scan":
        assert reduction is not None
        leading += len(flat_scalars(reduction.value)) + 1
    elif spec.array_shape is not None:
        leading += 1
    helpers = module.used(body)
    if module.vectors and not (vectors and _has_single_threads(spec)):
        from .lanes import in_lanes  # loaded by kernels with vectors

        *rest, body = in_lanes((*helpers, body))
        helpers = tuple(rest)
    typed_functions = (*helpers, body)
    if spec.policy.kind == "team":
        helpers, body = _of_team(helpers, body, leading, reporter)
    if spec.policy.nonnegative:
        body = drop_sign_fixups(body, frozenset(p.name for p in body.parameters[:handles]))
    added = () if reduction is None else reduction.functions
    functions = (*helpers, *added, body)
    too_much = excess(functions)
    if too_much is not None:
        raise KernelTypeError(f"in kernel '{kernel.name}'\n\n{too_much}")
    assertions = tuple(module.assertions) if STATUS_PARAMETER in body.parameters else ()
    positions = {p.name: n for n, p in enumerate(body.parameters[leading:])}
    shown = argument_names(declared[spec.leading :], spec.structs)
    limits = tuple(
        (at, shown[at] if spec.structs else n, *bounds)
        for n, bounds in found.limits.items()
        for at in (positions[n],)
    )
    return Lowered(
        kernel, spec, functions, leading, reduction, assertions, module.prints,
        limits, typed_functions,
    )  # fmt: skip


def _of_team(
    helpers: tuple[ir.Function, ...], body: ir.Function, leading: int, reporter: Reporter
) -> tuple[tuple[ir.Function, ...], ir.Function]:
    """A team kernel with its helpers inlined, checked."""
    from ..teams.checks import check_team  # loaded by kernels of teams
    from ..teams.inlining import without_team_helpers
    from ..teams.scratch import scratch_layout

    try:
        helpers, body = without_team_helpers(helpers, body)
        _, league, _, size = body.parameters[: len(TEAM_PARTS)]
        scratch_layout(body, (league, size, *body.parameters[leading:]), size)
        check_team(body, body.parameters[TEAM_PARTS.index("team_rank")].name, helpers, reporter)
    except Fault as fault:
        reporter.add(fault)
    reporter.check()
    if any(isinstance(s, ir.Fail) for s in ir.walk_statements(body.body)):
        body = replace(body, parameters=(*body.parameters, STATUS_PARAMETER))
    return helpers, body


def _has_single_threads(spec: LaunchSpec) -> bool:
    """Whether hosts run no team of several threads, whose variables are arrays in memory."""
    return spec.policy.team_size <= 1 and spec.policy.vector_length <= 1


def _handles(spec: LaunchSpec) -> list[Type]:
    """Types of the indices, or of the team."""
    return [TeamTy()] if spec.policy.kind == "team" else [INDEX] * spec.policy.rank


_Typed = tuple[ModuleTyper, TypedFunction, Reduction | None]


def _typed(
    spec: LaunchSpec,
    function: hir.Function,
    parameters: tuple[str, ...],
    types: list[Type],
    reporter: Reporter,
    captures: dict[str, Capture],
    new: Callable[[], ModuleTyper],
) -> _Typed:
    """Type the kernel of a parallel_for."""
    module = new()
    rank = spec.policy.rank
    pairs = tuple(zip(parameters, _handles(spec) + types, strict=True))
    typed = type_function(module, function, pairs, reporter, returns=False, rank=rank)
    reporter.check()
    return module, typed, None


def _typed_reduction(
    spec: LaunchSpec,
    function: hir.Function,
    parameters: tuple[str, ...],
    types: list[Type],
    reporter: Reporter,
    captures: dict[str, Capture],
    new: Callable[[], ModuleTyper],
) -> _Typed:
    """Type the kernel of a reduction or scan, and its reducers.

    The type of a scan's prefix follows from the type that the kernel returns, which may depend on
    it; so the kernel is typed again until the two agree.
    """
    assert spec.reducer is not None
    reducer, rank, array = spec.reducer, spec.policy.rank, spec.array_shape is not None

    def attempt(prefix: Type | None, despite_faults: bool = False) -> _Typed:
        module, found = new(), reporter.attempt()
        module.despite_faults = despite_faults
        builder = ReductionBuilder(module, captures, function.loc)
        leading = _handles(spec)
        if array:
            assert isinstance(reducer, Reducer)
            leading.append(builder.array_type(reducer))
        elif prefix is not None:
            leading += [prefix, BOOL]
        pairs = tuple(zip(parameters, leading + types, strict=True))
        typed = type_function(
            module, function, pairs, found, returns=not array, rank=rank, array=array
        )
        if not despite_faults or typed.result is None:
            found.check()  # first, since statements left out for faults may change its result type
        try:
            if array:
                assert isinstance(reducer, Reducer)
                reduction = builder.array_reduction(reducer)
            else:
                assert typed.result is not None, "a kernel that returns nothing has a fault"
                reduction = builder.reduction(reducer, typed.result)
        except Fault as fault:
            found.add(fault)
            found.check()
        return module, typed, reduction

    if spec.pattern != "scan":
        return attempt(None)
    guess = ReductionBuilder(new(), captures, function.loc).guess(reducer, rank)
    try:
        return with_settled_prefix(guess, attempt, _joined, function.loc)
    except Fault as fault:
        reporter.add(fault)
        reporter.check()
        raise


def _joined(typed: _Typed) -> Type:
    """Type of the value that a typed reduction joins."""
    reduction = typed[-1]
    assert reduction is not None
    return reduction.value


def refuse_float16(lowered: Lowered, who: str) -> None:
    """Raise KernelTypeError for float16, which `who` does not support."""
    for function in lowered.functions:
        for e in (*function.parameters, *ir.walk_expressions(function.body)):
            type = e.type.element if isinstance(e.type, ViewTy) else e.type
            if _has_float16(type):
                loc = e.loc if e.loc.line else function.loc
                found = Diagnostic(loc, f"{who} cannot compute with float16", "use float32")
                raise KernelTypeError(f"in kernel '{lowered.kernel.name}'\n\n{found}")


def _has_float16(type: object) -> bool:
    """Whether a type, or a field of a record, is a float16."""
    return "float16" in re.findall(r"\w+", str(type))


def refuse_16_byte_atomics(lowered: Lowered, who: str) -> None:
    """Raise KernelTypeError for 16-byte atomic operations, which `who` does not support."""
    for function in lowered.functions:
        for s in ir.walk_statements(function.body):
            if isinstance(s, ir.Atomic) and s.indivisible and s.type.itemsize == 16:
                message = f"{who} has no atomic operation on a whole {s.type}"
                hint = "use complex64, or atomic_add and atomic_sub, which need no whole number"
                found = Diagnostic(s.loc, message, hint)
                raise KernelTypeError(f"in kernel '{lowered.kernel.name}'\n\n{found}")


def check_limits(
    kernel: str, limits: Sequence[tuple[int, str, int, int]], args: Sequence[Any]
) -> None:
    """Raise LaunchError for a Python integer that does not fit its type in the kernel."""
    for position, name, low, high in limits:
        given = args[position]
        if low <= given <= high:
            continue
        advice = "No integer type of kernels has as many bits; pass a float."
        wide = next((t for t in (np.int64, np.uint64) if _holds(t, given)), None)
        if wide is not None:
            advice = f"Pass es.{wide.__name__}(...) to compute in 64 bits."
        raise LaunchError(
            f"Kernel '{kernel}': argument '{name}' is {given}, but the kernel converts it to an "
            f"integer type that holds {low} to {high}. {advice}"
        )


def _holds(integer: type[np.integer[Any]], number: int) -> bool:
    """Whether an integer type has a number."""
    return bool(np.iinfo(integer).min <= number <= np.iinfo(integer).max)


def _hidden_variables(spec: LaunchSpec) -> dict[str, str]:
    """Full name of each captured View -> a unique variable for it."""
    found: dict[str, str] = {}
    taken: set[str] = set()
    for c in spec.captures:
        if c.argument is None:
            continue
        # A plain name cannot clash with a parameter, which would shadow it; a dotted one could.
        plain = c.name.isidentifier() and c.name not in spec.bound
        name = variable_name(c.name if plain else re.sub(r"\W", "_", c.name) + "_captured")
        while name in taken:
            name += "_"
        taken.add(name)
        found[c.name] = name
    return found


def _check_parameters(
    fn: FunctionType, source: Source, spec: LaunchSpec, explicit: int, names: tuple[str, ...]
) -> None:
    rank = spec.policy.rank
    for name in keyword_only(fn):
        if name in names:
            raise _launch_error(
                fn,
                source,
                f"the keyword-only parameter '{name}' gets no value",
                f"leave out the * before '{name}', or give it a value with functools.partial or "
                f"a default",
            )
    if len(names) != spec.leading + explicit:
        more, also = "", ""
        if spec.pattern == "scan":
            more, also = ", a scan prefix and final", ", then prefix and final"
        elif spec.leading > rank:
            more, also = ", an array reduction the array", ", then one for the array"
        passes = f"policy of rank {rank} passes {rank} {'index' if rank == 1 else 'indices'}"
        one = "one parameter for each index"
        if spec.policy.kind == "team":
            passes, one = "TeamPolicy passes the team", "one parameter for the team"
        raise _launch_error(
            fn,
            source,
            f"it has {counted(len(names), 'parameter')} ({', '.join(names) or 'none'}), but a "
            f"{passes}{more} and "
            f"the launch passes {counted(explicit, 'argument')}, {spec.leading + explicit} in all",
            f"give the kernel {one}{also}, then one for each argument",
        )


def _launch_error(fn: FunctionType, source: Source, message: str, hint: str) -> LaunchError:
    loc = Loc.of(source.node, source.file)
    return LaunchError(f"in kernel '{fn.__name__}'\n\n{Diagnostic(loc, message, hint)}")
