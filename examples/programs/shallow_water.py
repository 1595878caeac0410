"""Shallow water: a dam of any shape breaks in a basin with walls.

The depth h and the discharges hu and hv obey conservation laws, solved here by finite volumes with
the flux of Rusanov; see Toro, Shock-Capturing Methods for Free-Surface Shallow Flows (2001),
chapters 3 and 10. A straight dam is compared with the exact solution of Stoker, Water Waves (1957),
section 10.8. Run it:

    python examples/programs/shallow_water.py --cells 400
"""

from __future__ import annotations

import argparse
import math

import numpy as np
import numpy.typing as npt

import execspace as es

SMALL = {"cells": 12}

G = 9.81

Depth = npt.NDArray[np.float64]


@es.function
def flux(left, right):
    """What flows through a face, of cells (depth, discharge across, discharge along the face)."""
    h, m, n = left
    k, p, q = right
    a, b = m / h, p / k
    speed = max(abs(a) + math.sqrt(G * h), abs(b) + math.sqrt(G * k))
    return (
        (m + p - speed * (k - h)) / 2,
        (m * a + p * b + G / 2 * (h * h + k * k) - speed * (p - m)) / 2,
        (n * a + q * b - speed * (q - n)) / 2,
    )


@es.kernel
def step(i, j, q, new, ratio):
    """One step of explicit Euler; ratio is that of the time step to the spacing.

    Beyond a wall is a mirror image of the cell, whose discharge across the wall is reversed.
    """
    n, m = q.extent(1), q.extent(2)
    h, hu, hv = q[0, i, j], q[1, i, j], q[2, i, j]
    west = (q[0, i - 1, j], q[1, i - 1, j], q[2, i - 1, j]) if i > 0 else (h, -hu, hv)
    east = (q[0, i + 1, j], q[1, i + 1, j], q[2, i + 1, j]) if i < n - 1 else (h, -hu, hv)
    south = (q[0, i, j - 1], q[2, i, j - 1], q[1, i, j - 1]) if j > 0 else (h, -hv, hu)
    north = (q[0, i, j + 1], q[2, i, j + 1], q[1, i, j + 1]) if j < m - 1 else (h, -hv, hu)
    w, e = flux(west, (h, hu, hv)), flux((h, hu, hv), east)
    s, t = flux(south, (h, hv, hu)), flux((h, hv, hu), north)
    new[0, i, j] = h - ratio * (e[0] - w[0] + t[0] - s[0])
    new[1, i, j] = hu - ratio * (e[1] - w[1] + t[2] - s[2])
    new[2, i, j] = hv - ratio * (e[2] - w[2] + t[1] - s[1])


@es.kernel
def fastest(i, j, q):
    """Speed of the fastest wave in a cell, in either direction."""
    h = q[0, i, j]
    return max(abs(q[1, i, j]), abs(q[2, i, j])) / h + math.sqrt(G * h)


def evolve(depth: Depth, spacing: float, end: float) -> es.View:
    """Depth and discharges at a time, of water that is at rest at first."""
    q = es.zeros((3, *depth.shape), label="q")
    q[0] = depth
    new = es.empty_like(q, label="new")
    cells = es.MDRangePolicy(depth.shape)
    time = 0.0
    while time < end:
        speed = es.parallel_reduce(cells, fastest, q, reducer=es.Max)
        dt = min(0.45 * spacing / speed, end - time)  # no wave crosses half a cell
        es.parallel_for(cells, step, q, new, dt / spacing)
        q, new = new, q
        time += dt
    return q


def stoker(x: Depth, time: float, high: float, low: float) -> Depth:
    """Depths after a dam at x = 0 broke between water of two depths."""
    below, above = low, high
    for _ in range(60):  # bisection for the depth between the two waves
        h = (below + above) / 2
        u = 2 * (math.sqrt(G * high) - math.sqrt(G * h))  # behind the rarefaction
        bore = (h - low) * math.sqrt(G / 2 * (1 / h + 1 / low))  # behind the bore
        below, above = (h, above) if u > bore else (below, h)
    front = h * u / (h - low)
    fan = (2 * math.sqrt(G * high) - x / time) ** 2 / (9 * G)
    return np.where(x > front * time, low, np.clip(fan, h, high))


def run(cells: int = 200) -> dict[str, float]:
    """A straight dam in a channel, and a round one in a basin, both of length 1."""
    x = (np.arange(cells) + 0.5) / cells - 0.5
    dam = np.where(x < 0, 2.0, 1.0)
    time = 0.04
    q = evolve(dam[:, None], 1 / cells, time).to_numpy()
    error = float(np.abs(q[0, :, 0] - stoker(x, time, high=2.0, low=1.0)).mean())
    # Schemes of first order converge as the square root of the spacing where there are jumps
    # (Kuznetsov 1976), faster elsewhere.
    assert error < 0.3 / math.sqrt(cells)
    # The walls are too far away for a change to have reached them, a cell in each step. Their
    # pressures alone change the momentum.
    assert abs(q[1].mean() - time * G / 2 * (2.0**2 - 1.0**2)) < 1e-12

    # A pillar of water in the middle of a square basin, until waves have come back from the walls.
    odd = 2 * np.arange(cells) + 1 - cells  # exactly symmetric, as integers are
    basin = np.where(odd[:, None] ** 2 + odd**2 < (cells / 2) ** 2, 2.0, 1.0)
    h = evolve(basin, 1 / cells, end=0.2)[0].to_numpy()
    # What leaves a cell enters the next one, and no direction is preferred, up to rounding: some
    # hundred steps of 1e-16 each.
    assert abs(h.mean() - basin.mean()) < 1e-12
    for turned in (h.T, h[::-1], h[:, ::-1]):
        assert np.abs(h - turned).max() < 1e-12
    return {"mean error of the straight dam": error, "highest wave in the basin": float(h.max())}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cells", type=int, default=200, help="cells along a side of the basin")
    for name, value in run(**vars(parser.parse_args())).items():
        print(f"{name}: {value:.4g}")
