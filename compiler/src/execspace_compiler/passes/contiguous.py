"""The body of a launch whose Views are contiguous in the order in which its calls are numbered.

The number of a call is then the offset of its elements, for a range of any rank, which saves
divisions and offset computations. Whether a View qualifies is known at the launch: its strides are
those of an array with the extents of the range, and all lower bounds are zero.
"""

from __future__ import annotations

from dataclasses import replace

from execspace.base.dataclass import dataclass

from .. import ir
from ..ir import Expr, Stmt, Var
from ..ir.rewriting import names_set, rewritten
from ..ir.types import INDEX, ViewTy
from ..typing.lowered import Lowered

NUMBER = Var("_number", INDEX)


@dataclass(frozen=True)
class ContiguousBody:
    """Such a body.

    Attributes
    ----------
    body : ir.Function
        It has an additional parameter after the leading ones, the number of the call.
    arguments : tuple of int
        Positions of the Views among the arguments that must be contiguous.
    """

    body: ir.Function
    arguments: tuple[int, ...]


def contiguous_body(lowered: Lowered) -> ContiguousBody | None:
    """The body for such Views; None if no View is subscripted by the indices alone."""
    body, policy = lowered.body, lowered.spec.policy
    if policy.kind != "mdrange" or policy.rank < 2 or policy.tiled:
        return None
    if lowered.spec.pattern == "scan":  # which reads its Views a second time in another way
        return None
    indices = tuple(p.name for p in body.parameters[: policy.rank])
    if any(name in indices for name in names_set(body)):
        return None
    views = body.parameters[lowered.leading :]
    found: set[str] = set()
    statements = tuple(_statement(s, indices, found) for s in body.body)
    arguments = tuple(n for n, v in enumerate(views) if v.name in found)
    if not arguments:
        return None
    before, after = body.parameters[: lowered.leading], body.parameters[lowered.leading :]
    return ContiguousBody(
        replace(
            body, name=f"{body.name}_linear", parameters=(*before, NUMBER, *after), body=statements
        ),
        arguments,
    )


def _statement(s: Stmt, indices: tuple[str, ...], found: set[str]) -> Stmt:
    def load(e: Expr) -> Expr:
        e = ir.with_operands(e, tuple(map(load, ir.operands(e))))
        if isinstance(e, ir.Load) and _is_at(e.view, e.indices, indices):
            found.add(e.view.name)
            return replace(e, indices=(NUMBER,))
        return e

    def store(s: Stmt) -> Stmt:
        if isinstance(s, ir.Store | ir.Atomic) and _is_at(s.view, s.indices, indices):
            found.add(s.view.name)
            return replace(s, indices=(NUMBER,))
        return s

    return rewritten(s, load, store)


def _is_at(view: Var, subscripts: tuple[Expr, ...], indices: tuple[str, ...]) -> bool:
    """Whether a View of the launch is subscripted by the indices of the call, in order."""
    t = view.type
    if not isinstance(t, ViewTy) or t.shape is not None or t.mapped:
        return False
    names = tuple(e.name if isinstance(e, Var) else None for e in subscripts)
    return names == indices
