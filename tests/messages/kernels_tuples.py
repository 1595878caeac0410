"""Kernels with wrong loops over tuples, and wrong calls of Python's functions on tuples."""

from __future__ import annotations

from .cases import F64, F64_2, case


@case(F64)
def loop_over_a_number(i, x):
    for v in x[i]:
        x[i] += v


@case(F64_2)
def loop_over_a_row(i, A):
    for v in A[i, :]:
        A[i, 0] += v


@case(F64)
def loop_over_a_string(i, x):
    for v in "abc":
        x[i] += v


@case(F64)
def loop_over_pairs_with_three_variables(i, x):
    for a, b, c in ((1, 2), (3, 4)):
        x[i] += a + b + c


@case(F64)
def loop_over_numbers_with_two_variables(i, x):
    for a, b in (1, 2):
        x[i] += a + b


@case(F64, F64)
def loop_over_a_view_and_a_number(i, x, y):
    for a in (x, 2.0):
        a[i] = 1.0


@case(F64)
def wrong_only_for_the_tuple(i, x):
    for a in (1, (2, 3)):
        x[i] = a + 1.0


@case(F64)
def wrong_only_for_the_second_item(i, x):
    for t in ((1, 2), (1, 2, 3)):
        a, b = t
        x[i] = a + b


@case(F64, F64)
def zip_of_views(i, x, y):
    for a, b in zip(x, y):
        x[i] += a * b


@case(F64)
def zip_of_a_tuple_and_a_view(i, x):
    for a, b in zip((1, 2), x):
        x[i] += a * b


@case(F64)
def reversed_range(i, x):
    for k in reversed(range(4)):
        x[i] += k


@case(F64)
def reversed_view(i, x):
    for v in reversed(x):
        x[i] += v


@case(F64)
def enumerate_from_one(i, x):
    for k, v in enumerate((1.0, 2.0), 1):
        x[i] += k * v


@case(F64)
def sum_with_a_start(i, x):
    x[i] = sum((1, 2), 0.5)


@case(F64)
def sum_of_numbers(i, x):
    x[i] = sum(1.0, 2.0)


@case(F64)
def sum_of_pairs(i, x):
    x[i] = sum(((1, 2), (3, 4)))


@case(F64)
def sum_of_nothing(i, x):
    x[i] = sum()


@case(F64)
def any_of_a_view(i, x):
    if any(x):
        x[i] = 1.0


@case(F64)
def all_of_two_tuples(i, x):
    if all((x[i] > 0, x[i] < 1), (i > 0, i < 3)):
        x[i] = 1.0


@case(F64)
def tuple_of_a_view(i, x):
    t = tuple(x)
    x[i] = t[0]


@case(F64)
def list_of_a_tuple(i, x):
    t = list((1, 2))
    x[i] = t[0]


@case(F64)
def sorted_tuple(i, x):
    t = sorted((x[i], 1.0))
    x[i] = t[0]


@case(F64, F64)
def view_of_a_loop_is_read_after_it(i, x, y):
    for a in (x, y):
        a[i] = 1.0
    x[i] = a[i]


@case(F64)
def strict_zip_of_unequal_lengths(i, x):
    for a, b in zip((1, 2), (1, 2, 3), strict=True):
        x[i] += a * b


@case(F64)
def zip_that_may_be_strict(i, x):
    for a, b in zip((1, 2), (1, 2), strict=x[i] > 0.0):
        x[i] += a * b


@case(F64)
def tuple_of_very_many_items(i, x):
    for a in (x[i], 1.0) * 10**9:
        x[i] += a


@case(F64)
def tuples_that_grow_and_grow(i, x):
    few = (1.0,) * 4096
    many = (few + few) + (few + few)
    x[i] = len(many)
