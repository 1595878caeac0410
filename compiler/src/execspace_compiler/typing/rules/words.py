"""Rules of functions of NumPy, math and Kokkos that are written as kernels are, in `typing/words/`.

They are typed and compiled as functions of a user are, so no printer knows them.
"""

from __future__ import annotations

import builtins
import cmath
import functools
import math
from collections.abc import Callable, Mapping, Sequence
from types import FunctionType
from typing import Any

import numpy as np

import execspace
from execspace.base.dataclass import dataclass

from ... import ir
from ...ir.diagnostics import Loc, type_fault
from ...ir.types import PY_FLOAT, PY_INT, Scalar, as_float, complex_of, promote, real_part
from ..context import Call, Context
from ..value_queries import scalar
from ..value_types import describe
from ..values import FunctionValue, Obj, Value
from ..words import complex_numbers, float_bits, floats, integers
from .bits import number_type
from .operators import PARTS

_Function = Callable[..., Any]


@dataclass(frozen=True)
class Word:
    """A function of NumPy, math or Kokkos.

    Attributes
    ----------
    functions : mapping
        Kind ("i", "u", "f" or "c") or name of a common type of the arguments -> what computes it.
    result : str
        Type of the result, in words.
    count : int
        Arguments; the last `whole` of them are integers, whatever the type of the others is.
    whole : int
    floats : bool
        Integers count as float64.
    of_none : int, optional
        It takes any number of arguments, one after the other; what it gives of none.
    complex : bool
        All arguments count as complex numbers.
    """

    functions: Mapping[str, _Function]
    result: str
    count: int = 1
    whole: int = 0
    floats: bool = False
    of_none: int | None = None
    complex: bool = False


_FLOATING = "common floating type; integers count as float64"
_GCD = {"i": integers.gcd, "u": integers.gcd}
_LCM = {"i": integers.lcm, "u": integers.lcm}
_FREXP = Word(
    {"float64": float_bits.frexp64, "float32": float_bits.frexp32, "float16": float_bits.frexp16},
    "a pair: floating type of the argument, and an int",
    floats=True,
)
_LDEXP = Word(
    {"float64": float_bits.ldexp64, "float32": float_bits.ldexp32,
     "float16": float_bits.ldexp16},
    "floating type of the first argument; the second one is an integer",
    2, whole=1, floats=True,
)  # fmt: skip
_NEXT = Word(
    {"float64": float_bits.nextafter64, "float32": float_bits.nextafter32,
     "float16": float_bits.nextafter16}, _FLOATING, 2,
    floats=True,
)  # fmt: skip
_MODF = Word({"f": floats.modf}, "a pair of the floating type of the argument", floats=True)
_PHASE = Word({"c": complex_numbers.phase}, "real type of the argument", complex=True)
_MANY = "common type of integers; any number of them"
WORDS: dict[Any, Word] = {
    np.sign: Word(
        {"f": floats.sign, "i": integers.sign, "u": integers.sign_unsigned}, "type of the argument"
    ),
    np.signbit: Word({"f": floats.signbit, "i": integers.signbit, "u": integers.signbit}, "bool"),
    np.bitwise_count: Word({"i": integers.bits, "u": integers.bits}, "uint8"),
    np.gcd: Word(_GCD, "common type of two integers", 2),
    np.lcm: Word(_LCM, "common type of two integers", 2),
    math.gcd: Word(_GCD, _MANY, 2, of_none=0),
    math.lcm: Word(_LCM, _MANY, 2, of_none=1),
    math.remainder: Word({"f": floats.remainder}, _FLOATING, 2, floats=True),
    math.nextafter: _NEXT,
    np.nextafter: _NEXT,
    math.frexp: _FREXP,
    np.frexp: _FREXP,
    math.ldexp: _LDEXP,
    np.ldexp: _LDEXP,
    math.modf: _MODF,
    np.modf: _MODF,
    np.heaviside: Word({"f": floats.heaviside}, _FLOATING, 2, floats=True),
    np.logaddexp: Word({"f": floats.logaddexp}, _FLOATING, 2, floats=True),
    np.logaddexp2: Word({"f": floats.logaddexp2}, _FLOATING, 2, floats=True),
    np.sinc: Word({"f": floats.sinc}, "floating type of the argument", floats=True),
    np.spacing: Word(
        {"float64": float_bits.spacing64, "float32": float_bits.spacing32,
     "float16": float_bits.spacing16},
        "floating type of the argument", floats=True,
    ),
    execspace.fdim: Word({"f": floats.fdim}, _FLOATING, 2, floats=True),
    execspace.logb: Word(
        {"float64": float_bits.logb64, "float32": float_bits.logb32,
     "float16": float_bits.logb16},
        "floating type of the argument", floats=True,
    ),
    execspace.rsqrt: Word({"f": floats.rsqrt}, "floating type of the argument", floats=True),
    cmath.phase: _PHASE,
    np.angle: _PHASE,
    cmath.polar: Word(
        {"c": complex_numbers.polar}, "a pair of the real type of the argument", complex=True
    ),
    cmath.rect: Word({"f": complex_numbers.rect}, "complex of the common type", 2, floats=True),
}  # fmt: skip
# Of complex numbers, by the operation on floats of the same name; they get a large number, too.
_COMPLEX: dict[str, _Function] = {
    name: getattr(complex_numbers, name)
    for name in ("asin", "acos", "atan", "asinh", "acosh", "atanh", "log10", "log2")
}
# Of functions that have other rules, too: by the number of arguments.
_MORE: dict[tuple[Any, int], Word] = {
    (math.hypot, 3): Word({"f": floats.hypot}, _FLOATING, 3, floats=True),
    (math.log, 2): Word({"f": floats.log}, _FLOATING, 2, floats=True),
    (cmath.log, 2): Word({"c": complex_numbers.log_with_base}, "complex", 2, complex=True),
}
_ROUND = (builtins.round, np.round)


