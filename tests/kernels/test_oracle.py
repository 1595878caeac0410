"""The oracle, which other spaces are compared with: it agrees with CPython, and checks bounds."""

from __future__ import annotations

import numpy as np
import pytest

import execspace as es
from execspace_testing.suite.differential.compare import examine, run_plain


def test_random_programs_give_what_cpython_gives():
    examine("CPython", run_plain, 30, 1, plain=True)


def test_bounds_are_checked():
    A = np.zeros(4)
    message = "index 4 is out of bounds for dimension 0 of extent 4"
    with es.use_space("oracle"), pytest.raises(es.ViewIndexError, match=message):
        es.parallel_reduce(4, lambda i: A[i + 1])


def test_subviews_are_checked_against_their_own_extents():
    def kernel(i, x):
        x[1:3][2] = 1.0

    with es.use_space("oracle"), pytest.raises(es.ViewIndexError, match="index 2 is out of bounds"):
        es.parallel_for(1, kernel, np.zeros(8))
