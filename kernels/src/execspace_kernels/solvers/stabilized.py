"""BiCGSTAB, for matrices of any kind; preconditioned from the right.

Van der Vorst, "Bi-CGSTAB: a fast and smoothly converging variant of Bi-CG for the solution of
nonsymmetric linear systems", 1992. The residual after half of an iteration takes the place of r.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import execspace as es

from .columns import Columns, noted, product, size_of
from .method import Method
from .operators import Operator, four_products, row_product
from .solution import LOST, NOT_FINITE, RUNNING, STAGNANT

__all__ = ["StabilizedGradients"]


class StabilizedGradients(Method):
    """The method; see the module."""

    name = "bicgstab"
    products = 2

    def __init__(
        self, columns: Columns, A: Operator, M: Operator | None, algorithm: str = "auto"
    ) -> None:
        super().__init__(columns, A, M, algorithm)
        self.p, self.v, self.shadow = (columns.vector(name) for name in ("p", "v", "shadow"))
        self.t = self.q
        self.along = self.p if M is None else columns.vector("M p")
        self.across = self.r if M is None else columns.vector("M s")
        names = "rho", "alpha", "beta", "omega", "rv"
        self.rho, self.alpha, self.beta, self.omega, self.rv = (
            columns.scalars(name, columns.scalar) for name in names
        )
        self.pairs, self.ends = (
            es.zeros((2, columns.k), columns.scalar, space=columns.space, label=label)
            for label in ("t.t, t.s", "r.r, r0.r")
        )
        self.moving = columns.scalars("moving", np.int32)

    def first(self) -> None:
        """The shadow residual is r; p and v are 0, and so is beta."""
        space = self.columns.space
        es.deep_copy(self.shadow.wide, self.r.wide, instance=space)
        for vector in (self.p, self.v):
            es.deep_copy(vector.wide, 0, instance=space)
        self.columns.numbers(
            _first, self.rr, self.rho, self.beta, self.omega, label="bicgstab first"
        )

    def step(self) -> None:
        """Two products and three other passes."""
        c, s = self.columns, self.state
        c.each(
            _direct_one, _direct, self.p.wide, self.r.wide, self.v.wide, self.beta, self.omega,
            s.status, label="bicgstab p",
        )  # fmt: skip
        if self.M is not None:
            self.M(self.p.own, self.along.own)
        if self.fused:
            c.sum(
                _product_one, _product_many, *self.elements, self.along.wide, self.v.wide,
                self.shadow.wide, self.rho, s.status, out=self.rv, label="bicgstab v = A p, r0.v",
            )  # fmt: skip
        else:
            self.A(self.along.own, self.v.own)
            c.sum(_dot_one, _dot_many, self.shadow.wide, self.v.wide, self.rho,
                  out=self.rv, label="bicgstab r0.v")  # fmt: skip
        c.numbers(_length, self.rho, self.rv, self.alpha, self.moving, s.status,
                  label="bicgstab alpha")  # fmt: skip
        c.each(_half_one, _half, self.r.wide, self.v.wide, self.alpha, self.moving,
               label="bicgstab s = r - alpha v")  # fmt: skip
        if self.M is not None:
            self.M(self.r.own, self.across.own)
        if self.fused:
            c.sums(
                _products_one, _products_many, *self.elements, self.across.wide, self.t.wide,
                self.r.wide, self.rho, self.moving, out=self.pairs,
                label="bicgstab t = A s, t.t, t.s",
            )  # fmt: skip
        else:
            self.A(self.across.own, self.t.own)
            c.sums(_pairs_one, _pairs_many, self.t.wide, self.r.wide, self.rho,
                   out=self.pairs, label="bicgstab t.t, t.s")  # fmt: skip
        c.numbers(_across, self.pairs, self.omega, self.moving, s.status, label="bicgstab omega")
        c.sums(
            _advance_one, _advance_many, self.x.wide, self.r.wide, self.along.wide,
            self.across.wide, self.t.wide, self.shadow.wide, self.alpha, self.omega, self.moving,
            out=self.ends, label="bicgstab x, r, r.r",
        )  # fmt: skip
        c.numbers(_ended, self.ends, self.rho, self.alpha, self.beta, self.omega, self.moving,
                  *s.views, label="bicgstab beta")  # fmt: skip

    def vector_passes(self) -> int:
        """Of p, r, v and p; p, v and r0; r, v and r; s and t; x, p, s, t, r0, x and r."""
        return 4 + 3 + 3 + 2 + 7 + (0 if self.fused else 3)


# -- kernels --------------------------------------------------------------------------------------
# Those of scalars are not contracted, so that all ranks find the same.


def _first(j: int, rr: Any, rho: Any, beta: Any, omega: Any) -> None:
    rho[j] = rr[j]
    beta[j] = 0
    omega[j] = 0


@es.function
def _directed(
    i: Any, j: Any, p: Any, r: Any, v: Any, beta: Any, omega: Any, status: Any
) -> None:  # fmt: skip
    if status[j] == RUNNING:
        p[i, j] = r[i, j] + beta[j] * (p[i, j] - omega[j] * v[i, j])


def _direct_one(i: int, p: Any, r: Any, v: Any, beta: Any, omega: Any, status: Any) -> None:
    _directed(i, 0, p, r, v, beta, omega, status)


def _direct(i: int, j: int, p: Any, r: Any, v: Any, beta: Any, omega: Any, status: Any) -> None:
    _directed(i, j, p, r, v, beta, omega, status)


def _product_one(
    i: int,
    row_map: Any,
    entries: Any,
    values: Any,
    x: Any,
    v: Any,
    shadow: Any,
    rho: Any,
    status: Any,
) -> Any:
    if status[0] != RUNNING:
        return 0.0
    total = row_product(i, 0, row_map, entries, values, x)
    v[i, 0] = total
    return product(shadow[i, 0], total, rho)


@es.function
def _keep(i: Any, j: Any, sums: Any, total: Any, shadow: Any, v: Any, rho: Any) -> None:
    v[i, j] = total
    sums[j] += product(shadow[i, j], total, rho)


def _product_many(
    i: int, sums: Any, row_map: Any, entries: Any, values: Any, x: Any, v: Any, shadow: Any,
    rho: Any, status: Any,
) -> None:  # fmt: skip
    # Columns that are done have products, too, which nothing reads.
    fours = x.extent(1) // 4 * 4
    for j in range(0, fours, 4):
        t0, t1, t2, t3 = four_products(i, j, row_map, entries, values, x)
        _keep(i, j, sums, t0, shadow, v, rho)
        _keep(i, j + 1, sums, t1, shadow, v, rho)
        _keep(i, j + 2, sums, t2, shadow, v, rho)
        _keep(i, j + 3, sums, t3, shadow, v, rho)
    for j in range(fours, x.extent(1)):
        _keep(i, j, sums, row_product(i, j, row_map, entries, values, x), shadow, v, rho)


def _dot_one(i: int, x: Any, y: Any, rho: Any) -> Any:
    return product(x[i, 0], y[i, 0], rho)


def _dot_many(i: int, sums: Any, x: Any, y: Any, rho: Any) -> None:
    for j in range(x.extent(1)):
        sums[j] += product(x[i, j], y[i, j], rho)


@es.kernel(fma=False)
def _length(j: int, rho: Any, rv: Any, alpha: Any, moving: Any, status: Any) -> None:
    moving[j] = 0
    if status[j] == RUNNING:
        if not np.isfinite(size_of(rv[j], rho)):
            status[j] = NOT_FINITE
        elif rv[j] == 0:
            status[j] = LOST
        else:
            alpha[j] = rho[j] / rv[j]
            moving[j] = 1


@es.function
def _halved(i: Any, j: Any, r: Any, v: Any, alpha: Any, moving: Any) -> None:
    if moving[j] != 0:
        r[i, j] -= alpha[j] * v[i, j]


def _half_one(i: int, r: Any, v: Any, alpha: Any, moving: Any) -> None:
    _halved(i, 0, r, v, alpha, moving)


def _half(i: int, j: int, r: Any, v: Any, alpha: Any, moving: Any) -> None:
    _halved(i, j, r, v, alpha, moving)


def _products_one(
    i: int,
    row_map: Any,
    entries: Any,
    values: Any,
    x: Any,
    t: Any,
    s: Any,
    rho: Any,
    moving: Any,
) -> Any:
    if moving[0] == 0:
        return 0.0, 0.0
    total = row_product(i, 0, row_map, entries, values, x)
    t[i, 0] = total
    return size_of(total, rho), product(total, s[i, 0], rho)


@es.function
def _keep_pair(i: Any, j: Any, sums: Any, total: Any, s: Any, t: Any, rho: Any) -> None:
    t[i, j] = total
    sums[0, j] += size_of(total, rho)
    sums[1, j] += product(total, s[i, j], rho)


def _products_many(
    i: int,
    sums: Any,
    row_map: Any,
    entries: Any,
    values: Any,
    x: Any,
    t: Any,
    s: Any,
    rho: Any,
    moving: Any,
) -> None:
    fours = x.extent(1) // 4 * 4
    for j in range(0, fours, 4):
        t0, t1, t2, t3 = four_products(i, j, row_map, entries, values, x)
        _keep_pair(i, j, sums, t0, s, t, rho)
        _keep_pair(i, j + 1, sums, t1, s, t, rho)
        _keep_pair(i, j + 2, sums, t2, s, t, rho)
        _keep_pair(i, j + 3, sums, t3, s, t, rho)
    for j in range(fours, x.extent(1)):
        _keep_pair(i, j, sums, row_product(i, j, row_map, entries, values, x), s, t, rho)


def _pairs_one(i: int, t: Any, s: Any, rho: Any) -> Any:
    return size_of(t[i, 0], rho), product(t[i, 0], s[i, 0], rho)


def _pairs_many(i: int, sums: Any, t: Any, s: Any, rho: Any) -> None:
    for j in range(t.extent(1)):
        sums[0, j] += size_of(t[i, j], rho)
        sums[1, j] += product(t[i, j], s[i, j], rho)


@es.kernel(fma=False)
def _across(j: int, pairs: Any, omega: Any, moving: Any, status: Any) -> None:
    if moving[j] != 0:
        size = pairs[0, j].real
        if not np.isfinite(size) or not np.isfinite(size_of(pairs[1, j], pairs)):
            status[j] = NOT_FINITE
            moving[j] = 0
        elif size == 0:
            omega[j] = 0  # s is 0, or A has no inverse: the norm of r will tell
        else:
            omega[j] = pairs[1, j] / size


@es.function
def _advanced(
    i: Any, j: Any, x: Any, r: Any, along: Any, across: Any, t: Any, alpha: Any, omega: Any
) -> None:
    x[i, j] += alpha[j] * along[i, j] + omega[j] * across[i, j]  # across may be r
    r[i, j] -= omega[j] * t[i, j]


def _advance_one(
    i: int, x: Any, r: Any, along: Any, across: Any, t: Any, shadow: Any, alpha: Any, omega: Any,
    moving: Any,
) -> Any:  # fmt: skip
    if moving[0] == 0:
        return 0.0, 0.0
    _advanced(i, 0, x, r, along, across, t, alpha, omega)
    return size_of(r[i, 0], omega), product(shadow[i, 0], r[i, 0], omega)


def _advance_many(
    i: int, sums: Any, x: Any, r: Any, along: Any, across: Any, t: Any, shadow: Any, alpha: Any,
    omega: Any, moving: Any,
) -> None:  # fmt: skip
    for j in range(x.extent(1)):
        if moving[j] != 0:
            _advanced(i, j, x, r, along, across, t, alpha, omega)
            sums[0, j] += size_of(r[i, j], omega)
            sums[1, j] += product(shadow[i, j], r[i, j], omega)


@es.kernel(fma=False)
def _ended(
    j: int, ends: Any, rho: Any, alpha: Any, beta: Any, omega: Any, moving: Any, threshold: Any,
    status: Any, count: Any, last: Any, history: Any, back: Any,
) -> None:  # fmt: skip
    if moving[j] != 0:
        noted(j, np.sqrt(ends[0, j].real), threshold, status, count, last, history, back)
        if status[j] == RUNNING:
            if omega[j] == 0:
                status[j] = STAGNANT
            elif ends[1, j] == 0:
                status[j] = LOST
            else:
                beta[j] = (ends[1, j] / rho[j]) * (alpha[j] / omega[j])
                rho[j] = ends[1, j]
