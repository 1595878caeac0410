"""Polynomials and sums as functions of the kernel language: what `special_coefficients.py` writes.

A polynomial interpolates a function at Chebyshev's points with 40 digits, and is cut where the rest
is below an eighth of the last place, for float64 and for float32.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import mpmath as mp
import numpy as np

mp.mp.dps = 40
POINTS = 56
TOLERANCE = {32: mp.mpf(2) ** -27, 64: mp.mpf(2) ** -56}


@dataclass(frozen=True)
class Fit:
    """A polynomial.

    Attributes
    ----------
    name, what : str
        Of the function that is written, and its docstring.
    f : callable
        What is approximated, of `low` <= v <= `high`.
    powers : bool
        Powers of v / high in place of those of a variable between -1 and 1: of a series whose
        terms are all positive they add up without cancellation.
    """

    name: str
    what: str
    f: Callable[[Any], Any]
    low: Any
    high: Any
    powers: bool = False


def chebyshev(fit: Fit) -> tuple[list[Any], Any]:
    """Coefficients of Chebyshev's polynomials, and the least magnitude of the function."""
    a, b = mp.mpf(fit.low), mp.mpf(fit.high)
    angles = [mp.pi * (2 * k + 1) / (2 * POINTS) for k in range(POINTS)]
    values = [fit.f((a + b) / 2 + (b - a) / 2 * mp.cos(t)) for t in angles]
    found = [
        2 * mp.fsum(v * mp.cos(j * t) for v, t in zip(values, angles, strict=True)) / POINTS
        for j in range(POINTS)
    ]
    return [found[0] / 2, *found[1:]], min(map(abs, values))


def cut(coefficients: list[Any], most: Any) -> list[Any]:
    """The first ones, as many as leave a rest of at most `most`."""
    rest = mp.mpf(0)
    for n in range(len(coefficients) - 1, 0, -1):
        rest += abs(coefficients[n])
        if rest > most:
            if n > len(coefficients) - 4:
                raise ArithmeticError("more points are needed")
            return coefficients[: n + 1]
    return coefficients[:1]


def monomials(coefficients: list[Any], powers: bool) -> list[Any]:
    """The same polynomial in powers of s, or with `powers` of u, s = 2 u - 1; highest one first."""
    variable = [mp.mpf(-1), mp.mpf(2)] if powers else [mp.mpf(0), mp.mpf(1)]

    def times(p: list[Any]) -> list[Any]:
        low, high = [variable[0] * c for c in p] + [0], [0] + [variable[1] * c for c in p]
        return [x + y for x, y in zip(low, high, strict=True)]

    before, now = [mp.mpf(1)], variable
    total = [mp.mpf(0)] * len(coefficients)
    for n, c in enumerate(coefficients):
        polynomial = before if n == 0 else now
        if n > 1:
            doubled = [2 * x for x in times(now)]
            after = [x - (before[k] if k < len(before) else 0) for k, x in enumerate(doubled)]
            before, now, polynomial = now, after, after
        for k, x in enumerate(polynomial):
            total[k] += c * x
    return total[::-1]


def literal(value: Any, bits: int) -> str:
    """The shortest text that is this number, rounded."""
    return str(np.float32(float(value))) if bits == 32 else repr(float(value))


def packed(texts: list[str], indent: int) -> str:
    """Numbers in lines of at most 100 characters."""
    whole = ", ".join(text.replace(", ", ",\0") for text in texts) + ","
    filled = textwrap.fill(whole, 100, initial_indent=" " * indent, subsequent_indent=" " * indent)
    return filled.replace("\0", " ")


