"""Chebyshev: a polynomial of A as a smoother, or as a preconditioner. It has no dots."""

from __future__ import annotations

from typing import Any

import numpy as np

import execspace as es

from ..arguments import at_once, check_apart, check_takes, count_of, in_turns, result
from ..errors import MatrixError
from ..sparse import CrsMatrix, as_crs
from .columns import Columns
from .handle import right_side
from .operators import (
    Operator,
    as_operand,
    chosen_product,
    dtype_of,
    four_products,
    operator_of,
    row_product,
    views_of,
)
from .polynomial import checked_bounds, estimated
from .ranks import ranks_of, records

__all__ = ["Chebyshev"]

_RATIO = 30.0  # of the ends of the interval, if nothing is said: what lies below is left to others


class Chebyshev:
    """z = p(A) r, about the solution of A z = r for the upper part of the spectrum.

    Parameters
    ----------
    A : CrsMatrix, or as of `cg`
        n x n, Hermitian positive definite. Elements may change, as of `prepare`; bounds that were
        estimated stay those of the old ones until `update`.
    degree : int
        Terms: there are `degree` - 1 products with A.
    bounds : (float, float), optional
        Of eigenvalues of A. Without them the largest is estimated by Lanczos at the first `apply`,
        which blocks then, and the least is taken to be a 30th of it.
    space : str or ExecutionSpace, optional
        Where to run; as for a launch if not given.

    Raises
    ------
    MatrixError
        If A is nothing to multiply with, or an option is wrong.

    Notes
    -----
    The polynomial is positive for eigenvalues between 0 and the upper bound, so that it may
    precondition `cg`.

    Adams, Brezina, Hu and Tuminaro, "Parallel multigrid smoothing: polynomial versus Gauss-Seidel",
    2003.

    Examples
    --------
    >>> from execspace_kernels import solvers, sparse
    >>> A = sparse.CrsMatrix([0, 2, 4], [0, 1, 0, 1], [2.0, -1.0, -1.0, 2.0], shape=(2, 2))
    >>> smoother = solvers.Chebyshev(A, degree=2, bounds=(1.0, 3.0))
    >>> smoother.apply([1.0, 1.0]).to_numpy().round(3).tolist()
    [0.857, 0.857]
    """

    def __init__(
        self,
        A: CrsMatrix | Any,
        degree: int = 3,
        *,
        bounds: tuple[float, float] | None = None,
        space: str | es.ExecutionSpace | None = None,
    ) -> None:
        self.degree = 1 if degree is None else count_of(degree, "Chebyshev: degree", 1)
        self.bounds = None if bounds is None else checked_bounds(bounds, "Chebyshev")
        self._A, self._space = _operand(A), space
        self._is_estimated = bounds is None
        self._ready: dict[Any, _Polynomial] = {}

    @in_turns
    def update(self, A: CrsMatrix | Any = None) -> None:
        """Let bounds be estimated anew at the next `apply`, unless they were given.

        Parameters
        ----------
        A : as when making one, optional
            Takes the place of the other one.

        Raises
        ------
        MatrixError
            As when making one; all stays as it was then.

        Notes
        -----
        Graphs that have recorded `apply` keep what they have.
        """
        if A is not None:
            self._A = _operand(A)
        if self._is_estimated:
            self.bounds = None
        self._ready.clear()

    @property
    def shape(self) -> tuple[int, int] | None:
        """That of A, if it says so."""
        return getattr(self._A, "shape", None)

    @property
    def dtype(self) -> np.dtype[Any] | None:
        """That of A, if it says so."""
        return dtype_of(self._A)

    @property
    def space(self) -> es.ExecutionSpace | None:
        """Where it runs, if it was told; else where `r` and A are."""
        return None if self._space is None else es.space_for(space=self._space)

    @property
    def own_rows(self) -> range | None:
        """That of A, if it is over ranks and says so."""
        return getattr(self._A, "own_rows", None)

    @property
    def join_over_ranks(self) -> Any:
        """That of A, if it is over ranks; see `cg`."""
        return getattr(self._A, "join_over_ranks", None)

    @property
    def is_recordable(self) -> bool:
        """That of A, if it is over ranks."""
        return records(self._A)

    @in_turns
    def apply(self, r: es.View | Any, *, out: es.View | Any = None) -> es.View:
        """z = p(A) r.

        Parameters
        ----------
        r : View or array, shape (n,) or (n, k)
            Read.
        out : View or array, of the same shape, optional
            z; without it a new View.

        Returns
        -------
        View
            `out`, or the new one.

        Raises
        ------
        MatrixError, ViewError, SpaceAccessError
            As `cg`; and if `out` overlaps `r`.

        Notes
        -----
        Asynchronous where the space is, and can be recorded; the first time without `bounds`
        blocks. Of an A over ranks, see `cg`, it is called on all of them.
        """
        source = right_side(r, "Chebyshev: r", self._space)
        own = views_of(self._A)
        where = es.space_for(source, *own, space=self._space)
        dtype = np.result_type(source.dtype, *((self._A.dtype,) if own else ()))
        dtype = dtype if dtype.kind in "fc" else np.dtype(np.float64)
        z = result(out, "Chebyshev", source.shape, dtype, where, source)
        if out is not None:
            check_takes("Chebyshev", z, dtype)
            check_apart("Chebyshev", z, r=source)
        key = source.shape, dtype, where
        if key not in self._ready:
            self._ready[key] = at_once(self._made, source, dtype, where)
        with es.use_space(where):
            self._ready[key].launch(source, z, *self._interval())
        return z

    def _interval(self) -> tuple[float, float]:
        assert self.bounds is not None
        return self.bounds

    def _made(self, r: es.View, dtype: Any, space: es.ExecutionSpace) -> _Polynomial:
        ranks = ranks_of(self._A, None, "Chebyshev", r.shape[0], space)
        columns = Columns(r.shape[0], None if r.rank == 1 else r.shape[1], dtype, space, ranks)
        A = operator_of(self._A, "Chebyshev: A", r.shape[0], space)
        if self.bounds is None:
            with es.use_space(space):
                high = estimated(columns, A, None, largest=True)[1]
            self.bounds = high / _RATIO, high
        return _Polynomial(columns, A, self.degree)


