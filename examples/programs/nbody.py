"""Gravity of N bodies, all pairs: teams that read bodies through tiles in scratch memory.

A team has a block of bodies. It copies one tile of bodies after the other into its scratch memory,
where all of its threads read it, and adds up what the tile does to the block. A star cluster in
equilibrium moves by the leapfrog method. Try:

    python examples/programs/nbody.py --bodies 10000 --steps 10 --block 128
    EXECSPACE_DEFAULT=serial python examples/programs/nbody.py

Tiles: L. Nyland, M. Harris and J. Prins, Fast N-Body Simulation with CUDA, GPU Gems 3, chapter 31,
2007. The cluster: S. J. Aarseth, M. Henon and R. Wielen, Astron. Astrophys. 37 (1974) 183-187,
Plummer's model; its mass and its radius are 1, and so is the constant of gravity.
"""

from __future__ import annotations

import argparse
import math

import numpy as np
from numpy.typing import NDArray

import execspace as es

SOFTENING, TIME_STEP, SEED = 0.05, 0.01, 1974
SMALL = {"bodies": 10, "steps": 2, "block": 4}  # for slow spaces


@es.function
def on_sphere(radius, seed, i, draw):
    """A point of a sphere, for which two random numbers are drawn."""
    z = 2 * es.random_uniform(seed, i, draw) - 1
    angle = 2 * math.pi * es.random_uniform(seed, i, draw + 1)
    s = math.sqrt(1 - z * z)
    return radius * s * math.cos(angle), radius * s * math.sin(angle), radius * z


@es.kernel
def plummer(i, x, v, seed):
    """A place and a velocity in the cluster."""
    closer = 0.99 * es.random_uniform(seed, i, 0)  # share of the mass; 1 is at infinity
    r = 1 / math.sqrt(closer ** (-2 / 3) - 1)
    x[i, 0], x[i, 1], x[i, 2] = on_sphere(r, seed, i, 2)
    draw = 6
    while True:  # q, the speed over that of escape, has the density q^2 (1 - q^2)^(7/2)
        q = es.random_uniform(seed, i, draw)
        if 0.1 * es.random_uniform(seed, i, draw + 1) < q * q * (1 - q * q) ** 3.5:
            break
        draw += 2
    speed = q * math.sqrt(2.0) * (1 + r * r) ** -0.25
    v[i, 0], v[i, 1], v[i, 2] = on_sphere(speed, seed, i, 4)


@es.function
def attraction(x, i, tile, j):
    """What a body of the tile does to body i if its mass is 1: acceleration and potential."""
    dx, dy, dz = tile[j, 0] - x[i, 0], tile[j, 1] - x[i, 1], tile[j, 2] - x[i, 2]
    inverse = 1 / math.sqrt(dx * dx + dy * dy + dz * dz + SOFTENING * SOFTENING)
    cube = inverse * inverse * inverse
    return dx * cube, dy * cube, dz * cube, -inverse


@es.kernel
def field(team, x, g, block):
    """Acceleration, g[i, :3], and potential, g[i, 3], at each body of a block."""
    n = x.extent(0)
    first = team.league_rank * block
    own = min(block, n - first)
    for k in es.TeamThreadRange(team, own):
        for d in range(4):
            g[first + k, d] = 0
    tile = team.scratch((block, 3))
    for begin in range(0, n, block):
        there = min(block, n - begin)
        team.barrier()  # all have read the tile before
        for j, d in es.TeamVectorMDRange(team, there, 3):
            tile[j, d] = x[begin + j, d]
        team.barrier()  # all of the new one is there
        for k in es.TeamThreadRange(team, own):
            i = first + k
            ax, ay, az, potential = es.parallel_reduce(
                es.ThreadVectorRange(team, there),
                lambda j: attraction(x, i, tile, j),
                reducer=(es.Sum, es.Sum, es.Sum, es.Sum),
            )
            g[i, 0] += ax / n
            g[i, 1] += ay / n
            g[i, 2] += az / n
            g[i, 3] += potential / n


@es.kernel
def kick_and_drift(i, x, v, g, dt):
    """Half a step of the velocity, and a step of the position."""
    for d in range(3):
        v[i, d] += dt / 2 * g[i, d]
        x[i, d] += dt * v[i, d]


@es.kernel
def kick(i, v, g, dt):
    """Half a step of the velocity; contributes the energy of a body."""
    for d in range(3):
        v[i, d] += dt / 2 * g[i, d]
    own = -1 / (SOFTENING * len(v))  # the potential of a body at its own place is none
    return (v[i, 0] ** 2 + v[i, 1] ** 2 + v[i, 2] ** 2 + g[i, 3] - own) / 2 / len(v)


def brute_force(x: NDArray[np.float64]) -> NDArray[np.float64]:
    """Acceleration and potential at each body by NumPy."""
    apart = x[None, :, :] - x[:, None, :]
    inverse = 1 / np.sqrt((apart**2).sum(axis=2) + SOFTENING**2)
    acceleration = np.einsum("ij,ijd->id", inverse**3, apart)
    return np.column_stack([acceleration, -inverse.sum(axis=1)]) / len(x)


def run(bodies: int = 1000, steps: int = 40, block: int = 64) -> dict[str, float]:
    """Move a cluster, and check the field of all bodies, energy and momentum."""
    x, v = es.empty((bodies, 3), label="x"), es.empty((bodies, 3), label="v")
    g = es.empty((bodies, 4), label="g")
    energy = es.zeros(steps + 1, label="energy")
    es.parallel_for(bodies, plummer, x, v, SEED)
    momentum = v.to_numpy().sum(axis=0)

    teams = es.TeamPolicy(-(-bodies // block))
    es.parallel_for(teams, field, x, g, block)
    es.parallel_reduce(bodies, kick, v, g, 0.0, out=es.subview(energy, 0))
    for step in range(1, steps + 1):
        es.parallel_for(bodies, kick_and_drift, x, v, g, TIME_STEP)
        es.parallel_for(teams, field, x, g, block)
        es.parallel_reduce(bodies, kick, v, g, TIME_STEP, out=es.subview(energy, step))

    # Leapfrog conserves an energy that differs from the true one by some TIME_STEP^2, measured for
    # 10 bodies (and 0.03 TIME_STEP^2 for 1000, whose encounters are softer). The rest is rounding.
    energies = energy.to_numpy()
    drift = float(abs(energies / energies[0] - 1).max())
    push = float(abs(v.to_numpy().sum(axis=0) - momentum).max() / bodies)
    expected = brute_force(x.to_numpy())
    error = float(abs(g.to_numpy() - expected).max() / abs(expected).max())
    assert drift < 5 * TIME_STEP**2, f"the energy has changed by {drift} of what it was"
    assert push < 1e-12, f"the momentum has changed by {push}"
    assert error < 1e-12, f"the field is off by {error} of its greatest value"
    return {"energy": float(energies[0]), "drift": drift, "push": push, "error": error}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Gravity of N bodies, in teams with tiles.")
    parser.add_argument("--bodies", type=int, default=1000, help="of the cluster")
    parser.add_argument("--steps", type=int, default=40, help=f"of time, {TIME_STEP} each")
    parser.add_argument("--block", type=int, default=64, help="bodies of a team, and of a tile")
    found = run(**vars(parser.parse_args()))
    print(f"energy {found['energy']:.4f} on {es.default_space().name}")
    print(f"that of Plummer's model, of infinitely many bodies, is {-3 * math.pi / 64:.4f}")
    print(f"changes: energy {found['drift']:.1e} of it, momentum {found['push']:.1e}")
