"""functools.partial of functions that kernels know by identity: of NumPy, math and Python's own."""

from __future__ import annotations

import math
import operator
from functools import partial

import numpy as np
import pytest

import execspace as es
from execspace_testing import staged


def of_each(i, out, x, f):
    out[i] = f(x[i])


@pytest.mark.parametrize(
    ("f", "expected"),
    [
        (partial(np.maximum, 1.0), [1.0, 1.5, 4.0]), (partial(es.fma, 2.0, 1.0), [-1, 3.5, 6.0]),
        (partial(es.fma, 2.0, y=1.0), [-1, 3.5, 6.0]), (partial(es.fdim, 2.0), [5.0, 0.5, 0.0]),
        (partial(np.where, True, 1.0), [1.0, 1.0, 1.0]), (partial(int), [-3.0, 1.0, 4.0]),
        (partial(max, 0.0, 2.0), [2.0, 2.0, 4.0]), (partial(operator.sub, 1.0), [4.0, -0.5, -3.0]),
        (partial(pow, 2.0), [0.125, 2**1.5, 16.0]), (partial(math.copysign, 2.0), [-2.0, 2, 2]),
        (partial(es.float32), [-3.0, 1.5, 4.0]), (partial(np.abs), [3.0, 1.5, 4.0]),
    ],
)  # fmt: skip
def test_partials_of_functions_that_kernels_know(space, f, expected):
    x, out = staged.place(space, np.array([-3.0, 1.5, 4.0])), staged.place(space, np.zeros(3))
    es.parallel_for(es.RangePolicy(3, space=space), of_each, out, x, f)
    np.testing.assert_allclose(staged.fetch(out), expected)
    es.parallel_for(es.RangePolicy(3, space=space), lambda i: of_each(i, out, x, f))
    np.testing.assert_allclose(staged.fetch(out), expected)


def test_partials_that_kernels_do_not_know(space):
    x = staged.place(space, np.zeros(3))
    for f in (partial(np.clip, a_min=0.0, a_max=1.0), partial(np.maximum, x2=1.0)):
        with pytest.raises(
            es.LaunchError, match=r"functools.partial: keywords bind .* by position"
        ):
            es.parallel_for(es.RangePolicy(3, space=space), of_each, x, x, f)
    f = partial(max, 1.0, 2.0, 3.0, 4.0)
    with pytest.raises(es.LaunchError, match=r"4 arguments .* are bound; expected 3 at most"):
        es.parallel_for(es.RangePolicy(3, space=space), of_each, x, x, f)
