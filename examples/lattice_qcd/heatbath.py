"""Gauge fields of SU(3) without quarks, under Wilson's action, by heat bath and over-relaxation.

A link meets its plaquettes through the sum of its staples alone; one SU(2) subgroup after another
is drawn from its distribution there (Cabibbo and Marinari, Phys. Lett. B 119, 1982) as Kennedy and
Pendleton do (Phys. Lett. B 156, 1985), or reflected so that the action stays (Creutz, Phys. Rev.
D 36, 1987; Brown and Woch, Phys. Rev. Lett. 58, 1987). Links that begin at sites of one parity in
one direction share no plaquette, so all of them change in one launch.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Literal

import numpy as np
from dslash import Gauge
from lattice import EVEN, ODD, Lattice

import execspace as es
from execspace_kernels import batched

SUBGROUPS = ((0, 1), (0, 2), (1, 2))  # rows and columns of the SU(2) matrices within a link
ATTEMPTS = 32  # none is accepted in 1 % of cases at beta = 0.5, in 0.0005 % at most at 5.7
DRAWS = 4 * ATTEMPTS + 2  # random numbers of a subgroup; even, as two of them are made at once


# -- loops of links --------------------------------------------------------------------------------


@es.function
def beside(lattice, site, parity, mu, step):
    """The number of the site one step in direction mu from that of a number and a parity."""
    half = lattice.nx // 2
    row = site // half
    plane = row // lattice.ny
    y, z, t = row % lattice.ny, plane % lattice.nz, plane // lattice.nz
    return lattice.neighbour(site % half, y, z, t, parity, mu, step)


@es.function
def add_upper(staple, lattice, site, here, there, parity, mu, nu):
    """staple += U_nu(x + mu) U_mu(x + nu)^H U_nu(x)^H, which closes U_mu(x) to a plaquette."""
    two = es.local((3, 3), here.dtype)
    ahead = beside(lattice, site, parity, mu, 1)
    up = beside(lattice, site, parity, nu, 1)
    batched.serial.gemm(there[ahead, nu, :, :], there[up, mu, :, :], two, 1, 0, "N", "H")
    batched.serial.gemm(two, here[site, nu, :, :], staple, 1, 1, "N", "H")


@es.function
def add_lower(staple, lattice, site, here, there, parity, mu, nu):
    """staple += U_nu(x + mu - nu)^H U_mu(x - nu)^H U_nu(x - nu)."""
    two = es.local((3, 3), here.dtype)
    down = beside(lattice, site, parity, nu, -1)
    corner = beside(lattice, down, 1 - parity, mu, 1)
    batched.serial.gemm(there[down, mu, :, :], here[corner, nu, :, :], two)
    batched.serial.gemm(two, there[down, nu, :, :], staple, 1, 1, "H", "N")


@es.function
def plaquettes(lattice, site, here, there, parity):
    """Re tr of the plaquettes whose lowest corner is a site."""
    total = 0.0
    for mu in range(4):
        for nu in range(mu):
            staple = es.local((3, 3), here.dtype)
            add_upper(staple, lattice, site, here, there, parity, mu, nu)
            for a in range(3):
                for b in range(3):
                    total += (here[site, mu, a, b] * staple[b, a]).real
    return total


@es.kernel
def plaquettes_of_both(site, gauge, lattice):
    """Those of the sites of both parities that have a number."""
    even = plaquettes(lattice, site, gauge.even, gauge.odd, EVEN)
    return even + plaquettes(lattice, site, gauge.odd, gauge.even, ODD)


def plaquette(gauge: Gauge, lattice: Lattice, space: Any = None) -> float:
    """Average of Re tr U_p / 3 over plaquettes: 1 where all links are 1.

    Parameters
    ----------
    gauge : Gauge
    lattice : Lattice
    space : str or Space, optional
        Where it is computed; by default where launches run.
    """
    policy = es.RangePolicy(lattice.sites, space=space)
    total = es.parallel_reduce(policy, plaquettes_of_both, gauge, lattice)
    return float(total) / (6 * 3 * lattice.volume)


# -- links -----------------------------------------------------------------------------------------


@es.kernel
def renew(site, here, there, lattice, parity, mu, rule, beta, seed, draw):
    """Change the link in direction mu from a site of a parity, whose links `here` has."""
    staple = es.local((3, 3), here.dtype)
    for nu in range(4):
        if nu != mu:
            add_upper(staple, lattice, site, here, there, parity, mu, nu)
            add_lower(staple, lattice, site, here, there, parity, mu, nu)
    u = es.local((3, 3), here.dtype)
    w = es.local((3, 3), here.dtype)
    batched.serial.copy(here[site, mu, :, :], u)
    batched.serial.gemm(u, staple, w)
    index = (parity * lattice.sites + site) * 4 + mu
    for n, (i, j) in enumerate(SUBGROUPS):
        # What SU(2) matrices see of the block is its projection k V on their multiples. They are
        # written [[a, b], [-b*, a*]], as pairs (a, b).
        a = (w[i, i] + np.conj(w[j, j])) / 2
        b = (w[i, j] - np.conj(w[j, i])) / 2
        k = math.sqrt(a.real**2 + a.imag**2 + b.real**2 + b.imag**2)
        if k > 0:
            a, b = rule(a / k, b / k, k, beta, seed, index, draw + n * DRAWS)
            turn(u, i, j, a, b)
            turn(w, i, j, a, b)
    make_unitary(u)
    batched.serial.copy(u, here[site, mu, :, :])


@es.function
def drawn(a, b, k, beta, seed, index, draw):
    """X V^H, where X has the density exp(beta k / 3 tr X)."""
    found_a, found_b = complex(1.0, 0.0), complex(0.0, 0.0)
    width = 3 / (4 * beta * k)
    for attempt in range(ATTEMPTS):
        at = draw + 4 * attempt
        # 1 - u, as the logarithm of 0 is none.
        first = math.log(1 - es.random_uniform(seed, index, at))
        cosine = math.cos(2 * math.pi * es.random_uniform(seed, index, at + 1))
        second = math.log(1 - es.random_uniform(seed, index, at + 2))
        square = -width * (first + cosine * cosine * second)
        if es.random_uniform(seed, index, at + 3) ** 2 <= 1 - square:
            x, y, z = on_sphere(
                es.random_uniform(seed, index, draw + 4 * ATTEMPTS),
                es.random_uniform(seed, index, draw + 4 * ATTEMPTS + 1),
            )
            r = 2 * math.sqrt(square * (1 - square))
            c, d = complex(1 - 2 * square, r * z), complex(r * y, r * x)
            found_a, found_b = c * np.conj(a) + d * np.conj(b), d * a - c * b
            break
    # Where none was accepted the link stays. How often that happens depends on k alone and not on
    # the link's place in the subgroup, so the distribution is still the right one.
    return found_a, found_b


@es.function
def on_sphere(u, v):
    """A point on the unit sphere, of two numbers between 0 and 1."""
    z = 2 * v - 1
    r = math.sqrt(1 - z * z)
    return r * math.cos(2 * math.pi * u), r * math.sin(2 * math.pi * u), z


@es.function
def reflected(a, b, k, beta, seed, index, draw):
    """V^H V^H, which turns V into V^H, of the same trace."""
    return np.conj(a) ** 2 - b * np.conj(b), -2 * a.real * b


@es.function
def turn(m, i, j, a, b):
    """Multiply a matrix from the left by an SU(2) matrix in rows and columns i and j."""
    for col in range(3):
        above, below = m[i, col], m[j, col]
        m[i, col] = a * above + b * below
        m[j, col] = np.conj(a) * below - np.conj(b) * above


@es.function
def make_unitary(u):
    """Make rows orthonormal by Gram and Schmidt's method, and the determinant 1."""
    normalise(u, 0)
    along = np.conj(u[0, 0]) * u[1, 0] + np.conj(u[0, 1]) * u[1, 1] + np.conj(u[0, 2]) * u[1, 2]
    for col in range(3):
        u[1, col] -= along * u[0, col]
    normalise(u, 1)
    for col, after, last in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):
        u[2, col] = np.conj(u[0, after] * u[1, last] - u[0, last] * u[1, after])


