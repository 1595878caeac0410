"""lower_bound, upper_bound and searchsorted: where values belong."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import execspace as es
from execspace_testing import staged
from execspace_testing.drawn import drawn
from execspace_testing.sizes import interpreted

from .arrays import NUMBERS, arrays, elements

some = drawn(40)


def test_bounds_in_kernels_take_whatever_has_a_row_of_elements(space):
    """How often a value occurs: in each row of a table, and in a local array."""

    @es.kernel
    def occurrences(i, table, value, out):
        row = table[i, :]
        out[i, 0] = es.upper_bound(row, value) - es.lower_bound(row, value)
        powers = es.local(6, es.int64)
        for k in range(6):
            powers[k] = 2**k
        out[i, 1] = es.lower_bound(powers, i + 3)

    table = np.array([[1.0, 2, 2, 3], [2, 2, 2, 2], [-1, 0, 1, np.nan], [2.5, 3, 3, 3]])
    out = np.zeros((4, 2), np.int64)
    with es.use_space(space):
        staged.parallel_for(4, occurrences, table, 2, out)
    assert out.tolist() == [[2, 2], [4, 2], [0, 3], [0, 3]]


@some
@given(data=st.data(), side=st.sampled_from(["left", "right"]))
def test_searchsorted_agrees_with_numpy(space, data, side):
    dtypes = NUMBERS if interpreted(space) else ("float32", "int64")
    x = np.sort(data.draw(arrays(dtypes)))
    more = data.draw(st.lists(elements(x.dtype), max_size=8))
    values = np.concatenate([x[:4], np.array(more, x.dtype)])
    found = staged.searchsorted(x, values, side, space=space)
    assert (found.dtype, found.shape) == (np.int64, values.shape)
    assert staged.fetch(found).tolist() == np.searchsorted(x, values, side).tolist()


def test_what_sort_leaves_can_be_searched(space):
    """The two share one order: every element is found at its first place."""
    x = staged.view_on(space, [np.nan, 3, -0.0, 7, 0.0, np.nan, -np.inf])
    with es.use_space(space):
        es.sort(x)
        found = es.searchsorted(x, x)
    assert staged.fetch(found).tolist() == [0, 1, 1, 3, 4, 5, 5]


def test_integers_of_either_sign_are_compared_exactly(space):
    table = np.array([0, 2**53, 2**53 + 1, 2**63, 2**64 - 1], np.uint64)
    values = np.array([-1, 0, 2**53 + 1, 2**63 - 1], np.int64)
    out = es.View(4, es.int64, label="out", space=space)
    assert staged.searchsorted(table, values, out=out, space=space) is out
    assert staged.fetch(out).tolist() == [0, 0, 2, 3]  # NumPy takes float64 and finds 1 and 3


def test_views_with_strides(space):
    table, values = np.arange(20.0)[::4], np.arange(-1.0, 21)[::-3]
    found = staged.searchsorted(table, values, "right", space=space)
    assert staged.fetch(found).tolist() == np.searchsorted(table, values, "right").tolist()
