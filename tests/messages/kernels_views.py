"""Kernels with wrong indices, slices, local arrays and records."""

from __future__ import annotations

import numpy as np

import execspace as es

from .cases import C128, F32, F64, F64_2, F64_3, I64, Array, case

PARTICLE = np.dtype([("x", "f8"), ("v", "f4", (3,)), ("id", "i4")])
OTHER = np.dtype([("x", "f8"), ("y", "f8")])
P = Array(PARTICLE)
Q = Array(OTHER)


@case(F64_2)
def too_few_indices(i, A):
    A[i] = 1.0


@case(F64)
def too_many_indices(i, x):
    x[i, 0] = 1.0


@case(F64_3)
def chained_subscripts(i, A):
    A[i][0][0] = 1.0


@case(F64)
def float_index(i, x):
    x[1.5] = 1.0


@case(F64, F64)
def index_from_a_float_view(i, x, where):
    x[where[i]] = 1.0


@case(F64_2, F32)
def second_index_is_a_float(i, A, w):
    A[i, w[i]] = 1.0


@case(F64)
def bool_index(i, x):
    x[x[i] > 0] = 0.0


@case(F64)
def string_index(i, x):
    x["a"] = 0.0


@case(F64, F64)
def view_as_an_index(i, x, y):
    x[y] = 0.0


@case(F64)
def new_axis(i, x):
    x[None, i] = 0.0


@case(F64)
def view_as_a_number(i, x):
    x[i] += x


@case(F64_2)
def matrix_as_a_number(i, A):
    A[i, 0] = A * 2.0


@case(Array(shape=()))
def rank_0_as_a_number(i, s):
    s[()] = s + 1.0


@case(F64)
def view_as_a_condition(i, x):
    if x:
        x[i] = 0.0


@case(F64, F64)
def views_compared(i, x, y):
    if x == y:
        x[i] = 0.0


@case(F64)
def subview_of_another_form_assigned(i, x):
    x[::2] = x[:]


@case(F64_2)
def row_assigned(i, A):
    A[i, :] = A


@case(F64_2)
def row_updated(i, A):
    A[i, :] += "1.0"


@case(F64_2)
def subview_as_a_number(i, A):
    A[i, 0] = A[i, :] * 2.0


@case(F64_2)
def subview_with_too_many_indices(i, A):
    row = A[i, :]
    row[i, 0] = 1.0


@case(F64)
def slice_with_float_bounds(i, x):
    part = x[0.5:2]
    x[i] = part[0]


@case(F64)
def slice_with_computed_step(i, x):
    part = x[::i]
    x[i] = part[0]


@case(F64)
def slice_with_step_zero(i, x):
    part = x[::0]
    x[i] = part[0]


@case(F64)
def slice_of_a_tuple(i, x):
    t = (1.0, 2.0, 3.0)
    x[i] = t[0:2][0]


@case(F64, F64)
def one_name_for_a_view_or_a_number(i, x, y):
    a = x if i == 0 else 1.0
    a[i] = 1.0


@case(F64, F64)
def one_name_for_a_view_or_a_number_in_branches(i, x, y):
    if i == 0:
        a = x
    else:
        a = 1.0
    a[i] = 1.0


@case(F64_2)
def one_name_for_two_shapes(i, A):
    row = A[i, :]
    row = A[:, ::2]
    A[i, 0] = row[0]


@case(F64)
def variable_is_a_view_and_a_number(i, x):
    a = x
    a = 1.0
    x[i] = a


@case(F64_2)
def subview_of_a_number(i, A):
    row = es.subview(1.0, i)
    A[i, 0] = row[0]


@case(F64_2)
def subview_with_one_index(i, A):
    row = es.subview(A, i)
    A[i, 0] = row[0]


@case(F64)
def subview_with_float_bounds(i, x):
    part = es.subview(x, (0.5, 2))
    x[i] = part[0]


@case(F64)
def extent_of_a_computed_dimension(i, x):
    x[i] = x.extent(i)


@case(F64)
def extent_without_a_dimension(i, x):
    x[i] = x.extent()


@case(F64_3)
def extent_of_a_dimension_of_three(i, A):
    A[i, 0, 0] = A.extent(-1)


@case(F64)
def len_of_a_number(i, x):
    x[i] = len(x[i])


@case(Array(shape=()))
def len_of_rank_0(i, s):
    s[()] = len(s)


@case(F64, C128)
def complex_into_a_real_view(i, x, z):
    x[i] = z[i]


