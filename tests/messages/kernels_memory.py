"""Kernels with wrong atomic steps, and Views with a layout of one's own used in wrong ways."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

import execspace as es

from .cases import C128, F64, F64_2, I8, I32, Array, Made, case

PACKED = np.dtype([("flag", "i1"), ("x", "f8")])
PARTICLE = np.dtype([("x", "f8"), ("v", "f4", (3,))])


def atomic(shape, dtype):
    """A View with the trait."""
    return Made(lambda: es.View(shape, dtype, label="A").with_traits("atomic"))


# -- atomic steps -------------------------------------------------------------------------------


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


@case(I32)
def atomic_division_of_integers(i, n):
    es.atomic_div(n, i, 2)


@case(F64)
def atomic_and_of_floats(i, x):
    es.atomic_and(x, i, 1)


@case(C128)
def atomic_product_of_complex_numbers(i, z):
    es.atomic_mul(z, i, 2.0)


@case(C128)
def atomic_division_of_complex_numbers(i, z):
    es.atomic_div(z, i, 2.0)


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
def remainder_is_not_atomic(i, A):
    A[i] %= 2.0


@case(atomic(4, "int32"))
def atomic_trait_and_a_wider_type(i, A):
    A[i] += 0.5


@case(atomic(4, PACKED))
def atomic_trait_and_a_field_that_is_not_aligned(i, A):
    A[i].x += 1.0


# -- layouts of one's own -----------------------------------------------------------------------


@dataclass(frozen=True)
class Blocks(es.Layout):
    def span(self, n, m):
        return n * m

    def offset(self, i, j, n, m):
        return i * m + j


@dataclass(frozen=True)
class Halves(es.Layout):
    def span(self, n):
        return n

    def offset(self, i, n):
        return i / 2


@dataclass(frozen=True)
class Listed(es.Layout):
    def span(self, n):
        return n

    def offset(self, i, n):
        return [i, n][0]


@dataclass(frozen=True)
class Short(es.Layout):
    def span(self, n, m):
        return n * m

    def offset(self, i, j):
        return i + j


def mapped(shape, layout):
    """A View with such a layout."""
    return Made(lambda: es.View(shape, layout=layout, label="A"))


@case(mapped((4, 4), Blocks()))
def subview_of_a_layout_of_ones_own(i, A):
    row = A[i, :]
    A[i, 0] = row[1]


@case(mapped((4, 4), Blocks()))
def too_few_indices_of_a_layout_of_ones_own(i, A):
    A[i] = 1.0


@case(mapped((4, 4), Blocks()))
def out_of_bounds_of_a_layout_of_ones_own(i, A):
    A[i, i + 1] = 1.0


@case(mapped(4, Halves()))
def layout_with_a_float_offset(i, A):
    A[i] = 1.0


@case(mapped(4, Listed()))
def layout_with_a_fault(i, A):
    A[i] = 1.0


@case(mapped((4, 4), Short()))
def layout_with_too_few_parameters(i, A):
    A[i, 0] = 1.0
