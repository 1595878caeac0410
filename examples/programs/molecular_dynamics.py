"""A liquid of Lennard-Jones atoms: velocity Verlet with a cell list.

A crystal with random velocities melts in a periodic box; units are those of the potential. In each
step atoms are counted into cells as wide as forces reach, a scan says where the atoms of a cell
go in a list, and an atom finds its neighbours in 27 cells. The energies of all steps stay where the
atoms are until the end. Try:

    python examples/programs/molecular_dynamics.py --cells 12 --steps 1000
    EXECSPACE_DEFAULT=serial python examples/programs/molecular_dynamics.py --cutoff 3

Method: M. P. Allen and D. J. Tildesley, Computer Simulation of Liquids, 2nd edition, Oxford
University Press, 2017. Forces are shifted, so that they are zero where they are cut off:
S. Toxvaerd and J. C. Dyre, J. Chem. Phys. 134 (2011) 081102.
"""

from __future__ import annotations

import argparse
import math

import numpy as np
from numpy.typing import NDArray

import execspace as es

DENSITY, TEMPERATURE, TIME_STEP = 0.8442, 1.44, 0.004
FCC = np.array([(0.0, 0.0, 0.0), (0.5, 0.5, 0.0), (0.5, 0.0, 0.5), (0.0, 0.5, 0.5)])
SMALL = {"cells": 3, "steps": 1, "cutoff": 1.6}  # for slow spaces


@es.function
def lennard_jones(r2):
    """Potential, and force over distance, at a distance of which r2 is the square."""
    s = 1 / (r2 * r2 * r2)
    return 4 * s * (s - 1), 24 * s * (2 * s - 1) / r2


@es.function(fma=False)  # so that all kernels find the same cell, whatever they are compiled to
def cell_of(x, i, box, n):
    """The cell of atom i, of n along each axis."""
    a, b, c = int(x[i, 0] / box * n), int(x[i, 1] / box * n), int(x[i, 2] / box * n)
    return min(a, n - 1), min(b, n - 1), min(c, n - 1)


@es.function
def separation(x, i, j, box):
    """From atom j, or its image that is nearest, to atom i."""
    dx, dy, dz = x[i, 0] - x[j, 0], x[i, 1] - x[j, 1], x[i, 2] - x[j, 2]
    return dx - box * np.rint(dx / box), dy - box * np.rint(dy / box), dz - box * np.rint(dz / box)


@es.kernel
def count_atom(i, x, box, count):
    """One more in the cell of atom i."""
    es.atomic_inc(count, cell_of(x, i, box, count.extent(0)))


@es.kernel
def begin_cell(a, b, c, before, final, count, end):
    """A scan: the part of the list that a cell has begins after those before it."""
    if final:
        end[a, b, c] = before
    return count[a, b, c]


@es.kernel
def list_atom(i, x, box, end, atoms):
    """Append atom i to the part of its cell."""
    atoms[es.atomic_fetch_inc(end, cell_of(x, i, box, end.extent(0)))] = i


