"""Plane rotations of BLAS 1: rot and rotg of Givens, rotm and rotmg without square roots.

Numbers that are given to rotg and rotmg are computed with at once, on the host; Views of rank 0 by
one work item of a launch, so that nothing waits for them.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

import execspace as es

from ..arguments import Space, as_view
from ..errors import MatrixError
from ..sparse.elements import is_record
from .elements import at, coefficient, put
from .operands import (
    cells,
    check_same_or_apart,
    check_shape,
    check_stores,
    factor,
    kind_of,
    scaled_dtype,
    views_of,
    written,
)

__all__ = ["Givens", "ModifiedGivens", "rot", "rotg", "rotm", "rotmg"]

_GAMMA = 4096.0  # of the reference BLAS: the square of it scales what is too large or too small


class Givens(NamedTuple):
    """A rotation that makes (a, b) to (r, 0): numbers, or Views of rank 0.

    Attributes
    ----------
    r : number or View
        What `a` becomes.
    z : number or View
        What `b` becomes: of real numbers that from which `c` and `s` can be found again, of complex
        ones 0.
    c, s : number or View
        Cosine, which is real, and sine.
    """

    r: Any
    z: Any
    c: Any
    s: Any


class ModifiedGivens(NamedTuple):
    """A modified rotation: numbers and a NumPy array, or Views.

    Attributes
    ----------
    d1, d2, x1 : number or View
        What the arguments become.
    param : array or View, shape (5,)
        The flag, and h11, h21, h12, h22, as `rotm` takes them.
    """

    d1: Any
    d2: Any
    x1: Any
    param: Any


def rot(x: Any, y: Any, c: Any, s: Any, *, space: Space = None) -> tuple[es.View, es.View]:
    """Rotate vectors: x = c x + s y, y = c y - conj(s) x.

    Parameters
    ----------
    x, y : View or array, shape (n,) or (n, k)
        Real or complex numbers. Read and written; they must not overlap.
    c, s : number or View of rank 0
        Cosine and sine, such as `rotg` finds. `s` is complex for complex vectors only.
    space : str or ExecutionSpace, optional
        Where to run; as for a launch if not given.

    Returns
    -------
    tuple of View
        `x` and `y`.

    Raises
    ------
    MatrixError
        If `c` or `s` is no number.
    ViewError
        If shapes differ, a View is read-only, of integers or records, or cannot hold the numbers,
        or both overlap.
    SpaceAccessError

    Notes
    -----
    Asynchronous where the space is.

    Kokkos Kernels: https://kokkos.org/kokkos-kernels/docs/API/blas/blas1_rot.html
    """
    first, second = _two("rot", x, y)
    cosine, sine = factor(c, "rot: c", ()), factor(s, "rot: s", ())
    for name, view in (("x", first), ("y", second)):
        for other in (first, second):
            check_stores(f"rot: {name}", view, scaled_dtype(cosine, other.dtype))
            check_stores(f"rot: {name}", view, scaled_dtype(sine, other.dtype))
    where = es.space_for(*views_of(first, second, cosine, sine), space=space)
    kernel = _rotate if first.rank == 1 else _rotate_columns
    es.parallel_for(
        cells(first, where), kernel, first, second, cosine.value, cosine.kind, sine.value,
        sine.kind, label="rot",
    )  # fmt: skip
    return first, second


def rotg(a: Any, b: Any, c: Any = None, s: Any = None, *, space: Space = None) -> Givens:
    """The rotation that makes (a, b) to (r, 0).

    Parameters
    ----------
    a, b : number, or View or array of shape ()
        Real or complex floating-point numbers. Views become r and z.
    c, s : View or array of shape (), optional
        Where the rotation goes, if `a` and `b` are Views; new Views if not given.
    space : str or ExecutionSpace, optional
        Where to run; as for a launch if not given.

    Returns
    -------
    Givens
        `r`, `z`, `c`, `s`: numbers for numbers, Views for Views.

    Raises
    ------
    MatrixError
        If one of `a` and `b` is a number and the other a View, or `c` and `s` are given for
        numbers.
    ViewError
        If a View is read-only, not of rank 0 or cannot hold the numbers.
    SpaceAccessError

    Notes
    -----
    For Views asynchronous where the space is. `c` is real and not less than 0 for complex numbers.

    Scaled as by Anderson, "Algorithm 978: Safe scaling in the Level 1 BLAS", ACM TOMS 44 (2017), so
    that it does not over- or underflow.
    Kokkos Kernels: https://kokkos.org/kokkos-kernels/docs/API/blas/blas1_rotg.html
    """
    if _are_numbers("rotg", a=a, b=b):
        if c is not None or s is not None:
            raise MatrixError("rotg: c and s are given with numbers; expected them with Views.")
        if any(np.iscomplexobj(v) for v in (a, b)):
            r, z, cosine, sine = _complex_rotation(complex(a), complex(b))
            return Givens(complex(r), complex(z), float(np.real(cosine)), complex(sine))
        return Givens(*map(float, _rotation(float(a), float(b))))
    first, second = (_scalar(v, f"rotg: {n}") for v, n in ((a, "a"), (b, "b")))
    if first.dtype != second.dtype:
        raise es.ViewError(
            f"rotg: a is of {first.dtype} and b of {second.dtype}; expected one dtype."
        )
    given = [_scalar(v, f"rotg: {n}") for v, n in ((c, "c"), (s, "s")) if v is not None]
    where = es.space_for(first, second, *given, space=space)
    real = np.zeros(0, first.dtype).real.dtype
    cosine = es.View((), real, label="c", space=where) if c is None else given.pop(0)
    sine = es.View((), first.dtype, label="s", space=where) if s is None else given.pop(0)
    check_stores("rotg: c", cosine, real)
    check_stores("rotg: s", sine, first.dtype)
    kernel = _complex_rotation_of if first.dtype.kind == "c" else _rotation_of
    es.parallel_for(es.RangePolicy(1, space=where), kernel, first, second, cosine, sine,
                    label="rotg")  # fmt: skip
    return Givens(first, second, cosine, sine)


def rotm(x: Any, y: Any, param: Any, *, space: Space = None) -> tuple[es.View, es.View]:
    """Apply a modified rotation: (x, y) = H (x, y), element by element.

    Parameters
    ----------
    x, y : View or array, shape (n,) or (n, k)
        Real floating-point numbers. Read and written; they must not overlap.
    param : View, array or list, shape (5,)
        A flag, and h11, h21, h12, h22, such as `rotmg` finds. Of the flag -1 H is what these are;
        of 0 its diagonal is 1; of 1 it has 1 and -1 beside the diagonal; of -2 it is the identity.
        Read by the launch.
    space : str or ExecutionSpace, optional
        Where to run; as for a launch if not given.

    Returns
    -------
    tuple of View
        `x` and `y`.

    Raises
    ------
    ViewError
        If shapes differ, a View is read-only or not of real floats, or Views overlap.
    SpaceAccessError

    Notes
    -----
    Asynchronous where the space is.

    Kokkos Kernels: https://kokkos.org/kokkos-kernels/docs/API/blas/blas1_rotm.html
    """
    first, second = _two("rotm", x, y)
    for name, view in (("x", first), ("y", second)):
        _check_real(view, f"rotm: {name}")
    H = as_view(param, "rotm: param", space)
    check_shape(H, "rotm: param", (5,), "the flag and h11, h21, h12, h22")
    _check_real(H, "rotm: param")
    where = es.space_for(first, second, H, space=space)
    kernel = _rotate_modified if first.rank == 1 else _rotate_columns_modified
    es.parallel_for(cells(first, where), kernel, first, second, H, label="rotm")
    return first, second


def rotmg(
    d1: Any, d2: Any, x1: Any, y1: Any, param: Any = None, *, space: Space = None
) -> ModifiedGivens:
    """The modified rotation that makes (sqrt(d1) x1, sqrt(d2) y1) to one with a 0.

    Parameters
    ----------
    d1, d2, x1 : float, or View or array of shape ()
        Squared scale factors of both vectors, and the first element. Views are read and written.
    y1 : float, or View or array of shape ()
        The second element. Read.
    param : View or array, shape (5,), optional
        Where the flag and H go, if the others are Views; a new one if not given.
    space : str or ExecutionSpace, optional
        Where to run; as for a launch if not given.

    Returns
    -------
    ModifiedGivens
        `d1`, `d2`, `x1` and `param`: numbers and an array for numbers, Views for Views.

    Raises
    ------
    MatrixError
        If some of them are numbers and others Views.
    ViewError
        If a View is read-only, of another shape, or not of real floats.
    SpaceAccessError

    Notes
    -----
    For Views asynchronous where the space is. Elements of `param` that the flag makes known are
    stored too: 0 where they are not used.

    Lawson, Hanson, Kincaid and Krogh, "Basic Linear Algebra Subprograms for Fortran usage", ACM
    TOMS 5 (1979).
    Kokkos Kernels: https://kokkos.org/kokkos-kernels/docs/API/blas/blas1_rotmg.html
    """
    if _are_numbers("rotmg", d1=d1, d2=d2, x1=x1, y1=y1):
        if param is not None:
            raise MatrixError("rotmg: param is given with numbers; expected it with Views.")
        found = np.zeros(5)
        a, b, x = (np.array(float(v)) for v in (d1, d2, x1))
        _modified_rotation(a, b, x, float(y1), found)
        return ModifiedGivens(float(a), float(b), float(x), found)
    named = {"d1": d1, "d2": d2, "x1": x1}
    views = [_scalar(v, f"rotmg: {n}") for n, v in named.items()]
    last = as_view(y1, "rotmg: y1", space)
    check_shape(last, "rotmg: y1", (), "a number")
    for name, view in zip((*named, "y1"), (*views, last), strict=True):
        _check_real(view, f"rotmg: {name}")
    given = () if param is None else (written(param, "rotmg: param", (1,)),)
    where = es.space_for(*views, last, *given, space=space)
    H = given[0] if given else es.View(5, views[0].dtype, label="param", space=where)
    check_shape(H, "rotmg: param", (5,), "the flag and h11, h21, h12, h22")
    _check_real(H, "rotmg: param")
    es.parallel_for(es.RangePolicy(1, space=where), _modified_rotation_of, *views, last, H,
                    label="rotmg")  # fmt: skip
    return ModifiedGivens(views[0], views[1], views[2], H)


def _are_numbers(what: str, **given: Any) -> bool:
    """Whether all are numbers; MatrixError if only some are."""
    kinds = {name: isinstance(v, int | float | complex | np.number) for name, v in given.items()}
    if len(set(kinds.values())) > 1:
        numbers = ", ".join(name for name, is_number in kinds.items() if is_number)
        raise MatrixError(
            f"{what}: {numbers} given as numbers, and others not; expected all to be numbers, or "
            f"all Views."
        )
    return all(kinds.values())


def _scalar(value: Any, what: str) -> es.View:
    view = written(value, what, (0,))
    _check_floats(view, what)
    return view


def _check_floats(view: es.View, what: str) -> None:
    if is_record(view.dtype) or kind_of(view.dtype) not in "fc":
        raise es.ViewError(
            f"{what}: View '{view.label}' is of {view.dtype}; expected real or complex floats."
        )


def _check_real(view: es.View, what: str) -> None:
    if kind_of(view.dtype) != "f":
        raise es.ViewError(f"{what}: View '{view.label}' is of {view.dtype}; expected real floats.")


def _two(what: str, x: Any, y: Any) -> tuple[es.View, es.View]:
    """Two vectors that are changed."""
    first, second = written(x, f"{what}: x"), written(y, f"{what}: y")
    check_shape(second, f"{what}: y", first.shape, "that of x")
    for name, view in (("x", first), ("y", second)):
        _check_floats(view, f"{what}: {name}")
    check_same_or_apart(f"{what}: x", first, y=second)
    return first, second


# -- kernels --------------------------------------------------------------------------------------


@es.function
def _turn(i: Any, j: Any, x: Any, y: Any, c: Any, s: Any) -> None:
    a = at(x, i, j)
    b = at(y, i, j)
    put(x, i, j, c * a + s * b)
    put(y, i, j, c * b - np.conjugate(s) * a)


def _rotate(i: int, x: Any, y: Any, c: Any, ck: Any, s: Any, sk: Any) -> None:
    _turn(i, 0, x, y, coefficient(c, ck, 0), coefficient(s, sk, 0))


def _rotate_columns(i: int, j: int, x: Any, y: Any, c: Any, ck: Any, s: Any, sk: Any) -> None:
    _turn(i, j, x, y, coefficient(c, ck, 0), coefficient(s, sk, 0))


@es.function
def _turn_modified(i: Any, j: Any, x: Any, y: Any, H: Any) -> None:
    flag = H[0]
    if flag == -2:
        return
    a = at(x, i, j)
    b = at(y, i, j)
    if flag == 0:
        put(x, i, j, a + H[3] * b)
        put(y, i, j, H[2] * a + b)
    elif flag == 1:
        put(x, i, j, H[1] * a + b)
        put(y, i, j, H[4] * b - a)
    else:
        put(x, i, j, H[1] * a + H[3] * b)
        put(y, i, j, H[2] * a + H[4] * b)


def _rotate_modified(i: int, x: Any, y: Any, H: Any) -> None:
    _turn_modified(i, 0, x, y, H)


def _rotate_columns_modified(i: int, j: int, x: Any, y: Any, H: Any) -> None:
    _turn_modified(i, j, x, y, H)


@es.function
def _rotation(a: Any, b: Any) -> Any:
    """r, z, c and s of real numbers."""
    r, z, c, s = a, b * 0, b * 0 + 1, b * 0
    if b != 0:
        if a == 0:
            r, z, c, s = b, a * 0 + 1, a * 0, a * 0 + 1
        else:
            large = max(abs(a), abs(b))
            sign = math.copysign(1.0, a if abs(a) > abs(b) else b)
            r = sign * (large * math.sqrt((a / large) * (a / large) + (b / large) * (b / large)))
            c = a / r
            s = b / r
            if abs(a) > abs(b):
                z = s
            elif c != 0:
                z = 1 / c
            else:
                z = a * 0 + 1
    return r, z, c, s


@es.function
def _complex_rotation(a: Any, b: Any) -> Any:
    """r, z, c and s of complex numbers; c is real."""
    size_a, size_b = abs(a), abs(b)
    large = max(size_a, size_b)
    r, c, s = a, size_a * 0 + 1, b * 0
    if size_b != 0:
        if size_a == 0:
            r, c, s = b * 0 + size_b, size_a * 0, np.conjugate(b) / size_b
        else:
            p, q = size_a / large, size_b / large
            norm = math.sqrt(p * p + q * q)
            turned = a / size_a
            r, c, s = turned * (large * norm), p / norm, turned * (np.conjugate(b) / large) / norm
    return r, b * 0, c, s


def _rotation_of(i: int, a: Any, b: Any, c: Any, s: Any) -> None:
    a[()], b[()], c[()], s[()] = _rotation(a[()], b[()])


def _complex_rotation_of(i: int, a: Any, b: Any, c: Any, s: Any) -> None:
    a[()], b[()], c[()], s[()] = _complex_rotation(a[()], b[()])


def _modified_rotation_of(i: int, d1: Any, d2: Any, x1: Any, y1: Any, param: Any) -> None:
    _modified_rotation(d1, d2, x1, y1[()], param)


@es.function
def _modified_rotation(d1: Any, d2: Any, x1: Any, y1: Any, param: Any) -> None:
    a, b, x = d1[()], d2[()], x1[()]
    flag = -1
    h11, h21, h12, h22 = x * 0, x * 0, x * 0, x * 0
    p2 = b * y1
    if a < 0:
        a, b, x = a * 0, b * 0, x * 0
    elif p2 == 0:
        flag = -2
    else:
        p1 = a * x
        q1, q2 = p1 * x, p2 * y1
        if abs(q1) > abs(q2):
            flag = 0
            h11, h22 = x * 0 + 1, x * 0 + 1
            h21, h12 = -y1 / x, p2 / p1
            u = 1 - h12 * h21
            if u > 0:
                a, b, x = a / u, b / u, x * u
            else:  # by rounding only
                flag = -1
                h11, h21, h12, h22 = x * 0, x * 0, x * 0, x * 0
                a, b, x = a * 0, b * 0, x * 0
        elif q2 < 0:
            a, b, x = a * 0, b * 0, x * 0
        else:
            flag = 1
            h21, h12 = x * 0 - 1, x * 0 + 1
            h11, h22 = p1 / p2, x / y1
            u = 1 + h11 * h22
            a, b, x = b / u, a / u, y1 * u
        # What is too large or too small is scaled by powers of two, and so is H.
        while a != 0 and np.isfinite(a) and (a <= 1 / (_GAMMA * _GAMMA) or a >= _GAMMA * _GAMMA):
            flag = -1
            if a <= 1 / (_GAMMA * _GAMMA):
                a, x, h11, h12 = a * _GAMMA * _GAMMA, x / _GAMMA, h11 / _GAMMA, h12 / _GAMMA
            else:
                a, x, h11, h12 = a / _GAMMA / _GAMMA, x * _GAMMA, h11 * _GAMMA, h12 * _GAMMA
        while (b != 0 and np.isfinite(b)
               and (abs(b) <= 1 / (_GAMMA * _GAMMA) or abs(b) >= _GAMMA * _GAMMA)):  # fmt: skip
            flag = -1
            if abs(b) <= 1 / (_GAMMA * _GAMMA):
                b, h21, h22 = b * _GAMMA * _GAMMA, h21 / _GAMMA, h22 / _GAMMA
            else:
                b, h21, h22 = b / _GAMMA / _GAMMA, h21 * _GAMMA, h22 * _GAMMA
    param[0] = flag
    if flag == 0:
        h11, h22 = x * 0, x * 0
    elif flag == 1:
        h21, h12 = x * 0, x * 0
    param[1], param[2], param[3], param[4] = h11, h21, h12, h22
    d1[()], d2[()], x1[()] = a, b, x
