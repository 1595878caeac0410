"""The innermost loop of a kernel in lanes: vectors of indices, the last one maybe in part."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from execspace.base.dataclass import dataclass

from .. import ir
from ..ir import Assign, Expr, For, If, Op, Stmt, Var, integer, op, var
from ..ir.types import BOOL, INT64, Scalar, Vector, ViewTy, flat_scalars
from ..reductions.joins import assigned
from ..reductions.reduction import Reduction
from ..reductions.running import Running, in_order, lanes_from
from ..spmd.form import LaneForm

_Call = Callable[[Expr], list[Stmt]]
"""Calls of a vector of indices, for the lanes of a mask."""


def loop_in_lanes(
    locals_: dict[str, Scalar | ViewTy],
    passed: tuple[Expr, ...],
    d: int | str,
    first: Expr,
    last: Expr,
    form: LaneForm,
    joins: Running | Reduction | None = None,
) -> Stmt:
    """A loop over `first <= i < last` in a dimension, a vector of indices at a time.

    `passed`: arguments of the kernel. `joins`: of a reduction, the values that it joins to, or
    itself if it joins one contribution after the other. Variables of the loop are added to
    `locals_`. Code for whole vectors has no masks, but takes as long again to compile; so only
    kernels get it that access Views so often that masks would cost.
    """
    begin, end, index = f"_begin{d}", f"_end{d}", f"_i{d}"
    before: list[Stmt] = []
    after: list[Stmt] = []
    if joins is None:

        def call(mask: Expr) -> list[Stmt]:
            return [ir.Evaluate(ir.Call(form.body.name, (*passed, mask), INT64))]

    elif isinstance(joins, Reduction):

        def call(mask: Expr) -> list[Stmt]:
            left = op("sub", var(end), var(index))
            return in_turn(locals_, Turns.of(joins), form, passed, mask, left)[0]

    elif joins.count == form.lanes:  # they stay in registers
        before, after = _held(joins, form.lanes, integer(0))

        def call(mask: Expr) -> list[Stmt]:
            return _joined(locals_, joins, form, passed, mask)

    else:
        loads, stores = _held(joins, form.lanes, joins.place(index, begin))

        def call(mask: Expr) -> list[Stmt]:
            return [*loads, *_joined(locals_, joins, form, passed, mask), *stores]

    return over_vectors(locals_, d, first, last, form, call, before, after)


def over_vectors(
    locals_: dict[str, Scalar | ViewTy],
    d: int | str,
    first: Expr,
    last: Expr,
    form: LaneForm,
    call: _Call,
    before: Sequence[Stmt] = (),
    after: Sequence[Stmt] = (),
) -> Stmt:
    """A loop over `first <= i < last`, a vector of indices at a time, with statements around it."""
    begin, end = f"_begin{d}", f"_end{d}"
    locals_ |= {n: INT64 for n in (begin, end)}
    ends = (Assign(begin, first), Assign(end, last))
    walk = (*ends, *before, *_vectors(locals_, d, form, call), *after)
    # A range may be empty, and its end before its begin.
    return If(Op("lt", (first, last), BOOL), walk)


def whole_vectors(
    locals_: dict[str, Scalar | ViewTy],
    passed: tuple[Expr, ...],
    d: int | str,
    form: LaneForm,
    running: Running,
) -> list[Stmt]:
    """A loop from `_begin` to `_whole`, which are a number of vectors apart, whose calls join to
    running values. Variables as in `loop_in_lanes`."""
    begin, index = f"_begin{d}", f"_i{d}"
    everyone = ir.Const(True, Vector("bool", lanes=form.lanes))
    inside = running.count != form.lanes
    place = running.place(index, begin) if inside else integer(0)
    loads, stores = _held(running, form.lanes, place)
    walk = _joined(locals_, running, form, passed, everyone)
    if inside:
        walk, loads, stores = [*loads, *walk, *stores], [], []
    loop = For(index, var(begin), var(f"_whole{d}"), integer(form.lanes), tuple(walk))
    return [*loads, loop, *stores]


def _vectors(
    locals_: dict[str, Scalar | ViewTy], d: int | str, form: LaneForm, call: _Call
) -> list[Stmt]:
    """The loop over vectors of indices, from `_begin` to `_end`."""
    lanes = form.lanes
    begin, end, index = f"_begin{d}", f"_end{d}", f"_i{d}"
    kind, numbers = Vector("bool", lanes=lanes), Vector("int64", lanes=lanes)
    each = lanes_from(ir.Const(0, INT64), lanes)
    left = Op("broadcast", (op("sub", var(end), var(index)),), numbers)
    some = Op("lt", (each, left), kind)
    if not form.accesses:
        return [For(index, var(begin), var(end), integer(lanes), tuple(call(some)))]
    whole = f"_whole{d}"
    locals_[whole] = INT64
    rest = op("truncmod", op("sub", var(end), var(begin)), integer(lanes))
    everyone = ir.Const(True, kind)
    return [
        Assign(whole, op("sub", var(end), rest)),
        For(index, var(begin), var(whole), integer(lanes), tuple(call(everyone))),
        If(op("lt", var(whole), var(end)), (Assign(index, var(whole)), *call(some))),
    ]


def _states(running: Running, lanes: int) -> list[tuple[str, Vector]]:
    """Names and types of the vectors that are held."""
    return [(f"{s.name}_held", Vector(s.type.name, lanes=lanes)) for s in running.states]


def _held(
    running: Running, lanes: int, place: Expr
) -> tuple[list[Stmt], list[Stmt]]:  # fmt: skip
    """Loads of running values into vectors that are held, and stores of them."""
    where = (lanes_from(place, lanes),)
    pairs = list(zip(_states(running, lanes), running.arrays, strict=True))
    loads: list[Stmt] = [Assign(n, ir.Load(a, where, t)) for (n, t), a in pairs]
    return loads, [ir.Store(a, where, Var(n, t)) for (n, t), a in pairs]


def _joined(
    locals_: dict[str, Scalar | ViewTy],
    running: Running,
    form: LaneForm,
    passed: tuple[Expr, ...],
    mask: Expr,
) -> list[Stmt]:
    """Calls that join what they return to the vectors that are held; lanes that are off keep
    theirs."""
    held = _states(running, form.lanes)
    got = [(f"{n}_got", t) for n, t in held]
    locals_ |= dict((*held, *got))
    value = ir.Call(form.body.name, (*passed, *(Var(*v) for v in held), mask), held[0][1])
    kept = [
        Assign(n, Op("blend", (mask, Var(*new), Var(n, t)), t))
        for new, (n, t) in zip(got, held, strict=True)
    ]
    return [assigned(tuple(n for n, _ in got), value), *kept]


@dataclass(frozen=True)
class Turns:
    """How contributions are joined one after the other.

    Attributes
    ----------
    names : tuple of str
        Variables of the numbers of a contribution.
    joins : tuple of Stmt
        Join these to the state.
    """

    names: tuple[str, ...]
    joins: tuple[Stmt, ...]

    @classmethod
    def of(cls, reduction: Reduction) -> Turns:
        """Those of a launch."""
        numbers = range(len(reduction.contributions))
        names = tuple(f"{reduction.names}_v{n}" for n in numbers)
        return cls(names, tuple(in_order(reduction.join_contributions())))


def in_turn(
    locals_: dict[str, Scalar | ViewTy],
    turns: Turns,
    form: LaneForm,
    passed: tuple[Expr, ...],
    mask: Expr,
    left: Expr,
    before: Sequence[Stmt] = (),
) -> tuple[list[Stmt], tuple[Expr, ...]]:
    """Calls whose contributions are joined to the state one after the other, each after `before`;
    and all that they return. `left`: of the row."""
    kinds = flat_scalars(form.body.result)
    got = [(f"_got{n}", t) for n, t in enumerate(kinds)]
    k = var("_lane")
    locals_ |= dict(got) | {"_lane": INT64}
    value = ir.Call(form.body.name, (*passed, mask), kinds[0])
    called = assigned(tuple(n for n, _ in got), value)
    out: list[Stmt] = []
    for wanted, (name, t), step in zip(turns.names, got, form.findings.results, strict=False):
        own: Expr = Var(name, t)
        if isinstance(t, Vector):
            own = Op("lane", (own, k), t.lane)
        elif step:
            along = op("mul", k, ir.Const(step, INT64))
            own = Op("add", (own, along if t == INT64 else Op("cast", (along,), t)), t)
        out.append(Assign(wanted, own))
    count = op("min", ir.Const(form.lanes, INT64), left)
    turn = (*before, *out, *turns.joins)
    walk = For("_lane", integer(0), count, integer(1), turn)
    return [called, walk], tuple(Var(name, t) for name, t in got)
