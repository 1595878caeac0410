"""QR factors of one dense matrix, and products with Q.

By panels of columns: a team makes the reflectors of a panel, whose product is I - V T V^H, and
products apply that to what is left (Schreiber and Van Loan, "A Storage-Efficient WY Representation
for Products of Householder Transformations", 1989). Golub and Van Loan, "Matrix Computations", 4th
edition, 5.1 and 5.2.
"""

from __future__ import annotations

from typing import Any

import execspace as es

from ..arguments import Space, choice, result
from ..batched import serial
from ..blas.dot_gemm import dot_gemm
from ..blas.gemm import gemm
from ..blas.operands import cells, check_apart
from ..decisions import decided
from ..errors import MatrixError
from ..vendors import chosen_vendor
from .operands import (
    changed,
    check_alike,
    columns_of,
    matrix,
    right_sides,
    shapes_of,
    tau_of,
)
from .reflectors import factor_panel

__all__ = ["geqrf", "orgqr", "ormqr"]

_SMALL = 64  # rows and columns of a matrix whose reflectors are applied one by one
_PANEL = 32  # columns of a panel, if there are more than these


def geqrf(
    A: Any, *, vendor: bool | None = None, space: Space = None
) -> es.View:  # fmt: skip
    """A = Q R, in place; LAPACK's geqrf.

    Parameters
    ----------
    A : View or array, shape (m, n)
        float32, float64, complex64 or complex128, in any layout and with any strides. Read and
        written: R in the upper triangle, below it the reflectors whose product Q is.
    vendor : bool, optional
        True: the routine of a vendor's library, which is taken without being asked for where it
        was measured to be faster. False: never.
    space : str or ExecutionSpace, optional
        Where to run; as for a launch if not given.

    Returns
    -------
    View, shape (min(m, n),)
        `tau`, the factors of the reflectors.

    Raises
    ------
    MatrixError
        If `vendor` is True and there is no routine for it.
    ViewError
        If `A` is no matrix of such numbers, or read-only.
    SpaceAccessError

    Notes
    -----
    Asynchronous where the space is, except for libraries of hosts. Results have the same bits in
    each run on a space.

    LAPACK: https://www.netlib.org/lapack/explore-html/
    """
    A = changed(A, "geqrf: A")
    where = es.space_for(A, space=space)
    tau = es.View(min(A.shape), A.dtype, label="tau", space=where, initialize=False)
    library = chosen_vendor("geqrf", vendor, where, lambda: shapes_of(A), A, tau)
    if library is not None:
        library.geqrf(A, tau)
    else:
        factor(A, tau, where)
    return tau


def ormqr(
    A: Any, tau: Any, B: Any, mode: str = "N", *, vendor: bool | None = None, space: Space = None
) -> es.View:  # fmt: skip
    """B = Q B, or Q^H B with mode "H", with what `geqrf` made, in place; LAPACK's ormqr, unmqr.

    Parameters
    ----------
    A : View or array, shape (m, n)
        The reflectors. Read.
    tau : View or array, shape (min(m, n),)
        Their factors. Read.
    B : View or array, shape (m,) or (m, k)
        Of the same type as `A`. Read and written.
    mode : {"N", "H", "T"}
        "T" is "H" for real numbers, and is refused for complex ones.
    vendor, space
        As those of `geqrf`.

    Returns
    -------
    View
        `B`.

    Raises
    ------
    MatrixError
        If `mode` is not known or not for such numbers, or `vendor` is True and there is no routine
        for it.
    ViewError
        If shapes or types do not fit, or `B` is read-only or overlaps `A` or `tau`.
    SpaceAccessError

    Notes
    -----
    Asynchronous where the space is, except for libraries of hosts.
    """
    choice(mode, "ormqr: mode", ("N", "H", "T"))
    A = matrix(A, "ormqr: A", space)
    factors = tau_of(tau, "ormqr: tau", A, space)
    out = right_sides(B, "ormqr: B", A.shape[0])
    columns = columns_of(out)
    check_alike("ormqr", A=A, tau=factors, B=columns)
    check_apart("ormqr: B", columns, A=A, tau=factors)
    if mode == "T" and A.dtype.kind == "c":
        raise MatrixError("ormqr: mode='T' with complex numbers; expected 'N' or 'H'.")
    own = "N" if mode == "N" else "H"
    where = es.space_for(A, factors, columns, space=space)
    library = chosen_vendor(
        "ormqr", vendor, where, lambda: shapes_of(A), A, factors, columns, own
    )  # fmt: skip
    if library is not None:
        library.ormqr(A, factors, columns, own)
    elif columns.size and factors.size:
        _apply(A, factors, columns, own, where)
    return out


