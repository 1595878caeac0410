"""UniqueToken: ids that no two work items hold at once, and the histogram that is its exercise."""

from __future__ import annotations

import numpy as np
import pytest

import execspace as es
from execspace_testing import staged
from execspace_testing.sizes import fitting


def test_on_a_space_of_one_thread_there_is_one_id(space):
    if space.concurrency > 1:
        pytest.skip(f"space '{space.name}' runs several work items at the same time")
    token = es.UniqueToken(space)
    assert token.size == 1
    ids = np.full(10, -1)

    def kernel(i, ids, token=token):
        ids[i] = token.acquire(i)
        token.release(ids[i])

    staged.parallel_for(es.RangePolicy(10, space=space), kernel, ids)
    assert (ids == 0).all()


def test_a_hint_chooses_the_first_id_that_is_tried(space):
    token = es.UniqueToken(space, size=4)
    ids = np.full(6, -1)

    def kernel(i, ids, token=token):
        first = token.acquire()
        second = token.acquire(-1)
        third = token.acquire(first)  # taken: the next one
        ids[0], ids[1], ids[2] = first, second, third
        token.release(second)
        ids[3] = token.acquire(7)
        for held in (first, third, second):
            token.release(held)
        ids[4] = token.acquire(5)
        token.release(ids[4])

    staged.parallel_for(es.RangePolicy(1, space=space), kernel, ids)
    assert ids.tolist() == [0, 3, 1, 3, 1, -1]


@pytest.mark.parametrize("size", [1, 2, 3, None])
def test_an_id_has_one_holder_at_a_time(space, size):
    """What is done between acquire and release needs no atomic operation."""
    n = fitting(space, 100_000)
    token = es.UniqueToken(space, size)
    holders = es.View(token.size, es.int32, label="holders", space=space)
    sums = es.View((token.size, 2), es.int64, label="sums", space=space)

    def kernel(i, token=token):
        id = token.acquire(i)
        before = holders[id]
        holders[id] = before + 1
        sums[id, 0] += 1
        sums[id, 1] += i
        if holders[id] != 1:
            sums[id, 0] = -n  # somebody else was here
        holders[id] = before
        token.release(id)

    es.parallel_for(es.RangePolicy(n, space=space), kernel)
    assert staged.fetch(sums).sum(axis=0).tolist() == [n, n * (n - 1) // 2]
    assert not staged.fetch(holders).any()
    assert not staged.fetch(token._locks).any()


class Histogram:
    """The exercise: increments go to a copy of one's own, and the copies are summed at the end."""

    def __init__(self, values, bins, space):
        self.token = es.UniqueToken(space)
        self.values = staged.place(space, values)
        self.copies = es.View((self.token.size, bins), es.int64, label="copies", space=space)

    def count(self, i):
        mine = self.token.acquire(i)
        self.copies[mine, self.values[i]] += 1
        self.token.release(mine)

    def total(self, k):
        found = 0
        for c in range(self.copies.extent(0)):
            found += self.copies[c, k]
        return found


def test_exercise_histogram_of_random_increments(space):
    n, bins = fitting(space, 1_000_000, 2000), 100
    values = np.random.default_rng(4).integers(0, bins, n)
    histogram = Histogram(values, bins, space)
    staged.parallel_for(es.RangePolicy(n, space=space), histogram.count)
    assert staged.parallel_reduce(es.RangePolicy(bins, space=space), histogram.total) == n
    found = staged.fetch(histogram.copies).sum(axis=0)
    np.testing.assert_array_equal(found, np.bincount(values, minlength=bins))
