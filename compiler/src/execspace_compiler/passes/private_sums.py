"""Sums that many calls add to a small View: a group of work-items adds to a copy of its own.

Atomic additions to the same element wait for each other. Where a kernel does nothing else to a View
than add to its elements, a group adds to memory that only it has, and at the end what is there to
the View. `private_sums` says to which Views that applies, `private_body` is the kernel for it, and
`clear_function` and `merge_function` are what a work-item does before and after its calls.

As J. Gomez-Luna et al., "An optimized approach to histogram computation on GPU", Machine Vision and
Applications 24 (2013).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from .. import ir
from ..analysis.row_accesses import element_of
from ..ir import Expr, Stmt, Var, op, var
from ..ir.rewriting import renamed
from ..ir.types import BOOL, INDEX, INT64, Scalar, ViewTy
from ..typing.lowered import Lowered

BYTES = 32 * 1024  # of all copies of a group: four groups should fit on a processor
EACH = 8  # least calls for each element of a View
CALLS = 1 << 14  # least calls of a launch
GROUP = 512  # work-items of a group, if it may have so many
FEW_THREADS = 1024  # on a processor, where an addition is a loop, which waits for all others
_MOST = 2  # Views
_TYPES = frozenset(("int32", "uint32", "int64", "uint64", "float32", "float64"))


def private_sums(lowered: Lowered, room: int) -> tuple[int, ...]:
    """Arguments that are Views to which a parallel_for does nothing but add, without the sum.

    `room`: bytes of memory that a group may have.
    """
    spec = lowered.spec
    if spec.pattern != "for" or spec.policy.kind == "team" or spec.policy.tiled:
        return ()
    if lowered.assertions or lowered.prints:
        return ()
    body = lowered.body
    arguments = body.parameters[lowered.leading :][: len(spec.arguments)]
    found = tuple(n for n, p in enumerate(arguments) if _is_summed(body, p))
    return found if len(found) <= _MOST and room >= BYTES else ()


def _is_summed(body: ir.Function, p: Var) -> bool:
    t = p.type
    if not isinstance(t, ViewTy) or t.mapped or not isinstance(t.element, Scalar):
        return False
    if t.element.name not in _TYPES or t.layout == "stride":
        return False
    added = False
    for s in ir.walk_statements(body.body):
        if isinstance(s, ir.Atomic) and s.view.name == p.name:
            if s.op not in ("add", "sub") or s.name is not None or s.byte is not None:
                return False
            added = True
        elif isinstance(s, ir.Store) and s.view.name == p.name:
            return False
    for e in ir.walk_expressions(body.body):
        if isinstance(e, ir.Load) and e.view.name == p.name:
            return False
        if isinstance(e, ir.Call) and any(isinstance(a, Var) and a.name == p.name for a in e.args):
            return False
    return added


def elements(kind: Scalar | np.dtype[Any], count: int) -> int:
    """Elements of a copy, if there are so many."""
    return BYTES // count // kind.itemsize


def private_body(lowered: Lowered, numbers: tuple[int, ...]) -> ir.Function:
    """The kernel that adds to memory of the group."""
    body = lowered.body
    names = {}
    for n in numbers:
        p = body.parameters[lowered.leading + n]
        assert isinstance(p.type, ViewTy)
        names[p.name] = replace(p, type=replace(p.type, traits=("group",)))
    parameters = tuple(names.get(p.name, p) for p in body.parameters)
    return replace(body, parameters=parameters, body=renamed(body.body, names))


def _row(name: str, view: Var, traits: tuple[str, ...]) -> Var:
    assert isinstance(view.type, ViewTy)
    return Var(name, ViewTy(view.type.element, 1, "right", 0, False, None, (), traits))


def clear_function(name: str, view: Var) -> ir.Function:
    """A work-item's share of setting the copy of a View to zeros."""
    own = _row("_own", view, ("group",))
    return _over_elements(name, (own,), [ir.Store(own, (var("_k"),), _zero(element_of(own)))])


def merge_function(name: str, view: Var) -> ir.Function:
    """A work-item's share of adding the copy to the View."""
    own, whole = _row("_own", view, ("group",)), _row("_whole", view, ())
    kind, place = element_of(own), var("_place")
    value: Expr = ir.Load(own, (place,), kind)
    add: Stmt = ir.Atomic(None, "add", whole, (place,), kind, (value,))
    if kind.is_integer:
        add = ir.If(ir.Op("ne", (value, _zero(kind)), BOOL), (add,))
    # Groups begin at different elements, or each would wait for all others.
    turned = op("truncmod", op("add", var("_k"), var("_turn")), var("_count"))
    return _over_elements(name, (own, whole), [ir.Assign("_place", turned), add], ("_turn",))


def private_functions(lowered: Lowered, numbers: tuple[int, ...]) -> list[ir.Function]:
    """What a work-item does before and after its calls, for each View."""
    views = [lowered.body.parameters[lowered.leading + n] for n in numbers]
    return [
        *(clear_function(f"_clear{n}", v) for n, v in zip(numbers, views, strict=True)),
        *(merge_function(f"_merge{n}", v) for n, v in zip(numbers, views, strict=True)),
    ]


def _over_elements(
    name: str, views: tuple[Var, ...], body: list[Stmt], more: tuple[str, ...] = ()
) -> ir.Function:
    loop = ir.For("_k", var("_at"), var("_count"), var("_by"), tuple(body))
    numbers = tuple(Var(n, INDEX) for n in ("_at", "_by", "_count", *more))
    types: dict[str, Scalar | ViewTy] = dict.fromkeys(("_k", "_place"), INT64)
    return ir.Function(name, (*numbers, *views), None, types, (loop,))


def _zero(kind: Scalar) -> Expr:
    """What changes nothing when it is added: of floats the negative zero."""
    return ir.Const(0 if kind.is_integer else -0.0, kind)
