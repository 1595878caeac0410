"""Kernels on rows, transposes and other shapes of Views, and on memory that the host shares."""

from __future__ import annotations

import numpy as np
import pytest

import execspace as es


@es.kernel
def double(j, row):
    row[j] *= 2


def test_a_row_and_a_column(space):
    a = np.arange(1.0, 13.0).reshape(3, 4)
    A = es.array(a, space=space, label="A")
    es.parallel_for(es.RangePolicy(4, space=space), double, A[1])
    es.parallel_for(es.RangePolicy(3, space=space), double, A[:, -1])
    a[1] *= 2
    a[:, -1] *= 2
    assert np.array_equal(A.to_numpy(), a)


def test_a_transpose_and_another_shape(space):
    a = np.arange(24).reshape(4, 6)
    A = es.array(a, space=space, layout="right", label="A")
    i, j = np.indices((6, 4))
    for B, b in [(A.T, a.T), (A.reshape(6, 4), a.reshape(6, 4)), (A[::-1].T, a[::-1].T)]:
        policy = es.MDRangePolicy(B.shape, space=space)
        total = es.parallel_reduce(policy, lambda i, j, B: (i + 1) * (j + 2) * B[i, j], B)
        assert total == ((i + 1) * (j + 2) * b).sum()


def test_shared_memory_is_read_and_written_by_both(space):
    if not any("shared" in memory.kinds for memory in space.memory_spaces):
        pytest.skip(f"space '{space.name}' has no shared memory")
    with es.use_memory("shared"):
        A = es.ones(100, space=space, label="A")
    assert A.memory_space.host_accessible
    es.fence()
    A[0] = 5
    es.parallel_for(es.RangePolicy(100, space=space), double, A)
    es.fence()
    assert np.asarray(A).tolist() == [10.0] + [2.0] * 99
