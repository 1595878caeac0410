"""Writes the values that tests of `execspace.special` compare with, computed by mpmath.

    python core/special_references.py

needs mpmath. Arguments are random, from a fixed seed, over the ranges below, and are numbers of
float32, so that a value is right for both precisions. With each goes the unit in which an error
counts: the magnitude of the value, or near the zeros of a function that oscillates its amplitude.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import mpmath as mp
import numpy as np

FOLDER = Path(__file__).parents[1] / ("tests/conformance/src/execspace_testing/suite/library")
REAL_ROWS, COMPLEX_ROWS = 18, 16
DIGITS = 40

Range = tuple[float, float]


@dataclass(frozen=True)
class Case:
    """A function: its reference, and where it is sampled.

    Attributes
    ----------
    f : callable
        In mpmath.
    ranges : tuple
        Of the argument, or pairs of ranges of two; of complex numbers of the modulus. Those with
        bounds of one sign that are far apart are sampled by magnitude.
    unit : callable, optional
        Of the arguments: the least unit of an error, if it is not the value.
    digits : int
        With which it is computed.
    keep : callable
        Which arguments are taken.
    """

    f: Callable[..., Any]
    ranges: tuple[Any, ...]
    unit: Callable[..., Any] = lambda *args: 0
    digits: int = DIGITS
    keep: Callable[..., bool] = field(default=lambda *args: True)


def amplitude(x: Any) -> Any:
    """That of J and Y, beyond the zeros that are taken care of one by one."""
    return mp.sqrt(2 / (mp.pi * abs(x))) if abs(x) > 8 else 0


def reflected(x: Any) -> Any:
    """The greater of the terms that make digamma of a negative number."""
    return max(abs(mp.digamma(1 - x)), abs(mp.pi * mp.cot(mp.pi * x))) if x < 0 else 0


def erfcx(z: Any) -> Any:
    """exp(z**2) erfc(z), by its asymptotic series where that has the digits."""
    if isinstance(z, mp.mpf) and z > 1e6:
        return (1 - 1 / (2 * z * z)) / (z * mp.sqrt(mp.pi))
    return mp.exp(z * z) * mp.erfc(z)


def scaled_bessel(f: Any, n: int, sign: int) -> Callable[[Any], Any]:
    """f(n, x) exp(sign |x|)."""
    return lambda x: f(n, x) * mp.exp(sign * abs(x))


_WAVES: tuple[Range, ...] = ((1e-6, 1), (1, 8), (8, 100), (100, 1e12))
_SIGNED: tuple[Range, ...] = (*_WAVES, (-8, -1e-3), (-1e3, -8))
_GROWING: tuple[Range, ...] = ((1e-6, 1), (1, 8), (8, 85), (-30, -1e-3))
_SCALED: tuple[Range, ...] = ((1e-6, 1), (1, 8), (8, 1e4), (-30, -1e-3))
_DECAYING: tuple[Range, ...] = ((1e-6, 1), (1, 4), (4, 80))
_POSITIVE: tuple[Range, ...] = ((1e-6, 1), (1, 4), (4, 1e4))
_UNIT: tuple[Range, ...] = ((1e-30, 1e-3), (0.001, 0.3), (0.3, 0.7), (0.7, 0.99), (0.99, 0.999999))
_PAIRS = (((1e-3, 10), (1e-3, 10)), ((1e-3, 10), (10, 1e3)), ((10, 30), (10, 30)))
_GAMMAS = (
    ((1e-3, 1), (1e-3, 3)), ((1, 20), (1e-2, 10)), ((1, 20), (10, 60)), ((20, 40), (20, 40)),
    ((100, 1e3), (300, 400)),
)  # fmt: skip


def exponent(f: Any) -> Callable[..., Any]:
    """Errors of a power with a large exponent count by its size."""

    def unit(a: Any, x: Any) -> Any:
        value = f(a, x)
        return value * (1 - mp.log(value))

    return unit


def bounded(f: Any) -> Callable[..., bool]:
    """Whether a result is a normal number of float32."""
    return lambda *args: 1e-36 < abs(f(*args)) < 1e37


def lower(a: Any, x: Any) -> Any:
    """P(a, x)."""
    return mp.gammainc(a, 0, x, regularized=True)


def upper(a: Any, x: Any) -> Any:
    """Q(a, x)."""
    return mp.gammainc(a, x, mp.inf, regularized=True)


REAL: dict[str, Case] = {
    "j0": Case(lambda x: mp.besselj(0, x), _SIGNED, amplitude),
    "j1": Case(lambda x: mp.besselj(1, x), _SIGNED, amplitude),
    "y0": Case(lambda x: mp.bessely(0, x), _WAVES, amplitude),
    "y1": Case(lambda x: mp.bessely(1, x), _WAVES, amplitude),
    "i0": Case(lambda x: mp.besseli(0, x), _GROWING),
    "i1": Case(lambda x: mp.besseli(1, x), _GROWING),
    "i0e": Case(scaled_bessel(mp.besseli, 0, -1), _SCALED),
    "i1e": Case(scaled_bessel(mp.besseli, 1, -1), _SCALED),
    "k0": Case(lambda x: mp.besselk(0, x), _DECAYING),
    "k1": Case(lambda x: mp.besselk(1, x), _DECAYING),
    "k0e": Case(scaled_bessel(mp.besselk, 0, 1), _POSITIVE),
    "k1e": Case(scaled_bessel(mp.besselk, 1, 1), _POSITIVE),
    "erf": Case(mp.erf, ((1e-6, 1), (1, 6), (-6, -1e-3))),
    "erfc": Case(mp.erfc, ((1e-6, 1), (1, 9), (-6, -1e-3))),
    "erfcx": Case(erfcx, ((1e-6, 1), (1, 30), (30, 1e12), (-9, -1e-3))),
    "erfinv": Case(mp.erfinv, ((1e-6, 0.5), (0.5, 0.99), (0.99, 0.999999), (-0.99, -1e-3))),
    "erfcinv": Case(
        lambda x: mp.findroot(lambda y: mp.log(mp.erfc(y) / x), mp.sqrt(max(-mp.log(x) - 1, 0.01))),
        ((1e-36, 1e-3), (1e-3, 0.5), (0.5, 0.99)),
    ),
    "ndtr": Case(mp.ncdf, ((-12, -1), (-1, 1), (1, 6))),
    "log_ndtr": Case(lambda x: mp.log(mp.ncdf(x)), ((-1e3, -12), (-12, -1), (-1, 1), (1, 6)),
                     digits=60),
    "ndtri": Case(
        lambda p: -mp.sqrt(2) * mp.erfinv(1 - 2 * p), ((1e-30, 1e-3), (1e-3, 0.49), (0.51, 0.99)),
        digits=80,
    ),
    "expit": Case(lambda x: 1 / (1 + mp.exp(-x)), ((-80, -1), (-1, 1), (1, 80))),
    "logit": Case(lambda x: mp.log(x / (1 - x)), _UNIT),
    "xlogy": Case(lambda x, y: x * mp.log(y), (((-5, 5), (1e-30, 1)), ((1e-3, 1e3), (1, 1e30)))),
    "gamma": Case(mp.gamma, ((1e-6, 1), (1, 3), (3, 33), (-8, -1e-3))),
    "gammaln": Case(lambda x: mp.log(abs(mp.gamma(x))), ((1e-6, 1), (1, 4), (4, 1e12), (-8, -1e-3)),
                    lambda x: 1),
    "digamma": Case(mp.digamma, ((1e-6, 1), (1, 3), (3, 1e12), (-20, -1e-3)), reflected),
    "beta": Case(mp.beta, _PAIRS, keep=bounded(mp.beta)),
    "betaln": Case(lambda a, b: mp.log(mp.beta(a, b)), _PAIRS, lambda a, b: 1),
    "gammainc": Case(lower, _GAMMAS, exponent(lower), keep=bounded(lower)),
    "gammaincc": Case(upper, _GAMMAS, exponent(upper), keep=bounded(upper)),
    "exp1": Case(mp.e1, _DECAYING),
    "expi": Case(mp.ei, ((1e-6, 0.3), (0.3, 0.5), (0.5, 6), (6, 24), (24, 85), (-80, -1e-3))),
    "expn": Case(lambda n, x: mp.expint(int(n), x), (((0, 12), (1e-3, 1)), ((0, 12), (1, 80)))),
}  # fmt: skip


def grown(z: Any, part: Any) -> Any:
    """The amplitude of a function that grows with a part of its argument."""
    return mp.exp(abs(part)) * mp.sqrt(1 / (2 * mp.pi * abs(z))) if abs(z) > 1.5 else 0


def of_order(f: Any, n: int) -> Callable[[Any], Any]:
    """f(n, z) as a function of z."""
    return lambda z: f(n, z)


_DISC: tuple[Range, ...] = ((1e-3, 1), (1, 1.5), (1.5, 6), (6, 25), (25, 75))
_SMALL: tuple[Range, ...] = ((1e-3, 1), (1, 3), (3, 8), (8, 30))


def moderate(z: Any) -> bool:
    """Whether exp(z**2) is neither very large nor very small."""
    return bool(abs((z * z).real) < 75)


COMPLEX: dict[str, Case] = {
    "erf": Case(mp.erf, _SMALL[:3], digits=60, keep=moderate),
    "erfc": Case(mp.erfc, _SMALL[:3], digits=60, keep=moderate),
    "erfcx": Case(erfcx, _SMALL, digits=900, keep=lambda z: z.real > 0 or moderate(z)),
    "wofz": Case(lambda z: erfcx(mp.mpc(z.imag, -z.real)), _SMALL, digits=900,
                 keep=lambda z: z.imag > 0 or moderate(z)),
}  # fmt: skip
for _n in (0, 1):
    for _name, _f in (("j", mp.besselj), ("y", mp.bessely)):
        COMPLEX[f"{_name}{_n}"] = Case(of_order(_f, _n), _DISC, lambda z: grown(z, z.imag), 120)
    COMPLEX[f"i{_n}"] = Case(of_order(mp.besseli, _n), _DISC, lambda z: grown(z, z.real), 120)
    COMPLEX[f"k{_n}"] = Case(of_order(mp.besselk, _n), _DISC, digits=120)
    for _kind, _f in ((1, mp.hankel1), (2, mp.hankel2)):
        COMPLEX[f"hankel{_kind}_{_n}"] = Case(
            of_order(_f, _n), _DISC, lambda z, n=_n: abs(mp.besselj(n, z)) if abs(z) < 8 else 0, 160
        )


# -- rows -----------------------------------------------------------------------------------------


def drawn(rng: np.random.Generator, bounds: Range) -> np.float32:
    """A number of a range; by magnitude where that has several orders."""
    low, high = bounds
    if low * high > 0 and max(low / high, high / low) > 20:
        size = np.exp(rng.uniform(*sorted((np.log(abs(low)), np.log(abs(high))))))
        return np.float32(np.copysign(size, low))
    return np.float32(rng.uniform(low, high))


def samples(case: Case, rows: int, seed: int, of_complex: bool) -> Iterator[tuple[np.float32, ...]]:
    """Arguments, from each range in turn; of complex numbers the parts."""
    rng = np.random.default_rng(seed)
    n = 0
    while n < rows:
        bounds = case.ranges[n % len(case.ranges)]
        if of_complex:
            size, angle = drawn(rng, bounds), rng.uniform(-np.pi, np.pi)
            x, y = np.float32(size * np.cos(angle)), np.float32(size * np.sin(angle))
            found: tuple[np.float32, ...] = (x, y)
            kept = case.keep(mp.mpc(float(x), float(y)))
        elif isinstance(bounds[0], tuple):
            found = tuple(drawn(rng, b) for b in bounds)
            if case is REAL["expn"]:
                found = (np.float32(int(found[0])), found[1])
            kept = case.keep(*(mp.mpf(float(v)) for v in found))
        else:
            found = (drawn(rng, bounds),)
            kept = case.keep(mp.mpf(float(found[0])))
        if kept:
            n += 1
            yield found


def value_and_unit(case: Case, args: tuple[np.float32, ...], of_complex: bool) -> tuple[Any, Any]:
    """The value, and the unit of its error."""
    with mp.workdps(case.digits):
        given = [mp.mpf(float(v)) for v in args]
        if of_complex:
            given = [mp.mpc(*given)]
        value = case.f(*given)
        return +value, max(abs(value), case.unit(*given))


HEAD = '''"""Values of special functions of {what} numbers.

