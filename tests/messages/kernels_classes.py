"""Kernels with tuples and numbers of classes that have code of their own."""

from __future__ import annotations

from collections import namedtuple
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, NamedTuple

from .cases import F64, case


class Vector(NamedTuple):
    x: float
    y: float

    def __add__(self, other):
        return Vector(self.x + other.x, self.y + other.y)


class Doubled(namedtuple("Doubled", "x")):
    def __new__(cls, x):
        return super().__new__(cls, 2 * x)


class Metres(float):
    def __add__(self, other):
        return Metres(float(self) + 100 * other)


here, length = Vector(1.0, 2.0), Metres(1.0)


@case(F64)
def named_tuple_that_adds_in_its_own_way(i, x):
    x[i] = (here + here).x


@case(F64)
def named_tuple_with_its_own_sum_made_in_a_kernel(i, x):
    a = Vector(x[i], 1.0)
    x[i] = (a + a).x


@case(F64)
def named_tuple_with_its_own_new(i, x):
    x[i] = Doubled(x[i]).x


@case(F64)
def number_that_adds_in_its_own_way(i, x):
    x[i] = length + 1.0


case(F64, length, name="argument_that_adds_in_its_own_way")(lambda i, x, v: None)


@dataclass
class Weight:
    value: float
    size: ClassVar = staticmethod(len)

    def times(self, x):
        return self.value * x


@case(F64, Weight(2.0))
def unknown_field_of_an_object(i, x, w):
    x[i] = w.weight


@case(F64, Weight(2.0))
def item_of_an_object(i, x, w):
    x[i] = w[0]


@case(F64, Weight(2.0))
def argument_that_is_an_object_as_a_number(i, x, w):
    x[i] = w * x[i]


@case(F64, Weight(2.0))
def method_of_an_object_that_is_no_function_of_python(i, x, w):
    x[i] = w.size((1, 2))


half, few, many = Fraction(1, 2), [1], [1, 2]


@case(F64)
def fraction_that_may_equal_a_number(i, x):
    if half == x[i]:
        x[i] = 1.0


@case(F64)
def lists_that_may_become_equal(i, x):
    if few == many:
        x[i] = 1.0


@dataclass
class Row:
    value: float

    def __getitem__(self, i):
        return self.value + i


@case(F64, Row(1.0))
def slice_of_an_object(i, x, row):
    x[i] = row[0:2]
