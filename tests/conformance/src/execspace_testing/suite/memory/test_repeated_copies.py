"""Copies and fills that come again: as right as the first, and refused as the first would be.

A space may have a short way for them, of which nobody sees anything but the time.
"""

from __future__ import annotations

import numpy as np
import pytest

import execspace as es

KINDS = ["?", "i1", "u2", "i4", "u8", "f2", "f4", "f8", "c8", "c16"]


@pytest.fixture(autouse=True)
def in_use(space):
    """The space under test is the default one, so that no call names it."""
    with es.use_space(space):
        yield


def sample(n, kind, start=0):
    return ((np.arange(n) + start) % 97 + 1).astype(kind)


def held(view):
    """The elements, read in the way that is not judged here."""
    return view.to_numpy()


@pytest.mark.parametrize("kind", KINDS)
def test_each_copy_moves_what_is_there_then(space, kind):
    host, back = np.zeros(12, kind), np.zeros(12, kind)
    a, b = es.zeros(12, kind), es.zeros(12, kind)
    instance = space.instance()
    for step in range(4):
        host[:] = sample(12, kind, step)
        es.deep_copy(a, host)
        if step % 2:
            es.deep_copy(b, a, instance=instance)
            instance.fence()
        else:
            es.deep_copy(b, a)
        host[:] = 0
        es.deep_copy(back, b)
        assert np.array_equal(back, sample(12, kind, step))


@pytest.mark.parametrize("kind", KINDS)
def test_each_fill_sets_every_element(space, kind):
    a, of_rows = es.zeros(12, kind), es.zeros((3, 4), kind)
    for value in (1, 0, True, 1.0, 0.0, -0.0, 1 + 0j):
        order = "biufc"
        given = {bool: "b", int: "i", float: "f", complex: "c"}[type(value)]
        fits = order.index(given) <= order.index(a.dtype.kind) or (given, a.dtype.kind) == (
            "i",
            "u",
        )
        for view in (a, of_rows):
            for _ in range(3):
                if not fits:
                    with pytest.raises(es.DTypeError, match="without loss of kind"):
                        es.deep_copy(view, value)
                    continue
                es.deep_copy(view, value)
                expected = np.full(view.shape, value, kind)
                assert held(view).tobytes() == expected.tobytes()


def test_numbers_that_do_not_fit_are_refused_each_time(space):
    small, wide = es.zeros(4, np.int8), es.zeros(4)
    for _ in range(3):
        es.deep_copy(small, 7)
        with pytest.raises(es.ViewError, match="300 does not fit"):
            es.deep_copy(small, 300)
        assert (held(small) == 7).all()
        for value in (2**53 + 1, -(2**60) - 1, 2**80):
            es.deep_copy(wide, value)
            assert (held(wide) == float(value)).all()


def test_shapes_that_differ_are_refused_each_time(space):
    a, b, c = es.zeros(6), es.ones(6), es.ones(5)
    host, short = np.zeros(6), np.zeros(5)
    for _ in range(3):
        es.deep_copy(a, b)
        es.deep_copy(host, a)
        es.deep_copy(a, host)
        for dst, src in (
            (a, c),
            (c, a),
            (a, short),
            (short, a),
            (es.zeros((2, 3)), es.zeros((3, 2))),
        ):
            with pytest.raises(es.ViewError, match="expected the same"):
                es.deep_copy(dst, src)


def test_views_that_overlap_are_refused_each_time(space):
    a = es.array(np.arange(10.0))
    left, right, other = a[0:6], a[4:10], es.array(np.arange(6.0))
    for _ in range(3):
        es.deep_copy(left, other)
        with pytest.raises(es.ViewError, match="overlap in memory"):
            es.deep_copy(left, right)
        es.deep_copy(a[0:4], a[6:10])  # parts that do not
        es.deep_copy(a, a)  # itself: nothing to do


