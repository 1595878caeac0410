"""What `assert` costs in kernels of the space serial: each kernel with and without, in pairs.

    python -m benchmarks.studies.asserts [--json FILE] [--quick] [--only WORD] [--compile]

Both kernels run in turn, many times, and the median of the ratios of neighbours is told; so it
matters little what else the machine does. EXECSPACE_CPU=haswell and =generic measure the code for
processors without AVX-512.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import llvmlite
import llvmlite.binding
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


def triad_on_size(i, a, x, y, z):
    assert i < x.size
    z[i] = a * x[i] + y[i]


def triad_on_finite(i, a, x, y, z):
    assert np.isfinite(x[i])
    z[i] = a * x[i] + y[i]


def triad_on_sum(i, a, x, y, z):
    assert x[i] + y[i] > 0
    z[i] = a * x[i] + y[i]


def triad_not_zero(i, a, x, y, z):
    assert x[i] != 0
    z[i] = a * x[i] + y[i]


def branched(i, a, x, y, z):
    if x[i] > 0:
        z[i] = a * x[i] + y[i]


def branched_on_value(i, a, x, y, z):
    if x[i] > 0:
        assert y[i] > 0
        z[i] = a * x[i] + y[i]


def strided(i, a, x, y, z):
    z[i] = x[i] + y[2 * i]


def strided_on_value(i, a, x, y, z):
    assert x[i] > 0
    z[i] = x[i] + y[2 * i]


def dot_on_index(i, a, x, y, z):
    assert i < x.size
    assert i < y.size
    return x[i] * y[i]


def dot_on_two_values(i, a, x, y, z):
    assert x[i] > 0
    assert y[i] > 0
    return x[i] * y[i]


def dot_not_zero(i, a, x, y, z):
    assert x[i] != 0
    return x[i] * y[i]


def plain(i, a, x, y, z):
    return x[i]


def plain_on_finite(i, a, x, y, z):
    assert np.isfinite(x[i])
    return x[i]


def plain_on_value(i, a, x, y, z):
    assert x[i] < 100
    return x[i]


class Joined(es.Reducer):
    """A sum that the compiler does not know for one."""

    identity = 0

    @staticmethod
    def join(a, b):
        return a + b


def image(i, j, a, x, y, z):
    z[i, j] = a * x[i, j] + y[i, j]


def image_on_value(i, j, a, x, y, z):
    assert x[i, j] > 0
    z[i, j] = a * x[i, j] + y[i, j]


def image_sum(i, j, a, x, y, z):
    return x[i, j] * y[i, j]


def image_sum_on_value(i, j, a, x, y, z):
    assert x[i, j] > 0
    return x[i, j] * y[i, j]


def rows(i, a, x, y, z):
    for k in range(x.shape[1]):
        z[i, k] = a * x[i, k] + y[i, k]


def rows_on_value(i, a, x, y, z):
    for k in range(x.shape[1]):
        assert x[i, k] > 0
        z[i, k] = a * x[i, k] + y[i, k]


def row_sums(i, a, x, y, z):
    s = x[i, 0]
    for k in range(1, x.shape[1]):
        s += a * x[i, k]
    z[i, 0] = s


def row_sums_on_value(i, a, x, y, z):
    s = x[i, 0]
    for k in range(1, x.shape[1]):
        assert x[i, k] > 0
        s += a * x[i, k]
    z[i, 0] = s


def gathered(i, a, x, y, z):
    s = 0 * a
    for k in range(x.shape[1]):
        s += a * x[i, y[i, k]]
    z[i, 0] = s


def gathered_on_place(i, a, x, y, z):
    s = 0 * a
    for k in range(x.shape[1]):
        assert y[i, k] >= 0
        assert y[i, k] < x.shape[1]
        s += a * x[i, y[i, k]]
    z[i, 0] = s


REAL = ("float64", "float32", "int64", "int32")
FLOATS = REAL[:2]
EVERY = (*REAL, "complex128")


@dataclass(frozen=True)
class Pair:
    """A kernel without and with assertions, and how it is launched.

    Attributes
    ----------
    pattern : str
        "for", "reduce", "scan", "team", or of a range of rows "rows", "rows reduce" and
        "each row", which leaves what is in a row to the kernel.
    width : int
        Elements of a row.
    """

    plain: Callable[..., Any]
    checked: Callable[..., Any]
    pattern: str = "for"
    dtypes: tuple[str, ...] = REAL
    reducer: Any = None
    width: int = 0


PAIRS: dict[str, Pair] = {
    "triad, on a value": Pair(triad, triad_on_value),
    "triad, on two values": Pair(triad, triad_on_two_values),
    "triad, on the index": Pair(triad, triad_on_index),
    "triad, on the size": Pair(triad, triad_on_size, dtypes=EVERY),
    "triad, on the result": Pair(triad, triad_on_result),
    "triad, isfinite": Pair(triad, triad_on_finite, dtypes=FLOATS),
    "triad, on a sum": Pair(triad, triad_on_sum),
    "triad, not zero": Pair(triad, triad_not_zero, dtypes=EVERY),
    "in a helper": Pair(halved, halved_checked),
    "in an if": Pair(branched, branched_on_value),
    "stencil": Pair(stencil, stencil_on_value),
    "every second element": Pair(strided, strided_on_value),
    "with exp": Pair(exponential, exponential_on_value, dtypes=FLOATS),
    "dot product": Pair(dot, dot_on_value, "reduce"),
    "dot product, on two values": Pair(dot, dot_on_two_values, "reduce"),
    "dot product, on the size": Pair(dot, dot_on_index, "reduce"),
    "dot product, not zero": Pair(dot, dot_not_zero, "reduce", EVERY),
    "sum, isfinite": Pair(plain, plain_on_finite, "reduce", FLOATS),
    "greatest": Pair(plain, plain_on_value, "reduce", REAL, es.Max),
    "joined by a function": Pair(plain, plain_on_value, "reduce", REAL, Joined()),
    "scan": Pair(prefix, prefix_on_value, "scan"),
    "in a nested range of a team": Pair(member, member_on_value, "team"),
    **{
        f"rows of {n}": Pair(image, image_on_value, "rows", ("float64", "float32"), width=n)
        for n in (4, 8, 16, 32, 100, 300)
    },
    **{
        f"dot product of rows of {n}":
            Pair(image_sum, image_sum_on_value, "rows reduce", ("float64", "float32"), width=n)
        for n in (8, 32, 100)
    },
    **{
        f"a loop over rows of {n}": Pair(rows, rows_on_value, "each row", REAL, width=n)
        for n in (8, 100)
    },
    "a sum over rows of 100": Pair(row_sums, row_sums_on_value, "each row", REAL, width=100),
    **{
        f"a sum of {n} that are looked up":
            Pair(gathered, gathered_on_place, "each row", FLOATS, width=n)
        for n in (10, 60)
    },
}  # fmt: skip


def launcher(pair: Pair, kernel: Callable[..., Any], n: int, args: tuple[Any, ...]) -> Any:
    """A function that launches a kernel once."""
    compiled = es.kernel(kernel)
    policy: Any = es.RangePolicy(1, n - 1, space="serial")
    if kernel in (strided, strided_on_value):
        policy = es.RangePolicy(0, n // 2, space="serial")
    if pair.pattern == "team":
        policy = es.TeamPolicy(n // 100, space="serial")
    if pair.pattern.startswith("rows"):
        policy = es.MDRangePolicy((n // pair.width, pair.width), space="serial")
    if pair.pattern == "each row":
        policy = es.RangePolicy(n // pair.width, space="serial")
    if pair.pattern.endswith("reduce"):
        more = {} if pair.reducer is None else {"reducer": pair.reducer}
        return lambda: es.parallel_reduce(policy, compiled, *args, **more)
    launch = es.parallel_scan if pair.pattern == "scan" else es.parallel_for
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


def measured(quick: bool, only: str, compile_only: bool) -> dict[str, dict[str, float]]:
    """Name of a pair -> dtype and place -> ratio."""
    found: dict[str, dict[str, float]] = {}
    for name, pair in PAIRS.items():
        if only not in name:
            continue
        row = found[name] = {}
        for dtype in pair.dtypes:
            for place, n in (("cache", CACHE), ("memory", MEMORY)):
                if quick and (dtype not in FLOATS or n == MEMORY):
                    continue
                shape = (n // pair.width, pair.width) if pair.width else n
                x, y, z = (es.View(shape, dtype) for _ in range(3))
                for view, value in ((x, 1), (y, 2), (z, 3)):
                    es.deep_copy(view, value)
                if pair.plain is gathered:
                    y = es.View(shape, "int64")
                    es.deep_copy(y, np.tile(np.arange(pair.width)[::-1], (shape[0], 1)))
                args = (np.dtype(dtype).type(3), x, y, z)
                launches = [launcher(pair, k, n, args) for k in (pair.plain, pair.checked)]
                if compile_only:
                    launches[0](), launches[1]()
                    break
                times = max(1, 1_000_000 // n)
                found_ratio = ratio(*launches, times, 5 if n == MEMORY else 15)
                row[f"{dtype} {place}"] = round(found_ratio, 2)
        print(f"{name:30}", *(f"{what} {r:5.2f}  " for what, r in row.items()), flush=True)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", type=Path, help="write the results there")
    parser.add_argument("--quick", action="store_true", help="floats in cache only")
    parser.add_argument("--only", default="", help="those whose names hold this word")
    parser.add_argument("--compile", action="store_true", help="fill the cache, measure nothing")
    args = parser.parse_args()
    result = {
        "ratios": measured(args.quick, args.only, args.compile),
        "processor": llvmlite.binding.get_host_cpu_name(),
        "compiled for": os.environ.get("EXECSPACE_CPU", "itself"),
        "machine": platform.machine(),
        "llvmlite": llvmlite.__version__,
        "elements": {"cache": CACHE, "memory": MEMORY},
    }
    if args.json:
        args.json.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
