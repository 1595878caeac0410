"""Loads and stores of vectors: contiguous, with strides, masked, by indices, of other types."""

from __future__ import annotations

import numpy as np
import pytest

import execspace as es
from execspace_testing import staged

WIDTHS = (1, 2, 8)


def run(space, kernel, *args, n=1):
    staged.parallel_for(es.RangePolicy(n, space=space), kernel, *args)


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "int64", "uint32", "uint64"])
def test_loads_and_stores_at_any_index(space, dtype, width):
    T = es.simd(dtype, width)

    @es.kernel
    def kernel(i, out, a):
        T.load(a, i).store(out[i, :], i)

    a = np.arange(1, 20).astype(dtype)
    out = np.zeros((9, 19), dtype)
    run(space, kernel, out, a, n=9)
    right = np.zeros_like(out)
    for i in range(9):
        right[i, i : i + width] = a[i : i + width]
    np.testing.assert_array_equal(out, right)


def test_constant_indices(space):
    T = es.simd("float64", 2)

    @es.kernel
    def kernel(i, out, a):
        T.load(a, 3).store(out, 1)
        T(5).store(out, a.size - 2)

    a, out = np.arange(8.0), np.zeros(8)
    run(space, kernel, out, a)
    np.testing.assert_array_equal(out, [0, 3, 4, 0, 0, 0, 5, 5])


def test_rows_columns_and_strides(space):
    T = es.simd("float64", 4)

    @es.kernel
    def kernel(i, out, a):
        T.load(a[i, :], 1).store(out[0, :], 4 * i)
        T.load(a[:, i], 2).store(out[1, :], 4 * i)
        T.load(a[i, ::2], 0).store(out[2, :], 4 * i)
        T.load(a[i, 5:], 0).store(out[3, :], 4 * i)
        T.load(a[i, ::-1], 1).store(out[4, :], 4 * i)

    a = np.arange(80.0).reshape(8, 10)
    out = np.zeros((5, 12))
    run(space, kernel, out, a, n=3)
    rows = [[a[i, 1:5], a[2:6, i], a[i, 0:8:2], a[i, 5:9], a[i, 8:4:-1]] for i in range(3)]
    np.testing.assert_array_equal(out, np.concatenate(rows, axis=1))


@pytest.mark.parametrize("layout", ["right", "left", "stride"])
def test_stores_to_parts_of_views(space, layout):
    T = es.simd("int32", 4)

    @es.kernel
    def kernel(i, out):
        (T.iota() + 10 * i).store(out[:, i], 1)
        T(7).store(out[i, :], 4)

    if layout == "stride":
        out = np.zeros((6, 20), np.int32)[:, ::2]
    else:
        out = np.zeros((6, 10), np.int32, order="C" if layout == "right" else "F")
    with es.use_space(space):
        staged.parallel_for(es.RangePolicy(3, space=space), kernel, out)
    right = np.zeros((6, 10), np.int32)
    for i in range(3):
        right[1:5, i] = np.arange(4) + 10 * i
        right[i, 4:8] = 7
    np.testing.assert_array_equal(out, right)


