"""Kernels with wrong calls: of library functions, helpers, nested functions, es.printf."""

from __future__ import annotations

import math
import random
import time

import numpy as np

import execspace as es

from .cases import C128, F64, F64_2, I64, U64, case
from .helpers import inner_fault, offset_by


@case(F64)
def too_many_arguments_of_a_function(i, x):
    x[i] = math.sqrt(x[i], 2)


@case(F64)
def too_few_arguments_of_a_function(i, x):
    x[i] = math.atan2(x[i])


@case(F64)
def logarithm_to_a_base(i, x):
    x[i] = math.log(x[i], 10, 2)


@case(F64)
def function_without_arguments(i, x):
    x[i] = abs()


@case(F64)
def least_of_one_number(i, x):
    x[i] = min(x[i])


@case(F64)
def greatest_of_nothing(i, x):
    x[i] = max()


@case(F64)
def least_of_a_view(i, x):
    x[i] = min(x)


@case(F64)
def keyword_of_a_function(i, x):
    x[i] = max(x[i], default=0)


@case(F64)
def round_to_digits(i, x):
    x[i] = round(x[i], i)


@case(F64)
def unknown_builtin(i, x):
    x[i] = sorted(x)[0]


@case(F64)
def random_number_of_python(i, x):
    x[i] = random.random()


@case(F64)
def random_number_of_numpy(i, x):
    x[i] = np.random.rand()


@case(F64)
def time_of_day(i, x):
    x[i] = time.time()


@case(F64)
def function_of_the_host(i, x):
    es.deep_copy(x, i)


@case(F64)
def name_of_an_attribute(i, x):
    x[i] = getattr(x, "size")  # noqa: B009


@case(F64)
def loop_over_arange(i, x):
    for k in np.arange(3):
        x[i] += k


@case(F64)
def sum_of_a_view(i, x):
    x[i] = sum(x)


@case(F64)
def numpy_reduction(i, x):
    x[i] = np.sum(x)


@case(F64)
def numpy_array_made(i, x):
    t = np.zeros(3)
    x[i] = t[0]


@case(F64)
def numpy_dot(i, x):
    x[i] = np.dot(x, x)


@case(F64)
def prints(i, x):
    print(x[i])


@case(F64)
def list_called(i, x):
    t = list(x)
    x[i] = t[0]


@case(F64)
def isinstance_called(i, x):
    if isinstance(x[i], float):
        x[i] = 0.0


@case(F64)
def range_outside_of_a_loop(i, x):
    r = range(3)
    x[i] = r[0]


@case(F64)
def view_made(i, x):
    t = es.View(3)
    x[i] = t[0]


@case(F64)
def launch_within_a_kernel(i, x):
    es.parallel_for(3, scaled, x)


@case(F64)
def number_called(i, x):
    x[i] = x[i](1.0)


@case(F64)
def index_called(i, x):
    x[i] = i(2)


@case(F64)
def view_called(i, x):
    x[i] = x(i)


@case(F64)
def tuple_called(i, x):
    t = (1.0, 2.0)
    x[i] = t(0)


@case(F64)
def module_called(i, x):
    x[i] = math(x[i])


@case(C128)
def method_with_an_argument(i, z):
    z[i] = z[i].conjugate(1)


@case(F64)
def view_of_a_python_number(i, x):
    x[i] = (2 * i).view(es.float64)


@case(F64)
def view_as_a_smaller_number(i, x):
    x[i] = x[i].view(es.int32)


@case(F64)
def view_as_nothing(i, x):
    x[i] = x[i].view()


@case(F64)
def view_of_a_captured_python_number(i, x):
    x[i] = math.pi.view(es.int64)


@case(F64)
def extent_by_keyword(i, x):
    x[i] = x.extent(d=0)


# -- helpers ------------------------------------------------------------------------------------


def scaled(x, factor):
    return factor * x


def shifted(x, offset=1.0, *, sign=1):
    return sign * x + offset


@case(F64)
def argument_missing(i, x):
    x[i] = scaled(x[i])


@case(F64)
def keyword_only_argument_missing(i, x):
    x[i] = clipped(x[i])


def clipped(x, *, limit):
    return min(x, limit)


@case(F64)
def too_many_arguments(i, x):
    x[i] = scaled(x[i], 2.0, 3.0)


@case(F64)
def keyword_only_by_position(i, x):
    x[i] = shifted(x[i], 1.0, -1)


