"""Wilson's Dslash between sites of one parity and those of the other.

    D psi(x) = sum over mu of U_mu(x) (1 - s gamma_mu) psi(x + mu)
                            + U_mu(x - mu)^H (1 + s gamma_mu) psi(x - mu)

with s = 1, or -1 for its adjoint; gamma matrices are those of DeGrand and Rossi, as in Chroma:
gamma_mu has blocks B and B^H off its diagonal, so that (1 - s gamma_mu) psi is known from two of
its four spins. 1320 floating-point operations a site.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from lattice import Lattice

import execspace as es


@dataclass(frozen=True)
class Spinor:
    """Spinors on the sites of one parity: a View of (sites, 4 spins, 3 colours), or of (n, sites,
    4, 3) for n of them."""

    data: es.View
    lattice: Lattice
    parity: es.static


@dataclass(frozen=True)
class Gauge:
    """Links that begin at the sites of each parity: Views of (sites, 4 directions, 3, 3), or of
    their first two rows, (sites, 4, 2, 3), from which the third one follows. Dslash reads each
    link once, so they have the trait "nontemporal": caches are for spinors, read eight times."""

    even: es.View
    odd: es.View


@es.function
def times_b(a0, a1, b0, b1, mu, sign):
    """(a0, a1) + sign B (b0, b1), for the blocks B of gamma_mu."""
    if mu == 0:
        return plus_i(a0, b1, sign), plus_i(a1, b0, sign)
    if mu == 1:
        return (a0 - b1, a1 + b0) if sign > 0 else (a0 + b1, a1 - b0)
    if mu == 2:
        return plus_i(a0, b0, sign), plus_i(a1, b1, -sign)
    return (a0 + b0, a1 + b1) if sign > 0 else (a0 - b0, a1 - b1)


@es.function
def times_bh(a0, a1, b0, b1, mu, sign):
    """The same of B^H."""
    if mu == 0:
        return plus_i(a0, b1, -sign), plus_i(a1, b0, -sign)
    if mu == 1:
        return (a0 + b1, a1 - b0) if sign > 0 else (a0 - b1, a1 + b0)
    if mu == 2:
        return plus_i(a0, b0, -sign), plus_i(a1, b1, sign)
    return (a0 + b0, a1 + b1) if sign > 0 else (a0 - b0, a1 - b1)


@es.function
def plus_i(a, b, sign):
    """a + sign i b, without products."""
    if sign > 0:
        return complex(a.real - b.imag, a.imag + b.real)
    return complex(a.real + b.imag, a.imag - b.real)


@es.function
def plus_product(sum, a, b):
    """sum + a b as four multiply-adds; as complex numbers they would be two, and two products."""
    return complex(
        sum.real + a.real * b.real - a.imag * b.imag,
        sum.imag + a.real * b.imag + a.imag * b.real,
    )


@es.function
def complete(u, link, site, mu):
    """Fill a link of which two rows are stored: the third is the conjugate of their product."""
    for c in range(3):
        u[0, c] = link[site, mu, 0, c]
        u[1, c] = link[site, mu, 1, c]
    for c in range(3):
        d, e = (c + 1) % 3, (c + 2) % 3
        u[2, c] = np.conj(plus_product(u[0, d] * u[1, e], -u[0, e], u[1, d]))


@es.function
def hop(out, psi, at, link, site, mu, sign, adjoint):
    """Add what comes from one neighbour: `sign` is that of gamma_mu."""
    h = es.local((2, 3), psi.dtype)
    for c in range(3):
        h[0, c], h[1, c] = times_b(
            psi[at, 0, c], psi[at, 1, c], psi[at, 2, c], psi[at, 3, c], mu, sign
        )
    own = es.local((3, 3), psi.dtype)
    if link.static_extent(2) == 2:
        complete(own, link, site, mu)
    for a in range(3):
        u0 = psi.dtype.type(0)
        u1 = psi.dtype.type(0)
        for c in range(3):
            if link.static_extent(2) == 2:
                u = np.conj(own[c, a]) if adjoint else own[a, c]
            else:
                u = np.conj(link[site, mu, c, a]) if adjoint else link[site, mu, a, c]
            u0 = plus_product(u0, u, h[0, c])
            u1 = plus_product(u1, u, h[1, c])
        out[0, a] += u0
        out[1, a] += u1
        out[2, a], out[3, a] = times_bh(out[2, a], out[3, a], u0, u1, mu, sign)


@es.function
def at_site(
    psi, out, base, own, lattice, gauge, parity: es.static, xh, y, z, t, scale, isign: es.static,
    adds: es.static,
):  # fmt: skip
    """`out` = D `psi`, or `base` + `scale` D `psi`, on a site of a parity, which has the number
    `own` in these two."""
    here = gauge.odd if parity == 1 else gauge.even
    there = gauge.even if parity == 1 else gauge.odd
    site = lattice.number(xh, y, z, t)
    total = es.local((4, 3), psi.dtype)
    for spin in range(4):
        for a in range(3):
            total[spin, a] = 0
    for mu in (0, 1, 2, 3):
        forward = lattice.neighbour(xh, y, z, t, parity, mu, 1)
        hop(total, psi, forward, here, site, mu, -isign, False)
        back = lattice.neighbour(xh, y, z, t, parity, mu, -1)
        hop(total, psi, back, there, back, mu, isign, True)
    for spin in range(4):
        for a in range(3):
            value = total[spin, a]
            if adds:
                value = base[own, spin, a] + scale * value
            out[own, spin, a] = value


@es.function
def place(cell, half, yb, zb, tb):
    """Coordinates of a site of a block: all x, and two of each other direction. The sites of one
    share neighbours, and on GPUs a cache."""
    c = cell // half
    return cell % half, 2 * yb + c % 2, 2 * zb + c // 2 % 2, 2 * tb + c // 4


@es.kernel
def dslash(
    cell, yb, zb, tb, gauge, source, result, base, scale, isign: es.static, adds: es.static
):  # fmt: skip
    """`result` = D `source`, or `base` + `scale` D `source`, on the sites of one parity."""
    lattice = source.lattice
    xh, y, z, t = place(cell, lattice.nx // 2, yb, zb, tb)
    at_site(
        source.data, result.data, base, lattice.number(xh, y, z, t), lattice, gauge, result.parity,
        xh, y, z, t, scale, isign, adds,
    )  # fmt: skip


@es.kernel
def dslash_of_many(
    k, cell, yb, zb, tb, gauge, source, result, base, scale, isign: es.static, adds: es.static
):  # fmt: skip
    """The same of spinor `k` of many, which share the links of a site."""
    lattice = source.lattice
    xh, y, z, t = place(cell, lattice.nx // 2, yb, zb, tb)
    at_site(
        source.data[k, :, :, :], result.data[k, :, :, :], base[k, :, :, :],
        lattice.number(xh, y, z, t), lattice, gauge, result.parity, xh, y, z, t, scale, isign, adds,
    )  # fmt: skip


def apply(
    gauge: Gauge, source: Spinor, result: Spinor, isign: int = 1, *, base: es.View | None = None,
    scale: float = 1.0, space: Any = None,
) -> None:  # fmt: skip
    """result = D source, or base + scale D source; the adjoint of D with `isign` -1.

    Asynchronous where the space is.
    """
    L = source.lattice
    other = source.data if base is None else base  # which is not read where nothing is added
    scale = np.float32(scale) if result.data.dtype == np.complex64 else scale
    rest = gauge, source, result, other, scale, isign, base is not None
    blocks = 4 * L.nx, L.ny // 2, L.nz // 2, L.nt // 2
    if source.data.rank == 4:
        shape = source.data.extent(0), *blocks
        policy = es.MDRangePolicy(shape, iterate="left", space=space)
        es.parallel_for(policy, dslash_of_many, *rest, label="dslash of many")
    else:
        policy = es.MDRangePolicy(blocks, iterate="left", space=space)
        es.parallel_for(policy, dslash, *rest)


# -- fields, and their elements on the whole lattice ---------------------------------------------


def gauge(lattice: Lattice, links: np.ndarray, dtype: Any, space: Any, rows: int = 3) -> Gauge:
    """Links of an array (t, z, y, x, direction, row, column); two rows of three if wanted.

    Raises ValueError if the third row does not follow from these, as of anti-periodic links.
    """
    if rows == 2:
        third = np.conj(np.cross(links[..., 0, :], links[..., 1, :]))
        if np.abs(third - links[..., 2, :]).max() > 1e-5:
            raise ValueError("two rows of links: the third is not the conjugate of their product")
    shape = (lattice.sites, es.static(4), es.static(rows), es.static(3))
    found = []
    for parity in (0, 1):
        view = es.View(shape, dtype, label="links", layout="left", space=space)
        values = split(lattice, links, parity)[:, :, :rows]
        es.deep_copy(view, np.ascontiguousarray(values.astype(dtype)))
        found.append(view.with_traits("nontemporal"))
    return Gauge(*found)


def split(lattice: Lattice, values: np.ndarray, parity: int) -> np.ndarray:
    """Of an array (t, z, y, x, ...) what is on the sites of a parity, in the order of numbers."""
    found = np.empty((lattice.sites, *values.shape[4:]), values.dtype)
    mine = lattice.parities() == parity
    found[lattice.numbers()[mine]] = values[mine]
    return found


def joined(lattice: Lattice, even: np.ndarray, odd: np.ndarray) -> np.ndarray:
    """The inverse of `split`."""
    found = np.empty((*lattice.shape[::-1], *even.shape[1:]), even.dtype)
    for parity, part in enumerate((even, odd)):
        mine = lattice.parities() == parity
        found[mine] = part[lattice.numbers()[mine]]
    return found
