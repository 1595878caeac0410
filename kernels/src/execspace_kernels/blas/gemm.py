"""gemm: C = beta C + alpha op(A) op(B); `matrix_products` has the algorithms."""

from __future__ import annotations

from typing import Any

import execspace as es

from ..arguments import Space, choice, number_of
from ..decisions import decided
from ..sparse.elements import check_method
from . import by_columns
from .matrix_products import ALGORITHMS, chosen, multiply
from .operands import check_zero, how_of_records, operand, product_dtype, product_target, shapes_of

__all__ = ["gemm"]

MODES = ("N", "T", "C", "H")


def gemm(
    A: Any,
    B: Any,
    out: Any = None,
    alpha: Any = 1,
    beta: Any = 0,
    mode_a: str = "N",
    mode_b: str = "N",
    *,
    algorithm: str = "auto",
    vendor: bool | None = None,
    space: Space = None,
) -> es.View:
    """C = beta C + alpha op(A) op(B).

    Parameters
    ----------
    A : View or array, shape (m, k), or (k, m) for modes "T" and "H"
        Numbers or records, in any layout and with any strides. Read.
    B : View or array, shape (k, n), or (n, k) for modes "T" and "H"
        Numbers or records. Read; it may be `A`.
    out : View or array, shape (m, n), optional
        C: written, and read where `beta` is not 0. Without it a new View of the common dtype.
    alpha, beta : number
        Complex ones for complex `out` only.
    mode_a, mode_b : {"N", "T", "C", "H"}
        op(A) is A, its transpose, its conjugate, or the transpose of that.
    algorithm : {"auto", "teams", "panels", "elements"}
        "teams": a team for each block of C, through scratch memory and registers. "panels": copies
        of A and B in the order in which registers take them. "elements": a work item for each
        element of C. "auto": "teams" on devices, "panels" on hosts; "elements" for records, up to
        32768 products of elements, and on devices without teams.
    vendor : bool, optional
        True: the routine of a vendor's library, which "auto" takes where there is one and it was
        measured to be faster. False: never.
    space : str or ExecutionSpace, optional
        Where to run; as for a launch if not given.

    Returns
    -------
    View
        `out`, or the new one.

    Raises
    ------
    MatrixError
        If a mode or `algorithm` is not known or not for this product, `beta` is given without
        `out`, records lack an operator, or `vendor` is True and there is no routine for it: it
        says why.
    ViewError
        If shapes do not fit, or `out` is read-only, overlaps `A` or `B`, or cannot hold the
        result.
    SpaceAccessError

    Notes
    -----
    Asynchronous where the space is. Sums are of the common type of A and B, those of float16 and
    bfloat16 of float32, and the same to the bit in each run on a space. Where `beta` is 0, what
    `out` held does not count, NaN included. "panels" takes memory for a copy of A and of B.

    Kokkos Kernels: https://kokkos.org/kokkos-kernels/docs/API/blas/blas3_gemm.html
    """
    choice(mode_a, "gemm: mode_a", MODES)
    choice(mode_b, "gemm: mode_b", MODES)
    choice(algorithm, "gemm: algorithm", ALGORITHMS)
    first, second = operand(A, "gemm: A", space, (2,)), operand(B, "gemm: B", space, (2,))
    left = first.T if mode_a in ("T", "H") else first
    right = second.T if mode_b in ("T", "H") else second
    if left.shape[1] != right.shape[0]:
        raise es.ViewError(
            f"gemm: op(A) has shape {left.shape} and op(B) {right.shape}; expected as many columns "
            f"as rows."
        )
    alpha, beta = number_of(alpha, "gemm: alpha"), number_of(beta, "gemm: beta")
    kind = product_dtype(first.dtype, second.dtype, "gemm")
    check_zero(kind)
    shape = left.shape[0], right.shape[1]
    C, where = product_target(
        "gemm", out, shape, kind, alpha, beta, second, space, A=first, B=second
    )  # fmt: skip
    for view, mode, name in ((first, mode_a, "mode_a"), (second, mode_b, "mode_b")):
        if mode in ("C", "H"):
            check_method("gemm", view.dtype, f"{name} {mode!r}", "conjugate")
    forms = by_columns.product(first, mode_a, second, mode_b, C)
    library, args = by_columns.chosen_library(
        "gemm", vendor, where, lambda: f"{shapes_of(left)}+{shapes_of(right)}", forms, alpha, beta,
        algorithm=algorithm,
    )  # fmt: skip
    if library is not None:
        library.gemm(*args)
        return C
    name, why = chosen("gemm", algorithm, left, right, kind, where)
    decided("gemm", name, why)
    multiply(
        "gemm", name, left, right, C, alpha, beta, where, kind=kind,
        conj_a=_conjugated(first, mode_a), conj_b=_conjugated(second, mode_b),
        how=how_of_records("gemm", kind, alpha, beta),
    )  # fmt: skip
    return C


def _conjugated(view: es.View, mode: str) -> str:
    return "yes" if mode in ("C", "H") and view.dtype.kind not in "fiu" else "no"
