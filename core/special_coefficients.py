"""Writes the modules of coefficients of `execspace.special`: polynomials and a quadrature rule.

    python core/special_coefficients.py

needs mpmath, which nothing else here does.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import mpmath as mp
from special_writing import Fit, literal, packed, written, written_rule, written_series

FOLDER = Path(__file__).parent / "src" / "execspace" / "special"
TINY = mp.mpf("1e-28")  # for limits at 0


# -- functions that are fitted --------------------------------------------------------------------


def j(n: int, x: Any) -> Any:
    """J of order n."""
    return mp.besselj(n, x)


def y(n: int, x: Any) -> Any:
    """Y of order n."""
    return mp.bessely(n, x)


def zero(kind: str, n: int, k: int) -> Any:
    """Zero number k of J or Y of order n."""
    return (mp.besseljzero if kind == "j" else mp.besselyzero)(n, k)


def of_square(f: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """f(sqrt(v)) as a function of v."""
    return lambda v: f(mp.sqrt(max(v, TINY)))


def y0_rest(x: Any) -> Any:
    """What `y0_low` approximates."""
    z = zero("y", 0, 1)
    return (y(0, x) - 2 / mp.pi * mp.log(x / z) * j(0, x)) / (x * x - z * z)


def y1_rest(x: Any) -> Any:
    """What `y1_low` approximates."""
    z = zero("y", 1, 1)
    return x * (y(1, x) - 2 / mp.pi * mp.log(x / z) * j(1, x)) / (x * x - z * z)


def phases(n: int) -> tuple[Callable[[Any], Any], Callable[[Any], Any]]:
    """P and x / 8 times Q of Hankel's expansion, of v = (8 / x)**2."""

    def p(v: Any) -> Any:
        x = 8 / mp.sqrt(max(v, TINY))
        a = x - (2 * n + 1) * mp.pi / 4
        return mp.sqrt(mp.pi * x / 2) * (j(n, x) * mp.cos(a) + y(n, x) * mp.sin(a))

    def q(v: Any) -> Any:
        x = 8 / mp.sqrt(max(v, TINY))
        a = x - (2 * n + 1) * mp.pi / 4
        return mp.sqrt(mp.pi * x / 2) * (y(n, x) * mp.cos(a) - j(n, x) * mp.sin(a)) * x / 8

    return p, q


def without(f: Callable[[Any], Any], *zeros: Any) -> Callable[[Any], Any]:
    """f divided by the product of x - z over the zeros."""
    return lambda x: f(x) / mp.fprod(x - z for z in zeros)


def bessel() -> list[Fit]:
    """J and Y of the orders 0 and 1."""
    z = [zero("j", 0, 1), zero("j", 0, 2)]
    o = [zero("j", 1, 1), zero("j", 1, 2)]
    y0z = [zero("y", 0, 2), zero("y", 0, 3)]
    y1z = [zero("y", 1, 2), zero("y", 1, 3)]
    found = [
        Fit("j0_low", "J0(x) / (v - z1**2), v = x**2, 0 <= x <= 4.",
            of_square(lambda x: j(0, x) / (x * x - z[0] ** 2)), 0, 16),
        Fit("j0_mid", "J0(v) / (v - z2), 4 <= v <= 8.",
            without(lambda x: j(0, x), z[1]), 4, 8),
        Fit("j1_low", "J1(x) / (x (v - z1**2)), v = x**2, 0 <= x <= 4.",
            of_square(lambda x: j(1, x) / x / (x * x - o[0] ** 2)), 0, 16),
        Fit("j1_mid", "J1(v) / ((v - z1) (v - z2)), 4 <= v <= 8.",
            without(lambda x: j(1, x), *o), 4, 8),
        Fit("y0_low", "(Y0(x) - 2/pi log(x / z1) J0(x)) / (v - z1**2), v = x**2, 0 <= x <= 3.",
            of_square(y0_rest), 0, 9),
        Fit("y0_mid", "Y0(v) / ((v - z2) (v - z3)), 3 <= v <= 8.",
            without(lambda x: y(0, x), *y0z), 3, 8),
        Fit("y1_low", "(Y1(x) - 2/pi log(x / z1) J1(x)) x / (v - z1**2), v = x**2, 0 <= x <= 4.",
            of_square(y1_rest), 0, 16),
        Fit("y1_mid", "Y1(v) / ((v - z2) (v - z3)), 4 <= v <= 8.",
            without(lambda x: y(1, x), *y1z), 4, 8),
    ]  # fmt: skip
    for n in (0, 1):
        p, q = phases(n)
        found.append(Fit(f"p{n}", f"P{n} of Hankel's expansion, v = (8 / x)**2 <= 1.", p, 0, 1))
        found.append(
            Fit(f"q{n}", f"x / 8 times Q{n} of Hankel's expansion, v = (8 / x)**2 <= 1.", q, 0, 1)
        )
    return found


