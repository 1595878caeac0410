"""Bessel and Hankel functions of the orders 0 and 1, for kernels and for the host."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..kernels.language import function
from ..kernels.refusals import check_number, refuse
from . import bessel_complex as of_complex
from . import bessel_real as of_real
from .calls import evaluated, evaluated_real, is_real, special, special_of_complex

if TYPE_CHECKING:
    static = Any  # calls give numbers, with which the functions compare it
else:
    from ..views.static import static

__all__ = [
    "hankel1",
    "hankel2",
    "i0",
    "i0e",
    "i1",
    "i1e",
    "j0",
    "j1",
    "k0",
    "k0e",
    "k1",
    "k1e",
    "y0",
    "y1",
]


@special_of_complex
def j0(x: Any) -> Any:
    """Bessel function of the first kind of order 0, for kernels and for the host.

    Parameters
    ----------
    x : number
        Real or complex. On the host one number: for the elements of an array launch a kernel.

    Returns
    -------
    number
        Of the type of `x`; of an integer float64. Real numbers give 0 at both infinities, the
        limit; complex ones that are infinite give NaN.

    Raises
    ------
    DTypeError
        On the host, of what is no number. Kernels refuse it when they are compiled.

    Notes
    -----
    ``Kokkos::cyl_bessel_j0``, ``scipy.special.j0``. Does not block and allocates nothing.
    docs/special.md has the errors.

    Examples
    --------
    >>> import numpy as np
    >>> import execspace as es
    >>> round(es.special.j0(1.0), 12)
    0.765197686558
    >>> x, y = np.linspace(0, 10, 5), np.zeros(5)
    >>> def bessel(i, x, y):
    ...     y[i] = es.special.j0(x[i])
    >>> es.parallel_for(es.RangePolicy(5, space="oracle"), bessel, x, y)
    >>> y.round(6)
    array([ 1.      , -0.048384, -0.177597,  0.26634 , -0.245936])
    """
    return evaluated(of_real.j0, lambda z: of_complex.j(z, 0), x)


@special_of_complex
def j1(x: Any) -> Any:
    """Bessel function of the first kind of order 1.

    Takes real and complex numbers as `j0` does. ``Kokkos::cyl_bessel_j1``, ``scipy.special.j1``.

    Examples
    --------
    >>> import execspace as es
    >>> round(es.special.j1(1.0), 12)
    0.440050585745
    """
    return evaluated(of_real.j1, lambda z: of_complex.j(z, 1), x)


@special_of_complex
def y0(x: Any) -> Any:
    """Bessel function of the second kind of order 0.

    Takes numbers as `j0` does. -inf of 0, NaN of negative real numbers. Of complex numbers the cut
    is the negative real axis, which belongs to what is above it, whatever the sign of a zero.
    ``Kokkos::cyl_bessel_y0``, ``scipy.special.y0``.

    Examples
    --------
    >>> import execspace as es
    >>> round(es.special.y0(1.0), 12)
    0.088256964216
    """
    return evaluated(of_real.y0, lambda z: of_complex.y(z, 0), x)


@special_of_complex
def y1(x: Any) -> Any:
    """Bessel function of the second kind of order 1.

    Takes numbers, and has a cut, as `y0`. ``Kokkos::cyl_bessel_y1``, ``scipy.special.y1``.

    Examples
    --------
    >>> import execspace as es
    >>> round(es.special.y1(1.0), 12)
    -0.7812128213
    """
    return evaluated(of_real.y1, lambda z: of_complex.y(z, 1), x)


@special_of_complex
def i0(x: Any) -> Any:
    """Modified Bessel function of the first kind of order 0.

    Takes real and complex numbers as `j0` does. ``Kokkos::cyl_bessel_i0``, ``scipy.special.i0``.

    Examples
    --------
    >>> import execspace as es
    >>> round(es.special.i0(1.0), 12)
    1.266065877752
    """
    return evaluated(of_real.i0, lambda z: of_complex.i(z, 0), x)


@special_of_complex
def i1(x: Any) -> Any:
    """Modified Bessel function of the first kind of order 1.

    Takes real and complex numbers as `j0` does. ``Kokkos::cyl_bessel_i1``, ``scipy.special.i1``.

    Examples
    --------
    >>> import execspace as es
    >>> round(es.special.i1(1.0), 12)
    0.565159103992
    """
    return evaluated(of_real.i1, lambda z: of_complex.i(z, 1), x)


@special
def i0e(x: Any) -> Any:
    """`i0` of a real number, times exp(-abs(x)), which does not overflow.

    ``scipy.special.i0e``.

    Examples
    --------
    >>> import execspace as es
    >>> round(es.special.i0e(1000.0), 12)
    0.012617240456
    """
    return evaluated_real(of_real.i0e, x)


@special
def i1e(x: Any) -> Any:
    """`i1` of a real number, times exp(-abs(x)), which does not overflow.

    ``scipy.special.i1e``.

    Examples
    --------
    >>> import execspace as es
    >>> round(es.special.i1e(1000.0), 12)
    0.012610930257
    """
    return evaluated_real(of_real.i1e, x)


@special_of_complex
def k0(x: Any) -> Any:
    """Modified Bessel function of the second kind of order 0.

    Takes numbers, and has a cut, as `y0`. inf of a real 0. ``Kokkos::cyl_bessel_k0``,
    ``scipy.special.k0``.

    Examples
    --------
    >>> import execspace as es
    >>> round(es.special.k0(1.0), 12)
    0.421024438241
    """
    return evaluated(of_real.k0, lambda z: of_complex.k(z, 0), x)


@special_of_complex
def k1(x: Any) -> Any:
    """Modified Bessel function of the second kind of order 1.

    Takes numbers, and has a cut, as `y0`. inf of a real 0. ``Kokkos::cyl_bessel_k1``,
    ``scipy.special.k1``.

    Examples
    --------
    >>> import execspace as es
    >>> round(es.special.k1(1.0), 12)
    0.601907230197
    """
    return evaluated(of_real.k1, lambda z: of_complex.k(z, 1), x)


@special
def k0e(x: Any) -> Any:
    """`k0` of a real number, times exp(x), which does not underflow.

    ``scipy.special.k0e``.

    Examples
    --------
    >>> import execspace as es
    >>> round(es.special.k0e(1000.0), 12)
    0.039628321601
    """
    return evaluated_real(of_real.k0e, x)


@special
def k1e(x: Any) -> Any:
    """`k1` of a real number, times exp(x), which does not underflow.

    ``scipy.special.k1e``.

    Examples
    --------
    >>> import execspace as es
    >>> round(es.special.k1e(1000.0), 12)
    0.039648130813
    """
    return evaluated_real(of_real.k1e, x)


@function
def _hankel(x: Any, order: static, kind: static) -> Any:
    check_number(x)
    z = x - 0.0
    if is_real(z):
        return of_complex.hankel(complex(z.real, 0.0 * z.real), order, kind)
    else:
        return of_complex.hankel(z, order, kind)


@special_of_complex
def hankel1(v: static, z: Any) -> Any:
    """Hankel function of the first kind of order 0 or 1: J + i Y.

    Parameters
    ----------
    v : 0 or 1
        The order, which a kernel must know when it is compiled.
    z : number
        Real or complex. The cut is that of `y0`.

    Returns
    -------
    complex number

    Raises
    ------
    LaunchError
        Of another order; kernels refuse it when they are compiled.

    Notes
    -----
    ``Kokkos::cyl_bessel_h10`` and ``cyl_bessel_h11``; ``scipy.special.hankel1``.

    Examples
    --------
    >>> import execspace as es
    >>> h = es.special.hankel1(0, 1.0)
    >>> round(h.real, 12), round(h.imag, 12)
    (0.765197686558, 0.088256964216)
    """
    if v == 0:
        return _hankel(z, 0, 1)
    elif v == 1:
        return _hankel(z, 1, 1)
    else:
        refuse("es.special.hankel1 has the orders 0 and 1, not {}", "give 0 or 1 for v", v)


@special_of_complex
def hankel2(v: static, z: Any) -> Any:
    """Hankel function of the second kind of order 0 or 1: J - i Y.

    Takes numbers as `hankel1` does. ``Kokkos::cyl_bessel_h20`` and ``cyl_bessel_h21``;
    ``scipy.special.hankel2``.

    Examples
    --------
    >>> import execspace as es
    >>> h = es.special.hankel2(0, 1.0)
    >>> round(h.real, 12), round(h.imag, 12)
    (0.765197686558, -0.088256964216)
    """
    if v == 0:
        return _hankel(z, 0, 2)
    elif v == 1:
        return _hankel(z, 1, 2)
    else:
        refuse("es.special.hankel2 has the orders 0 and 1, not {}", "give 0 or 1 for v", v)
