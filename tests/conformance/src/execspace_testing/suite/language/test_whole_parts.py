"""Assignments to parts of Views as a whole, and `es.local_deep_copy`, with NumPy's results."""

import numpy as np
import pytest

import execspace as es
from execspace_testing import staged


def copy(i, x, y):
    x[i, :] = y[i, :]


def number(i, x, y):
    x[i, 1:] = 2 * i + y[i, 0]


def items(i, x, y):
    x[i, :] = (1, y[i, 1], 3.0)


def add_reversed(i, x, y):
    x[i, :] += y[i, ::-1]


def scale_some(i, x, y):
    x[i, ::2] *= 3


def every_row(i, x, y):
    if i == 0:
        x[:, :] = y[1, :]


def up(i, x, y):
    x[i, 1:] = x[i, :-1]


def down(i, x, y):
    x[i, :-1] = x[i, 1:]


def up_backwards(i, x, y):
    x[i, ::-1][1:] = x[i, ::-1][:-1]


def up_in_both(i, x, y):
    if i == 0:
        x[1:, 1:] = x[:-1, :-1]


def to_the_left_below(i, x, y):
    if i == 0:
        x[1:, :-1] = x[:-1, 1:]


def to_the_right_above(i, x, y):
    if i == 0:
        x[:-1, 1:] = x[1:, :-1]


def anywhere(i, x, y):
    n = i % 3
    x[i, n:] = x[i, : 3 - n]


def add_to_itself(i, x, y):
    x[i, 1:] += x[i, :-1]


def swap(i, x, y):
    own = es.local(3, x.dtype)
    own[:] = x[i, :]
    x[i, :] = y[i, :]
    y[i, :] = own[:]


def named(i, x, y):
    row = x[i, :]
    row[:] = y[i, :]
    es.local_deep_copy(row[2:], y[i, 1:2])


def deep(i, x, y):
    es.local_deep_copy(x[i, :], y[i, :])
    es.local_deep_copy(x[i, 1:], 7)


KERNELS = [
    copy, number, items, add_reversed, scale_some, every_row, up, down, up_backwards, up_in_both,
    to_the_left_below, to_the_right_above, anywhere, add_to_itself, swap, named, deep,
]  # fmt: skip


@pytest.mark.parametrize("order", "CF")
@pytest.mark.parametrize("kernel", KERNELS)
def test_as_numpy(space, kernel, order):
    for dtype in (np.float64, np.int16, np.complex64):
        x = np.array(np.arange(12).reshape(4, 3), dtype, order=order)
        y = np.array(50 + np.arange(12).reshape(4, 3), dtype, order=order)
        on_space = staged.view_on(space, x), staged.view_on(space, y)
        es.parallel_for(es.RangePolicy(4, space=space), kernel, *on_space)
        for i in range(4):
            kernel(i, x, y)
        for view, array in zip(on_space, (x, y), strict=True):
            np.testing.assert_array_equal(staged.fetch(view), array)


def test_an_index_that_the_copy_changes(space):
    """The part is the one that the indices named before."""

    def kernel(i, order):
        order[order[0] : order[1]] = order[order[2] : order[3]]

    before = np.array([0, 2, 2, 4])
    view = staged.view_on(space, before)
    es.parallel_for(es.RangePolicy(1, space=space), kernel, view)
    assert staged.fetch(view).tolist() == [2, 4, 2, 4]


def test_records(space):
    kind = np.dtype([("id", np.int32), ("at", np.float64)])
    given = np.array([(1, 0.5), (2, 1.5), (3, 2.5)], kind)
    source, to = staged.view_on(space, given), staged.view_on(space, np.zeros((2, 3), kind))

    def kernel(i, to, source):
        to[i, :] = source[:]
        to[i, 1:] = source[0]

    es.parallel_for(es.RangePolicy(2, space=space), kernel, to, source)
    assert staged.fetch(to).tolist() == [[(1, 0.5)] * 3] * 2


def test_atomic_parts(space):
    to = staged.view_on(space, np.zeros(5, np.int64))

    def kernel(i, to):
        to[1:] += i

    es.parallel_for(es.RangePolicy(1000, space=space), kernel, to.with_traits("atomic"))
    assert staged.fetch(to).tolist() == [0, *[999 * 500] * 4]


def team_copy(team, to, source):
    es.local_deep_copy(team, to, source)


def team_fill(team, to, source):
    es.local_deep_copy(team, to, 3)


@pytest.mark.parametrize("order", "CF")
@pytest.mark.parametrize("rank", range(9))
def test_a_team_copies(space, rank, order):
    shape = (2, 3, 2, 1, 2, 3, 1, 2)[:rank]
    given = np.asarray(np.arange(float(np.prod(shape))).reshape(shape), order=order)
    source, to = staged.view_on(space, given), staged.view_on(space, np.zeros_like(given))
    es.parallel_for(es.TeamPolicy(1, space=space), team_copy, to, source)
    np.testing.assert_array_equal(staged.fetch(to), given)
    es.parallel_for(es.TeamPolicy(1, space=space), team_fill, to, source)
    np.testing.assert_array_equal(staged.fetch(to), np.full(shape, 3.0))


def test_a_team_copies_to_scratch_and_back(space):
    """It waits before and after, so all threads see the copy."""

    def kernel(team, x):
        own = team.scratch(16, es.float64)
        row = x[team.league_rank, :]
        es.local_deep_copy(team, own, row)
        for k in es.TeamThreadRange(team, 16):
            row[k] = own[15 - k]

    given = np.arange(48.0).reshape(3, 16)
    x = staged.view_on(space, given)
    es.parallel_for(es.TeamPolicy(3, space=space), kernel, x)
    np.testing.assert_array_equal(staged.fetch(x), given[:, ::-1])


def test_refused(space):
    policy = es.RangePolicy(2, space=space)
    x = staged.view_on(space, np.zeros((2, 3)))

    def other_rank(i, x):
        x[i, :] = x

    def other_extents(i, x):
        own = es.local(4)
        part = es.local(3)
        part[:] = own[:]

    def too_many(i, x):
        own = es.local(2)
        own[:] = (1, 2, 3)

    def transposed(i, x):
        x[0, :] = x[:, 0]

    def no_number(i, x):
        x[i, :] = np

    def no_destination(i, x):
        es.local_deep_copy(1.0, x)

    def no_team(i, x):
        es.local_deep_copy(i, x, x)

    for kernel, message in {
        other_rank: "of rank 2 to subview",
        other_extents: "extents 4 and 3",
        too_many: "extents 3 and 2",
        transposed: "another form of part of the same View",
        no_number: "expected a number, got the module",
        no_destination: "writes to a View, got Python float",
        no_team: "takes a team first of three arguments",
    }.items():
        with pytest.raises(es.KernelTypeError, match=message):
            es.parallel_for(policy, kernel, x)
