"""Functions of IR that convert elements of storage types: bits to float32, and numbers to bits.

All is arithmetic of integers: nothing of it may be contracted, reassociated or flushed to zero, and
no space needs an instruction for it. A number is rounded once, to nearest, ties to even.
"""

from __future__ import annotations

from execspace.base.storage_types import Format

from .expressions import Const, Expr, Op, Select, Var
from .functions import Function
from .ops import COMPARISONS
from .statements import Assign, Return, Stmt
from .types import BOOL, FLOAT32, INT64, UINT32, UINT64, Scalar

_X = "x"  # the parameter


class _Body:
    """Statements of a function that computes in one type of unsigned integers."""

    def __init__(self, word: Scalar) -> None:
        self.word = word
        self.out: list[Stmt] = []
        self.locals: dict[str, Scalar] = {}

    def set(self, name: str, value: Expr) -> Var:
        """A variable that is set once."""
        assert isinstance(value.type, Scalar)
        self.locals[name] = value.type
        self.out.append(Assign(name, value))
        return Var(name, value.type)

    def op(self, name: str, a: Expr, b: Expr | int) -> Expr:
        """An operation on two integers; comparisons give bool."""
        assert isinstance(a.type, Scalar)
        other = Const(b, a.type) if isinstance(b, int) else b
        return Op(name, (a, other), BOOL if name in COMPARISONS else a.type)

    def choose(self, test: Expr, then: Expr | int, orelse: Expr | int) -> Expr:
        """One of two integers."""
        both = [Const(v, self.word) if isinstance(v, int) else v for v in (then, orelse)]
        return Select(test, both[0], both[1], self.word)

    def function(self, name: str, parameter: Scalar, result: Expr) -> Function:
        """The function that returns a number."""
        assert isinstance(result.type, Scalar)
        body = (*self.out, Return(result))
        return Function(name, (Var(_X, parameter),), result.type, {**self.locals}, body)


def _cast(e: Expr, t: Scalar) -> Expr:
    return Op("cast", (e,), t)


def _bits(e: Expr, t: Scalar) -> Expr:
    return Op("bit_cast", (e,), t)


def reading(name: str, form: Format) -> Function:
    """From the bits of an element to the float32 that it is."""
    b = _Body(UINT32)
    word = Scalar(form.word)
    x = b.set("bits", _cast(Var(_X, word), UINT32))
    if form.bias == 127:  # the upper half of a float32
        return b.function(name, word, _bits(b.op("lshift", x, 32 - form.bits), FLOAT32))
    size = b.set("size", b.op("bitand", x, (1 << (form.bits - 1)) - 1))
    # Of a subnormal number the fraction is an integer, which float32 has; then its exponent.
    whole = _bits(_cast(_cast(size, Scalar("int32")), FLOAT32), UINT32)
    small = b.set("small", b.op("sub", whole, (form.bias - 1 + form.fraction) << 23))
    shifted = b.op("lshift", size, 23 - form.fraction)
    large = b.set("large", b.op("add", shifted, (127 - form.bias) << 23))
    found = b.set("zero_or_small", b.choose(b.op("eq", size, 0), 0, small))
    found = b.set("finite", b.choose(b.op("lt", size, 1 << form.fraction), found, large))
    if form.beyond == form.nan:
        special: Expr = Const(0x7FC00000, UINT32)
    else:  # the greatest exponent becomes that of float32
        special = b.set("special", b.op("bitor", shifted, 0x7F800000))
    found = b.set("found", b.choose(b.op("ge", size, form.beyond), special, found))
    sign = b.op("lshift", b.op("rshift", x, form.bits - 1), 31)
    return b.function(name, word, _bits(b.op("bitor", found, sign), FLOAT32))