def is_word(target: Any, count: int) -> bool:
    """Whether a function with so many arguments is one of these."""
    return target in WORDS or (target, count) in _MORE or (target in _ROUND and count == 2)


def word_call(cx: Context, call: Call, args: Sequence[Value]) -> Value:
    """A call of one of these functions."""
    target, loc = call.target, call.loc
    numbers = [scalar(a, loc) for a in args]
    if target in _ROUND:
        return _rounded(cx, call.name, numbers, loc)
    word = WORDS.get(target) or _MORE[target, len(args)]
    if word.of_none is not None and len(numbers) != word.count:
        return _of_many(cx, word, call.name, numbers, ir.Const(word.of_none, PY_INT, loc), loc)
    if len(numbers) != word.count:
        many = "s" if word.count > 1 else ""
        raise type_fault(
            loc,
            f"{call.name} takes {word.count} argument{many} in a kernel, got {len(numbers)}",
            f"write {call.name}({', '.join('xyz'[: word.count])})",
        )
    return _computed(cx, word, call.name, numbers, loc)


def _computed(cx: Context, word: Word, path: str, numbers: list[Any], loc: Loc) -> Value:
    last = len(numbers) - word.whole
    for e in numbers[last:]:
        if not e.type.is_integer:
            raise type_fault(
                loc, f"{path} takes an integer last, got {describe(e)}", "use int(...)"
            )
    kind = functools.reduce(promote, (e.type for e in numbers[:last]))
    if word.floats and kind.kind in "biu":
        kind = as_float(kind)
    if word.complex and kind.kind != "c":
        kind = complex_of(as_float(kind))
    found = word.functions.get(kind.name) or word.functions.get(kind.kind)
    if found is None:
        takes = {"i": "integers", "u": "integers", "f": "floats", "c": "complex numbers"}
        known = dict.fromkeys(takes.get(k, k) for k in word.functions)
        raise type_fault(
            loc,
            f"{path} takes {' and '.join(known)} in a kernel, got {kind}",
            "take its .real or abs()"
            if kind.kind == "c"
            else f"convert it: es.{'float32' if kind.kind == 'f' else 'int64'}(x)",
        )
    # Their functions look at bits, which Python's numbers have none of.
    given = kind.strong if kind.name in word.functions else kind
    values = [cx.coerce(e, given) for e in numbers[:last]]
    values += [cx.coerce(e, Scalar("int64")) for e in numbers[last:]]
    return _call(cx, found, values, loc)


def of_complex(cx: Context, name: str, path: str, x: ir.Expr, loc: Loc) -> Value:
    """An operation on floats, of a complex number."""
    assert isinstance(x.type, Scalar)
    found = _COMPLEX.get(name)
    if found is None:
        raise type_fault(loc, f"{path} is not defined for {x.type}", PARTS)
    most = float(np.finfo(real_part(x.type).name).max) / 4
    return _call(cx, found, [x, ir.Const(most, PY_FLOAT, loc)], loc)


def _call(cx: Context, function: _Function, values: Sequence[Value], loc: Loc) -> Value:
    assert isinstance(function, FunctionType)
    found: Value = cx.call(FunctionValue(cx.module.method(function), ()), values, {}, loc)
    return found


def _of_many(
    cx: Context, word: Word, path: str, numbers: list[Any], none: ir.Const, loc: Loc
) -> Value:
    """Of none, one, or more than two numbers."""
    found: Any = numbers[0] if numbers else none
    for e in numbers[1:] or numbers:  # one number goes with itself
        found = scalar(_computed(cx, word, path, [found, e], loc), loc)
    number: Value = found
    return number


def _rounded(cx: Context, path: str, numbers: list[Any], loc: Loc) -> Value:
    """`round(x, digits)`, as NumPy does it."""
    x, digits = numbers
    if not isinstance(digits, ir.Const) or not digits.type.is_integer:
        raise type_fault(
            loc, f"the digits of {path} must be a constant", "write a number, as in round(x, 2)"
        )
    n = int(digits.value)
    if x.type.is_integer and n >= 0:
        whole: Value = x
        return whole
    if not x.type.is_float or x.type.weak:
        hint = "NumPy's numbers are rounded: make it es.float64(x)"
        raise type_fault(loc, f"{path} to digits takes floats of a fixed type, got {x.type}", hint)
    scale = ir.Const(10.0 ** abs(n), Scalar("float64", weak=2), loc)
    return _call(cx, floats.rounded if n >= 0 else floats.rounded_before, [x, scale], loc)


def type_facts(cx: Context, call: Call, args: Sequence[Value]) -> Value:
    """`np.finfo(dtype)` and `np.iinfo(dtype)`, whose attributes are constants."""
    loc = call.loc
    named = "es.float64" if call.target is np.finfo else "es.int64"
    if len(args) != 1:
        message = f"{call.name} takes 1 argument, got {len(args)}"
        raise type_fault(loc, message, f"write {call.name}({named})")
    given = args[0]
    own = given.type if isinstance(given, ir.Expr) else number_type(given)
    kind = own.strong if isinstance(own, Scalar) else None
    wanted = "f" if call.target is np.finfo else "iu"
    if kind is None or kind.kind not in wanted:
        what = "a floating type" if wanted == "f" else "an integer type"
        raise type_fault(loc, f"{call.name} takes {what}, got {describe(given)}", "give a dtype")
    return Obj(call.target(np.dtype(kind.name)), f"{call.name}({kind.name})")
