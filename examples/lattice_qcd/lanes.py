"""The same Dslash for hosts: groups of W sites, one in each lane of a vector register.

A lane has a part of the lattice of its own, T / W slices in t, so neighbours in x, y and z are in
the same lane, and those in t as well but at the ends of a part, where lanes are turned by one.
Fields are real Views, (groups, 4 spins, 3 colours, 2, W) and (groups, 4 directions, 3, 3, 2, W):
real and imaginary parts of the sites of a group lie side by side, and innermost loops over lanes
become vector instructions. The lattice of a `Spinor` is that of a lane. (What Boyle et al. do in
Grid, arXiv:1512.03487, and the SIMD types of QPhiX.)
"""

from __future__ import annotations

from typing import Any

import numpy as np
from dslash import Gauge, Spinor
from lattice import Lattice

import execspace as es


@es.function
def project(h, psi, at, turn, mu, sign):
    """Two spins of (1 + sign gamma_mu) psi, from which the others follow."""
    for c in range(3):
        for lane in range(psi.extent(4)):
            k = (lane + turn) & (psi.extent(4) - 1)
            if mu == 0:
                h[0, c, 0, lane] = psi[at, 0, c, 0, k] - sign * psi[at, 3, c, 1, k]
                h[0, c, 1, lane] = psi[at, 0, c, 1, k] + sign * psi[at, 3, c, 0, k]
                h[1, c, 0, lane] = psi[at, 1, c, 0, k] - sign * psi[at, 2, c, 1, k]
                h[1, c, 1, lane] = psi[at, 1, c, 1, k] + sign * psi[at, 2, c, 0, k]
            if mu == 1:
                for part in (0, 1):
                    h[0, c, part, lane] = psi[at, 0, c, part, k] - sign * psi[at, 3, c, part, k]
                    h[1, c, part, lane] = psi[at, 1, c, part, k] + sign * psi[at, 2, c, part, k]
            if mu == 2:
                h[0, c, 0, lane] = psi[at, 0, c, 0, k] - sign * psi[at, 2, c, 1, k]
                h[0, c, 1, lane] = psi[at, 0, c, 1, k] + sign * psi[at, 2, c, 0, k]
                h[1, c, 0, lane] = psi[at, 1, c, 0, k] + sign * psi[at, 3, c, 1, k]
                h[1, c, 1, lane] = psi[at, 1, c, 1, k] - sign * psi[at, 3, c, 0, k]
            if mu == 3:
                for part in (0, 1):
                    h[0, c, part, lane] = psi[at, 0, c, part, k] + sign * psi[at, 2, c, part, k]
                    h[1, c, part, lane] = psi[at, 1, c, part, k] + sign * psi[at, 3, c, part, k]


@es.function
def reconstruct(out, x, a, mu, sign):
    """Add the two spins of a colour, and what follows of the others."""
    for lane in range(out.extent(3)):
        for spin in (0, 1):
            out[spin, a, 0, lane] += x[spin, 0, lane]
            out[spin, a, 1, lane] += x[spin, 1, lane]
        if mu == 0:
            out[2, a, 0, lane] += sign * x[1, 1, lane]
            out[2, a, 1, lane] -= sign * x[1, 0, lane]
            out[3, a, 0, lane] += sign * x[0, 1, lane]
            out[3, a, 1, lane] -= sign * x[0, 0, lane]
        if mu == 1:
            for part in (0, 1):
                out[2, a, part, lane] += sign * x[1, part, lane]
                out[3, a, part, lane] -= sign * x[0, part, lane]
        if mu == 2:
            out[2, a, 0, lane] += sign * x[0, 1, lane]
            out[2, a, 1, lane] -= sign * x[0, 0, lane]
            out[3, a, 0, lane] -= sign * x[1, 1, lane]
            out[3, a, 1, lane] += sign * x[1, 0, lane]
        if mu == 3:
            for part in (0, 1):
                out[2, a, part, lane] += sign * x[0, part, lane]
                out[3, a, part, lane] += sign * x[1, part, lane]


@es.function
def hop(out, psi, at, link, site, turn, mu, sign, adjoint):
    """Add what comes from neighbours, whose lanes are turned by `turn`, and with them the links
    that begin there."""
    h = es.local((2, 3, 2, psi.extent(4)), psi.dtype)
    project(h, psi, at, turn, mu, sign)
    x = es.local((2, 2, psi.extent(4)), psi.dtype)
    for a in range(3):
        for lane in range(psi.extent(4)):
            for spin in (0, 1):
                x[spin, 0, lane] = 0
                x[spin, 1, lane] = 0
        for c in range(3):
            for lane in range(psi.extent(4)):
                if adjoint:
                    k = (lane + turn) & (psi.extent(4) - 1)
                    re = link[site, mu, c, a, 0, k]
                    im = -link[site, mu, c, a, 1, k]
                else:
                    re = link[site, mu, a, c, 0, lane]
                    im = link[site, mu, a, c, 1, lane]
                for spin in (0, 1):
                    u, v = h[spin, c, 0, lane], h[spin, c, 1, lane]
                    x[spin, 0, lane] = x[spin, 0, lane] + re * u - im * v
                    x[spin, 1, lane] = x[spin, 1, lane] + re * v + im * u
        reconstruct(out, x, a, mu, sign)