@es.kernel
def forces(i, x, f, box, cutoff, count, end, atoms):
    """The force on atom i; contributes its half of the potential of each pair."""
    n = count.extent(0)
    potential_there, force_there = lennard_jones(cutoff * cutoff)
    potential = fx = fy = fz = 0.0
    a, b, c = cell_of(x, i, box, n)
    for near in range(27):
        p, q, r = (a + near // 9 - 1) % n, (b + near // 3 % 3 - 1) % n, (c + near % 3 - 1) % n
        for k in range(end[p, q, r] - count[p, q, r], end[p, q, r]):
            j = atoms[k]
            dx, dy, dz = separation(x, i, j, box)
            r2 = dx * dx + dy * dy + dz * dz
            if j != i and r2 < cutoff * cutoff:
                distance = math.sqrt(r2)
                u, w = lennard_jones(r2)
                w -= force_there * cutoff / distance
                fx, fy, fz = fx + w * dx, fy + w * dy, fz + w * dz
                u -= potential_there + force_there * cutoff * (cutoff - distance)
                potential += u / 2
    f[i, 0], f[i, 1], f[i, 2] = fx, fy, fz
    return potential


@es.kernel
def kick_and_drift(i, x, v, f, dt, box):
    """Half a step of the velocity, and a step of the position, which stays in the box."""
    for d in range(3):
        v[i, d] += dt / 2 * f[i, d]
        x[i, d] += dt * v[i, d]
        x[i, d] -= box * np.floor(x[i, d] / box)


@es.kernel
def kick(i, v, f, dt):
    """Half a step of the velocity; contributes the kinetic energy."""
    for d in range(3):
        v[i, d] += dt / 2 * f[i, d]
    return (v[i, 0] ** 2 + v[i, 1] ** 2 + v[i, 2] ** 2) / 2


def brute_force(x: NDArray[np.float64], i: int, box: float, cutoff: float) -> NDArray[np.float64]:
    """The force on atom i by NumPy, which looks at all other atoms."""
    apart = np.delete(x[i] - x, i, axis=0)
    apart -= box * np.rint(apart / box)
    r = np.sqrt((apart**2).sum(axis=1))
    weight = lennard_jones(r**2)[1] - lennard_jones(cutoff**2)[1] * cutoff / r
    return (weight * (r < cutoff)) @ apart


def run(cells: int = 6, steps: int = 100, cutoff: float = 2.5) -> dict[str, float]:
    """Melt a crystal of `cells`^3 cells with 4 atoms each, and check what must be conserved."""
    n = 4 * cells**3
    box = (n / DENSITY) ** (1 / 3)
    across = int(box / cutoff)  # cells of the list along each axis
    assert across >= 3, f"a box of {box:.2f} must be as wide as three cutoffs"
    crystal = (np.argwhere(np.ones((cells,) * 3))[:, None] + FCC).reshape(n, 3) * box / cells
    x = es.array(crystal, label="x")
    v, f = es.empty_like(x, label="v"), es.empty_like(x, label="f")
    es.fill_random(v, 2024, distribution="normal", std=math.sqrt(TEMPERATURE))
    momentum = v.to_numpy().sum(axis=0)
    count, end = (es.zeros((across,) * 3, np.int64, label=name) for name in ("count", "end"))
    atoms, listed = es.empty(n, np.int64, label="atoms"), es.empty((), np.int64, label="listed")
    energy = es.zeros((2, steps + 1), label="energy")  # kinetic and potential

    def find_forces(step: int) -> None:
        count.fill(0)
        es.parallel_for(n, count_atom, x, box, count)
        es.parallel_scan(es.MDRangePolicy(count.shape), begin_cell, count, end, out=listed)
        es.parallel_for(n, list_atom, x, box, end, atoms)
        potential = es.subview(energy, 1, step)
        es.parallel_reduce(n, forces, x, f, box, cutoff, count, end, atoms, out=potential)

    find_forces(0)
    es.parallel_reduce(n, kick, v, f, 0.0, out=es.subview(energy, 0, 0))
    for step in range(1, steps + 1):
        es.parallel_for(n, kick_and_drift, x, v, f, TIME_STEP, box)
        find_forces(step)
        es.parallel_reduce(n, kick, v, f, TIME_STEP, out=es.subview(energy, 0, step))

    # Velocity Verlet conserves an energy that differs from the true one by some 43 TIME_STEP^2 here
    # (measured for steps of 0.001 to 0.008). Momentum and forces differ by rounding alone.
    kinetic, potential = energy.to_numpy() / n
    drift = float(abs(kinetic + potential - kinetic[0] - potential[0]).max())
    push = float(abs(v.to_numpy().sum(axis=0) - momentum).max())
    assert drift < 100 * TIME_STEP**2, f"the energy of an atom has changed by {drift}"
    assert push < 1e-10, f"the momentum has changed by {push}"
    found, positions = f.to_numpy(), x.to_numpy()
    for i in range(0, n, 1 + n // 20):
        right = brute_force(positions, i, box, cutoff)
        assert abs(found[i] - right).max() < 1e-10 * abs(found).max(), f"wrong force on atom {i}"
    return {"atoms": n, "temperature": float(kinetic[-1] * 2 / 3), "drift": drift, "push": push}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="A liquid of Lennard-Jones atoms.")
    parser.add_argument("--cells", type=int, default=6, help="of the crystal along each axis")
    parser.add_argument("--steps", type=int, default=100, help="of time")
    parser.add_argument("--cutoff", type=float, default=2.5, help="distance that forces reach")
    found = run(**vars(parser.parse_args()))
    print(f"{found['atoms']} atoms on {es.default_space().name}")
    print(f"temperature {TEMPERATURE} of the crystal, {found['temperature']:.4f} in the end")
    print(f"changes: energy of an atom {found['drift']:.1e}, momentum {found['push']:.1e}")
