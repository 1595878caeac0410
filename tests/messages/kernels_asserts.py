"""Kernels whose assertions fail, and views that are read out of bounds."""

from __future__ import annotations

import numpy as np

import execspace as es

from .cases import F64, F64_2, Array, case

values = np.array([1.0, 2.0, -1.0, 3.0])  # one of them wrong, so the message is always the same


def check(i, x):
    assert x[i] > 0, "x must be positive"


def checks_without_a_message(i, x):
    assert x[i] > 0


def checks_two_dimensions(i, j, A):
    assert A[i, j] != 0.0 or j < 2, "zero in the upper part"


def checks_in_a_helper(i, x):
    x[i] = positive(x[i])


def positive(v):
    assert v >= 0, "cannot take the root"
    return v**0.5


def checks_and_returns(i, x):
    assert x[i] > 0, "x must be positive"
    return x[i]


for space in ("oracle", "serial", "openmp"):
    case(values, space=space, name=f"assertion_on_{space}")(check)
    case(values, space=space, name=f"assertion_in_a_helper_on_{space}")(checks_in_a_helper)
case(values, name="assertion_without_a_message")(checks_without_a_message)
for space in ("oracle", "openmp"):
    case(F64_2, policy=es.MDRangePolicy((1, 3)), space=space, name=f"assertion_2d_on_{space}")(
        checks_two_dimensions
    )
    case(values, reduce=True, space=space, name=f"assertion_in_a_reduction_on_{space}")(
        checks_and_returns
    )


def reads_past_the_end(i, x):
    x[i] = x[i + 1]


def reads_past_the_end_of_a_row(i, A):
    row = A[i, :]
    A[i, 0] = row[i + 4]


def reads_past_the_end_of_a_local_array(i, x):
    t = es.local(3)
    x[i] = t[i]


def reads_past_the_end_of_a_field(i, p):
    p[i].x = p[i].v[i]


class Grid:
    def __init__(self):
        self.cells = es.view_of(np.zeros(4))

    def step(self, i):
        self.cells[i + 1] = 1.0


case(F64, name="out_of_bounds")(reads_past_the_end)
case(F64_2, name="out_of_bounds_of_a_row")(reads_past_the_end_of_a_row)
case(F64, name="out_of_bounds_of_a_local_array")(reads_past_the_end_of_a_local_array)
case(Array([("x", "f8"), ("v", "f8", (3,))]), name="out_of_bounds_of_a_field")(
    reads_past_the_end_of_a_field
)
case(name="out_of_bounds_of_a_captured_view")(Grid().step)
