"""NumPy arrays around launches: es.In, es.Out and es.InOut mean the same on every space."""

from __future__ import annotations

import numpy as np
import pytest

import execspace as es


@es.kernel
def axpy(i, a, x, y):
    y[i] += a * x[i]


@es.kernel
def twice(i, x, y):
    y[i] = 2 * x[i]


@pytest.mark.parametrize("kind", ["i1", "u2", "i4", "i8", "f4", "f8", "c8", "c16"])
@pytest.mark.parametrize("n", [0, 1, 257])
def test_arrays_go_in_and_come_out(space, kind, n):
    x, y = np.arange(n).astype(kind), np.ones(n, kind)
    z = np.full(n, 9, kind)
    policy = es.RangePolicy(n, space=space)
    es.parallel_for(policy, twice, es.In(x), es.Out(z))
    es.parallel_for(policy, axpy, es.int8(1), es.In(x), es.InOut(y))
    with np.errstate(over="ignore"):
        assert np.array_equal(z, x + x)
        assert np.array_equal(y, x + np.ones(n, kind))
    assert np.array_equal(x, np.arange(n).astype(kind))


def test_what_a_kernel_does_not_store_is_zero_in_out_and_stays_in_inout(space):
    x = np.arange(1.0, 6.0)
    out, inout = np.full(5, 9.0), np.full(5, 9.0)
    policy = es.RangePolicy(1, 4, space=space)
    es.parallel_for(policy, twice, es.In(x), es.Out(out))
    es.parallel_for(policy, twice, es.In(x), es.InOut(inout))
    assert out.tolist() == [0, 4, 6, 8, 0]
    assert inout.tolist() == [9, 4, 6, 8, 9]


@pytest.mark.parametrize("part", [np.s_[::2, 1:], np.s_[::-1], np.s_[:, ::-2], np.s_[...]])
@pytest.mark.parametrize("order", ["C", "F"])
def test_parts_and_orders_of_arrays(space, part, order):
    whole = np.asarray(np.arange(24.0).reshape(4, 6), order=order)
    expected = whole.copy()
    expected[part] += 2 * expected[part]
    a = whole[part]
    source = a.copy()
    policy = es.MDRangePolicy(a.shape, space=space)
    es.parallel_for(policy, add_twice, es.In(source), es.InOut(a))
    assert np.array_equal(whole, expected)


@es.kernel
def add_twice(i, j, x, y):
    y[i, j] += 2 * x[i, j]


def test_an_array_beside_views_and_numbers(space):
    x = np.arange(6.0)
    y = es.array(np.ones(6), space=space, label="y")
    es.parallel_for(es.RangePolicy(6, space=space), axpy, 3.0, es.In(x), y)
    x[...] = 0  # the launch has read it
    assert y.to_numpy().tolist() == [1, 4, 7, 10, 13, 16]


def test_the_default_space_is_meant_where_none_is_named(space):
    x, y = np.arange(6.0), np.empty(6)
    with es.use_space(space):
        es.parallel_for(6, twice, es.In(x), es.Out(y))
        total = es.parallel_reduce(6, lambda i, x: x[i], es.In(x))
    assert y.tolist() == [0, 2, 4, 6, 8, 10]
    assert total == 15


def test_records_and_views_of_the_host(space):
    points = np.zeros(4, [("x", "f8"), ("n", "i4")])
    points["x"] = np.arange(4)
    es.parallel_for(es.RangePolicy(4, space=space), count, es.InOut(points))
    assert points["n"].tolist() == [0, 2, 4, 6]
    host = es.array(np.arange(3.0), memory=es.HOST, label="host")
    es.parallel_for(es.RangePolicy(3, space=space), axpy, 1.0, es.In(np.ones(3)), es.InOut(host))
    assert np.asarray(host).tolist() == [1, 2, 3]


@es.kernel
def count(i, p):
    p[i].n += es.int32(2 * p[i].x)


def test_a_kernel_stores_into_no_input(space):
    x, y = np.arange(3.0), np.zeros(3)
    with pytest.raises(es.KernelTypeError, match="read-only"):
        es.parallel_for(es.RangePolicy(3, space=space), twice, es.In(x), es.In(y))
    frozen = np.broadcast_to(1.0, 3)
    with pytest.raises(es.LaunchError, match=r"argument 1 is es\.Out of a read-only array"):
        es.parallel_for(es.RangePolicy(3, space=space), twice, es.In(x), es.Out(frozen))
    assert not y.any()


def test_arrays_that_share_elements_are_refused(space):
    a = np.arange(6.0)
    policy = es.RangePolicy(4, space=space)
    for x, y in [(a[:4], a[2:]), (a[:4], a[3::-1])]:
        with pytest.raises(es.LaunchError, match="share elements"):
            es.parallel_for(policy, twice, es.In(x), es.Out(y))
    es.parallel_for(es.RangePolicy(3, space=space), twice, es.In(a[::2]), es.Out(a[1::2]))
    assert a.tolist() == [0, 0, 2, 4, 4, 8]
    assert es.parallel_reduce(policy, lambda i, x, y: x[i] * y[i], es.In(a[:4]), es.In(a[:4])) == 20


def test_tools_are_told_of_copies_and_nothing_stays_allocated(space):
    class Copies(es.profiling.Tool):
        def __init__(self):
            self.found = []

        def on_copy_begin(self, destination, source):
            self.found.append((destination, source))

    x, y = np.arange(4.0), np.zeros(4)
    policy = es.RangePolicy(4, space=space)
    with es.profile(Copies()) as told:
        es.parallel_for(policy, axpy, 1.0, es.In(x), es.InOut(y))
    copies = told["Copies"].found
    if es.HOST.reachable_from(space):
        assert copies == []
    else:
        memory, one, two = space.memory_space.name, "argument 1 of axpy", "argument 2 of axpy"
        assert copies == [
            (f"{one}@{memory}", f"{one}@host"),
            (f"{two}@{memory}", f"{two}@host"),
            (f"{two}@host", f"{two}@{memory}"),
        ]


def test_explain_copies_nothing(space):
    x, y = np.arange(4.0), np.full(4, 9.0)
    found = es.explain(es.RangePolicy(4, space=space), twice, es.In(x), es.Out(y))
    assert found.space == space.name
    assert found.arguments[0].startswith("const float64[1,")
    assert (y == 9).all()
