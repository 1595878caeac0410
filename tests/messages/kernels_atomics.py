"""Kernels with wrong atomic operations, and wrong accesses to Views with the atomic trait."""

from __future__ import annotations

import numpy as np

import execspace as es

from .cases import C128, F64, F64_2, I8, I32, U64, Array, Made, case

PACKED = np.dtype([("flag", "i1"), ("x", "f8")])
PARTICLE = np.dtype([("x", "f8"), ("v", "f4", (3,))])


def atomic(shape, dtype):
    """A View with the trait."""
    return Made(lambda: es.View(shape, dtype, label="A").with_traits("atomic"))


@case(F64)
def atomic_step_without_an_index(i, x):
    es.atomic_add(x[i], 1.0)


@case(F64)
def atomic_step_on_a_number(i, x):
    es.atomic_add(x[i], 0, 1.0)


@case(F64_2)
def atomic_step_on_a_row(i, A):
    es.atomic_add(A, (i, es.ALL), 1.0)


@case(Array(PARTICLE))
def atomic_step_on_a_record(i, p):
    es.atomic_max(p, i, 1.0)


@case(F64_2)
def atomic_step_with_too_few_indices(i, A):
    es.atomic_add(A, i, 1.0)


@case(Array(writeable=False))
def atomic_step_on_a_read_only_view(i, x):
    es.atomic_add(x, i, 1.0)


@case(I32, F64)
def atomic_step_in_a_wider_type(i, n, x):
    es.atomic_add(n, i, x[i])


@case(F64)
def atomic_and_of_floats(i, x):
    es.atomic_and(x, i, 1)


@case(C128)
def atomic_minimum_of_complex_numbers(i, z):
    es.atomic_min(z, i, 1.0)


@case(Array("bool"))
def atomic_sum_of_bools(i, b):
    es.atomic_add(b, i, 1)


@case(Array(PACKED))
def atomic_step_on_a_field_by_its_element(i, p):
    es.atomic_add(p, i, p[i].x)


@case(I8)
def atomic_step_with_a_constant_that_does_not_fit(i, n):
    es.atomic_add(n, i, 300)


@case(atomic(4, "float64"))
def power_is_not_atomic(i, A):
    A[i] **= 2.0


@case(atomic(4, "int32"))
def atomic_trait_and_a_wider_type(i, A):
    A[i] += 0.5


@case(atomic(4, PACKED))
def atomic_trait_and_a_field_that_is_not_aligned(i, A):
    A[i].x += 1.0


@case(atomic(4, PACKED))
def read_of_a_field_that_is_not_aligned(i, A):
    if A[i].x > 0:
        es.printf("positive\n")


@case(F64)
def atomic_step_with_too_many_arguments(i, x):
    es.atomic_inc(x, i, 1.0)


@case(I32)
def compare_exchange_without_a_desired_value(i, n):
    es.atomic_compare_exchange(n, i, 0)


@case(C128)
def atomic_remainder_of_complex_numbers(i, z):
    es.atomic_fetch_mod(z, i, 2.0)


@case(F64)
def atomic_shift_of_floats(i, x):
    es.atomic_lshift(x, i, 1)


@case(I32)
def atomic_division_by_zero(i, n):
    es.atomic_div(n, i, 0)


@case(U64, I32)
def atomic_step_of_unsigned_with_signed(i, n, m):
    es.atomic_add(n, i, m[i])


class Pair(es.Record):
    a: es.float64
    b: es.float64 = 0.0

    def __add__(self, other):
        return Pair(self.a + other.a, self.b + other.b)


PAIRS = Made(lambda: es.full(4, Pair(1.0), memory=es.HOST))


@case(PAIRS)
def atomic_store_of_a_number_in_a_record(i, p):
    es.atomic_store(p, i, 1.0)


@case(PAIRS)
def atomic_operator_that_a_record_lacks(i, p):
    es.atomic_mul(p, i, Pair(2.0))


@case(Array(PARTICLE))
def atomic_exchange_of_a_record_without_a_class(i, p):
    es.atomic_exchange(p, i, p[0])


@case(F64)
def atomic_function_without_a_value(i, x):
    es.atomic_fetch_oper(lambda a, b: a + b, x, i)


@case(F64)
def atomic_function_that_is_none(i, x):
    es.atomic_oper_fetch(x, x, i, 1.0)


@case(F64)
def atomic_function_of_a_number(i, x):
    es.atomic_oper_fetch(min, x[i], i, 1.0)


@case(I32, F64)
def atomic_function_with_a_wider_result(i, n, x):
    es.atomic_fetch_oper(lambda a, b: a + b, n, i, x[i])


@case(PAIRS)
def atomic_function_with_another_result(i, p):
    es.atomic_fetch_oper(lambda a, b: a.a + b, p, i, 1.0)


@case(F64_2)
def atomic_function_of_a_row(i, A):
    es.atomic_fetch_oper(min, A, (i, es.ALL), 1.0)
