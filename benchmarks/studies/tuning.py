"""Tuning: what it finds for a stencil of rank 4, beside the default and a tile that is bad.

    python -m benchmarks.studies.tuning --space openmp --json FILE

The tuned policy, the default and the bad tile take turns in one process.
"""

from __future__ import annotations

import argparse
import json
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

import numpy as np

import execspace as es
from benchmarks.common.machine import describe


@es.kernel
def star(i, j, k, l, a, b):  # noqa: E741
    a[i, j, k, l] = (
        b[i + 1, j, k, l] + b[i - 1, j, k, l] + b[i, j + 1, k, l] + b[i, j - 1, k, l]
        + b[i, j, k + 1, l] + b[i, j, k - 1, l] + b[i, j, k, l + 1] + b[i, j, k, l - 1]
        + b[i, j, k, l]
    ) / 9  # fmt: skip


def bad_tile(edge: int, layout: str, blocks: bool) -> tuple[int, ...]:
    """A tile one element long where memory is contiguous."""
    slow_first = (4, 4, 8, 1) if blocks else (edge, edge, edge, 1)
    return slow_first if layout == "right" else slow_first[::-1]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--space", default="openmp")
    parser.add_argument("--edge", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=31)
    parser.add_argument("--launches", type=int, default=1, help="in a turn")
    parser.add_argument("--seconds", type=float, default=60.0, help="limit of the search")
    parser.add_argument("--json", type=Path, help="file for the results")
    options = parser.parse_args()
    space: Any = es.space(options.space)
    edge = options.edge
    rng = np.random.default_rng(1)
    a, b = (es.View((edge,) * 4, label=name, space=space) for name in "ab")
    es.deep_copy(b, rng.random((edge,) * 4))
    lower, upper = (1,) * 4, (edge - 1,) * 4
    policy = es.MDRangePolicy(lower, upper, space=space)
    started = perf_counter()
    found = es.tune(policy, star, a, b, seconds=options.seconds, keep=False)
    searched = perf_counter() - started
    print(found, flush=True)
    tile = bad_tile(edge, a.layout, es.default_tile(4, space=space) is not None)
    policies = {
        "default": policy,
        "tuned": found.policy,
        "bad": es.MDRangePolicy(lower, upper, tile=tile, space=space),
    }
    times: dict[str, list[float]] = {name: [] for name in policies}
    results = {}
    for name, chosen in policies.items():
        es.deep_copy(a, 0.0)
        es.parallel_for(chosen, star, a, b)
        results[name] = np.array(es.create_mirror_view_and_copy(es.HOST, a))
    for name in ("tuned", "bad"):
        np.testing.assert_array_equal(results[name], results["default"])
    for _ in range(options.rounds):
        for name, chosen in policies.items():
            space.fence()
            started = perf_counter()
            for _ in range(options.launches):
                es.parallel_for(chosen, star, a, b)
            space.fence()
            times[name].append((perf_counter() - started) / options.launches)

    def ratio(one: str, other: str) -> float:
        return median(p / q for p, q in zip(times[one], times[other], strict=True))

    document = {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": describe(space.name, space.concurrency, None),
        "device": found.device,
        "edge": edge,
        "choice": found.choice.options(),
        "bad_tile": tile,
        "search": {
            "seconds": searched, "candidates": len(found.candidates), "complete": found.complete,
            "refused": sum(bool(c.refused) for c in found.candidates),
        },
        "median_ms": {name: median(t) * 1e3 for name, t in times.items()},
        "default_over_tuned": ratio("default", "tuned"),
        "bad_over_tuned": ratio("bad", "tuned"),
    }  # fmt: skip
    print(
        f"in turns: default {document['default_over_tuned']:.3f} x tuned, tile {tile} "
        f"{document['bad_over_tuned']:.2f} x tuned; search {searched:.1f} s, "
        f"{len(found.candidates)} candidates"
    )
    if options.json:
        options.json.write_text(json.dumps(document, indent=1) + "\n")


if __name__ == "__main__":
    main()
