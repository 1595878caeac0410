"""out= takes NumPy arrays and Views of the host, from any space; the launch then has the result."""

from __future__ import annotations

import numpy as np
import pytest

import execspace as es


@pytest.mark.parametrize("kind", ["i4", "i8", "u8", "f4", "f8", "c16"])
def test_a_result_in_an_array(space, kind):
    x = es.array(np.arange(10).astype(kind), space=space)
    out = np.zeros((), np.result_type(kind, np.int64) if kind[0] in "iu" else kind)
    reducer = es.Sum(dtype=out.dtype)
    policy = es.RangePolicy(10, space=space)
    es.parallel_reduce(policy, lambda i, x: x[i], x, reducer=reducer, out=out)
    assert out[()] == 45
    host = es.View((), out.dtype, memory=es.HOST)
    es.parallel_reduce(policy, lambda i, x: x[i], x, reducer=reducer, out=host)
    assert host[()] == 45


def test_results_in_several_arrays(space):
    x = es.array([3.0, -1.0, 2.0], space=space)
    low, high = np.zeros(()), es.View((), memory=es.HOST)
    policy = es.RangePolicy(3, space=space)
    es.parallel_reduce(policy, lambda i, x: (x[i], x[i]), x, reducer=(es.Min, es.Max),
                       out=(low, high))  # fmt: skip
    assert (low[()], high[()]) == (-1.0, 3.0)


def test_an_array_reduction_into_a_part_of_an_array(space):
    bins = np.full((2, 3), 9, np.int64)
    es.parallel_reduce(es.RangePolicy(10, space=space), into, reducer=es.Sum(es.int64, shape=3),
                       out=bins[1])  # fmt: skip
    assert bins.tolist() == [[9, 9, 9], [4, 3, 3]]


@es.kernel
def into(i, mine):
    mine[i % 3] += 1


def test_the_total_of_a_scan_in_an_array(space):
    x = es.arange(5, space=space)
    sums = es.zeros_like(x)
    total = np.zeros((), np.int64)
    es.parallel_scan(es.RangePolicy(5, space=space), running, x, sums, out=total)
    assert total[()] == 10
    assert sums.to_numpy().tolist() == [0, 1, 3, 6, 10]


@es.kernel
def running(i, prefix, final, x, sums):
    if final:
        sums[i] = prefix + x[i]
    return x[i]


def test_inputs_and_results_are_arrays(space):
    x, out = np.arange(6.0), np.zeros(())
    es.parallel_reduce(es.RangePolicy(6, space=space), lambda i, x: x[i] * x[i], es.In(x), out=out)
    assert out[()] == 55


def test_a_read_only_array_takes_no_result(space):
    out = np.broadcast_to(0.0, ())
    with pytest.raises(es.LaunchError, match="expected a writable View or array"):
        es.parallel_reduce(es.RangePolicy(3, space=space), lambda i: i, out=out)
