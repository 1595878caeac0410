"""Ranges of rank 2 and more: blocks at edges, thin ranges, bounds and Views beyond 32 bits.

Places are computed in 32 bits where they fit, divisions by extents are multiplications, and
stencils go through their range in blocks. Each has a limit beyond which another text runs.
"""

from __future__ import annotations

import numpy as np
import pytest

import execspace as es


def five_points(i, j, A, B):
    A[i, j] = B[i + 1, j] + B[i - 1, j] + B[i, j + 1] + B[i, j - 1] - 4 * B[i, j]


def seven_points(i, j, k, A, B):
    A[i, j, k] = (
        B[i + 1, j, k] + B[i - 1, j, k] + B[i, j + 1, k] + B[i, j - 1, k]
        + B[i, j, k + 1] + B[i, j, k - 1] - 6 * B[i, j, k]
    )  # fmt: skip


def sums_of_neighbours(B):
    """What the kernels compute, by NumPy, on the inner points."""
    inner = (slice(1, -1),) * B.ndim
    found = -2.0 * B.ndim * B[inner]
    for d in range(B.ndim):
        for shift in (0, 2):
            part = list(inner)
            part[d] = slice(shift, B.shape[d] - 2 + shift)
            found = found + B[tuple(part)]
    return found


def on_device(cuda, array, layout):
    view = es.View(array.shape, array.dtype, space=cuda, layout=layout)
    es.deep_copy(view, array)
    return view


def fetched(view):
    array = np.empty(view.shape, view.dtype)
    es.deep_copy(array, view)
    return array


SHAPES = [(3, 3), (66, 6), (67, 131), (200, 65), (5000, 3), (3, 5000), (1000, 4)]


@pytest.mark.parametrize("layout", ["right", "left"])
@pytest.mark.parametrize("shape", SHAPES)
def test_stencils_of_rank_2(cuda, shape, layout):
    """Thin ranges, which blocks do not fit, are walked flat: the result is the same."""
    B = np.random.default_rng(1).integers(-9, 9, shape).astype(float)
    view, out = on_device(cuda, B, layout), es.View(shape, space=cuda, layout=layout)
    policy = es.MDRangePolicy((1, 1), (shape[0] - 1, shape[1] - 1), space=cuda)
    es.parallel_for(policy, five_points, out, view)
    expected = np.zeros(shape)
    expected[1:-1, 1:-1] = sums_of_neighbours(B)
    np.testing.assert_array_equal(fetched(out), expected)


@pytest.mark.parametrize("layout", ["right", "left"])
@pytest.mark.parametrize("shape", [(3, 3, 3), (20, 30, 70), (70, 20, 5), (130, 5, 66)])
def test_stencils_of_rank_3(cuda, shape, layout):
    B = np.random.default_rng(2).integers(-9, 9, shape).astype(float)
    view, out = on_device(cuda, B, layout), es.View(shape, space=cuda, layout=layout)
    policy = es.MDRangePolicy((1, 1, 1), tuple(n - 1 for n in shape), space=cuda)
    es.parallel_for(policy, seven_points, out, view)
    expected = np.zeros(shape)
    expected[1:-1, 1:-1, 1:-1] = sums_of_neighbours(B)
    np.testing.assert_array_equal(fetched(out), expected)


def test_a_stencil_over_parts_that_run_backwards(cuda):
    B = np.random.default_rng(3).integers(-9, 9, (80, 90)).astype(float)
    view, out = on_device(cuda, B, "right"), es.View(B.shape, space=cuda, layout="right")
    policy = es.MDRangePolicy((1, 1), (79, 89), space=cuda)
    es.parallel_for(policy, five_points, out[::-1, ::-1], view[::-1, ::-1])
    np.testing.assert_array_equal(fetched(out)[1:-1, 1:-1], sums_of_neighbours(B))


def count(i, j, first, second, total):
    es.atomic_add(total, 0, 1)
    es.atomic_add(first, 0, i)
    es.atomic_add(second, 0, j)


@pytest.mark.parametrize(
    "lower",
    [(0, 0), (-7, -9), (2**31 - 5, 0), (0, 2**31 - 3), (2**33, -(2**34)), (-(2**31) - 4, 5)],
)
def test_bounds_may_be_anywhere(cuda, lower):
    """Indices are of 64 bits for the kernel, wherever the range lies."""
    extents = (10, 7)
    sums = [es.View(1, es.int64, space=cuda) for _ in range(3)]
    upper = tuple(a + n for a, n in zip(lower, extents, strict=True))
    es.parallel_for(es.MDRangePolicy(lower, upper, space=cuda), count, *sums)
    first, second, total = (int(fetched(s)[0]) for s in sums)
    assert total == 70
    assert first == 7 * sum(range(lower[0], upper[0]))
    assert second == 10 * sum(range(lower[1], upper[1]))


def mark(i, j, A):
    A[i, j] = (i * 7 + j * 3) % 101


def differs(i, j, A):
    return A[i, j] != (i * 7 + j * 3) % 101


@pytest.mark.slow
@pytest.mark.parametrize("layout", ["right", "left"])
def test_views_of_more_than_two_to_the_31_elements(cuda, layout):
    """A part of such a View is small again, if its own elements lie together or not."""
    shape = (50_000, 60_000)  # 3 GB of bytes, 3e9 places
    A = es.View(shape, es.int8, space=cuda, layout=layout)
    whole = es.MDRangePolicy((0, 0), shape, space=cuda)
    es.parallel_for(whole, mark, A)
    assert es.parallel_reduce(whole, differs, A) == 0
    part = A[49_000:, 59_000:]
    es.deep_copy(part, 0)
    inner = es.MDRangePolicy((0, 0), part.shape, space=cuda)
    es.parallel_for(inner, mark, part)
    assert es.parallel_reduce(inner, differs, part) == 0
    assert (
        es.parallel_reduce(es.MDRangePolicy((0, 0), (49_000, 59_000), space=cuda), differs, A) == 0
    )


def six(i, j, k, p, q, r, A):
    A[i, j, k, p, q, r] = ((((i * 10 + j) * 10 + k) * 10 + p) * 10 + q) * 10 + r


def test_all_indices_of_rank_6(cuda):
    shape = (3, 1, 5, 2, 7, 4)
    for layout in ("right", "left"):
        A = es.View(shape, es.int64, space=cuda, layout=layout)
        es.parallel_for(es.MDRangePolicy((0,) * 6, shape, space=cuda), six, A)
        i, j, k, p, q, r = np.indices(shape)
        expected = ((((i * 10 + j) * 10 + k) * 10 + p) * 10 + q) * 10 + r
        np.testing.assert_array_equal(fetched(A), expected)
