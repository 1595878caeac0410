"""Reducers: identities, and the types in which contributions are joined."""

import contextlib
import gc
import math
import weakref
from typing import NamedTuple

import numpy as np
import pytest

import execspace as es
from execspace.contract.dtypes import NAMES
from execspace.reducers.base import as_reducer, reducer_key

ORDERED = [name for name in NAMES if not name.startswith("complex")]
JOIN = {es.Sum: np.add, es.Prod: np.multiply, es.Min: np.minimum, es.Max: np.maximum}


@pytest.mark.parametrize("reducer", JOIN)
@pytest.mark.parametrize("name", ORDERED)
def test_the_identity_joins_without_effect(reducer, name):
    identity = reducer().identity(name)
    kind = np.dtype(name)
    values = [0, 1] if kind.kind == "b" else [0, 1, 100]
    if kind.kind == "i":
        values += [np.iinfo(kind).min, np.iinfo(kind).max]
    if kind.kind == "f":
        values += [-np.inf, np.inf, np.finfo(kind).max]
    assert identity.dtype == kind
    for value in map(kind.type, values):
        if kind.kind != "b" or reducer in (es.Min, es.Max):
            assert JOIN[reducer](identity, value) == value


@pytest.mark.parametrize("name", ["complex64", "complex128"])
def test_complex_numbers_add_and_multiply_but_have_no_order(name):
    assert es.Sum().identity(name) == 0
    assert es.Prod().identity(name) == 1
    for reducer in (es.Min, es.Max):
        with pytest.raises(es.DTypeError, match="cannot order complex numbers; reduce abs"):
            reducer().identity(name)


def test_extremes_start_at_infinity():
    assert es.Min().identity("float32") == math.inf
    assert es.Max().identity("float64") == -math.inf
    assert es.Min().identity("uint8") == 255
    assert es.Max().identity("uint8") == 0
    assert es.Min().identity("bool")
    assert not es.Max().identity("bool")


@pytest.mark.parametrize("reducer", [es.Sum, es.Prod])
@pytest.mark.parametrize(
    ("contribution", "joined"),
    [
        ("bool", "int64"), ("int8", "int64"), ("int64", "int64"), ("uint16", "uint64"),
        ("float16", "float64"), ("float32", "float64"), ("complex64", "complex128"),
    ],
)  # fmt: skip
def test_sums_and_products_join_in_the_widest_type(reducer, contribution, joined):
    assert reducer().accumulator(contribution) == joined


@pytest.mark.parametrize("reducer", [es.Min, es.Max])
@pytest.mark.parametrize("name", ORDERED)
def test_extremes_keep_the_type_of_the_contribution(reducer, name):
    assert reducer().accumulator(name) == name


@pytest.mark.parametrize("reducer", JOIN)
def test_a_dtype_overrules(reducer):
    assert reducer(dtype=es.float32).accumulator("float64") == "float32"
    assert reducer("int16").accumulator("bool") == "int16"


def test_a_dtype_that_does_not_exist():
    with pytest.raises(es.DTypeError, match="dtype 'flaot32' does not exist"):
        es.Sum(dtype="flaot32")


def test_reducers_are_values():
    assert es.Sum() == es.Sum()
    assert es.Sum(es.float32) == es.Sum("float32") != es.Sum()
    assert es.Min() != es.Max()
    assert len({es.Sum(), es.Sum(), es.Sum("float32"), es.Prod()}) == 3


def test_reducer_argument():
    assert as_reducer(es.Max) == as_reducer(es.Max()) == es.Max()
    for spec in (sum, int, None, ["es.Sum"]):
        with pytest.raises(es.LaunchError, match=r"is not a reducer; expected es.Sum, es.Prod"):
            as_reducer(spec)
    with pytest.raises(es.LaunchError, match="No plugin registers a reducer named 'median'"):
        as_reducer("median")


# -- what tells reducers apart: equal keys share a compiled launch ---------------------------------


class Scaled(es.Reducer):
    """Its join depends on an attribute, its identity on another."""

    def __init__(self, scale, start=0.0):
        self.scale, self.start = scale, start

    def identity(self, dtype):
        return np.dtype(dtype).type(self.start)

    def join(self, a, b):
        return a + self.scale * b


