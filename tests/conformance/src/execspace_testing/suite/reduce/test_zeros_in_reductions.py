"""A sum begins with 0.0, so what adds nothing but -0.0 to it is 0.0: everywhere, as in CPython."""

from __future__ import annotations

import numpy as np
import pytest

import execspace as es
from execspace_testing import staged


def minus_zero(i, x):
    return x[i]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("n", [1, 2, 9, 100, 5000])
def test_sums_of_a_range(space, n, dtype):
    x = np.full(n, -0.0, dtype)
    total = staged.parallel_reduce(es.RangePolicy(n, space=space), minus_zero, x)
    assert total == 0.0
    assert not np.signbit(total)
