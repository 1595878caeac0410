"""Sizes at which 32 bits, or a dimension of CUDA's grid, no longer suffice.

Results are counted on the GPU; only a few elements come to the host.
"""

from __future__ import annotations

import numpy as np
import pytest

import execspace as es
from execspace_testing import staged

FAR = 2**40


@pytest.fixture
def room(cuda, cupy):
    """Skip unless there are so many bytes free; what the test took is given back."""

    def need(nbytes):
        cupy.get_default_memory_pool().free_all_blocks()
        free, _ = cupy.cuda.runtime.memGetInfo()
        if free < nbytes:
            pytest.skip(f"needs {nbytes:,} bytes of the GPU's memory, there are {free:,}")

    yield need
    cuda.fence()
    cupy.get_default_memory_pool().free_all_blocks()


# -- Views --------------------------------------------------------------------------------------


@es.kernel
def number(i, x):
    x[i] = i % 113


@es.kernel
def is_right(i, x):
    return 1 if x[i] == i % 113 else 0


def test_views_of_more_than_4_gib(cuda, room):
    n = 5_000_000_017
    room(2 * n)
    x = es.View(n, es.int8, label="x", space=cuda)
    policy = es.RangePolicy(n, space=cuda)
    assert es.parallel_reduce(policy, lambda i, x: 1 if x[i] == 0 else 0, x) == n  # all zeroed
    es.parallel_for(policy, number, x)
    assert es.parallel_reduce(policy, is_right, x) == n
    for first in (0, 2**31 - 2, 2**32 - 2, n - 4):
        expected = [k % 113 for k in range(first, first + 4)]
        assert staged.fetch(x[first : first + 4]).tolist() == expected
    es.deep_copy(x[2**32 + 1 :], -5)
    assert es.parallel_reduce(policy, is_right, x) == 2**32 + 1
    y = es.View(n, es.int8, label="y", space=cuda, initialize=False)
    es.deep_copy(y[::-1], x)  # by a kernel, not as a block
    expected = [(n - 1 - k) % 113 for k in (n - 1, n - 2, n - 2**31, n - 2**32)]
    found = [int(staged.fetch(y[k : k + 1])[0]) for k in (n - 1, n - 2, n - 2**31, n - 2**32)]
    assert found == expected
    assert es.parallel_reduce(policy, lambda i, y: 1 if y[i] == -5 else 0, y) == n - 2**32 - 1


@pytest.mark.parametrize("layout", ["left", "right"])
def test_views_of_rank_2_of_more_than_4_gib(cuda, room, layout):
    shape = (70_001, 65_537)
    room(shape[0] * shape[1])
    x = es.View(shape, es.int8, layout=layout, space=cuda, initialize=False)
    policy = es.MDRangePolicy((0, 0), shape, space=cuda)

    @es.kernel
    def store(i, j, x):
        x[i, j] = (3 * i + j) % 101

    @es.kernel
    def stored(i, j, x):
        return 1 if x[i, j] == (3 * i + j) % 101 else 0

    es.parallel_for(policy, store, x)
    assert es.parallel_reduce(policy, stored, x) == shape[0] * shape[1]
    corner = staged.fetch(x[-2:, -2:])
    assert corner[1, 1] == (3 * 70_000 + 65_536) % 101
    assert corner[0, 1] == (3 * 69_999 + 65_536) % 101


def test_strides_beyond_32_bits(cuda, room):
    """Two columns four gibibytes apart."""
    room(6 * 2**30)
    x = es.View((2, 4), es.int8, layout=(2**32, 1), space=cuda)
    es.deep_copy(x, np.arange(8, dtype=np.int8).reshape(2, 4))
    total = es.parallel_reduce(
        es.MDRangePolicy((0, 0), (2, 4), space=cuda), lambda i, j, x: x[i, j] * (1 + i), x
    )
    assert total == 6 + 2 * 22
    assert staged.fetch(x).tolist() == [[0, 1, 2, 3], [4, 5, 6, 7]]


# -- ranges -------------------------------------------------------------------------------------


@es.kernel
def place2(i, j, A):
    A[i, j] = A[i, j] + 1000 * i + j


@es.kernel
def place3(i, j, k, A):
    A[i, j, k] = A[i, j, k] + 1000 * i + 10 * j + k


SHAPES = [
    (1, 70_000), (70_000, 1), (70_000, 3), (65_536, 2), (3, 70_000, 2), (70_000, 3, 2),
    (2, 3, 70_000), (1, 1, 70_000), (65_537, 1, 1),
]  # fmt: skip


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("iterate", ["left", "right"])
def test_extents_beyond_65535_in_every_dimension(cuda, shape, iterate):
    A = es.View(shape, es.int64, space=cuda)
    rank = len(shape)
    kernel, factors = ((place2, (1000, 1)), (place3, (1000, 10, 1)))[rank - 2]
    for options in ({}, {"tile": (32, 4, 2)[:rank]}):
        policy = es.MDRangePolicy((0,) * rank, shape, iterate=iterate, space=cuda, **options)
        es.parallel_for(policy, kernel, A)
    grid = np.indices(shape)
    expected = 2 * sum(f * g for f, g in zip(factors, grid, strict=True))
    np.testing.assert_array_equal(staged.fetch(A), expected)


