"""Two long kernels on two instances of a space, against the same two one after the other.

Each has so few threads that a GPU has room for both.
"""

from __future__ import annotations

from functools import partial
from time import perf_counter
from typing import Any

import numpy as np

import execspace as es
from benchmarks.common.optional import NotThere
from benchmarks.common.own_memory import own_memory
from benchmarks.common.turns import Contestant, over, take_turns

ITEMS = 256
LONG = 20e-3  # seconds that one of the kernels takes
ONE, TWO = "one after the other", "on two instances"


@es.kernel
def long(i, steps, x):
    value = x[i]
    for _ in range(steps):
        value = 0.5 * value + 0.5
    x[i] = value


def measure(space: es.ExecutionSpace, rounds: int) -> dict[str, Any]:
    """Times of two kernels, and their ratio: 0.5 if they overlap in full, 1 if not at all."""
    pair = _Pair(space)
    makers = {
        name: partial(pair.contestant, name, instances)
        for name, instances in ((ONE, 1), (TWO, 2))
    }  # fmt: skip
    found = take_turns(makers, rounds, calls=1)
    if "ms" in found[TWO]:
        found[TWO]["over_one_after_the_other"] = over(found, TWO, ONE)
    return {"items": ITEMS, "steps": pair.steps, "contestants": found}


class _Pair:
    def __init__(self, space: es.ExecutionSpace) -> None:
        self.space = space
        self.views = [es.View(ITEMS, space=space, memory=own_memory(space)) for _ in range(2)]
        self.steps = 1000
        while self._took(space) < LONG and self.steps < 2**30:
            self.steps *= 2

    def _took(self, space: Any) -> float:
        best = 1e9
        for _ in range(3):
            space.fence()
            started = perf_counter()
            self._launch(space, self.views[0])
            space.fence()
            best = min(best, perf_counter() - started)
        return best

    def _launch(self, queue: Any, view: es.View) -> None:
        es.parallel_for(es.RangePolicy(ITEMS, space=queue), long, self.steps, view)

    def contestant(self, name: str, instances: int) -> Contestant:
        """Both kernels, on one instance or two."""
        queues = [self.space.instance() for _ in range(instances)]
        if queues[0] is self.space:
            raise NotThere("launches of this space are done when they return: it has no instances")

        def call() -> None:
            for view, queue in zip(self.views, 2 * queues, strict=False):
                self._launch(queue, view)

        def wait() -> None:
            for queue in queues:
                queue.fence()

        def check() -> None:
            for view in self.views:
                es.deep_copy(view, 3.0)
            call()
            wait()
            for view in self.views:
                assert np.array_equal(view.to_numpy(), np.ones(ITEMS))

        return Contestant(name, call, wait, check)
