"""An OpenCL device against kernels written by hand in OpenCL C: bandwidth, and cost of launches.

Both use the same buffers and the same queue and take turns in one process; results are checked
first. On a GPU it needs 3 GB of memory; see --help.
"""

from __future__ import annotations

import argparse
import json
import statistics
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
import pyopencl as cl

import execspace as es
from benchmarks.common.device_kernels import (
    TRIADS,
    element,
    element_and_place,
    exclusive,
    product,
    triad,
)
from benchmarks.common.machine import describe

HAND = """
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
__kernel void triad(double a, __global const double *restrict x, __global const double *restrict y,
                    __global double *restrict z, uint n) {
    const uint i = get_global_id(0);
    if (i < n) z[i] = x[i] + a * y[i];
}
"""
BLOCK = 128  # the best of hand-written triads


class Bench:
    """Times work that is enqueued many times before the device is waited for."""

    def __init__(self, space: Any, rounds: int, repetitions: int) -> None:
        self.space, self.rounds, self.repetitions = space, rounds, repetitions
        self.results: dict[str, dict[str, float]] = {}

    def seconds(self, call: Callable[[], Any]) -> float:
        """Time of one call, of many in a row."""
        started = perf_counter()
        for _ in range(self.repetitions):
            call()
        self.space.fence()
        return (perf_counter() - started) / self.repetitions

    def pair(
        self, name: str, nbytes: int, ours: Callable[[], Any], hand: Callable[[], Any]
    ) -> None:
        """Time both in turns."""
        for call in (ours, hand):
            call()
        self.space.fence()
        turns = [(self.seconds(ours), self.seconds(hand)) for _ in range(self.rounds)]
        time, other = (statistics.median(column) for column in zip(*turns, strict=True))
        over = statistics.median(a / b for a, b in turns)
        self.results[name] = {
            "ms": time * 1e3, "GB/s": nbytes / time / 1e9, "hand_written_ms": other * 1e3,
            "hand_written_GB/s": nbytes / other / 1e9, "over_hand_written": over,
        }  # fmt: skip
        print(f"{name:24} {nbytes / time / 1e9:7.0f} GB/s, {over:.3f} x hand-written", flush=True)

    def alone(self, name: str, nbytes: int, ours: Callable[[], Any]) -> None:
        """Time something that has no rival here."""
        ours()
        self.space.fence()
        time = statistics.median(self.seconds(ours) for _ in range(self.rounds))
        self.results[name] = {"ms": time * 1e3, "GB/s": nbytes / time / 1e9}
        print(f"{name:24} {nbytes / time / 1e9:7.0f} GB/s, {time * 1e3:.3f} ms", flush=True)

    def launch(self, name: str, call: Callable[[], Any], count: int = 400) -> None:
        """Time on the host of one call, the device's work left out where it does not block."""
        call()
        self.space.fence()
        found = []
        for _ in range(self.rounds):
            started = perf_counter()
            for _ in range(count):
                call()
            found.append((perf_counter() - started) / count)
            self.space.fence()
        self.results[name] = {"us": statistics.median(found) * 1e6}
        print(f"{name:24} {statistics.median(found) * 1e6:7.2f} us", flush=True)


