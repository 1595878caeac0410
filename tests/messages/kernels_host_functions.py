"""Calls of functions of the host that are refused."""

from __future__ import annotations

import ctypes

import execspace as es

from .cases import C128, F64, case


@ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double)
def _half(x):
    return x / 2


@ctypes.CFUNCTYPE(ctypes.c_longlong, ctypes.c_longlong)
def _next(n):
    return n + 1


half, following = es.host_function(_half), es.host_function(_next)
without_types = es.host_function(ctypes.CDLL(None).abs)


@case(C128)
def host_function_of_a_complex_number(i, z):
    z[i] = half(z[i])


@case(F64)
def host_function_with_two_arguments(i, x):
    x[i] = half(x[i], 2.0)


@case(F64)
def host_function_of_integers_with_a_float(i, x):
    x[i] = following(x[i])


@case(F64)
def host_function_without_types(i, x):
    x[i] = without_types(i)
