"""exp, log and erf of float64 and log of float32 as IR without branches, which LLVM vectorises like
other arithmetic.

They need no library, run on any target and at any length of vectors, and a result depends on the
argument alone, so neither on an index nor on the number of threads. They keep the errors that
docs/semantics.md allows: less than 1 ULP for exp and erf and 0.8 ULP for log were measured, and
less than 1 ULP for log of float32.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Sequence

import numpy as np

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
# (log(1 + f) - f + f**2 / 2) / f**3, likewise, for float32: the greatest error is 1 % of an ULP.
_LOG32 = (
    0.3333331346511841, -0.25000008940696716, 0.2000211924314499, -0.1666799634695053,
    0.14219550788402557, -0.12405591458082199, 0.11888174712657928, -0.11675640940666199,
    0.06746601313352585,
)  # fmt: skip
# log(2), whose upper part has so few bits that products with exponents are exact.
_LOG2_UPPER32, _LOG2_LOWER32 = 0.693359375, -2.12194440054690583e-4
# Of erf, polynomials found by Remez' algorithm, whose errors are below 3e-18 of erf: up to 0.86
# erf(x) / x - 1 in terms of x**2, up to 1.5 what is to be added to the constant in terms of
# x - 1.125, and beyond exp(x**2) * (1 - erf(x)) in terms of (x - 2) / (x + 2).
_ERF_NEAR = (
    0.1283791670955126, -0.37612638903183737, 0.11283791670954303, -0.026866170644932613,
    0.005223977622956148, -0.0008548326839446044, 0.00012055324326149261,
    -1.4925381490397894e-05, 1.6456518582695954e-06, -1.6288380657587428e-07,
    1.4118058684095279e-08, -8.65511562078108e-10,
)  # fmt: skip
_ERF_MIDDLE, _ERF_THERE = 1.125, 0.8883882317017078
_ERF_AROUND = (
    -1.1599333729470981e-17, 0.3182739585007693, -0.35805820331336546, 0.16245233298476774,
    0.027973297133853815, -0.061323683605675076, 0.015536835449973281, 0.009606894226319185,
    -0.006031260890856432, -0.0003601920038730299, 0.0011532675151878398,
    -0.00017695484870492703, -0.00014156035507998348, 4.94532266411293e-05,
    1.0732761430643607e-05, -7.715654836148368e-06, -2.1769424672962297e-07,
    8.223754966703195e-07,
)  # fmt: skip
_ERF_FAR = (
    0.2553956763105057, -0.4271858474139674, 0.24165819424239207, -0.07897858100941268,
    0.003732892465271427, 0.006997460699179234, -0.0008471528497121428, -0.0009819110185837424,
    4.4062239111743154e-05, 0.00017234633525077927, 1.855598640133466e-05,
)  # fmt: skip


def fma(kind: str, lanes: int) -> tuple[str, str]:
    """Name and type of the operation that definitions call."""
    real, short = ("double", "f64") if kind == "float64" else ("float", "f32")
    if lanes == 1:
        return f"llvm.fma.{short}", real
    return f"llvm.fma.v{lanes}{short}", f"<{lanes} x {real}>"


def inline_function(
    name: str, kind: str, features: frozenset[str], lanes: int = 1
) -> tuple[str, str] | None:
    """What a call of a function of libm names instead, and its definition in IR.

    Parameters
    ----------
    name : str
        libm's function: "exp", "log" or "erf".
    kind : str
        "float64" or "float32".
    features : frozenset of str
        Of the target, as LLVM names them: with "fma" or "neon" it multiplies and adds in one step.

    lanes : int
        Of a vector, all of which it computes; 1 for a number.

    Returns
    -------
    tuple of str, or None
        None for other functions and types, and for erf without such a step, which it needs to be
        exact enough. The definition calls `fma(kind, lanes)`, which the module must declare.
    """
    written = _BODIES.get((name, kind))
    if written is None:
        return None
    letter = "" if kind == "float64" else "f"
    called = f"execspace.{name}{letter}.inline" + (f".{lanes}" if lanes > 1 else "")
    body = _Body(kind, bool({"fma", "neon"} & features), lanes)
    if name == "erf" and not body.fused:
        return None
    result = written(body)
    lines = "\n  ".join([*body.lines, f"ret {body.real} {result}"])
    head = f"define linkonce_odr hidden {body.real} @{called}({body.real} %x) alwaysinline"
    return called, f"{head} {{\n  {lines}\n}}\n"


class _Body:
    """Lines of IR, and the names of their results."""

    def __init__(self, kind: str, fused: bool, lanes: int) -> None:
        self.kind = kind
        self.fused = fused
        self.lanes = lanes
        self.one = ("double", "i64") if kind == "float64" else ("float", "i32")
        self.real, self.word, self.bit = (
            f"<{lanes} x {t}>" if lanes > 1 else t for t in (*self.one, "i1")
        )
        self.lines: list[str] = []

    def line(self, text: str) -> str:
        name = f"%t{len(self.lines)}"
        self.lines.append(f"{name} = {text}")
        return name

    def number(self, value: float) -> str:
        text = _number(float(np.float32(value)) if self.kind == "float32" else value)
        return text if self.lanes == 1 else f"splat ({self.one[0]} {text})"

    def whole(self, i: str) -> str:
        return i if self.lanes == 1 or i.startswith("%") else f"splat ({self.one[1]} {i})"

    def add(self, a: str, b: str) -> str:
        return self.line(f"fadd {self.real} {a}, {b}")

    def sub(self, a: str, b: str) -> str:
        return self.line(f"fsub {self.real} {a}, {b}")

    def mul(self, a: str, b: str) -> str:
        return self.line(f"fmul {self.real} {a}, {b}")

    def div(self, a: str, b: str) -> str:
        return self.line(f"fdiv {self.real} {a}, {b}")

    def mul_add(self, a: str, b: str, c: str) -> str:
        if not self.fused:
            return self.add(self.mul(a, b), c)
        kind, function = self.real, fma(self.kind, self.lanes)[0]
        return self.line(f"call {kind} @{function}({kind} {a}, {kind} {b}, {kind} {c})")

    def polynomial(self, x: str, coefficients: Sequence[float]) -> str:
        """By Estrin's scheme: pairs, then pairs of them, so that few steps wait for each other."""
        terms, power = [self.number(c) for c in coefficients], x
        while len(terms) > 1:
            pairs = zip(terms[::2], terms[1::2], strict=False)
            joined = [self.mul_add(b, power, a) for a, b in pairs]
            terms = joined + terms[len(joined) * 2 :]
            if len(terms) > 1:
                power = self.mul(power, power)
        return terms[0]

    def integer(self, operation: str, a: str, b: str) -> str:
        return self.line(f"{operation} {self.word} {self.whole(a)}, {self.whole(b)}")

    def bits(self, x: str) -> str:
        return self.line(f"bitcast {self.real} {x} to {self.word}")

    def from_bits(self, i: str) -> str:
        return self.line(f"bitcast {self.word} {i} to {self.real}")

    def where(self, comparison: str, a: str, b: str, then: str, other: str) -> str:
        taken = self.line(f"fcmp {comparison} {self.real} {a}, {b}")
        return self.line(f"select {self.bit} {taken}, {self.real} {then}, {self.real} {other}")


