"""What is given in place of a policy, a reducer or a View by those who come from elsewhere."""

from __future__ import annotations

import numpy as np

import execspace as es

from .cases import F64, Made, case


def scale_by(i, x):
    x[i] *= 2.0


def value_of(i, x):
    return x[i]


case(F64, policy=range(4), name="range_instead_of_a_policy")(scale_by)
case(F64, policy=range(1, 9, 2), name="range_with_a_step_instead_of_a_policy")(scale_by)
case(F64, policy=np.zeros(4), name="array_instead_of_a_policy")(scale_by)
case(F64, reduce=True, reducer="minimum loc", name="reducer_by_a_similar_name")(value_of)
case(F64, reduce=True, reducer=np.maximum, name="ufunc_instead_of_a_reducer")(value_of)


@case(Made(lambda: [np.zeros(4), np.zeros(4)]))
def list_of_arrays_as_an_argument(i, pair):
    pair[0][i] = pair[1][i]


PAIR = (es.view_of(np.zeros(4)), np.zeros(4))


@case()
def captured_tuple_of_views(i):
    PAIR[0][i] = 1.0


class Base:
    def step(self, v):
        return v + 1.0


class Derived(Base):
    def advance(self, i, x):
        x[i] = super().step(x[i])


case(F64, name="method_of_a_base_class")(Derived().advance)
