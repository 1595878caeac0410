"""Kernels whose types do not fit: promotion, constants, conversions, tuples, unpacking."""

from __future__ import annotations

import math

import numpy as np

import execspace as es

from .cases import C64, C128, F32, F64, I8, I32, I64, U8, U64, case

infinite = math.inf
large = 10**5000


@case(U64, I64)
def no_common_integer_type(i, u, n):
    u[i] = u[i] + n[i]


@case(U64)
def uint64_and_an_index(i, u):
    u[i] = u[i] + es.int64(i)


@case(U64, I32)
def no_common_integer_type_in_an_update(i, u, n):
    u[i] *= n[i]


@case(U64, I64)
def no_common_type_of_branches(i, u, n):
    n[i] = u[i] if i > 0 else n[i]


@case(U64, I64)
def no_common_type_of_a_variable(i, u, n):
    t = u[i]
    t = n[i]
    u[i] = t


@case(U64, I64)
def no_common_type_in_a_call(i, u, n):
    u[i] = max(u[i], n[i])


@case(U64, I64)
def no_common_type_in_a_numpy_call(i, u, n):
    u[i] = np.minimum(u[i], n[i])


@case(U64, I64, reduce=True)
def no_common_type_of_returns(i, u, n):
    if i > 0:
        return u[i]
    return n[i]


@case(I8)
def constant_too_large(i, n):
    n[i] = n[i] + 1000


@case(U8)
def constant_negative_for_unsigned(i, n):
    n[i] = n[i] * -1


@case(I8)
def constant_too_large_in_a_store(i, n):
    n[i] = 300


@case(U64)
def constant_negative_in_an_update(i, u):
    u[i] -= -1


@case(I64)
def constant_beyond_int64(i, n):
    n[i] = n[i] + 2**63


@case(I64)
def constant_beyond_int64_negative(i, n):
    n[i] = -(2**64 - 1)


@case(U64)
def constant_beyond_64_bits(i, u):
    u[i] = 2**64


@case(U64)
def constant_of_many_digits(i, u):
    u[i] = large


@case(U64)
def power_of_many_digits(i, u):
    u[i] = 10**5000


@case(I64)
def infinity_as_an_integer(i, n):
    n[i] = int(infinite)


@case(I64)
def nan_as_an_integer(i, n):
    n[i] = int(math.nan)


@case(I64)
def division_by_literal_zero(i, n):
    n[i] = n[i] // 0


@case(F64)
def division_of_constants_by_zero(i, x):
    x[i] = 1 / 0


@case(F64)
def remainder_by_zero(i, x):
    x[i] = i % 0


@case(I64)
def negative_power_of_an_integer(i, n):
    n[i] = n[i] ** -1


@case(F64)
def bits_of_a_float(i, x):
    x[i] = x[i] & 1


@case(F64)
def shift_of_a_float(i, x):
    x[i] = x[i] << 2


@case(F64)
def exclusive_or_for_a_power(i, x):
    x[i] = x[i] ^ 2


@case(F64)
def inverted_float(i, x):
    x[i] = ~x[i]


@case(F64, C128)
def order_of_complex_numbers(i, x, z):
    x[i] = 1.0 if z[i] < 1.0 else 0.0


@case(C128)
def greatest_of_complex_numbers(i, z):
    z[i] = max(z[i], 1.0)


@case(C128)
def numpy_greatest_of_complex_numbers(i, z):
    z[i] = np.maximum(z[i], 1.0)


@case(C64)
def remainder_of_complex_numbers(i, z):
    z[i] = z[i] % 2


@case(C128)
def complex_in_a_real_function(i, z):
    z[i] = math.erf(z[i])


@case(C128)
def complex_in_a_function_of_two(i, z):
    z[i] = np.hypot(z[i], 1.0)


@case(F64, C128)
def complex_to_float(i, x, z):
    x[i] = float(z[i])


@case(I64, C128)
def complex_to_int(i, n, z):
    n[i] = int(z[i])


