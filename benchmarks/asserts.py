"""What `assert` costs in kernels of the space serial: each kernel with and without, in pairs.

    python benchmarks/asserts.py [--json FILE] [--quick]

Both kernels run in turn, many times, and the median of the ratios of neighbours is told; so it
matters little what else the machine does.
"""

from __future__ import annotations

import argparse
import json
import platform
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import llvmlite.binding
import numba
import numpy as np

import execspace as es

# Elements of a View that stays in the second cache, and of one that does not stay in any.
CACHE, MEMORY = 30_000, 4_000_000


@es.function
def half(v):
    return v / 2


@es.function
def checked_half(v):
    assert v > 0
    return v / 2


def triad(i, a, x, y, z):
    z[i] = a * x[i] + y[i]


def triad_on_value(i, a, x, y, z):
    assert x[i] > 0
    z[i] = a * x[i] + y[i]


def triad_on_two_values(i, a, x, y, z):
    assert x[i] > 0
    assert y[i] > 0
    z[i] = a * x[i] + y[i]


def triad_on_index(i, a, x, y, z):
    assert i < z.extent(0)
    z[i] = a * x[i] + y[i]


def triad_on_result(i, a, x, y, z):
    z[i] = a * x[i] + y[i]
    assert z[i] > 0


def halved(i, a, x, y, z):
    z[i] = half(x[i]) + y[i]


def halved_checked(i, a, x, y, z):
    z[i] = checked_half(x[i]) + y[i]


def stencil(i, a, x, y, z):
    z[i] = a * x[i] + y[i - 1] + y[i] + y[i + 1]


def stencil_on_value(i, a, x, y, z):
    assert x[i] > 0
    z[i] = a * x[i] + y[i - 1] + y[i] + y[i + 1]


def exponential(i, a, x, y, z):
    z[i] = a * np.exp(x[i]) + y[i]


def exponential_on_value(i, a, x, y, z):
    assert x[i] > 0
    z[i] = a * np.exp(x[i]) + y[i]


def dot(i, a, x, y, z):
    return x[i] * y[i]


def dot_on_value(i, a, x, y, z):
    assert x[i] > 0
    return x[i] * y[i]


def prefix(i, before, final, a, x, y, z):
    if final:
        z[i] = before
    return x[i]


def prefix_on_value(i, before, final, a, x, y, z):
    assert x[i] > 0
    if final:
        z[i] = before
    return x[i]


def member(team, a, x, y, z):
    for k in es.TeamThreadRange(team, 100):
        z[team.league_rank * 100 + k] = a * x[team.league_rank * 100 + k]


def member_on_value(team, a, x, y, z):
    for k in es.TeamThreadRange(team, 100):
        assert x[team.league_rank * 100 + k] > 0
        z[team.league_rank * 100 + k] = a * x[team.league_rank * 100 + k]


PAIRS: dict[str, tuple[Callable[..., Any], Callable[..., Any], str]] = {
    "triad, on a value": (triad, triad_on_value, "for"),
    "triad, on two values": (triad, triad_on_two_values, "for"),
    "triad, on the index": (triad, triad_on_index, "for"),
    "triad, on the result": (triad, triad_on_result, "for"),
    "in a helper": (halved, halved_checked, "for"),
    "stencil": (stencil, stencil_on_value, "for"),
    "with exp": (exponential, exponential_on_value, "for"),
    "dot product": (dot, dot_on_value, "reduce"),
    "scan": (prefix, prefix_on_value, "scan"),
    "in a nested range of a team": (member, member_on_value, "team"),
}


def launcher(kernel: Callable[..., Any], pattern: str, n: int, args: tuple[Any, ...]) -> Any:
    """A function that launches a kernel once."""
    compiled = es.kernel(kernel)
    policy: Any = es.RangePolicy(1, n - 1, space="serial")
    if pattern == "team":
        policy = es.TeamPolicy(n // 100, space="serial")
    launch = {"reduce": es.parallel_reduce, "scan": es.parallel_scan}.get(pattern, es.parallel_for)
    return lambda: launch(policy, compiled, *args)


def seconds(launch: Callable[[], Any], times: int) -> float:
    """Seconds of this thread, which runs all of them, that a number of launches take."""
    start = time.thread_time()
    for _ in range(times):
        launch()
    return time.thread_time() - start


def ratio(plain: Callable[[], Any], checked: Callable[[], Any], times: int, pairs: int) -> float:
    """Time with assertions over that without."""
    plain(), checked()
    found = []
    for n in range(pairs):
        if n % 2:
            first, second = seconds(plain, times), seconds(checked, times)
        else:
            second, first = seconds(checked, times), seconds(plain, times)
        found.append(second / first)
    return statistics.median(found)


def measured(quick: bool) -> dict[str, dict[str, float]]:
    """Name of a pair -> dtype and place -> ratio."""
    found: dict[str, dict[str, float]] = {}
    for name, (plain, checked, pattern) in PAIRS.items():
        row = found[name] = {}
        for dtype in ("float64", "float32", "int32"):
            for place, n in (("cache", CACHE), ("memory", MEMORY)):
                if pattern == "for" and "exp" in name and dtype[0] == "i":
                    continue
                if quick and (dtype[0] == "i" or n == MEMORY):
                    continue
                x, y, z = (es.View(n, dtype) for _ in range(3))
                for view, value in ((x, 1), (y, 2), (z, 3)):
                    es.deep_copy(view, value)
                args = (np.dtype(dtype).type(3), x, y, z)
                launches = (launcher(k, pattern, n, args) for k in (plain, checked))
                times = max(1, 1_000_000 // n)
                found_ratio = ratio(*launches, times, 5 if n == MEMORY else 15)
                row[f"{dtype} {place}"] = round(found_ratio, 2)
        print(f"{name:30}", *(f"{what} {r:5.2f}  " for what, r in row.items()), flush=True)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", type=Path, help="write the results there")
    parser.add_argument("--quick", action="store_true", help="floats in cache only")
    args = parser.parse_args()
    result = {
        "ratios": measured(args.quick),
        "processor": llvmlite.binding.get_host_cpu_name(),
        "features": numba.config.CPU_NAME or "its own",
        "machine": platform.machine(),
        "numba": numba.__version__,
        "elements": {"cache": CACHE, "memory": MEMORY},
    }
    if args.json:
        args.json.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
