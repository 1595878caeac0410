"""A sweep in a pool of processes: which pattern there is for which rates of feeding and decay.

    python examples/tasks/with_pool.py
    python examples/tasks/with_pool.py --rows 8 --columns 12 --steps 8000 --workers 8

Each task is a field of its own, of gray_scott.py. It takes and returns NumPy arrays; Views and
compiled kernels are those of the process that it runs in. The first task of the first run
compiles, and later processes find the kernel on disk. Needs nothing but Python's library.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from time import perf_counter
from typing import Any

import numpy as np
from gray_scott import Array, advance, started
from program import Report, check, parser, read, reporting, run, settings, show
from program import space_of_worker as where

FEEDS, KILLS = (0.022, 0.054), (0.055, 0.063)  # from and to
CHECKED = 50  # steps of one task that are compared with NumPy


def settle(environment: dict[str, str]) -> None:
    """What each process does first: EXECSPACE_ variables are read when they are first needed."""
    os.environ.update(environment)


def sweep(
    pool: ProcessPoolExecutor, cells: Array, steps: int,
    feeds: Sequence[float], kills: Sequence[float], report: Report,
) -> dict[tuple[int, int], Array]:  # fmt: skip
    """The patterns by row and column of the sweep."""
    places = {
        pool.submit(advance, cells, steps, feed, kill): (row, column)
        for row, feed in enumerate(feeds)
        for column, kill in enumerate(kills)
    }
    found = {}
    for done in as_completed(places):
        found[places[done]] = done.result()
        report(len(found))
    return found


def work(options: argparse.Namespace) -> None:
    """Sweep, check, draw."""
    feeds = np.linspace(*FEEDS, options.rows).tolist()[::-1]
    kills = np.linspace(*KILLS, options.columns).tolist()
    cells = started(options.size, options.size)
    began = perf_counter()
    # "spawn" begins each process anew; forked ones would have what this one has, but no threads.
    with ProcessPoolExecutor(
        options.workers, get_context("spawn"), settle, (settings(options),)
    ) as pool:
        space = pool.submit(where).result()
        checked = pool.submit(advance, cells, CHECKED, feeds[0], kills[0])
        with reporting(len(feeds) * len(kills), "patterns") as report:
            found = sweep(pool, cells, options.steps, feeds, kills, report)
    seconds = perf_counter() - began
    check(checked.result(), cells, CHECKED, feeds[0], kills[0])
    print(f"{options.workers} processes, each on {space}")
    print(f"{len(found)} patterns of {options.steps} steps in {seconds:.1f} s")
    print(f"{CHECKED} steps are what NumPy computes, to the last bit")
    mosaic(found, feeds, kills).savefig(options.output, format="png", dpi=120)
    print(f"wrote {options.output}")


def mosaic(
    found: dict[tuple[int, int], Array], feeds: Sequence[float], kills: Sequence[float]
) -> Any:
    """All patterns, feeding upwards and decay to the right."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(1.6 * len(kills) + 1, 1.6 * len(feeds) + 1), layout="constrained")
    axes = figure.subplots(len(feeds), len(kills), squeeze=False)
    for place, cells in found.items():
        show(axes[place], cells)
    for row, feed in enumerate(feeds):
        axes[row, 0].set_ylabel(f"{feed:.3f}")
    for column, kill in enumerate(kills):
        axes[-1, column].set_xlabel(f"{kill:.3f}")
    figure.supylabel("feed")
    figure.supxlabel("kill")
    return figure


def main(argv: Sequence[str] | None = None) -> int:
    """Read the command line and do it."""
    made = parser("with_pool.py", __doc__, 96, 4000)
    made.add_argument("--rows", type=int, default=4, metavar="N", help="rates of feeding (4)")
    made.add_argument("--columns", type=int, default=5, metavar="N", help="rates of decay (5)")
    options = read(made, argv)
    return run("with_pool.py", lambda: work(options))


if __name__ == "__main__":
    sys.exit(main())