@case(F64)
def tuple_into_a_view(i, x):
    x[i] = (1.0, 2.0)


@case(Array(writeable=False))
def read_only_view(i, x):
    x[i] = x[i] * 2


@case(Array(writeable=False))
def read_only_view_in_a_helper(i, x):
    clear(x, i)


def clear(a, i):
    a[i] = 0.0


# -- local arrays -------------------------------------------------------------------------------


@case(F64, 3)
def local_array_of_computed_shape(i, x, n):
    t = es.local(n)
    x[i] = t[0]


@case(F64)
def local_array_of_index_shape(i, x):
    t = es.local((2, i))
    x[i] = t[0, 0]


@case(F64)
def local_array_of_float_shape(i, x):
    t = es.local(3.0)
    x[i] = t[0]


@case(F64)
def local_array_of_negative_extent(i, x):
    t = es.local(-3)
    x[i] = t[0]


@case(F64)
def local_array_without_shape(i, x):
    t = es.local()
    x[i] = t[0]


@case(F64)
def local_array_of_no_dtype(i, x):
    t = es.local(3, 64)
    x[i] = t[0]


@case(F64)
def local_array_of_unknown_dtype(i, x):
    t = es.local(3, dtype="float63")
    x[i] = t[0]


@case(F64)
def local_array_with_an_unknown_keyword(i, x):
    t = es.local(3, order="F")
    x[i] = t[0]


@case(F64)
def second_name_of_a_local_array(i, x):
    t = es.local(3)
    u = t
    x[i] = u[0]


@case(F64)
def second_name_of_a_part_of_a_local_array(i, x):
    t = es.local((3, 3))
    row = t[0, :]
    x[i] = row[0]


@case(F64)
def local_array_with_too_few_indices(i, x):
    t = es.local((3, 3))
    x[i] = t[0]


@case(F64)
def local_array_as_a_number(i, x):
    t = es.local(3)
    x[i] = t


@case(F64)
def local_array_used_without_a_name(i, x):
    x[i] = es.local(3) + 1.0


# -- records ------------------------------------------------------------------------------------


@case(P)
def unknown_field(i, p):
    p[i].y = 1.0


@case(P)
def unknown_field_by_name(i, p):
    p[i]["mass"] = 1.0


@case(P)
def record_as_a_number(i, p):
    p[i].x = p[i] + 1.0


@case(P)
def number_into_a_record(i, p):
    p[i] = 1.0


@case(P, Q)
def record_of_another_type(i, p, q):
    p[i] = q[i]


@case(P)
def field_array_as_a_number(i, p):
    p[i].x = p[i].v


@case(P)
def field_array_with_two_indices(i, p):
    p[i].v[0, 0] = 1.0


@case(P)
def field_array_with_a_slice(i, p):
    p[i].x = p[i].v[0:2]


@case(P)
def number_into_a_field_array(i, p):
    p[i].v = 0.0


@case(P)
def record_updated(i, p):
    p[i] += 1.0


@case(P)
def record_with_an_integer_index(i, p):
    p[i].x = p[i][0]


@case(P)
def fields_of_the_whole_view(i, p):
    p.x[i] = 1.0


@case(P)
def shape_of_an_array_field(i, p):
    p[i].x = p[i].v.shape[0]


@case(P)
def shape_of_a_record(i, p):
    p[i].x = p[i].shape[0]


@case(P)
def dtype_of_records(i, p):
    t = es.local(3, p.dtype)
    p[i] = t[0]


@case(P, C128)
def complex_into_a_field(i, p, z):
    p[i].x = z[i]


@case(I64)
def field_of_a_number(i, n):
    n[i] = n[i].x


@case(F64_2)
def local_deep_copy_of_one_argument(i, A):
    es.local_deep_copy(A)


@case(F64_2)
def local_deep_copy_without_a_team(i, A):
    es.local_deep_copy(i, A[0, :], A[1, :])


@case(F64)
def local_deep_copy_to_a_number(i, x):
    es.local_deep_copy(x[i], 1.0)


@case(F64)
def function_that_stores_or_computes(i, x):
    def store(v):
        v[0] = 1.0

    def compute(v):
        return v[0]

    x[i] = (store if i == 0 else compute)(x)


@case(F64, F64_2)
def views_of_two_ranks_to_choose(i, x, A):
    v = x if i == 0 else A
    v[0] = 1.0


@case(C128)
def part_of_complex_numbers_in_a_variable(i, z):
    x = z.real
    x[i] = 1.0
