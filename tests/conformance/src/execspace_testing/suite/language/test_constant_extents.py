"""Extents that are constants where a kernel is compiled: of Views, parts and local arrays."""

import numpy as np
import pytest

import execspace as es
from execspace_testing import staged

N = 7


@es.function
def common(a, b):
    """The extent of both, the one that is a constant if there is one."""
    return b.extent(0) if a.static_extent(0) == 0 else a.extent(0)


def test_a_kernel_knows_which_extents_are_constants(space):
    def kernel(i, out, A, n: es.static):
        t = es.local((n, 2), es.int32)
        u = es.local(common(t, A), es.int32)  # which must be one
        out[i] = 1000 * t.static_extent(0) + 100 * A.static_extent(0) + 10 * A.static_extent(1)
        out[i] += A[i, :].static_extent(0) + len(u)

    A = es.View((N, es.static(3)), space=space)
    out = np.zeros(N)
    staged.parallel_for(es.RangePolicy(N, space=space), kernel, out, A, 4)
    assert out.tolist() == [4000 + 30 + 3 + 4] * N


def test_a_static_extent_shapes_a_local_array(space):
    def kernel(i, out, n: es.static):
        t = es.local(n, es.int32)
        for k in range(n):
            t[k] = i * k
        total = 0
        for k in range(len(t)):
            total += t[k]
        out[i] = total

    for n in (1, 4):
        out = np.zeros(N)
        staged.parallel_for(es.RangePolicy(N, space=space), kernel, out, n)
        assert out.tolist() == [i * n * (n - 1) // 2 for i in range(N)]


def test_static_extents_are_constants_of_the_kernel(space):
    """`A.extent(1)` can be the shape of a private array; with a run-time extent it cannot."""

    def reverse(i, A):
        row = es.local(A.extent(1))
        for j in range(A.extent(1)):
            row[j] = A[i, j]
        for j in range(A.extent(1)):
            A[i, j] = row[A.extent(1) - 1 - j]

    policy = es.RangePolicy(4, space=space)
    A = es.View((4, es.static(3)), label="A", space=space)
    es.deep_copy(A, np.arange(12.0).reshape(4, 3))
    staged.parallel_for(policy, reverse, A)
    assert np.array_equal(staged.fetch(A), np.arange(12.0).reshape(4, 3)[:, ::-1])
    staged.parallel_for(policy, reverse, A[:, ::-1])  # keeps the whole dimension, so its extent
    assert np.array_equal(staged.fetch(A), np.arange(12.0).reshape(4, 3))
    with pytest.raises(es.KernelTypeError, match=r"es\.local needs a shape of constant"):
        staged.parallel_for(policy, reverse, es.View((4, 3), space=space))


@es.function
def extents(A):
    """10 times the number of rows and that of columns, 0 for those that are no constants."""
    return 10 * A.static_extent(0) + A.static_extent(1)


@es.function
def of_a_part(A):
    return extents(A[1:, :])


def test_parts_have_constant_extents_in_functions(space):
    """Those of a dimension that is taken whole, or between constants."""

    def kernel(i, out, A, x):
        t = es.local((4, 5), es.int32)
        part = A[i, :, 1:]
        out[i] = extents(A[i, :, :])
        x[i, 0] = extents(part)
        x[i, 1] = extents(A[i, : i + 1, :])
        x[i, 2] = of_a_part(A[i, :, :])
        x[i, 3] = extents(t[:, :3])
        part = A[i, :2, 1:]
        x[i, 4] = extents(part)
        x[i, 5] = part.extent(0)

    A = es.View((N, es.static(3), es.static(4)), space=space)
    x = es.zeros((N, 6), space=space)
    out = np.zeros(N)
    staged.parallel_for(es.RangePolicy(N, space=space), kernel, out, A, x)
    assert out.tolist() == [34] * N
    assert staged.fetch(x)[0].tolist() == [3, 4, 24, 43, 3, 2], "one name, two parts"
