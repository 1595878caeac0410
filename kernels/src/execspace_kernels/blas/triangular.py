"""trmv and trsv: products with a dense triangle, and solves.

trsv takes blocks of rows in order. A team solves each diagonal block, in scratch memory; what is
known then is subtracted by the products of `products`: from all rows that are left, where columns
lie side by side, or before a block from its rows, where these do. So all but the blocks on the
diagonal is read once, at the rate of gemv.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import execspace as es

from ..arguments import MANY, Space, as_view, check_bool, choice, has_teams, largest_team, result
from ..decisions import decided
from . import by_columns
from .elements import conjugate
from .operands import (
    check_apart,
    check_numbers,
    check_same_or_apart,
    check_shape,
    check_square,
    check_stores,
    is_inexact,
    operand,
    product_dtype,
    runs_along,
    shapes_of,
)
from .products import chosen, multiply
from .updates import TRIANGLES

__all__ = ["trmv", "trsv"]

MODES = ("N", "T", "C", "H")
_BLOCK_BYTES = 34816  # of a diagonal block and its vector, in scratch memory
_MOST_ROWS = 64


def trmv(
    A: Any, x: Any, out: Any = None, uplo: str = "L", mode: str = "N", unit_diagonal: bool = False,
    *, vendor: bool | None = None, space: Space = None,
) -> es.View:  # fmt: skip
    """op(A) x for a triangular matrix.

    Parameters
    ----------
    A : View or array, shape (n, n)
        Numbers, in any layout and with any strides. Only the triangle is read.
    x : View or array, shape (n,)
        Numbers. Read.
    out : View or array, shape (n,), optional
        Where the result goes; `x` itself, as in BLAS, for which x is copied first. Without it a
        new View of the common dtype.
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
        If `uplo` or `mode` is not known, `A` is not square, or `vendor` is True and there is no
        routine for it.
    ViewError
        If shapes do not fit, or `out` is read-only, overlaps `A`, overlaps `x` without being it, or
        cannot hold the result; for records.
    SpaceAccessError

    Notes
    -----
    Asynchronous where the space is. Sums are of the common type, and the same to the bit in each
    run on a space; the algorithms are "teams" and "columns" of `gemv`.
    """
    call = _Call("trmv", A, x, out, uplo, mode, unit_diagonal, vendor, space)
    if call.is_done_by_library():
        return call.out
    source = call.x
    if call.x.size and call.out.data_ptr == call.x.data_ptr:
        source = es.View(call.x.shape, call.x.dtype, label="x", space=call.space, initialize=False)
        es.deep_copy(source, call.x, instance=call.space)
    name, why = chosen("auto", call.B, call.kind, call.space)
    decided("trmv", name, why)
    multiply(
        "trmv", name, call.B, source, call.out, 1, 0, call.space, call.conj, call.shape, call.unit
    )
    return call.out


def trsv(
    A: Any, b: Any, out: Any = None, uplo: str = "L", mode: str = "N", unit_diagonal: bool = False,
    *, vendor: bool | None = None, space: Space = None,
) -> es.View:  # fmt: skip
    """x with op(A) x = b for a triangular matrix.

    Parameters
    ----------
    A : View or array, shape (n, n)
        Real or complex floating-point numbers, in any layout and with any strides. Only the
        triangle is read.
    b : View or array, shape (n,)
        Numbers. Read.
    out : View or array, shape (n,), optional
        x: written, and read while it is solved for; `b` itself, as in BLAS. Without it a new View
        of the common dtype.
    uplo, mode, unit_diagonal, vendor, space
        As those of `trmv`.

    Returns
    -------
    View
        `out`, or the new one.

    Raises
    ------
    MatrixError
        As of `trmv`.
    ViewError
        As of `trmv`; for integers and records.
    SpaceAccessError

    Notes
    -----
    Asynchronous where the space is. Zeros on the diagonal are not looked for: they give infinities
    and NaN. Blocks of up to 64 rows are two or three launches each.
    """
    call = _Call("trsv", A, b, out, uplo, mode, unit_diagonal, vendor, space)
    if not is_inexact(call.kind):
        raise es.ViewError(
            f"trsv: numbers are of {call.kind}; expected real or complex floating-point numbers."
        )
    if call.is_done_by_library():
        return call.out
    n, x, B, where = call.x.shape[0], call.out, call.B, call.space
    if x.size and x.data_ptr != call.x.data_ptr:
        es.deep_copy(x, call.x, instance=where)
    rows = _rows_of_block(call.kind, where)
    beside = "columns" if runs_along(B) == "left" else "rows"
    decided("trsv", "blocks", f"it has no other; {beside} lie side by side")
    name, _ = chosen("auto", B, call.kind, where)
    firsts = range(0, n, rows)
    for first in firsts if call.shape == "lower" else reversed(firsts):
        last = min(first + rows, n)
        left = (last, n) if call.shape == "lower" else (0, first)
        done = (0, first) if call.shape == "lower" else (last, n)
        if beside == "rows" and done[1] > done[0]:
            _subtract(name, call, (first, last), done)
        _solve_block(call, first, last)
        if beside == "columns" and left[1] > left[0]:
            _subtract(name, call, left, (first, last))
    return x


class _Call:
    """The arguments of a function of a triangle: B is op(A) but for the conjugate, of which the
    triangle `shape` counts."""

    def __init__(
        self, what: str, A: Any, x: Any, out: Any, uplo: str, mode: str, unit_diagonal: bool,
        vendor: bool | None, space: Space,
    ) -> None:  # fmt: skip
        choice(uplo, f"{what}: uplo", TRIANGLES)
        choice(mode, f"{what}: mode", MODES)
        unit_diagonal = check_bool(unit_diagonal, f"{what}: unit_diagonal")
        name = "b" if what == "trsv" else "x"
        matrix = operand(A, f"{what}: A", space, (2,))
        check_square(matrix, what)
        source = operand(x, f"{what}: {name}", space, (1,))
        check_shape(source, f"{what}: {name}", matrix.shape[:1], f"for A of {matrix.shape}")
        check_numbers(what, matrix, source)
        self.kind = product_dtype(matrix.dtype, source.dtype, what)
        used = (matrix, source) if out is None else (matrix, source, as_view(out, f"{what}: out"))
        self.space = es.space_for(*used, space=space)
        self.out = result(out, what, source.shape, self.kind, self.space, source)
        if out is not None:
            check_stores(f"{what}: out", self.out, self.kind)
            check_apart(f"{what}: out", self.out, A=matrix)
            check_same_or_apart(f"{what}: out", self.out, **{name: source})
        flipped = mode in ("T", "H")
        self.what, self.x, self.A, self.B = what, source, matrix, matrix.T if flipped else matrix
        self.shape = "lower" if (uplo == "L") != flipped else "upper"
        self.unit = "yes" if unit_diagonal else "no"
        self.conj = "yes" if mode in ("C", "H") and matrix.dtype.kind == "c" else "no"
        self.mode, self.uplo, self.vendor = mode, uplo, vendor

    def is_done_by_library(self) -> bool:
        """Let the vendor's library do it, if that is to be."""
        forms = by_columns.triangle_and_vectors(
            self.A, self.uplo, self.mode, self.x, self.out
        )  # fmt: skip
        library, args = by_columns.chosen_library(
            self.what, self.vendor, self.space, lambda: shapes_of(self.B), forms, self.unit == "yes"
        )
        if library is not None:
            getattr(library, self.what)(*args)
        return library is not None