@pytest.mark.parametrize("dtype", ["float64", "int32"])
@pytest.mark.parametrize("width", WIDTHS)
def test_masked_loads_and_stores(space, dtype, width):
    """Other lanes are neither read nor written, so they need not exist."""
    T = es.simd(dtype, width)

    @es.kernel
    def kernel(i, out, a):
        at = i * T.width
        m = T.first(a.size - at)
        T.load(a, at, m).store(out[0, :], at)
        T.load(a, at, m, -3).store(out[1, :], at)
        T.load(a, at, mask=m, other=T.iota()).store(out[2, :], at)
        v = T.load(a, at, m)
        v.store(out[3, :], at, v > 4)
        (v + 1).store(out[4, :], at, mask=m & (v < 4))

    a = np.arange(11).astype(dtype)
    vectors = -(-11 // width)
    n = vectors * width
    out = np.full((5, n), 50, dtype)
    run(space, kernel, out, a, n=vectors)
    whole = np.zeros(n, dtype)
    whole[:11] = a
    there = np.arange(n) < 11
    lanes = np.tile(np.arange(width), vectors)
    right = [whole, np.where(there, whole, -3), np.where(there, whole, lanes),
             np.where(there & (whole > 4), whole, 50),
             np.where(there & (whole < 4), whole + 1, 50)]  # fmt: skip
    np.testing.assert_array_equal(out, np.stack(right).astype(dtype))


@pytest.mark.parametrize("index", ["int32", "int64", "uint32", "uint64"])
@pytest.mark.parametrize("width", WIDTHS)
def test_gather_and_scatter(space, index, width):
    T, J = es.simd("float64", width), es.simd(index, width)

    @es.kernel
    def kernel(i, out, a, order):
        j = J.load(order, i * J.width)
        v = T.gather(a, j)
        v.store(out[0, :], i * J.width)
        (2 * v).scatter(out[1, :], j)
        m = j % 2 == 0
        T.gather(a, j, m, 0.5).store(out[2, :], i * J.width)
        v.scatter(out[3, :], j, m)

    a = np.random.default_rng(1).normal(size=24)
    order = np.random.default_rng(2).permutation(24).astype(index)
    out = np.zeros((4, 24))
    run(space, kernel, out, a, order, n=24 // width)
    even = order % 2 == 0
    right = np.zeros((4, 24))
    right[0] = a[order]
    right[1] = 2 * a
    right[2] = np.where(even, a[order], 0.5)
    right[3] = np.where(np.arange(24) % 2 == 0, a, 0)
    np.testing.assert_array_equal(out, right)


def test_of_equal_indices_the_last_lane_stays(space):
    T, J = es.simd("int32", 4), es.simd("int32", 4)

    @es.kernel
    def kernel(i, out):
        T.iota().scatter(out, J.iota() // 2)

    out = np.zeros(3, np.int32)
    run(space, kernel, out)
    np.testing.assert_array_equal(out, [1, 3, 0])


def test_masks_in_memory(space):
    T = es.simd("float64", 8)

    @es.kernel
    def kernel(i, out, flags, a):
        v = T.load(a, 8 * i)
        (v > 0).store(flags, 8 * i)
        (v < 1).store(out, 8 * i)
        (v > 1).store(flags, 8 * i, v > 0.5)

    a = np.linspace(-1, 2, 24)
    flags, out = np.zeros(24, bool), np.zeros(24, np.float32)
    run(space, kernel, out, flags, a, n=3)
    np.testing.assert_array_equal(flags, np.where(a > 0.5, a > 1, a > 0))
    np.testing.assert_array_equal(out, (a < 1).astype(np.float32))


@pytest.mark.parametrize("dtype", ["int8", "uint16", "float16"])
def test_elements_of_narrow_types_are_converted(space, dtype):
    if dtype == "float16" and not space.capabilities.float16:
        pytest.skip("no float16")
    T = es.simd("float32", 4)

    @es.kernel
    def kernel(i, out, a):
        (T.load(a, 4 * i) * 2).store(out, 4 * i)

    a, out = np.arange(24).astype(dtype), np.zeros(24, dtype)
    run(space, kernel, out, a, n=6)
    np.testing.assert_array_equal(out, 2 * a)


def test_private_arrays(space):
    T = es.simd("float64", 4)

    @es.kernel
    def kernel(i, out, a):
        row = es.local(8, es.float64)
        T.load(a, 8 * i).store(row, 4)
        T.load(a, 8 * i + 4).store(row, 0)
        total = 0.0
        for k in range(8):
            total = 10.0 * total + row[k]
        out[i] = total

    a = np.tile([5.0, 6, 7, 8, 1, 2, 3, 4], 3)
    out = np.zeros(3)
    run(space, kernel, out, a, n=3)
    np.testing.assert_array_equal(out, [12345678.0] * 3)


def test_loads_see_stores_before_them(space):
    T = es.simd("float64", 4)

    @es.kernel
    def kernel(i, a):
        v = T.load(a, 0)
        (v + 1).store(a, 2)
        w = T.load(a, 1)
        v.store(a, 1)
        (w + T.load(a, 1)).store(a, 0)

    a = np.arange(8.0)
    run(space, kernel, a)
    right = np.arange(8.0)
    v = right[:4].copy()
    right[2:6] = v + 1
    w = right[1:5].copy()
    right[1:5] = v
    right[:4] = w + right[1:5]
    np.testing.assert_array_equal(a, right)


def test_teams_load_vectors(space):
    T = es.simd("float64", 4)

    @es.kernel(fma=False)
    def kernel(team, out, a):
        i = team.league_rank
        for k in es.TeamThreadRange(team, 3):
            v = T.load(a[i, :], 4 * k)
            (2 * v + T.iota()).store(out[i, :], 4 * k)

    if not isinstance(space, es.SupportsTeams):
        pytest.skip("no teams")
    a = np.random.default_rng(3).normal(size=(5, 12))
    for size in (1, 2):
        out = np.zeros((5, 12))
        policy = es.TeamPolicy(5, size, space=space)
        try:
            staged.parallel_for(policy, kernel, out, a)
        except es.PolicyError:
            continue
        np.testing.assert_array_equal(out, 2 * a + np.tile(np.arange(4), 3))


def test_vectors_across_barriers(space):
    T = es.simd("int64", 2)

    @es.kernel
    def kernel(team, out):
        v = T.iota() + 10 * team.team_rank
        team.barrier()
        v = v * 2
        team.barrier()
        v.store(out[team.league_rank, :], 2 * team.team_rank)

    if not isinstance(space, es.SupportsTeams):
        pytest.skip("no teams")
    for size in (1, 2):
        out = np.zeros((3, 2 * size), np.int64)
        try:
            staged.parallel_for(es.TeamPolicy(3, size, space=space), kernel, out)
        except es.PolicyError:
            continue
        ranks = np.repeat(np.arange(size), 2)
        np.testing.assert_array_equal(out, [2 * (np.tile([0, 1], size) + 10 * ranks)] * 3)
