"""Kernels with vectors, see `es.simd`."""

from __future__ import annotations

import numpy as np

import execspace as es

from .cases import Array, Made, case

T = es.simd("float64", 4)
T8 = es.simd("float64", 8)
J = es.simd("int32", 4)


class Pair(es.Record):
    first: es.float64
    second: es.float64


@case(Array())
def vectors_of_two_widths(i, x):
    (T.load(x, i) + T8.load(x, i)).store(x, i)


@case(Array())
def membership_of_a_vector(i, x):
    x[i] = T.load(x, i) in (1.0, 2.0)


@case(Array())
def sum_of_masks(i, x):
    v = T.load(x, i)
    ((v > 1) + (v > 2)).store(x, i)


@case(Array())
def negative_of_a_mask(i, x):
    (-(T.load(x, i) > 1)).store(x, i)


@case(Array())
def bits_of_a_vector_of_floats(i, x):
    (T.load(x, i) & 3).store(x, i)


@case(Array())
def builtin_min_of_vectors(i, x):
    min(T.load(x, i), 1.0).store(x, i)


@case(Array())
def int_of_a_vector(i, x):
    x[i] = int(T.load(x, i))


@case(Array())
def square_root_of_a_mask(i, x):
    np.sqrt(T.load(x, i) > 1).store(x, i)


@case(Array())
def vector_of_two_values(i, x):
    T(1.0, 2.0).store(x, i)


@case(Array())
def vector_of_another_width(i, x):
    T(T8.load(x, i)).store(x, i)


@case(Array())
def lanes_too_few(i, x):
    T.of(1.0, 2.0, 3.0).store(x, i)


@case(Array())
def generator_with_a_start(i, x):
    T.generate(lambda lane: lane, 1).store(x, i)


@case(Array())
def first_lanes_by_a_float(i, x):
    T.load(x, i, T.first(2.0)).store(x, i)


@case(Array())
def lane_by_an_index(i, x):
    x[i] = T.load(x, 0)[i]


@case(Array())
def lane_outside_a_vector(i, x):
    x[i] = T.load(x, 0)[4]


@case(Array())
def lane_that_is_assigned(i, x):
    v = T.load(x, 0)
    v[0] = 1.0
    v.store(x, 0)


@case(Array())
def any_of_numbers(i, x):
    if T.load(x, i).any():
        x[i] = 1.0


@case(Array())
def sum_of_a_mask(i, x):
    x[i] = (T.load(x, i) > 1).sum()


@case(Array())
def attribute_of_a_vector_type(i, x):
    x[i] = T.lanes


@case(Array())
def mask_that_is_a_vector(i, x):
    v = T.load(x, i)
    v.store(x, i, v)


@case(Array())
def reduction_with_two_masks(i, x):
    v = T.load(x, i)
    x[i] = v.sum(v > 1, v > 2)


@case(Array())
def test_of_a_mask(i, x):
    v = T.load(x, i)
    if v > 1:
        v.store(x, i)


@case(Array())
def chain_of_masks(i, x):
    v = T.load(x, i)
    np.where(0 < v < 1, v, 0).store(x, i)


@case(Array())
def vector_as_an_index(i, x):
    x[i] = x[J.iota()]


@case(Array())
def vector_stored_in_an_element(i, x):
    x[i] = T.load(x, i)


@case(Array())
def load_without_an_index(i, x):
    T.load(x).store(x, i)


@case(Array(shape=(4, 4)))
def load_from_a_matrix(i, a):
    T.load(a, i).store(a[0, :], i)


@case(Made(lambda: es.full(4, Pair(1.0, 2.0), memory=es.HOST)))
def load_of_records(i, p):
    T.load(p, i)


@case(Array())
def load_at_a_float(i, x):
    T.load(x, 0.5).store(x, i)


@case(Array())
def load_from_the_end(i, x):
    T.load(x, -4).store(x, i)


@case(Array())
def gather_by_floats(i, x):
    T.gather(x, T.iota()).store(x, i)


@case(Array(), Array(writeable=False))
def vector_stored_in_a_read_only_view(i, x, a):
    T.load(x, i).store(a, i)


@case(Array())
def variable_of_two_vector_types(i, x):
    v = T.load(x, i)
    if i > 2:
        v = J(v)
    v.store(x, i)


@case(Array(), reduce=True)
def reduction_of_vectors(i, x):
    return T.load(x, i)


def either(a, x, i):
    if i > 1:
        return a
    return x[i]


@case(Array())
def helper_that_returns_a_vector_or_a_number(i, x):
    x[i] = either(T.load(x, i), x, i)


@case(Array())
def choice_between_vectors(i, x):
    (T(1.0) if i > 1 else T(2.0)).store(x, i)


@case(Array())
def vector_that_is_printed(i, x):
    es.printf("%f", T.load(x, i))


@case(Array())
def vector_times_a_complex_number(i, x):
    v = T.load(x, i) * 1j
    v.store(x, i)


@case(Array("complex128"))
def load_of_complex_numbers(i, z):
    T.load(z, i).store(z, i)


@case(Array(shape=(4, 4)), policy=es.TeamPolicy(4, 1, space="oracle"))
def nested_reduction_of_vectors(team, a):
    s = es.parallel_reduce(es.TeamThreadRange(team, 1), lambda j: T.load(a[j, :], 0))
    a[0, 0] = s


@case(Array())
def vector_type_of_three_lanes(i, x):
    V = es.simd(x.dtype, 3)
    V.load(x, i).store(x, i)


@case(Array())
def vector_type_of_a_variable_width(i, x):
    es.simd(x.dtype, i).load(x, i).store(x, i)


@case(Array())
def number_among_vectors(i, x):
    x[i] = 1.0 in (T.load(x, 0), T(2.0))


@case(Array())
def equal_tuples_of_vectors(i, x):
    x[i] = (T.load(x, 0), 1) == (T(2.0), 1)
