"""Kernels that do with elements of storage types what is done with numbers only."""

from __future__ import annotations

import ml_dtypes
import numpy as np

import execspace as es

from .cases import F32, Made, case


def halves(dtype="bfloat16", traits=()):
    """A View of a storage type."""
    return Made(lambda: es.View(4, dtype, label="x").with_traits(*traits))


@case(halves())
def atomic_step_on_a_bfloat16(i, x):
    es.atomic_add(x, i, 1.0)


@case(halves("float8_e5m2", ("atomic",)))
def atomic_update_of_a_float8(i, x):
    x[i] += 1.0


@case(halves(), 1j)
def complex_number_in_a_bfloat16(i, x, z):
    x[i] = z


@case(F32, 1j)
def complex_number_cast_to_bfloat16(i, x, z):
    x[i] = ml_dtypes.bfloat16(z)


@case(F32, ml_dtypes.bfloat16(1))
def bfloat16_as_an_argument(i, x, a):
    x[i] = a


@case(halves(), reduce=True, reducer=es.Max, out=Made(lambda: es.View((), es.bfloat16)))
def result_in_a_bfloat16(i, x):
    return x[i]


class Widest(es.Reducer):
    """A reducer that names a type in which nothing is computed."""

    identity = 0.0
    dtype = np.dtype(ml_dtypes.bfloat16)

    def join(self, a, b):
        return max(a, b)


@case(halves(), reduce=True, reducer=Widest())
def reducer_of_bfloat16(i, x):
    return x[i]
