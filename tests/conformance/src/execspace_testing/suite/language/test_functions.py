"""Functions in kernels: helpers, nested functions, functions as arguments, partial, functors."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np
import pytest

import execspace as es
from execspace_testing import staged

N = 7
I = np.arange(N)  # noqa: E741


def ran(space, kernel, *args, dtype=np.float64, n=N):
    """What a kernel stores into its first argument."""
    out = np.zeros(n, dtype)
    with es.use_space(space):
        staged.parallel_for(n, kernel, out, *args)
    return out


# -- of libraries -------------------------------------------------------------------------------


def test_functions_under_other_names(space):
    """What a name refers to counts, also where it reads like another function's."""
    from math import degrees as to_degrees
    from math import radians as degrees

    def kernel(i, out, function, inverse):
        out[i] = to_degrees(1.0 * i) + 1000.0 * degrees(i) + function(1.0) + inverse(i)

    found = ran(space, kernel, math.degrees, np.deg2rad)
    expected = np.degrees(I) + 1000.0 * np.radians(I) + math.degrees(1.0) + np.radians(I)
    np.testing.assert_allclose(found, expected, rtol=1e-15)


def test_roundings_of_integers_have_numpys_types(space):
    """rint gives floats, so that their products do not wrap around; the others stay integers."""

    def kernel(i, out, big):
        out[0] = np.rint(big[0]) * big[0]
        out[1] = np.round(big[0]) * big[0]
        out[2] = np.floor(big[0]) * big[0] + np.ceil(big[0]) * big[0] + np.trunc(big[0]) * big[0]

    big = np.array([2**40 + 1])
    with np.errstate(over="ignore"):
        expected = [np.rint(big[0]) * big[0], np.round(big[0]) * big[0], 3 * (big[0] * big[0])]
    np.testing.assert_array_equal(ran(space, kernel, big, n=3), np.array(expected, float))


# -- helpers ------------------------------------------------------------------------------------


@es.function
def polar(x, y):
    """Two results."""
    return math.sqrt(x * x + y * y), math.atan2(y, x)


def scaled(x, factor=2.0, *, offset=0.0):
    return factor * x + offset


def swap_ends(v, first, last):
    """Stores into a View and returns nothing."""
    keep = v[first]
    v[first] = v[last]
    v[last] = keep


def nested_tuple(i):
    return (i, (i + 1, i + 2.5)), i % 2 == 0


def test_helpers_return_tuples(space):
    def kernel(i, out):
        r, angle = polar(3.0 * i, 4.0 * i)
        both = polar(1.0, 0.0)
        (a, (b, c)), even = nested_tuple(i)
        out[i] = r + both[0] + angle * 0 + a + b + c + (100 if even else 0)

    expected = 5.0 * I + 1 + I + I + 1 + I + 2.5 + np.where(I % 2 == 0, 100, 0)
    np.testing.assert_allclose(ran(space, kernel), expected, rtol=1e-15)


def test_defaults_and_keywords(space):
    def kernel(i, out):
        out[i] = scaled(i) + 10 * scaled(i, offset=1) + 100 * scaled(factor=3.0, x=i)

    np.testing.assert_array_equal(ran(space, kernel), 2 * I + 10 * (2 * I + 1) + 100 * 3 * I)


def test_a_helper_without_a_result_stores_into_a_view(space):
    data = np.arange(2.0 * N)

    def kernel(i, out, v):
        swap_ends(v, 2 * i, 2 * i + 1)
        out[i] = v[2 * i]

    np.testing.assert_array_equal(ran(space, kernel, data), 2 * I + 1)
    np.testing.assert_array_equal(data.reshape(N, 2)[:, 1], 2 * I)


TABLE = np.array([1.0, 10.0, 100.0])
WEIGHT = 3


def from_table(k):
    return TABLE[k % 3] * WEIGHT


def twice_from_table(k):
    return 2 * from_table(k)


def test_helpers_capture_views_and_constants(space, monkeypatch):
    def kernel(i, out):
        out[i] = twice_from_table(i)

    table = TABLE
    monkeypatch.setitem(globals(), "TABLE", staged.place(space, table))
    np.testing.assert_array_equal(ran(space, kernel), table[I % 3] * 6)
    monkeypatch.setitem(globals(), "TABLE", staged.place(space, table + 1))
    monkeypatch.setitem(globals(), "WEIGHT", 1)
    np.testing.assert_array_equal(ran(space, kernel), (table + 1)[I % 3] * 2)


def count_and_add(counter, k):
    """Has a side effect: it must run as often and in the order that Python says."""
    counter[k] = counter[k] + 1
    return counter[k]


