"""Reductions with the dynamic schedule: threads take chunks one after another, if the space has it.

Which thread does which chunk differs from run to run, and no result does, to the last bit: the
partial results of chunks are joined in one order. Spaces that take no notice pass, too.
"""

from __future__ import annotations

import numpy as np
import pytest

import execspace as es
from execspace_testing import staged
from execspace_testing.sizes import fitting, interpreted, needs_order

CHUNKS = [None, 1, 7, 10**6]  # the last one is larger than any range here


def dynamic(space, *bounds, chunk=None):
    return es.RangePolicy(*bounds, schedule="dynamic", chunk_size=chunk, space=space)


@es.kernel
def grown(i, x, work):
    """A number whose last digits tell the order of additions, after work[i] steps."""
    value = x[i]
    for _ in range(work[i]):
        value = value * 0.5 + x[i]
    return value


def uneven(space):
    """Numbers of all magnitudes, and work that only some indices have, for `grown`."""
    n = fitting(space, 20_011)
    rng = np.random.default_rng(3)
    x = rng.normal(size=n) * 10.0 ** rng.integers(-8, 8, n)
    work = np.where(rng.random(n) < 0.02, 500 if n > 1000 else 5, 1)
    work[: n // 8] += 20 if n > 1000 else 2  # all at one end, where a static share is too long
    return staged.place(space, x), staged.place(space, work)


@pytest.mark.parametrize("chunk", CHUNKS)
@pytest.mark.parametrize("bounds", [(0, 1), (0, 7), (3, 20), (-20, 1), (-11, 40_000)])
def test_sums_of_integers(space, bounds, chunk):
    lower, upper = bounds[0], fitting(space, bounds[1])
    policy = dynamic(space, lower, upper, chunk=chunk)
    numbers = range(lower, upper)
    assert staged.parallel_reduce(policy, lambda i: i) == sum(numbers)
    found = staged.parallel_reduce(
        policy, lambda i: (i, i % 7, (-i, i)), reducer=(es.Sum, es.Max, es.MinLoc)
    )
    assert found == (sum(numbers), max(i % 7 for i in numbers), (-numbers[-1], numbers[-1]))


@pytest.mark.parametrize("chunk", [None, 1, 7, 500])
def test_results_are_stored_and_arrays_are_summed(space, chunk):
    n = fitting(space, 20_000)
    policy = dynamic(space, n, chunk=chunk)
    total = staged.view_on(space, np.zeros((), np.int64), "total")
    es.parallel_reduce(policy, lambda i: i, out=total)
    assert staged.fetch(total) == n * (n - 1) // 2

    @es.kernel
    def histogram(i, bins):
        bins[i % 5] += i

    bins = es.parallel_reduce(policy, histogram, reducer=es.Sum(shape=5, dtype=es.int64))
    assert np.asarray(bins).tolist() == [sum(range(k, n, 5)) for k in range(5)]


@pytest.mark.parametrize("chunk", [None, 1, 7, 1000])
def test_sums_of_floats_repeat_bit_by_bit(space, chunk):
    """Whichever thread is done first, chunks are joined in one order."""
    x, work = uneven(space)
    policy = dynamic(space, len(x), chunk=chunk)
    runs = 3 if interpreted(space) else 50
    found = {float(staged.parallel_reduce(policy, grown, x, work)).hex() for _ in range(runs)}
    assert len(found) == 1
    a, b = staged.fetch(x), staged.fetch(work)
    exact = sum(grown.fn(i, a, b) for i in range(len(a)))
    bound = 4 * len(a) * np.finfo(float).eps * np.abs(a).sum()
    assert abs(float.fromhex(found.pop()) - exact) <= bound


class Composed(es.Reducer):
    """x -> a * x + b, one after the other, which does not commute; modulo a prime."""

    identity = (1, 0)

    def join(f, g):
        return f[0] * g[0] % 10007, (f[1] * g[0] + g[1]) % 10007


@pytest.mark.parametrize("chunk", [None, 1, 7, 1000])
def test_chunks_are_joined_in_the_order_of_the_indices(space, chunk):
    needs_order(space)
    n = fitting(space, 20_000)
    policy = dynamic(space, n, chunk=chunk)
    found = staged.parallel_reduce(policy, lambda i: (2 + i % 9, i % 11), reducer=Composed)
    a, b = 1, 0
    for i in range(n):
        a, b = a * (2 + i % 9) % 10007, (b * (2 + i % 9) + i % 11) % 10007
    assert found == (a, b)


@pytest.mark.parametrize("chunk", CHUNKS)
@pytest.mark.parametrize("bound", [0, 5, -3])
def test_an_empty_range_gives_the_identity(space, bound, chunk):
    policy = dynamic(space, bound, bound, chunk=chunk)
    assert staged.parallel_reduce(policy, lambda i: 1) == 0
    assert staged.parallel_reduce(policy, lambda i: 2.0, reducer=es.Prod) == 1.0