def _exp(body: _Body, of: str = "%x") -> str:
    """2**n * exp(r) with r = x - n * log(2), by exp's series to r**13."""
    # All that is greater is infinite, all that is less is zero; NaNs are neither.
    x = body.where("ogt", of, body.number(710.0), body.number(710.0), of)
    x = body.where("olt", x, body.number(-746.0), body.number(-746.0), x)
    shifted = body.mul_add(x, body.number(1 / math.log(2)), body.number(_ROUNDER))
    n = body.sub(shifted, body.number(_ROUNDER))
    upper, lower = _LOG2_LONG
    r = body.mul_add(n, body.number(-upper), x)
    r = body.mul_add(n, body.number(-lower), r)
    r2 = body.mul(r, r)
    r4 = body.mul(r2, r2)
    r8 = body.mul(r4, r4)
    series = [body.number(1 / math.factorial(k)) for k in range(2, 14)]
    pairs = [body.mul_add(r, series[k + 1], series[k]) for k in range(0, 12, 2)]
    quads = [body.mul_add(pairs[k + 1], r2, pairs[k]) for k in range(0, 6, 2)]
    rest = body.mul_add(quads[2], r8, body.mul_add(quads[1], r4, quads[0]))
    result = body.add(body.mul_add(rest, r2, r), body.number(1.0))
    # In two steps, since 2**n can be out of range where the result is not.
    exponent = body.integer("sub", body.bits(shifted), str(_as_integer(_ROUNDER)))
    half = body.integer("ashr", exponent, "1")
    for part in (half, body.integer("sub", exponent, half)):
        biased = body.integer("shl", body.integer("add", part, "1023"), "52")
        result = body.mul(result, body.from_bits(biased))
    return result