def _operand(A: Any) -> Any:
    """A, if it is something to multiply with."""
    found = as_operand(A)
    if not (views_of(found) or callable(getattr(A, "apply", None)) or callable(A)):
        as_crs(A)  # which tells what it expects
    if views_of(found) and found.shape[0] != found.shape[1]:
        rows, columns = found.shape
        raise MatrixError(f"Chebyshev: A is {rows} x {columns}; expected n x n.")
    return found


class _Polynomial:
    """Vectors and launches for r of one shape."""

    def __init__(self, columns: Columns, A: Operator, degree: int) -> None:
        self.columns, self.A, self.degree = columns, A, degree
        self.fused = chosen_product("auto", "Chebyshev", A, columns.k, columns.space)[0] == "fused"
        self.left, self.d, self.z, self.q = (columns.vector(name) for name in ("r", "d", "z", "q"))

    def launch(self, r: es.View, out: es.View, low: float, high: float) -> None:
        """out = p(A) r."""
        c, rho = self.columns, (high - low) / (high + low)
        keep, add = 0.0, 2 / (high + low)
        es.deep_copy(self.left.own, r, instance=c.space)
        for vector in (self.d, self.z):
            es.deep_copy(vector.wide, 0, instance=c.space)
        for term in range(self.degree):
            if term:
                self._multiply()
                after = 1 / (2 * (high + low) / (high - low) - rho)
                keep, add, rho = after * rho, 4 * after / (high - low), after
            c.each(_term_one, _term, self.d.wide, self.z.wide, self.left.wide, keep, add,
                   label="Chebyshev z += d")  # fmt: skip
        es.deep_copy(out, self.z.own, instance=c.space)

    def _multiply(self) -> None:
        """left -= A d."""
        c = self.columns
        if self.fused:
            matrix = self.A.matrix
            c.rows(
                _product_one if c.single else _product, matrix.row_map, matrix.entries,
                matrix.values, self.d.wide, self.left.wide, label="Chebyshev r -= A d",
            )  # fmt: skip
        else:
            self.A(self.d.own, self.q.own)
            c.each(_minus_one, _minus, self.left.wide, self.q.wide, label="Chebyshev r -= A d")


# -- kernels --------------------------------------------------------------------------------------


@es.function
def _termed(i: Any, j: Any, d: Any, z: Any, left: Any, keep: Any, add: Any) -> None:
    d[i, j] = keep * d[i, j] + add * left[i, j]
    z[i, j] += d[i, j]


def _term_one(i: int, d: Any, z: Any, left: Any, keep: Any, add: Any) -> None:
    _termed(i, 0, d, z, left, keep, add)


def _term(i: int, j: int, d: Any, z: Any, left: Any, keep: Any, add: Any) -> None:
    _termed(i, j, d, z, left, keep, add)


def _product_one(i: int, row_map: Any, entries: Any, values: Any, d: Any, left: Any) -> None:
    left[i, 0] -= row_product(i, 0, row_map, entries, values, d)


def _product(i: int, row_map: Any, entries: Any, values: Any, d: Any, left: Any) -> None:
    fours = d.extent(1) // 4 * 4
    for j in range(0, fours, 4):
        t0, t1, t2, t3 = four_products(i, j, row_map, entries, values, d)
        left[i, j] -= t0
        left[i, j + 1] -= t1
        left[i, j + 2] -= t2
        left[i, j + 3] -= t3
    for j in range(fours, d.extent(1)):
        left[i, j] -= row_product(i, j, row_map, entries, values, d)


def _minus_one(i: int, left: Any, q: Any) -> None:
    left[i, 0] -= q[i, 0]


def _minus(i: int, j: int, left: Any, q: Any) -> None:
    left[i, j] -= q[i, j]
