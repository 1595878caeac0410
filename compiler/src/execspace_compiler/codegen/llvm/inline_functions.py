"""exp and log of float64 as IR without branches, which LLVM vectorises like other arithmetic.

They need no library, run on any target and at any length of vectors, and a result depends on the
argument alone, so neither on an index nor on the number of threads. They keep the errors that
docs/semantics.md allows: less than 1 ULP for exp and 0.8 ULP for log were measured.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable

# Added to a number below 2**51, its lowest bits are the number, rounded to an integer.
_ROUNDER = 1.5 * 2.0**52
# log(2), whose upper part has zeros enough for products with exponents to be exact.
_LOG2_UPPER, _LOG2_LOWER = float.fromhex("0x1.62e42feep-1"), 1.90821492927058770002e-10
_LOG2_LONG = float.fromhex("0x1.62e42fefap-1"), float.fromhex("0x1.cf79abc9e3b3ap-40")
_SMALLEST_NORMAL = 2.0**-1022
# (log(1 + f) - 2 s) / s**3 in terms of s**2, with s = f / (2 + f) and f between the square roots of
# 1/2 and 2 less one: the polynomial of least greatest error, found by Remez' algorithm, which is
# 3.1e-16.
_LOG = (
    0.666666666666667, 0.39999999999898506, 0.28571428626371254, 0.22222211077399734,
    0.18182892887123378, 0.15331607967937536, 0.1461773676993849,
)  # fmt: skip


def inline_function(name: str, kind: str, features: frozenset[str]) -> tuple[str, str] | None:
    """What a call of a function of libm names instead, and its definition in IR.

    Parameters
    ----------
    name : str
        libm's function: "exp" or "log".
    kind : str
        "float64".
    features : frozenset of str
        Of the target, as LLVM names them: with "fma" or "neon" it multiplies and adds in one step.

    Returns
    -------
    tuple of str, or None
        None for other functions and types. The definition calls @llvm.fma.f64, which the module
        must declare.
    """
    if kind != "float64" or name not in _BODIES:
        return None
    called = f"execspace.{name}.inline"
    body = _Body(fused=bool({"fma", "neon"} & features))
    result = _BODIES[name](body)
    lines = "\n  ".join([*body.lines, f"ret double {result}"])
    return called, (
        f"define linkonce_odr hidden double @{called}(double %x) alwaysinline {{\n  {lines}\n}}\n"
    )


class _Body:
    """Lines of IR, and the names of their results."""

    def __init__(self, fused: bool) -> None:
        self.fused = fused
        self.lines: list[str] = []

    def line(self, text: str) -> str:
        name = f"%t{len(self.lines)}"
        self.lines.append(f"{name} = {text}")
        return name

    def add(self, a: str, b: str) -> str:
        return self.line(f"fadd double {a}, {b}")

    def sub(self, a: str, b: str) -> str:
        return self.line(f"fsub double {a}, {b}")

    def mul(self, a: str, b: str) -> str:
        return self.line(f"fmul double {a}, {b}")

    def div(self, a: str, b: str) -> str:
        return self.line(f"fdiv double {a}, {b}")

    def mul_add(self, a: str, b: str, c: str) -> str:
        if not self.fused:
            return self.add(self.mul(a, b), c)
        return self.line(f"call double @llvm.fma.f64(double {a}, double {b}, double {c})")

    def integer(self, operation: str, a: str, b: str) -> str:
        return self.line(f"{operation} i64 {a}, {b}")

    def bits(self, x: str) -> str:
        return self.line(f"bitcast double {x} to i64")

    def from_bits(self, i: str) -> str:
        return self.line(f"bitcast i64 {i} to double")

    def where(self, comparison: str, a: str, b: str, then: str, other: str) -> str:
        taken = self.line(f"fcmp {comparison} double {a}, {b}")
        return self.line(f"select i1 {taken}, double {then}, double {other}")


def _exp(body: _Body) -> str:
    """2**n * exp(r) with r = x - n * log(2), by exp's series to r**13."""
    # All that is greater is infinite, all that is less is zero; NaNs are neither.
    x = body.where("ogt", "%x", _number(710.0), _number(710.0), "%x")
    x = body.where("olt", x, _number(-746.0), _number(-746.0), x)
    shifted = body.mul_add(x, _number(1 / math.log(2)), _number(_ROUNDER))
    n = body.sub(shifted, _number(_ROUNDER))
    upper, lower = _LOG2_LONG
    r = body.mul_add(n, _number(-upper), x)
    r = body.mul_add(n, _number(-lower), r)
    r2 = body.mul(r, r)
    r4 = body.mul(r2, r2)
    r8 = body.mul(r4, r4)
    series = [_number(1 / math.factorial(k)) for k in range(2, 14)]
    pairs = [body.mul_add(r, series[k + 1], series[k]) for k in range(0, 12, 2)]
    quads = [body.mul_add(pairs[k + 1], r2, pairs[k]) for k in range(0, 6, 2)]
    rest = body.mul_add(quads[2], r8, body.mul_add(quads[1], r4, quads[0]))
    result = body.add(body.mul_add(rest, r2, r), _number(1.0))
    # In two steps, since 2**n can be out of range where the result is not.
    exponent = body.integer("sub", body.bits(shifted), str(_as_integer(_ROUNDER)))
    half = body.integer("ashr", exponent, "1")
    for part in (half, body.integer("sub", exponent, half)):
        biased = body.integer("shl", body.integer("add", part, "1023"), "52")
        result = body.mul(result, body.from_bits(biased))
    return result


