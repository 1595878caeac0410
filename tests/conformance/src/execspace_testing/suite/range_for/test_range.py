"""parallel_for over a RangePolicy: which indices run, and how launches follow one another.

The first kernels that a new space runs. A failure here comes before any other.
"""

from __future__ import annotations

import threading

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import execspace as es
from execspace_testing import staged
from execspace_testing.drawn import drawn
from execspace_testing.sizes import fitting, interpreted, needs_host_arrays

EMPTY = -7  # what no kernel stores


@es.kernel
def mark(i, lower, index, visits):
    """Room for one element is left on either side: nobody may write there."""
    index[i - lower + 1] = i
    visits[i - lower + 1] += 1


def marked(space, lower, upper, policy):
    """The indices that a launch stored, each at its place, and how often each of them ran."""
    index = staged.view_on(space, np.full(upper - lower + 2, EMPTY), "index")
    visits = staged.view_on(space, np.zeros(upper - lower + 2, np.int32), "visits")
    es.parallel_for(policy, mark, lower, index, visits)
    return staged.fetch(index), staged.fetch(visits)


def check(space, lower, upper):
    index, visits = marked(space, lower, upper, es.RangePolicy(lower, upper, space=space))
    np.testing.assert_array_equal(index[1:-1], np.arange(lower, upper))
    np.testing.assert_array_equal(visits, [0, *[1] * (upper - lower), 0])
    assert index[0] == index[-1] == EMPTY


# -- which indices ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("lower", "upper"),
    [
        (0, 1), (0, 7), (3, 9), (-5, 4), (-9, -2), (2**40, 2**40 + 3), (-(2**62), -(2**62) + 2),
        (2**63 - 5, 2**63 - 1),
    ],
)  # fmt: skip
def test_every_index_from_the_lower_bound_to_below_the_upper_one(space, lower, upper):
    check(space, lower, upper)


@pytest.mark.parametrize("pattern", ["for", "reduce", "scan"])
def test_more_indices_than_64_bits_count_are_refused(space, pattern):
    """A number of indices that wrapped would silently run over fewer."""
    launch = {
        "for": lambda n: es.parallel_for(n, lambda i: None),
        "reduce": lambda n: es.parallel_reduce(n, lambda i: 1),
        "scan": lambda n: es.parallel_scan(n, lambda i, prefix, final: 1),
    }[pattern]
    with es.use_space(space):
        for n in (2**63, 2**64 + 3, 10**400):
            with pytest.raises(es.PolicyError, match="kernels count in 64 bits"):
                launch(n)


@pytest.mark.parametrize("bound", [0, 5, -3])
def test_an_empty_range_runs_nothing(space, bound):
    """`bound <= i < bound`: two equal bounds are how a program says that there is nothing to do."""
    index, visits = marked(space, bound, bound + 3, es.RangePolicy(bound, bound, space=space))
    assert index.tolist() == [EMPTY] * 5
    assert not visits.any()


def test_a_number_is_a_range_from_zero(space):
    with es.use_space(space):
        for policy in (3, np.int16(3), es.RangePolicy(3)):
            index, visits = marked(space, 0, 3, policy)
            assert index.tolist() == [EMPTY, 0, 1, 2, EMPTY]
            assert visits.tolist() == [0, 1, 1, 1, 0]
        assert not marked(space, 0, 3, 0)[1].any()


@drawn(30)
@given(lower=st.integers(-3000, 3000), size=st.integers(0, 3000))
@example(lower=0, size=255)  # around the sizes of blocks, groups and vectors
@example(lower=0, size=256)
@example(lower=0, size=257)
@example(lower=-1, size=1024)
def test_any_range(space, lower, size):
    check(space, lower, lower + fitting(space, size, 40))


@pytest.mark.parametrize("size", [65_537, 2_000_003])
def test_large_ranges(space, size):
    """So much that a parallel space shares it, in parts that are not all of one size."""
    check(space, 0, fitting(space, size, 200))


