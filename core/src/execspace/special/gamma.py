"""Gamma and its relatives, and exponential integrals, for kernels and for the host."""

from __future__ import annotations

from typing import Any

from . import gamma_real as of_real
from . import incomplete as of_pair
from .calls import evaluated_pair, evaluated_real, special, special_of_order

__all__ = [
    "beta",
    "betaln",
    "digamma",
    "exp1",
    "expi",
    "expn",
    "gamma",
    "gammainc",
    "gammaincc",
    "gammaln",
    "psi",
]


@special
def gamma(x: Any) -> Any:
    """Gamma function, for kernels and for the host.

    Parameters
    ----------
    x : number
        Real. On the host one number: for the elements of an array launch a kernel.

    Returns
    -------
    number
        Of the type of `x`; of an integer float64. An infinity of 0, with its sign, and NaN of
        negative integers.

    Raises
    ------
    DTypeError
        On the host, of what is no number or complex. Kernels refuse it when they are compiled.

    Notes
    -----
    ``Kokkos::tgamma``, ``scipy.special.gamma``. It is `math.gamma`, which raises where this is
    infinite. Does not block and allocates nothing. docs/special.md has the errors.

    Examples
    --------
    >>> import execspace as es
    >>> round(es.special.gamma(4.5), 12)
    11.631728396567
    """
    return evaluated_real(of_real.gamma, x)


@special
def gammaln(x: Any) -> Any:
    """Logarithm of the magnitude of `gamma`.

    Takes real numbers. Infinite at 0 and negative integers. ``Kokkos::lgamma``,
    ``scipy.special.gammaln``; it is `math.lgamma`, which raises there.

    Examples
    --------
    >>> import execspace as es
    >>> round(es.special.gammaln(100.0), 12)
    359.134205369575
    """
    return evaluated_real(of_real.gammaln, x)


@special
def digamma(x: Any) -> Any:
    """Logarithmic derivative of `gamma`.

    Takes real numbers. An infinity of 0, and NaN of negative integers.
    ``scipy.special.digamma``; `psi` is the same function.

    Examples
    --------
    >>> import execspace as es
    >>> round(es.special.digamma(1.0), 12)
    -0.577215664902
    """
    return evaluated_real(of_real.digamma, x)


psi = digamma


@special
def beta(a: Any, b: Any) -> Any:
    """Beta function gamma(a) gamma(b) / gamma(a + b).

    Takes real numbers. Where gamma(a) or gamma(b) is infinite it is inf, unless gamma(a + b) is
    infinite, too, and the limit for whole numbers is finite: beta(1, -2) is -0.5.
    ``scipy.special.beta``.

    Examples
    --------
    >>> import execspace as es
    >>> round(es.special.beta(2.5, 0.5), 12)
    1.178097245096
    """
    return evaluated_pair(of_real.beta, a, b)


@special
def betaln(a: Any, b: Any) -> Any:
    """Logarithm of the magnitude of `beta`.

    Takes real numbers, as `beta`. ``scipy.special.betaln``.

    Examples
    --------
    >>> import execspace as es
    >>> round(es.special.betaln(1000.0, 0.5), 12)
    -2.881387696572
    """
    return evaluated_pair(of_real.betaln, a, b)


@special
def gammainc(a: Any, x: Any) -> Any:
    """Regularized lower incomplete gamma function P(a, x).

    Takes real numbers. NaN where either is negative. ``scipy.special.gammainc``.

    Examples
    --------
    >>> import execspace as es
    >>> round(es.special.gammainc(2.5, 2.0), 12)
    0.450584048647
    """
    return evaluated_pair(of_pair.gammainc, a, x)


@special
def gammaincc(a: Any, x: Any) -> Any:
    """Regularized upper incomplete gamma function Q(a, x) = 1 - P(a, x).

    Takes real numbers. NaN where either is negative. ``scipy.special.gammaincc``.

    Examples
    --------
    >>> import execspace as es
    >>> round(es.special.gammaincc(2.5, 2.0), 12)
    0.549415951353
    """
    return evaluated_pair(of_pair.gammaincc, a, x)


@special
def exp1(x: Any) -> Any:
    """Exponential integral E1, the integral of exp(-t) / t over t > x.

    Takes real numbers. inf of 0, and NaN of negative numbers. ``Kokkos::expint1``,
    ``scipy.special.exp1``.

    Examples
    --------
    >>> import execspace as es
    >>> round(es.special.exp1(1.0), 12)
    0.219383934396
    """
    return evaluated_real(of_real.exp1, x)


@special
def expi(x: Any) -> Any:
    """Exponential integral Ei, the principal value of the integral of exp(t) / t over t < x.

    Takes real numbers. -inf of 0. ``scipy.special.expi``.

    Examples
    --------
    >>> import execspace as es
    >>> round(es.special.expi(1.0), 12)
    1.895117816356
    """
    return evaluated_real(of_real.expi, x)


@special_of_order
def expn(n: Any, x: Any) -> Any:
    """Exponential integral En, the integral of exp(-x t) / t**n over t > 1.

    Takes an integer `n`, also as a float, and a real number, whose precision the result has. NaN
    where either is negative, and of an `n` that is no integer, which SciPy truncates.
    ``scipy.special.expn``.

    Examples
    --------
    >>> import execspace as es
    >>> round(es.special.expn(3, 0.5), 12)
    0.221604364275
    """
    return evaluated_real(lambda y: of_pair.expn(float(n), y), x)
