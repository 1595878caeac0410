"""Prefix sums begin with 0.0, so nothing but -0.0 has the prefix 0.0: as in CPython."""

from __future__ import annotations

import numpy as np
import pytest

import execspace as es
from execspace_testing import staged


def prefixes(i, prefix, final, x, before):
    if final:
        before[i] = prefix
    return x[i]


@pytest.mark.parametrize("n", [1, 2, 9, 100, 5000])
def test_prefixes_of_a_range(space, n):
    x, before = np.full(n, -0.0), np.full(n, np.nan)
    total = staged.parallel_scan(es.RangePolicy(n, space=space), prefixes, x, before)
    for value in (total, *before.tolist()):
        assert value == 0.0
        assert not np.signbit(value)