def rounding(name: str, form: Format, source: Scalar) -> Function:
    """From a float32 or float64 to the bits of the nearest element."""
    b = _Body(UINT32 if source.name == "float32" else UINT64)
    fraction, bias = (23, 127) if source.name == "float32" else (52, 1023)
    sign_bit = 1 << (form.bits - 1)
    x = b.set("bits", _bits(Var(_X, source), b.word))
    size = b.set("size", b.op("bitand", x, (1 << (source.bits - 1)) - 1))
    sign = b.op("bitand", b.op("rshift", x, source.bits - form.bits), sign_bit)
    if form.bias == bias:  # the same exponents: only digits are cut off
        cut = fraction - form.fraction
        last = b.op("bitand", b.op("rshift", size, cut), 1)
        half = b.op("add", b.op("add", size, (1 << (cut - 1)) - 1), last)
        code = b.set("code", b.op("rshift", half, cut))
    else:
        code = _scaled(b, size, fraction, bias, form)
    found = b.set("finite", b.choose(b.op("gt", code, form.greatest), form.beyond, code))
    infinity = (2 * bias + 1) << fraction
    found = b.set("found", b.choose(b.op("gt", size, infinity), form.nan, found))
    return b.function(name, source, _cast(b.op("bitor", found, sign), Scalar(form.word)))


def _scaled(b: _Body, size: Expr, fraction: int, bias: int, form: Format) -> Var:
    """The digits of a number of another range, rounded, with the exponent before them."""
    least = bias + 1 - form.bias  # exponent field of the least normal number
    exponent = b.set("exponent", b.op("rshift", size, fraction))
    below = b.op("sub", Const(least, b.word), exponent)
    lost = b.set("below", b.choose(b.op("lt", exponent, least), below, 0))
    most = form.fraction + 2  # of which nothing is left: such a number is less than half
    cut = b.set("cut", b.op("add", b.op("min", lost, most), fraction - form.fraction))
    hidden = 1 << fraction
    digits = b.set("digits", b.op("bitor", b.op("bitand", size, hidden - 1), hidden))
    half = b.op("lshift", Const(1, b.word), b.op("sub", cut, 1))
    last = b.op("bitand", b.op("rshift", digits, cut), 1)
    up = b.set("up", b.op("add", b.op("sub", half, 1), last))
    rounded = b.set("rounded", b.op("rshift", b.op("add", digits, up), cut))
    above = b.op("sub", exponent, least)
    above = b.set("above", b.choose(b.op("gt", exponent, least), above, 0))
    return b.set("code", b.op("add", rounded, b.op("lshift", above, form.fraction)))


def to_odd(name: str, source: Scalar) -> Function:
    """From an int64 or uint64 to a float32 of which each storage type is rounded correctly.

    Its last bits tell whether anything was left out, so that it is no tie by mistake.
    """
    b = _Body(UINT64)
    x = Var(_X, source)
    size = b.set("size", _cast(x, UINT64))
    sign: Expr = Const(0, UINT32)
    if source == INT64:
        negative = b.set("negative", b.op("lt", x, 0))
        flipped = b.set("flipped", b.op("add", Op("invert", (size,), UINT64), 1))
        size = b.set("positive", b.choose(negative, flipped, size))
        sign = b.op("lshift", _cast(negative, UINT32), 31)
    cut: Expr = Const(42, UINT64)
    for n, bits in enumerate((28, 14, 0)):
        small = b.op("lt", size, 1 << (24 + bits))
        cut = b.set(f"cut{n}", b.choose(small, bits, cut))
    kept = b.set("kept", b.op("rshift", size, cut))
    rest = b.op("ne", b.op("lshift", kept, cut), size)
    digits = b.op("bitor", kept, _cast(rest, UINT64))
    number = _bits(_cast(_cast(digits, Scalar("int32")), FLOAT32), UINT32)
    scale = b.op("lshift", _cast(cut, UINT32), 23)
    found = b.op("bitor", b.op("add", number, scale), sign)
    return b.function(name, source, _bits(found, FLOAT32))
