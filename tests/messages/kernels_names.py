"""Kernels with names, attributes and objects that mean nothing in a kernel."""

from __future__ import annotations

import math
from types import SimpleNamespace

import numpy as np

import execspace as es

from .cases import F64, I64, case

threshold = 0.5
names = [1, 2]
text = "abc"
table = {"a": 1.0}
settings = SimpleNamespace(dt=0.1, grid=SimpleNamespace(dx=0.5))


@case(F64)
def undefined_name(i, x):
    x[i] = nowhere + 1.0


@case(F64)
def misspelled_variable(i, x):
    velocity = x[i]
    x[i] = velocty


@case(F64)
def misspelled_global(i, x):
    x[i] = x[i] if x[i] > treshold else 0.0


@case(F64)
def misspelled_builtin(i, x):
    x[i] = mxa(x[i], 0.0)


@case(F64)
def forgotten_import(i, x):
    x[i] = scipy.special.erf(x[i])


@case(F64)
def misspelled_function_of_a_module(i, x):
    x[i] = math.sqroot(x[i])


@case(F64)
def misspelled_word_of_execspace(i, x):
    t = es.lokal(3)
    x[i] = t[0]


@case(F64)
def missing_attribute_of_an_object(i, x):
    x[i] = settings.dx


@case(F64)
def missing_attribute_two_levels_down(i, x):
    x[i] = settings.grid.dt


@case(F64)
def object_as_a_number(i, x):
    x[i] = settings


@case(F64)
def captured_list(i, x):
    x[i] = names[0]


@case(F64)
def captured_dict(i, x):
    x[i] = table["a"]


@case(F64)
def captured_string_as_a_number(i, x):
    x[i] = x[i] + text


@case(F64)
def module_as_a_number(i, x):
    x[i] = np


@case(F64)
def function_as_a_number(i, x):
    x[i] = math.sqrt


@case(F64)
def none_as_a_number(i, x):
    x[i] = None


@case(F64)
def method_as_a_number(i, x):
    x[i] = x.extent


@case(F64)
def method_in_a_variable(i, x):
    f = x.extent
    x[i] = f(0)


@case(F64)
def attribute_of_a_view(i, x):
    x[i] = x.mean()


@case(F64)
def numpy_attribute_of_a_view(i, x):
    x[i] = x.T[0]


@case(F64)
def attribute_of_a_number(i, x):
    x[i] = x[i].hex()


@case(F64)
def attribute_of_a_tuple(i, x):
    t = (1.0, 2.0)
    x[i] = t.count(1.0)


@case(F64)
def attribute_of_a_string(i, x):
    x[i] = len("abc".upper())


@case(F64)
def attribute_assigned(i, x):
    x.shape = (2, 2)


@case(F64)
def attribute_of_an_object_assigned(i, x):
    settings.dt = 0.5


@case(F64)
def global_array_replaced(i, x):
    names[0] = 1.0


@case(F64)
def names_with_an_underscore(i, x):
    if x[i] > 0:
        _t = 1.0
    _s = 0.0
    _s = (1.0, 2.0)
    x[i] = _t


@case(F64)
def underscore_variable_without_a_value(i, x):
    if x[i] > 0:
        _t = 1.0
    x[i] = _t


@case(F64)
def underscore_parameter_missing(i, x):
    x[i] = with_hidden(x[i])


def with_hidden(v, _n):
    return v * _n


@case(F64)
def may_have_no_value(i, x):
    if x[i] > 0:
        t = 1.0
    x[i] = t


@case(F64)
def used_before_it_has_a_value(i, x):
    x[i] = t
    t = 1.0


@case(F64)
def defined_by_itself(i, x):
    total = total + x[i]
    x[i] = total


@case(F64)
def loop_may_not_run(i, x, n: es.static = 3):
    for k in range(x.extent(0)):
        last = x[k]
    x[i] = last


@case(F64)
def nested_function_called_before_its_variable(i, x):
    def scaled(v):
        return v * factor

    x[i] = scaled(x[i])
    factor = 2.0


@case(I64)
def nested_function_used_before_its_definition(i, n):
    n[i] = twice(i)

    def twice(v):
        return 2 * v


class Model:
    def __init__(self):
        self.x = np.zeros(4)
        self.k = 2.0
        self.names = ["a"]

    def self_as_a_value(self, i):
        other = self
        self.x[i] = other.k

    def self_passed_on(self, i):
        self.x[i] = scale(self, i)

    def missing_attribute_of_self(self, i):
        self.x[i] = self.kk

    def attribute_of_self_assigned(self, i):
        self.k = 3.0

    def attribute_of_self_updated(self, i):
        self.k += 1.0

    def view_of_self_replaced(self, i):
        self.x = self.x

    def view_of_self_with_two_indices(self, i):
        self.x[i, 0] = 1.0

    def self_indexed(self, i):
        self[i] = 1.0

    def fault_in_a_method(self, i):
        self.x[i] = self.wrong_sum(i)

    def wrong_sum(self, i):
        return self.x + 1.0


def scale(model, i):
    return model.k * i


model = Model()
for method in (
    "self_as_a_value", "self_passed_on", "missing_attribute_of_self", "attribute_of_self_assigned",
    "attribute_of_self_updated", "view_of_self_replaced", "self_indexed", "fault_in_a_method",
    "view_of_self_with_two_indices",
):  # fmt: skip
    case()(getattr(model, method))


@case(F64)
def choice_of_a_number_or_a_string(i, x):
    x[i] = x[i] or text


@case(F64)
def choice_that_is_a_string(i, x):
    x[i] = text or 5.0


@case(F64)
def truth_of_a_list(i, x):
    if names:
        x[i] = 1.0


@case(F64)
def truth_of_a_list_as_an_operand(i, x):
    x[i] = names or 1.0
