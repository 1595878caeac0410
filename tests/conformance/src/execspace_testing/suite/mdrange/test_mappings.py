"""However a space goes through a range of several dimensions, each call is made once.

Devices walk stencils and transposes in blocks, give several calls to a thread where the policy
asks for it, and number the calls of whole contiguous Views; hosts run loops or tiles. None of it
may be seen in a result.
"""

from __future__ import annotations

import numpy as np
import pytest

import execspace as es
from execspace_testing import staged
from execspace_testing.sizes import fitting


@es.kernel
def five_points(i, j, A, B):
    A[i, j] = B[i + 1, j] + B[i - 1, j] + B[i, j + 1] + B[i, j - 1] - 4 * B[i, j]


@es.kernel
def nine_points(i, j, k, p, A, B):
    A[i, j, k, p] = (
        B[i + 1, j, k, p] + B[i - 1, j, k, p] + B[i, j + 1, k, p] + B[i, j - 1, k, p]
        + B[i, j, k + 1, p] + B[i, j, k - 1, p] + B[i, j, k, p + 1] + B[i, j, k, p - 1]
        - 8 * B[i, j, k, p]
    )  # fmt: skip


@es.kernel
def transposed(i, j, A, B):
    A[i, j] = B[j, i]


@es.kernel
def added(i, j, k, s, A, B):
    A[i, j, k] += s * B[i, j, k]


@es.kernel
def product(i, j, k, A, B):
    return A[i, j, k] * B[i, j, k]


@es.kernel
def tenfold(i, A):
    A[i] *= 10


@es.kernel
def places(i, j, k, prefix, final, A):
    if final:
        A[i, j, k] = prefix
    return 1


def numbers(shape, seed=0):
    """Small integers, whose sums are exact in any order."""
    return np.random.default_rng(seed).integers(-9, 10, shape).astype(float)


def neighbours(B):
    """What the stencils compute, by NumPy; zero on the border."""
    inner = (slice(1, -1),) * B.ndim
    found = np.zeros(B.shape)
    found[inner] = -2.0 * B.ndim * B[inner]
    for d in range(B.ndim):
        for shift in (0, 2):
            part = list(inner)
            part[d] = slice(shift, B.shape[d] - 2 + shift)
            found[inner] += B[tuple(part)]
    return found


def view_of(space, array, layout):
    """A View of the space with the elements of an array."""
    view = es.View(array.shape, array.dtype, space=space, layout=layout)
    es.deep_copy(view, np.array(array, order="F" if layout == "left" else "C"))
    return view


def stencil(space, kernel, shape, layout, **options):
    B = numbers(shape)
    b, a = view_of(space, B, layout), view_of(space, np.zeros(shape), layout)
    upper = tuple(n - 1 for n in shape)
    policy = es.MDRangePolicy((1,) * len(shape), upper, space=space, **options)
    es.parallel_for(policy, kernel, a, b)
    np.testing.assert_array_equal(staged.fetch(a), neighbours(B))


@pytest.mark.parametrize("layout", ["right", "left"])
def test_stencils_of_any_extents(space, layout):
    """Rows shorter and longer than a block, and blocks that the range cuts."""
    for shape in [(3, 3), (66, 6), (67, 131), (5, 300), (300, 5)]:
        stencil(space, five_points, shape, layout)
    for shape in [(3, 4, 5, 70), (70, 5, 4, 3), (6, 6, 6, 6)]:
        stencil(space, nine_points, shape, layout)


def test_a_stencil_over_no_points(space):
    a = es.View((5, 5), space=space)
    es.parallel_for(es.MDRangePolicy((1, 3), (4, 3), space=space), five_points, a, a)
    assert not staged.fetch(a).any()


@pytest.mark.parametrize(
    "options",
    [
        {"items_per_thread": 2},
        {"items_per_thread": (3, 2)},
        {"tile": (8, 4), "items_per_thread": (1, 4)},
        {"tile": (4, 8), "iterate": "left"},
        {"tile": "kokkos-2026", "iterate": "right"},
        {"launch_bounds": 32},
    ],
    ids=str,
)
def test_options_change_no_result(space, options):
    """What is a block of threads on one space is part of a loop on another."""
    stencil(space, five_points, (41, 77), "right", **options)


@pytest.mark.parametrize("iterate", ["left", "right"])
def test_more_tiles_than_a_grid_has_blocks(space, iterate):
    """Devices have at most 65535 blocks along all but one dimension of a grid."""
    shape = (2, fitting(space, 70_001, 70), 1)
    B = numbers(shape)
    a, b = view_of(space, np.zeros(shape), "right"), view_of(space, B, "right")
    policy = es.MDRangePolicy(shape, tile=(1, 1, 1), iterate=iterate, space=space)
    es.parallel_for(policy, added, 2.0, a, b)
    np.testing.assert_array_equal(staged.fetch(a), 2 * B)


def test_calls_of_a_thread_in_one_dimension(space):
    a = view_of(space, np.arange(37.0), "right")
    for policy in (
        es.MDRangePolicy((2,), (35,), items_per_thread=4, space=space),
        es.MDRangePolicy((0,), (2,), tile=(16,), space=space),
    ):
        es.parallel_for(policy, tenfold, a)
    expected = np.arange(37.0)
    expected[:35] *= 10
    np.testing.assert_array_equal(staged.fetch(a), expected)