@es.kernel
def dslash(xh, y, z, t, gauge, source, result, base, scale, isign: es.static, adds: es.static):
    """`result` = D `source`, or `base` + `scale` D `source`, on the sites of one parity."""
    part = source.lattice
    psi, there = source.data, gauge.even if result.parity == 1 else gauge.odd
    here = gauge.odd if result.parity == 1 else gauge.even
    site = part.number(xh, y, z, t)
    out = es.local((4, 3, 2, source.data.extent(4)), source.data.dtype)
    for spin in range(4):
        for a in range(3):
            for p in range(2):
                for lane in range(source.data.extent(4)):
                    out[spin, a, p, lane] = 0
    for mu in (0, 1, 2):
        at = part.neighbour(xh, y, z, t, result.parity, mu, 1)
        hop(out, psi, at, here, site, 0, mu, -isign, False)
        at = part.neighbour(xh, y, z, t, result.parity, mu, -1)
        hop(out, psi, at, there, at, 0, mu, isign, True)
    at = part.neighbour(xh, y, z, t, result.parity, 3, 1)
    if t + 1 == part.nt:
        hop(out, psi, at, here, site, 1, 3, -isign, False)
    else:
        hop(out, psi, at, here, site, 0, 3, -isign, False)
    at = part.neighbour(xh, y, z, t, result.parity, 3, -1)
    if t == 0:
        hop(out, psi, at, there, at, psi.extent(4) - 1, 3, isign, True)
    else:
        hop(out, psi, at, there, at, 0, 3, isign, True)
    for spin in range(4):
        for a in range(3):
            for p in range(2):
                for lane in range(source.data.extent(4)):
                    value = out[spin, a, p, lane]
                    if adds:
                        value = base[site, spin, a, p, lane] + scale * value
                    result.data[site, spin, a, p, lane] = value


def apply(
    gauge: Gauge, source: Spinor, result: Spinor, isign: int = 1, *,
    base: es.View | None = None, scale: float = 1.0, space: Any = None,
) -> None:  # fmt: skip
    """result = D source, or base + scale D source; the adjoint of D with `isign` -1."""
    part = source.lattice
    policy = es.MDRangePolicy(
        (part.nx // 2, part.ny, part.nz, part.nt), iterate="left", space=space
    )
    adds = base is not None
    other = result.data if base is None else base
    scale = result.data.dtype.type(scale)
    es.parallel_for(policy, dslash, gauge, source, result, other, scale, isign, adds)


# -- fields ---------------------------------------------------------------------------------------


def lanes_of(lattice: Lattice, width: int) -> Lattice:
    """The lattice of a lane of so many; ValueError if they are no power of two, or T cannot be
    divided among them."""
    if width < 1 or width & (width - 1):
        raise ValueError(f"{width} lanes: expected a power of two, or 0 for none")
    if lattice.nt % (2 * width):
        raise ValueError(
            f"{width} lanes of a lattice of {lattice.nt} slices in t: expected a multiple of "
            f"{2 * width} slices"
        )
    return Lattice(lattice.nx, lattice.ny, lattice.nz, lattice.nt // width)


def grouped(values: np.ndarray, width: int) -> np.ndarray:
    """(sites, ...) of complex numbers as (groups, ..., 2, width) of real ones."""
    lanes = values.reshape(width, len(values) // width, *values.shape[1:])
    lanes = np.moveaxis(lanes, 0, -1)
    return np.stack([lanes.real, lanes.imag], -2)


def ungrouped(values: np.ndarray) -> np.ndarray:
    """The inverse of `grouped`."""
    lanes = np.moveaxis(values[..., 0, :] + 1j * values[..., 1, :], -1, 0)
    return lanes.reshape(-1, *lanes.shape[2:])


def view_of_lanes(values: np.ndarray, width: int, dtype: Any, space: Any) -> es.View:
    """A View of `grouped` values."""
    found = grouped(values, width)
    shape = (found.shape[0], *map(es.static, found.shape[1:]))
    made = es.View(shape, dtype, layout="right", space=space)
    es.deep_copy(made, found.astype(dtype))
    return made