def test_equal_reducers_have_equal_keys():
    assert reducer_key(es.Sum("float32")) == reducer_key(es.Sum(np.float32))
    assert reducer_key(Scaled(2.0)) == reducer_key(Scaled(2.0))
    assert reducer_key((es.Max, Scaled(2.0))) == reducer_key((es.Max, Scaled(2.0)))
    hash(reducer_key((es.Max, Scaled(2.0))))


@pytest.mark.parametrize("other", [Scaled(3.0), Scaled(2), Scaled(2.0, 1.0), es.Sum, es.Sum()])
def test_other_reducers_have_other_keys(other):
    assert reducer_key(other) != reducer_key(Scaled(2.0))


def test_a_changed_attribute_changes_the_key():
    """Of the instance, of the class, and of an array that is changed in place."""
    scaled = Scaled(2.0)
    before = reducer_key(scaled)
    scaled.scale = 4.0
    assert reducer_key(scaled) != before

    class Total(es.Reducer):
        identity = np.zeros(2)

        def join(a, b):
            return a[0] + b[0], a[1] + b[1]

    before = reducer_key(Total)
    Total.identity[1] = 1.0
    assert reducer_key(Total) != before
    Total.identity[1] = 0.0
    assert reducer_key(Total) == before
    Total.identity = np.zeros(2, np.float32)
    assert reducer_key(Total) != before


def test_a_captured_constant_changes_the_key():
    limit = 3

    class Clipped(es.Reducer):
        identity = 0

        def join(a, b):
            return min(a + b, limit)

    before = reducer_key(Clipped)
    assert reducer_key(Clipped) == before
    limit = 4
    assert reducer_key(Clipped) != before


def test_a_class_that_is_made_anew_is_the_same_reducer():
    """As a lambda that is made anew is the same kernel; what it captures tells them apart."""

    def made(limit):
        class Clipped(es.Reducer):
            identity = 0

            def join(a, b):
                return min(a + b, limit)

        return Clipped

    assert made(3) is not made(3)
    assert reducer_key(made(3)) == reducer_key(made(3))
    assert reducer_key(made(3)) != reducer_key(made(4))
    used = made(5)
    as_reducer(used)
    gone = weakref.ref(used)
    del used
    gc.collect()
    assert gone() is None


def test_equal_reducers_share_a_plan(plain):
    """Of built-in ones an instance and its equal; a changed attribute compiles again."""
    kernel = es.kernel(lambda i: i)
    policy = es.RangePolicy(4, space=plain)
    assert es.parallel_reduce(policy, kernel, reducer=es.Max()) == 3
    assert es.parallel_reduce(policy, kernel, reducer=es.Max(None)) == 3
    assert len(plain.compiled) == 1
    scaled = Scaled(2.0)
    for scale, compiled in ((2.0, 2), (2.0, 2), (5.0, 3), (2.0, 3)):
        scaled.scale = scale
        with contextlib.suppress(KeyError):  # this space knows no joins of one's own
            es.parallel_reduce(policy, kernel, reducer=scaled)
        assert len(plain.compiled) == compiled


# -- what is refused -----------------------------------------------------------------------------


def test_a_join_cannot_capture_a_view():
    weights = es.View(3, label="weights")

    class Weighted(es.Reducer):
        identity = 0.0

        def join(a, b):
            return a + b * weights[0]

    with pytest.raises(es.LaunchError, match="join captures View 'weights'"):
        reducer_key(Weighted)


def reducer_with(**members):
    return type("Odd", (es.Reducer,), {"identity": 0.0, **members})


