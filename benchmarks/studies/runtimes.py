"""What runs the threads of `openmp`: the pool, libgomp, and `serial` beside them, in turns.

    python -m benchmarks.studies.runtimes [--seconds 20] [--json FILE]

One process has a space for each runtime, on the same Views. A turn is some launches in a row, of
which the mean counts; where launches are apart, each one counts. Told are the median and the lower
decile over the turns. Machines that others use as well are for busy.py.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import statistics
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import execspace as es
from benchmarks.common.machine import describe, priority
from execspace_openmp.space import OpenMP

SIZES = (5_000, 20_000, 200_000, 2_000_000, 10_000_000)
APART = (0.0003, 0.002)  # seconds between launches, longer than threads of either runtime spin
TURN = 0.01  # seconds
RUNTIMES = ("pool", "libgomp")


@es.kernel
def triad(i, a, x, y, z):
    z[i] = a * x[i] + y[i]


@es.kernel
def element(i, x):
    return x[i]


@es.kernel
def running(i, prefix, final, x, y):
    if final:
        y[i] = prefix
    return x[i]


def spaces() -> dict[str, es.ExecutionSpace]:
    """A space for each runtime, and one without threads."""
    found = {}
    for name in RUNTIMES:
        os.environ["EXECSPACE_OPENMP_RUNTIME"] = name
        found[name] = OpenMP()
    return {**found, "serial": es.space("serial")}


def calls(n: int, space: es.ExecutionSpace, views: list[es.View]) -> dict[str, Callable[[], Any]]:
    """What is measured, of n elements."""
    x, y, z = views
    policy = es.RangePolicy(n, space=space)
    return {
        "triad": partial(es.parallel_for, policy, triad, 2.0, x, y, z),
        "sum": partial(es.parallel_reduce, policy, element, x),
        "scan": partial(es.parallel_scan, policy, running, x, y),
    }


def checked(rivals: dict[str, Callable[[], Any]], views: list[es.View]) -> None:
    """AssertionError unless all runtimes compute the same, to the bit but for `serial`."""
    found = {}
    for name, call in rivals.items():
        result = call()
        found[name] = [result, *(np.array(v) for v in views[1:])]
    for a, b in zip(found["pool"], found["libgomp"], strict=True):
        assert np.array_equal(a, b) if a is not None else b is None
    for a, b in zip(found["pool"], found["serial"], strict=True):
        assert np.allclose(a, b) if a is not None else b is None


def mean_of(call: Callable[[], Any], launches: int) -> float:
    """Microseconds of a launch."""
    started = time.perf_counter()
    for _ in range(launches):
        call()
    return (time.perf_counter() - started) / launches * 1e6


def cases() -> Iterator[tuple[str, float, dict[str, Callable[[], Any]]]]:
    """Name, seconds between launches, and the call of each runtime."""
    made = spaces()
    rng = np.random.default_rng(1)
    for n in SIZES:
        views = [es.View(n, label=label) for label in "xyz"]
        for view in views:
            np.asarray(view)[:] = rng.random(n)
        all_calls = {name: calls(n, space, views) for name, space in made.items()}
        for what in ("triad", "sum", "scan"):
            rivals = {name: found[what] for name, found in all_calls.items()}
            checked(rivals, views)
            yield f"{what}, {n:,}", 0.0, rivals
            if what == "triad" and n <= 200_000:
                for gap in APART:
                    yield f"{what}, {n:,}, {gap * 1000:g} ms apart", gap, rivals


def measured(seconds: float) -> dict[str, dict[str, dict[str, float]]]:
    """Case -> runtime -> median and lower decile of microseconds, and the number of turns."""
    every = list(cases())
    times: dict[str, dict[str, list[float]]] = {
        name: {rival: [] for rival in rivals} for name, _, rivals in every
    }
    end = time.perf_counter() + seconds
    for turn in itertools.count():
        if time.perf_counter() > end:
            break
        for name, gap, rivals in every:
            first = turn % len(
                rivals
            )  # the first one finds the Views of another case in the caches
            order = [*rivals, *rivals][first : first + len(rivals)]
            for rival, call in ((r, rivals[r]) for r in order):
                if gap:
                    for _ in range(8):
                        time.sleep(gap)
                        times[name][rival].append(mean_of(call, 1))
                else:
                    launches = max(1, int(TURN * 1e6 / mean_of(call, 3)))
                    times[name][rival].append(mean_of(call, launches))
    return {
        name: {
            rival: {
                "us": round(statistics.median(us), 2),
                "decile us": round(statistics.quantiles(us, n=10)[0], 2),
                "turns": len(us),
            }
            for rival, us in found.items()
        }
        for name, found in times.items()
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=20, help="how long to measure")
    parser.add_argument("--json", type=Path, help="write the results there")
    args = parser.parse_args()
    result = {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": describe("openmp", es.space("openmp").concurrency, None),
        "priority": priority(),
        "load before": os.getloadavg()[0],
        "cases": measured(args.seconds),
    }
    for name, row in result["cases"].items():
        told = [f"{k} {r['us']:9.2f} ({r['decile us']:9.2f})" for k, r in row.items()]
        print(f"{name:32} {'  '.join(told)}")
    if args.json:
        args.json.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
