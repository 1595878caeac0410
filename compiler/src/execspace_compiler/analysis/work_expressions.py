"""Work of a kernel's expressions, and what is known of their values."""

from __future__ import annotations

from abc import ABC, abstractmethod
from fractions import Fraction
from typing import Any

import numpy as np

from execspace.base.dataclass import dataclass

from .. import ir
from ..ir.ops import COMPARISONS
from ..ir.types import Scalar, Vector, ViewTy
from .index_sets import Region, where
from .index_values import (
    Affine,
    AtLeast,
    Compare,
    Derived,
    Equal,
    Fixed,
    Loaded,
    Not,
    Test,
    Value,
    compared,
    derived,
    either,
    integer,
    negated,
)
from .index_values import Both as BothOf
from .work_tally import Argument, Tally

_MOST_BOXES = 64  # in a region; beyond that, branches count half
HALF = "both arms of a condition on data count half"

Known = Value | bool | AtLeast | Equal | Compare | Not | BothOf
Result = Known | tuple[Known, ...]  # a tuple for a function that returns several


@dataclass
class Frame:
    """What is known in a function: its variables, its Views, and the depth of loops."""

    variables: dict[str, Known]
    views: dict[str, Argument | tuple[Value, ...] | None]  # extents of scratch; None: private
    loops: int = 0
    result: Result = None


class Expressions(Tally, ABC):
    """Counts expressions."""

    def __init__(self, functions: tuple[ir.Function, ...]) -> None:
        super().__init__()
        self.module = {f.name: f for f in functions}

    @abstractmethod
    def block(self, body: tuple[ir.Stmt, ...], region: Region, frame: Frame) -> Region:
        """Count statements; returns the region in which control reaches their end."""

    def expression(self, e: ir.Expr, region: Region, frame: Frame) -> Result:
        """Count an expression; returns what is known of its value."""
        match e:
            case ir.Const():
                return number(e.value, e.type)
            case ir.Var():
                return frame.variables.get(e.name)
            case ir.Extent():
                view = frame.views.get(e.view.name)
                if isinstance(view, Argument):
                    return integer(view.shape[e.dimension])
                return view[e.dimension] if view else None
            case ir.Load():
                return self._load(e, region, frame)
            case ir.Select():
                return self._select(e, region, frame)
            case ir.Call():
                values = tuple(_passed(a, self, region, frame) for a in e.args)
                return self.function(self.module[e.function], values, region)
            case ir.Op(op="and" | "or"):
                return self._both(e, region, frame)
            case ir.Op():
                args = [self.expression(a, region, frame) for a in e.args]
                type = e.args[0].type
                assert isinstance(type, Scalar)
                self.operation(e.op, e.type, type, region)
                if isinstance(e.type, Vector) or isinstance(type, Vector):
                    return None  # lanes differ
                return _result(e, [None if isinstance(a, tuple) else a for a in args])
        for a in ir.operands(e):
            self.expression(a, region, frame)
        return None

    def _load(self, e: ir.Load, region: Region, frame: Frame) -> Known:
        subscripts = self.subscripts(e.indices, e.byte, region, frame)
        view = frame.views.get(e.view.name)
        if not isinstance(view, Argument):
            return None
        self.access(view, subscripts, e.type, region)
        return Loaded(view.position, subscripts) if e.type.is_integer else None

    def _select(self, e: ir.Select, region: Region, frame: Frame) -> Known:
        test = test_of(self.expression(e.test, region, frame))
        before = self.events
        then, orelse, halved = self.parted(region, test)
        a, b = self.expression(e.then, then, frame), self.expression(e.orelse, orelse, frame)
        if halved and self.events > before:
            self.note(HALF, e.loc)
        if isinstance(a, tuple) or isinstance(b, tuple):
            return None
        if not then or not orelse:
            return a if then else b
        return one_of(test, a, b)

    def _both(self, e: ir.Op, region: Region, frame: Frame) -> Known:
        a = test_of(self.expression(e.args[0], region, frame))
        before = self.events
        holds, fails, halved = self.parted(region, a)
        b = test_of(self.expression(e.args[1], holds if e.op == "and" else fails, frame))
        if halved and self.events > before:
            self.note(HALF, e.loc)
        return BothOf(a, b) if e.op == "and" else either(a, b)

    def function(self, function: ir.Function, values: tuple[Any, ...], region: Region) -> Result:
        """Count a call; `values` are what is known of its arguments, Views included."""
        if not region:
            return None
        frame = Frame({}, {})
        for p, value in zip(function.parameters, values, strict=False):
            (frame.views if isinstance(p.type, ViewTy) else frame.variables)[p.name] = value
        self.block(function.body, region, frame)
        returns = [s for s in ir.walk_statements(function.body) if isinstance(s, ir.Return)]
        return frame.result if len(returns) == 1 else None

    def parted(self, region: Region, test: Test) -> tuple[Region, Region, bool]:
        """The regions in which a test holds and does not, and whether they are a guess."""
        if test is not None:
            then = tuple(b for box in region for b in where(box, test))
            orelse = tuple(b for box in region for b in where(box, test, False))
            if max(len(then), len(orelse)) <= _MOST_BOXES:
                return then, orelse, unknown(test)
        half = tuple(box.scaled(Fraction(1, 2)) for box in region)
        return half, half, True

    def subscripts(
        self, indices: tuple[ir.Expr, ...], byte: ir.Expr | None, region: Region, frame: Frame
    ) -> tuple[Value, ...]:
        all_of = indices if byte is None else (*indices, byte)
        return tuple(value_of(self.expression(e, region, frame)) for e in all_of)