@pytest.mark.parametrize("layouts", [("right", "right"), ("left", "left"), ("left", "right")])
def test_transposes(space, layouts):
    for shape in [(70, 33), (1, 5), (40, 40)]:
        B = numbers(shape[::-1])
        a, b = view_of(space, np.zeros(shape), layouts[0]), view_of(space, B, layouts[1])
        es.parallel_for(es.MDRangePolicy(shape, space=space), transposed, a, b)
        np.testing.assert_array_equal(staged.fetch(a), B.T)


@pytest.mark.parametrize("layout", ["right", "left"])
def test_whole_views_and_parts_of_them(space, layout):
    """Views that lie in memory as calls are numbered, one that does not, and other bounds."""
    shape = (6, 5, 7)
    A, B = numbers(shape, 1), numbers((8, 5, 7), 2)
    a, b = view_of(space, A, layout), view_of(space, B, layout)
    whole = es.MDRangePolicy(shape, space=space)
    es.parallel_for(whole, added, 2.0, a, b)  # of layout left only the strides of `b` differ
    A += 2 * B[:6]
    assert es.parallel_reduce(whole, product, a, b) == (A * B[:6]).sum()
    inner = es.MDRangePolicy((1, 0, 2), (6, 5, 6), space=space)
    es.parallel_for(inner, added, 3.0, a, b)
    A[1:, :, 2:6] += 3 * B[1:6, :, 2:6]
    assert es.parallel_reduce(inner, product, a, b) == (A * B[:6])[1:, :, 2:6].sum()
    part = es.MDRangePolicy((5, 5, 3), space=space)
    es.parallel_for(part, added, 4.0, a[1:, :, ::2][:5, :, :3], b[:5, :, 1:4])
    A[1:6, :, ::2][:5, :, :3] += 4 * B[:5, :, 1:4]
    np.testing.assert_array_equal(staged.fetch(a), A)
    assert es.parallel_reduce(whole, product, a, a) == (A * A).sum()


@pytest.mark.parametrize("iterate", ["right", "left"])
def test_scans_number_the_calls_in_the_order_of_the_dimensions(space, iterate):
    shape = (4, 3, 5)
    a = es.View(shape, es.int64, space=space)
    policy = es.MDRangePolicy(shape, iterate=iterate, space=space)
    assert es.parallel_scan(policy, places, a) == 60
    order = "C" if iterate == "right" else "F"
    np.testing.assert_array_equal(staged.fetch(a), np.arange(60).reshape(shape, order=order))


def test_reductions_and_scans_take_no_calls_per_thread(space):
    a = es.View((3, 3, 3), space=space)
    policy = es.MDRangePolicy((3, 3, 3), items_per_thread=2, space=space)
    with pytest.raises(es.PolicyError, match="items_per_thread is an option of parallel_for"):
        es.parallel_reduce(policy, product, a, a)
    with pytest.raises(es.PolicyError, match="items_per_thread is an option of parallel_for"):
        es.parallel_scan(policy, places, a)


def test_launch_bounds_of_a_range_and_of_a_reduction(space):
    a = view_of(space, np.arange(1000.0), "right")
    es.parallel_for(es.RangePolicy(1000, launch_bounds=64, space=space), tenfold, a)
    np.testing.assert_array_equal(staged.fetch(a), 10 * np.arange(1000.0))
    b = view_of(space, numbers((4, 5, 6)), "right")
    policy = es.MDRangePolicy((4, 5, 6), launch_bounds=64, space=space)
    assert es.parallel_reduce(policy, product, b, b) == (staged.fetch(b) ** 2).sum()


def test_explain_says_how_a_range_is_done(space):
    a = es.View((20, 20), space=space)
    told = es.explain(es.MDRangePolicy((1, 1), (19, 19), space=space), five_points, a, a)
    if not told.mapping:
        pytest.skip(f"space '{space.name}' does not say how it goes through a range")
    assert all(line.strip() == line and line for line in told.mapping)
    assert told.mapping[0] in str(told)


@pytest.mark.parametrize("name", ["items_per_thread", "iterate"])
def test_explain_names_options(space, name):
    """Whether a space heeds one or not."""
    a = es.View((20, 20), space=space)
    options = {"items_per_thread": 2, "iterate": ("left", "right")}
    policy = es.MDRangePolicy((1, 1), (19, 19), space=space, **options)
    told = es.explain(policy, five_points, a, a).mapping
    if not told:
        pytest.skip(f"space '{space.name}' does not say how it goes through a range")
    assert any(name in line for line in told), told


@es.kernel
def mark(i, j, a):
    a[0, 0] = 1.0


@pytest.mark.parametrize("shape", [(0, 2**40), (2**40, 0), (2**20, 0, 2**30)], ids=str)
def test_an_empty_range_may_be_long(space, shape):
    a = es.View((1, 1), space=space)
    policy = es.MDRangePolicy(shape, space=space)
    if len(shape) == 2:
        es.parallel_for(policy, mark, a)
        assert es.parallel_reduce(policy, lambda i, j: i + j) == 0
        assert es.parallel_scan(policy, lambda i, j, before, final: i + j) == 0
    else:
        assert es.parallel_reduce(policy, lambda i, j, k: i + j + k) == 0
    assert not staged.fetch(a).any()
