"""Kernels with records that have operators, see `es.Record`."""

from __future__ import annotations

import execspace as es

from .cases import Made, case


class Dual(es.Record):
    value: es.float64
    slope: es.int16 = 0

    def __add__(self, other):
        return Dual(self.value + other.value, self.slope + other.slope)

    __pos__ = len


class Tagged(es.Record):
    dual: Dual
    weight: es.float32 = 1.0


class NoFields(es.Record):
    pass


def one_of(d, i):
    return d[i]


DUALS = Made(lambda: es.full(4, Dual(1.0, 2), memory=es.HOST))
TAGGED = Made(lambda: es.full(4, Tagged(Dual(1.0)), memory=es.HOST))


def refused(*args, **options):
    """As `case`, with Views of records as arguments."""
    return case(DUALS, *args, **options)


@refused()
def record_without_that_operator(i, d):
    d[i] = d[i] - d[i]


@refused()
def number_minus_a_record(i, d):
    d[i] = 1.0 - d[i]


@refused()
def sum_with_a_number_that_the_method_does_not_take(i, d):
    d[i] = d[i] + 1.0


@refused()
def negative_of_a_record(i, d):
    d[i] = -d[i]


@refused()
def operator_that_is_no_function(i, d):
    d[i] = +d[i]


@refused()
def absolute_value_of_a_record(i, d):
    d[i] = abs(d[i])


@refused()
def number_stored_in_a_record(i, d):
    d[i] = 1.0


@refused(TAGGED)
def record_of_another_class(i, d, t):
    d[i] = t[i]


@refused(TAGGED)
def number_for_an_inner_record(i, d, t):
    t[i] = Tagged(1.0)


@refused()
def record_without_a_value(i, d):
    d[i] = Dual(slope=1)


@refused()
def record_of_too_many_values(i, d):
    d[i] = Dual(1.0, 2, 3)


@refused()
def record_with_an_unknown_field(i, d):
    d[i] = Dual(1.0, scope=1)


@refused()
def record_with_a_field_given_twice(i, d):
    d[i] = Dual(1.0, value=1.0)


@refused()
def record_of_a_complex_number(i, d):
    d[i] = Dual(1j)


@refused()
def record_of_a_class_without_fields(i, d):
    NoFields()


@refused()
def record_without_that_attribute(i, d):
    d[i] = d[i].inverse()


@refused()
def copy_with_an_argument(i, d):
    d[i] = d[i].copy(1)


@refused()
def field_of_a_value_that_is_assigned(i, d):
    q = d[i] + d[i]
    q.value = 1.0


@refused()
def element_and_value_of_one_name(i, d):
    q = d[0]
    q = q + d[i]


@refused()
def choice_of_elements(i, d):
    q = d[0] if i else d[1]
    d[i] = q


@refused()
def element_that_a_helper_returns(i, d):
    d[i] = one_of(d, i)


@refused()
def truth_of_a_record(i, d):
    if d[i]:
        d[i] = Dual(1.0)


@refused()
def isinstance_of_a_number(i, d):
    d[i].value = 1.0 if isinstance(i, int) else 2.0


@refused()
def type_of_a_number(i, d):
    d[i].value = type(i)(2)