Made by core/special_references.py; not to be edited. Each row has the arguments, as numbers of
float32{parts}, the value, and the unit in which an error counts.
"""

from __future__ import annotations

# fmt: off
VALUES: dict[str, tuple[tuple[float, ...], ...]] = {{
'''


def module(cases: dict[str, Case], rows: int, of_complex: bool) -> str:
    """The text of a module of values."""
    what, parts = ("complex", " and part by part") if of_complex else ("real", "")
    text = [HEAD.format(what=what, parts=parts).rstrip("\n")]
    for seed, (name, case) in enumerate(cases.items()):
        text.append(f'    "{name}": (')
        line = "       "
        for args in samples(case, rows, seed, of_complex):
            value, unit = value_and_unit(case, args, of_complex)
            numbers = [value.real, value.imag] if of_complex else [value]
            items = [*map(str, args), *(repr(float(v)) for v in numbers), f"{float(unit):.4g}"]
            row = f" ({', '.join(items)}),"
            if len(line) + len(row) > 100:
                text.append(line)
                line = "       "
            line += row
        text += [line, "    ),"]
    return "\n".join([*text, "}"]) + "\n"


def main() -> None:
    """Write the modules."""
    for name, cases, rows, of_complex in (
        ("special_values", REAL, REAL_ROWS, False),
        ("special_complex_values", COMPLEX, COMPLEX_ROWS, True),
    ):
        text = module(cases, rows, of_complex)
        (FOLDER / f"{name}.py").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