@case(F32, C64)
def complex_cast_to_float32(i, x, z):
    x[i] = es.float32(z[i])


@case(I64, C128)
def complex_floor(i, n, z):
    n[i] = math.floor(z[i])


@case(C128)
def complex_of_complex_parts(i, z):
    z[i] = complex(z[i], 1.0)


@case(F64)
def cast_of_two_arguments(i, x):
    x[i] = es.float32(x[i], 2)


@case(F64)
def cast_to_an_abstract_type(i, x):
    x[i] = np.floating(x[i])


@case(F64)
def cast_to_a_long_double(i, x):
    x[i] = np.longdouble(x[i])


@case(F64)
def cast_to_text(i, x):
    x[i] = np.str_(x[i])


@case(F64)
def string_in_arithmetic(i, x):
    x[i] = x[i] + "text"


@case(F64)
def string_stored(i, x):
    x[i] = "text"


@case(F64)
def string_compared_by_order(i, x):
    x[i] = 1.0 if "a" < "b" else 0.0


# -- tuples -------------------------------------------------------------------------------------


@case(F64)
def unpacking_a_number(i, x):
    a, b = x[i]
    x[i] = a + b


@case(F64)
def unpacking_too_many(i, x):
    a, b = (1.0, 2.0, 3.0)
    x[i] = a + b


@case(F64)
def unpacking_a_view(i, x):
    a, b, c, d = x
    x[i] = a + b + c + d


@case(F64)
def tuple_as_a_number(i, x):
    t = (1.0, 2.0)
    x[i] = t * 2.0


@case(F64)
def empty_tuple_with_an_index(i, x):
    t = ()
    x[i] = t[i]


@case(F64)
def tuple_with_an_index_outside(i, x):
    t = (1.0, 2.0)
    x[i] = t[2]


@case(F64)
def tuple_with_two_indices(i, x):
    t = ((1.0, 2.0), (3.0, 4.0))
    x[i] = t[0, 1]


@case(F64)
def item_of_a_tuple_assigned(i, x):
    t = (1.0, 2.0)
    t[0] = x[i]


@case(F64)
def tuple_and_number_in_one_variable(i, x):
    t = (1, 2)
    t = 3
    x[i] = t


@case(F64)
def tuples_of_two_lengths_in_one_variable(i, x):
    t = (1.0, 2.0)
    if i > 0:
        t = (1.0, 2.0, 3.0)
    x[i] = t[0]


@case(F64)
def tuples_of_two_lengths_in_branches(i, x):
    t = (1.0, 2.0) if i > 0 else (1.0, 2.0, 3.0)
    x[i] = t[0]


@case(F64)
def tuple_and_number_in_branches(i, x):
    t = (1.0, 2.0) if i > 0 else 1.0
    x[i] = t


@case(F64)
def none_and_number_in_branches(i, x):
    t = x[i] if i > 0 else None
    x[i] = t


@case(F64)
def none_and_number_in_one_variable(i, x):
    t = None
    if i > 0:
        t = x[i]
    x[i] = t


@case(F64)
def tuple_as_a_condition(i, x):
    t = (x[i], 1.0)
    if t:
        x[i] = 0.0


@case(F64)
def index_of_a_number(i, x):
    x[i] = i[0]


@case(F64)
def item_of_a_number_assigned(i, x):
    y = x[i]
    y[0] = 1.0


@case(F64)
def function_and_string_in_one_variable(i, x):
    f = math.sin
    if i > 0:
        f = "cos"
    x[i] = f(x[i])


@case(F64)
def a_function_or_a_string(i, x):
    f = math.sin if i > 0 else "cos"
    x[i] = f(x[i])


@case(I64)
def power_of_more_digits_than_there_is_memory(i, n):
    n[i] = 10**10**10 % 7


@case(I64)
def shift_by_more_bits_than_there_is_memory(i, n):
    n[i] = (1 << 10**13) >> 10**13
