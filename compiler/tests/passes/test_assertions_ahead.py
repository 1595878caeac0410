"""Assertions that must not be lost, and what must not be read before they hold, on hosts.

Loops are tested ahead of their bodies, so what a body does before an assertion, and which of it
happens at all, must be seen by the tests too.
"""

import ctypes
import mmap
import sys

import numpy as np
import pytest

import execspace as es

S = "serial"


@pytest.fixture(params=[True, False], ids=["masks", "no masks"])
def masks(request, monkeypatch):
    """Compiles as for a processor whose masked stores cost what others do, or that has none."""
    monkeypatch.setattr("execspace_compiler.host.machine.has_cheap_masks", lambda: request.param)
    return request.param


def fails(launch, n, *args, **options):
    with pytest.raises(es.KernelAssertionError):
        launch(es.RangePolicy(n, space=S), *args, **options)


# -- branches are no assertions -------------------------------------------------------------------


def leaves_early(i, n, m):
    if not i < n:
        return 0.0
    assert i < m
    return 1.0


def sets_in_a_branch(i, n, m):
    j = i
    if not (i > m and i < n):
        j = 0
    assert j < m
    return 1.0


def stores_unless_left(i, y, n, m):
    if not i < n:
        return
    assert i < m
    y[i] = 1.0


def goes_on_in_a_loop(i, y, n, m):
    for k in range(5000):
        if not k < n:
            continue
        assert k < m
        y[k] = 1.0


def test_a_branch_is_not_taken_for_an_assertion(masks):
    fails(es.parallel_reduce, 5000, leaves_early, 2000, 1000)
    fails(es.parallel_reduce, 5000, sets_in_a_branch, 1500, 1000)
    fails(es.parallel_for, 5000, stores_unless_left, np.zeros(5000), 2000, 1000)
    fails(es.parallel_for, 1, goes_on_in_a_loop, np.zeros(5000), 500, 100)


# -- arrays of a call's own -----------------------------------------------------------------------


def fill(array, value):
    array[0] = value


def filled_by_a_helper(i, x, y):
    own = es.local(1, es.float64)
    fill(own, x[i])
    assert own[0] >= 0
    y[i] = own[0]


def test_what_a_helper_stores_into_a_local_array_is_seen(masks):
    x, y = np.arange(100.0), np.zeros(100)
    x[50] = -1.0
    fails(es.parallel_for, 100, filled_by_a_helper, x, y)
    assert y[50] == 0


def place_that_moves(i, y, good):
    own = es.local(1, es.int64)
    own[0] = i
    y[own[0]] = 1.0
    own[0] = i + 100
    assert y[own[0]] > 0
    good[i] = 1


def place_in_a_view_that_moves(i, y, q, good):
    y[q[i]] = 1.0
    q[i] = i + 100
    assert y[q[i]] > 0
    good[i] = 1


def test_a_place_whose_subscript_was_stored_is_another_place(masks):
    y, good = np.full(200, -1.0), np.zeros(100)
    fails(es.parallel_for, 100, place_that_moves, y, good)
    fails(es.parallel_for, 100, place_in_a_view_that_moves, y, np.arange(100), good)
    assert not good.any()


# -- memory that is not there ---------------------------------------------------------------------


def at(k):
    own = es.local(4, es.float64)
    own[k] = 1.0
    return own[0] + own[k] + 1.0


def guarded_helper(i, q):
    assert q[i] < 4
    return at(q[i])


def assertion_of_a_guarded_helper(i, q, y):
    assert q[i] < 4
    assert at(q[i]) > 0
    y[q[i]] = 1.0


class JoinsByPlace(es.Reducer):
    identity = 0.0

    def join(a, b):
        own = es.local(4, es.float64)
        own[int(b)] = 1.0
        return a + b + own[int(b)] - 1.0


def guarded_contribution(i, q):
    assert q[i] < 4
    return es.float64(q[i])


def test_helpers_and_joins_get_no_subscript_that_an_assertion_excludes(masks):
    q = np.arange(5000) % 4
    q[2000:2100] = 10**12
    fails(es.parallel_reduce, 5000, guarded_helper, q)
    fails(es.parallel_for, 5000, assertion_of_a_guarded_helper, q, np.zeros(8))
    fails(es.parallel_reduce, 5000, guarded_contribution, q, reducer=JoinsByPlace)


def up_to_an_end_mark(i, x, out, n):
    for k in range(n):
        assert x[k] >= 0
        out[i] += x[k]


def down_to_an_end_mark(i, x, out, n):
    for k in range(n):
        assert x[511 - k] >= 0
        out[i] += 1


def up_to_an_end_mark_by_twos(i, x, out, n):
    s = 0
    for k in range(n):
        odd = 2 * k + 1
        assert x[odd] >= 0
        s += 1
    out[i] = s


END_MARKS = (up_to_an_end_mark, down_to_an_end_mark, up_to_an_end_mark_by_twos)


@pytest.mark.parametrize("kernel", END_MARKS, ids=lambda k: k.__name__)
@pytest.mark.skipif(sys.platform != "linux", reason="protects pages by mprotect")
def test_a_loop_reads_nothing_behind_the_round_that_fails(masks, kernel):
    page = mmap.PAGESIZE
    memory = np.frombuffer(mmap.mmap(-1, 3 * page), np.float64)
    protect = ctypes.CDLL(None).mprotect
    outer = [ctypes.c_void_p(memory.ctypes.data + n * page) for n in (0, 2)]
    for start in outer:
        assert protect(start, ctypes.c_size_t(page), 0) == 0
    x = memory[page // 8 : 2 * page // 8][-512:]
    x[:] = 1.0
    given = [es.view_of(x), es.View(3, space=S), 2000]
    text = es.explain(es.RangePolicy(3, space=S, lanes=1), kernel, *given).source
    assert "__round1__outside" in text
    try:
        for bad in (0, 511):
            x[bad] = -1.0
        fails(es.parallel_for, 3, kernel, *given)
    finally:
        for start in outer:
            protect(start, ctypes.c_size_t(page), 3)
