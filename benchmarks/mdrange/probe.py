"""One process that Nsight Compute watches: each case is launched once while it looks.

Run by counters.py, which knows the order of the launches.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from functools import partial
from typing import Any

import cupy

import execspace as es
from benchmarks.mdrange.cases import Case, S
from benchmarks.mdrange.counters import probed

WARM = 3  # launches before the one that is looked at: compiled, loaded, clocks up


def launch_of(case: Case, space: Any) -> Callable[[], Any]:
    """A launch on Views of zeros, which keeps them."""
    views = [
        es.View(case.shape, es.float64, label=label, space=space, layout=case.layout)
        for label in "abc"[: case.inputs + 1]
    ]
    scalar = (S,) if case.scalar else ()
    policy = es.MDRangePolicy(*case.bounds, space=space)
    return partial(es.parallel_for, policy, case.kernel, *scalar, *views)


def main() -> None:
    """Warm up and launch, case by case, so that one case's Views need room at a time."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--space", default="cuda")
    parser.add_argument("--edge", type=int, action="append")
    parser.add_argument("--quick", action="store_true")
    options = parser.parse_args()
    space: Any = es.space(options.space)
    for case in probed(options.quick, options.edge):
        launch = launch_of(case, space)
        for _ in range(WARM):
            launch()
        space.fence()
        cupy.cuda.profiler.start()
        launch()
        space.fence()
        cupy.cuda.profiler.stop()


if __name__ == "__main__":
    main()