def test_calls_with_effects_keep_python_order(space):
    def kernel(i, out, counter):
        a = counter[i] + count_and_add(counter, i)  # the element is read before the call
        b = i > 2 and count_and_add(counter, i) > 0  # only where needed
        c = 5.0 if i < 3 else count_and_add(counter, i)
        while count_and_add(counter, i) < 5:
            pass
        t = (counter[i], count_and_add(counter, i), counter[i])
        out[i] = a + 10 * b + 100 * c + 1000 * (t[0] * 1 + t[1] * 2 + t[2] * 4)

    counter = np.zeros(N, np.int64)
    oracle = [kernel_in_python(kernel, i) for i in range(N)]
    np.testing.assert_array_equal(ran(space, kernel, counter), [o for o, _ in oracle])
    np.testing.assert_array_equal(counter, [c for _, c in oracle])


def kernel_in_python(kernel, i):
    """The same kernel run by CPython."""
    out, counter = np.zeros(N), np.zeros(N, np.int64)
    kernel(i, out, counter)
    return out[i], counter[i]


def test_chained_comparison_evaluates_each_operand_once(space):
    def kernel(i, out, counter):
        inside = 0 < count_and_add(counter, i) < 5
        outside = 10 < i < count_and_add(counter, i)  # not reached
        out[i] = inside + 10 * outside + 100 * counter[i]

    np.testing.assert_array_equal(ran(space, kernel, np.zeros(N, np.int64)), 101)


# -- nested functions ---------------------------------------------------------------------------


def test_nested_functions_see_variables_as_they_are_at_the_call(space):
    def kernel(i, out, x):
        scale = 1.0

        def row(k):
            return scale * x[k] + i

        first = row(0)
        scale = 10.0
        add = lambda a, b=first: a + b  # noqa: E731
        first = 1000.0
        out[i] = add(row(1))

    x = np.array([2.0, 3.0])
    np.testing.assert_array_equal(ran(space, kernel, x), (30 + I) + (2 + I))


def integrate(f, a, b, n):
    """Midpoint rule for any function."""
    h = (b - a) / n
    total = 0.0
    for k in range(n):
        total += f(a + (k + 0.5) * h)
    return total * h


def compose(f, g):
    return lambda x: f(g(x))


def test_functions_are_arguments_of_functions(space):
    def kernel(i, out):
        line = integrate(lambda x: i * x, 0.0, 2.0, 4)
        square = integrate(lambda x: x * x, 0.0, 1.0, 1)
        both = integrate(lambda x: integrate(lambda y: x * y, 0.0, 1.0, 1), 0.0, 1.0, 1)
        out[i] = line + square + both + integrate(math.fabs, -1.0, 1.0, 2)

    np.testing.assert_allclose(ran(space, kernel), 2 * I + 0.25 + 0.25 + 1.0, rtol=1e-15)


def test_functions_are_arguments_of_launches(space):
    def apply(i, out, f, x):
        out[i] = f(x[i])

    x = I + 1.0
    for f in (math.sqrt, np.exp, lambda v: v * v, partial(scaled, offset=1.0), compose(abs, float)):
        np.testing.assert_allclose(ran(space, apply, f, x), [f(v) for v in x], rtol=1e-15)


# -- parameters given beforehand ----------------------------------------------------------------


def axpy(i, out, a, x, *, shift=0.0):
    out[i] = a * x[i] + shift


def test_partial_gives_parameters(space):
    x = I * 1.0
    np.testing.assert_array_equal(ran(space, partial(axpy, a=3.0), x), 3 * I)
    given = partial(axpy, a=2.0, x=staged.place(space, x), shift=1.0)
    np.testing.assert_array_equal(ran(space, given), 2 * I + 1)
    np.testing.assert_array_equal(ran(space, partial(lambda s, i, out: axpy_one(s, i, out), 4.0)),
                                  4 * I)  # fmt: skip


def axpy_one(s, i, out):
    out[i] = s * i


def test_default_values_are_read_at_each_launch(space):
    kernels = [lambda i, out, k=k: store(out, i, k * i) for k in (1, 2, 3)]
    for k, kernel in enumerate(kernels, 1):
        np.testing.assert_array_equal(ran(space, kernel), k * I)
    np.testing.assert_array_equal(ran(space, kernels[0], 5), 5 * I)


def store(out, i, value):
    out[i] = value


@dataclass
class Heat:
    """A functor: its methods are kernels, its attributes what they work on."""

    T: np.ndarray
    new: np.ndarray
    k: float

    def flux(self, i):
        return self.k * (self.T[i + 1] - self.T[i])

    def step(self, i):
        self.new[i + 1] = self.T[i + 1] + self.flux(i + 1) - self.flux(i)

    @es.kernel(fma=False)
    def total(self, i):
        return self.T[i]

    @property
    def size(self):
        return len(self.T)


