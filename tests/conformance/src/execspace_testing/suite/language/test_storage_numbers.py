"""Numbers as elements of storage types: all that can be read, and what is stored for which number.

The reference looks at all elements of a type, and ml_dtypes says the same of each float32. From
float64 and integers ml_dtypes rounds twice, which kernels do not.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import execspace as es
from execspace_testing import staged
from execspace_testing.drawn import drawn
from execspace_testing.nearest import (
    NAMES,
    element_type,
    every,
    is_nan,
    middles,
    nearest,
    same,
    word,
)
from execspace_testing.sizes import interpreted, needs_dtype

pytest.importorskip("ml_dtypes", reason="the dtypes are those of ml_dtypes")
INTEGERS = ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"]
EDGES = [
    0.0, -0.0, 1.0, -1.0, np.nan, np.inf, -np.inf, 1e-45, -1e-45, 1e-40, 2.0**-9, 2.0**-10,
    2.0**-16, 2.0**-17, 1.5 * 2.0**-17, 448.0, 463.99997, 464.0, 464.00003, 480.0, -465.0,
    57344.0, 61439.996, 61440.0, 65536.0, -61440.0, 3.3895314e38, 3.3961775e38, 3.4028235e38,
]  # fmt: skip


def some(space, values, most=300):
    """The values; of those for a space that interprets kernels, some."""
    if not interpreted(space) or len(values) <= most:
        return values
    return np.random.default_rng(3).choice(values, most, replace=False)


def stored(space, name, values):
    """What a kernel stores for each number."""

    def kernel(i, target, values):
        target[i] = values[i]

    found = np.zeros(len(values), element_type(name))
    staged.parallel_for(es.RangePolicy(len(found), space=space), kernel, found, values)
    return found


def near(name, kind):
    """Numbers of a type half-way between elements, and their neighbours."""
    with np.errstate(over="ignore"):
        middle = middles(name).astype(kind)
        middle = middle[np.isfinite(middle)]
        beside = np.nextafter(middle, kind(0)), np.nextafter(middle, kind(np.inf))
        return np.concatenate([middle, *beside, middle * 3])


@pytest.mark.parametrize("name", NAMES)
def test_every_element_is_read_as_a_float32(space, name):
    def kernel(i, found, x):
        found[i] = x[i]

    x = some(space, every(name))
    found = np.zeros(len(x), np.float32)
    staged.parallel_for(es.RangePolicy(len(x), space=space), kernel, found, x)
    with np.errstate(invalid="ignore"):
        expected = x.astype(np.float32)
    nan = np.isnan(expected)
    np.testing.assert_array_equal(np.isnan(found), nan)
    np.testing.assert_array_equal(found[~nan].view(np.uint32), expected[~nan].view(np.uint32))


@pytest.mark.parametrize("name", NAMES)
def test_what_is_read_is_stored_again(space, name):
    x = some(space, every(name))
    found = np.zeros_like(x)

    def kernel(i, found, x):
        found[i] = x[i]

    staged.parallel_for(es.RangePolicy(len(x), space=space), kernel, found, x)
    same(name, found, x)


@pytest.mark.parametrize("name", NAMES)
def test_float32_are_rounded_as_by_ml_dtypes(space, name):
    drawn_numbers = np.random.default_rng(1).integers(0, 2**32, 50_000, dtype=np.uint32)
    numbers = np.concatenate(
        [np.array(EDGES, np.float32), near(name, np.float32), drawn_numbers.view(np.float32)]
    )
    numbers = np.concatenate([numbers[:29], some(space, numbers)])
    with np.errstate(all="ignore"):
        expected = numbers.astype(element_type(name))
    found = stored(space, name, numbers)
    same(name, found, expected)
    few = slice(0, 3000)
    same(name, found[few], nearest(name, numbers[few]))


@pytest.mark.parametrize("name", NAMES)
def test_float64_are_rounded_once(space, name):
    needs_dtype(space, np.float64)
    rng = np.random.default_rng(2)
    numbers = rng.normal(0, 1, 2000) * 10.0 ** rng.integers(-45, 45, 2000)
    close = some(space, near(name, np.float64), 3000)
    numbers = np.concatenate([EDGES, [1e300, -1e300, 5e-324, 1e-310], numbers, close[:6000]])
    numbers = np.concatenate([numbers[:33], some(space, numbers)])
    same(name, stored(space, name, numbers), nearest(name, numbers))


def test_a_float64_that_is_rounded_to_a_tie_on_the_way(space):
    needs_dtype(space, np.float64)
    number = 1 + 2.0**-8 + 2.0**-40  # float32 would make 1 + 2**-8 of it, and bfloat16 1 of that
    assert stored(space, "bfloat16", np.array([number]))[0] == 1 + 2.0**-7


@pytest.mark.parametrize("kind", INTEGERS)
@pytest.mark.parametrize("name", NAMES)
def test_integers_are_rounded_once(space, name, kind):
    limits = np.iinfo(kind)
    rng = np.random.default_rng(4)
    any_size = rng.integers(limits.min, limits.max, 1000, dtype=kind, endpoint=True)
    smaller = any_size >> rng.integers(0, limits.bits, 1000).astype(kind)
    ends = [limits.min, limits.min + 1, 0, 1, limits.max - 1, limits.max]
    ties = [
        n + d
        for shift in range(limits.bits - 8)
        for n in (0x101 << shift, 0x103 << shift, 0xFF << shift)
        for d in (-1, 0, 1)
        if n + d <= limits.max
    ]
    numbers = np.concatenate([np.array([*ends, *ties], kind), any_size, smaller])
    numbers = some(space, numbers, 600)
    same(name, stored(space, name, numbers), nearest(name, numbers))


@pytest.mark.parametrize("name", NAMES)
def test_bools_and_float16(space, name):
    truth = np.array([True, False, True])
    same(name, stored(space, name, truth), nearest(name, [1, 0, 1]))
    needs_dtype(space, np.float16)
    halves = some(space, np.arange(65536, dtype=np.uint16).view(np.float16))
    with np.errstate(all="ignore"):
        same(name, stored(space, name, halves), halves.astype(element_type(name)))


@pytest.mark.parametrize("name", NAMES)
@drawn(30)
@given(numbers=st.lists(st.floats(width=32), min_size=1, max_size=20))
@example(numbers=EDGES[:5])
def test_any_float32(space, name, numbers):
    given = np.array(numbers, np.float32)
    same(name, stored(space, name, given), nearest(name, given))


@pytest.mark.parametrize("name", NAMES)
@drawn(30)
@given(numbers=st.lists(st.floats() | st.integers(0, 2**62).map(float), min_size=1, max_size=20))
def test_any_float64(space, name, numbers):
    needs_dtype(space, np.float64)
    given = np.array(numbers, np.float64)
    same(name, stored(space, name, given), nearest(name, given))


@pytest.mark.parametrize("name", NAMES)
@drawn(30)
@given(numbers=st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=20))
def test_any_integer(space, name, numbers):
    given = np.array(numbers, np.int64)
    same(name, stored(space, name, given), nearest(name, given))


# -- constants, arguments and casts ----------------------------------------------------------------


CAPTURED = 1 + 2.0**-8 + 2.0**-40


@pytest.mark.parametrize("name", NAMES)
def test_constants_and_arguments_are_rounded_once(space, name):
    needs_dtype(space, np.float64)

    def kernel(i, x, number, whole):
        x[0] = 1.00390625000001
        x[1] = CAPTURED
        x[2] = number
        x[3] = -3
        x[4] = 2**60 + 2**52 + 1
        x[5] = whole
        x[6] = 1e300
        x[7] = -0.0
        x[8] = np.float32(0.1)
        x[9] = True

    x = np.zeros(10, element_type(name))
    large = 2**60 + 2**52 + 1
    policy = es.RangePolicy(1, space=space)
    staged.parallel_for(policy, kernel, x, 1.00390625000001, large)
    numbers = [1.00390625000001, CAPTURED, 1.00390625000001, -3, large, large, 1e300, -0.0]
    same(name, x, nearest(name, [*numbers, np.float32(0.1), 1]))


@pytest.mark.parametrize("name", NAMES)
def test_a_cast_rounds_and_gives_the_float32(space, name):
    kind, dtype = getattr(es, name), element_type(name)

    def kernel(i, o, x):
        o[i, 0] = kind(x[i])
        o[i, 1] = kind(x[i]) + kind(0.1)
        o[i, 2] = dtype.itemsize * kind(x[i] / 3)

    x = np.random.default_rng(5).normal(0, 4, 50).astype(np.float32)
    o = np.zeros((50, 3), np.float32)
    staged.parallel_for(es.RangePolicy(50, space=space), kernel, o, x)
    rounded = x.astype(dtype).astype(np.float32)
    np.testing.assert_array_equal(o[:, 0], rounded)
    np.testing.assert_array_equal(o[:, 1], rounded + np.float32(np.float32(0.1).astype(dtype)))
    third = (x / np.float32(3)).astype(dtype).astype(np.float32)
    np.testing.assert_array_equal(o[:, 2], dtype.itemsize * third)


def test_a_captured_element_is_a_float32(space):
    element = np.array([0.1], element_type("bfloat16"))[0]

    def kernel(i, o):
        o[i] = element * 3

    o = np.zeros(1, np.float32)
    staged.parallel_for(es.RangePolicy(1, space=space), kernel, o)
    assert o[0] == np.float32(element) * np.float32(3)


@pytest.mark.parametrize("name", NAMES)
def test_updates_compute_in_float32(space, name):
    def kernel(i, x, y):
        x[i] += y[i]
        x[i] *= 1.5
        x[i] -= x[i] / 3

    rng = np.random.default_rng(6)
    x = rng.normal(0, 4, 200).astype(np.float32).astype(element_type(name))
    y = rng.normal(0, 4, 200).astype(np.float32)
    expected = x.copy()
    for change in (lambda v: v + y, lambda v: v * np.float32(1.5), lambda v: v - v / np.float32(3)):
        expected = change(expected.astype(np.float32)).astype(expected.dtype)
    plain = es.kernel(fma=False)(kernel)
    staged.parallel_for(es.RangePolicy(200, space=space), plain, x, y)
    same(name, x, expected)
    assert not is_nan(x).any()
    assert x.view(word(name)).any()
