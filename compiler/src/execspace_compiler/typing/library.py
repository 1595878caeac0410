"""Typing rules of Python's, math's and NumPy's functions: the table CALLEES of ops.py at work."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import ir
from ..ir.diagnostics import Loc, type_fault
from ..ir.ops import COMPLEX_FUNCTIONS, Callee
from ..ir.types import (
    BOOL,
    INDEX,
    INT64,
    PY_FLOAT,
    PY_INT,
    PromotionError,
    as_float,
    complex_of,
    promote,
    real_part,
)
from .operators import PARTS, OperatorRules, no_order
from .values import TupleValue, Value, ViewRef, describe, extent, is_view, scalar


def indexable(value: Value) -> bool:
    """Whether square brackets were meant where it is called."""
    return is_view(value) or isinstance(value, TupleValue)


class LibraryRules(OperatorRules):
    """Typing of library functions; CallRules adds attributes and calls."""

    def settled(self, value: Any, n: int) -> Any:
        """The n-th step of what is computed step by step, in a temporary now and then."""
        raise NotImplementedError

    # -- attributes that functions share ------------------------------------------------------

    def extents(self, view: Any, loc: Loc) -> tuple[ir.Expr, ...]:
        """Extents of a View, a local array or a part of one."""
        if isinstance(view, ViewRef):
            return tuple(span.extent for span in view.spans)
        return tuple(extent(view, d, loc) for d in range(view.type.rank))

    def _part(self, name: str, z: Any, loc: Loc) -> Value:
        if z.type.kind == "c":
            return ir.Op(name, (z,), real_part(z.type), loc)
        value: Value = z if name == "real" else self.coerce(ir.Const(0, PY_INT, loc), z.type)
        return value

    # -- functions ----------------------------------------------------------------------------

    def _known(self, callee: Callee, path: str, args: Sequence[Value], loc: Loc) -> Value:
        if callee.arity and len(args) not in callee.arity:
            expected = " or ".join(map(str, callee.arity))
            many = "" if callee.arity == (1,) else "s"
            hint = f"write {path}({', '.join('xyz'[: callee.arity[-1]])})"
            if callee.op == "log" and len(args) == 2:
                hint = "divide by the logarithm of the base, or take log2 or log10"
            raise type_fault(
                loc, f"{path} takes {expected} argument{many} in a kernel, got {len(args)}", hint
            )
        if callee.rule == "len":
            return self._len(args[0], loc)
        if callee.rule == "fold":
            return self._fold_min_max(callee.op, path, args, loc)
        numbers = [scalar(a, loc) for a in args]
        rule = getattr(self, f"_rule_{callee.rule}")
        try:
            return rule(callee, path, numbers, loc)  # type: ignore[no-any-return]
        except PromotionError as error:
            types = " and ".join(str(n.type) for n in numbers)
            raise type_fault(loc, f"{path} of {types}: {error}", error.hint) from None

    def _len(self, value: Value, loc: Loc) -> Value:
        if isinstance(value, TupleValue):
            return ir.Const(len(value.items), PY_INT, loc)
        if is_view(value):
            extents = self.extents(value, loc)
            if extents:
                return extents[0]
        got = describe(value)
        if is_view(value):
            got += " of rank 0"
        raise type_fault(
            loc, f"len takes a View or a tuple, got {got}", "of a View it is its first extent"
        )

    def _fold_min_max(self, op: str, path: str, args: Sequence[Value], loc: Loc) -> Value:
        items = args[0].items if len(args) == 1 and isinstance(args[0], TupleValue) else args
        if len(items) < 1 or (len(items) == 1 and items is args):
            got = describe(args[0]) if args else "nothing"
            hint = f"write {path}(a, b)"
            if args and is_view(args[0]):
                hint = "loop over its elements, or launch parallel_reduce"
            raise type_fault(loc, f"{path} takes at least two numbers or a tuple, got {got}", hint)
        numbers = [scalar(i, loc) for i in items]
        try:
            type = functools.reduce(promote, (n.type for n in numbers))
        except PromotionError as error:
            types = " and ".join(str(n.type) for n in numbers)
            raise type_fault(loc, f"{path} of {types}: {error}", error.hint) from None
        if type.kind == "c":
            raise no_order(numbers, loc)
        result = numbers[0]
        for k, n in enumerate(numbers[1:]):
            result = self._same(op, self.settled(result, k), n, type, loc)
        return result  # type: ignore[no-any-return]

    def _rule_float1(self, callee: Callee, path: str, a: list[Any], loc: Loc) -> Value:
        type = as_float(a[0].type)
        name = "abs" if callee.op == "fabs" else callee.op
        if type.kind == "c" and name not in COMPLEX_FUNCTIONS:
            raise type_fault(loc, f"{path} is not defined for {type}", PARTS)
        if name in ("floor", "ceil", "trunc", "rint") and a[0].type.is_integer:
            return a[0]  # type: ignore[no-any-return]
        return ir.Op(name, (self.coerce(a[0], type),), type, loc)

    def _rule_cfloat1(self, callee: Callee, path: str, a: list[Any], loc: Loc) -> Value:
        x = a[0]
        if x.type.kind != "c":  # cmath computes in complex numbers whatever it is given
            x = self.coerce(x, complex_of(as_float(x.type)))
        return self._rule_float1(callee, path, [x], loc)

    def _rule_float2(self, callee: Callee, path: str, a: list[Any], loc: Loc) -> Value:
        type = as_float(promote(a[0].type, a[1].type))
        if type.kind == "c":
            raise type_fault(loc, f"{path} is not defined for {type}", PARTS)
        return self._same(callee.op, a[0], a[1], type, loc)

    def _rule_same2(self, callee: Callee, path: str, a: list[Any], loc: Loc) -> Value:
        type = promote(a[0].type, a[1].type)
        if type.kind == "c":
            raise no_order(a, loc)
        return self._same(callee.op, a[0], a[1], type, loc)

    def _rule_operator(self, callee: Callee, path: str, a: list[Any], loc: Loc) -> Value:
        return self.binary(callee.op, a[0], a[1], loc)

    def _rule_to_int(self, callee: Callee, path: str, a: list[Any], loc: Loc) -> Value:
        x = a[0]
        if x.type.kind == "c":
            raise type_fault(loc, f"{path} is not defined for {x.type}", PARTS)
        if not x.type.is_float:
            return self.coerce(x, INDEX) if x.type == BOOL else x  # type: ignore[no-any-return]
        whole = ir.Op(callee.op, (x,), x.type, loc)
        return ir.Op("cast", (whole,), INDEX, loc)

    def _rule_predicate(self, callee: Callee, path: str, a: list[Any], loc: Loc) -> Value:
        if not a[0].type.is_float and a[0].type.kind != "c":
            return self.always(callee.op == "isfinite", a[0], loc)
        return ir.Op(callee.op, (a[0],), BOOL, loc)

    def _rule_abs(self, callee: Callee, path: str, a: list[Any], loc: Loc) -> Value:
        x = self.coerce(a[0], PY_INT) if a[0].type == BOOL else a[0]
        if x.type.kind == "u":
            return x  # type: ignore[no-any-return]
        if isinstance(x, ir.Const) and x.type.weak and x.type.kind != "c":
            return ir.Const(abs(x.value), x.type, loc)
        return ir.Op("abs", (x,), real_part(x.type), loc)

    def _rule_part(self, callee: Callee, path: str, a: list[Any], loc: Loc) -> Value:
        return self._part(callee.op, a[0], loc)

    def _rule_conj(self, callee: Callee, path: str, a: list[Any], loc: Loc) -> Value:
        return ir.Op("conj", (a[0],), a[0].type, loc) if a[0].type.kind == "c" else a[0]

    def _rule_square(self, callee: Callee, path: str, a: list[Any], loc: Loc) -> Value:
        return self.binary("mul", a[0], a[0], loc)

    def _rule_scale(self, callee: Callee, path: str, a: list[Any], loc: Loc) -> Value:
        to_degrees = path.endswith(("degrees", "rad2deg"))
        factor = 180.0 / math.pi if to_degrees else math.pi / 180.0
        return self.binary("mul", self.coerce(a[0], as_float(a[0].type)),
                           ir.Const(factor, PY_FLOAT, loc), loc)  # fmt: skip

    def _rule_where(self, callee: Callee, path: str, a: list[Any], loc: Loc) -> Value:
        type = promote(a[1].type, a[2].type)
        test = self.truth(a[0], loc)
        return ir.Select(test, self.coerce(a[1], type), self.coerce(a[2], type), type, loc)

    def _rule_round(self, callee: Callee, path: str, a: list[Any], loc: Loc) -> Value:
        if len(a) == 2:
            raise type_fault(
                loc,
                "round to digits is not supported in a kernel",
                "scale, round, and scale back: round(x * 100) / 100",
            )
        return self._rule_to_int(callee, path, a, loc)

    def _rule_clip(self, callee: Callee, path: str, a: list[Any], loc: Loc) -> Value:
        type = functools.reduce(promote, (x.type for x in a))
        if type.kind == "c":
            raise no_order(a, loc)
        return self._same("minimum", self._same("maximum", a[0], a[1], type, loc), a[2], type, loc)

    def _rule_divmod(self, callee: Callee, path: str, a: list[Any], loc: Loc) -> Value:
        return TupleValue(
            (self.binary("floordiv", a[0], a[1], loc), self.binary("mod", a[0], a[1], loc))
        )

    def _rule_int(self, callee: Callee, path: str, a: list[Any], loc: Loc) -> Value:
        x = a[0]
        if x.type.kind == "c":
            raise type_fault(loc, f"cannot convert {x.type} to int", "take its .real first")
        if isinstance(x, ir.Const) and x.type.weak:
            if not np.isfinite(x.value):
                raise type_fault(
                    loc, f"cannot convert {x.value} to int", "integers have no infinity and no NaN"
                )
            return self.constant(int(x.value), loc)
        if x.type.name == "uint64":
            return x  # type: ignore[no-any-return]
        if x.type.strong == INT64 and x.type.weak:
            return x  # type: ignore[no-any-return]
        return ir.Op("cast", (x,), INDEX, loc)

    def _rule_float(self, callee: Callee, path: str, a: list[Any], loc: Loc) -> Value:
        x = a[0]
        if x.type.kind == "c":
            raise type_fault(loc, f"cannot convert {x.type} to float", "take its .real first")
        if isinstance(x, ir.Const):
            return ir.Const(float(x.value), PY_FLOAT, loc)
        return ir.Op("cast", (x,), PY_FLOAT, loc)

    def _rule_bool(self, callee: Callee, path: str, a: list[Any], loc: Loc) -> Value:
        return self.truth(a[0], loc)

    def _rule_complex(self, callee: Callee, path: str, a: list[Any], loc: Loc) -> Value:
        re = a[0]
        im = a[1] if len(a) == 2 else ir.Const(0.0, PY_FLOAT, loc)
        if re.type.kind == "c":
            if len(a) == 2:
                raise type_fault(
                    loc,
                    f"complex(re, im) takes real numbers, got {re.type} and {im.type}",
                    "write re + im * 1j",
                )
            return re  # type: ignore[no-any-return]
        type = complex_of(as_float(promote(re.type, im.type)))
        part = real_part(type)  # of two float16, the float32 that a complex64 has
        return ir.Op("complex", (self.coerce(re, part), self.coerce(im, part)), type, loc)