def written(fit: Fit) -> str:
    """A function of the kernel language that computes it."""
    low, high = float(fit.low), float(fit.high)
    if fit.powers:
        variable = f"v * {literal(1 / mp.mpf(fit.high), 64)}"
    else:
        slope, start = 2 / mp.mpf(high - low), mp.mpf(high + low) / mp.mpf(high - low)
        variable = f"v * {literal(slope, 64)} - {literal(start, 64)}"
    series, least = chebyshev(fit)
    text = [
        "\n\n@function",
        f"def {fit.name}(v: Any) -> Any:",
        f'    """{fit.what}"""',
        f"    s = {variable}",
    ]
    for test, bits in (("if np.finfo(v).bits == 32", 32), ("else", 64)):
        first, *rest = (
            literal(c, bits) for c in monomials(cut(series, TOLERANCE[bits] * least), fit.powers)
        )
        text += [
            f"    {test}:",
            f"        p = {first}",
            "        for c in (",
            packed(rest, 12),
            "        ):",
            "            p = p * s + c",
        ]
    return "\n".join([*text, "    return p"])


def written_series(name: str, what: str, coefficients: list[Any], fewer: int) -> str:
    """A polynomial of a complex number, with `fewer` terms in float32."""
    text = ["\n\n@function", f"def {name}(t: Any) -> Any:", f'    """{what}"""']
    for test, bits, count in (
        ("if np.finfo(t.real).bits == 32", 32, fewer),
        ("else", 64, len(coefficients)),
    ):
        first, *rest = (literal(c, bits) for c in coefficients[:count][::-1])
        lines = [packed(rest, 12)]
        text += [f"    {test}:", f"        p = {first}", "        for c in (", *lines, "        ):"]
        text += ["            p = p * t + c"]
    return "\n".join([*text, "    return p"])


def rule(n: int, points: int) -> list[tuple[Any, Any]]:
    """Gauss' rule of the weight sqrt(x) exp(-x) K(x) on x > 0, by Chebyshev's algorithm.

    sqrt(z) exp(z) K(z) is sqrt(pi / 2), less (for order 1: and) 1 / pi times the integral of the
    weight divided by x + z: that is Cauchy's integral along the cut.
    """
    with mp.workdps(60 + 4 * points):
        exponents = [k + mp.mpf(3) / 2 for k in range(2 * points)]
        row = [
            mp.sqrt(mp.pi) * mp.mpf(2) ** -s * mp.gamma(s + n) * mp.gamma(s - n)
            / mp.gamma(s + mp.mpf(1) / 2)
            for s in exponents
        ]  # fmt: skip
        a, b = [row[1] / row[0]], [row[0]]
        before = [mp.mpf(0)] * len(row)
        for k in range(1, points):
            after = [mp.mpf(0)] * len(row)
            for i in range(k, len(row) - k):
                after[i] = row[i + 1] - a[-1] * row[i] - b[-1] * before[i]
            a.append(after[k + 1] / after[k] - row[k] / row[k - 1])
            b.append(after[k] / row[k - 1])
            before, row = row, after
    matrix = mp.diag(a)
    for k in range(1, points):
        matrix[k, k - 1] = matrix[k - 1, k] = mp.sqrt(b[k])
    nodes, vectors = mp.eigsy(matrix)
    return [(nodes[k], b[0] * vectors[0, k] ** 2 / mp.pi) for k in range(points)]


def written_rule(n: int) -> str:
    """A function of the kernel language that computes the integral."""
    text = [
        "\n\n@function",
        f"def k{n}_integral(x: Any, y: Any) -> tuple[Any, Any]:",
        f'    """1/pi of the integral of sqrt(t) exp(-t) K{n}(t) / (t + z), z = x + i y, x >= 0.',
        "",
        "    By Gauss' rule, whose nodes and weights come in turn; |z| >= 1.5.",
        '    """',
        "    re = 0.0 * x",
        "    im = 0.0 * x",
        "    w = y * y",
    ]
    for test, bits, points, least in (
        ("if np.finfo(x).bits == 32", 32, 18, mp.mpf("1e-10")),
        ("else", 64, 58, mp.mpf("1e-19")),
    ):
        pairs = [(t, w) for t, w in rule(n, points) if w / (t + 1.5) > least]
        lines = packed([f"({literal(t, bits)}, {literal(w, bits)})" for t, w in pairs], 12)
        text += [
            f"    {test}:",
            "        for node, weight in (",
            lines,
            "        ):",
            "            d = x + node",
            "            part = weight / (d * d + w)",
            "            re += part * d",
            "            im -= part * y",
        ]
    return "\n".join([*text, "    return re, im"])