def _split(body: _Body, least: float, places: int, root_half: int) -> tuple[str, str]:
    """n and m - 1 with x = 2**n * m and m between the roots of 1/2 and 2.

    `least`: the smallest normal number. `places`: of a number behind the point. `root_half`: the
    bits of the root of 1/2.
    """
    subnormal = body.line(f"fcmp olt {body.real} %x, {body.number(least)}")
    larger = body.mul("%x", body.number(2.0 ** (places + 2)))
    x = body.line(f"select {body.bit} {subnormal}, {body.real} {larger}, {body.real} %x")
    down, none = (f"{body.word} {body.whole(i)}" for i in (str(-places - 2), "0"))
    scaled = body.line(f"select {body.bit} {subnormal}, {down}, {none}")
    bits = body.bits(x)
    exponent = body.integer("ashr", body.integer("sub", bits, str(root_half)), str(places))
    m = body.from_bits(body.integer("sub", bits, body.integer("shl", exponent, str(places))))
    return body.integer("add", exponent, scaled), body.add(m, body.number(-1.0))


def _of_positive(body: _Body, result: str) -> str:
    """A logarithm, and what it is of zero, infinity, negative numbers and NaN."""
    result = body.where("ogt", "%x", body.number(0.0), result, body.number(math.nan))
    result = body.where("oeq", "%x", body.number(0.0), body.number(-math.inf), result)
    return body.where("oeq", "%x", body.number(math.inf), "%x", result)


def _log(body: _Body) -> str:
    """n * log(2) + log(m), see `_split`."""
    root_half = _as_integer(math.sqrt(0.5)) >> 32 << 32
    n, f = _split(body, _SMALLEST_NORMAL, 52, root_half)
    n = body.from_bits(body.integer("add", n, str(_as_integer(_ROUNDER))))
    n = body.sub(n, body.number(_ROUNDER))
    s = body.div(f, body.add(f, body.number(2.0)))
    s2 = body.mul(s, s)
    s4 = body.mul(s2, s2)
    l1, l2, l3, l4, l5, l6, l7 = (body.number(c) for c in _LOG)
    even = body.mul(s4, body.mul_add(s4, body.mul_add(s4, l6, l4), l2))
    odd = body.mul_add(s4, body.mul_add(s4, body.mul_add(s4, l7, l5), l3), l1)
    rest = body.add(body.mul(s2, odd), even)
    half = body.mul(body.mul(f, body.number(0.5)), f)
    small = body.mul_add(s, body.add(half, rest), body.mul(n, body.number(_LOG2_LOWER)))
    small = body.sub(body.sub(half, small), f)
    return _of_positive(body, body.sub(body.mul(n, body.number(_LOG2_UPPER)), small))


def _log32(body: _Body) -> str:
    """As `_log`; a division would take as long as all the rest."""
    root_half = int(np.float32(math.sqrt(0.5)).view(np.int32))
    whole, f = _split(body, 2.0**-126, 23, root_half)
    n = body.line(f"sitofp {body.word} {whole} to {body.real}")
    f2 = body.mul(f, f)
    small = body.mul(body.mul(f2, f), body.polynomial(f, _LOG32))
    small = body.mul_add(n, body.number(_LOG2_LOWER32), small)
    small = body.mul_add(f2, body.number(-0.5), small)
    return _of_positive(body, body.mul_add(n, body.number(_LOG2_UPPER32), body.add(f, small)))


def _erf(body: _Body) -> str:
    """In three ways, of which the one that is exact there is taken."""
    sign = body.integer("and", body.bits("%x"), str(-(2**63)))
    positive = body.from_bits(body.integer("and", body.bits("%x"), str(2**63 - 1)))
    near = body.mul_add("%x", body.polynomial(body.mul("%x", "%x"), _ERF_NEAR), "%x")
    s = body.sub(positive, body.number(_ERF_MIDDLE))
    middle = body.add(body.polynomial(s, _ERF_AROUND), body.number(_ERF_THERE))
    # From 6 on it is 1; NaNs are not greater.
    x = body.where("ogt", positive, body.number(6.0), body.number(6.0), positive)
    u = body.div(body.sub(x, body.number(2.0)), body.add(x, body.number(2.0)))
    minus = body.sub(body.number(0.0), body.mul(x, x))
    far = body.sub(body.number(1.0), body.mul(_exp(body, minus), body.polynomial(u, _ERF_FAR)))
    far = body.where("olt", positive, body.number(1.5), middle, far)
    far = body.from_bits(body.integer("or", body.bits(far), sign))
    return body.where("olt", positive, body.number(0.86), near, far)


_BODIES: dict[tuple[str, str], Callable[[_Body], str]] = {
    ("exp", "float64"): _exp, ("log", "float64"): _log, ("erf", "float64"): _erf,
    ("log", "float32"): _log32,
}  # fmt: skip


def _as_integer(value: float) -> int:
    return int.from_bytes(struct.pack("<d", value), "little")


def _number(value: float) -> str:
    """A constant of LLVM, which reads decimals only if they are exact."""
    return f"0x{_as_integer(value):016X}"
