"""Columns of an atmosphere, as in the climate model HOMME: scans over levels, nested in teams.

An element has 4 x 4 points, and each point a column of 72 levels. An element is a team, its
points are shared by the threads, and the levels of a point by the lanes of a thread:

    pressure       inclusive and exclusive sums of the thickness of levels, from the top
    geopotential   a sum from the ground: hydrostatic balance, dphi = R T dp / p
    mass, energy   sums over a column, over the points of an element, and over all elements

Try:

    python examples/teams/column.py
    python examples/teams/column.py --space cuda --elements 5400 --team-size 16 --vector-length 32
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from functools import partial

import numpy as np
from program import Array, Run, agree, host, main

import execspace as es

POINTS = 16  # of an element
R, CP, G, TOP = 287.04, 1005.0, 9.80616, 200.0  # J/(kg K), J/(kg K), m/s^2, Pa
SIZES: dict[str, tuple[int | None, str]] = {
    "elements": (600, "elements of 16 points"),
    "levels": (72, "levels of a column"),
}


@es.kernel
def columns(team, dp, temperature, ground, weights, pressure, below, phi, mass):
    """Pressure, geopotential and mass of an element; returns its energy, in J.

    `pressure` is that in the middle of a level, `below` that at its lower interface.
    """
    e, levels = team.league_rank, dp.extent(2)
    ratio = team.thread_scratch(levels)

    def column(c):
        def down(k, above, final):
            if final:
                pressure[e, c, k] = TOP + above + 0.5 * dp[e, c, k]
                below[e, c, k] = TOP + above + dp[e, c, k]
            return dp[e, c, k]

        def heat(k):
            here = temperature[e, c, k] * dp[e, c, k]
            ratio[k] = R * here / pressure[e, c, k]
            return here

        def up(k, under, final):
            level = levels - 1 - k
            if final:
                phi[e, c, level] = ground[e, c] + under + 0.5 * ratio[level]
            return ratio[level]

        # The lanes of a thread wait for each other after each of the three.
        thickness = es.parallel_scan(es.ThreadVectorRange(team, levels), down)
        warmth = es.parallel_reduce(es.ThreadVectorRange(team, levels), heat)
        es.parallel_scan(es.ThreadVectorRange(team, levels), up)
        if es.single(es.PerThread(team)):
            mass[e, c] = thickness / G
        return weights[c] * (CP * warmth + ground[e, c] * thickness) / G

    return es.parallel_reduce(es.TeamThreadRange(team, POINTS), column)


@dataclass(frozen=True)
class Fields:
    """Arrays of a state, or what follows from it."""

    inputs: tuple[Array, ...]  # dp, temperature, ground, weights
    outputs: tuple[Array, ...]  # pressure, below, phi, mass
    energy: float


def fields(elements: int, levels: int) -> Fields:
    """A state of mountains and weather, and by NumPy what follows from it."""
    random = np.random.default_rng(1)
    shape = (elements, POINTS, levels)
    ground = G * 3000 * random.random(shape[:2])
    surface = 101325 * np.exp(-ground / (R * 288)) - TOP
    eta = np.linspace(0, 1, levels + 1) ** 1.5
    dp = surface[..., None] * np.diff(eta) * random.uniform(0.9, 1.1, shape)
    temperature = 220 + 70 * eta[1:] + random.uniform(-5, 5, shape)
    weights = np.outer(*2 * [np.array([1, 5, 5, 1]) / 6]).reshape(-1)  # of Gauss and Lobatto

    below = TOP + np.cumsum(dp, axis=2)
    pressure = below - 0.5 * dp
    ratio = R * temperature * dp / pressure
    phi = ground[..., None] + np.cumsum(ratio[..., ::-1], axis=2)[..., ::-1] - 0.5 * ratio
    mass = dp.sum(axis=2) / G
    energy = (weights * (CP * (temperature * dp).sum(axis=2) / G + ground * mass)).sum()
    return Fields((dp, temperature, ground, weights), (pressure, below, phi, mass), float(energy))


def compute(run: Run) -> None:
    """Compute all, and compare."""
    elements, levels = (run.sizes[name] for name in SIZES)
    state = fields(elements, levels)
    inputs = [run.copied(array) for array in state.inputs]
    outputs = [run.view(array.shape) for array in state.outputs]
    launch = partial(es.parallel_reduce, run.teams(elements), columns, *inputs, *outputs)

    energy = launch()
    for name, view, right in zip(
        ("pressure", "pressure below", "geopotential", "mass"), outputs, state.outputs, strict=True
    ):
        agree(name, host(view), right, 1e-12)
    agree("energy", energy, state.energy, 1e-12)
    print(f"{elements} elements of {POINTS} points, {levels} levels: as by NumPy")
    print(f"{'energy':<12}{energy:.6e} J")
    moved = 8 * (5 * state.inputs[0].size)  # dp, temperature, and three results
    time = run.milliseconds(launch)
    print(f"{'teams':<12}{time:9.3f} ms {moved / time / 1e6:7.1f} GB/s")


if __name__ == "__main__":
    sys.exit(main(__doc__, SIZES, compute))