def orgqr(
    A: Any, tau: Any, out: Any = None, *, vendor: bool | None = None, space: Space = None
) -> es.View:  # fmt: skip
    """Q with what `geqrf` made: LAPACK's orgqr, ungqr, but not in place.

    Parameters
    ----------
    A : View or array, shape (m, n)
        The reflectors. Read.
    tau : View or array, shape (min(m, n),)
        Their factors. Read.
    out : View or array, shape (m, k), optional
        Where the first k columns of Q go, min(m, n) <= k <= m. Without it a new View of min(m, n)
        columns.
    vendor, space
        As those of `geqrf`.

    Returns
    -------
    View
        `out`, or the new one.

    Raises
    ------
    MatrixError
        If `vendor` is True and there is no routine for it.
    ViewError
        If shapes or types do not fit, or `out` is read-only or overlaps `A` or `tau`.
    SpaceAccessError

    Notes
    -----
    Asynchronous where the space is, except for libraries of hosts.
    """
    A = matrix(A, "orgqr: A", space)
    factors = tau_of(tau, "orgqr: tau", A, space)
    (m, n), used = A.shape, (A, factors)
    if out is None:
        where = es.space_for(*used, space=space)
        Q = result(None, "orgqr", (m, min(m, n)), A.dtype, where, A)
        check_alike("orgqr", A=A, tau=factors)
    else:
        Q = changed(out, "orgqr: out")
        if Q.shape[0] != m or not min(m, n) <= Q.shape[1] <= m:
            raise es.ViewError(
                f"orgqr: out: View '{Q.label}' has shape {Q.shape}; expected ({m}, k) with k from "
                f"{min(m, n)} to {m}, for A of {A.shape}."
            )
        check_alike("orgqr", A=A, tau=factors, out=Q)
        check_apart("orgqr: out", Q, A=A, tau=factors)
        where = es.space_for(*used, Q, space=space)
    library = chosen_vendor("orgqr", vendor, where, lambda: shapes_of(A), A, factors, Q)
    if library is not None:
        library.orgqr(A, factors, Q)
    elif Q.size:
        form(A, factors, Q, where)
    return Q


def factor(A: es.View, tau: es.View, space: es.ExecutionSpace) -> None:
    """Reflectors and R in place of A, without a library."""
    m, n = A.shape
    if n <= _SMALL:
        decided("geqrf", "panel", f"there are no more than {_SMALL} columns")
        if tau.size:
            factor_panel(A, tau, space)
        return
    decided("geqrf", "panels", f"there are more than {_SMALL} columns")
    for first in range(0, min(m, n), _PANEL):
        last = min(first + _PANEL, m, n)
        panel = es.subview(A, (first, m), (first, last))
        factors = es.subview(tau, (first, last))
        factor_panel(panel, factors, space)
        if last < n:
            right = es.subview(A, (first, m), (last, n))
            _Panel(panel, factors, space).apply(right, "H")


