"""The inner product of y with A x: a team for each row of A.

The threads of a team share the row, and their lanes share what each thread has of it. What the
kernel returns is the contribution of a team, so it counts once. A kernel that has a thread for
each row is measured beside it: on devices neighbouring threads then read memory far apart. Try:

    python examples/teams/yax.py
    python examples/teams/yax.py --space cuda --rows 100 --columns 1000000
"""

from __future__ import annotations

import sys

import numpy as np
from program import Array, Run, agree, main

import execspace as es

ON_DEVICES, ON_HOSTS = (16384, 8192), (4096, 1024)
SIZES: dict[str, tuple[int | None, str]] = {
    "rows": (None, f"rows of A (default: {ON_DEVICES[0]}; on hosts {ON_HOSTS[0]})"),
    "columns": (None, f"columns of A (default: {ON_DEVICES[1]}; on hosts {ON_HOSTS[1]})"),
}


@es.kernel
def with_teams(team, A, x, y):
    """A row for a team."""
    row = team.league_rank
    total = es.parallel_reduce(es.TeamVectorRange(team, A.extent(1)), lambda j: A[row, j] * x[j])
    return y[row] * total


@es.kernel
def flat(i, A, x, y):
    """A row for a thread."""
    total = 0.0
    for j in range(A.extent(1)):
        total += A[i, j] * x[j]
    return y[i] * total


# Numbers that repeat with a period of 7 in A, of 5 and 3 in x and y: sums of them are exact.


@es.kernel
def numbers(i, j, A):
    """A: every element of a period of 7 rows and columns counts differently."""
    A[i, j] = (2 * i + 3 * j) % 7


def vectors(rows: int, columns: int) -> tuple[Array, Array]:
    """x and y."""
    return np.arange(columns) % 5 - 1.0, np.arange(rows) % 3 + 1.0


def expected(rows: int, columns: int) -> float:
    """The inner product of these numbers, by NumPy, without a matrix of that size."""
    x, y = vectors(rows, columns)
    xs, ys = (np.array([v[k::7].sum() for k in range(7)]) for v in (x, y))
    period = (2 * np.arange(7)[:, None] + 3 * np.arange(7)) % 7
    return float(ys @ period @ xs)


def compute(run: Run) -> None:
    """Both kernels, on ones and on numbers that tell every element from its neighbours."""
    defaults = zip(SIZES, ON_HOSTS if run.on_host else ON_DEVICES, strict=True)
    rows, columns = (run.sizes.get(name, default) for name, default in defaults)
    A, x, y = run.view((rows, columns)), run.view(columns), run.view(rows)
    teams, threads = run.teams(rows), es.RangePolicy(rows, space=run.space)
    launches = {
        "teams": lambda: es.parallel_reduce(teams, with_teams, A, x, y),
        "flat": lambda: es.parallel_reduce(threads, flat, A, x, y),
    }

    print(f"{rows} x {columns}: y A x")
    for view in (A, x, y):
        es.deep_copy(view, 1.0)
    for name, launch in launches.items():
        ones = launch()
        agree(f"{name}, ones", ones, rows * columns)
    print(f"{'ones':<12}{ones:.1f} = {rows} x {columns}")
    es.parallel_for(es.MDRangePolicy((rows, columns), space=run.space), numbers, A)
    for view, array in zip((x, y), vectors(rows, columns), strict=True):
        es.deep_copy(view, array)
    for name, launch in launches.items():
        total = launch()
        agree(name, total, expected(rows, columns))
        time = run.milliseconds(launch)
        rate = A.size * A.dtype.itemsize / time / 1e6
        print(f"{name:<12}{total:.1f}   {time:9.3f} ms {rate:7.1f} GB/s")
    print(f"{'expected':<12}{expected(rows, columns):.1f}")


if __name__ == "__main__":
    sys.exit(main(__doc__, SIZES, compute))