def scaled(f: Callable[[int, Any], Any], n: int, sign: int) -> Callable[[Any], Any]:
    """f(n, x) exp(-+x) sqrt(x) as a function of 1 / x."""

    def of_inverse(u: Any) -> Any:
        x = 1 / max(u, mp.mpf("1e-9"))
        with mp.workdps(60):
            return f(n, x) * mp.exp(-sign * x) * mp.sqrt(x)

    return of_inverse


def large_i(n: int, x: Any) -> Any:
    """I, by its asymptotic series where mpmath would need many digits."""
    if x < 60:
        return mp.besseli(n, x)
    term = total = mp.mpf(1)
    for k in range(1, 60):
        term *= -mp.mpf(4 * n * n - (2 * k - 1) ** 2) / (8 * k * x)
        total += term
    return mp.exp(x) / mp.sqrt(2 * mp.pi * x) * total


def modified() -> list[Fit]:
    """I and K of the orders 0 and 1."""
    found = []
    for n in (0, 1):
        i_n = of_square(lambda x, n=n: mp.besseli(n, x) / x**n)
        rest = of_square(
            lambda x, n=n: (
                mp.besselk(0, x) + mp.log(x) * mp.besseli(0, x)
                if n == 0
                else (mp.besselk(1, x) - mp.log(x) * mp.besseli(1, x) - 1 / x) / x
            )
        )
        over, other = ("", "") if n == 0 else (" / x", " - 1 / x")
        sign = "+" if n == 0 else "-"
        found += [
            Fit(f"i{n}_least", f"I{n}(x){over}, v = x**2, 0 <= x <= 1.", i_n, 0, 1, True),
            Fit(f"i{n}_low", f"I{n}(x){over}, v = x**2, 0 <= x <= 8.", i_n, 0, 64, True),
            Fit(f"i{n}_high", f"I{n}(x) exp(-x) sqrt(x), v = 1 / x, x >= 8.",
                scaled(large_i, n, 1), 0, 0.125),
            Fit(f"k{n}_low", f"(K{n}(x) {sign} log(x) I{n}(x){other}){over}, v = x**2 <= 1.",
                rest, 0, 1),
            Fit(f"k{n}_mid", f"K{n}(x) exp(x) sqrt(x), v = 1 / x, 1 <= x <= 4.",
                scaled(mp.besselk, n, -1), 0.25, 1),
            Fit(f"k{n}_high", f"K{n}(x) exp(x) sqrt(x), v = 1 / x, x >= 4.",
                scaled(mp.besselk, n, -1), 0, 0.25),
        ]  # fmt: skip
    return found


def erfcx(x: Any) -> Any:
    """exp(x**2) erfc(x)."""
    return mp.exp(x * x) * mp.erfc(x) if x < 1e6 else 1 / (x * mp.sqrt(mp.pi))


