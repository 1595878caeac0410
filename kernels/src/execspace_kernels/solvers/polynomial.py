"""Chebyshev's iteration, for Hermitian positive definite matrices of known bounds.

Golub and Varga, "Chebyshev semi-iterative methods", 1961; in the form of Saad, "Iterative methods
for sparse linear systems", 12.3. There are no dots but that of the norm, and none in a smoother.
Bounds are estimated by conjugate gradients, whose coefficients are those of Lanczos's matrix.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import execspace as es

from ..errors import MatrixError
from .columns import Columns, noted, size_of
from .conjugate import ConjugateGradients
from .method import Method
from .operators import Operator, four_products, row_product
from .ranks import Ranks
from .solution import INDEFINITE, INDEFINITE_M, REASONS, RUNNING

__all__ = ["ChebyshevIteration", "checked_bounds", "estimated"]

_STEPS = 100  # of Lanczos at most, to find the least eigenvalue, which comes late
_TOLERANCES = {2: 1e-2, 4: 1e-5, 8: 1e-12}  # of residuals, by bytes of a real number
_FEW = 12  # for the largest one
_SETTLED = 0.95  # of the least eigenvalue's estimate ten steps before
_ABOVE = 1.05  # what the largest eigenvalue may be above the estimate
_BELOW = 0.9

Bounds = tuple[float, float]


class ChebyshevIteration(Method):
    """The method; see the module.

    `bounds` of the eigenvalues of M A; estimated if not given.
    """

    name = "chebyshev"

    def __init__(
        self,
        columns: Columns,
        A: Operator,
        M: Operator | None,
        algorithm: str = "auto",
        *,
        bounds: Bounds | None = None,
    ) -> None:
        super().__init__(columns, A, M, algorithm)
        self._is_estimated = bounds is None
        self.bounds = estimated(columns, A, M) if bounds is None else bounds
        self.d = columns.vector("d")
        self.z = self.r if M is None else columns.vector("z")
        self.rho, self.keep, self.add = (columns.scalars(name) for name in ("rho", "keep", "add"))

    def renew(self) -> None:
        """Estimate bounds anew; graphs have recorded the old ones."""
        if self._is_estimated:
            self.bounds = estimated(self.columns, self.A, self.M)
            self._ready.clear()

    def first(self) -> None:
        """d = z / theta."""
        low, high = self.bounds
        c = self.columns
        c.numbers(_first, low, high, self.rho, self.keep, self.add, label="chebyshev first")
        es.deep_copy(self.d.wide, 0, instance=c.space)
        self._direct()

    def _direct(self) -> None:
        if self.M is not None:
            self.M(self.r.own, self.z.own)
        self.columns.each(
            _direct_one, _direct, self.d.wide, self.z.wide, self.keep, self.add,
            label="chebyshev d",
        )  # fmt: skip

    def step(self) -> None:
        """Two passes, and a launch over columns."""
        c, s = self.columns, self.state
        if self.fused:
            c.sum(
                _product_one, _product_many, *self.elements, self.d.wide, self.x.wide, self.r.wide,
                self.rho, s.status, out=self.rr, label="chebyshev r -= A d, r.r",
            )  # fmt: skip
        else:
            self.A(self.d.own, self.q.own)
            c.sum(
                _advance_one, _advance_many, self.q.wide, self.d.wide, self.x.wide, self.r.wide,
                self.rho, s.status, out=self.rr, label="chebyshev r -= q, r.r",
            )  # fmt: skip
        low, high = self.bounds
        c.numbers(_next, low, high, self.rr, self.rho, self.keep, self.add, *s.views,
                  label="chebyshev coefficients")  # fmt: skip
        self._direct()

    def vector_passes(self) -> int:
        """Of d, x, x, r and r; d, z and d."""
        return 5 + 3 + (0 if self.fused else 2)


def checked_bounds(bounds: Any, method: str) -> Bounds:
    """Two numbers, or MatrixError."""
    try:
        low, high = map(float, bounds)
    except (TypeError, ValueError):
        raise MatrixError(f"{method}: bounds={bounds!r}; expected (least, largest).") from None
    if not 0 < low < high < np.inf:
        raise MatrixError(
            f"{method}: bounds={bounds!r}; expected 0 < least < largest, for the matrix must be "
            f"positive definite."
        )
    return low, high


def estimated(
    columns: Columns, A: Operator, M: Operator | None, *, largest: bool = False
) -> Bounds:
    """Bounds of the eigenvalues of M A, a little wider than Lanczos finds them; or the largest one,
    for which fewer steps suffice. Blocks.

    Raises
    ------
    MatrixError
        If one of them is found not to be positive.
    """
    ranks = columns.ranks
    one = Columns(columns.n, None if columns.alone else 1, columns.dtype, columns.space, ranks)
    cg = ConjugateGradients(one, A, M)
    numbers = np.random.default_rng(1 if ranks is None else ranks.seed)
    random = numbers.standard_normal(columns.n).astype(columns.dtype)
    start = es.array(random if columns.alone else random.reshape(-1, 1), space=columns.space)
    most = _FEW if largest else _STEPS
    cg.state.clear(most)
    cg.begin(start, None, _TOLERANCES[np.finfo(one.dtype).dtype.itemsize], 0.0)
    alphas: list[float] = []
    betas: list[float] = []
    before, found = np.inf, (0.5, 1.5)  # of no rows, or an operator that gives NaN
    while len(alphas) < most and cg.state.status.to_numpy()[0] == RUNNING:
        cg.advance()
        if not cg.moving.to_numpy()[0]:
            break
        alphas.append(float(cg.alpha.to_numpy()[0]))
        betas.append(float(cg.beta.to_numpy()[0]))
        if len(alphas) % 10 == 0:
            found = _extremes(alphas, betas, ranks)
            if found[0] > _SETTLED * before:
                break
            before = found[0]
    status = int(cg.state.status.to_numpy()[0])
    if status in (INDEFINITE, INDEFINITE_M):
        raise MatrixError(f"chebyshev: bounds cannot be estimated: {REASONS[status]}.")
    if alphas:
        found = _extremes(alphas, betas, ranks)
    return _BELOW * found[0], _ABOVE * found[1]


def _extremes(alphas: list[float], betas: list[float], ranks: Ranks | None) -> Bounds:
    """The ends of the spectrum of Lanczos's matrix, of the coefficients of conjugate gradients."""
    alpha, beta = np.array(alphas), np.array(betas)
    diagonal = 1 / alpha
    diagonal[1:] += beta[:-1] / alpha[:-1]
    beside = np.sqrt(beta[:-1]) / alpha[:-1]
    values = np.linalg.eigvalsh(np.diag(diagonal) + np.diag(beside, 1) + np.diag(beside, -1))
    high = float(values[-1])
    if ranks is not None:  # whose processors may compute eigenvalues with other last digits
        values = ranks.numbers([values[0], high], es.Max)
        high = float(values[1])
    return max(float(values[0]), high * 1e-12), high