def form(A: es.View, tau: es.View, Q: es.View, space: es.ExecutionSpace) -> None:
    """The first columns of Q, without a library."""
    m, columns = Q.shape
    es.parallel_for(cells(Q, space), _identity, Q, label="orgqr identity")
    if _is_small("orgqr", m, columns):
        _one_by_one(A, tau, Q, "N", space)
        return
    for first in reversed(range(0, tau.shape[0], _PANEL)):
        last = min(first + _PANEL, tau.shape[0])
        panel = _Panel(es.subview(A, (first, m), (first, last)), es.subview(tau, (first, last)),
                       space)  # fmt: skip
        panel.apply(es.subview(Q, (first, m), (first, columns)), "N")


def _apply(A: es.View, tau: es.View, B: es.View, mode: str, space: es.ExecutionSpace) -> None:
    m, n = A.shape
    if _is_small("ormqr", m, n):
        _one_by_one(A, tau, B, mode, space)
        return
    firsts = range(0, min(m, n), _PANEL)
    for first in firsts if mode == "H" else reversed(firsts):
        last = min(first + _PANEL, m, n)
        panel = _Panel(es.subview(A, (first, m), (first, last)), es.subview(tau, (first, last)),
                       space)  # fmt: skip
        panel.apply(es.subview(B, (first, m), slice(None)), mode)


def _is_small(what: str, m: int, n: int) -> bool:
    if max(m, n) <= _SMALL:
        decided(what, "columns", f"there are no more than {_SMALL} rows and columns")
        return True
    decided(what, "panels", f"there are more than {_SMALL} rows or columns")
    return False


def _one_by_one(
    A: es.View, tau: es.View, B: es.View, mode: str, space: es.ExecutionSpace
) -> None:  # fmt: skip
    each = es.RangePolicy(B.shape[1], space=space)
    es.parallel_for(each, _column, A, tau, B, mode, label="ormqr columns")


class _Panel:
    """The product of some reflectors, I - V T V^H."""

    def __init__(self, A: es.View, tau: es.View, space: es.ExecutionSpace) -> None:
        self.space, k = space, tau.shape[0]
        self.V, self.T = self._new((A.shape[0], k), A), self._new((k, k), A)
        es.parallel_for(cells(self.V, space), _reflectors, A, self.V, label="ormqr reflectors")
        G = dot_gemm(self.V, self.V, mode="H", vendor=False, space=space)
        rows = es.RangePolicy(k, space=space)
        es.parallel_for(rows, _triangle_row, G, tau, self.T, label="ormqr triangle")

    def _new(self, shape: tuple[int, ...], like: es.View) -> es.View:
        return es.View(shape, like.dtype, label="panel", space=self.space, initialize=False)

    def apply(self, B: es.View, mode: str) -> None:
        """Multiply B by the product, or with mode "H" by its conjugate transpose, in place."""
        shape = self.T.shape[0], B.shape[1]
        parts, more = self._new(shape, B), self._new(shape, B)
        gemm(self.V, B, out=parts, mode_a="H", vendor=False, space=self.space)
        gemm(self.T, parts, out=more, mode_a=mode, vendor=False, space=self.space)
        gemm(self.V, more, out=B, alpha=-1, beta=1, vendor=False, space=self.space)


# -- kernels --------------------------------------------------------------------------------------


def _identity(i: int, j: int, Q: Any) -> None:
    Q[i, j] = 1 if i == j else 0


def _reflectors(i: int, j: int, A: Any, V: Any) -> None:
    """The vectors, whose first element is 1 and not stored."""
    if i > j:
        V[i, j] = A[i, j]
    else:
        V[i, j] = 1 if i == j else 0


def _triangle_row(i: int, G: Any, tau: Any, T: Any) -> None:
    """A row of T, of which none depends on another one; G is V^H V."""
    for j in range(T.extent(1)):
        if j < i:
            T[i, j] = 0
        elif j == i:
            T[i, j] = tau[j]
        else:
            total = T.dtype.type(0)
            for k in range(i, j):
                total += T[i, k] * G[k, j]
            T[i, j] = -tau[j] * total


def _column(j: int, A: Any, tau: Any, B: Any, mode: Any) -> None:
    serial.ormqr(A, tau, B[:, j : j + 1], mode)
