"""Products of a matrix with its own transpose, of which a triangle is computed: syrk and herk.

`matrix_products` has the algorithms; blocks of C without elements of the triangle are left out.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import execspace as es

from ..arguments import Space, as_view, check_beta, choice, number_of, result
from ..decisions import decided
from ..errors import MatrixError
from . import by_columns
from .matrix_products import ALGORITHMS, chosen, multiply
from .operands import (
    check_apart,
    check_numbers,
    check_stores,
    factor,
    operand,
    scaled_dtype,
    shapes_of,
)
from .updates import TRIANGLES

__all__ = ["herk", "syrk"]


def syrk(
    A: Any,
    out: Any = None,
    alpha: Any = 1,
    beta: Any = 0,
    uplo: str = "L",
    mode: str = "N",
    *,
    algorithm: str = "auto",
    vendor: bool | None = None,
    space: Space = None,
) -> es.View:
    """C = beta C + alpha A A^T, or A^T A, of one triangle.

    Parameters
    ----------
    A : View or array, shape (n, k), or (k, n) for mode "T"
        Numbers, in any layout and with any strides. Read.
    out : View or array, shape (n, n), optional
        C: its triangle is written, and read where `beta` is not 0. Without it a new View, whose
        other triangle is of zeros.
    alpha, beta : number
        Complex ones for complex `out` only.
    uplo : {"L", "U"}
        The triangle. The other one is neither read nor written.
    mode : {"N", "T"}
        "N" for A A^T, "T" for A^T A.
    algorithm, vendor, space
        As those of `gemm`.

    Returns
    -------
    View
        `out`, or the new one.

    Raises
    ------
    MatrixError
        If an option is not known, or `vendor` is True and there is no routine for it.
    ViewError
        If shapes do not fit, or `out` is read-only, overlaps `A`, or cannot hold the result; for
        records.
    SpaceAccessError

    Notes
    -----
    Asynchronous where the space is. Sums are as those of `gemm`.

    Kokkos Kernels has no syrk; BLAS: https://www.netlib.org/lapack/explore-html/
    """
    return _rank_k("syrk", A, out, alpha, beta, uplo, mode, algorithm, vendor, space)


def herk(
    A: Any,
    out: Any = None,
    alpha: Any = 1,
    beta: Any = 0,
    uplo: str = "L",
    mode: str = "N",
    *,
    algorithm: str = "auto",
    vendor: bool | None = None,
    space: Space = None,
) -> es.View:
    """C = beta C + alpha A A^H, or A^H A, of one triangle of a Hermitian matrix.

    Parameters
    ----------
    A, out, uplo, algorithm, vendor, space
        As those of `syrk`.
    alpha, beta : float
        Real, so that C stays Hermitian. The imaginary part of its diagonal becomes 0.
    mode : {"N", "H"}
        "N" for A A^H, "H" for A^H A.

    Returns
    -------
    View
        `out`, or the new one.

    Raises
    ------
    MatrixError
        As of `syrk`, and for complex `alpha` or `beta`.
    ViewError
        As of `syrk`.
    SpaceAccessError

    Notes
    -----
    As of `syrk`.
    """
    for name, value in (("alpha", alpha), ("beta", beta)):
        if np.iscomplexobj(value):
            raise MatrixError(f"herk: {name}={value!r}; expected a real number.")
    return _rank_k("herk", A, out, alpha, beta, uplo, mode, algorithm, vendor, space)


def _rank_k(
    what: str, A: Any, out: Any, alpha: Any, beta: Any, uplo: str, mode: str, algorithm: str,
    vendor: bool | None, space: Space,
) -> es.View:  # fmt: skip
    is_hermitian = what == "herk"
    choice(uplo, f"{what}: uplo", TRIANGLES)
    choice(mode, f"{what}: mode", ("N", "H" if is_hermitian else "T"))
    choice(algorithm, f"{what}: algorithm", ALGORITHMS)
    matrix = operand(A, f"{what}: A", space, (2,))
    check_numbers(what, matrix)
    left = matrix if mode == "N" else matrix.T
    alpha, beta = number_of(alpha, f"{what}: alpha"), number_of(beta, f"{what}: beta")
    check_beta(what, out, beta)
    kind = matrix.dtype
    dtype = scaled_dtype(factor(alpha, f"{what}: alpha", ()), kind)
    used = (matrix,) if out is None else (matrix, as_view(out, f"{what}: out"))
    where = es.space_for(*used, space=space)
    shape = (left.shape[0],) * 2
    if out is None:
        out = es.View(shape, dtype, label=what, space=where)
    C = result(out, what, shape, dtype, where, matrix)
    check_stores(f"{what}: out", C, dtype)
    if beta != 0:
        check_stores(f"{what}: out", C, scaled_dtype(factor(beta, "beta", ()), C.dtype))
    check_apart(f"{what}: out", C, A=matrix)
    forms = by_columns.update(matrix, mode, C, uplo, is_hermitian)
    library, args = by_columns.chosen_library(
        what, vendor, where, lambda: shapes_of(left), forms, alpha, beta, algorithm=algorithm
    )
    if library is not None:
        getattr(library, what)(*args)
        return C
    name, why = chosen(what, algorithm, left, left.T, kind, where)
    decided(what, name, why)
    conj = ["no", "no"]
    if is_hermitian and kind.kind == "c":
        conj[mode == "N"] = "yes"
    multiply(
        what, name, left, left.T, C, alpha, beta, where, kind=kind, conj_a=conj[0], conj_b=conj[1],
        part="lower" if uplo == "L" else "upper",
        hermitian="yes" if is_hermitian and C.dtype.kind == "c" else "no",
    )  # fmt: skip
    return C