# -- kernels --------------------------------------------------------------------------------------


def _first(j: int, low: Any, high: Any, rho: Any, keep: Any, add: Any) -> None:
    rho[j] = (high - low) / (high + low)
    keep[j] = 0
    add[j] = 2 / (high + low)


def _next(
    j: int, low: Any, high: Any, rr: Any, rho: Any, keep: Any, add: Any, threshold: Any,
    status: Any, count: Any, last: Any, history: Any, back: Any,
) -> None:  # fmt: skip
    if status[j] == RUNNING:
        noted(j, np.sqrt(rr[j]), threshold, status, count, last, history, back)
        after = 1 / (2 * (high + low) / (high - low) - rho[j])
        keep[j] = after * rho[j]
        add[j] = 4 * after / (high - low)
        rho[j] = after


@es.function
def _directed(i: Any, j: Any, d: Any, z: Any, keep: Any, add: Any) -> None:
    d[i, j] = keep[j] * d[i, j] + add[j] * z[i, j]


def _direct_one(i: int, d: Any, z: Any, keep: Any, add: Any) -> None:
    _directed(i, 0, d, z, keep, add)


def _direct(i: int, j: int, d: Any, z: Any, keep: Any, add: Any) -> None:
    _directed(i, j, d, z, keep, add)


@es.function
def _advanced(i: Any, j: Any, q: Any, d: Any, x: Any, r: Any, rho: Any) -> Any:
    x[i, j] += d[i, j]
    r[i, j] -= q
    return size_of(r[i, j], rho)


def _product_one(
    i: int,
    row_map: Any,
    entries: Any,
    values: Any,
    d: Any,
    x: Any,
    r: Any,
    rho: Any,
    status: Any,
) -> Any:
    if status[0] != RUNNING:
        return 0.0
    return _advanced(i, 0, row_product(i, 0, row_map, entries, values, d), d, x, r, rho)


@es.function
def _keep(i: Any, j: Any, sums: Any, q: Any, d: Any, x: Any, r: Any, rho: Any, status: Any) -> None:
    if status[j] == RUNNING:
        sums[j] += _advanced(i, j, q, d, x, r, rho)


def _product_many(
    i: int,
    sums: Any,
    row_map: Any,
    entries: Any,
    values: Any,
    d: Any,
    x: Any,
    r: Any,
    rho: Any,
    status: Any,
) -> None:
    fours = d.extent(1) // 4 * 4
    for j in range(0, fours, 4):
        t0, t1, t2, t3 = four_products(i, j, row_map, entries, values, d)
        _keep(i, j, sums, t0, d, x, r, rho, status)
        _keep(i, j + 1, sums, t1, d, x, r, rho, status)
        _keep(i, j + 2, sums, t2, d, x, r, rho, status)
        _keep(i, j + 3, sums, t3, d, x, r, rho, status)
    for j in range(fours, d.extent(1)):
        _keep(i, j, sums, row_product(i, j, row_map, entries, values, d), d, x, r, rho, status)


def _advance_one(i: int, q: Any, d: Any, x: Any, r: Any, rho: Any, status: Any) -> Any:
    if status[0] != RUNNING:
        return 0.0
    return _advanced(i, 0, q[i, 0], d, x, r, rho)


def _advance_many(i: int, sums: Any, q: Any, d: Any, x: Any, r: Any, rho: Any, status: Any) -> None:
    for j in range(d.extent(1)):
        _keep(i, j, sums, q[i, j], d, x, r, rho, status)
