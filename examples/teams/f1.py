"""A loop of the climate model E3SM, flat and with teams: how scratch memory saves work.

    b(i) = sum over j = i-m .. i+m of a((j + n) mod n) * (1 - |j| / m),  a(i) = sin(2 pi i / n)

Flat, every point computes its own 2m + 1 products. But a product depends on j alone, so a team
that has a block of points computes each of them once, into scratch memory, and then adds. Try:

    python examples/teams/f1.py
    python examples/teams/f1.py --space cuda --block 512 --team-size 512 --vector-length 1

The problem and its answer are those of https://github.com/E3SM-Project/E3SM/issues/4640.
"""

from __future__ import annotations

import math
import sys

import numpy as np
from program import Array, InputError, Run, agree, host, main

import execspace as es

POINTS, REACH, PUBLISHED = 128000, 256, 5225237167.4778
SIZES: dict[str, tuple[int | None, str]] = {
    "n": (POINTS, "points"),
    "m": (REACH, "neighbours on either side"),
    "block": (1024, "points of a team"),
}


@es.kernel
def flat(i, a, b, n, m):
    """A point on its own."""
    total = 0.0
    for j in range(i - m, i + m + 1):
        total += a[(j + n) % n] * (1.0 - abs(j) / m)
    b[i] = total


@es.kernel
def blocked(team, a, b, n, m, block):
    """A block of points for a team: products by all lanes, a point by a thread and its lanes."""
    first = team.league_rank * block
    products = team.scratch(block + 2 * m)
    for k in es.TeamVectorRange(team, block + 2 * m):
        j = first - m + k
        products[k] = a[(j + n) % n] * (1.0 - abs(j) / m)
    team.barrier()  # what others have stored is read below
    for p in es.TeamThreadRange(team, min(block, n - first)):
        b[first + p] = es.parallel_reduce(
            es.ThreadVectorRange(team, 2 * m + 1), lambda k: products[p + k]
        )


@es.kernel
def without_arrays(team, n, m, block):
    """The sum of b without a and b: sines are computed where they are needed."""
    first = team.league_rank * block
    products = team.scratch(block + 2 * m)
    for k in es.TeamVectorRange(team, block + 2 * m):
        j = first - m + k
        products[k] = math.sin(j * (2.0 * math.pi / n)) * (1.0 - abs(j) / m)
    team.barrier()

    def point(p):
        return es.parallel_reduce(es.ThreadVectorRange(team, 2 * m + 1), lambda k: products[p + k])

    # The contribution of a team counts once, though each of its threads returns it.
    return es.parallel_reduce(es.TeamThreadRange(team, min(block, n - first)), point)


def inputs(n: int) -> Array:
    """The array a."""
    return np.sin(2 * np.pi * np.arange(n) / n)


def expected(n: int, m: int) -> Array:
    """The array b, by NumPy."""
    j = np.arange(-m, n + m)
    return np.convolve(inputs(n)[j % n] * (1 - abs(j) / m), np.ones(2 * m + 1), "valid")


def compute(run: Run) -> None:
    """Compute b, or only its sum, in three ways."""
    n, m, block = (run.sizes[name] for name in SIZES)
    if n < m:
        raise InputError(f"--n {n}: expected at least as many points as --m, {m}.")
    a, b, right = run.copied(inputs(n)), run.view(n), expected(n, m)
    points = es.RangePolicy(n, space=run.space)
    teams = run.teams(-(-n // block))

    print(f"n {n}, m {m}: sum of b")
    launches = {
        "F1 flat": lambda: es.parallel_for(points, flat, a, b, n, m),
        "F1 teams": lambda: es.parallel_for(teams, blocked, a, b, n, m, block),
        "F1nd teams": lambda: es.parallel_reduce(teams, without_arrays, n, m, block),
    }
    for name, launch in launches.items():
        es.deep_copy(b, math.nan)
        total = launch()
        if total is None:
            agree(f"{name}: b", host(b), right, 1e-12)
            total = es.parallel_reduce(points, lambda i: b[i])
        agree(f"{name}: sum of b", total, right.sum(), 1e-12)
        print(f"{name:<12}{total:.4f}   {run.milliseconds(launch):9.3f} ms")
    if (n, m) == (POINTS, REACH):
        agree("sum of b", total, PUBLISHED, 1e-13)
        print(f"{'published':<12}{PUBLISHED:.4f}")


if __name__ == "__main__":
    sys.exit(main(__doc__, SIZES, compute))
