"""Updates of a dense matrix by vectors: ger, geru and gerc; of a triangle syr, her, syr2 and her2.

Each is one launch that reads and writes the matrix, or its triangle, once. On hosts a work item
takes a row or a column, whichever lies side by side; two of a triangle, a long one with a short
one, so that all have as much to do.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import execspace as es

from ..arguments import MANY, Space, choice, number_of
from ..decisions import is_explained, only
from ..errors import MatrixError
from ..sparse.elements import check_method, how_to_scale, is_record, scaled, value_of
from . import by_columns
from .elements import conjugate
from .operands import (
    cells,
    check_apart,
    check_shape,
    check_square,
    check_stores,
    factor,
    operand,
    product_dtype,
    runs_along,
    scaled_dtype,
    shapes_of,
    sum_dtype,
    written,
)

__all__ = ["TRIANGLES", "ger", "gerc", "geru", "her", "her2", "syr", "syr2"]

TRIANGLES = ("L", "U")


def ger(
    alpha: Any, x: Any, y: Any, A: Any, *, vendor: bool | None = None, space: Space = None
) -> es.View:  # fmt: skip
    """A = A + alpha x y^T.

    Parameters
    ----------
    alpha : number
    x : View or array, shape (m,)
        Numbers or records. Read.
    y : View or array, shape (n,)
        Numbers or records. Read; it may be `x`.
    A : View or array, shape (m, n)
        In any layout and with any strides. Read and written.
    vendor : bool, optional
        True: the routine of a vendor's library, which is taken without being asked for where it
        was measured to be faster. False: never.
    space : str or ExecutionSpace, optional
        Where to run; as for a launch if not given.

    Returns
    -------
    View
        `A`.

    Raises
    ------
    MatrixError
        If `alpha` is no number, records lack an operator, or `vendor` is True and there is no
        routine for it.
    ViewError
        If shapes do not fit, or `A` is read-only, overlaps a vector, or cannot hold the numbers.
    SpaceAccessError

    Notes
    -----
    Asynchronous where the space is.

    Kokkos Kernels: https://kokkos.org/kokkos-kernels/docs/API/blas/blas2_ger.html
    """
    return _outer("ger", alpha, x, y, A, "no", vendor, space)


def geru(
    alpha: Any, x: Any, y: Any, A: Any, *, vendor: bool | None = None, space: Space = None
) -> es.View:  # fmt: skip
    """A = A + alpha x y^T: `ger` by the name that BLAS has for complex numbers.

    Parameters
    ----------
    alpha, x, y, A, vendor, space
        As those of `ger`.

    Returns
    -------
    View
        `A`.

    Raises
    ------
    MatrixError
    ViewError
    SpaceAccessError

    Notes
    -----
    As of `ger`.
    """
    return _outer("geru", alpha, x, y, A, "no", vendor, space)


def gerc(
    alpha: Any, x: Any, y: Any, A: Any, *, vendor: bool | None = None, space: Space = None
) -> es.View:  # fmt: skip
    """A = A + alpha x y^H.

    Parameters
    ----------
    alpha, x, y, A, vendor, space
        As those of `ger`; of records `y` needs a method `conjugate`.

    Returns
    -------
    View
        `A`.

    Raises
    ------
    MatrixError
    ViewError
    SpaceAccessError

    Notes
    -----
    As of `ger`.
    """
    return _outer("gerc", alpha, x, y, A, "yes", vendor, space)


def _outer(
    what: str, alpha: Any, x: Any, y: Any, A: Any, conj: str, vendor: bool | None, space: Space
) -> es.View:
    matrix = written(A, f"{what}: A", (2,))
    first, second = (operand(v, f"{what}: {n}", space, (1,)) for v, n in ((x, "x"), (y, "y")))
    m, n = matrix.shape
    check_shape(first, f"{what}: x", (m,), f"for a matrix of {m} x {n}")
    check_shape(second, f"{what}: y", (n,), f"for a matrix of {m} x {n}")
    alpha = number_of(alpha, f"{what}: alpha")
    kind = product_dtype(first.dtype, second.dtype, what)
    dtype = scaled_dtype(factor(alpha, f"{what}: alpha", ()), kind)
    check_stores(f"{what}: A", matrix, sum_dtype(dtype, matrix.dtype, what))
    check_apart(f"{what}: A", matrix, x=first, y=second)
    scaling = how_to_scale(kind, alpha)
    if scaling == "scaled":
        check_method(what, kind, "alpha", "__rmul__")
    if second.dtype.kind != "c" and not is_record(second.dtype):
        conj = "no"
    if conj == "yes":
        check_method(what, second.dtype, "y", "conjugate")
    where = es.space_for(matrix, first, second, space=space)
    forms = by_columns.outer_product(what, first, second, matrix)
    library, args = by_columns.chosen_library(
        what, vendor, where, lambda: shapes_of(matrix), forms, alpha
    )
    if library is not None:
        getattr(library, what)(*args)
        return matrix
    if is_explained():
        only(what, "elements")
    if where.concurrency > MANY:
        es.parallel_for(
            cells(matrix, where), _add_outer, alpha, first, second, matrix, scaling, conj,
            label=what,
        )  # fmt: skip
        return matrix
    flipped = runs_along(matrix) == "left"
    B = matrix.T if flipped else matrix
    es.parallel_for(
        es.RangePolicy(B.shape[0], space=where), _add_to_row, alpha, first, second, B, scaling,
        conj, "yes" if flipped else "no", label=what,
    )  # fmt: skip
    return matrix


def syr(alpha: Any, x: Any, A: Any, uplo: str = "L", *, space: Space = None) -> es.View:
    """A = A + alpha x x^T, of one triangle of a symmetric matrix.

    Parameters
    ----------
    alpha : number
    x : View or array, shape (n,)
        Numbers. Read.
    A : View or array, shape (n, n)
        In any layout and with any strides. The triangle is read and written, with its diagonal;
        the rest is not.
    uplo : {"L", "U"}
        The lower or the upper triangle.
    space : str or ExecutionSpace, optional
        Where to run; as for a launch if not given.

    Returns
    -------
    View
        `A`.

    Raises
    ------
    MatrixError
        If `alpha` is no number, `uplo` is not known, or `A` is not square.
    ViewError
        If shapes do not fit, or `A` is read-only, overlaps `x`, or cannot hold the numbers; for
        records.
    SpaceAccessError

    Notes
    -----
    Asynchronous where the space is. For complex numbers it is symmetric, not Hermitian.

    Kokkos Kernels: https://kokkos.org/kokkos-kernels/docs/API/blas/blas2_syr.html
    """
    return _symmetric("syr", alpha, x, None, A, uplo, space)


def her(alpha: Any, x: Any, A: Any, uplo: str = "L", *, space: Space = None) -> es.View:
    """A = A + alpha x x^H, of one triangle of a Hermitian matrix.

    Parameters
    ----------
    alpha : float
        Real.
    x, A, uplo, space
        As those of `syr`. Imaginary parts on the diagonal do not count, and become 0.

    Returns
    -------
    View
        `A`.

    Raises
    ------
    MatrixError
        As of `syr`, and if `alpha` is complex.
    ViewError
    SpaceAccessError

    Notes
    -----
    As of `syr`, which it is for real numbers.
    """
    if np.iscomplexobj(alpha):
        raise MatrixError(f"her: alpha={alpha!r}; expected a real number.")
    return _symmetric("her", alpha, x, None, A, uplo, space)


def syr2(alpha: Any, x: Any, y: Any, A: Any, uplo: str = "L", *, space: Space = None) -> es.View:
    """A = A + alpha x y^T + alpha y x^T, of one triangle of a symmetric matrix.

    Parameters
    ----------
    alpha : number
    x, y : View or array, shape (n,)
        Numbers. Read.
    A, uplo, space
        As those of `syr`.

    Returns
    -------
    View
        `A`.

    Raises
    ------
    MatrixError
    ViewError
    SpaceAccessError

    Notes
    -----
    As of `syr`.

    Kokkos Kernels: https://kokkos.org/kokkos-kernels/docs/API/blas/blas2_syr2.html
    """
    return _symmetric("syr2", alpha, x, y, A, uplo, space)


def her2(alpha: Any, x: Any, y: Any, A: Any, uplo: str = "L", *, space: Space = None) -> es.View:
    """A = A + alpha x y^H + conj(alpha) y x^H, of one triangle of a Hermitian matrix.

    Parameters
    ----------
    alpha : number
    x, y : View or array, shape (n,)
        Numbers. Read.
    A, uplo, space
        As those of `syr`. Imaginary parts on the diagonal do not count, and become 0.

    Returns
    -------
    View
        `A`.

    Raises
    ------
    MatrixError
    ViewError
    SpaceAccessError

    Notes
    -----
    As of `syr`.
    """
    return _symmetric("her2", alpha, x, y, A, uplo, space)


def _symmetric(
    what: str, alpha: Any, x: Any, y: Any, A: Any, uplo: str, space: Space
) -> es.View:  # fmt: skip
    choice(uplo, f"{what}: uplo", TRIANGLES)
    matrix = written(A, f"{what}: A", (2,))
    check_square(matrix, what)
    vectors = [operand(x, f"{what}: x", space, (1,))]
    if y is not None:
        vectors.append(operand(y, f"{what}: y", space, (1,)))
    alpha = number_of(alpha, f"{what}: alpha")
    by = factor(alpha, f"{what}: alpha", ())
    for name, view in zip("xy", vectors, strict=False):
        check_shape(view, f"{what}: {name}", matrix.shape[:1], f"for A of {matrix.shape}")
        if is_record(view.dtype) or is_record(matrix.dtype):
            raise es.ViewError(f"{what}: there are records; expected numbers.")
        check_stores(f"{what}: A", matrix, scaled_dtype(by, view.dtype))
        check_apart(f"{what}: A", matrix, **{name: view})
    where = es.space_for(matrix, *vectors, space=space)
    # Rows of B lie side by side; its elements are those of A, with indices exchanged if flipped.
    flipped = runs_along(matrix) == "left"
    B = matrix.T if flipped else matrix
    is_lower = (uplo == "L") != flipped
    first, last = vectors[0], vectors[-1]
    n = matrix.shape[0]
    is_host = where.concurrency <= MANY
    every: Any = es.RangePolicy(-(-n // 2), space=where) if is_host else cells(B, where)
    es.parallel_for(
        every, _add_to_two_rows if is_host else _add_to_one, B, alpha, first, last, what,
        "lower" if is_lower else "upper", "yes" if flipped else "no", label=what,
    )  # fmt: skip
    return matrix


# -- kernels --------------------------------------------------------------------------------------


def _add_outer(
    i: int, j: int, alpha: Any, x: Any, y: Any, A: Any, scaling: Any, conj: Any
) -> None:  # fmt: skip
    product = value_of(x[i]) * conjugate(value_of(y[j]), conj)
    A[i, j] += scaled(alpha, product, scaling)


def _add_to_row(
    p: int, alpha: Any, x: Any, y: Any, B: Any, scaling: Any, conj: Any, flipped: Any
) -> None:  # fmt: skip
    for q in range(B.extent(1)):
        if flipped == "yes":
            product = value_of(x[q]) * conjugate(value_of(y[p]), conj)
        else:
            product = value_of(x[p]) * conjugate(value_of(y[q]), conj)
        B[p, q] += scaled(alpha, product, scaling)


@es.function
def _term(what: Any, alpha: Any, x: Any, y: Any, i: Any, j: Any) -> Any:
    """What is added to element (i, j) of A."""
    if what == "syr":
        return alpha * x[i] * x[j]
    elif what == "her":
        return alpha * x[i] * np.conjugate(x[j])
    elif what == "syr2":
        return alpha * (x[i] * y[j] + y[i] * x[j])
    else:
        return alpha * x[i] * np.conjugate(y[j]) + np.conjugate(alpha) * y[i] * np.conjugate(x[j])


@es.function
def _add(B: Any, p: Any, q: Any, alpha: Any, x: Any, y: Any, what: Any, flipped: Any) -> None:
    if flipped == "yes":
        value = B[p, q] + _term(what, alpha, x, y, q, p)
    else:
        value = B[p, q] + _term(what, alpha, x, y, p, q)
    B[p, q] = value
    if what == "her" or what == "her2":
        if p == q:
            B[p, p] = np.real(value)


def _add_to_one(
    p: int, q: int, B: Any, alpha: Any, x: Any, y: Any, what: Any, shape: Any, flipped: Any
) -> None:
    if shape == "lower":
        if q <= p:
            _add(B, p, q, alpha, x, y, what, flipped)
    else:
        if q >= p:
            _add(B, p, q, alpha, x, y, what, flipped)


def _add_to_two_rows(
    pair: int, B: Any, alpha: Any, x: Any, y: Any, what: Any, shape: Any, flipped: Any
) -> None:
    n = B.extent(0)
    for half in range(2):
        p = pair if half == 0 else n - 1 - pair
        if half == 0 or p > pair:
            first = 0 if shape == "lower" else p
            last = p + 1 if shape == "lower" else n
            for q in range(first, last):
                _add(B, p, q, alpha, x, y, what, flipped)
