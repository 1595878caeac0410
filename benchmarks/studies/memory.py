"""What shared memory and arrays around launches cost, beside explicit copies.

    python -m benchmarks.studies.memory [--space cuda] [--json FILE] [--size N] [--rounds N]

A triad of N doubles on Views in memory of the device, in shared memory that stays there, in shared
memory that the host has just written or will read, and on NumPy arrays through es.In and es.Out.
All take turns; told are medians in milliseconds and, over the first, their ratios.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import execspace as es

_DEVICE = "kernel, memory of the device"


@es.kernel
def triad(i: int, a: float, x: Any, y: Any, z: Any) -> None:
    """One element of ``z = a x + y``."""
    z[i] = a * x[i] + y[i]


def timed(run: Callable[[], Any], before: Callable[[], Any] | None = None) -> float:
    """Milliseconds until all work is done; `before` does not count."""
    if before is not None:
        before()
    with es.Timer() as timer:
        run()
    return 1e3 * timer.seconds()


def cases(n: int) -> dict[str, Callable[[], float]]:
    """What is timed, by name; each returns its milliseconds."""
    a, b, c = np.arange(float(n)), np.ones(n), np.empty(n)
    x, y, z = es.array(a, label="x"), es.array(b, label="y"), es.zeros(n, label="z")

    def by_hand() -> None:
        es.deep_copy(x, a)
        es.deep_copy(y, b)
        es.parallel_for(n, triad, 2.0, x, y, z)
        es.deep_copy(c, z)

    found: dict[str, Callable[[], float]] = {
        _DEVICE: lambda: timed(lambda: es.parallel_for(n, triad, 2.0, x, y, z)),
        "copies in, kernel, copy out, Views made once": lambda: timed(by_hand),
        "es.In, es.In, es.Out": lambda: timed(
            lambda: es.parallel_for(n, triad, 2.0, es.In(a), es.In(b), es.Out(c))
        ),
    }
    if not any("shared" in memory.kinds for memory in es.default_space().memory_spaces):
        return found
    with es.use_memory("shared"):
        p, q, r = es.array(a, label="p"), es.array(b, label="q"), es.zeros(n, label="r")
    inside = [np.asarray(v) for v in (p, q, r)]

    def launch() -> None:
        es.parallel_for(n, triad, 2.0, p, q, r)

    def written() -> None:
        es.fence()
        inside[0][:] = a
        inside[1][:] = b

    def settled() -> None:
        launch()
        es.fence()

    return found | {
        "kernel, shared memory that stays on the device": lambda: timed(launch, settled),
        "kernel, shared memory that the host has written": lambda: timed(launch, written),
        "the host reads shared memory after a kernel": lambda: timed(
            lambda: np.copyto(c, inside[2]), settled
        ),
        "the host reads it once more": lambda: timed(lambda: np.copyto(c, inside[2])),
    }


def main() -> None:
    """Measure, print, and write."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--space", default=None, help="default: the default space")
    parser.add_argument("--size", type=int, default=1 << 25, help="doubles of each array")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    with es.use_space(options.space or es.default_space().name) as space:
        chosen = cases(options.size)
        times: dict[str, list[float]] = {name: [] for name in chosen}
        for round_ in range(options.rounds + 1):
            for name, run in chosen.items():
                milliseconds = run()
                if round_:  # the first compiles
                    times[name].append(milliseconds)
        device = getattr(space, "found", space.name)
    medians = {name: statistics.median(values) for name, values in times.items()}
    ratios = {
        name: statistics.median(t / d for t, d in zip(times[name], times[_DEVICE], strict=True))
        for name in chosen
    }
    print(f"{options.size:,} doubles an array, {device}, {time.strftime('%Y-%m-%d')}")
    for name in chosen:
        print(f"{medians[name]:10.3f} ms {ratios[name]:8.2f}  {name}")
    if options.json is not None:
        document = {
            "space": space.name, "device": str(device), "doubles": options.size,
            "rounds": options.rounds, "date": time.strftime("%Y-%m-%d"),
            "milliseconds": medians, "over_device": ratios,
        }  # fmt: skip
        options.json.write_text(json.dumps(document, indent=2) + "\n")


if __name__ == "__main__":
    main()