# -- what is known of values -----------------------------------------------------------------------


def number(value: Any, type: Any) -> Known:
    """A number of the launch or a constant."""
    kind = getattr(type, "kind", "")
    if kind == "b":
        return bool(value)
    if kind in ("i", "u"):
        return integer(int(value)) if abs(int(value)) <= _MOST else None
    return Fixed(value)


def value_of(v: Result) -> Value:
    """The result as an integer."""
    return v if isinstance(v, Affine | Derived | Loaded | Fixed) else None


def test_of(v: Result) -> Test:
    """The result as a bool."""
    return None if isinstance(v, tuple | Affine | Derived | Loaded | Fixed) else v


def unknown(test: Test) -> bool:
    """Whether a test depends on data."""
    match test:
        case BothOf():
            return unknown(test.a) or unknown(test.b)
        case Not():
            return unknown(test.test)
    return test is None


def one_of(test: Test, a: Known, b: Known) -> Known:
    """Value of a variable after one of two branches."""
    if a == b:
        return a
    if isinstance(a, Affine | Derived) and isinstance(b, Affine | Derived) and not unknown(test):
        return Derived("where", (test, a, b))
    return None


def _result(e: ir.Op, args: list[Known]) -> Known:
    """What is known of the result of an operation."""
    if e.op in COMPARISONS:
        return compared(e.op, value_of(args[0]), value_of(args[1]))
    if e.op == "not":
        return negated(test_of(args[0]))
    if e.op == "bounded":
        return args[0]
    if not e.type.is_integer:
        return None
    if e.op != "cast":
        found = derived(e.op, tuple(map(value_of, args)))
    else:
        found = args[0] if isinstance(args[0], Affine | Derived | Loaded) else None
    return found if _exact(found, e.type) else None


_MOST = 1 << 53  # larger factors and constants are not index arithmetic, and may wrap


def _exact(v: Value, type: Scalar) -> bool:
    """Whether arithmetic in a type is exact for a value."""
    if not isinstance(v, Affine):
        return type.name in ("int32", "int64")
    if v.terms:
        largest = max(abs(v.constant), *(abs(f) for _, f in v.terms))
        return type.name in ("int32", "int64") and largest <= _MOST
    limits = np.iinfo(type.name)
    return max(limits.min, -_MOST) <= v.constant <= min(limits.max, _MOST)


def _passed(a: ir.Expr, launch: Expressions, region: Region, frame: Frame) -> Any:
    if isinstance(a, ir.Var) and isinstance(a.type, ViewTy):
        return frame.views.get(a.name)
    return launch.expression(a, region, frame)
