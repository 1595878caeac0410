"""Ranges of rank 2 and more: blocks at edges, limits of the device, bounds beyond 32 bits.

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
    """Also in thin ranges, to which blocks are fitted, and across their edges."""
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


# -- tiles ----------------------------------------------------------------------------------------


def test_a_tile_is_the_shape_of_a_block(cuda):
    B = np.random.default_rng(4).integers(-9, 9, (70, 90)).astype(float)
    view, out = on_device(cuda, B, "right"), es.View(B.shape, space=cuda, layout="right")
    policy = es.MDRangePolicy((1, 1), (69, 89), tile=(32, 32), space=cuda)  # of 1024 threads
    told = es.explain(policy, five_points, out, view)
    assert told.mapping[0].startswith("blocks of 32 x 32 x 1 threads (x: dimension 1")
    es.parallel_for(policy, five_points, out, view)
    np.testing.assert_array_equal(fetched(out)[1:-1, 1:-1], sums_of_neighbours(B))


@pytest.mark.parametrize(
    ("tile", "most", "parts", "block"),
    [
        ((1, 64, 32), "1024 threads", 2, "32 x 32 x 1"),
        ((128, 1, 1), "64 threads along z", 2, "1 x 1 x 49"),  # of 97 that have work
    ],
)
def test_a_tile_beyond_what_a_block_can_be_is_done_in_parts(cuda, tile, most, parts, block):
    B = np.random.default_rng(5).integers(-9, 9, (99, 99, 99)).astype(float)
    view, out = on_device(cuda, B, "right"), es.View(B.shape, space=cuda, layout="right")
    policy = es.MDRangePolicy((1, 1, 1), (98, 98, 98), tile=tile, space=cuda)
    assert es.explain(policy, seven_points, out, view).mapping[1] == (
        f"tile {tile} has {np.prod(tile)} elements, one for each thread of a block, and a block "
        f"here has at most {most} (limit of the device): it is done in {parts} parts, by blocks of "
        f"{block} threads"
    )
    es.parallel_for(policy, seven_points, out, view)
    np.testing.assert_array_equal(fetched(out)[1:-1, 1:-1, 1:-1], sums_of_neighbours(B))


def test_launch_bounds_let_the_compiler_use_more_registers(cuda):
    """They are in the text, and what a block of the launch is."""
    A, B = (es.View((99, 99), space=cuda, layout="right") for _ in range(2))
    policy = es.MDRangePolicy((1, 1), (98, 98), launch_bounds=64, space=cuda)
    told = es.explain(policy, five_points, A, B)
    assert "_ES_KERNEL(64) es_for(" in told.source
    assert told.resource_usage["es_for"]["threads"] == 64
    es.parallel_for(policy, five_points, A, B)
    es.fence()


def test_a_grid_that_needs_a_stride_says_so(cuda):
    A, B = (es.View((70_003, 8), space=cuda, layout="right") for _ in range(2))
    policy = es.MDRangePolicy((1, 1), (70_002, 7), tile=(1, 8), space=cuda)
    assert "with the stride of the grid" in es.explain(policy, five_points, A, B).mapping[-1]


def test_a_new_shape_compiles_nothing(cuda):
    kernel = es.kernel(five_points)
    for n in (40, 41, 300, 1000):
        A, B = (es.View((n, n + 3), space=cuda, layout="right") for _ in range(2))
        es.parallel_for(es.MDRangePolicy((1, 1), (n - 1, n + 2), space=cuda), kernel, A, B)
    (plan,) = kernel.plans.values()
    assert len(plan.device_launch.programs) == 1
