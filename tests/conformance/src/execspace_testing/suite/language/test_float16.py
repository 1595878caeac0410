"""Arithmetic in float16 is that of NumPy: computed in float32, and rounded once for each operator.

A quotient that is rounded before its floor is taken is another one. The reference is NumPy.
"""

from __future__ import annotations

import numpy as np
import pytest

import execspace as es
from execspace_testing import staged
from execspace_testing.sizes import needs_dtype


def quotients(a, b):
    return a / b, a // b, a % b, np.fmod(a, b), divmod(a, b)[0], divmod(a, b)[1]


def others(a, b):
    return a + b, a - b, a * b, a * b + a % b, a // b * b, a - b * b


@es.kernel
def divided(i, o, a, b):
    o[0, i], o[1, i], o[2, i], o[3, i], o[4, i], o[5, i] = quotients(a[i], b[i])


@es.kernel
def computed(i, o, a, b):
    o[0, i], o[1, i], o[2, i], o[3, i], o[4, i], o[5, i] = others(a[i], b[i])


def values():
    """Numbers of all sizes, next to limits and to ties, and what is not a number."""
    limits = np.finfo(np.float16)
    known = [0, 0.1, 0.5, 1, 3, 7, 7.25, 9036, 1e-4, limits.max, limits.tiny, 6e-8, np.inf, np.nan]
    drawn = 10.0 ** np.random.default_rng(6).uniform(-7, 4.8, 60)
    found = np.concatenate([known, drawn]).astype(np.float16)
    return np.concatenate([found, -found])


@pytest.mark.parametrize(("kernel", "reference"), [(divided, quotients), (computed, others)])
def test_operators(space, kernel, reference):
    needs_dtype(space, np.float16)
    a, b = (x.ravel() for x in np.meshgrid(values(), values()))
    found = np.zeros((6, a.size), np.float16)
    staged.parallel_for(es.RangePolicy(a.size, space=space), kernel, found, a, b)
    with np.errstate(all="ignore"):
        expected = np.stack(reference(a, b))
    assert expected.dtype == np.float16
    np.testing.assert_array_equal(found, expected)
    number = ~np.isnan(expected)
    np.testing.assert_array_equal(np.signbit(found)[number], np.signbit(expected)[number])