def _log(body: _Body) -> str:
    """n * log(2) + log(m) with x = 2**n * m and m between the roots of 1/2 and 2."""
    subnormal = body.line(f"fcmp olt double %x, {_number(_SMALLEST_NORMAL)}")
    larger = body.mul("%x", _number(2.0**54))
    x = body.line(f"select i1 {subnormal}, double {larger}, double %x")
    scaled = body.line(f"select i1 {subnormal}, i64 -54, i64 0")
    bits = body.bits(x)
    root_half = _as_integer(math.sqrt(0.5)) >> 32 << 32
    exponent = body.integer("ashr", body.integer("sub", bits, str(root_half)), "52")
    m = body.from_bits(body.integer("sub", bits, body.integer("shl", exponent, "52")))
    f = body.add(m, _number(-1.0))
    n = body.integer("add", body.integer("add", exponent, scaled), str(_as_integer(_ROUNDER)))
    n = body.sub(body.from_bits(n), _number(_ROUNDER))
    s = body.div(f, body.add(f, _number(2.0)))
    s2 = body.mul(s, s)
    s4 = body.mul(s2, s2)
    l1, l2, l3, l4, l5, l6, l7 = (_number(c) for c in _LOG)
    even = body.mul(s4, body.mul_add(s4, body.mul_add(s4, l6, l4), l2))
    odd = body.mul_add(s4, body.mul_add(s4, body.mul_add(s4, l7, l5), l3), l1)
    rest = body.add(body.mul(s2, odd), even)
    half = body.mul(body.mul(f, _number(0.5)), f)
    small = body.mul_add(s, body.add(half, rest), body.mul(n, _number(_LOG2_LOWER)))
    small = body.sub(body.sub(half, small), f)
    result = body.sub(body.mul(n, _number(_LOG2_UPPER)), small)
    result = body.where("ogt", "%x", _number(0.0), result, _number(math.nan))
    result = body.where("oeq", "%x", _number(0.0), _number(-math.inf), result)
    return body.where("oeq", "%x", _number(math.inf), "%x", result)


_BODIES: dict[str, Callable[[_Body], str]] = {"exp": _exp, "log": _log}


def _as_integer(value: float) -> int:
    return int.from_bytes(struct.pack("<d", value), "little")


def _number(value: float) -> str:
    """A constant of LLVM, which reads decimals only if they are exact."""
    return f"0x{_as_integer(value):016X}"
