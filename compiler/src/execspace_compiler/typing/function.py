"""HIR -> typed IR: types of all locals by a fixed point over the whole body.

Rules type nodes and build IR in the same walk. It is repeated until no local changes its type,
because a loop may widen a variable that was read before; then a last walk reports faults.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from execspace.base.dataclass import dataclass

from .. import ir
from ..frontend import hir
from ..ir import STATUS_PARAMETER, Declared
from ..ir.diagnostics import Reporter, syntax_fault
from ..ir.types import INT64, Scalar, Signature, TupleTy, Type, ViewTy, flat_scalars
from .context import Context
from .definite_assignment import check_assigned
from .module import ModuleTyper, Resolver, has_effects
from .rules.variables import bind  # whose package says where each rule is
from .value_types import TeamTy, part_name, parts, rebuild
from .values import TeamValue, Value

# Temporaries of reductions; parts of a user's variable `r1` end in an underscore, these do not.
_TEMPORARY = re.compile(r"_t\d+|_r\d+_.*[^_]")


@dataclass(frozen=True, slots=True)
class TypedFunction:
    """A function in typed IR.

    Attributes
    ----------
    function : ir.Function
    result : Type or None
        Type of its result, as its caller sees it.
    fails : bool
        It also returns the number of the assertion that failed.
    limits : dict of str to (int, int)
        Range in which a Python integer among the parameters must be.
    """

    function: ir.Function
    result: Type | None
    fails: bool
    limits: dict[str, tuple[int, int]]


def typer_of_module(
    resolver: Resolver | None = None, vector_bytes: int = 8, checks_bounds: bool = False
) -> ModuleTyper:
    """A ModuleTyper that types helpers with `type_function`."""

    def type_helper(
        function: hir.Function, types: tuple[tuple[str, Type], ...], reporter: Reporter
    ) -> tuple[ir.Function, Signature]:
        typed = type_function(module, function, types, reporter, returns=None)
        built, result = typed.function, typed.result
        outside = {f.name for f in module.functions if f.external is not None}
        effects = has_effects(built, frozenset(effectful | outside))
        if effects:
            effectful.add(built.name)
        assert result is None or isinstance(result, Scalar | TupleTy)
        constant = None if typed.fails else _returned(built)
        return built, Signature(built.name, result, effects, typed.fails, constant)

    effectful: set[str] = set()
    module = ModuleTyper(type_helper, resolver, vector_bytes, checks_bounds)
    return module


def _returned(f: ir.Function) -> int | None:
    """What a function returns that does nothing but return a constant."""
    match f.body:
        case (ir.Return(value=ir.Const(value=int(value))),):
            return value
    return None


def type_function(
    module: ModuleTyper,
    function: hir.Function,
    types: Sequence[tuple[str, Type]],
    reporter: Reporter,
    returns: bool | None,
    rank: int = 0,
    array: bool = False,
) -> TypedFunction:
    """Type one function; faults go to the reporter.

    Parameters
    ----------
    types : sequence of (str, Type)
        Parameters, free variables included.
    returns : bool or None
        True: every path must return a value (a reduction). False: no path may (a parallel_for).
        None: a helper, either way but the same on every path.
    rank : int
        Number of leading parameters that are indices of the policy.
    array : bool
        The kernel of an array reduction, which returns nothing.
    """
    name = module.name(function.name)
    assigned = {t.name for s in hir.walk(function.body) for t in hir.targets(s)}
    parameters: list[ir.Var] = []
    own_types: dict[str, Type] = {}
    prologue: list[tuple[str, Value]] = []
    for parameter, type in types:
        # Parameters are never assigned; a local takes the place of one that is.
        own = parameter
        if parameter in assigned and not isinstance(type, ViewTy):
            own = part_name(parameter, "in")
        value = rebuild(type, own, function.loc)
        for part, e in parts(value, own):
            if not isinstance(e, ir.Const):  # of a static parameter
                parameters.append(ir.Var(part, e.type))
        if own != parameter:
            prologue.append((parameter, value))
        else:
            own_types[parameter] = type
    teams = [rebuild(t, n, function.loc) for n, t in own_types.items() if t == TeamTy()]
    cx = Context(
        module, function, reporter, own_types, parameters, rank=rank,
        team=next((t for t in teams if isinstance(t, TeamValue)), None), returns=returns,
        array=array, own_names=assigned | {n for n, _ in types},
    )  # fmt: skip
    body = _settled(cx, prologue)
    _report(cx)
    built = _built(cx, name, tuple(body))
    return TypedFunction(built, cx.result, cx.fails and not cx.records_failures, cx.limits)


def _settled(cx: Context, prologue: Sequence[tuple[str, Value]]) -> list[ir.Stmt]:
    """The body, typed until no type changes."""
    walks = 0
    cx.changed = True
    while cx.changed:
        cx.changed = False
        _walk(cx, prologue)
        walks += 1
        # Each walk widens the type of at least one variable or result, and chains of wider types
        # are short; a walk that reports a change without widening would never end.
        assert walks <= 100 + 20 * len(cx.types), f"types of '{cx.function.name}' do not settle"
    cx.final = True
    return _walk(cx, prologue)


def _walk(cx: Context, prologue: Sequence[tuple[str, Value]]) -> list[ir.Stmt]:
    """One walk over the body."""
    cx.temporaries = cx.reductions = 0
    cx.nested_ranges = {}
    for name in [n for n in cx.types if _TEMPORARY.fullmatch(n)]:
        if name not in cx.own_names:
            del cx.types[name]  # temporaries are typed anew in each walk
    cx.out = []
    cx.decided = {}
    cx.tested = set()
    for name, value in prologue:
        bind(cx, name, value, cx.function.loc)
    start, cx.out = cx.out, []
    return start + cx.block(cx.function.body)


def _report(cx: Context) -> None:
    """Report faults that need the whole body."""
    function, reporter = cx.function, cx.reporter
    for fault in cx.conflicts.values():
        reporter.add(fault)
    if not reporter.diagnostics:
        for variable, loc in cx.unknown.items():
            name = loc.name(variable)
            message = f"'{name}' is used before it has a value"
            hint = f"assign '{name}' first; a kernel cannot change variables outside of it"
            reporter.add(syntax_fault(loc, message, hint))
    if not reporter.diagnostics:
        known = {*function.parameters, *function.free}
        check_assigned(function, cx.decided, known, cx.nested_ranges, reporter)
    if (cx.returns or cx.result is not None) and not reporter.diagnostics:
        _check_returns(cx)


def _check_returns(cx: Context) -> None:
    """Report a function that returns a value on some paths only."""
    if hir.always_returns(cx.function.body, cx.decided):
        return
    if cx.returns:
        message = "not every path of this reduction kernel returns a contribution"
        hint = "return the contribution of each index, for example 0.0 where there is none"
    else:
        message = f"not every path of '{cx.function.name}' returns a value"
        hint = "return a value at its end, too"
    cx.reporter.add(syntax_fault(cx.function.loc, message, hint))


# -- the function -------------------------------------------------------------------------------


def _built(cx: Context, name: str, body: tuple[ir.Stmt, ...]) -> ir.Function:
    function, parameters = cx.function, cx.parameters
    own = {p.name for p in parameters}
    locals_: dict[str, Scalar | ViewTy] = {}
    for n, t in cx.types.items():
        if n in own:
            continue
        if isinstance(t, Scalar):
            locals_[n] = t.strong
        elif isinstance(t, ViewTy):
            locals_[n] = t
    if cx.fails and cx.indices and cx.team is None:
        parameters += (STATUS_PARAMETER,)
    elif cx.fails and not cx.records_failures and cx.result is None:
        # It has no result of its own, but must return at its end that no assertion failed.
        if not hir.always_returns(function.body, cx.decided):
            body = (*body, ir.Return(ir.Const(0, INT64, function.loc), function.loc))
    return ir.Function(
        name, parameters, _result_type(cx), locals_, body, loc=function.loc,
        strict=function.strict, declared=_declared(cx),
    )  # fmt: skip


def _declared(cx: Context) -> Declared:
    """The names in the source and their types."""
    function = cx.function
    names = dict.fromkeys((*function.parameters, *cx.types))
    free = set(function.free) - set(function.parameters)
    own = (n for n in names if n[0] != "_" and n not in free and n in cx.types)
    return Declared(function.name, tuple((n, cx.types[n]) for n in own))


def _result_type(cx: Context) -> Scalar | TupleTy | None:
    """Result type of the IR function."""
    scalars = tuple(s.strong for s in flat_scalars(cx.result))
    if cx.fails and not cx.records_failures:
        scalars = (*scalars, INT64)
    if not scalars:
        return None
    return scalars[0] if len(scalars) == 1 else TupleTy(scalars)