def test_what_nobody_may_write_is_refused_each_time(space):
    a, fixed = es.ones(6), es.zeros(6).readonly()
    host = np.zeros(6)
    for _ in range(3):
        es.deep_copy(host, a)
        host.flags.writeable = False
        with pytest.raises((es.ViewError, ValueError), match="read-only"):
            es.deep_copy(host, a)
        host.flags.writeable = True
        with pytest.raises(es.ViewError, match="read-only"):
            es.deep_copy(fixed, a)
        with pytest.raises(es.ViewError, match="read-only"):
            es.deep_copy(fixed, 1.0)


def test_elements_that_lie_in_another_order_find_their_place(space):
    values = np.arange(12.0).reshape(3, 4)
    right, left = es.zeros((3, 4), layout="right"), es.zeros((3, 4), layout="left")
    for step in range(3):
        host = np.asfortranarray(values + step)
        es.deep_copy(right, host)
        es.deep_copy(left, right)
        assert np.array_equal(held(left), values + step)
        es.deep_copy(left, (values + step)[::-1])
        assert np.array_equal(held(left), (values + step)[::-1])
        rows = np.zeros((6, 4))[::2]
        es.deep_copy(rows, left)
        assert np.array_equal(rows, (values + step)[::-1])
        es.deep_copy(right[:, 1], left[:, 2])
        assert np.array_equal(held(right)[:, 1], (values + step)[::-1][:, 2])


def test_elements_of_another_type_are_converted_each_time(space):
    a, b = es.zeros(5), es.zeros(5, np.int32)
    for step in range(3):
        host = np.arange(5, dtype=np.int32) + step
        es.deep_copy(b, host)
        es.deep_copy(a, b)
        assert np.array_equal(held(a), host)
        es.deep_copy(b, host)
        apart = np.zeros(25, np.int8)[1:21].view(np.int32)
        field = np.zeros(5, [("a", "i4"), ("b", "i2")])["a"]  # elements 6 bytes apart
        for other in (host.astype(">i4"), apart, field):
            with pytest.raises(es.ViewError, match="aligned and in native byte order"):
                es.deep_copy(b, other)
            with pytest.raises(es.ViewError, match="aligned and in native byte order"):
                es.deep_copy(other, b)
        with pytest.raises(es.DTypeError, match="without loss of kind"):
            es.deep_copy(b, a)


def test_a_copy_comes_after_launches_and_before_those_that_follow(space):
    def add(i, x, amount):
        x[i] += amount

    x, y = es.zeros(64), es.zeros(64)
    instance = space.instance()
    on = es.RangePolicy(64, space=instance)
    for step in range(1, 6):
        es.parallel_for(on, add, x, 1.0)
        es.deep_copy(y, x, instance=instance)
        es.parallel_for(on, add, x, 100.0)
        es.deep_copy(x, y, instance=instance)
        es.fence()
        assert (held(x) == step).all() and (held(y) == step).all()


def test_memory_of_views_that_are_gone_is_not_mixed_up(space):
    """Blocks are used again for Views of other sizes and types."""
    rng = np.random.default_rng(5)
    kept = {}
    for step in range(200):
        n, kind = int(rng.integers(1, 300)), KINDS[int(rng.integers(1, len(KINDS)))]
        values = sample(n, kind, step)
        view = es.zeros(n, kind)
        assert not held(view).any()
        es.deep_copy(view, values)
        kept[step % 17] = view, values
        for one, expected in kept.values():
            assert np.array_equal(held(one), expected)


def test_an_instance_that_is_none_is_refused_each_time(space):
    a, b, host = es.ones(4), es.zeros(4), np.ones(4)
    for _ in range(3):
        es.deep_copy(b, a, instance=space)
        for dst, src in ((b, a), (b, 1.0), (b, host), (host, b)):
            for wrong in ("serial", 3, es.HOST, type(space), host):
                with pytest.raises(es.SpaceError, match="expected a space"):
                    es.deep_copy(dst, src, instance=wrong)