def weighted_erfcx(q: Any) -> Any:
    """What `erfcx_of` approximates."""
    x = 4 * (1 + q) / (1 - q) if q < 1 else mp.mpf(10) ** 40
    return erfcx(x) * (1 + 2 * x)


def inverse_erf(w: Any) -> Any:
    """erfinv(x) / x as a function of w = -log(1 - x**2)."""
    w = max(w, TINY)
    x = mp.sqrt(-mp.expm1(-w))
    if w < 0.5:
        return mp.erfinv(x) / x
    rest = mp.exp(-w) / (1 + x)
    y = mp.sqrt(w) * mp.mpf("0.95") if w > 6 else mp.sqrt(w / 2) + mp.mpf("0.2")
    while True:
        step = (mp.erfc(y) - rest) / (-2 / mp.sqrt(mp.pi) * mp.exp(-y * y))
        step /= 1 + y * step
        y -= step
        if abs(step) < mp.mpf(10) ** -36 * y:
            return y / x


def scaled_integral(f: Callable[[Any], Any], sign: int) -> Callable[[Any], Any]:
    """f(x) x exp(-+x) as a function of 1 / x."""

    def of_inverse(u: Any) -> Any:
        if u < 1e-6:
            return 1 + sign * u + 2 * u * u + sign * 6 * u**3 + 24 * u**4 + sign * 120 * u**5
        with mp.workdps(60):
            return f(1 / u) * mp.exp(-sign / u) / u

    return of_inverse


def digamma_rest(v: Any) -> Any:
    """What `digamma_high` approximates."""
    x = 1 / mp.sqrt(max(v, mp.mpf("1e-12")))
    with mp.workdps(70):
        return (mp.log(x) - 1 / (2 * x) - mp.digamma(x)) * x * x


def others() -> list[Fit]:
    """Integrals, error functions and the logarithmic derivative of gamma."""
    x0, root = mp.findroot(mp.ei, 0.3725), mp.findroot(mp.digamma, 1.4616)
    one = mp.mpf(1)
    e1, ei = scaled_integral(mp.e1, -1), scaled_integral(mp.ei, 1)
    return [
        Fit("exp1_low", "E1(v) + log(v), 0 <= v <= 1.",
            lambda x: mp.e1(max(x, TINY)) + mp.log(max(x, TINY)), 0, 1),
        Fit("exp1_mid", "E1(x) x exp(x), v = 1 / x, 1 <= x <= 4.", e1, 0.25, 1),
        Fit("exp1_high", "E1(x) x exp(x), v = 1 / x, x >= 4.", e1, 0, 0.25),
        Fit("expi_low", "(Ei(v) - log(v / x0)) / (v - x0), 0 <= v <= 6.",
            lambda x: (mp.ei(max(x, TINY)) - mp.log(max(x, TINY) / x0)) / (x - x0), 0, 6, True),
        Fit("expi_mid", "Ei(x) x exp(-x), v = 1 / x, 6 <= x <= 12.", ei, one / 12, one / 6),
        Fit("expi_high", "Ei(x) x exp(-x), v = 1 / x, 12 <= x <= 24.", ei, one / 24, one / 12),
        Fit("expi_top", "Ei(x) x exp(-x), v = 1 / x, x >= 24.", ei, 0, one / 24),
        Fit("erfcx_of", "(1 + 2 x) erfcx(x), v = (x - 4) / (x + 4), x >= 0.",
            weighted_erfcx, -1, 1),
        Fit("erfinv_low", "erfinv(x) / x, v = -log(1 - x**2) <= 6.25.", inverse_erf, 0, 6.25),
        Fit("erfinv_mid", "erfinv(x) / x, v**2 = -log(1 - x**2), 2.5 <= v <= 4.",
            lambda s: inverse_erf(s * s), 2.5, 4),
        Fit("erfinv_high", "v erfinv(x) / x, v**-2 = -log(1 - x**2), 1/28 <= v <= 1/4.",
            lambda u: inverse_erf(1 / u / u) * u, 1 / mp.mpf(28), 0.25),
        Fit("digamma_mid", "digamma(v) / (v - root), 1 <= v <= 2.",
            lambda x: mp.digamma(x) / (x - root), 1, 2),
        Fit("digamma_high", "(log(x) - 1 / (2 x) - digamma(x)) x**2, v = 1 / x**2, x >= 3.",
            digamma_rest, 0, 1 / mp.mpf(9)),
    ]  # fmt: skip


