"""Error functions, the normal distribution and the logistic function, for kernels and the host."""

from __future__ import annotations

import math
from typing import Any

from . import error_real as of_real
from . import faddeeva as of_complex
from .calls import evaluated, evaluated_pair, evaluated_real, special, special_of_complex

__all__ = [
    "erf",
    "erfc",
    "erfcinv",
    "erfcx",
    "erfinv",
    "expit",
    "log_ndtr",
    "logit",
    "ndtr",
    "ndtri",
    "wofz",
    "xlogy",
]


@special_of_complex
def erf(x: Any) -> Any:
    """Error function, for kernels and for the host.

    Parameters
    ----------
    x : number
        Real or complex. On the host one number: for the elements of an array launch a kernel.

    Returns
    -------
    number
        Of the type of `x`; of an integer float64.

    Raises
    ------
    DTypeError
        On the host, of what is no number. Kernels refuse it when they are compiled.

    Notes
    -----
    ``Kokkos::erf``, ``scipy.special.erf``. Of real numbers it is `math.erf`. Does not block and
    allocates nothing. docs/special.md has the errors.

    Examples
    --------
    >>> import execspace as es
    >>> round(es.special.erf(1.0), 12)
    0.84270079295
    >>> z = es.special.erf(1j)
    >>> z.real, round(z.imag, 12)
    (0.0, 1.650425758798)
    """
    return evaluated(lambda y: math.erf(y), of_complex.erf, x)


@special_of_complex
def erfc(x: Any) -> Any:
    """1 - erf(x), without the cancellation.

    Takes real and complex numbers as `erf` does. ``Kokkos::erfc``, ``scipy.special.erfc``.

    Examples
    --------
    >>> import execspace as es
    >>> round(es.special.erfc(2.0), 12)
    0.004677734981
    """
    return evaluated(lambda y: math.erfc(y), of_complex.erfc, x)


@special_of_complex
def erfcx(x: Any) -> Any:
    """exp(x**2) erfc(x), which neither overflows nor underflows where x is large.

    Takes real and complex numbers as `erf` does. ``Kokkos::erfcx``,
    ``scipy.special.erfcx``.

    Examples
    --------
    >>> import execspace as es
    >>> round(es.special.erfcx(100.0), 12)
    0.005641613783
    """
    return evaluated(of_real.erfcx, of_complex.erfcx, x)


@special_of_complex
def wofz(z: Any) -> Any:
    """Faddeeva function exp(-z**2) erfc(-i z), a complex number.

    Takes real and complex numbers as `erf` does. Of a real number the real part is exp(-z**2), and
    the imaginary part 2 / sqrt(pi) times Dawson's integral. ``scipy.special.wofz``.

    Examples
    --------
    >>> import execspace as es
    >>> w = es.special.wofz(1.0)
    >>> round(w.real, 12), round(w.imag, 12)
    (0.367879441171, 0.607157705841)
    """
    return evaluated(of_complex.wofz_real, of_complex.wofz, z)


@special
def erfinv(x: Any) -> Any:
    """Inverse of `erf`.

    Takes real numbers. NaN beyond -1 and 1, where it is infinite. ``scipy.special.erfinv``.

    Examples
    --------
    >>> import execspace as es
    >>> round(es.special.erfinv(0.5), 12)
    0.476936276204
    """
    return evaluated_real(of_real.erfinv, x)


@special
def erfcinv(x: Any) -> Any:
    """Inverse of `erfc`.

    Takes real numbers. NaN below 0 and beyond 2, where it is infinite.
    ``scipy.special.erfcinv``.

    Examples
    --------
    >>> import execspace as es
    >>> round(es.special.erfcinv(1e-100), 12)
    15.065574702593
    """
    return evaluated_real(of_real.erfcinv, x)


@special
def ndtr(x: Any) -> Any:
    """Distribution function of the normal distribution: erfc(-x / sqrt(2)) / 2.

    Takes real numbers. ``scipy.special.ndtr``.

    Examples
    --------
    >>> import execspace as es
    >>> round(es.special.ndtr(1.0), 12)
    0.841344746069
    """
    return evaluated_real(of_real.ndtr, x)


@special
def log_ndtr(x: Any) -> Any:
    """Logarithm of `ndtr`, also where that is 0.

    Takes real numbers. ``scipy.special.log_ndtr``.

    Examples
    --------
    >>> import execspace as es
    >>> round(es.special.log_ndtr(-100.0), 12)
    -5005.524208694205
    """
    return evaluated_real(of_real.log_ndtr, x)


@special
def ndtri(p: Any) -> Any:
    """Inverse of `ndtr`: the quantiles of the normal distribution.

    Takes real numbers. NaN below 0 and beyond 1, where it is infinite. ``scipy.special.ndtri``.

    Examples
    --------
    >>> import execspace as es
    >>> round(es.special.ndtri(0.975), 12)
    1.95996398454
    """
    return evaluated_real(of_real.ndtri, p)


@special
def expit(x: Any) -> Any:
    """Logistic function 1 / (1 + exp(-x)).

    Takes real numbers. ``scipy.special.expit``.

    Examples
    --------
    >>> import execspace as es
    >>> round(es.special.expit(-1.0), 12)
    0.26894142137
    """
    return evaluated_real(of_real.expit, x)


@special
def logit(p: Any) -> Any:
    """log(p / (1 - p)), the inverse of `expit`, without cancellation near 1/2.

    Takes real numbers. NaN below 0 and beyond 1, where it is infinite. ``scipy.special.logit``.

    Examples
    --------
    >>> import execspace as es
    >>> round(es.special.logit(0.25), 12)
    -1.098612288668
    """
    return evaluated_real(of_real.logit, p)


@special
def xlogy(x: Any, y: Any) -> Any:
    """x log(y), and 0 where x is 0, unless y is NaN.

    Takes real numbers. ``scipy.special.xlogy``.

    Examples
    --------
    >>> import execspace as es
    >>> es.special.xlogy(0.0, 0.0), round(es.special.xlogy(2.0, 3.0), 12)
    (0.0, 2.197224577336)
    """
    return evaluated_pair(of_real.xlogy, x, y)
