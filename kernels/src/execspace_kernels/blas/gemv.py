"""gemv: y = beta y + alpha op(A) x for a dense matrix; `products` has the algorithms."""

from __future__ import annotations

from typing import Any

import numpy as np

import execspace as es

from ..arguments import Space, as_view, check_beta, choice, number_of, result
from ..decisions import decided
from ..sparse.elements import check_method, is_record
from ..vendors import chosen_vendor
from .operands import (
    check_apart,
    check_shape,
    check_stores,
    check_zero,
    factor,
    operand,
    product_dtype,
    scaled_dtype,
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
    check_beta("gemv", out, beta)
    kind = product_dtype(matrix.dtype, source.dtype, "gemv")
    check_zero(kind)
    dtype = scaled_dtype(factor(alpha, "gemv: alpha", ()), kind)
    used = (matrix, source) if out is None else (matrix, source, as_view(out, "gemv: out"))
    where = es.space_for(*used, space=space)
    y = result(out, "gemv", (m,), dtype, where, source)
    if out is not None:
        check_stores("gemv: out", y, dtype)
        if beta != 0:
            by = factor(beta, "gemv: beta", ())
            check_stores("gemv: out", y, scaled_dtype(by, y.dtype))
        check_apart("gemv: out", y, A=matrix, x=source)
    conj = "yes" if mode in ("C", "H") and kind.kind not in "fiu" else "no"
    if conj == "yes":
        check_method("gemv", matrix.dtype, f"mode {mode!r}", "conjugate")
    library = chosen_vendor(
        "gemv", vendor, where, lambda: shapes_of(B), matrix, source, y, alpha, beta, mode,
        algorithm=algorithm,
    )  # fmt: skip
    if library is not None:
        library.gemv(matrix, source, y, alpha, beta, mode)
        return y
    name, why = chosen(algorithm, B, kind, where)
    decided("gemv", name, why)
    how = _how_of_records(kind, alpha, beta) if is_record(kind) else None
    multiply("gemv", name, B, source, y, alpha, beta, where, conj, how=how)
    return y


def _how_of_records(kind: np.dtype[Any], alpha: Any, beta: Any) -> str:
    """What `keep` does, without factors where they are 1."""
    if alpha == 1 and beta in (0, 1):
        return "put" if beta == 0 else "more"
    check_method("gemv", kind, "alpha or beta", "__rmul__")
    return "set" if beta == 0 else "add"
