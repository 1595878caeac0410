"""CG: conjugate gradients, for Hermitian positive definite matrices.

Hestenes and Stiefel, "Methods of conjugate gradients for solving linear systems", 1952. An
iteration is three passes: q = A p with p^H q; r -= alpha q with ||r||; x += alpha p with
p = r + beta p, so that p is read once for both. Beside the matrix it moves 10 elements a row.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import execspace as es

from .columns import Columns, noted, product, size_of
from .method import Method, dot_many, dot_one
from .operators import Operator, four_products, row_product
from .solution import INDEFINITE, INDEFINITE_M, NOT_FINITE, RUNNING

__all__ = ["ConjugateGradients"]


class ConjugateGradients(Method):
    """The method; see the module."""

    name = "cg"

    def __init__(
        self, columns: Columns, A: Operator, M: Operator | None, algorithm: str = "auto"
    ) -> None:
        super().__init__(columns, A, M, algorithm)
        self.p = columns.vector("p")
        self.z = self.r if M is None else columns.vector("z")
        names = "rho", "pq", "alpha", "beta"
        self.rho, self.pq, self.alpha, self.beta = (columns.scalars(name) for name in names)
        self.rz = self.rr if M is None else columns.scalars("rz")
        self.moving = columns.scalars("moving", np.int32)

    def first(self) -> None:
        """p = z = M r."""
        self._precondition()
        es.deep_copy(self.p.wide, self.z.wide, instance=self.columns.space)
        self.columns.numbers(_first, self.rz, self.rho, self.state.status, label="cg first")

    def _precondition(self) -> None:
        if self.M is not None:
            self.M(self.r.own, self.z.own)
            self.columns.sum(
                dot_one, dot_many, self.r.wide, self.z.wide, self.rho, out=self.rz, label="cg r.z"
            )

    def step(self) -> None:
        """Three passes, and a launch over columns."""
        c, s = self.columns, self.state
        if self.fused:
            c.sum(
                _product_one, _product_many, *self.elements, self.p.wide, self.q.wide, self.rho,
                s.status, out=self.pq, label="cg q = A p, p.q",
            )  # fmt: skip
        elif self.A.apply_dot is not None and c.alone:
            self.A.apply_dot(self.p.own, out=self.q.own, dot=es.subview(self.pq, 0))
            c.join(self.pq, es.Sum)
        else:
            self.A(self.p.own, self.q.own)
            c.sum(
                dot_one, dot_many, self.p.wide, self.q.wide, self.rho, out=self.pq, label="cg p.q"
            )
        c.sum(
            _shorter_one, _shorter_many, self.r.wide, self.q.wide, self.rho, self.pq, s.status,
            out=self.rr, label="cg r -= alpha q, r.r",
        )  # fmt: skip
        self._precondition()
        c.numbers(
            _direct, self.rr, self.rz, self.rho, self.pq, self.alpha, self.beta, self.moving,
            *s.views, label="cg alpha, beta",
        )  # fmt: skip
        c.each(
            _advance_one, _advance, self.x.wide, self.p.wide, self.z.wide, self.alpha, self.beta,
            self.moving, label="cg x += alpha p, p = z + beta p",
        )  # fmt: skip

    def vector_passes(self) -> int:
        """Of p and q; r, q and r; x, p, z, x and p."""
        return (2 if self.fused else 4) + 3 + 5


# -- kernels --------------------------------------------------------------------------------------


def _first(j: int, rz: Any, rho: Any, status: Any) -> None:
    rho[j] = rz[j]
    if status[j] == RUNNING and not np.isfinite(rz[j]):
        status[j] = NOT_FINITE
    elif status[j] == RUNNING and rz[j] <= 0:
        status[j] = INDEFINITE_M


def _product_one(
    i: int, row_map: Any, entries: Any, values: Any, p: Any, q: Any, rho: Any, status: Any
) -> Any:
    if status[0] != RUNNING:
        return 0.0
    total = row_product(i, 0, row_map, entries, values, p)
    q[i, 0] = total
    return product(p[i, 0], total, rho).real


@es.function
def _keep(i: Any, j: Any, sums: Any, total: Any, p: Any, q: Any, rho: Any) -> None:
    q[i, j] = total
    sums[j] += product(p[i, j], total, rho).real


def _product_many(
    i: int,
    sums: Any,
    row_map: Any,
    entries: Any,
    values: Any,
    p: Any,
    q: Any,
    rho: Any,
    status: Any,
) -> None:
    # Columns that are done have products, too, which nothing reads.
    fours = p.extent(1) // 4 * 4
    for j in range(0, fours, 4):
        t0, t1, t2, t3 = four_products(i, j, row_map, entries, values, p)
        _keep(i, j, sums, t0, p, q, rho)
        _keep(i, j + 1, sums, t1, p, q, rho)
        _keep(i, j + 2, sums, t2, p, q, rho)
        _keep(i, j + 3, sums, t3, p, q, rho)
    for j in range(fours, p.extent(1)):
        _keep(i, j, sums, row_product(i, j, row_map, entries, values, p), p, q, rho)


@es.function
def _moves(j: Any, pq: Any, status: Any) -> Any:
    """Whether a column has a step to go."""
    return status[j] == RUNNING and np.isfinite(pq[j]) and pq[j] > 0


@es.function
def _shorter(i: Any, j: Any, r: Any, q: Any, rho: Any, pq: Any) -> Any:
    r[i, j] -= rho[j] / pq[j] * q[i, j]
    return size_of(r[i, j], rho)


def _shorter_one(i: int, r: Any, q: Any, rho: Any, pq: Any, status: Any) -> Any:
    if not _moves(0, pq, status):
        return 0.0
    return _shorter(i, 0, r, q, rho, pq)


def _shorter_many(i: int, sums: Any, r: Any, q: Any, rho: Any, pq: Any, status: Any) -> None:
    for j in range(r.extent(1)):
        if _moves(j, pq, status):
            sums[j] += _shorter(i, j, r, q, rho, pq)


def _direct(
    j: int, rr: Any, rz: Any, rho: Any, pq: Any, alpha: Any, beta: Any, moving: Any,
    threshold: Any, status: Any, count: Any, last: Any, history: Any, back: Any,
) -> None:  # fmt: skip
    moving[j] = 0
    if _moves(j, pq, status):
        alpha[j] = rho[j] / pq[j]
        moving[j] = 1
        noted(j, np.sqrt(rr[j]), threshold, status, count, last, history, back)
        if status[j] == NOT_FINITE:
            moving[j] = 0  # x stays what it was
        elif status[j] == RUNNING and not np.isfinite(rz[j]):
            status[j] = NOT_FINITE
        elif status[j] == RUNNING and rz[j] <= 0:
            status[j] = INDEFINITE_M
        beta[j] = rz[j] / rho[j]
        rho[j] = rz[j]
    elif status[j] == RUNNING and np.isfinite(pq[j]):
        status[j] = INDEFINITE
    elif status[j] == RUNNING:
        status[j] = NOT_FINITE


@es.function
def _step(
    i: Any, j: Any, x: Any, p: Any, z: Any, alpha: Any, beta: Any, moving: Any
) -> None:  # fmt: skip
    if moving[j] != 0:
        along = p[i, j]
        x[i, j] += alpha[j] * along
        p[i, j] = z[i, j] + beta[j] * along


def _advance_one(i: int, x: Any, p: Any, z: Any, alpha: Any, beta: Any, moving: Any) -> None:
    _step(i, 0, x, p, z, alpha, beta, moving)


def _advance(i: int, j: int, x: Any, p: Any, z: Any, alpha: Any, beta: Any, moving: Any) -> None:
    _step(i, j, x, p, z, alpha, beta, moving)
