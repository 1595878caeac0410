"""Steps: how a number differs from lane to lane.

0: it is the same in all lanes (uniform). Another integer: each lane has that much more than the one
before, as the index of neighbouring calls has. None: it varies.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import Enum

from .. import ir
from ..ir import Expr
from ..ir.types import Scalar


class Unknown(Enum):
    """The step of a variable that nothing has been assigned to, so far."""

    YET = "not yet"


Step = int | None
Found = int | None | Unknown


def joined(a: Found, b: Found) -> Found:
    """The step of what is one or the other."""
    if isinstance(a, Unknown):
        return b
    return a if isinstance(b, Unknown) or a == b else None


def step_of(e: Expr, steps: Mapping[str, Found], called: Callable[[ir.Call], Found]) -> Found:
    """The step of an expression.

    `steps` has those of variables, and of private arrays whose elements are the same in all lanes
    0; `called` gives that of a call. Other private arrays have None, and Views 0.
    """
    if isinstance(e, ir.Const | ir.Extent):
        return 0
    if isinstance(e, ir.Var):
        return steps.get(e.name, Unknown.YET)
    if isinstance(e, ir.Call):
        return called(e)
    inner = [step_of(a, steps, called) for a in ir.operands(e)]
    if isinstance(e, ir.Load):
        inner.append(steps.get(e.view.name, 0))
    if any(isinstance(s, Unknown) for s in inner):
        return Unknown.YET
    if all(s == 0 for s in inner):
        return 0
    if None in inner:
        return None
    known = [s for s in inner if isinstance(s, int)]
    if isinstance(e, ir.Op) and e.type.is_integer:
        return _of_integers(e, known)
    if isinstance(e, ir.Select) and known[0] == 0 and known[1] == known[2]:
        return known[1]
    return None


def _of_integers(e: ir.Op, steps: list[int]) -> Step:
    """Of an operation on integers, which wrap: so does the step."""
    a = steps[0]
    match e.op:
        case "add":
            return a + steps[1]
        case "sub":
            return a - steps[1]
        case "neg":
            return -a
        case "bounded":
            return a
        case "mul":
            for step, factor in ((a, e.args[1]), (steps[1], e.args[0])):
                if isinstance(factor, ir.Const):
                    return step * int(factor.value)
        case "cast":
            source = e.args[0].type
            assert isinstance(source, Scalar)
            return a if source.is_integer and source.bits >= e.type.bits else None
    return None