def _rows_of_block(kind: np.dtype[Any], space: es.ExecutionSpace) -> int:
    """As many as scratch memory holds with their vector."""
    rows, most = _MOST_ROWS, _BLOCK_BYTES
    if has_teams(space):
        most = min(most, int(es.TeamPolicy(1, space=space).scratch_size_max(0)))
    while rows > 1 and rows * (rows + 2) * kind.itemsize > most:
        rows //= 2
    return rows


def _subtract(name: str, call: _Call, rows: tuple[int, int], columns: tuple[int, int]) -> None:
    """x of some rows minus what is known of it by some columns."""
    x = call.out
    part = es.subview(call.B, rows, columns)
    multiply("trsv", name, part, es.subview(x, columns), es.subview(x, rows), -1, 1, call.space,
             call.conj)  # fmt: skip


def _solve_block(call: _Call, first: int, last: int) -> None:
    block = es.subview(call.B, (first, last), (first, last))
    x, where = es.subview(call.out, (first, last)), call.space
    if has_teams(where):
        size = min(_MOST_ROWS, largest_team(where))
        size = size if where.concurrency > MANY else 1
        es.parallel_for(
            es.TeamPolicy(1, size, space=where), _block, block, x, call.kind.type, call.shape,
            call.unit, call.conj, label="trsv block",
        )  # fmt: skip
    else:
        es.parallel_for(
            es.RangePolicy(1, space=where), _block_by_one, block, x, call.shape, call.unit,
            call.conj, label="trsv block",
        )  # fmt: skip


# -- kernels --------------------------------------------------------------------------------------


def _block(team: Any, B: Any, x: Any, kind: Any, shape: Any, unit: Any, conj: Any) -> None:
    n = x.extent(0)
    # Rows are longer by one element, so that those of a column are in different banks.
    near = team.scratch((B.extent(0), B.extent(0) + 1), kind)
    known = team.scratch(B.extent(0), kind)
    for k in es.TeamThreadRange(team, n * n):
        near[k // n, k % n] = conjugate(B[k // n, k % n], conj)
    for i in es.TeamThreadRange(team, n):
        known[i] = x[i]
    team.barrier()
    for step in range(n):
        k = step if shape == "lower" else n - 1 - step
        if unit == "no":
            if es.single(es.PerTeam(team)):
                known[k] = known[k] / near[k, k]
            team.barrier()
        for t in es.TeamThreadRange(team, n - 1 - step):
            i = k + 1 + t if shape == "lower" else t
            known[i] -= near[i, k] * known[k]
        team.barrier()
    for i in es.TeamThreadRange(team, n):
        x[i] = known[i]


def _block_by_one(b: int, B: Any, x: Any, shape: Any, unit: Any, conj: Any) -> None:
    n = x.extent(0)
    for step in range(n):
        k = step if shape == "lower" else n - 1 - step
        if unit == "no":
            x[k] = x[k] / conjugate(B[k, k], conj)
        for t in range(n - 1 - step):
            i = k + 1 + t if shape == "lower" else t
            x[i] -= conjugate(B[i, k], conj) * x[k]
