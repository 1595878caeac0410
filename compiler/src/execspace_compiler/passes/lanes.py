"""Vectors as numbers: a variable for each lane, for printers that know no vectors.

A vector in a helper's parameters or result becomes several of them. Run right after typing, so that
all that follows sees numbers only.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from .. import ir
from ..ir.types import BOOL, INT64, Scalar, TupleTy, Vector, ViewTy, flat_scalars
from ..typing.value_types import part_name

_ACROSS = frozenset(("lane", "low", "high", "any", "all", "count"))


def in_lanes(functions: Sequence[ir.Function]) -> tuple[ir.Function, ...]:
    """Functions without vectors."""
    return tuple(map(_function, functions))


def _types(t: Scalar) -> tuple[Scalar, ...]:
    return (t.lane,) * t.lanes if isinstance(t, Vector) else (t,)


def _names(name: str, t: object) -> tuple[str, ...]:
    """Variables of the lanes of a variable."""
    return tuple(part_name(name, k) for k in range(t.lanes)) if isinstance(t, Vector) else (name,)


def _function(f: ir.Function) -> ir.Function:
    parameters: list[ir.Var] = []
    for p in f.parameters:
        if isinstance(p.type, Vector):
            parameters += (ir.Var(n, p.type.lane) for n in _names(p.name, p.type))
        else:
            parameters.append(p)
    held: dict[str, Scalar | ViewTy] = {}
    for name, t in f.locals.items():
        if isinstance(t, Vector):
            held.update(dict.fromkeys(_names(name, t), t.lane))
        else:
            held[name] = t
    result = f.result
    if any(isinstance(t, Vector) for t in flat_scalars(result)):
        kinds = tuple(kind for t in flat_scalars(result) for kind in _types(t))
        result = kinds[0] if len(kinds) == 1 else TupleTy(kinds)
    known = {p.name: p.type for p in f.parameters} | f.locals
    types = {n: t for n, t in known.items() if isinstance(t, Vector)}
    body = _Body(types, held).block(f.body)
    return replace(f, parameters=tuple(parameters), result=result, locals=held, body=body)


class _Body:
    """Rewrites the body of a function; new variables come into `held`."""

    def __init__(self, types: dict[str, Vector], held: dict[str, Scalar | ViewTy]) -> None:
        self.types = types
        self.held = held

    # -- statements -----------------------------------------------------------------------------

    def block(self, body: tuple[ir.Stmt, ...]) -> tuple[ir.Stmt, ...]:
        return tuple(new for s in body for new in self.statement(s))

    def statement(self, s: ir.Stmt) -> list[ir.Stmt]:
        if isinstance(s, ir.Assign) and isinstance(s.value.type, Vector):
            return self.assign(s)
        if isinstance(s, ir.Unpack):
            names = tuple(n for name in s.names for n in _names(name, self.types.get(name)))
            call = self.number(s.value)
            assert isinstance(call, ir.Call)
            return [replace(s, names=names, value=call)]
        if isinstance(s, ir.Return) and s.value is not None:
            given = s.value if isinstance(s.value, tuple) else (s.value,)
            values = self.flat(given)
            return [replace(s, value=values[0] if len(values) == 1 else values)]
        s = ir.with_expressions(s, tuple(map(self.number, ir.expressions(s))))
        return [ir.with_bodies(s, tuple(map(self.block, ir.bodies(s))))]

    def assign(self, s: ir.Assign) -> list[ir.Stmt]:
        t = s.value.type
        assert isinstance(t, Vector)
        names = _names(s.name, t)
        if isinstance(s.value, ir.Call):
            call = self.number(s.value)
            assert isinstance(call, ir.Call)
            if t.lanes == 1:
                return [ir.Assign(names[0], replace(call, type=t.lane), s.loc)]
            return [ir.Unpack(names, replace(call, type=INT64), s.loc)]
        values = [self.lane(s.value, k) for k in range(t.lanes)]
        inner = ir.subexpressions(s.value)
        reads = any(isinstance(e, ir.Var) and e.name == s.name for e in inner)
        if reads and any(isinstance(e, ir.Op) and e.op in _ACROSS for e in inner):
            new = tuple(part_name(s.name, f"new{k}") for k in range(t.lanes))
            self.held.update(dict.fromkeys(new, t.lane))
            first = [ir.Assign(n, v, s.loc) for n, v in zip(new, values, strict=True)]
            pairs = zip(names, new, strict=True)
            return [*first, *(ir.Assign(n, ir.Var(m, t.lane), s.loc) for n, m in pairs)]
        return [ir.Assign(n, v, s.loc) for n, v in zip(names, values, strict=True)]

    # -- expressions ----------------------------------------------------------------------------

    def flat(self, given: Sequence[ir.Expr]) -> tuple[ir.Expr, ...]:
        """Numbers, and the lanes of vectors among them."""
        found: list[ir.Expr] = []
        for e in given:
            if isinstance(e.type, Vector):
                found += (self.lane(e, k) for k in range(e.type.lanes))
            else:
                found.append(self.number(e))
        return tuple(found)

    def number(self, e: ir.Expr) -> ir.Expr:
        """An expression that is a number or a View."""
        if isinstance(e, ir.Op) and e.op in _ACROSS:
            v = e.args[0]
            if e.op == "lane":
                k = e.args[1]
                assert isinstance(k, ir.Const)
                return self.lane(v, int(k.value))
            return self.of_mask(e, v)
        if isinstance(e, ir.Call):
            return replace(e, args=self.flat(e.args))
        return ir.with_operands(e, tuple(map(self.number, ir.operands(e))))

    def of_mask(self, e: ir.Op, mask: ir.Expr) -> ir.Expr:
        """Whether and for how many lanes a mask holds."""
        assert isinstance(mask.type, Vector)
        lanes = [self.lane(mask, k) for k in range(mask.type.lanes)]
        if e.op == "count":
            numbers = [ir.Op("cast", (x,), INT64, e.loc) for x in lanes]
            return _joined(numbers, lambda a, b: ir.Op("add", (a, b), INT64, e.loc))
        sign = "and" if e.op == "all" else "or"
        return _joined(lanes, lambda a, b: ir.Op(sign, (a, b), BOOL, e.loc))

    def lane(self, e: ir.Expr, k: int) -> ir.Expr:
        """A lane of an expression that is a vector."""
        t = e.type
        assert isinstance(t, Vector)
        match e:
            case ir.Const():
                return ir.Const(e.value, t.lane, e.loc)
            case ir.Var():
                return ir.Var(part_name(e.name, k), t.lane, e.loc)
            case ir.Op("broadcast"):
                return self.number(e.args[0])
            case ir.Op("pack"):
                return self.number(e.args[k])
            case ir.Op("low"):
                return self.lane(e.args[0], k)
            case ir.Op("high"):
                return self.lane(e.args[0], k + t.lanes)
            case ir.Op("blend"):
                test, a, b = (self.lane(x, k) for x in e.args)
                return ir.Select(test, a, b, t.lane, e.loc)
            case ir.Op():
                return ir.Op(e.op, tuple(self.lane(x, k) for x in e.args), t.lane, e.loc)
        raise AssertionError(f"no vector: {e}")


def _joined(parts: Sequence[ir.Expr], join: Callable[[ir.Expr, ir.Expr], ir.Expr]) -> ir.Expr:
    """Parts joined as a tree of little depth."""
    row = list(parts)
    while len(row) > 1:
        half = (len(row) + 1) // 2
        joined = [join(a, b) for a, b in zip(row, row[half:], strict=False)]
        row = joined + row[len(joined) : half]
    return row[0]
