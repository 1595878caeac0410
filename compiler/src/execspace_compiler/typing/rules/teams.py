"""Rules of kernels with a TeamPolicy: the team and its methods, nested ranges, single.

Nesting is checked by teams/checks.py, after helpers have been inlined.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import execspace

from ... import ir
from ...ir.diagnostics import Loc, counted, syntax_fault, type_fault
from ...ir.types import BOOL, INDEX, ViewTy
from ..context import CALLS, METHODS, Call, Context
from ..value_queries import refuse_vectors, scalar
from ..value_types import describe, parts
from ..values import TEAM_PARTS, Method, NestedRange, Obj, Single, TeamValue, TupleValue, Value
from .local_arrays import local_type

# Nested range -> level, and whether it has several indices.
_RANGES: dict[Any, tuple[str, bool]] = {
    execspace.TeamThreadRange: ("thread", False),
    execspace.ThreadVectorRange: ("vector", False),
    execspace.TeamVectorRange: ("team", False),
    execspace.TeamThreadMDRange: ("thread", True),
    execspace.ThreadVectorMDRange: ("vector", True),
    execspace.TeamVectorMDRange: ("team", True),
}
_TAKES: dict[str, tuple[str, ...]] = {  # methods of a team
    "barrier": (), "broadcast": ("value", "rank"), "reduce": ("value", "reducer"),
    "scan": ("value", "reducer"), "scratch": ("shape", "dtype", "level"),
    "thread_scratch": ("shape", "dtype", "level"),
}  # fmt: skip


def _scratch_view(loc: Loc) -> str:
    """Variable of a View over scratch memory: one for each location in the source."""
    return f"_scratch_{loc.line}_{loc.column}"


def team_attribute(team: TeamValue, name: str, loc: Loc) -> Value:
    """Attributes of the handle of a team, such as `league_rank`."""
    if name in TEAM_PARTS:
        value: ir.Expr = getattr(team, name)
        return value
    if name in _TAKES:
        return Method(team, name)
    known = ", ".join((*TEAM_PARTS, *(f"{m}()" for m in _TAKES)))
    raise type_fault(loc, f"a team has no attribute '{name}'", f"it has {known}")


# -- nested ranges, single ----------------------------------------------------------------------


@CALLS.of(*_RANGES)
def _range(cx: Context, call: Call) -> NestedRange:
    args, loc = call.args, call.loc
    level, several = _RANGES[call.target]
    name = f"es.{call.target.__name__}"
    if not args or not isinstance(args[0], TeamValue) or call.keywords:
        got = "nothing" if not args else describe(args[0])
        form = "team, n0, n1" if several else "team, n"
        hint = f"write {name}({form}), where team is the first parameter of the kernel"
        raise type_fault(loc, f"{name} takes a team first, got {got}", hint)
    if several:
        _check_extents(name, args[1:], loc)
    elif not 2 <= len(args) <= 3:
        got = counted(len(args) - 1, "bound")
        hint = f"write {name}(team, n) or (team, begin, end)"
        raise syntax_fault(loc, f"{name} got {got}", hint)
    bounds: list[ir.Expr] = []
    for a in args[1:]:
        e = scalar(a, loc)
        if not e.type.is_integer:
            hint = "convert it with int(...)"
            raise type_fault(loc, f"{name} takes integers, got {e.type}", hint)
        bounds.append(cx.stable(cx.coerce(e, INDEX)))
    zero = ir.Const(0, INDEX, loc)
    if several or len(bounds) == 1:
        return NestedRange(level, (zero,) * len(bounds), tuple(bounds), name)
    return NestedRange(level, (bounds[0],), (bounds[1],), name)


def _check_extents(name: str, extents: Sequence[Value], loc: Loc) -> None:
    """Report extents of a range over several indices that are too few, too many, or a tuple."""
    if len(extents) == 1 and isinstance(extents[0], TupleValue):
        hint = f"unpack it: write {name}(team, n0, n1), with an argument for each extent"
        raise syntax_fault(loc, f"{name} got {describe(extents[0])}", hint)
    if not 2 <= len(extents) <= 8:
        hint = f"give 2 to 8 extents: {name}(team, n0, n1)"
        if len(extents) < 2:
            hint += f"; for one there is {name.replace('MD', '')}(team, n)"
        raise syntax_fault(loc, f"{name} got {counted(len(extents), 'extent')}", hint)


@CALLS.of(execspace.PerTeam, execspace.PerThread)
def _member(cx: Context, call: Call) -> Single:
    args, loc, name = call.args, call.loc, call.target.__name__
    if len(args) != 1 or not isinstance(args[0], TeamValue) or call.keywords:
        got = ", ".join(map(describe, args)) or "nothing"
        raise type_fault(loc, f"es.{name} takes a team, got {got}", f"write es.{name}(team)")
    return Single(args[0], "team" if call.target is execspace.PerTeam else "thread")


@CALLS.of(execspace.single)
def _single(cx: Context, call: Call) -> Value:
    args, loc = call.positional(), call.loc
    if not 1 <= len(args) <= 2 or not isinstance(args[0], Single):
        got = ", ".join(map(describe, args)) or "nothing"
        hint = "write if es.single(es.PerTeam(team)):"
        raise type_fault(loc, f"es.single takes es.PerTeam or es.PerThread, got {got}", hint)
    member = args[0]
    test: ir.Expr = ir.Const(True, BOOL, loc)  # code outside ranges over lanes runs once
    if member.level == "team":
        test = ir.Op("eq", (member.team.team_rank, ir.Const(0, INDEX, loc)), BOOL, loc)
    if len(args) == 1:
        return test
    with cx.collecting() as body:
        value = cx.call(args[1], [], {}, loc)
        held = _in_variables(cx, value, loc)
    if member.level == "thread":
        cx.out += body
        return held
    variables = variables_of(held)
    zeros = [ir.Assign(v.name, ir.Const(0, v.type.strong, loc), loc)  # type: ignore[union-attr]
             for v in variables]  # fmt: skip
    cx.out += [*zeros, ir.If(test, tuple(body), loc=loc)]
    cx.out.append(ir.Broadcast(variables, ir.Const(0, INDEX, loc), loc))
    return held


def index_variables(cx: Context, items: NestedRange) -> tuple[str, ...]:
    """New variables for the indices of a nested range."""
    return tuple(cx.temporary(INDEX) for _ in items.starts)


def _in_variables(cx: Context, value: Value, loc: Loc) -> Value:
    """A number or tuple of numbers, in variables of strong types."""
    if isinstance(value, TupleValue):
        return value.of(tuple(_in_variables(cx, v, loc) for v in value.items))
    e = scalar(value, loc)
    name = cx.temporary(e.type)
    cx.out.append(ir.Assign(name, cx.coerce(e, e.type.strong), loc))
    return ir.Var(name, e.type, loc)


def variables_of(held: Value) -> tuple[ir.Var, ...]:
    """The variables of a result of `_in_variables`."""
    return tuple(e for _, e in parts(held, "") if isinstance(e, ir.Var))


# -- methods ------------------------------------------------------------------------------------


def team_arguments(call: Call) -> tuple[TeamValue, dict[str, Value]]:
    """The team whose method is called, and the arguments by name."""
    name, args, keywords = call.name, call.args, call.keywords
    takes = _TAKES[name]
    given = {**dict(zip(takes, args, strict=False)), **keywords}
    needed = takes[:1] if name != "broadcast" else takes
    unknown = [k for k in keywords if k not in takes]
    if len(args) > len(takes) or unknown or any(n not in given for n in needed):
        form = ", ".join(takes)
        got = ", ".join([*map(describe, args), *(f"{k}=" for k in keywords)]) or "nothing"
        raise type_fault(call.loc, f"team.{name} got {got}", f"write team.{name}({form})")
    assert isinstance(call.owner, TeamValue)
    return call.owner, given


@METHODS.of("barrier")
def _barrier(cx: Context, call: Call) -> Value:
    team_arguments(call)
    cx.out.append(ir.Barrier(call.loc))
    return Obj(None, "None")


@METHODS.of("broadcast")
def _broadcast(cx: Context, call: Call) -> Value:
    (team, given), loc = team_arguments(call), call.loc
    rank = scalar(given["rank"], loc)
    if not rank.type.is_integer:
        hint = "give the team_rank of the thread that has the value"
        raise type_fault(loc, f"the rank of a broadcast is {rank.type}", hint)
    rank = cx.stable(cx.coerce(rank, INDEX))
    rank = ir.Op("bounded", (rank, team.team_size), INDEX, loc)
    refuse_vectors(given["value"], loc)
    held = _in_variables(cx, given["value"], loc)
    cx.out.append(ir.Broadcast(variables_of(held), rank, loc))
    return held


@METHODS.of("scratch", "thread_scratch")
def _scratch(cx: Context, call: Call) -> Value:
    (_, given), loc = team_arguments(call), call.loc
    dtype = given.get("dtype")
    like: list[Value] = [TupleValue(())] if dtype is None else [TupleValue(()), dtype]
    element = local_type(like, loc).element
    level = given.get("level", ir.Const(0, INDEX, loc))
    if not isinstance(level, ir.Const) or level.value not in (0, 1):
        hint = "level 0 is small and fast, level 1 is large"
        raise syntax_fault(loc, "the level of scratch is 0 or 1, a constant", hint)
    wanted = given["shape"]
    items = wanted.items if isinstance(wanted, TupleValue) else (wanted,)
    if not 1 <= len(items) <= 6:
        raise syntax_fault(loc, f"scratch of rank {len(items)}", "give 1 to 6 extents")
    static: list[int | None] = []
    extents: list[ir.Expr] = []
    for item in items:
        e = scalar(item, loc)
        if not e.type.is_integer:
            hint = "convert it with int(...)"
            raise type_fault(loc, f"an extent of scratch is {e.type}, not an integer", hint)
        if isinstance(e, ir.Const):
            if e.value < 0:
                raise syntax_fault(loc, f"scratch of extent {e.value}", "give 0 or more")
            static.append(int(e.value))
            continue
        static.append(None)
        extents.append(cx.stable(cx.coerce(e, INDEX)))
    rank = len(items)
    known = tuple(static) if any(n is not None for n in static) else ()
    traits = ("group",) if level.value == 0 else ()
    type = ViewTy(element, rank, "right", rank - 1, False, None, known, traits)
    view = ir.Var(_scratch_view(loc), type, loc)
    cx.types[view.name] = type
    owner = "thread" if call.name == "thread_scratch" else "team"
    cx.out.append(ir.Scratch(view, tuple(extents), int(level.value), owner, loc))
    return view
