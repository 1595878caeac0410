"""Many short arrays, each sorted by a team in scratch memory: a bitonic sort.

The steps of a bitonic sort compare and exchange elements in pairs that do not overlap, so the
team shares the pairs, and waits between two steps. Try:

    python examples/teams/bitonic.py
    python examples/teams/bitonic.py --space cuda --arrays 100000 --length 1024
"""

from __future__ import annotations

import sys

import numpy as np
from program import Array, InputError, Run, agree, host, main

import execspace as es

SIZES: dict[str, tuple[int | None, str]] = {
    "arrays": (4096, "number of arrays"),
    "length": (256, "elements of an array, a power of two"),
}


@es.kernel
def sort_rows(team, unsorted, rows):
    """A row for a team."""
    row, n = team.league_rank, unsorted.extent(1)
    at = team.scratch(n, unsorted.dtype)
    for k in es.TeamVectorRange(team, n):
        at[k] = unsorted[row, k]
    team.barrier()
    run = 2  # rows are sorted in runs of so many elements, every other one downwards
    while run <= n:
        apart = run // 2
        while apart > 0:
            for pair in es.TeamVectorRange(team, n // 2):
                low = 2 * pair - (pair & (apart - 1))
                high = low + apart
                a, b = at[low], at[high]
                swap = (a > b) == ((low & run) == 0)  # no branch, which nobody could predict
                at[low] = b if swap else a
                at[high] = a if swap else b
            team.barrier()
            apart = apart // 2
        run = 2 * run
    for k in es.TeamVectorRange(team, n):
        rows[row, k] = at[k]


def numbers(arrays: int, length: int) -> Array:
    """Random int32, of which some are equal."""
    random = np.random.default_rng(1)
    return random.integers(-(length**2), length**2, (arrays, length), dtype=np.int32)


def compute(run: Run) -> None:
    """Sort all rows."""
    arrays, length = (run.sizes[name] for name in SIZES)
    if length & (length - 1):
        raise InputError(f"--length {length}: expected a power of two, such as 256.")
    array = numbers(arrays, length)
    unsorted, rows, teams = run.copied(array), run.view(array.shape, array.dtype), run.teams(arrays)

    def launch() -> None:
        es.parallel_for(teams, sort_rows, unsorted, rows)

    launch()
    agree("rows", host(rows), np.sort(array, axis=1))
    time = run.milliseconds(launch)
    print(f"{arrays} arrays of {length}: sorted as by NumPy")
    print(f"{'teams':<12}{time:9.3f} ms, {array.size / time / 1e3:.1f} million elements a second")


if __name__ == "__main__":
    sys.exit(main(__doc__, SIZES, compute))