def test_methods_are_kernels(space):
    start = np.array([0.0, 0.0, 8.0, 0.0, 0.0])
    heat = Heat(staged.place(space, start), staged.place(space, np.zeros(5)), 0.25)
    with es.use_space(space):
        staged.parallel_for(3, heat.step)
        np.testing.assert_array_equal(staged.fetch(heat.new), [0, 2, 4, 2, 0])
        heat.T, heat.new, heat.k = heat.new, heat.T, 0.5  # read again at each launch
        staged.parallel_for(3, heat.step)
        np.testing.assert_array_equal(staged.fetch(heat.new), [0, 2, 2, 2, 0])
        assert staged.parallel_reduce(heat.size, heat.total) == 8.0


class Operator:
    """Kokkos' form of a functor: the object itself is the kernel."""

    def __init__(self, y):
        self.y = y

    def __call__(self, i):
        self.y[i] = i * i


def test_an_object_that_can_be_called_is_a_kernel(space):
    y = staged.place(space, np.zeros(N))
    with es.use_space(space):
        staged.parallel_for(N, Operator(y))
    np.testing.assert_array_equal(staged.fetch(y), I * I)


def test_views_of_a_functor_are_not_kept_alive(space):
    with es.use_space(space):
        heat = Heat(es.View(5, label="T"), es.View(5, label="new"), 1.0)
        staged.parallel_for(3, heat.step)
    before = {label for _, _, label in es.live_allocations()}
    assert {"T", "new"} <= before
    del heat
    assert not {"T", "new"} & {label for _, _, label in es.live_allocations()}


# -- static parameters --------------------------------------------------------------------------


def dslash(i, out, x, isign: es.static, mode: es.static = "plain"):
    if mode == "plain":
        factor = 1.0
    elif mode in ("double", "twice"):
        factor = 2.0
    else:
        factor = unknown_mode  # noqa: F821 - never compiled
    neighbour = x[(i + isign) % x.extent(0)] if isign is not None else 0.0
    out[i] = factor * neighbour


def test_static_parameters_choose_the_code(space):
    x = I * 1.0
    np.testing.assert_array_equal(ran(space, dslash, x, 1), np.roll(x, -1))
    np.testing.assert_array_equal(ran(space, dslash, x, -1, "twice"), 2 * np.roll(x, 1))
    np.testing.assert_array_equal(ran(space, dslash, x, None), 0)


@pytest.mark.parametrize("make", [list, dict, lambda: (1, [2]), lambda: es.View(1)])
def test_what_cannot_be_static(space, make):
    value = make()
    with pytest.raises(es.LaunchError, match="static parameter 'isign' is of type"):
        ran(space, dslash, I * 1.0, value)


def test_a_static_parameter_needs_a_value(space):
    with pytest.raises(es.LaunchError, match="the static parameter 'isign' gets no value"):
        ran(space, dslash, I * 1.0)


def test_parameters_that_are_given_may_be_assigned(space):
    def kernel(i, out, n: es.static, offset=0.5):
        n = n + i
        if i > 1:
            offset *= 2
        out[i] = n + offset

    np.testing.assert_array_equal(ran(space, kernel, 3), 3 + I + np.where(I > 1, 1.0, 0.5))


def test_names_of_variables_do_not_clash(space):
    def kernel(i, out):
        _a, user_a, useruser_a = 1.0, 2.0, 3.0
        out[i] = _a + 10 * user_a + 100 * useruser_a

    np.testing.assert_array_equal(ran(space, kernel), 321)


# -- loops over tuples --------------------------------------------------------------------------

WEIGHTS = (1.0, 2.0, 4.0)


def nearest(x, points):
    """Unpacking, continue, break and else in a loop over a tuple of tuples."""
    best = 1e9
    for px, py in points:
        distance = abs(px - x) + py
        if distance > 5:
            continue
        if distance == 1:
            best = distance
            break
        best = min(best, distance)
    else:
        best = -best
    return best


def loops_over_tuples(i, out):
    s = 0.0
    for n, w in enumerate(WEIGHTS):
        for k in range(i):
            if k == 3:
                break  # leaves the inner loop only
            s += n * w + k
    t = (1, 2) + (3,)
    for a, b in zip(t, reversed(t), strict=False):
        s += a * b
    s += sum(t) + (100 if any((i > 1, False)) else 0) + (1000 if all((i > 2, True)) else 0)
    out[i] = s + nearest(i, ((0, 1), (1, 7), (2, 0), (3, 0))) + len(t * 2)


def test_loops_over_tuples(space):
    expected = np.zeros(N)
    for i in range(N):
        loops_over_tuples(i, expected)
    np.testing.assert_array_equal(ran(space, loops_over_tuples), expected)


# -- tuples of functions --------------------------------------------------------------------------


def plus_one(x):
    return x + 1.0


def times_ten(x):
    return x * 10.0


def reading(view, factor):
    """A function that holds a View."""
    return lambda k: view[k] * factor


