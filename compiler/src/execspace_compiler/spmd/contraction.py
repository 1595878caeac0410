"""Products and sums as one operation, chosen by the text of a function alone.

Compilers contract what they find in one block, so the same product and sum may be rounded once in a
loop and twice behind it. In lanes a kernel has one result for an index, wherever in a row it stands
and however many lanes there are; so here is decided what is contracted, and LLVM may do no more.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from .. import ir
from ..ir import Assign, Expr, Op, Stmt, Var
from ..ir.types import Scalar, ViewTy

_KINDS = frozenset(("float32", "float64"))


def contracted(f: ir.Function) -> ir.Function:
    """A function whose products are joined with sums: in an expression, and where a variable that
    is set once holds a product for a sum behind it in the same body. One that is strict stays."""
    if f.strict:
        return f
    once = _Once(f)
    body = once.block(f.body)
    return replace(f, body=body, locals={**f.locals, **once.locals}, strict=True)


class _Once:
    """Rewrites a function."""

    def __init__(self, f: ir.Function) -> None:
        statements = ir.walk_statements(f.body)
        self.reads = Counter(
            e.name for e in ir.walk_expressions(f.body) if isinstance(e, Var)
        )  # fmt: skip
        self.sets = Counter(n for s in statements for n in ir.names_set(s))
        self.locals: dict[str, Scalar | ViewTy] = {}
        self.held: dict[str, Op] = {}

    def block(self, body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
        wanted = {
            x.name
            for s in body
            for e in ir.subexpressions(*ir.expressions(s))
            if isinstance(e, Op) and e.op in ("add", "sub") and e.type.name in _KINDS
            for x in e.args
            if isinstance(x, Var)
        }
        found: list[Stmt] = []
        for s in body:
            if isinstance(s, Assign) and s.name in wanted and self.is_held(s):
                found += self.factors(s)
                continue
            s = ir.with_expressions(s, tuple(map(self.expression, ir.expressions(s))))
            found.append(ir.with_bodies(s, tuple(map(self.block, ir.bodies(s)))))
        return tuple(found)

    def is_held(self, s: Assign) -> bool:
        """Whether a variable holds a product for one use."""
        return self.sets[s.name] == self.reads[s.name] == 1 and _is_product(s.value)

    def factors(self, s: Assign) -> list[Stmt]:
        """Keep the factors in place of the product."""
        product = s.value
        assert isinstance(product, Op)
        names = [f"{s.name}_factor{n}" for n in range(2)]
        self.locals.update(dict.fromkeys(names, product.type.strong))
        values = tuple(map(self.expression, product.args))
        self.held[s.name] = replace(product, args=tuple(Var(n, product.type) for n in names))
        return [Assign(n, v, s.loc) for n, v in zip(names, values, strict=True)]

    def expression(self, e: Expr) -> Expr:
        if isinstance(e, Var):
            return self.held.get(e.name, e)
        e = ir.with_operands(e, tuple(map(self.expression, ir.operands(e))))
        if not isinstance(e, Op) or e.op not in ("add", "sub") or e.type.name not in _KINDS:
            return e
        a, b = e.args
        t = e.type
        if isinstance(a, Op) and _is_product(a):
            other = b if e.op == "add" else Op("neg", (b,), t)
            return Op("fma", (*a.args, other), t, e.loc)
        if isinstance(b, Op) and _is_product(b):
            first = b.args[0] if e.op == "add" else Op("neg", (b.args[0],), t)
            return Op("fma", (first, b.args[1], a), t, e.loc)
        return e


def _is_product(e: Expr) -> bool:
    return isinstance(e, Op) and e.op == "mul" and e.type.name in _KINDS
