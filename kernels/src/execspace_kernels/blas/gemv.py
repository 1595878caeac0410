"""gemv: y = beta y + alpha op(A) x for a dense matrix; `products` has the algorithms."""

from __future__ import annotations

from typing import Any

import execspace as es

from ..arguments import Space, choice, number_of
from ..decisions import decided
from ..sparse.elements import check_method
from . import by_columns
from .operands import (
    check_shape,
    check_zero,
    how_of_records,
    operand,
    product_dtype,
    product_target,
    shapes_of,
)
from .products import ALGORITHMS, chosen, multiply

__all__ = ["gemv"]

MODES = ("N", "T", "C", "H")


def gemv(
    A: Any,
    x: Any,
    out: Any = None,
    alpha: Any = 1,
    beta: Any = 0,
    mode: str = "N",
    *,
    algorithm: str = "auto",
    vendor: bool | None = None,
    space: Space = None,
) -> es.View:
    """y = beta y + alpha op(A) x.

    Parameters
    ----------
    A : View or array, shape (m, n)
        Numbers or records, in any layout and with any strides. Read.
    x : View or array, shape (n,), or (m,) for modes "T" and "H"
        Numbers or records. Read.
    out : View or array, shape (m,), or (n,) for modes "T" and "H", optional
        y: written, and read where `beta` is not 0. Without it a new View of the common dtype.
    alpha, beta : number
        Complex ones for complex `out` only.
    mode : {"N", "T", "C", "H"}
        op(A) is A, its transpose, its conjugate, or the transpose of that.
    algorithm : {"auto", "teams", "columns", "rows"}
        "teams": a team takes four rows of op(A). "columns": a work item takes a row within some
        columns, on hosts a block of rows. "rows": a work item for each row.
        "auto": "teams" where elements of a row lie side by side, else "columns", each of which
        reads A once; "rows" for records, and on devices for rows of few elements.
    vendor : bool, optional
        True: the routine of a vendor's library, which "auto" takes where it was measured to be
        faster. False: never.
    space : str or ExecutionSpace, optional
        Where to run; as for a launch if not given.

    Returns
    -------
    View
        `out`, or the new one.

    Raises
    ------
    MatrixError
        If `mode` or `algorithm` is not known or not for this product, `beta` is given without
        `out`, records lack an operator, or `vendor` is True and there is no routine for it: it
        says why.
    ViewError
        If shapes do not fit, or `out` is read-only, overlaps `A` or `x`, or cannot hold the
        result.
    SpaceAccessError

    Notes
    -----
    Asynchronous where the space is. Sums are of the common type of A and x; results have the same
    bits in each run on a space. Where `beta` is 0, what `out` held does not count, NaN included;
    an `alpha` of 0 is multiplied by as any other, unlike in the reference BLAS.

    Kokkos Kernels: https://kokkos.org/kokkos-kernels/docs/API/blas/blas2_gemv.html
    """
    choice(mode, "gemv: mode", MODES)
    choice(algorithm, "gemv: algorithm", ALGORITHMS)
    matrix, source = operand(A, "gemv: A", space, (2,)), operand(x, "gemv: x", space, (1,))
    B = matrix.T if mode in ("T", "H") else matrix
    m, n = B.shape
    check_shape(source, "gemv: x", (n,), f"for mode {mode!r} of a matrix of {matrix.shape}")
    alpha, beta = number_of(alpha, "gemv: alpha"), number_of(beta, "gemv: beta")
    kind = product_dtype(matrix.dtype, source.dtype, "gemv")
    check_zero(kind)
    y, where = product_target(
        "gemv", out, (m,), kind, alpha, beta, source, space, A=matrix, x=source
    )  # fmt: skip
    conj = "yes" if mode in ("C", "H") and kind.kind not in "fiu" else "no"
    if conj == "yes":
        check_method("gemv", matrix.dtype, f"mode {mode!r}", "conjugate")
    forms = by_columns.product_with_vector(matrix, mode, source, y)
    library, args = by_columns.chosen_library(
        "gemv", vendor, where, lambda: shapes_of(B), forms, alpha, beta, algorithm=algorithm
    )
    if library is not None:
        library.gemv(*args)
        return y
    name, why = chosen(algorithm, B, kind, where)
    decided("gemv", name, why)
    how = how_of_records("gemv", kind, alpha, beta)
    multiply("gemv", name, B, source, y, alpha, beta, where, conj, how=how)
    return y
