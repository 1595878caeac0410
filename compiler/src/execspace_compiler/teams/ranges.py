"""Nested ranges on one thread of a host: here an iteration after the other.

mapping/nested_lanes.py has neighbouring iterations in lanes.
"""

from __future__ import annotations

from collections.abc import Sequence

from .. import ir
from ..ir import Expr, For, Stmt, integer
from ..ir.types import Scalar, ViewTy

Outer = tuple[str, Expr, Expr, Expr]
"""A loop around others: name, start, stop and step."""


class Ranges:
    """Writes the loops of nested ranges.

    Attributes
    ----------
    locals : dict
        Types of the variables that they add.
    functions : list of ir.Function
        Functions that they call.
    """

    def __init__(self) -> None:
        self.locals: dict[str, Scalar | ViewTy] = {}
        self.functions: list[ir.Function] = []

    def begin(self, body: ir.Function) -> None:
        """Told of the kernel, as it was before any of its ranges."""

    def loop(
        self, s: ir.Split, outer: Sequence[Outer], name: str, first: Expr, last: Expr, step: Expr,
        body: tuple[Stmt, ...],
    ) -> list[Stmt]:  # fmt: skip
        """Loops over a range, the innermost one over `name`; `body` is an iteration."""
        return [around(outer, For(name, first, last, step, body, loc=s.loc, nested=True), s)]

    def scan(
        self, s: ir.ScanRange, body: tuple[Stmt, ...], probe: tuple[Stmt, ...], join: Stmt
    ) -> list[Stmt]:
        """The loop of a scan; `probe` computes the contribution of an iteration, and `body` also
        does what needs the prefix. `join` joins the contribution to the state."""
        return [For(s.name, s.start, s.stop, integer(1), (*body, join), loc=s.loc)]


def around(outer: Sequence[Outer], inner: Stmt, s: ir.Split) -> Stmt:
    """A statement with loops around it."""
    for name, start, stop, step in reversed(outer):
        inner = For(name, start, stop, step, (inner,), loc=s.loc, nested=True)
    return inner