@pytest.mark.parametrize(
    ("members", "message"),
    [
        ({}, "expected a method join\\(a, b\\), got no such function"),
        ({"join": 3}, "got a int"),
        ({"join": max}, "got a builtin_function_or_method"),
        ({"join": lambda a: a}, "got 1 parameters"),
        ({"join": lambda self, a, b, c: a}, "got 4 parameters"),
        ({"join": lambda a, b: a, "final": lambda a, b, c: a}, "expected a method final\\(a\\)"),
        ({"join": lambda a, b: a, "identity": None}, "has no identity"),
        ({"join": lambda a, b: a, "shape": 0}, "expected a positive integer"),
        ({"join": lambda a, b: a, "shape": (2, 5000)}, "at most 2048 elements"),
        ({"join": lambda a, b: a, "shape": [2]}, "expected a positive integer"),
        ({"join": lambda a, b: a, "shape": 2, "identity": (0, 0)}, "expected a number, got"),
    ],
)
def test_a_reducer_of_ones_own_is_checked(members, message):
    with pytest.raises(es.LaunchError, match=message):
        as_reducer(reducer_with(**members))


def test_a_built_in_join_cannot_be_replaced():
    with pytest.raises(es.LaunchError, match="whose join cannot be replaced; derive it"):
        as_reducer(type("Mine", (es.Sum,), {"join": lambda a, b: a}))


@pytest.mark.parametrize("shape", [0, -1, (), (2, 0), 2.5, "3", [3], (65, 32)])
def test_shapes_that_no_array_reduction_has(shape):
    with pytest.raises(es.LaunchError, match=r"es.Sum\(shape=.*\): expected a positive integer"):
        es.Sum(shape=shape)


def test_accuracy_is_checked():
    with pytest.raises(es.LaunchError, match="expected 'normal' or 'high'"):
        es.Sum(accuracy="best")
    with pytest.raises(es.LaunchError, match="cannot have accuracy='high'"):
        es.Sum(shape=2, accuracy="high")


def test_a_join_may_take_self_or_not():
    plain_join = reducer_with(join=lambda a, b: a)()
    bound_join = reducer_with(join=lambda self, a, b: a)()
    static_join = reducer_with(join=staticmethod(lambda a, b: a))()
    assert plain_join.scope("join").bound == {}
    assert bound_join.scope("join").bound == {"self": bound_join}
    assert static_join.scope("join").bound == {}


def test_results_have_the_form_of_the_identity():
    class Pair(NamedTuple):
        first: float
        rest: tuple

    record = np.zeros((), [("a", "f4"), ("b", "i8", (2,))])[()]
    as_pair = reducer_with(identity=Pair(0.0, (0, 0)))()
    as_array = reducer_with(identity=np.zeros((2, 2), np.int8))()
    as_record = reducer_with(identity=record)()
    assert as_pair.as_result((1.0, (2, 3))) == Pair(1.0, (2, 3))
    assert type(as_pair.as_result((1.0, (2, 3)))) is Pair
    assert as_array.as_result(((1, 2), (3, 4))).tolist() == [[1, 2], [3, 4]]
    assert as_array.result_shape == (2, 2)
    assert as_record.as_result((1.5, (2, 3))).tolist()[0] == 1.5
    assert as_record.as_result((1.5, (2, 3)))["b"].tolist() == [2, 3]
    last = reducer_with(identity=np.zeros(2), final=lambda a: a[0])()
    assert last.as_result(4.0) == 4.0
    assert last.result_shape is None


def test_a_launch_normalises_its_reducer_once(plain, monkeypatch):
    """When there is no plan for it; a launch with a plan looks at its key only."""
    from execspace.reducers import base as module

    checked = []
    own = module._checked
    monkeypatch.setattr(module, "_checked", lambda r: checked.append(r) or own(r))
    policy = es.RangePolicy(3, space=plain)

    class Total(es.Reducer):
        kind = "custom"
        identity = 0

        @staticmethod
        def join(a, b):
            return a + b

    class Space(type(plain)):
        def compile(self, kernel, spec):
            plan = super().compile(kernel, spec)
            plan.launch = lambda bounds, args: 0
            return plan

    policy = es.RangePolicy(3, space=Space("joins"))
    for reducer in (Total, es.Max, (es.Max, Total)):
        checked.clear()
        kernel = es.kernel(lambda i: i)
        es.parallel_reduce(policy, kernel, reducer=reducer)
        assert len(checked) == (2 if isinstance(reducer, tuple) else 1)
        checked.clear()
        es.parallel_reduce(policy, kernel, reducer=reducer)
        assert checked == []
