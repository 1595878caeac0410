"""Sums of two products, of which compilers contract one or the other.

Which one they choose depends on what else is in the same function, so a kernel with such a sum may
give other last bits once it is fused with others. In a sum with one product there is no choice.
"""

from __future__ import annotations

from .. import ir
from ..ir import Expr, Op, Var
from ..ir.types import Scalar
from ..typing.lowered import Lowered

_PRODUCTS = ("mul", "pow")  # small powers are products
_THROUGH = ("neg", "cast", "stored", "kept")


def has_choice(lowered: Lowered) -> bool:
    """Whether a kernel adds or subtracts floats of which both may be products.

    Products of complex numbers always leave a choice, for they are sums of products.
    """
    return any(_Products(f).has_choice() for f in lowered.functions)


class _Products:
    """What may be a product in a function; what is not known may be one."""

    def __init__(self, function: ir.Function) -> None:
        self._body = function.body
        self._products: set[str] = set()
        assigned = [s for s in ir.walk_statements(function.body) if isinstance(s, ir.Assign)]
        known = -1
        while known != len(self._products):
            known = len(self._products)
            self._products |= {s.name for s in assigned if self._may_be(s.value)}
        for s in ir.walk_statements(function.body):
            if isinstance(s, ir.Unpack):
                self._products |= set(s.names)

    def has_choice(self) -> bool:
        return any(self._is_choice(e) for e in ir.walk_expressions(self._body))

    def _is_choice(self, e: Expr) -> bool:
        if not isinstance(e, Op) or not isinstance(e.type, Scalar) or e.type.kind not in "fc":
            return False
        if e.type.kind == "c":
            return e.op in ("mul", "truediv", "pow")
        return e.op in ("add", "sub") and all(map(self._may_be, e.args))

    def _may_be(self, e: Expr) -> bool:
        if isinstance(e, Op):
            return e.op in _PRODUCTS or (e.op in _THROUGH and self._may_be(e.args[0]))
        if isinstance(e, ir.Select):
            return self._may_be(e.then) or self._may_be(e.orelse)
        return isinstance(e, ir.Call) or (isinstance(e, Var) and e.name in self._products)