@case(F64)
def unknown_keyword(i, x):
    x[i] = shifted(x[i], ofset=2.0)


@case(F64)
def argument_given_twice(i, x):
    x[i] = scaled(x[i], 2.0, factor=3.0)


@case(F64)
def function_passed_as_a_number(i, x):
    x[i] = scaled(x[i], math.sin)


@case(F64)
def function_not_called(i, x):
    x[i] = scaled


def factorial(n):
    return n * factorial(n - 1) if n > 1 else 1


@case(F64)
def recursion(i, x):
    x[i] = factorial(i)


def is_even(n):
    return True if n == 0 else is_odd(n - 1)


def is_odd(n):
    return False if n == 0 else is_even(n - 1)


@case(I64)
def mutual_recursion(i, n):
    n[i] = is_even(i)


@case(F64)
def nested_recursion(i, x):
    def power(n):
        return x[i] * power(n - 1) if n > 0 else 1.0

    x[i] = power(3)


@case(F64)
def nested_lambda_recursion(i, x):
    power = lambda n: x[i] * power(n - 1) if n > 0 else 1.0  # noqa: E731
    x[i] = power(3)


@case(F64)
def mutual_recursion_of_nested_functions(i, x):
    def a(n):
        return b(n - 1) if n > 0 else 0.0

    def b(n):
        return a(n - 1) if n > 0 else 1.0

    x[i] = a(3)


def apply_to(f, v):
    return f(f, v)


@case(F64)
def recursion_by_argument(i, x):
    x[i] = apply_to(lambda f, v: f(f, v - 1.0) if v > 0 else v, x[i])


@case(F64)
def recursion_of_a_growing_type(i, x):
    x[i] = deeper((1.0,))


def deeper(t):
    return deeper((t, 1.0))


@case(F64)
def kernel_calls_itself(i, x):
    if i > 0:
        kernel_calls_itself(i - 1, x)


@case(F64_2)
def helper_returns_a_view(i, A):
    A[i, 0] = row_of(A, i)[0]


def row_of(A, i):
    return A[i, :]


@case(F64)
def helper_returns_its_view(i, x):
    same(x)[i] = 1.0


def same(x):
    return x


@case(F64)
def helper_returns_a_local_array(i, x):
    x[i] = ones()[0]


def ones():
    t = es.local(3)
    t[0] = 1.0
    return t


@case(F64)
def helper_returns_a_function(i, x):
    x[i] = adder(1.0)(x[i])


def adder(offset):
    return lambda v: v + offset


@case(F64)
def helper_returns_a_string(i, x):
    x[i] = mode_of(i)


def mode_of(i):
    return "fast"


@case(F64)
def helper_returns_on_some_paths(i, x):
    x[i] = root(x[i])


def root(v):
    if v > 0:
        return math.sqrt(v)


@case(F64)
def helper_returns_nothing_on_one_path(i, x):
    x[i] = root_or_nothing(x[i])


def root_or_nothing(v):
    if v > 0:
        return math.sqrt(v)
    return None


@case(F64)
def helper_returns_nothing_first(i, x):
    x[i] = nothing_or_root(x[i])


def nothing_or_root(v):
    if v < 0:
        return
    return math.sqrt(v)


@case(F64)
def helper_returns_two_kinds(i, x):
    x[i] = pair_or_number(x[i])


def pair_or_number(v):
    if v > 0:
        return v, 1.0
    return v


@case(U64, I64)
def helper_returns_no_common_type(i, u, n):
    u[i] = first_or_second(u[i], n[i])


def first_or_second(u, n):
    if n > 0:
        return u
    return n


@case(F64)
def value_of_a_helper_that_returns_nothing(i, x):
    x[i] = store(x, i)


def store(x, i):
    x[i] = 1.0


@case(U64, I64)
def fault_in_a_helper(i, u, n):
    u[i] = summed(u[i], n[i])


def summed(a, b):
    return a + b


@case(F64)
def faults_in_a_helper_and_the_kernel(i, x):
    y = [1.0]
    x[i] = faulty(x[i])


def faulty(v):
    names = ["a"]
    if v > 0:
        return unknown
    return v


@case(F64)
def fault_in_a_helper_that_is_called_twice(i, x):
    x[i] = faulty(x[i])
    x[i] = faulty(x[i]) + 1.0


@case(F64)
def fault_in_a_helper_of_another_file(i, x):
    x[i] = offset_by(x[i], "1.0")


