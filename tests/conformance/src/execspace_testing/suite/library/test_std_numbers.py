"""C++'s algorithms: numbers that elements cannot be, what `init` is joined to, functions, NaN."""

from __future__ import annotations

import math
import operator
from functools import partial

import numpy as np
import pytest

import execspace as es
from execspace_testing import staged
from execspace_testing.sizes import fitting, needs_dtype

A = es.algorithms
NAN = float("nan")


# -- values ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["int8", "int64", "uint64", "float32", "float64"])
def test_integers_of_any_size_are_compared(space, dtype):
    """2**70 is found where an element is that number, and nowhere else."""
    needs_dtype(space, dtype)
    x = staged.view_on(space, np.array([1, 100, 1], dtype), "x")
    z = staged.view_on(space, np.zeros(3, dtype), "z")
    for value in (2**63, 2**64 - 1, 2**70, 2**70 + 1, -(2**63) - 1, -(2**70), 10**400):
        assert A.find(x, value, space=space) == 3
        assert A.count(x, value, space=space) == 0
        assert A.search_n(x, 1, value, space=space) == 3
        assert A.remove_copy(x, z, value, space=space) == A.remove(x, value, space=space) == 3
        A.replace(x, value, 5, space=space)
        A.replace_copy(x, z, value, 5, space=space)
        assert staged.fetch(x).tolist() == staged.fetch(z).tolist() == [1, 100, 1]
    if dtype.startswith("float"):
        x = staged.view_on(space, np.array([1, 2.0**70], dtype), "x")
        assert (A.find(x, 2**70, space=space), A.find(x, 2**70 + 1, space=space)) == (1, 2)
    if dtype == "uint64":
        x = staged.view_on(space, np.array([1, 2**64 - 1], dtype), "x")
        assert (
            A.find(x, 2**64 - 1, space=space) == A.find(x, np.uint64(2**64 - 1), space=space) == 1
        )
        A.fill(x, 2**64 - 1, space=space)
        assert staged.fetch(x).tolist() == [2**64 - 1] * 2


# -- init -----------------------------------------------------------------------------------------


def test_a_reducer_joins_init_in_numbers_of_python(space):
    u = staged.view_on(space, np.array([1, 2, 2**64 - 1], np.uint64), "u")
    i = staged.view_on(space, np.array([1, 2, 100], np.int8), "i")
    total = 2  # modulo 2**64
    for init in (-1, np.int8(-1), 2**70, np.uint64(2**64 - 1), True):
        number = int(init)
        for view, values in ((u, [1, 2, 2**64 - 1]), (i, [1, 2, 100])):
            whole = total if view is u else sum(values)
            for op, expected in (
                (es.Sum, whole + number),
                (es.Min, min(number, *values)),
                (es.Max, max(number, *values)),
                (es.BAnd, number & 0),
                (es.Prod, number * (math.prod(values) % 2**64)),
            ):
                found = A.reduce(view, init, op, space=space)
                assert (found, type(found)) == (expected, int)
    assert A.reduce(i, 1.5, es.Min, space=space) == 1.0
    assert A.reduce(i, 1.5, es.Sum, space=space) == 104.5
    assert math.isnan(A.reduce(i, NAN, es.Max, space=space))
    x = staged.view_on(space, np.array([1.0, 2.0], np.float32), "x")
    for init, op, expected in ((-1, es.Min, -1.0), (5, es.Max, 5.0), (1j, es.Sum, 3 + 1j)):
        found = A.reduce(x, init, op, space=space)
        assert (found, type(found)) == (expected, type(expected))
    for init, op, said in (
        (1.5, es.BAnd, "expected an integer, which es.BAnd joins"),
        (1j, es.Max, "expected a real number, which es.Max joins"),
    ):
        with pytest.raises(es.LaunchError, match=f"reduce: init=.*; {said}"):
            A.reduce(i, init, op, space=space)


def test_a_function_joins_init_in_the_type_of_elements(space):
    u = staged.view_on(space, np.array([1, 2], np.uint64), "u")
    assert A.reduce(u, 5, lambda a, b: max(a, b), space=space) == 5
    with pytest.raises(es.LaunchError, match="reduce: init=-1 does not fit into View 'u' of dtype"):
        A.reduce(u, -1, lambda a, b: max(a, b), space=space)


# -- functions ------------------------------------------------------------------------------------


def is_large(limit, v):
    return v > limit


def test_functions_of_python_are_predicates(space):
    x = staged.view_on(space, np.array([3, 0, -2, 5], np.int32), "x")
    for p, expected in (
        (bool, 3),
        (operator.truth, 3),
        (operator.not_, 1),
        (abs, 3),
        (int, 3),
        (partial(operator.lt, 2), 2),
        (partial(operator.and_, 1), 2),
        (partial(max, 0), 2),
        (partial(np.maximum, 0), 2),
        (partial(is_large, 2), 2),
        (partial(partial(operator.add, 1), ), 4),
    ):  # fmt: skip
        assert A.count_if(x, p, space=space) == expected, p
    assert A.find_if_not(x, bool, space=space) == 1
    z = staged.view_on(space, np.zeros(4, np.int32), "z")
    for f, expected in ((operator.abs, [3, 0, 2, 5]), (partial(pow, 2), [8, 1, 0, 32])):
        A.transform(x, z, f, space=space)
        assert staged.fetch(z)[[0, 1, 3]].tolist() == [expected[k] for k in (0, 1, 3)]
    assert A.reduce(x, op=max, space=space) == 5 == A.reduce(x, op=es.Max, space=space)


# -- NaN ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [2, 100, 8191, 8193, 30_000])  # parts that a thread of a host joins
def test_the_first_nan_and_the_last_one_are_the_extremes(space, n):
    n = fitting(space, n)
    rng = np.random.default_rng(n)
    for count in (1, 2, 5):
        values = rng.integers(0, 9, n).astype(np.float32)
        values[rng.integers(0, n, count)] = NAN
        x = staged.view_on(space, values, "x")
        first, *_ = nan = np.flatnonzero(np.isnan(values))
        assert A.min_element(x, space=space) == A.max_element(x, space=space) == first
        assert A.minmax_element(x, space=space) == (first, nan[-1])


@pytest.mark.parametrize("descending", [False, True])
def test_an_order_that_is_not_strict_loses_no_key(space, descending):
    values = np.random.default_rng(1).integers(0, 20, 1000)
    x = staged.view_on(space, values, "x")
    es.sort(x, less=operator.le, descending=descending, space=space)
    expected = np.sort(values)[::-1] if descending else np.sort(values)
    assert staged.fetch(x).tolist() == expected.tolist()
    order = es.argsort(x, less=operator.le, descending=descending, space=space)
    assert sorted(staged.fetch(order).tolist()) == list(range(1000))


@pytest.mark.parametrize(
    "kind", [es.float32, np.int64, complex, np.bool_, np.dtype("int32"), es.uint8]
)
def test_element_types_are_functions(space, kind):
    given = np.array([0.0, 1.5, 2.75])
    x, z = staged.view_on(space, given), staged.view_on(space, np.zeros(3, complex))
    A.transform(x, z, kind, space=space)
    np.testing.assert_array_equal(staged.fetch(z), given.astype(kind))