@pytest.mark.slow
def test_more_indices_than_an_int32_can_count(space):
    if interpreted(space):
        pytest.skip(f"space '{space.name}' takes hours")
    found = staged.view_on(space, np.zeros(3, np.int64))
    es.parallel_for(es.RangePolicy(2**31 + 2, space=space), every_billion, found)
    assert staged.fetch(found).tolist() == [1, 2**30 + 1, 2**31 + 1]


def every_billion(i, found):
    if i % 2**30 == 1:
        found[i // 2**30] = i


def test_division_of_negative_indices_is_that_of_python(space):
    """Rounded down, where C rounds to zero."""
    found = np.zeros(7, np.int64)
    staged.parallel_for(es.RangePolicy(-3, 4, space=space), shifted, found)
    assert found.tolist() == [i // 2 * 10 + i % 2 for i in range(-3, 4)]


def shifted(i, found):
    found[i + 3] = i // 2 * 10 + i % 2


# -- one launch after another -------------------------------------------------------------------


@es.kernel
def axpy(i, a, x, y):
    y[i] += a * x[i]


def test_launches_run_in_the_order_in_which_they_are_made(space):
    """Without a fence between them: each one sees all that those before it have stored."""
    n = fitting(space, 10_000, 50)
    x, y = (staged.view_on(space, np.ones(n), label) for label in "xy")
    policy = es.RangePolicy(n, space=space)
    a, b = 1, 1
    for _ in range(20):
        es.parallel_for(policy, axpy, 1.0, x, y)
        es.parallel_for(policy, axpy, 1.0, y, x)
        b += a
        a += b
    assert (staged.fetch(x) == a).all()
    assert (staged.fetch(y) == b).all()


def test_a_fence_waits(space):
    """After it nothing is under way, so the host may read what it can reach."""
    y = es.View(fitting(space, 100_000, 100), label="y", space=space)
    for _ in range(5):
        es.parallel_for(es.RangePolicy(y.size, space=space), axpy, 1.0, y, y)
        es.parallel_for(es.RangePolicy(y.size, space=space), shift, y)
    space.fence()
    if y.memory_space.host_accessible:
        assert (np.asarray(y) == 31.0).all()
    es.fence()
    assert (staged.fetch(y) == 31.0).all()


def shift(i, y):
    y[i] += 1.0


def test_a_view_that_is_dropped_lives_until_its_launch_is_done(space):
    """Memory that is freed too early would soon belong to the next View."""
    n = fitting(space, 50_000, 50)
    y = es.View(n, label="y", space=space)
    for k in range(10):
        x = staged.view_on(space, np.full(n, 2.0**k), "x")
        es.parallel_for(es.RangePolicy(n, space=space), axpy, 1.0, x, y)
        del x
        es.View(n, label="next", space=space)
    assert (staged.fetch(y) == 1023.0).all()


def test_nothing_is_compiled_twice(space):
    """Values of numbers, extents and bounds are no part of a kernel's type; dtypes are."""

    @es.kernel
    def fill(i, x, value):
        x[i] = value

    a, b, c = es.View(3, space=space), es.View(5, space=space), es.View(3, es.int32, space=space)
    before = len(fill.plans)  # those of other spaces: the same definition keeps them all
    for view, value in ((a, 1.0), (b, 2.0), (a, 3.0)):
        es.parallel_for(es.RangePolicy(view.size, space=space), fill, view, value)
    assert len(fill.plans) == before + 1
    es.parallel_for(es.RangePolicy(3, space=space), fill, c, 4)
    assert len(fill.plans) == before + 2
    assert [staged.fetch(v).tolist() for v in (a, b, c)] == [[3.0] * 3, [2.0] * 5, [4] * 3]


def test_threads_of_python_may_launch_at_once(space):
    """Also while the kernel is being compiled; each has Views of its own."""
    n, found = fitting(space, 5000, 50), []

    @es.kernel
    def add(i, x, value):
        x[i] += value

    def work(value):
        x = es.View(n, label="x", space=space)
        for _ in range(20):
            es.parallel_for(es.RangePolicy(n, space=space), add, x, value)
        found.append(set(staged.fetch(x).tolist()) == {20 * value})

    threads = [threading.Thread(target=work, args=(float(k),)) for k in range(1, 5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [True] * 4


# -- where the data is ----------------------------------------------------------------------------


def test_numpy_arrays_are_used_in_place(space):
    """In any layout, and read-only ones as inputs: nothing is copied."""
    needs_host_arrays(space)
    x = np.arange(12.0).reshape(3, 4).T
    x.flags.writeable = False
    y = np.zeros((4, 3))
    es.parallel_for(es.RangePolicy(4, space=space), copy_row, y, x)
    space.fence()
    np.testing.assert_array_equal(y, x)


def copy_row(i, y, x):
    for j in range(3):
        y[i, j] = x[i, j]


def test_arrays_that_are_out_of_reach_are_refused(space):
    """Nothing is copied in secret, so a program says where its data is to be."""
    if staged.reaches_host(space):
        pytest.skip(f"kernels of space '{space.name}' reach arrays of the host")
    with pytest.raises(es.SpaceAccessError, match=f"which space '{space.name}' cannot reach"):
        es.parallel_for(es.RangePolicy(4, space=space), copy_row, np.zeros((4, 3)), np.ones((4, 3)))


# -- what tools and users are told ----------------------------------------------------------------


class Recorder(es.profiling.Tool):
    def __init__(self):
        self.begun = []
        self.ended = 0

    def on_kernel_begin(self, pattern, label, space):
        self.begun.append((pattern, label, space))

    def on_kernel_end(self):
        self.ended += 1


def test_profiles_have_the_label_or_the_name_of_the_kernel(space):
    tool = es.profiling.attach(Recorder())
    try:
        y = es.View(2, space=space)
        policy = es.RangePolicy(2, space=space)
        es.parallel_for(policy, axpy, 1.0, y, y)
        es.parallel_for(policy, axpy, 1.0, y, y, label="second step")
    finally:
        es.profiling.detach(tool)
    begun = [("parallel_for", name, space.name) for name in ("axpy", "second step")]
    assert (tool.begun, tool.ended) == (begun, 2)


def test_arguments_that_do_not_fit_are_named_and_nothing_runs(space):
    y = staged.view_on(space, np.zeros(3), "y")
    narrow = staged.view_on(space, np.zeros(3, np.int8), "narrow")
    policy = es.RangePolicy(3, space=space)
    with pytest.raises(es.LaunchError, match="argument 1 is of type 'list'"):
        es.parallel_for(policy, axpy, 1.0, [1.0, 2.0], y)
    with pytest.raises(es.LaunchError, match="argument 0 is of type 'dict'"):
        es.parallel_for(policy, axpy, {}, y, y)
    with pytest.raises(es.LaunchError, match=r"it has 4 parameters \(i, a, x, y\)"):
        es.parallel_for(policy, axpy, 1.0, y)
    with pytest.raises(es.KernelError, match="read-only"):
        es.parallel_for(policy, axpy, 1.0, y, y.readonly())
    with pytest.raises(es.LaunchError, match="300"):
        launch_and_wait(space, policy, store, narrow, 300)
    with pytest.raises(es.PolicyError, match=r"expected an integer, es\.RangePolicy"):
        es.parallel_for("3", axpy, 1.0, y, y)
    with es.use_space(space), pytest.raises(es.PolicyError, match="over -1 indices"):
        es.parallel_for(-1, axpy, 1.0, y, y)
    assert not staged.fetch(y).any()
    assert not staged.fetch(narrow).any()


def launch_and_wait(space, *args):
    """A launch that is made by another thread can complain with the fence only."""
    es.parallel_for(*args)
    space.fence()


def store(i, x, value):
    x[i] = value
