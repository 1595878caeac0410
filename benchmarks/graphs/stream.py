"""Copy, scale, add and triad as one chain, c = a; b = s*c; c = a + b; a = b + s*c.

One by one the four move 80 bytes an element. All at once they need to read a and to write a, b and
c, which is 32, and 24 where nobody reads b afterwards: such bytes are what GB/s count here, beside
those of a single triad in the same run.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

import execspace as es
from benchmarks.common.own_memory import own_memory
from benchmarks.common.turns import Contestant, over, take_turns

S = 2**0.5 - 1  # the chain then leaves a as it was, but for roundings
BYTES = {"triad": 24, "fused, b temporary": 24}
ALL = 32
PERIOD = 1021


@es.kernel
def copy(i, a, c):
    c[i] = a[i]


@es.kernel
def scale(i, s, b, c):
    b[i] = s * c[i]


@es.kernel
def add(i, a, b, c):
    c[i] = a[i] + b[i]


@es.kernel
def triad(i, s, a, b, c):
    a[i] = b[i] + s * c[i]


def measure(space: es.ExecutionSpace, n: int, rounds: int) -> dict[str, Any]:
    """Times of the chain on arrays of n doubles, one by one, as a graph, and fused."""
    chain = _Chain(space, n)
    makers: dict[str, Callable[[], Contestant]] = {
        "triad": chain.triad,
        "launches": chain.launches,
        "bound": chain.bound,
        "graph": partial(chain.graph, "graph"),
        "graph, fused": partial(chain.graph, "graph, fused", fuse=True),
        "fused, b temporary": partial(chain.graph, "fused, b temporary", fuse=True, without_b=True),
    }
    found = take_turns(makers, rounds)
    for name, own in found.items():
        if "ms" not in own:
            continue
        own["bytes"] = n * BYTES.get(name, ALL)
        own["GB/s"] = own["bytes"] / own["ms"] / 1e6
        own["over_launches"] = over(found, name, "launches")
        time_over_triad = over(found, name, "triad")
        if time_over_triad is not None:
            own["speed_over_triad"] = BYTES.get(name, ALL) / BYTES["triad"] / time_over_triad
    return {"elements": n, "contestants": found}


class _Chain:
    """The arrays, and who works on them."""

    def __init__(self, space: es.ExecutionSpace, n: int) -> None:
        self.space, self.n, self.policy = space, n, es.RangePolicy(n, space=space)
        self.a, self.b, self.c = (
            es.View(n, label=name, space=space, memory=own_memory(space), initialize=False)
            for name in "abc"
        )
        self.first = np.resize(1.0 + np.arange(PERIOD) / PERIOD, n)
        self.right: list[Any] = []  # a, b and c after one chain, by launches

    def reset(self) -> None:
        """The elements of a are as at the beginning; the others are spoiled."""
        es.deep_copy(self.a, self.first)
        for view in (self.b, self.c):
            es.deep_copy(view, np.nan)

    def run(self) -> None:
        """The four launches."""
        es.parallel_for(self.policy, copy, self.a, self.c)
        es.parallel_for(self.policy, scale, S, self.b, self.c)
        es.parallel_for(self.policy, add, self.a, self.b, self.c)
        es.parallel_for(self.policy, triad, S, self.a, self.b, self.c)

    def check(self, call: Callable[[], Any], without_b: bool = False) -> None:
        """One call must leave what the launches leave, to the bit."""
        self.reset()
        call()
        found = [np.array(view.to_numpy()) for view in (self.a, self.b, self.c)]
        if not self.right:
            self.right = found
            a, s = self.first, S
            b, c = s * a, a + s * a
            for mine, right in zip(found, (b + s * c, b, c), strict=True):
                np.testing.assert_allclose(mine, right, rtol=4e-16)  # a triad may round once
        for name, mine, right in zip("abc", found, self.right, strict=True):
            if name != "b" or not without_b:
                assert np.array_equal(mine, right), f"{name} differs from that of launches"
        es.deep_copy(self.b, 1.0)  # where it was not stored there are no numbers

    def _contestant(
        self, name: str, call: Callable[[], Any], without_b: bool = False, **about: Any
    ) -> Contestant:
        check = partial(self.check, call, without_b)
        return Contestant(name, call, self.space.fence, check, about=about)

    def triad(self) -> Contestant:
        """One triad on the same arrays."""
        call = lambda: es.parallel_for(self.policy, triad, S, self.a, self.b, self.c)  # noqa: E731

        def check() -> None:
            self.check(self.run)
            es.deep_copy(self.b, self.first)
            call()
            right = self.first + S * self.right[2]
            np.testing.assert_allclose(self.a.to_numpy(), right, rtol=4e-16)

        return Contestant("triad", call, self.space.fence, check)

    def launches(self) -> Contestant:
        """The launches one by one."""
        return self._contestant("launches", self.run)

    def bound(self) -> Contestant:
        """The same as bound launches."""
        steps = (
            es.bind(self.policy, copy, self.a, self.c),
            es.bind(self.policy, scale, S, self.b, self.c),
            es.bind(self.policy, add, self.a, self.b, self.c),
            es.bind(self.policy, triad, S, self.a, self.b, self.c),
        )

        def call() -> None:
            for step in steps:
                step()

        return self._contestant("bound", call)

    def graph(self, name: str, fuse: bool = False, without_b: bool = False) -> Contestant:
        """The same as a graph; `without_b`: nobody reads b afterwards."""
        with es.Graph(self.space) as recorded:
            self.run()
        ready = recorded.instantiate(fuse=fuse, temporary=[self.b] if without_b else [])
        return self._contestant(name, ready.submit, without_b, explained=ready.explain())
