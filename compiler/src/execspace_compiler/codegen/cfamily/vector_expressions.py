"""Expressions of numbers and of vectors as C."""

from __future__ import annotations

from functools import cached_property

from ... import ir
from ...ir.types import Scalar, Vector
from .expressions import ExpressionPrinter
from .vector_memory import VectorMemory
from .vectors import Vectors


class VectorExpressionPrinter(ExpressionPrinter):
    """Prints expressions, also those with vectors, if the dialect has `vector_extensions`."""

    @cached_property
    def vectors(self) -> Vectors:
        """Types and operations of vectors."""
        return Vectors(self)

    @cached_property
    def vector_memory(self) -> VectorMemory:
        """Loads and stores of vectors."""
        return VectorMemory(self.vectors)

    def type(self, t: Scalar) -> str:
        return self.vectors.type(t) if isinstance(t, Vector) else super().type(t)

    def expr(self, e: ir.Expr) -> str:
        if isinstance(e, ir.Op) and any(isinstance(x.type, Vector) for x in (e, *e.args)):
            return self.vectors.operation(e)
        return super().expr(e)

    def const(self, e: ir.Const) -> str:
        return self.vectors.const(e) if isinstance(e.type, Vector) else super().const(e)

    def load(self, e: ir.Load) -> str:
        return self.vector_memory.load(e) if isinstance(e.type, Vector) else super().load(e)
