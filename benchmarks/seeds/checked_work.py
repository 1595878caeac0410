"""Streams, a stencil and a sparse product: work of costs.py, here or in a process of its own.

As a process, `python -m benchmarks.seeds.checked_work --space NAME [--quick]` reads names of work
from its input and answers with a line when it is ready, and with another after each turn that it is
asked for. EXECSPACE_CHECK is read when the first space of a process starts, so kernels that
test their indices need a process of their own, which takes turns with one whose kernels do not.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from functools import partial
from time import perf_counter
from typing import Any

import numpy as np

import execspace as es
from benchmarks.common.turns import Contestant
from benchmarks.seeds import cost_kernels as k
from benchmarks.seeds import setting as s

WORK = ("stream", "stencil", "sparse")
A = 3.0
TURN, MOST = 20e-3, 1000  # seconds and calls of a turn


class Work:
    """Views and kernels of one kind of work; `calls` has a launch without assertions, and with."""

    def __init__(self, setting: s.Setting, name: str) -> None:
        small = setting.quick
        self.setting, self.name = setting, name
        space, large = setting.space, setting.kind == "cuda"
        random = np.random.default_rng(4)
        kernels: tuple[Any, Any]
        if name == "stream":
            n = 1000 if small else 2**26 if large else 2**22
            x, y = random.random(n), 0.5 + random.random(n)
            self.out, self.right = setting.view(n, label="z"), x + A * y
            arguments: tuple[Any, ...] = (A, setting.copied(x), setting.copied(y, "y"), self.out)
            policy: Any = es.RangePolicy(n, space=space)
            kernels, self.nbytes = (k.triad, k.triad_asserted), 24.0 * n
        elif name == "stencil":
            n = 100 if small else 8192 if large else 2048
            b = 0.5 + random.random((n, n))
            self.out, self.right = setting.view((n, n), label="a"), np.zeros((n, n))
            around = b[1:-1, 1:-1] + b[2:, 1:-1] + b[:-2, 1:-1] + b[1:-1, 2:] + b[1:-1, :-2]
            self.right[1:-1, 1:-1] = 0.2 * around
            arguments = (setting.copied(b, "b"), self.out)
            policy = es.MDRangePolicy((1, 1), (n - 1, n - 1), space=space)
            kernels, self.nbytes = (k.stencil, k.stencil_asserted), 16.0 * n * n
        else:
            rows, each = (1000 if small else 2**21 if large else 2**18), 16
            columns = (np.arange(rows)[:, None] + random.integers(-500, 500, (1, each))) % rows
            values, x = random.random((rows, each)), random.random(rows)
            self.out, self.right = setting.view(rows, label="y"), (values * x[columns]).sum(axis=1)
            offsets = np.arange(rows + 1, dtype=np.int32) * np.int32(each)
            arguments = (
                setting.copied(offsets, "offsets"),
                setting.copied(columns.astype(np.int32).reshape(-1), "columns"),
                setting.copied(values.reshape(-1), "values"), setting.copied(x), self.out,
            )  # fmt: skip
            policy = es.RangePolicy(rows, space=space)
            kernels, self.nbytes = (k.product, k.product_asserted), rows * (12.0 * each + 20)
        self.calls = [partial(es.parallel_for, policy, kernel, *arguments) for kernel in kernels]

    def check(self, call: Callable[[], Any]) -> None:
        """Run it once; AssertionError if the result is wrong."""
        es.deep_copy(self.out, 0.0)
        call()
        self.setting.space.fence()
        np.testing.assert_allclose(s.on_host(self.out), self.right, rtol=1e-12)

    def contestant(self, name: str, asserted: bool) -> Contestant:
        """A launch in this process."""
        call = self.calls[asserted]
        return Contestant(name, call, self.setting.space.fence, partial(self.check, call))


def serve(space: Any, quick: bool) -> None:
    """Do what is asked for, until there is no more input."""
    kind = str(space.name).partition(":")[0]
    setting = s.Setting(space, kind if kind in ("cuda", "opencl") else "host", quick, 1, ())
    call, count = print, 0
    for line in sys.stdin:
        asked = line.strip()
        if asked == "beyond":
            x = setting.copied(np.zeros(10))
            try:
                es.parallel_for(es.RangePolicy(10, space=space), k.beyond, x)
                space.fence()
                answer = "not seen"
            except es.ViewIndexError:
                answer = "seen"
        elif asked == "turn":
            for _ in range(count):
                call()
            space.fence()
            answer = "done"
        else:
            work = Work(setting, asked)
            call = work.calls[0]
            work.check(call)
            times = []
            for _ in range(3):
                started = perf_counter()
                call()
                space.fence()
                times.append(perf_counter() - started)
            count = 1 if quick else max(1, min(MOST, round(TURN / min(times))))
            answer = f"{count} {work.nbytes}"
        print(answer, flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--space", required=True)
    parser.add_argument("--quick", action="store_true")
    options = parser.parse_args()
    serve(es.space(options.space), options.quick)
