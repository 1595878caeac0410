"""Min and max with a constant, rewritten so that LLVM does not confuse different selects.

`v if v > C else C` and `C if v < C else v` both are the maximum. They differ if v is NaN or, for a
C of zero, the other zero. LLVM treats both as the same select pattern and drops the outer of two
with the same constant (foldSPFofSPF of InstCombine, up to LLVM 22 at least): max(0.0, max(v, 0.0)),
which is 0.0 for a NaN, became NaN. And LLVM 15 returns the wrong zero for np.maximum(-0.0, v),
since it compares with 0.0. It matches the pattern only if the compared values are the selected
ones. So a number that may itself be such a select is compared with the constant's neighbour, and so
is every number if the constant is -0.0: v > C if and only if v >= the next number after C.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np

from .. import ir
from ..ir import Const, Expr, Op, Stmt, Var
from ..ir.rewriting import names_set, rewritten
from ..ir.types import BOOL

UP, DOWN = np.inf, -np.inf

# `v compared with k` in place of `v compared with C`: the comparison, and the side of C of k.
_SHIFTED = {"lt": ("le", DOWN), "le": ("lt", UP), "gt": ("ge", UP), "ge": ("gt", DOWN)}
_MIRRORED = {"lt": "gt", "le": "ge", "gt": "lt", "ge": "le"}

# Operation, and whether the constant comes second -> operation on v, k and C (ops.py), side of k.
_SELECTS = {
    ("min", True): ("replace_ge", UP), ("min", False): ("keep_le", DOWN),
    ("max", True): ("replace_le", DOWN), ("max", False): ("keep_ge", UP),
    ("minimum", True): ("replace_gt", DOWN), ("minimum", False): ("replace_ge", UP),
    ("maximum", True): ("replace_lt", UP), ("maximum", False): ("replace_le", DOWN),
    ("fmin", True): ("keep_lt", UP), ("fmin", False): ("keep_le", DOWN),
    ("fmax", True): ("keep_gt", DOWN), ("fmax", False): ("keep_ge", UP),
}  # fmt: skip


def with_thresholds(module: ir.Module) -> ir.Module:
    """The module rewritten. With fastmath there are no NaNs, and zeros are equal."""
    if module.fastmath:
        return module
    return replace(module, functions=tuple(map(_function, module.functions)))


def _function(f: ir.Function) -> ir.Function:
    times = Counter([*names_set(f), *(p.name for p in f.parameters)])
    values = {
        s.name: s.value
        for s in ir.walk_statements(f.body)
        if isinstance(s, ir.Assign) and times[s.name] == 1
    }

    stored = {s.view.name for s in ir.walk_statements(f.body) if isinstance(s, ir.Store)}

    def constant(e: Expr) -> Const | None:
        """The constant value of an operand, if it has one."""
        if isinstance(e, Var):
            e = values.get(e.name, e)
        return e if isinstance(e, Const) and _has_neighbours(e) else None

    def shifts(v: Expr, c: Const) -> bool:
        """Whether the comparison of the two must be rewritten."""
        return (np.signbit(c.value) and c.value == 0) or may_be_select(v, c)

    def may_be_select(e: Expr, c: Const) -> bool:
        """Whether a number may come from a select between another one and the constant."""
        match e:
            case Var():
                value = values.get(e.name)
                return value is None or isinstance(value, Var) or may_be_select(value, c)
            case Const():
                return bool(e.value == c.value)
            case ir.Select():
                return may_be_select(e.then, c) or may_be_select(e.orelse, c)
            case Op() if _is_select(e):
                return any(may_be_select(a, c) for a in e.args)
            case ir.Load():
                return e.view.name in stored  # the stored value may be forwarded
        return isinstance(e, ir.Call)

    def expression(e: Expr) -> Expr:
        e = ir.with_operands(e, tuple(map(expression, ir.operands(e))))
        if isinstance(e, Op) and (e.op, True) in _SELECTS:
            for second, v in enumerate(e.args[::-1]):
                c = constant(e.args[second])
                if c is not None and shifts(v, c):
                    name, where = _SELECTS[e.op, second == 1]
                    return replace(e, op=name, args=(v, _neighbour(c, where), c))
        if isinstance(e, ir.Select):
            return replace(e, test=shifted(e.test, (e.then, e.orelse)))
        return e

    def shifted(test: Expr, chosen: tuple[Expr, ...]) -> Expr:
        """A comparison of a number with a constant, if it selects between these two.

        On devices that flush subnormals to zero its outcome may differ if both are zeros.
        """
        if isinstance(test, Op) and test.op == "not":
            return replace(test, args=(shifted(test.args[0], chosen),))
        if not (isinstance(test, Op) and test.op in _SHIFTED):
            return test
        for second, v in enumerate(test.args[::-1]):
            c = constant(test.args[second])
            if c is None or v not in chosen or not shifts(v, c):
                continue
            if any(a != v and not _is(constant(a), c) for a in chosen):
                continue
            name, where = _SHIFTED[test.op if second == 1 else _MIRRORED[test.op]]
            return Op(name, (v, _neighbour(c, where)), BOOL, test.loc)
        return test

    def statement(s: Stmt) -> Stmt:
        """A branch that only selects the value of a variable."""
        if not isinstance(s, ir.If) or len(s.body) != 1 or len(s.orelse) > 1:
            return s
        values = []
        for a in (*s.body, *s.orelse):
            if not isinstance(a, ir.Assign) or a.name != getattr(s.body[0], "name", None):
                return s
            values.append(a.value)
        if not s.orelse:
            assert isinstance(s.body[0], ir.Assign)
            values.append(Var(s.body[0].name, s.body[0].value.type))
        return replace(s, test=shifted(s.test, tuple(values)))

    return replace(f, body=tuple(rewritten(s, expression, statement) for s in f.body))


def _is_select(e: Op) -> bool:
    """Whether an operation returns one of its operands, perhaps converted."""
    return (e.op, True) in _SELECTS or e.op == "cast" or e.op.startswith(("keep_", "replace_"))


def _is(a: Const | None, c: Const) -> bool:
    return a is not None and bool(a.value == c.value)


def _has_neighbours(c: Const) -> bool:
    if not c.type.is_float:
        return False
    with np.errstate(over="ignore"):
        return bool(np.isfinite(np.dtype(c.type.name).type(c.value)))


def _neighbour(c: Const, where: float) -> Const:
    """The adjacent number of its type."""
    kind = np.dtype(c.type.name).type
    with np.errstate(over="ignore", under="ignore"):
        return replace(c, value=float(np.nextafter(kind(c.value), kind(where))))
