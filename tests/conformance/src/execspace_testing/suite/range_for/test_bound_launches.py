"""es.bind: launches that are repeated, and what may be exchanged in them."""

from __future__ import annotations

import pickle
import threading

import numpy as np
import pytest

import execspace as es


def axpy(i, s, x, y):
    y[i] += s * x[i]


def total(i, x):
    return x[i]


def filled(space, values, dtype=es.float64):
    view = es.View(len(values), dtype, space=space)
    es.deep_copy(view, np.asarray(values, dtype))
    return view


def test_a_bound_launch_launches_each_time(space):
    x, y = filled(space, [1, 2, 3]), filled(space, [0, 0, 0])
    step = es.bind(es.RangePolicy(3, space=space), axpy, 2.0, x, y)
    assert y.to_numpy().tolist() == [0, 0, 0]  # nothing was launched
    for n in range(1, 5):
        assert step() is None
        assert y.to_numpy().tolist() == [2 * n, 4 * n, 6 * n]
    assert step.space is space or step.space.name == space.name


def test_views_and_numbers_are_exchanged_by_name(space):
    x, y, z = (filled(space, v) for v in ([1, 2, 3], [0, 0, 0], [9, 9, 9]))
    step = es.bind(es.RangePolicy(3, space=space), axpy, 2.0, x, y)
    step()
    step.exchange(y=z, s=-1.0)
    step()
    step.exchange(x=y, y=x)  # the one gets what the other was
    step()
    assert z.to_numpy().tolist() == [8, 7, 6]
    assert x.to_numpy().tolist() == [-1, -2, -3]
    assert y.to_numpy().tolist() == [2, 4, 6]


def test_what_does_not_fit_is_refused_and_nothing_is_exchanged(space):
    x, y = filled(space, [1, 2, 3]), filled(space, [0, 0, 0])
    narrow = filled(space, [1, 2, 3], es.float32)
    square = es.View((3, 3), space=space)
    step = es.bind(es.RangePolicy(3, space=space), axpy, 2.0, x, y)
    refused = [
        ({"z": x}, "no argument 'z' can be exchanged; those that can are: 's', 'x', 'y'"),
        ({"x": narrow}, "argument 'x' is of type float32"),
        ({"x": square}, "argument 'x' is of type float64.2,"),
        ({"y": y.readonly()}, "argument 'y' is of type const float64"),
        (
            {"s": 2j},
            "argument 's' is of type weak complex128, and the launch was compiled for weak",
        ),
        ({"s": x}, "argument 's' is .*; expected a number of type weak float64"),
    ]
    for given, message in refused:
        with pytest.raises(es.LaunchError, match=message):
            step.exchange(**{"y": filled(space, [5, 5, 5]), **given})
    with pytest.raises((es.ExecspaceError, TypeError)):
        step.exchange(x="nothing of the kind")
    step()
    assert y.to_numpy().tolist() == [2, 4, 6]


def test_a_bound_reduction(space):
    x, other = filled(space, [1, 2, 3, 4]), filled(space, [5, 6, 7, 8])
    policy = es.RangePolicy(4, space=space)
    largest = es.bind(policy, total, x, reducer=es.Max)
    assert largest() == 4.0
    largest.exchange(x=other)
    assert [largest(), largest()] == [8.0, 8.0]
    result = es.View((), space=space)
    added = es.bind(policy, total, x, out=result)
    assert added() is None and result.item() == 10.0
    added.exchange(x=other)
    added()
    assert result.item() == 26.0


def test_a_bound_scan(space):
    def prefix(i, before, final, x, y):
        if final:
            y[i] = before
        return x[i]

    x, y = filled(space, [1, 2, 3, 4]), filled(space, [0, 0, 0, 0])
    sums = es.bind(es.RangePolicy(4, space=space), prefix, x, y, pattern="scan")
    assert [sums(), sums()] == [10.0, 10.0]
    assert y.to_numpy().tolist() == [0, 1, 3, 6]


def test_captures_are_what_they_were(space):
    scale = 2.0

    def scaled(i, x):
        x[i] *= scale

    x = filled(space, [1, 2])
    step = es.bind(es.RangePolicy(2, space=space), scaled, x)
    scale = 10.0
    step()
    assert x.to_numpy().tolist() == [2, 4]
    es.parallel_for(es.RangePolicy(2, space=space), scaled, x)
    assert x.to_numpy().tolist() == [20, 40]


def test_over_several_dimensions(space):
    def put(i, j, x):
        x[i, j] += i * 10.0 + j

    x = es.View((2, 3), space=space)
    step = es.bind(es.MDRangePolicy((2, 3), space=space), put, x)
    step()
    step()
    assert x.to_numpy().tolist() == [[0, 2, 4], [20, 22, 24]]


def test_it_is_told_to_tools(space):
    class Told(es.profiling.Tool):
        labels = ()

        def on_kernel_begin(self, label):
            self.labels += (label,)

    x, y = filled(space, [1, 2, 3]), filled(space, [0, 0, 0])
    policy = es.RangePolicy(3, space=space)
    plain, named = es.bind(policy, axpy, 1.0, x, y), es.bind(policy, axpy, 1.0, x, y, label="step")
    tool = es.profiling.attach(Told())
    try:
        plain()
        named()
    finally:
        es.profiling.detach(tool)
    named()
    assert tool.labels == ("axpy", "step")
    assert y.to_numpy().tolist() == [3, 6, 9]


def test_copies_of_arrays_are_refused(space):
    with pytest.raises(es.LaunchError, match=r"es.bind takes no es.In, es.Out or es.InOut"):
        es.bind(es.RangePolicy(3, space=space), total, es.In(np.zeros(3)), reducer=es.Sum)
    with pytest.raises(es.LaunchError, match="pattern='map'"):
        es.bind(es.RangePolicy(3, space=space), total, pattern="map")


def test_what_exchange_takes_is_what_bind_takes(space):
    class Number(float):
        """A number by another name."""

    class Mine(es.View):
        """A View by another name."""

    def put(i, self, y):
        y[i] = self

    y = filled(space, [0, 0])
    step = es.bind(es.RangePolicy(2, space=space), put, Number(2.0), y)
    step()
    assert y.to_numpy().tolist() == [2, 2]
    step.exchange(self=Number(3.0))
    step()
    assert y.to_numpy().tolist() == [3, 3]
    with pytest.raises(es.LaunchError, match="'Mine', a subclass of View"):
        step.exchange(y=Mine(2, space=space))
    with pytest.raises(es.LaunchError, match=r"es.bind takes no es.In"):
        step.exchange(y=es.In(np.zeros(2)))
    with pytest.raises(TypeError, match="cannot be pickled: it holds memory"):
        pickle.dumps(step)


def test_threads_exchange_what_is_theirs(space):
    def add(i, a, b, y):
        y[i] = a + b

    step = es.bind(es.RangePolicy(1, space=space), add, 0, 0, filled(space, [0]))

    def exchange(name):
        for n in range(1000):
            step.exchange(**{name: n})

    threads = [threading.Thread(target=exchange, args=(name,)) for name in "ab"]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    y = filled(space, [0])
    step.exchange(y=y)
    step()
    assert y.to_numpy().tolist() == [1998]


def test_threads_call_one(space):
    x = filled(space, np.arange(100.0))
    added = es.bind(es.RangePolicy(100, space=space), total, x, reducer=es.Sum)
    wrong = []

    def calls():
        wrong.extend(found for _ in range(50) if (found := added()) != 4950.0)

    threads = [threading.Thread(target=calls) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert wrong == []