@es.kernel
def mark2(i, j, found, last_i, last_j):
    if i == 0 and j == 0:
        found[0] += 1
    if i == last_i and j == last_j:
        found[1] += 1


@pytest.mark.parametrize("shape", [(1, 2**31 + 5), (2**31 + 5, 1), (3, 2**31)], ids=str)
def test_one_dimension_beyond_an_int32(cuda, shape):
    found = es.View(2, es.int64, space=cuda)
    policy = es.MDRangePolicy((0, 0), shape, space=cuda)
    es.parallel_for(policy, mark2, found, shape[0] - 1, shape[1] - 1)
    assert staged.fetch(found).tolist() == [1, 1]
    count = es.parallel_reduce(policy, lambda i, j: 1)
    assert count == shape[0] * shape[1]
    largest = es.parallel_reduce(policy, lambda i, j: i + j, reducer=es.Max)
    assert largest == shape[0] + shape[1] - 2


@pytest.mark.parametrize("lower", [FAR, -FAR, 2**62, -(2**31) - 5, 2**32 - 3])
def test_bounds_far_from_zero(cuda, lower):
    n = 1000
    x = es.View(n, es.int64, space=cuda)
    policy = es.RangePolicy(lower, lower + n, space=cuda)

    @es.kernel
    def shifted(i, x, lower):
        x[i - lower] = i

    def running(i, prefix, final, x, lower):
        if final:
            x[i - lower] = prefix
        return i - lower

    es.parallel_for(policy, shifted, x, lower)
    assert staged.fetch(x).tolist() == list(range(lower, lower + n))
    assert es.parallel_reduce(policy, lambda i, lower: i - lower, lower) == n * (n - 1) // 2
    assert es.parallel_reduce(policy, lambda i: i, reducer=es.MinMax) == (lower, lower + n - 1)
    assert es.parallel_scan(policy, running, x, lower) == n * (n - 1) // 2
    assert staged.fetch(x).tolist() == [k * (k - 1) // 2 for k in range(n)]
    both = es.MDRangePolicy((lower, -FAR), (lower + 10, -FAR + 100), space=cuda)
    es.parallel_for(both, lambda i, j, x, a, b: shift2(i - a, j - b, x), x, lower, -FAR)
    assert staged.fetch(x).tolist() == list(range(n))


@es.function
def shift2(i, j, x):
    x[100 * i + j] = 100 * i + j


# -- more units than 32 bits number -------------------------------------------------------------

MANY = 2**32 + 5


@es.kernel
def every_billion(i, found):
    if i % 2**30 == 1:
        found[i // 2**30] += i


def test_more_than_2_to_the_32_units(cuda):
    found = es.View(5, es.int64, space=cuda)
    policy = es.RangePolicy(MANY, space=cuda)
    es.parallel_for(policy, every_billion, found)
    assert staged.fetch(found).tolist() == [k * 2**30 + 1 for k in range(5)]
    assert es.parallel_reduce(policy, lambda i: 1) == MANY
    assert es.parallel_reduce(policy, lambda i: i, reducer=es.Max) == MANY - 1
    assert es.parallel_reduce(policy, lambda i: i % 5) == MANY // 5 * 10 + sum(range(MANY % 5))
    # The same plans for a small range again.
    es.parallel_for(es.RangePolicy(10, space=cuda), every_billion, found)
    assert staged.fetch(found)[0] == 2
    assert es.parallel_reduce(es.RangePolicy(10, space=cuda), lambda i: 1) == 10


@pytest.mark.slow
def test_a_scan_of_more_than_2_to_the_32_units(cuda):
    found = es.View(5, es.int64, space=cuda)

    def running(i, prefix, final, found):
        if final and i % 2**30 == 1:
            found[i // 2**30] = prefix
        return 2

    total = es.parallel_scan(es.RangePolicy(MANY, space=cuda), running, found)
    assert total == 2 * MANY
    assert staged.fetch(found).tolist() == [2 * (k * 2**30 + 1) for k in range(5)]


@pytest.mark.slow
def test_atomic_sums_of_more_than_2_to_the_32_units(cuda):
    n = 1 << 20
    counts = es.View(n, es.int64, space=cuda)
    es.parallel_for(
        es.RangePolicy(MANY, space=cuda), lambda i, x: es.atomic_add(x, i % 2**20, 1), counts
    )
    assert staged.fetch(counts).tolist() == [4097] * 5 + [4096] * (n - 5)


@pytest.mark.slow
@pytest.mark.parametrize("units", [2**38 + 1, 2**39 + 1])
def test_more_units_than_a_grid_has_threads(cuda, units):
    """A grid has less than 2^31 blocks."""
    found = es.View(2, es.int64, space=cuda)

    @es.kernel
    def ends(i, found, last):
        if i == 0:
            found[0] += 1
        if i == last:
            found[1] += i

    es.parallel_for(es.RangePolicy(units, space=cuda), ends, found, units - 1)
    assert staged.fetch(found).tolist() == [1, units - 1]
    assert es.parallel_reduce(es.RangePolicy(units, space=cuda), lambda i: 1) == units
