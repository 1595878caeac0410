"""Which loops are unrolled so that private arrays are registers, and which are left as they are."""

import numpy as np
import pytest
from cfamily_cases import text

import execspace as es
from execspace_compiler.codegen.cfamily.cuda import CUDA
from execspace_compiler.codegen.cfamily.hip import hip
from execspace_compiler.codegen.cfamily.opencl import OPENCL, OPENCL_NVIDIA


def by_its_variable(i, x):
    a = es.local(4, np.float64)
    for k in range(4):
        a[k] = x[i] * k
    for k in range(4):
        x[i] += a[3 - k]


def of_two_variables(i, x):
    a = es.local((2, 3), np.float64)
    for k in range(2):
        for m in range(3):
            a[k, m] = x[i] * k + m
    x[i] = a[1, 2]


def by_what_is_found(i, x):
    a = es.local(4, np.float64)
    for k in range(4):
        a[k] = x[i]
    a[np.int64(x[i]) % 4] = 0.0
    x[i] = a[0]


def as_often_as_told(i, x):
    a = es.local(4, np.float64)
    for k in range(min(i, 4)):
        a[k] = x[i]
    x[i] = a[0]


def with_a_step_of_its_own(i, x):
    a = es.local(4, np.float64)
    for k in range(4):
        a[k] = x[i]
        k = i % 4
        a[k] += 1.0
    x[i] = a[0]


def by_a_variable_of_two_loops(i, x):
    a = es.local(4, np.float64)
    for k in range(4):
        a[k] = x[i]
    for k in range(i % 4):
        x[i] += a[k]


def by_a_variable_that_is_used_again(i, x):
    a = es.local(4, np.float64)
    k = i % 4
    x[k] += 1.0
    for k in range(4):
        a[k] = x[i]
    for m in range(4):
        k = m + i
        x[i] += a[m] * k


def far_too_long(i, x):
    a = es.local(8192, np.float64)
    for k in range(8192):
        a[k] = 1.0
        a[k] = x[i] + k
    x[i] = a[0]


@es.function
def number():
    return 3


@es.function
def fill(a, first, value):
    for k in range(first, number()):
        a[k] = value


@es.function
def put(a, k, value):
    a[k] = value


def in_a_helper(i, x):
    a = es.local(3, np.float64)
    for k in range(3):
        fill(a, k, x[i])
    x[i] = a[2]


def in_a_helper_by_what_is_found(i, x):
    a = es.local(3, np.float64)
    for k in range(3):
        a[k] = x[i]
    put(a, np.int64(x[i]) % 3, 1.0)
    x[i] = a[2]


def triangles(i, x):
    a = es.local((3, 3), np.float64)
    for k in range(3):
        for m in range(k, 3):
            row = 2 - m
            a[row, k] = x[i]
    x[i] = a[2, 1]


def as_often_as_a_helper_is_told(i, x):
    a = es.local(3, np.float64)
    fill(a, np.int64(x[i]), 1.0)
    x[i] = a[2]


def a_row_that_is_chosen(i, x):
    a = es.local(3, np.float64)
    row = 0
    for k in range(3):
        if x[i] > k:
            row = k
        a[row] = x[i]
    x[i] = a[2]


def without_an_array(i, x):
    for k in range(4):
        x[i] += k


@pytest.mark.parametrize(
    ("kernel", "loops"),
    [
        (by_its_variable, 2), (of_two_variables, 2), (by_what_is_found, 0), (as_often_as_told, 0),
        (with_a_step_of_its_own, 0), (by_a_variable_of_two_loops, 0), (far_too_long, 0),
        (by_a_variable_that_is_used_again, 2),
        (without_an_array, 0), (in_a_helper, 2), (in_a_helper_by_what_is_found, 0),
        (triangles, 2), (as_often_as_a_helper_is_told, 0), (a_row_that_is_chosen, 0),
    ],
)  # fmt: skip
@pytest.mark.parametrize("dialect", [CUDA, hip(64), OPENCL_NVIDIA])
def test_loops_are_unrolled_whose_variables_subscripts_are_made_of(kernel, loops, dialect):
    lines = text(kernel, "float64[1]", dialect=dialect).source.splitlines()
    assert lines.count("#pragma unroll") == loops


def test_other_compilers_decide_themselves():
    source = text(by_its_variable, "float64[1]", dialect=OPENCL).source
    assert "unroll" not in source