@case(F64)
def fault_two_calls_deep(i, x):
    x[i] = inner_fault(x[i])


@case(F64)
def helper_that_takes_any_number(i, x):
    x[i] = largest(x[i], 1.0)


def largest(*values):
    return max(values)


@case(F64)
def helper_with_keywords(i, x):
    x[i] = configured(x[i], factor=2.0)


def configured(v, **options):
    return v * options["factor"]


class Point:
    pass


@case(F64)
def class_called(i, x):
    p = Point()
    x[i] = p.x


# -- nested functions ---------------------------------------------------------------------------


@case(F64)
def nested_function_with_a_missing_argument(i, x):
    def scale(v, factor):
        return v * factor

    x[i] = scale(x[i])


@case(F64)
def nested_function_with_an_unknown_keyword(i, x):
    f = lambda v, factor=2.0: v * factor  # noqa: E731
    x[i] = f(x[i], scale=3.0)


@case(F64)
def nested_function_with_a_decorator(i, x):
    @np.vectorize
    def scale(v):
        return 2 * v

    x[i] = scale(x[i])


@case(F64)
def fault_in_a_nested_function(i, x):
    def scale(v):
        return v * "2"

    x[i] = scale(x[i])


@case(F64)
def nested_function_that_returns_on_some_paths(i, x):
    def root(v):
        if v > 0:
            return math.sqrt(v)

    x[i] = root(x[i])


@case(F64)
def nested_function_with_any_number_of_arguments(i, x):
    def largest(*v):
        return v[0]

    x[i] = largest(x[i])


# -- es.printf ----------------------------------------------------------------------------------


@case(F64)
def printf_without_a_format(i, x):
    es.printf()


@case(F64)
def printf_of_a_number_alone(i, x):
    es.printf(x[i])


@case(F64)
def printf_with_an_unknown_conversion(i, x):
    es.printf("%s\n", x[i])


@case(F64)
def printf_with_too_few_arguments(i, x):
    es.printf("%d: %g\n", i)


@case(F64)
def printf_with_too_many_arguments(i, x):
    es.printf("%d\n", i, x[i])


@case(F64)
def printf_of_a_float_as_an_integer(i, x):
    es.printf("%d\n", x[i])


@case(C128)
def printf_of_a_complex_number(i, z):
    es.printf("%g\n", z[i])


@case(F64)
def printf_of_a_view(i, x):
    es.printf("%g\n", x)


@case(F64)
def printf_with_an_incomplete_conversion(i, x):
    es.printf("%g 100%", x[i])


@case(F64)
def printf_with_a_star_width(i, x):
    es.printf("%*d\n", 5, i)


@case(F64)
def printf_of_an_f_string(i, x):
    es.printf(f"{i}\n")


@case(F64)
def printf_with_an_end(i, x):
    es.printf("%d", i, end="\n")


@case(F64)
def static_parameter_of_a_function(i, x):
    @es.function
    def scaled(value, by: es.static):
        return value * by

    x[i] = scaled(x[i], i)


@case(F64)
def round_a_python_number(i, x):
    x[i] = round(1.0 * i, 2)


@case(C128)
def sign_of_a_complex_number(i, z):
    z[i] = np.sign(z[i])


@case(F64)
def gcd_of_floats(i, x):
    x[i] = math.gcd(x[i], 3)


@case(F64)
def power_that_is_no_integer(i, x):
    x[i] = math.ldexp(x[i], 1.5)


@case(F64)
def remainder_of_one(i, x):
    x[i] = math.remainder(x[i])


@case(F64)
def facts_of_an_integer_type(i, x):
    x[i] = np.finfo(np.int32).max


@case(F64)
def facts_of_nothing(i, x):
    x[i] = np.iinfo()


@case(F64)
def bit_cast_of_one_argument(i, x):
    x[i] = es.bit_cast(x[i])


@case(F64)
def popcount_of_a_float(i, x):
    x[i] = es.popcount(x[i])


@case(I64)
def rotation_by_nothing(i, n):
    n[i] = es.rotl(n[i])


@case(I64)
def bit_count_with_an_argument(i, n):
    n[i] = n[i].bit_count(2)


@case(I64)
def bit_length_with_an_argument(i, n):
    n[i] = n[i].bit_length(2)


@case(C128)
def fma_of_complex_numbers(i, z):
    z[i] = es.fma(z[i], z[i], 1.0)


@case(C128)
def cube_root_of_a_complex_number(i, z):
    z[i] = np.cbrt(z[i])