def run(space: Any, n: int, rounds: int, repetitions: int) -> dict[str, dict[str, float]]:
    """All measurements on arrays of n numbers."""
    bench = Bench(space, rounds, repetitions)
    x, y, z = (es.View(n, label=name, space=space, memory="device") for name in "xyz")
    out = es.View((), label="out", space=space, memory="device")
    es.deep_copy(x, 1.0)
    es.deep_copy(y, 2.0)
    kernel = cl.Program(space.device.context, HAND).build().triad
    buffers = (v.allocation.owner for v in (x, y, z))
    kernel.set_args(np.float64(3.0), *buffers, np.uint32(n))
    items = (-(-n // BLOCK) * BLOCK,)

    def hand() -> None:
        cl.enqueue_nd_range_kernel(space.queue.handle, kernel, items, (BLOCK,))

    policy, small = es.RangePolicy(n, space=space), es.RangePolicy(10, space=space)
    host = np.zeros(n)
    es.parallel_for(policy, triad, 3.0, x, y, z)
    es.deep_copy(host, z)
    assert (host == 7.0).all()
    bench.pair("triad rank 1", 24 * n, lambda: es.parallel_for(policy, triad, 3.0, x, y, z), hand)
    assert es.parallel_reduce(policy, product, x, y) == 2.0 * n
    bench.alone("dot to a View", 16 * n, lambda: es.parallel_reduce(policy, product, x, y, out=out))
    bench.alone("dot to Python", 16 * n, lambda: es.parallel_reduce(policy, product, x, y))
    greatest, place = es.Max, es.MinLoc
    bench.alone("max", 8 * n, lambda: es.parallel_reduce(policy, element, x, reducer=greatest))
    bench.alone(
        "MinLoc", 8 * n, lambda: es.parallel_reduce(policy, element_and_place, x, reducer=place)
    )
    accurate = es.Sum(accuracy="high")
    bench.alone(
        "accurate sum", 8 * n, lambda: es.parallel_reduce(policy, element, x, reducer=accurate)
    )
    es.parallel_scan(policy, exclusive, x, z)
    es.deep_copy(host, z)
    assert (host == np.arange(n)).all()
    bench.alone(
        "exclusive scan", 16 * n, lambda: es.parallel_scan(policy, exclusive, x, z, out=out)
    )
    for rank, many in TRIADS.items():
        extent = round(n ** (1 / rank))
        for layout in ("left", "right"):
            a, b, c = (
                es.View((extent,) * rank, space=space, memory="device", layout=layout)
                for _ in range(3)
            )
            p = es.MDRangePolicy((extent,) * rank, space=space)
            call = lambda p=p, k=many, v=(a, b, c): es.parallel_for(p, k, 3.0, *v)  # noqa: E731
            bench.alone(f"triad rank {rank} {layout}", 24 * extent**rank, call)
    bench.launch("launch", lambda: es.parallel_for(small, triad, 3.0, x, y, z))
    bench.launch("launch by hand", hand_small(space, kernel))
    bench.launch("reduce to Python", lambda: es.parallel_reduce(small, element, x))
    return bench.results


def hand_small(space: Any, kernel: Any) -> Callable[[], None]:
    """The least that pyopencl can do: enqueue a kernel whose arguments are set."""

    def call() -> None:
        cl.enqueue_nd_range_kernel(space.queue.handle, kernel, (BLOCK,), (BLOCK,))

    return call


def main() -> None:
    """Measure, print, and write a file if asked to."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--space", default="opencl", help="opencl or opencl:PLATFORM.DEVICE")
    parser.add_argument("--size", type=int, default=22**6, help="numbers in an array (22^6)")
    parser.add_argument("--rounds", type=int, default=15, help="turns of each (15)")
    parser.add_argument("--repetitions", type=int, default=20, help="calls in a turn (20)")
    parser.add_argument("--json", metavar="FILE", type=Path, help="write all results to a file")
    options = parser.parse_args()
    space: Any = es.space(options.space)
    device = space.device.handle
    print(
        f"{space.found}, {device.max_compute_units} compute units, driver {device.driver_version}"
    )
    results = run(space, options.size, options.rounds, options.repetitions)
    if options.json is not None:
        record = {
            "format": 1,
            "date": datetime.now(UTC).isoformat(timespec="seconds"),
            "machine": describe(options.space, 1, None),
            "device": {
                "name": device.name.strip(), "platform": device.platform.name.strip(),
                "driver": device.driver_version, "compute_units": device.max_compute_units,
            },
            "options": {"size": options.size, "rounds": options.rounds,
                        "repetitions": options.repetitions},
            "results": results,
        }  # fmt: skip
        options.json.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
