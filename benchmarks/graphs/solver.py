"""Conjugate gradients for the 7-point Laplacian on a cube, without a matrix and without the host.

The scalars alpha and beta stay in Views of rank 0, so that an iteration is eight launches and
nothing else. They are launched one by one, bound, as a graph, and fused: five launches then.
Vectors are of rank 3, for q = A p and the dot of p and q to have one range, without which the two
could not be one kernel; and a flat index would be taken apart by divisions at every point.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

import execspace as es
from benchmarks.common.own_memory import own_memory
from benchmarks.common.turns import Contestant, over, peers_of, take_turns

from . import solver_peers

LAUNCHES, FUSED = "launches", "graph, fused"
# Bytes that fused kernels must move at each point: 16 of q = A p and the dot, 24 of r, 40 of x, p.
BYTES = 80
CLOSE = 1e-12  # of peers, whose sums are in another order


@es.kernel
def laplacian(i, j, k, n, p, q):
    t = 6.0 * p[i, j, k]
    t -= p[i - 1, j, k] if i > 0 else 0.0
    t -= p[i + 1, j, k] if i < n - 1 else 0.0
    t -= p[i, j - 1, k] if j > 0 else 0.0
    t -= p[i, j + 1, k] if j < n - 1 else 0.0
    t -= p[i, j, k - 1] if k > 0 else 0.0
    t -= p[i, j, k + 1] if k < n - 1 else 0.0
    q[i, j, k] = t


@es.kernel
def dot(i, j, k, x, y):
    return x[i, j, k] * y[i, j, k]


@es.kernel
def quotient(i, alpha, rr, pq):
    alpha[()] = rr[()] / pq[()]


@es.kernel
def residual(i, j, k, alpha, q, r):
    r[i, j, k] -= alpha[()] * q[i, j, k]


@es.kernel
def next_beta(i, beta, rr, new):
    beta[()] = new[()] / rr[()]
    rr[()] = new[()]


@es.kernel
def advance(i, j, k, alpha, p, x):
    x[i, j, k] += alpha[()] * p[i, j, k]


@es.kernel
def direction(i, j, k, beta, r, p):
    p[i, j, k] = r[i, j, k] + beta[()] * p[i, j, k]


def measure(space: Any, n: int, iterations: int, rounds: int) -> dict[str, Any]:
    """Times of an iteration on n^3 points, and how far the variants are from each other."""
    solver = _Solver(space, n, iterations)
    makers: dict[str, Callable[[], Contestant]] = {
        LAUNCHES: solver.launches,
        "bound": solver.bound,
        "graph": partial(solver.graph, "graph", fuse=False),
        FUSED: partial(solver.graph, FUSED, fuse=True),
    }
    peers = solver_peers.makers(space, solver.b, iterations, solver.compare)
    on_host = space.memory_spaces[0] is es.HOST
    found = take_turns(makers | peers, rounds, calls=1, peers=peers, apart=on_host)
    for name, own in found.items():
        if "ms" not in own:
            continue
        own["GB/s"] = BYTES * n**3 / own["ms"] / 1e6
        own["over_launches"] = over(found, name, LAUNCHES)
        if not own["peer"]:
            own["over"] = {peer: over(found, name, peer) for peer in peers_of(found)}
    return {"points": n**3, "iterations": iterations, "contestants": found}


def right_side(n: int) -> Any:
    """b of A x = b: numbers between -1 and 1."""
    return np.random.default_rng(n).uniform(-1.0, 1.0, (n, n, n))


def apply(p: Any, out: Any, six: Any = 6.0) -> Any:
    """A p, by NumPy."""
    np.multiply(p, six, out)
    for axis in range(3):
        low, high = ([slice(None)] * 3 for _ in range(2))
        low[axis], high[axis] = slice(None, -1), slice(1, None)
        out[tuple(high)] -= p[tuple(low)]
        out[tuple(low)] -= p[tuple(high)]
    return out


class _Solver:
    """The vectors and scalars, and who works on them."""

    def __init__(self, space: Any, n: int, iterations: int) -> None:
        self.space, self.n, self.iterations = space, n, iterations
        self.b = right_side(n)
        self.x, self.r, self.p, self.q = (self._view((n, n, n), name) for name in "xrpq")
        self.rr, self.new, self.pq, self.alpha, self.beta = (
            self._view((), name) for name in ("rr", "new", "pq", "alpha", "beta")
        )
        self.right: Any = None  # x after the iterations, by launches
        cube, one = es.MDRangePolicy((n, n, n), space=space), es.RangePolicy(1, space=space)
        self.steps: list[tuple[Any, ...]] = [  # policy, kernel, arguments, result
            (cube, laplacian, (n, self.p, self.q), None),
            (cube, dot, (self.p, self.q), self.pq),
            (one, quotient, (self.alpha, self.rr, self.pq), None),
            (cube, residual, (self.alpha, self.q, self.r), None),
            (cube, dot, (self.r, self.r), self.new),
            (one, next_beta, (self.beta, self.rr, self.new), None),
            (cube, advance, (self.alpha, self.p, self.x), None),
            (cube, direction, (self.beta, self.r, self.p), None),
        ]
        self.start, self.zero = (self._view((n, n, n), name) for name in ("start", "zero"))
        es.deep_copy(self.start, self.b)

    def _view(self, shape: tuple[int, ...], label: str) -> es.View:
        return es.View(shape, label=label, space=self.space, memory=own_memory(self.space))

    def reset(self) -> None:
        """x = 0, and so r = p = b."""
        es.deep_copy(self.x, self.zero)
        es.deep_copy(self.r, self.start)
        es.deep_copy(self.p, self.start)
        es.parallel_reduce(self.steps[1][0], dot, self.r, self.r, out=self.rr)

    def iterate(self) -> None:
        """One iteration by launches."""
        for policy, kernel, arguments, out in self.steps:
            if out is None:
                es.parallel_for(policy, kernel, *arguments)
            else:
                es.parallel_reduce(policy, kernel, *arguments, out=out)

    # -- results -------------------------------------------------------------------------------

    def compare(self, x: Any) -> dict[str, Any]:
        """How far x is from the solution, and from the x of launches.

        "residual" is ||b - A x|| / ||b||, computed by NumPy from x itself.
        """
        left = self.b - apply(x, np.empty_like(x))
        size = float(np.linalg.norm(left) / np.linalg.norm(self.b))
        if self.right is None:
            self.right = np.array(x)
        far = float(np.max(np.abs(x - self.right)) / np.max(np.abs(self.right)))
        assert far <= CLOSE, f"x differs from that of launches by {far:.2g} of its maximum"
        return {"residual": size, "difference": far, "same_to_the_bit": far == 0.0}

    def _contestant(self, name: str, step: Callable[[], Any], **about: Any) -> Contestant:
        def call() -> None:
            for _ in range(self.iterations):
                step()

        def check() -> dict[str, Any]:
            self.reset()
            call()
            return self.compare(self.x.to_numpy())

        wait = self.space.fence
        return Contestant(name, call, wait, check, self.reset, self.iterations, about=about)

    # -- variants ------------------------------------------------------------------------------

    def launches(self) -> Contestant:
        """The launches one by one."""
        return self._contestant(LAUNCHES, self.iterate)

    def bound(self) -> Contestant:
        """The same as bound launches."""
        bound = [es.bind(p, kernel, *given, out=out) for p, kernel, given, out in self.steps]

        def step() -> None:
            for one in bound:
                one()

        return self._contestant("bound", step)

    def graph(self, name: str, fuse: bool) -> Contestant:
        """The same as a graph of one iteration, submitted again and again."""
        with es.Graph(self.space) as recorded:
            self.iterate()
        ready = recorded.instantiate(fuse=fuse)
        return self._contestant(name, ready.submit, explained=ready.explain())
