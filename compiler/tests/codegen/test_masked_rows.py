"""Rows of three and more dimensions end in a masked vector, where many addresses are stepped.

Then a row is one loop. Other kernels have a loop of single calls for the rest of a row, which is
faster than masks for narrow elements, for functions and for few accesses.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

import execspace as es
from execspace import LaunchSpec, ViewType
from execspace.contract.launch_spec import policy_spec
from execspace_compiler import lower_kernel
from execspace_compiler.host.launch_source import launch_module
from execspace_compiler.host.launcher import Launcher

FOLDED = '!{!"llvm.loop.vectorize.predicate.enable", i1 true}'


def seven(i, j, k, a, b):
    around = b[i - 1, j, k] + b[i + 1, j, k] + b[i, j - 1, k] + b[i, j + 1, k]
    a[i, j, k] = b[i, j, k] + 0.1 * (around + b[i, j, k - 1] + b[i, j, k + 1] - 6.0 * b[i, j, k])


def five(i, j, a, b):
    a[i, j] = b[i - 1, j] + b[i + 1, j] + b[i, j - 1] + b[i, j + 1] - 4.0 * b[i, j]


def copied(i, j, k, a, b):
    a[i, j, k] = b[i, j, k]


def with_a_function(i, j, k, a, b):
    around = b[i - 1, j, k] + b[i + 1, j, k] + b[i, j - 1, k] + b[i, j + 1, k]
    a[i, j, k] = math.exp(around + b[i, j, k - 1] + b[i, j, k + 1])


def text(kernel, dtype, masks):
    rank = kernel.__code__.co_argcount - 2
    view = ViewType(dtype, rank, "right", rank - 1, False, "host")
    policy = policy_spec("mdrange", rank, "auto", False, True, ())
    lowered = lower_kernel(es.Kernel(kernel), LaunchSpec("for", policy, (view, view)))
    return launch_module(lowered, tuple(range(rank)), Launcher("serial"), True, masks=masks).text


@pytest.mark.parametrize("dtype", ["float64", "float32", "int32"])
def test_where_many_addresses_are_stepped(dtype):
    assert FOLDED in text(seven, dtype, masks=True)
    assert FOLDED not in text(seven, dtype, masks=False)


@pytest.mark.parametrize(
    ("kernel", "dtype"),
    [
        (seven, "int8"), (seven, "float16"), (five, "float64"), (copied, "float64"),
        (with_a_function, "float64"),
    ],
)  # fmt: skip
def test_not_elsewhere(kernel, dtype):
    assert FOLDED not in text(kernel, dtype, masks=True)


@pytest.mark.parametrize("host", ["serial", "openmp"])
@pytest.mark.parametrize("extent", [3, 4, 9, 10, 11, 66])
@pytest.mark.parametrize("dtype", ["float64", "float32", "int32", "complex64"])
def test_every_length_of_a_row(host, extent, dtype):
    """What is beyond the end of a row is neither read into it nor changed."""
    shape = (6, 5, extent)
    given = (np.arange(np.prod(shape)) % 17).reshape(shape).astype(dtype)
    a, b = (es.View(shape, dtype, label=name, space=host) for name in "ab")
    es.deep_copy(a, -1)
    es.deep_copy(b, given)
    inner = es.MDRangePolicy((1, 1, 1), tuple(n - 1 for n in shape), space=host)
    es.parallel_for(inner, summed, a, b)
    expected = np.full(shape, -1, dtype)
    for i, j, k in np.ndindex(*(n - 2 for n in shape)):
        summed(i + 1, j + 1, k + 1, expected, given)
    np.testing.assert_array_equal(np.asarray(a), expected)


def summed(i, j, k, a, b):
    around = b[i - 1, j, k] + b[i + 1, j, k] + b[i, j - 1, k] + b[i, j + 1, k]
    a[i, j, k] = around + b[i, j, k - 1] + b[i, j, k + 1] + b[i, j, k]
