"""Nested ranges of seven and eight dimensions, as loops, calls and reductions."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import execspace as es
from execspace_testing import staged

from .shapes import league, two_shapes

SEVEN, EIGHT = (2, 1, 3, 2, 1, 2, 3), (1, 2, 2, 1, 3, 1, 2, 2)


def places(extents):
    """Numbers that tell all index tuples apart."""
    return sorted(
        sum(n * 4**d for d, n in enumerate(i)) for i in itertools.product(*map(range, extents))
    )


def loops(team, a, b, n):
    r = team.league_rank
    for c, d, e, f, g, h, i in es.TeamThreadMDRange(team, n, 1, 3, 2, 1, 2, 3):
        at = ((((((c * 1 + d) * 3 + e) * 2 + f) * 1 + g) * 2 + h) * 3) + i
        a[r, at] += c + 4 * d + 16 * e + 64 * f + 256 * g + 1024 * h + 4096 * i
    for c, d, e, f, g, h, i, j in es.TeamVectorMDRange(team, 1, n, 2, 1, 3, 1, 2, 2):
        at = (((((((c * 2 + d) * 2 + e) * 1 + f) * 3 + g) * 1 + h) * 2 + i) * 2) + j
        b[r, at] += c + 4 * d + 16 * e + 64 * f + 256 * g + 1024 * h + 4096 * i + 16384 * j


@two_shapes
def test_loops(space, shape):
    a = np.zeros((5, int(np.prod(SEVEN))), np.int64)
    b = np.zeros((5, int(np.prod(EIGHT))), np.int64)
    staged.parallel_for(league(space, 5, shape), loops, a, b, 2)
    for row in range(5):
        assert sorted(a[row]) == places(SEVEN)
        assert sorted(b[row]) == places(EIGHT)


def sums(team, found, n):
    r = team.league_rank
    threads = es.parallel_reduce(
        es.TeamThreadMDRange(team, 1, n, 2, 1, 3, 1, 2, 2),
        lambda a, b, c, d, e, f, g, h: a + b + c + d + e + f + g + h,
    )
    every = es.parallel_reduce(
        es.TeamVectorMDRange(team, n, 1, 3, 2, 1, 2, 3),
        lambda a, b, c, d, e, f, g: a + b + c + d + e + f + g,
    )
    lanes = es.parallel_reduce(
        es.ThreadVectorMDRange(team, 2, 2, 1, 1, n, 1, 1, 3),
        lambda a, b, c, d, e, f, g, h: a * b + h,
        reducer=es.Max,
    )
    if es.single(es.PerTeam(team)):
        found[r, 0] = threads
        found[r, 1] = every
        found[r, 2] = lanes


@two_shapes
def test_reductions(space, shape):
    found = np.zeros((4, 3), np.int64)
    staged.parallel_for(league(space, 4, shape), sums, found, 2)
    expected = [sum(map(sum, itertools.product(*map(range, e)))) for e in (EIGHT, SEVEN)]
    assert (found == [*expected, 3]).all()


def nine(team, x):
    for a, b, c, d, e, f, g, h, i in es.TeamThreadMDRange(team, 1, 1, 1, 1, 1, 1, 1, 1, 1):
        x[a] = b + c + d + e + f + g + h + i


def test_nine_are_too_many(space):
    x = staged.view_on(space, np.zeros(8), "x")
    with pytest.raises(es.KernelSyntaxError, match=r"es\.TeamThreadMDRange got 9 extents"):
        es.parallel_for(league(space, 1, (1, 1)), nine, x)
