"""What profiling costs, and whether the kernel timer's totals are those of the wall clock.

    python -m benchmarks.studies.profiling --space openmp --json FILE

Three parts: the one `if` that a launch pays where no tool is attached; what a launch costs the host
with tools; and programs of one kernel, launched over and over, timed by the wall clock while the
kernel timer watches them. Times of devices come from marks in their queues.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

import execspace as es
from benchmarks.common.machine import describe
from execspace import profiling
from execspace.events import dispatch


@es.kernel
def nothing(i):
    pass


@es.kernel
def triad(i, a, x, y, z):
    z[i] = x[i] + a * y[i]


@es.kernel
def stencil(i, j, k, a, b):
    a[i, j, k] = (
        b[i + 1, j, k] + b[i - 1, j, k] + b[i, j + 1, k] + b[i, j - 1, k]
        + b[i, j, k + 1] + b[i, j, k - 1] + b[i, j, k]
    ) / 7  # fmt: skip


@es.kernel
def square(i, x):
    return x[i] * x[i]


def guard_ns(repetitions: int = 1_000_000, rounds: int = 9) -> float:
    """Nanoseconds of `if profiling.TOOLS` in a function, less those of the loop around it."""

    def with_guard() -> float:
        started = perf_counter()
        for _ in range(repetitions):
            if dispatch.TOOLS:
                raise AssertionError("a tool is attached")
        return perf_counter() - started

    def without() -> float:
        started = perf_counter()
        for _ in range(repetitions):
            pass
        return perf_counter() - started

    return median(with_guard() - without() for _ in range(rounds)) / repetitions * 1e9


def launch_us(space: Any, tools: tuple[Any, ...], repetitions: int, rounds: int) -> float:
    """Microseconds that a launch of an empty kernel takes of the host."""
    policy = es.RangePolicy(64, space=space)

    def turn() -> float:
        space.fence()
        started = perf_counter()
        for _ in range(repetitions):
            es.parallel_for(policy, nothing)
        spent = perf_counter() - started
        space.fence()
        return spent / repetitions * 1e6

    turn()
    found = []
    for _ in range(rounds):
        if not tools:
            found.append(turn())
            continue
        with es.profile(*tools):
            found.append(turn())
    return median(found)


def totals(
    space: Any, launch: Callable[[], Any], repetitions: int, rounds: int
) -> dict[str, float]:
    """Seconds of a loop of launches by the wall clock, and by the kernel timer that watched it."""

    def loop() -> float:
        space.fence()
        started = perf_counter()
        for _ in range(repetitions):
            launch()
        space.fence()
        return perf_counter() - started

    loop()
    unwatched, walls, sums = [], [], []
    for _ in range(rounds):
        unwatched.append(loop())
        with es.profile("kernel-timer") as found:
            walls.append(loop())
        sums.append(sum(r.total for r in found["kernel-timer"].records()))
    return {
        "wall_ms": median(unwatched) * 1e3 / repetitions,
        "watched_wall_ms": median(walls) * 1e3 / repetitions,
        "kernel_timer_ms": median(sums) * 1e3 / repetitions,
        "timer_over_watched_wall": median(s / w for s, w in zip(sums, walls, strict=True)),
        "timer_over_wall": median(s / w for s, w in zip(sums, unwatched, strict=True)),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--space", default="openmp")
    parser.add_argument("--elements", type=int, default=1 << 24, help="of each View of triads")
    parser.add_argument("--edge", type=int, default=256, help="of the stencil's cube")
    parser.add_argument("--repetitions", type=int, default=50)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--json", type=Path, help="file for the results")
    options = parser.parse_args()
    space: Any = es.space(options.space)
    n, edge = options.elements, options.edge
    x, y, z = (es.View(n, label=name, space=space) for name in "xyz")
    a, b = (es.View((edge,) * 3, label=name, space=space) for name in "ab")
    line = es.RangePolicy(n, space=space)
    cube = es.MDRangePolicy((1,) * 3, (edge - 1,) * 3, space=space)
    result = es.View((), label="result", space=space)
    programs: dict[str, Callable[[], Any]] = {
        "triad": lambda: es.parallel_for(line, triad, 2.0, x, y, z),
        "stencil of rank 3": lambda: es.parallel_for(cube, stencil, a, b),
        "sum of squares": lambda: es.parallel_reduce(line, square, x, out=result),
    }
    document: dict[str, Any] = {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": describe(space.name, space.concurrency, None),
        "device": es.tuning.identity.device_name(space),
        "guard_ns": guard_ns(),
        "launch_us": {
            "no tool": launch_us(space, (), 2000, options.rounds),
            "a tool without events": launch_us(space, (profiling.Tool(),), 2000, options.rounds),
            "kernel-timer": launch_us(space, ("kernel-timer",), 2000, options.rounds),
        },
        "programs": {},
    }
    print(f"if profiling.TOOLS: {document['guard_ns']:.1f} ns")
    for name, us in document["launch_us"].items():
        print(f"launch, {name}: {us:.2f} us")
    for name, launch in programs.items():
        found = totals(space, launch, options.repetitions, options.rounds)
        document["programs"][name] = found
        print(
            f"{name}: {found['wall_ms']:.4f} ms a launch by the wall clock, kernel timer "
            f"{found['timer_over_watched_wall']:.4f} of the wall clock beside it, "
            f"{found['timer_over_wall']:.4f} of that without it"
        )
    if options.json:
        options.json.write_text(json.dumps(document, indent=1) + "\n")


if __name__ == "__main__":
    main()