# -- complex numbers -----------------------------------------------------------------------------


def series() -> list[str]:
    """Power series of |z| < 1.5, and those in 1/z of |z| > 25, of which pairs of terms are one."""
    found = []
    harmonic = [mp.harmonic(k) for k in range(14)]
    for n, what in ((0, "I0(z)"), (1, "2 / z I1(z)")):
        inverse = [1 / (mp.factorial(k) * mp.factorial(k + n)) for k in range(12)]
        found.append(written_series(f"i{n}_series", f"{what}, t = z**2 / 4.", inverse, 7))
        weights = [
            harmonic[k] * inverse[k]
            if n == 0
            else (harmonic[k] + harmonic[k + 1] - 2 * mp.euler) * inverse[k]
            for k in range(12)
        ]
        other = ("K0(z) + (log(z / 2) + gamma) I0(z)", "(1 / z + log(z / 2) I1(z) - K1(z)) 4 / z")
        found.append(written_series(f"k{n}_series", f"{other[n]}, t = z**2 / 4.", weights, 7))
        a = [mp.mpf(1)]
        for k in range(1, 26):
            a.append(a[-1] * (4 * n * n - (2 * k - 1) ** 2) / (8 * k))
        for parity, first in (("even", 0), ("odd", 1)):
            text = f"Terms of {parity} powers in Hankel's expansion of order {n}, t = z**-2."
            found.append(written_series(f"{parity}_terms{n}", text, a[first::2], 5))
    erf = [2 / mp.sqrt(mp.pi) / (mp.factorial(k) * (2 * k + 1)) for k in range(19)]
    found.append(written_series("erf_series", "erf(z) / z, t = -z**2, |z| < 1.", erf, 11))
    return found


def written_sum(name: str, shift: Any) -> str:
    """A function that computes a sum of poles by the trapezoidal rule."""
    text = [
        "\n\n@function",
        f"def {name}(u: Any, v: Any) -> tuple[Any, Any]:",
        f'    """2 h / pi times the sum of exp(-t**2) / (u + i v - t**2), t = (k + {shift}) h."""',
        "    re = 0.0 * u",
        "    im = 0.0 * u",
        "    w = v * v",
    ]
    for test, bits, n in (("if np.finfo(u).bits == 32", 32, 5), ("else", 64, 11)):
        h = mp.sqrt(mp.pi / (n + 1))
        nodes = [((k + mp.mpf(shift)) * h) ** 2 for k in range(n + 1)]
        pairs = [(t, 2 * h / mp.pi * mp.exp(-t)) for t in nodes if t > 0]
        text += [
            f"    {test}:",
            "        for node, weight in (",
            packed([f"({literal(t, bits)}, {literal(c, bits)})" for t, c in pairs], 12),
            "        ):",
            "            d = u - node",
            "            part = weight / (d * d + w)",
            "            re += part * d",
            "            im -= part * v",
        ]
    return "\n".join([*text, "    return re, im"])


HEAD = '''"""{what}

Made by core/special_coefficients.py, which says how; not to be edited. Numbers are literals, since
what a function captures is looked up at each launch.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..kernels.language import function

# fmt: off'''

# -- incomplete gamma functions -------------------------------------------------------------------


