"""The dynamic schedule: threads take chunks of a range one after another, if the space has it.

It changes which thread does what and when, and no result. Spaces that take no notice pass, too.
Reductions, ranges of several dimensions and assertions are in the folders of their levels.
"""

from __future__ import annotations

import threading

import numpy as np
import pytest

import execspace as es
from execspace_testing import staged
from execspace_testing.sizes import fitting, interpreted

UNTOUCHED = -7  # what no kernel stores
CHUNKS = [None, 1, 7, 10**6]  # the last one is larger than any range here


def dynamic(space, *bounds, chunk=None):
    return es.RangePolicy(*bounds, schedule="dynamic", chunk_size=chunk, space=space)


@es.kernel
def mark(i, lower, index, visits):
    """Room for one element is left on either side: nobody may write there."""
    index[i - lower + 1] = i
    visits[i - lower + 1] += 1


@es.kernel
def collatz(i, steps):
    """Steps of i + 1 to 1: from none to hundreds, and neighbours differ."""
    n = i + 1
    count = 0
    while n != 1:
        n = 3 * n + 1 if n % 2 else n // 2
        count += 1
    steps[i] = count


def collatz_steps(n):
    """The same in plain Python."""
    steps = np.zeros(n, np.int64)
    for i in range(n):
        collatz.fn(i, steps)
    return steps


# -- which indices --------------------------------------------------------------------------------


def check_each_once(space, lower, upper, policy):
    index = staged.view_on(space, np.full(upper - lower + 2, UNTOUCHED), "index")
    visits = staged.view_on(space, np.zeros(upper - lower + 2, np.int32), "visits")
    es.parallel_for(policy, mark, lower, index, visits)
    found = staged.fetch(index)
    np.testing.assert_array_equal(found[1:-1], np.arange(lower, upper))
    np.testing.assert_array_equal(staged.fetch(visits), [0, *[1] * (upper - lower), 0])
    assert found[0] == found[-1] == UNTOUCHED


@pytest.mark.parametrize("chunk", CHUNKS)
@pytest.mark.parametrize(
    ("lower", "upper"),
    [
        (0, 1), (0, 7), (0, 14), (3, 9), (3, 20), (-5, 4), (-9, -2), (-20, 1), (2**40, 2**40 + 15),
        (-(2**62), -(2**62) + 16), (2**63 - 2_000_000, 2**63 - 1_999_990),
    ],
)  # fmt: skip
def test_every_index_once_whatever_the_bounds_and_the_chunk(space, lower, upper, chunk):
    check_each_once(space, lower, upper, dynamic(space, lower, upper, chunk=chunk))


@pytest.mark.parametrize("chunk", [*CHUNKS, 64, 1000])
def test_every_index_once_where_threads_share_the_work(space, chunk):
    for lower, n in ((0, 60_000), (17, 60_013), (-30_000, 59_999)):
        upper = lower + fitting(space, n)
        check_each_once(space, lower, upper, dynamic(space, lower, upper, chunk=chunk))


def test_the_last_indices_that_there_are(space):
    lower, upper = 2**63 - 21, 2**63 - 1
    check_each_once(space, lower, upper, dynamic(space, lower, upper))
    check_each_once(space, lower - 7, upper - 7, dynamic(space, lower - 7, upper - 7, chunk=7))


@pytest.mark.parametrize("chunk", CHUNKS)
@pytest.mark.parametrize("bound", [0, 5, -3])
def test_an_empty_range_has_no_chunk(space, bound, chunk):
    index = staged.view_on(space, np.full(5, UNTOUCHED), "index")
    visits = staged.view_on(space, np.zeros(5, np.int32), "visits")
    policy = dynamic(space, bound, bound, chunk=chunk)
    es.parallel_for(policy, mark, bound, index, visits)
    assert staged.fetch(index).tolist() == [UNTOUCHED] * 5
    assert not staged.fetch(visits).any()


def test_launches_one_after_another_begin_anew(space):
    """Of one plan, with ranges of other lengths: no launch goes on where the last one ended."""
    sizes = [3, fitting(space, 30_000), 0, 50, fitting(space, 31_111), 7, 1]
    steps = staged.view_on(space, np.zeros(max(sizes), np.int64), "steps")
    expected = collatz_steps(max(sizes))
    for n in sizes * (1 if interpreted(space) else 5):
        es.deep_copy(steps, UNTOUCHED)
        es.parallel_for(dynamic(space, n, chunk=5), collatz, steps)
        found = staged.fetch(steps)
        np.testing.assert_array_equal(found[:n], expected[:n])
        assert (found[n:] == UNTOUCHED).all()


@pytest.mark.parametrize("chunk", CHUNKS)
def test_work_that_differs_from_index_to_index(space, chunk):
    n = fitting(space, 20_000)
    steps = np.zeros(n, np.int64)
    staged.parallel_for(dynamic(space, n, chunk=chunk), collatz, steps)
    np.testing.assert_array_equal(steps, collatz_steps(n))


def test_threads_of_a_program_launch_at_the_same_time(space):
    """Each launch has chunks of its own to hand out."""
    n = fitting(space, 20_000, 50)
    expected, found = collatz_steps(n), {}

    def work(chunk):
        steps = staged.view_on(space, np.zeros(n, np.int64), "steps")
        policy = dynamic(space, n, chunk=chunk)
        right = []
        for _ in range(10):
            es.deep_copy(steps, UNTOUCHED)
            es.parallel_for(policy, collatz, steps)
            right.append(np.array_equal(staged.fetch(steps), expected))
        found[chunk] = all(right)

    chunks = (None, 1, 7, 100)
    threads = [threading.Thread(target=work, args=(chunk,)) for chunk in (*chunks, 7)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == dict.fromkeys(chunks, True)


@pytest.mark.parametrize("chunk", CHUNKS)
def test_views_that_overlap(space, chunk):
    """Another source may run for them, which has the same schedule."""
    n = fitting(space, 20_000)
    whole = staged.view_on(space, np.zeros(2 * n), "whole")

    @es.kernel
    def add(i, source, target):
        target[i] = source[i] + i

    es.parallel_for(dynamic(space, n, chunk=chunk), add, whole[::2], whole[1::2])
    expected = np.zeros(2 * n)
    expected[1::2] = np.arange(n)
    np.testing.assert_array_equal(staged.fetch(whole), expected)
