"""Random kernels with assertions do what CPython does: which calls fail, and all that is stored."""

from __future__ import annotations

from random import Random

import pytest

from .asserting import check


@pytest.mark.parametrize("seed", range(8))
def test_assertions_fail_where_they_do_in_cpython(space, seed):
    check(space, Random(f"assertions {seed}"), 4)
