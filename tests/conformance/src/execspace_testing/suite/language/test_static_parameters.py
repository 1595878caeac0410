"""Static parameters of functions that kernels call: constants, compiled for each value."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np
import pytest

import execspace as es
from execspace_testing import staged


@es.function
def chosen(i, pair, first: es.static):
    """An element of one of two Views, which a number at run time cannot choose."""
    view = pair[0] if first else pair[1]
    return view[i]


@pytest.fixture
def arrays(space):
    def make(n=20):
        views = [es.View(n, space=space) for _ in range(3)]
        es.deep_copy(views[0], np.arange(n, dtype=float))
        es.deep_copy(views[1], -np.arange(n, dtype=float))
        return views

    return make


def test_a_static_parameter_chooses_a_view(space, arrays):
    x, y, out = arrays()

    def kernel(i, x, y, out, first: es.static):
        out[i] = chosen(i, (x, y), first) + 100 * chosen(i, (x, y), not first)

    for first in (True, False):
        staged.parallel_for(es.RangePolicy(20, space=space), kernel, x, y, out, first)
        i = np.arange(20)
        assert np.array_equal(staged.fetch(out), i - 100 * i if first else -i + 100 * i)


def test_what_a_call_computes_of_constants_is_known(space, arrays):
    x, y, out = arrays()
    captured = 3

    def kernel(i, x, y, out, order: es.static):
        out[i] = chosen(i, (x, y), captured > order) + chosen(i, pair=(y, x), first=order * 2 == 4)

    staged.parallel_for(es.RangePolicy(20, space=space), kernel, x, y, out, 2)
    assert not staged.fetch(out).any()


def test_each_value_has_code_of_its_own(space):
    """1, 1.0, True, -0.0 and a tuple of them are constants of different types or bits."""
    out = es.View(8, es.float64, space=space)

    @es.function
    def of(value, way: es.static):
        return value / 2 + way

    def kernel(i, out):
        x = 1.0 * i
        out[0] = of(x, 1)
        out[1] = of(x, 1.5)
        out[2] = of(x, True)
        out[3] = np.copysign(1.0, of(-0.0, -0.0))
        out[4] = np.copysign(1.0, of(-0.0, 0.0))
        out[5] = scaled(x + 1, (2, 3))
        out[6] = scaled(x + 1, (3, 2))

    @es.function
    def scaled(x, by: es.static):
        table = es.local(by[0], np.float64)  # a shape must be constant
        for k in range(by[0]):
            table[k] = x * by[1]
        total = 0.0
        for k in range(by[0]):
            total += table[k]
        return total

    staged.parallel_for(es.RangePolicy(1, space=space), kernel, out)
    assert staged.fetch(out).tolist() == [1, 1.5, 1, -1, 1, 6, 6, 0]


def test_defaults_methods_partials_and_nested_functions(space, arrays):
    x, y, out = arrays()

    @es.function
    def with_default(i, pair, first: es.static = False):
        return chosen(i, pair, first)

    bound = partial(chosen, first=True)

    @dataclass
    class Pair:
        x: es.View
        y: es.View

        def at(self, i, first: es.static):
            view = self.x if first else self.y
            return view[i]

    def kernel(i, pair, out):
        def own(k, first: es.static):
            view = pair.x if first else pair.y
            return view[k]

        views = pair.x, pair.y
        out[i] = (
            with_default(i, views) + 10 * bound(i, views) + 100 * pair.at(i, False)
            + 1000 * pair.at(i, True) + 10000 * own(i, True) + 100000 * own(i, False)
        )  # fmt: skip

    staged.parallel_for(es.RangePolicy(20, space=space), kernel, Pair(x, y), out)
    assert np.array_equal(staged.fetch(out), np.arange(20.0) * (-1 + 10 - 100 + 1000 - 90000))


def test_a_value_that_is_not_known_is_refused(space, arrays):
    x, y, out = arrays()

    def kernel(i, x, y, out):
        out[i] = chosen(i, (x, y), i > 3)

    def of_element(i, x, y, out):
        out[i] = chosen(i, (x, y), x[i])

    for wrong in (kernel, of_element):
        with pytest.raises(es.KernelTypeError, match="the static parameter 'first' of 'chosen'"):
            staged.parallel_for(es.RangePolicy(20, space=space), wrong, x, y, out)
