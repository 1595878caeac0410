"""Assertions that fail under the dynamic schedule, whichever thread took the chunk."""

from __future__ import annotations

import numpy as np
import pytest

import execspace as es
from execspace_testing import staged
from execspace_testing.sizes import fitting, interpreted


def dynamic(space, *bounds, chunk=None):
    return es.RangePolicy(*bounds, schedule="dynamic", chunk_size=chunk, space=space)


@pytest.mark.parametrize("chunk", [None, 1, 7, 10**6])
@pytest.mark.parametrize("wrong", [0, 1234, 19_999])
def test_an_assertion_that_fails_is_reported(space, chunk, wrong):
    n = fitting(space, 20_000)
    wrong = min(wrong, n - 1)
    x, y = np.ones(n), np.zeros(n)
    x[wrong] = -1.0

    @es.kernel
    def checked(i, x, y):
        assert x[i] > 0, "not positive"
        y[i] = 2 * x[i]

    policy = dynamic(space, n, chunk=chunk)
    with pytest.raises(es.KernelAssertionError, match="not positive") as caught:
        staged.parallel_for(policy, checked, x, y)
    assert f"in kernel 'checked' at index {wrong}" in str(caught.value)
    assert y[wrong] == 0
    if not interpreted(space):  # which stops at once
        assert y.sum() == 2 * (n - 1)
    x[wrong] = 1.0
    staged.parallel_for(policy, checked, x, y)  # nothing of the failure is left
    assert y.sum() == 2 * n


def test_an_assertion_in_a_reduction(space):
    n = fitting(space, 20_000)
    wrong = n - 2

    @es.kernel
    def checked(i, least):
        assert i != least, "this one"
        return i

    for chunk in (None, 7):
        policy = dynamic(space, n, chunk=chunk)
        with pytest.raises(es.KernelAssertionError, match="this one") as caught:
            es.parallel_reduce(policy, checked, wrong)
        assert f"at index {wrong}" in str(caught.value)
        assert es.parallel_reduce(policy, checked, -1) == n * (n - 1) // 2
