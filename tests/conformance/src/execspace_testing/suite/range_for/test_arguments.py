"""What reaches a kernel: Views of every dtype and stride, numbers, and what it captures."""

from __future__ import annotations

import math

import numpy as np
import pytest

import execspace as es
from execspace_testing import staged
from execspace_testing.sizes import needs_dtype

# -- elements -----------------------------------------------------------------------------------


def copy_each(i, a, b, c, d, A, B, C, D):
    A[i] = a[i]
    B[i] = b[i]
    C[i] = c[i]
    D[i] = d[i]


REAL = (
    ("int8", "int16", "int32", "int64"),
    ("uint8", "uint16", "uint32", "uint64"),
    ("bool", "float32", "float64", "int64"),
)


def extremes(dtype):
    """The greatest and the least number of a dtype, and some that are easily spoilt."""
    kind = np.dtype(dtype)
    if kind.kind == "b":
        return np.array([True, False, False, True, True, False])
    if kind.kind == "f":
        limits = np.finfo(kind)
        tiny = limits.smallest_subnormal
        return np.array([limits.max, limits.min, -0.0, np.inf, tiny, -1.5], kind)
    whole = np.iinfo(kind)
    return np.array([whole.max, whole.min, 0, 1, whole.max - 1, whole.max // 3], kind)


@pytest.mark.parametrize("dtypes", REAL, ids=lambda d: d[0])
def test_views_of_every_dtype(space, dtypes):
    """Eight Views in one kernel: each element arrives, and is stored, as it is."""
    sources = [extremes(dtype) for dtype in dtypes]
    targets = [np.zeros(6, dtype) for dtype in dtypes]
    staged.parallel_for(es.RangePolicy(6, space=space), copy_each, *sources, *targets)
    for dtype, source, target in zip(dtypes, sources, targets, strict=True):
        assert target.tobytes() == source.tobytes(), dtype


def combine(i, x, y, total, product):
    total[i] = x[i] + y[i]
    product[i] = x[i] * y[i]


@pytest.mark.parametrize("dtype", ["uint8", "int16", "float16", "float32", "complex64"])
def test_arithmetic_in_the_dtype_of_the_elements(space, dtype):
    """Of two Views of one dtype: integers wrap, and floats are rounded after each step."""
    needs_dtype(space, dtype)
    rng = np.random.default_rng(2)
    x, y = (rng.integers(1, 200, 50).astype(dtype) / np.array(8, dtype) for _ in range(2))
    x, y = x.astype(dtype), y.astype(dtype)
    if np.dtype(dtype).kind in "iu":
        x, y = (rng.integers(-9000, 9000, 50).astype(dtype) for _ in range(2))
    total, product = np.zeros(50, dtype), np.zeros(50, dtype)
    staged.parallel_for(es.RangePolicy(50, space=space), combine, x, y, total, product)
    np.testing.assert_array_equal(total, x + y)
    np.testing.assert_array_equal(product, x * y)


def test_a_view_of_rank_0(space):
    """One element, and no index."""
    number = es.View((), es.int64, label="number", space=space)
    es.parallel_for(es.RangePolicy(41, 42, space=space), store_index, number)
    es.parallel_for(es.RangePolicy(1, space=space), one_more, number)
    assert staged.fetch(number) == 42


def store_index(i, number):
    number[()] = i


def one_more(i, number):
    number[()] += 1


# -- numbers --------------------------------------------------------------------------------------


@es.kernel
def keep(i, weak, wide, real, yes, small, unsigned, single, whole, reals, large):
    whole[0] = weak
    whole[1] = wide
    whole[2] = small
    whole[3] = 1 if yes else 0
    reals[0] = real
    reals[1] = single
    large[0] = unsigned


def test_numbers_of_every_kind(space):
    """Python's own and NumPy's; another value is not another kernel."""
    compiled = []
    for sign in (1, -1):
        whole, reals = np.zeros(4, np.int64), np.zeros(2)
        large = np.zeros(1, np.uint64)
        weak, wide, real = sign * 2**62, sign * 3, sign * 0.1
        staged.parallel_for(
            es.RangePolicy(1, space=space), keep, weak, np.int64(wide), real, sign > 0,
            np.int8(sign * 127), np.uint64(2**64 - 2 + sign), np.float32(real), whole, reals, large,
        )  # fmt: skip
        assert whole.tolist() == [weak, wide, sign * 127, sign > 0]
        assert reals.tolist() == [real, float(np.float32(real))]
        assert large.tolist() == [2**64 - 2 + sign]
        compiled.append(len(keep.plans))
    assert compiled[0] == compiled[1]


@pytest.mark.parametrize("value", [math.inf, -math.inf, -0.0, 5e-324])
def test_special_floats_arrive_as_they_are(space, value):
    out = np.ones(3)
    staged.parallel_for(es.RangePolicy(3, space=space), put, out, value)
    assert out.tobytes() == np.full(3, value).tobytes()


def test_nan_arrives(space):
    out = np.ones(3)
    staged.parallel_for(es.RangePolicy(3, space=space), put, out, math.nan)
    assert np.isnan(out).all()


def chosen(i, out, yes):
    out[i] = 1 if yes else 2


@pytest.mark.parametrize("yes", [True, False, np.bool_(True), np.bool_(False)])
def test_bools_of_python_and_numpy(space, yes):
    out = np.zeros(3, np.int64)
    staged.parallel_for(es.RangePolicy(3, space=space), chosen, out, yes)
    assert out.tolist() == [1 if yes else 2] * 3


def put(i, out, value):
    out[i] = value


# -- strides --------------------------------------------------------------------------------------


def rows(i, source, target):
    for j in range(source.extent(1)):
        target[i, j] = 100 * i + source[i, j]


@pytest.mark.parametrize("layout", ["left", "right"])
@pytest.mark.parametrize(
    "part",
    [
        (slice(None), slice(None)),
        (slice(1, 5), slice(2, 7)),
        (slice(1, 6, 2), slice(None, None, 3)),
        (slice(None, None, -1), slice(7, 1, -2)),
    ],
    ids=["whole", "block", "steps", "backwards"],
)
def test_parts_of_a_view(space, layout, part):
    """Rows and columns by their strides, also negative ones; what lies between them stays."""
    values = np.arange(48.0).reshape(6, 8)
    source = es.View((6, 8), layout=layout, label="source", space=space)
    target = es.View((6, 8), layout=layout, label="target", space=space)
    es.deep_copy(source, values)
    es.deep_copy(target, -1.0)
    inner = source[part]
    es.parallel_for(es.RangePolicy(inner.extent(0), space=space), rows, inner, target[part])
    expected = np.full((6, 8), -1.0)
    expected[part] = 100 * np.arange(inner.extent(0))[:, None] + values[part]
    np.testing.assert_array_equal(staged.fetch(target), expected)


def double(i, x):
    x[i] *= 2


@pytest.mark.parametrize("key", [(slice(None), 3), (2, slice(None)), (slice(None, None, -2), 0)])
def test_a_row_and_a_column_are_views_of_rank_1(space, key):
    values = np.arange(48.0).reshape(6, 8)
    A = staged.view_on(space, values, "A")
    line = A[key]
    es.parallel_for(es.RangePolicy(line.size, space=space), double, line)
    values[key] *= 2
    np.testing.assert_array_equal(staged.fetch(A), values)


@es.kernel
def add(i, source, target):
    target[i] += source[i]


def test_views_that_share_memory(space):
    """Side by side, interleaved, and the same one twice: each is what its indices say it is."""
    whole = staged.view_on(space, np.arange(10.0), "whole")
    policy = es.RangePolicy(5, space=space)
    for source, target in (
        (slice(0, 5), slice(5, 10)),
        (slice(0, None, 2), slice(1, None, 2)),
        (slice(0, 5), slice(0, 5)),
    ):
        expected = staged.fetch(whole)
        expected[target] += expected[source]
        es.parallel_for(policy, add, whole[source], whole[target])
        np.testing.assert_array_equal(staged.fetch(whole), expected)


# -- captures -------------------------------------------------------------------------------------

FACTOR = 3.0


def test_a_kernel_may_use_what_is_around_it(space):
    """Views, numbers and functions, of the function around it or of the module."""
    x = staged.view_on(space, np.arange(5.0), "x")
    y = es.View(5, label="y", space=space)
    offset = 0.5

    def body(i):
        y[i] = tripled(x[i]) + offset

    es.parallel_for(es.RangePolicy(5, space=space), body)
    assert staged.fetch(y).tolist() == [0.5, 3.5, 6.5, 9.5, 12.5]
    offset = 1.0  # read anew by each launch
    es.parallel_for(es.RangePolicy(5, space=space), body)
    assert staged.fetch(y).tolist() == [1.0, 4.0, 7.0, 10.0, 13.0]


def tripled(value):
    return FACTOR * value