class Terms(NamedTuple):
    first: object
    second: object
    weight: float


FUNCTIONS = (plus_one, times_ten)
WEIGHTED = ((2.0, plus_one), (0.5, (times_ten, math.sqrt)))
NAMED = Terms(plus_one, partial(scaled, factor=3.0), 0.25)


def one_after_the_other(functions, x):
    s = 0.0
    for f in functions:
        s += f(x)
    return s


def test_items_of_a_captured_tuple_of_functions_are_called(space):
    def kernel(i, out):
        out[i] = FUNCTIONS[0](i) + FUNCTIONS[-1](2.0) + WEIGHTED[1][1][0](i) * WEIGHTED[0][0]
        out[i] += NAMED.weight * NAMED.first(i) + NAMED.second(i) + NAMED[1](1.0)
        first, last = FUNCTIONS
        out[i] += last(first(i))

    expected = I + 1.0 + 20 + 20 * I + 0.25 * (I + 1) + 3 * I + 3 + 10 * (I + 1)
    np.testing.assert_array_equal(ran(space, kernel), expected)


def test_a_loop_over_a_tuple_calls_its_functions(space):
    def kernel(i, out, given: es.static):
        s = 0.0
        for n, f in enumerate(FUNCTIONS):
            for g in (f, lambda x: x - n, np.floor):
                s += g(f(i + 0.5))
        for weight, f in ((2.0, plus_one), (3, math.sqrt)):
            s += weight * f(i)
        out[i] = s + one_after_the_other(FUNCTIONS, i) + one_after_the_other(given, 1.0)

    x = I + 0.5
    expected = (x + 2) + (x + 1) + np.floor(x + 1) + 100 * x + (10 * x - 1) + np.floor(10 * x)
    expected += 2 * (I + 1.0) + 3 * np.sqrt(I) + (I + 1) + 10 * I + 10 + 8 + 0.5
    given = (times_ten, partial(scaled, factor=8.0), lambda x: x / 2)
    np.testing.assert_allclose(ran(space, kernel, given), expected, rtol=1e-6)


def test_functions_in_a_tuple_take_their_views_along_and_are_read_at_each_launch(space):
    a, b = staged.view_on(space, np.arange(5.0)), staged.view_on(space, np.arange(5.0) ** 2)
    functions = (reading(a, 1.0), (reading(b, 2.0), plus_one))

    def kernel(i, out):
        s = functions[1][1](functions[0](i % 5))
        for f in (functions[0], functions[1][0]):
            s += f(3)
        out[i] = s

    def expected(f, g):
        return np.array([f(i % 5) + 1 + f(3) + g(3) for i in I])

    np.testing.assert_array_equal(ran(space, kernel), expected(lambda k: k, lambda k: 2 * k * k))
    functions = (reading(b, 3.0), (reading(a, 2.0), plus_one))
    np.testing.assert_array_equal(
        ran(space, kernel), expected(lambda k: 3 * k * k, lambda k: 2 * k)
    )
    functions = (reading(a, 1.0), (times_ten, plus_one))
    np.testing.assert_array_equal(ran(space, kernel), expected(lambda k: k, lambda k: 10 * k))


def test_rounds_of_a_loop_may_differ_in_what_is_compiled(space):
    def kernel(i, out):
        total = 0.0
        for mode, view in (("double", out), ("skip", None), ("add", out)):
            if view is None:
                continue
            else:
                total += 2 * view[i] if mode == "double" else i
                view[i] = total
        out[i] += total

    out = np.arange(float(N))
    with es.use_space(space):
        staged.parallel_for(N, kernel, out)
    np.testing.assert_array_equal(out, 6 * I)


def test_a_variable_that_is_several_functions_is_read_in_its_loop_only():
    def kernel(i, out):
        for f in FUNCTIONS:
            out[i] += f(i)
        out[i] = f(i)

    with pytest.raises(es.KernelTypeError, match="'f' is function 'plus_one' in one place and"):
        ran("oracle", kernel)


def test_what_only_some_rounds_of_a_loop_assign_may_have_no_value():
    def kernel(i, out):
        for mode in ("read", "write"):
            if mode == "write":
                s = 1.0
            else:
                out[i] = s

    with pytest.raises(es.KernelError, match="'s' may be used before it has a value"):
        ran("oracle", kernel)


def test_a_default_value_that_is_not_read_needs_no_argument(space):
    def scaled(value, factor=2.0, unused=None, *, also_unused=3):
        return factor * value

    def keeps(value, unused=(1.0, 2.0)):
        return value

    def kernel(i, x):
        x[i] = scaled(x[i]) + keeps(x[i])

    x = np.arange(4.0)
    with es.use_space(space):
        staged.parallel_for(4, kernel, x)
    np.testing.assert_array_equal(x, 3 * np.arange(4.0))
