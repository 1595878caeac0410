"""DynamicView: elements that stay while their number changes, against a list."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import execspace as es
from execspace_testing import staged
from execspace_testing.drawn import drawn
from execspace_testing.sizes import fitting

some = drawn(20)


def fill(i, d, first, value):
    d.data[first + i] = value + i


def total(i, d):
    return d.data[i] + len(d.data)


def test_growing_keeps_elements(space):
    n = fitting(space, 20_000)
    for reserve in (True, False):
        d = es.DynamicView(16, n, es.int64, space=space, reserve=reserve)
        assert (d.size, d.max_extent, d.chunk_size, d.reserved) == (0, n, 16, reserve)
        extent, grown = 0, 0
        while extent < n:
            more = min(2 * extent + 3, n)
            before = d.allocation_extent
            d.resize_serial(more)
            grown += d.allocation_extent != before
            assert d.size == more <= d.allocation_extent <= n
            assert d.allocation_extent % 16 == 0 or d.allocation_extent == n
            assert not staged.fetch(d.data)[extent:].any()
            es.parallel_for(es.RangePolicy(more - extent, space=space), fill, d, extent, extent)
            extent = more
        assert (grown == 0) == reserve
        assert staged.fetch(d.data).tolist() == list(range(n))
        found = es.parallel_reduce(es.RangePolicy(n, space=space), total, d)
        assert found == n * (n - 1) // 2 + n * n


def test_memory_is_reserved_where_it_is_the_hosts(space):
    d = es.DynamicView(16, 1000, space=space)
    assert d.reserved == (space.memory_space is es.HOST)
    d.resize_serial(1)
    assert d.allocation_extent == (1000 if d.reserved else 16)
    assert d.data.memory_space is space.memory_space
    assert d.data.dtype == np.float64


def test_a_reserved_view_never_moves(space):
    d = es.DynamicView(4, 100, es.int32, space=space, reserve=True)
    d.resize_serial(2)
    first, pointer = d.data, d.data.data_ptr
    d.resize_serial(100)
    assert d.data.data_ptr == pointer
    d.data.fill(5)
    assert staged.fetch(first).tolist() == [5, 5]


@some
@given(steps=st.lists(st.integers(0, 40), min_size=1, max_size=12), reserve=st.booleans())
def test_any_sequence_of_extents_against_a_list(space, steps, reserve):
    d, model = es.DynamicView(3, 40, es.int64, space=space, reserve=reserve), []
    for k, extent in enumerate(steps):
        d.resize_serial(extent)
        model = model[:extent] + [0] * (extent - len(model))
        assert staged.fetch(d.data).tolist() == model
        d.data.fill(k + 1)
        model = [k + 1] * extent


def test_records(space):
    point = np.dtype([("x", "f8"), ("n", "i8")])
    d = es.DynamicView(2, 10, point, space=space, reserve=False)
    d.resize_serial(3)

    def mark(i, d):
        d.data[i].n = i + 1

    es.parallel_for(es.RangePolicy(3, space=space), mark, d)
    d.resize_serial(5)
    assert staged.fetch(d.data)["n"].tolist() == [1, 2, 3, 0, 0]


def test_what_is_refused(space):
    for chunk in (0, -1, 1.5, "4"):
        with pytest.raises(es.ViewError, match="DynamicView: chunk_size is"):
            es.DynamicView(chunk, 10, space=space)
    with pytest.raises(es.ViewError, match="DynamicView: max_extent is -1"):
        es.DynamicView(1, -1, space=space)
    with pytest.raises(es.ViewError, match="reserve is 1; expected True, False or None"):
        es.DynamicView(1, 1, space=space, reserve=1)
    with pytest.raises(es.DTypeError):
        es.DynamicView(1, 1, "S3", space=space)
    d = es.DynamicView(4, 10, label="d", space=space)
    for extent in (-1, 11, 2.0):
        with pytest.raises(
            es.ViewError, match=r"'d': extent is .*; expected an integer from 0 to 10"
        ):
            d.resize_serial(extent)
    with pytest.raises(es.ReadOnlyError, match="attribute 'max_extent' is read-only"):
        d.max_extent = 20
