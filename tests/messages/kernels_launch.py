"""Launches that do not fit their kernel: parameters, static ones, numbers, reductions, spaces."""

from __future__ import annotations

import functools

import numpy as np

import execspace as es

from .cases import C128, F64, F64_2, I8, U64, case


@case(F64_2, policy=es.MDRangePolicy((2, 2)))
def a_parameter_for_each_index(i, A):
    A[i] = 1.0


@case(F64)
def argument_without_a_parameter(i):
    pass


@case(F64)
def parameter_without_an_argument(i, x, factor):
    x[i] *= factor


@case(F64)
def no_parameters():
    pass


@case(F64)
def keyword_only_parameter(i, *, x):
    x[i] = 1.0


case(F64, "2.0", name="string_argument_used_as_a_number")(lambda i, x, a: a * x[i])


def scale_by(i, x, a):
    x[i] = a * x[i]


case(F64, "2.0", name="string_argument")(scale_by)
case(F64, None, name="none_argument")(scale_by)
case(F64, [1.0, 2.0], name="list_argument")(scale_by)
case(F64, {"a": 1.0}, name="dict_argument")(scale_by)
case(F64, 2**64, name="integer_argument_beyond_64_bits")(scale_by)
case(F64, np.longdouble(1.0), name="long_double_argument")(scale_by)
case(np.array(["a", "b"]), 2.0, name="array_of_strings")(scale_by)
case(np.zeros(4, "datetime64[s]"), 2.0, name="array_of_dates")(scale_by)


@case(I8, 300)
def integer_that_does_not_fit(i, n, k):
    n[i] = n[i] + k


@case(U64, -1)
def negative_integer_for_unsigned(i, u, k):
    u[i] = u[i] + k


@case(I8, 300)
def integer_that_does_not_fit_in_a_store(i, n, k):
    n[i] = k


def stencil(i, x, sign: es.static, mode: es.static = "plain"):
    if mode == "plain":
        x[i] = sign
    else:
        x[i] = x[i] + mode


case(F64, name="static_parameter_without_a_value")(stencil)
case(F64, [1, 2], name="static_list")(stencil)
case(F64, {"a": 1}, name="static_dict")(stencil)
case(F64, F64, name="static_array")(stencil)
case(F64, 1, "other", name="fault_in_a_static_branch")(stencil)
case(F64, "left", name="static_string_as_a_number")(stencil)


class Settings:
    dt = 0.5


def assigns_its_parameter(i, x, settings):
    settings = settings.dt
    x[i] = settings


case(F64, name="object_parameter_assigned")(
    functools.partial(assigns_its_parameter, settings=Settings())
)


def shifted_by(i, x, a):
    x[i] = a


case(F64, name="partial_with_an_unknown_keyword")(functools.partial(shifted_by, b=2.0))
case(F64, name="partial_with_too_many_arguments")(functools.partial(shifted_by, 1, 2, 3, 4, 5))
case(F64, name="number_instead_of_a_kernel")(3)
case(F64, name="builtin_instead_of_a_kernel")(abs)
case(F64, name="ufunc_instead_of_a_kernel")(np.sqrt)
case(F64, policy=-1, name="negative_number_of_indices")(scale_by)
case(F64, policy="4", name="string_instead_of_a_policy")(scale_by)
case(F64, policy=(4, 4), name="tuple_instead_of_a_policy")(scale_by)


# -- returning ----------------------------------------------------------------------------------


@case(F64)
def for_kernel_that_returns(i, x):
    return x[i]


@case(F64)
def for_kernel_that_returns_a_tuple(i, x):
    if i > 0:
        return x[i], 1


@case(F64, reduce=True)
def reduction_without_return(i, x):
    x[i] * 2.0


@case(F64, reduce=True)
def reduction_that_returns_nothing(i, x):
    return None


@case(F64, reduce=True)
def reduction_that_returns_on_some_paths(i, x):
    if x[i] > 0:
        return 1.0


@case(F64, reduce=True)
def reduction_with_an_empty_return(i, x):
    if x[i] > 0:
        return
    return 1.0


@case(F64, reduce=True)
def reduction_of_a_tuple(i, x):
    return x[i], 1


@case(F64, reduce=True)
def reduction_of_a_view(i, x):
    return x


@case(F64, reduce=True)
def reduction_of_a_string(i, x):
    return "x"


@case(F64, reduce=True)
def reduction_of_a_function(i, x):
    return abs


case(F64_2, reduce=True, name="reduction_of_a_subview")(lambda i, A: A[i, :])
case(F64, reduce=True, name="reduction_lambda_that_returns_none")(lambda i, x: None)
case(F64, reduce=True, name="reduction_lambda_of_a_helper_without_value")(
    lambda i, x: scale_by(i, x, 2.0)
)


def value_of(i, z):
    return z[i]


case(C128, reduce=True, reducer=es.Max, name="greatest_of_complex_contributions")(value_of)
case(C128, reduce=True, reducer=es.Sum(dtype=es.float64), name="complex_sum_in_float64")(value_of)
case(F64, reduce=True, reducer="sum", name="unknown_reducer")(value_of)
case(F64, reduce=True, reducer=sum, name="function_instead_of_a_reducer")(value_of)
case(F64, reduce=True, reducer=es.Reducer, name="base_class_as_a_reducer")(value_of)
case(F64, reduce=True, out=[0.0], name="list_as_out")(value_of)


# -- devices without float16, which test_messages.py pretends -----------------------------------


def doubled(i, x):
    x[i] = x[i] * 2


def float16_in_a_local_array(i, x):
    t = es.local(3, es.float16)
    t[0] = x[i]
    x[i] = t[0]


# -- numbers of 64 bits ---------------------------------------------------------------------------


@case(U64, 2**63)
def integer_for_unsigned_that_needs_64_bits(i, u, k):
    u[i] = u[i] + k