@es.function
def normalise(u, row):
    """Divide a row by its norm."""
    total = 0.0
    for col in range(3):
        total += u[row, col].real ** 2 + u[row, col].imag ** 2
    factor = 1 / math.sqrt(total)
    for col in range(3):
        u[row, col] *= factor


# -- sweeps ----------------------------------------------------------------------------------------


def update(
    gauge: Gauge, lattice: Lattice, beta: float, step: int, seed: int, space: Any = None
) -> None:
    """Draw all links anew, each in the field of the others; asynchronous where the space is.

    Parameters
    ----------
    gauge : Gauge
        Is changed.
    lattice : Lattice
    beta : float
        The coupling, 6 / g^2, above 0.
    step : int
        The number of the sweep: others have other random numbers.
    seed : int
        0 <= seed < 2**64.
    space : str or Space, optional
        Where it is computed; by default where launches run.

    Raises
    ------
    ValueError
        `beta` is not above 0.
    """
    if not beta > 0:
        raise ValueError(f"beta: expected a number above 0, got {beta}")
    _sweep(gauge, lattice, space, drawn, beta, seed, step * len(SUBGROUPS) * DRAWS)


def over_relax(gauge: Gauge, lattice: Lattice, space: Any = None) -> None:
    """Move all links far without changing the action; asynchronous where the space is.

    Parameters
    ----------
    gauge : Gauge
        Is changed.
    lattice : Lattice
    space : str or Space, optional
        Where it is computed; by default where launches run.
    """
    _sweep(gauge, lattice, space, reflected)


