"""Products of dense triangles with matrices, and solves: trmm and trsm.

Transposes, the other side, and the upper triangle are Views of the same elements, backwards where
need be, so there is one case: a lower triangle on the left. It is halved until rows are few: what
is below both halves is a product of matrices, see `matrix_products`, and the small triangles on
the diagonal are for one kernel, of which each work item has some columns of B.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import execspace as es

from ..arguments import (
    Space,
    as_view,
    check_bool,
    choice,
    is_device,
    largest_team,
    number_of,
    result,
    static,
)
from ..decisions import decided
from . import by_columns
from .elements import conjugate
from .elementwise import scal
from .matrix_products import chosen, multiply
from .operands import (
    check_apart,
    check_numbers,
    check_same_or_apart,
    check_square,
    check_stores,
    factor,
    is_inexact,
    is_same,
    operand,
    product_dtype,
    scaled_dtype,
    shapes_of,
)
from .updates import TRIANGLES

__all__ = ["trmm", "trsm"]

MODES = ("N", "T", "C", "H")
# Rows of a triangle that is not halved: in bytes of registers on devices, and on hosts.
_BYTES_OF_TEAM, _ROWS = 512, 64
_THREADS = 64  # of a team, each with a column of B in registers
_COLUMNS = 16  # of B that a work item of a host takes


def trmm(
    A: Any,
    B: Any,
    out: Any = None,
    alpha: Any = 1,
    side: str = "L",
    uplo: str = "L",
    mode: str = "N",
    unit_diagonal: bool = False,
    *,
    vendor: bool | None = None,
    space: Space = None,
) -> es.View:
    """alpha op(A) B, or alpha B op(A), for a triangular matrix A.

    Parameters
    ----------
    A : View or array, shape (m, m), or (n, n) for side "R"
        Numbers, in any layout and with any strides. Only the triangle is read.
    B : View or array, shape (m, n)
        Numbers. Read.
    out : View or array, shape (m, n), optional
        Where the result goes; `B` itself, as in BLAS. Without it a new View of the common dtype.
    alpha : number
        A complex one for complex `out` only.
    side : {"L", "R"}
        "L" for op(A) B, "R" for B op(A).
    uplo : {"L", "U"}
        Which triangle of A it is.
    mode : {"N", "T", "C", "H"}
        op(A) is A, its transpose, its conjugate, or the transpose of that.
    unit_diagonal : bool
        Whether the diagonal is one, and not read.
    vendor : bool, optional
        True: the routine of a vendor's library, which is taken without being asked for where it
        was measured to be faster. False: never.
    space : str or ExecutionSpace, optional
        Where to run; as for a launch if not given.

    Returns
    -------
    View
        `out`, or the new one.

    Raises
    ------
    MatrixError
        If an option is not known, `A` is not square, or `vendor` is True and there is no routine
        for it.
    ViewError
        If shapes do not fit, or `out` is read-only, overlaps `A`, overlaps `B` without being it, or
        cannot hold the result; for records.
    SpaceAccessError

    Notes
    -----
    Asynchronous where the space is, and the same to the bit in each run on a space. Some launches
    for each 64 rows of A, on devices 32 of complex128.

    Kokkos Kernels: https://kokkos.org/kokkos-kernels/docs/API/blas/blas3_trmm.html
    """
    return _run("trmm", A, B, out, alpha, side, uplo, mode, unit_diagonal, vendor, space)


def trsm(
    A: Any,
    B: Any,
    out: Any = None,
    alpha: Any = 1,
    side: str = "L",
    uplo: str = "L",
    mode: str = "N",
    unit_diagonal: bool = False,
    *,
    vendor: bool | None = None,
    space: Space = None,
) -> es.View:
    """X with op(A) X = alpha B, or X op(A) = alpha B, for a triangular matrix A.

    Parameters
    ----------
    A : View or array, shape (m, m), or (n, n) for side "R"
        Real or complex floating-point numbers. Only the triangle is read.
    B : View or array, shape (m, n)
        Numbers. Read.
    out, alpha, side, uplo, mode, unit_diagonal, vendor, space
        As those of `trmm`.

    Returns
    -------
    View
        `out`, or the new one.

    Raises
    ------
    MatrixError
        As of `trmm`.
    ViewError
        As of `trmm`; for integers.
    SpaceAccessError

    Notes
    -----
    As of `trmm`. Zeros on the diagonal are not looked for: they give infinities and NaN.

    Kokkos Kernels: https://kokkos.org/kokkos-kernels/docs/API/blas/blas3_trsm.html
    """
    return _run("trsm", A, B, out, alpha, side, uplo, mode, unit_diagonal, vendor, space)


def _run(
    what: str, A: Any, B: Any, out: Any, alpha: Any, side: str, uplo: str, mode: str,
    unit_diagonal: bool, vendor: bool | None, space: Space,
) -> es.View:  # fmt: skip
    choice(side, f"{what}: side", ("L", "R"))
    choice(uplo, f"{what}: uplo", TRIANGLES)
    choice(mode, f"{what}: mode", MODES)
    unit_diagonal = check_bool(unit_diagonal, f"{what}: unit_diagonal")
    matrix, source = operand(A, f"{what}: A", space, (2,)), operand(B, f"{what}: B", space, (2,))
    check_numbers(what, matrix, source)
    check_square(matrix, what)
    n = source.shape[0 if side == "L" else 1]
    if n != matrix.shape[0]:
        raise es.ViewError(
            f"{what}: A has shape {matrix.shape} and B {source.shape}; expected {n} rows and "
            f"columns of A, for side {side!r}."
        )
    alpha = number_of(alpha, f"{what}: alpha")
    kind = product_dtype(matrix.dtype, source.dtype, what)
    dtype = scaled_dtype(factor(alpha, f"{what}: alpha", ()), kind)
    if what == "trsm" and not is_inexact(dtype):
        raise es.ViewError(
            f"trsm: numbers are of {dtype}; expected real or complex floating-point numbers."
        )
    used = (matrix, source) if out is None else (matrix, source, as_view(out, f"{what}: out"))
    where = es.space_for(*used, space=space)
    X = result(out, what, source.shape, dtype, where, source)
    check_stores(f"{what}: out", X, dtype)
    check_apart(f"{what}: out", X, A=matrix)
    check_same_or_apart(f"{what}: out", X, B=source)
    forms = by_columns.triangle(matrix, side, uplo, mode, X)
    library, args = by_columns.chosen_library(
        what, vendor, where, lambda: f"{shapes_of(matrix)}+{shapes_of(source)}", forms,
        unit_diagonal, alpha,
    )  # fmt: skip
    if X.size and not is_same(X, source) and (library is not None or alpha == 1):
        es.deep_copy(X, source, instance=where)
    if library is not None:
        getattr(library, what)(*args)
        return X
    if alpha != 1:
        scal(alpha, source, out=X, space=where)
    decided(what, "halves", "it has no other")
    L = matrix.T if mode in ("T", "H") else matrix
    target: Any = X
    is_lower = (uplo == "L") == (mode in ("N", "C"))
    if side == "R":
        L, target, is_lower = L.T, X.T, not is_lower
    if not is_lower:
        L, target = L[::-1, ::-1], target[::-1]
    if X.size:
        conj = "yes" if mode in ("C", "H") and matrix.dtype.kind == "c" else "no"
        _Triangle(what, kind, "yes" if unit_diagonal else "no", conj, where).run(L, target)
    return X


class _Triangle:
    """What is the same for all parts of a lower triangle."""

    def __init__(
        self, what: str, kind: np.dtype[Any], unit: str, conj: str, space: es.ExecutionSpace
    ) -> None:
        self.what, self.kind, self.unit, self.conj, self.space = what, kind, unit, conj, space
        self.by_teams = is_device(space)
        self.rows = min(_BYTES_OF_TEAM // kind.itemsize, _ROWS) if self.by_teams else _ROWS

    def run(self, L: Any, X: Any) -> None:
        """X = L X, or L^-1 X."""
        n = L.shape[0]
        if n <= self.rows:
            self.block(L, X)
            return
        half = -(-n // (2 * self.rows)) * self.rows
        first, second = slice(0, half), slice(half, n)
        if self.what == "trsm":
            self.run(L[first, first], X[first])
            self.add(L[second, first], X[first], X[second], -1)
            self.run(L[second, second], X[second])
        else:
            self.run(L[second, second], X[second])
            self.add(L[second, first], X[first], X[second], 1)
            self.run(L[first, first], X[first])

    def add(self, L: es.View, source: es.View, target: es.View, alpha: int) -> None:
        """The product of what is below both halves."""
        name, _ = chosen(self.what, "auto", L, source, self.kind, self.space)
        multiply(
            self.what, name, L, source, target, alpha, 1, self.space, kind=self.kind,
            conj_a=self.conj,
        )  # fmt: skip

    def block(self, L: es.View, X: es.View) -> None:
        """A triangle of few rows."""
        if self.by_teams:
            threads = min(_THREADS, largest_team(self.space))
            es.parallel_for(
                es.TeamPolicy(-(-X.shape[1] // threads), threads, space=self.space),
                _block_of_team, L, X, self.kind.type, self.rows, threads, self.what, self.unit,
                self.conj, label=f"{self.what} triangle",
            )  # fmt: skip
        else:
            es.parallel_for(
                es.RangePolicy(-(-X.shape[1] // _COLUMNS), space=self.space), _block_of_columns, L,
                X, self.kind.type, self.rows, _COLUMNS, self.what, self.unit, self.conj,
                label=f"{self.what} triangle",
            )  # fmt: skip


# -- kernels --------------------------------------------------------------------------------------


def _block_of_team(
    team: Any, L: Any, X: Any, kind: Any, n: static, threads: Any, what: Any, unit: Any, conj: Any
) -> None:
    rows = L.extent(0)
    a = team.scratch((n, n + 1), kind)
    for f in range(team.team_rank, n * n, threads):
        i = f // n
        k = f % n
        a[i, k] = 1 if i == k else 0
        if i < rows:
            if k < i or (k == i and unit == "no"):
                a[i, k] = conjugate(kind(L[i, k]), conj)
    team.barrier()
    j = team.league_rank * threads + team.team_rank
    if j < X.extent(1):
        x = es.local(n, kind)
        for i in range(n):
            if i < rows:
                x[i] = X[i, j]
        if what == "trsm":
            for i in range(n):
                total = x[i]
                for k in range(i):
                    total -= a[i, k] * x[k]
                x[i] = total / a[i, i]
        else:
            for r in range(n):
                total = a[n - 1 - r, n - 1 - r] * x[n - 1 - r]
                for k in range(n - 1 - r):
                    total += a[n - 1 - r, k] * x[k]
                x[n - 1 - r] = total
        for i in range(n):
            if i < rows:
                X[i, j] = x[i]


def _block_of_columns(
    b: int, L: Any, X: Any, kind: Any, n: static, wide: static, what: Any, unit: Any, conj: Any
) -> None:
    rows, columns = L.extent(0), X.extent(1)
    x = es.local((n, wide), kind)
    for i in range(rows):
        for c in range(wide):
            x[i, c] = X[i, min(b * wide + c, columns - 1)]
    for r in range(rows):
        i = r if what == "trsm" else rows - 1 - r
        if what == "trmm" and unit == "no":
            d = conjugate(kind(L[i, i]), conj)
            for c in range(wide):
                x[i, c] *= d
        for k in range(i):
            a = conjugate(kind(L[i, k]), conj)
            for c in range(wide):
                if what == "trsm":
                    x[i, c] -= a * x[k, c]
                else:
                    x[i, c] += a * x[k, c]
        if what == "trsm" and unit == "no":
            d = conjugate(kind(L[i, i]), conj)
            for c in range(wide):
                x[i, c] /= d
    for i in range(rows):
        for c in range(wide):
            if b * wide + c < columns:
                X[i, b * wide + c] = x[i, c]