def incomplete() -> list[Fit]:
    """Logarithms that vanish at 0, less what vanishes."""

    def rest(m: Any) -> Any:
        return (m - mp.log1p(m)) / (m * m) if abs(m) > mp.mpf("1e-9") else mp.mpf(1) / 2 - m / 3

    return [
        Fit("log_rest", "(v - log(1 + v)) / v**2, -0.4 <= v <= 0.6.", rest, -0.4, 0.6),
        Fit("gammaln_rest", "log(gamma(1 + v)) / v, 0 <= v <= 1.",
            lambda a: mp.loggamma(1 + max(a, TINY)) / max(a, TINY), 0, 1),
    ]  # fmt: skip


def temme(terms: int, powers: int) -> list[list[Any]]:
    """Taylor coefficients of the functions of DLMF 8.12.11 and 8.12.12, lowest power first."""
    size = powers + 2 * terms + 3
    m = [mp.mpf(0), mp.mpf(1)]  # lambda - 1 in powers of eta: (m**2)' = 2 eta (1 + m)
    for n in range(3, size + 2):
        square = 2 * m[n - 2] / n
        m.append((square - mp.fsum(m[i] * m[n - i] for i in range(2, n - 1))) / 2)
    inverse = [mp.mpf(1)]  # eta / m
    for n in range(1, size):
        inverse.append(-mp.fsum(m[i + 1] * inverse[n - i] for i in range(1, n + 1)))
    rows = [inverse[1:]]
    while len(rows) < terms:
        last = rows[-1]
        slopes = [n * last[n] for n in range(1, len(last))]
        g = -slopes[0]  # what cancels the pole
        rows.append([slopes[n] + g * inverse[n] for n in range(1, len(slopes))])
    return [row[:powers] for row in rows]


def written_temme() -> str:
    """A function of the kernel language that computes Temme's sum."""
    text = [
        "\n\n@function",
        "def temme(eta: Any, v: Any) -> Any:",
        '    """The sum of DLMF 8.12.8, v = 1 / a < 1/20, of abs(x / a - 1) < 0.3."""',
        "    p = 0.0 * v",
    ]
    for test, bits, terms, powers in (
        ("if np.finfo(v).bits == 32", 32, 4, 8),
        ("else", 64, 10, 17),
    ):
        row = "row" if bits == 32 else "terms"
        text += [f"    {test}:", f"        for {row} in ("]
        for n, found in reversed(list(enumerate(temme(terms, powers)))):
            kept = [literal(c, bits) for c in found[: max(powers - n, 2)][::-1]]
            text += ["            (", packed(kept, 16), "            ),"]
        text += [
            "        ):",
            "            q = 0.0 * eta",
            f"            for c in {row}:",
            "                q = q * eta + c",
            "            p = p * v + q",
        ]
    return "\n".join([*text, "    return p"])


def of_complex() -> list[str]:
    """What the functions of complex numbers need."""
    sums = [written_sum("midpoint_sum", 0.5), written_sum("trapezoid_sum", 0)]
    return [*series(), *sums, *map(written_rule, (0, 1))]


MODULES: dict[str, tuple[str, Callable[[], list[str]]]] = {
    "bessel_fits": (
        "Polynomials for J and Y; z1, z2, ... are the positive zeros.",
        lambda: [*map(written, bessel())],
    ),
    "modified_fits": ("Polynomials for I and K.", lambda: [*map(written, modified())]),
    "other_fits": (
        "Polynomials for integrals, error functions and digamma.",
        lambda: [*map(written, others())],
    ),
    "incomplete_fits": (
        "Polynomials for the incomplete gamma functions.",
        lambda: [*map(written, incomplete()), written_temme()],
    ),
    "complex_fits": ("Series and sums for functions of complex numbers.", of_complex),
}


def main() -> None:
    """Write the modules."""
    for name, (what, functions) in MODULES.items():
        text = [HEAD.format(what=what), *functions()]
        (FOLDER / f"{name}.py").write_text("\n".join(text) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