def _sweep(
    gauge: Gauge, lattice: Lattice, space: Any, rule: Any, beta: float = 0.0, seed: int = 0, draw=0
) -> None:
    """Change all links by a rule: a direction and a parity after the other."""
    policy = es.RangePolicy(lattice.sites, space=space)
    for mu in range(4):
        for parity in (EVEN, ODD):
            here, there = (gauge.even, gauge.odd)[:: 1 if parity == EVEN else -1]
            es.parallel_for(
                policy, renew, here, there, lattice, parity, mu, rule, beta, es.uint64(seed), draw
            )


# -- configurations --------------------------------------------------------------------------------


@es.kernel
def begin(site, links, lattice, parity, seed, start: es.static):
    """Set the links from a site to 1, or to random matrices."""
    for mu in range(4):
        index = (parity * lattice.sites + site) * 4 + mu
        for row in range(3):
            for col in range(3):
                if start == "cold":
                    links[site, mu, row, col] = 1 if row == col else 0
                else:
                    n = 2 * (3 * row + col)
                    x = es.random_normal(seed, index, n)
                    links[site, mu, row, col] = complex(x, es.random_normal(seed, index, n + 1))
        make_unitary(links[site, mu, :, :])


def cold(lattice: Lattice, space: Any = None) -> Gauge:
    """Links that are all 1.

    Parameters
    ----------
    lattice : Lattice
    space : str or Space, optional
        Where they are; by default where launches run.
    """
    return _started(lattice, space, "cold")


def hot(lattice: Lattice, seed: int, space: Any = None) -> Gauge:
    """Links that are independent of each other, and distributed evenly in SU(3).

    Parameters
    ----------
    lattice : Lattice
    seed : int
        0 <= seed < 2**64.
    space : str or Space, optional
        Where they are; by default where launches run.
    """
    return _started(lattice, space, "hot", seed)


def _started(lattice: Lattice, space: Any, start: str, seed: int = 0) -> Gauge:
    """Links of a start."""
    shape = (lattice.sites, es.static(4), es.static(3), es.static(3))
    found = []
    for parity in (EVEN, ODD):
        links = es.View(shape, np.complex128, label="links", space=space)
        policy = es.RangePolicy(lattice.sites, space=space)
        es.parallel_for(policy, begin, links, lattice, parity, es.uint64(seed), start)
        found.append(links)
    return Gauge(*found)


def configuration(
    lattice: Lattice,
    beta: float,
    sweeps: int,
    seed: int,
    space: Any = None,
    over_relaxations: int = 4,
    on_sweep: Callable[[int, float], object] | None = None,
    *,
    start: Literal["cold", "hot"] = "cold",
) -> Gauge:
    """Links as they are after some sweeps of the heat bath.

    Parameters
    ----------
    lattice : Lattice
    beta : float
        The coupling, 6 / g^2, above 0.
    sweeps : int
    seed : int
        0 <= seed < 2**64; the same one gives the same random numbers on every space, and the same
        links until rounding, which grows with each sweep, has made others of them.
    space : str or Space, optional
        Where they are; by default where launches run.
    over_relaxations : int
        Sweeps of over-relaxation after each one of the heat bath.
    on_sweep : function, optional
        Is called with the number of each sweep, from 1 on, and the plaquette after it.
    start : {"cold", "hot"}
        What the first sweep begins with.
    """
    gauge = _started(lattice, space, start, seed)
    for n in range(sweeps):
        update(gauge, lattice, beta, n, seed, space)
        for _ in range(over_relaxations):
            over_relax(gauge, lattice, space)
        if on_sweep is not None:
            on_sweep(n + 1, plaquette(gauge, lattice, space))
    return gauge
