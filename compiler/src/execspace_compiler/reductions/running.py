"""Running values of a reduction: contribution j of a row is joined to running value j mod `count`.

So the order of joins follows from the kernel and the range. Neither the processor nor how many
calls run at a time changes it, and yet that many joins at a time need not wait for each other.
Joins of one's own are done one after the other instead, see `joins_in_turn`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from execspace.base.dataclass import dataclass

from .. import ir
from ..ir import Assign, Expr, For, Op, Stmt, Var, While, integer, op, var
from ..ir.types import BOOL, INT64, Scalar, Vector, ViewTy
from .joins import Compensated, Compiled, Join, Plain, Several, State
from .reduction import Reduction, returned, returned_type

_BYTES = 256  # of running values: as many registers as hide the latency of an addition
_FEWEST, _MOST = 16, 64
_EXACT = {"reduce_sum": "add", "reduce_prod": "mul"}


@dataclass(frozen=True)
class Running:
    """The running values of a reduction, in private arrays.

    Attributes
    ----------
    states : tuple of State
    count : int
        How many there are: a power of two.
    ordered : bool
        The order of joins may be seen in the result.
    merge : callable
        Statements that join another state, given by its numbers, to the state.
    operations : tuple of str
        What joins each number of the state, if vectors of it are joined so; else empty.
    """

    states: tuple[State, ...]
    count: int
    ordered: bool
    merge: Callable[[tuple[Expr, ...]], Sequence[Stmt]]
    operations: tuple[str, ...] = ()

    @property
    def arrays(self) -> tuple[Var, ...]:
        """One for each number of the state."""
        return tuple(
            Var(f"{s.name}_running", ViewTy(s.type, 1, "right", 0, False, (self.count,)))
            for s in self.states
        )

    def place(self, index: str, begin: str) -> Expr:
        """The number of the running value that the contribution of an index is joined to."""
        number = op("sub", var(index), var(begin))
        return Op("bitand", (number, ir.Const(self.count - 1, INT64)), INT64)

    def locals(self) -> dict[str, Scalar | ViewTy]:
        """Types of the variables of these statements, but for the reduction's own."""
        found: dict[str, Scalar | ViewTy] = {"_r": INT64, "_h": INT64}
        for a, s in zip(self.arrays, self.states, strict=True):
            assert isinstance(a.type, ViewTy)
            found |= {a.name: a.type, f"{s.name}_before": s.type, f"{s.name}_total": s.type}
            lanes = self.count
            while lanes > 1:
                found[f"{s.name}_of{lanes}"] = Vector(s.type.name, lanes=lanes)
                lanes //= 2
        return found

    def reset(self) -> list[Stmt]:
        """Set the running values to the identity, and keep the state until they are joined."""
        out: list[Stmt] = []
        for a, s in zip(self.arrays, self.states, strict=True):
            out.append(Assign(f"{s.name}_before", s.var))
            if s.type.kind == "c" or s.type.name == "float16":
                each = ir.Store(a, (var("_r"),), s.identity)
                out.append(For("_r", integer(0), integer(self.count), integer(1), (each,)))
            else:
                every = ir.Const(s.identity.value, Vector(s.type.name, lanes=self.count))
                out.append(ir.Store(a, (lanes_from(integer(0), self.count),), every))
        return out

    def joined(self, place: Expr, joins: Sequence[Stmt]) -> list[Stmt]:
        """Statements that join to the state, done for a running value."""
        before = [Assign(s.name, e) for s, e in zip(self.states, self._at(place), strict=True)]
        own = zip(self.arrays, self.states, strict=True)
        after = [ir.Store(a, (place,), s.var) for a, s in own]
        return [*before, *in_order(joins), *after]

    def fold(self) -> list[Stmt]:
        """Join the running values, by halves, and what comes of it to the state that was kept."""
        states = self.states
        if self.operations:
            folding = [s for n in range(len(states)) for s in self._by_halves(n)]
        else:
            half = var("_h")
            halves = Assign("_h", integer(self.count // 2))
            join = self.joined(var("_r"), self.merge(self._at(op("add", var("_r"), half))))
            walk = For("_r", integer(0), half, integer(1), tuple(join))
            down = Assign("_h", op("truncdiv", half, integer(2)))
            test = Op("lt", (integer(0), half), BOOL)
            pairs = zip(states, self._at(integer(0)), strict=True)
            totals = [Assign(f"{s.name}_total", e) for s, e in pairs]
            folding = [halves, While(test, (walk, down), rolled=True), *totals]
        back = [Assign(s.name, Var(f"{s.name}_before", s.type)) for s in states]
        last = self.merge(tuple(Var(f"{s.name}_total", s.type) for s in states))
        return [*folding, *back, *in_order(last)]

    def _at(self, place: Expr) -> tuple[Expr, ...]:
        """A running value, a number of the state after the other."""
        own = zip(self.arrays, self.states, strict=True)
        return tuple(ir.Load(a, (place,), s.type) for a, s in own)

    def _by_halves(self, n: int) -> list[Stmt]:
        """Join the running values of a number, as vectors."""
        state, name = self.states[n], self.operations[n]
        name = _EXACT.get(name, name) if state.type.kind in "fc" else name
        lanes = self.count
        every = Vector(state.type.name, lanes=lanes)
        own = Var(f"{state.name}_of{lanes}", every)
        start = (lanes_from(integer(0), lanes),)
        out: list[Stmt] = [Assign(own.name, ir.Load(self.arrays[n], start, every))]
        while lanes > 2:
            lanes //= 2
            half = Vector(state.type.name, lanes=lanes)
            value = Op(name, tuple(Op(p, (own,), half) for p in ("low", "high")), half)
            own = Var(f"{state.name}_of{lanes}", half)
            out.append(Assign(own.name, value))
        ends = tuple(Op("lane", (own, integer(k)), state.type) for k in range(2))
        return [*out, Assign(f"{state.name}_total", Op(name, ends, state.type))]


def running_values(reduction: Reduction) -> Running:
    """The running values of a launch's reduction, whose number depends on their size alone."""
    states = reduction.states
    size = sum(s.type.bits for s in states) // 8
    count = _FEWEST
    while count < _MOST and 2 * count * size <= _BYTES:
        count *= 2
    operations: tuple[str, ...] = ()
    plain = [j for j in reduction.joins if isinstance(j, Plain) and j.type.name != "float16"]
    if len(plain) == len(reduction.joins):
        operations = tuple(j.operation for j in plain)
    return Running(states, count, is_ordered(reduction), reduction.merge, operations)


def lanes_from(first: Expr, lanes: int) -> Expr:
    """The vector of a number and those that follow it."""
    return Op("ramp", (first, ir.Const(1, INT64)), Vector("int64", lanes=lanes))


def is_ordered(reduction: Reduction) -> bool:
    """Whether the order of joins may be seen in the result."""
    return any(map(_rounds, reduction.joins))


def _rounds(join: Join) -> bool:
    if isinstance(join, Several):
        return any(map(_rounds, join.joins))
    if isinstance(join, Plain):
        return join.kind in ("sum", "prod") and join.type.kind in "fc"
    return isinstance(join, Compensated)


def joins_in_turn(reduction: Reduction) -> bool:
    """Whether contributions are joined one after the other, in the order of the indices, as hosts
    promise of joins of one's own."""
    return any(isinstance(j, Compiled) for j in reduction.joins)


def in_order(joins: Sequence[Stmt]) -> list[Stmt]:
    """Statements that join, as they are written: compilers may not change their order."""
    return [
        ir.with_bodies(
            ir.with_expressions(s, tuple(map(_exact, ir.expressions(s)))),
            tuple(tuple(in_order(b)) for b in ir.bodies(s)),
        )
        for s in joins
    ]


def _exact(e: Expr) -> Expr:
    e = ir.with_operands(e, tuple(map(_exact, ir.operands(e))))
    if isinstance(e, Op) and e.op in _EXACT and e.type.kind in "fc":
        return replace(e, op=_EXACT[e.op])
    return e


def joining_kernel(body: ir.Function, reduction: Reduction) -> ir.Function:
    """A kernel that takes a state behind its arguments, and returns it with its contribution."""
    states = tuple(s.var for s in reduction.states)
    own = {s.name for s in states}
    types: dict[str, Scalar | ViewTy] = {
        n: t for n, t in reduction.locals().items() if n not in own
    }  # fmt: skip
    result = body.result if isinstance(body.result, Scalar) else INT64
    *before, last = body.body
    plain = (
        isinstance(last, ir.Return)
        and len(ir.expressions(last)) == len(reduction.contributions)
        and not any(isinstance(s, ir.Return) for s in ir.walk_statements(tuple(before)))
    )
    if plain:  # what it returns is contracted with the sum
        assert isinstance(last, ir.Return)
        values = ir.expressions(last)
        names = [f"{reduction.names}_v{n}" for n in range(len(values))]
        statements: list[Stmt] = [
            *before,
            *(Assign(n, v) for n, v in zip(names, values, strict=True)),
            *reduction.join_contributions(),
        ]
        types |= body.locals
    else:
        call = ir.Call(body.name, tuple(Var(p.name, p.type) for p in body.parameters), result)
        statements = reduction.accumulate(call)
    statements = [*in_order(statements), returned(states)]
    parameters = (*body.parameters, *states)
    return replace(
        body, name=f"{body.name}_joins", parameters=parameters, result=returned_type(states),
        locals=types, body=tuple(statements), declared=None,
    )  # fmt: skip
