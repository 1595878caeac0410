"""The bodies of a scan on a GPU whose threads run packs of neighbouring calls; see packing.py.

A single-pass scan calls its kernel twice for each index, so there are two bodies: of the pass for
contributions, and of the one with prefixes, without the statements that each of them leaves out.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from .. import ir
from ..ir import Expr, Stmt, Var
from ..ir.types import BOOL, Scalar
from ..reductions.joins import Plain
from ..typing.lowered import Lowered
from .packing import ACCESS, Packing, Packings, ScanPacking, packed_body, widest_element
from .scan_contributions import given_contribution


def scan_packings(lowered: Lowered) -> Packings | None:
    """The packs of a single-pass scan over a range of one dimension; None if there are none."""
    reduction, policy, body = lowered.reduction, lowered.spec.policy, lowered.body
    if reduction is None or policy.rank != 1 or policy.kind == "team" or policy.tiled:
        return None
    if len(reduction.joins) != 1 or not isinstance(reduction.joins[0], Plain):
        return None
    if not isinstance(body.result, Scalar) or body.result.kind == "c":
        return None
    leading = lowered.leading
    final, index = body.parameters[leading - 1], body.parameters[0].name
    last = with_constant(body, final, True)
    widest = widest_element(last, index)

    def packed(version: ir.Function, more: int = 0) -> Packing | None:
        return packed_body(version, leading + more, index, ACCESS, widest)

    first, plain = with_constant(body, final, False), packed(last)
    totals = packed(replace(first, name=f"{body.name}_total"))
    if totals is None or plain is None or totals.count != plain.count:
        return None
    given = given_contribution(lowered, True, packed=True)
    own = None if given is None else packed(with_constant(given, final, True), 1)
    return Packings(totals, None, ScanPacking(totals, plain, own))


def with_constant(body: ir.Function, name: Var, value: bool) -> ir.Function:
    """A body in which a variable that is never set is a constant; its parameters stay."""
    known = {name.name: value}
    return replace(body, body=_statements(body.body, known))


def _statements(statements: tuple[Stmt, ...], known: Mapping[str, bool]) -> tuple[Stmt, ...]:
    found: list[Stmt] = []
    for s in statements:
        s = ir.with_expressions(s, tuple(_expression(e, known) for e in ir.expressions(s)))
        s = ir.with_bodies(s, tuple(_statements(b, known) for b in ir.bodies(s)))
        if isinstance(s, ir.If) and isinstance(s.test, ir.Const):
            found += s.body if s.test.value else s.orelse
        else:
            found.append(s)
    return tuple(found)


def _expression(e: Expr, known: Mapping[str, bool]) -> Expr:
    e = ir.with_operands(e, tuple(_expression(a, known) for a in ir.operands(e)))
    match e:
        case Var() if e.name in known:
            return ir.Const(known[e.name], BOOL)
        case ir.Op("not", (ir.Const() as a,)):
            return ir.Const(not a.value, BOOL)
        case ir.Op("and" | "or", (ir.Const() as a, b)) if e.type == BOOL:
            return b if bool(a.value) == (e.op == "and") else a
        case ir.Select() if isinstance(e.test, ir.Const):
            return e.then if e.test.value else e.orelse
    return e
