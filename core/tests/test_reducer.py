"""Reducers: identities, and the types in which contributions are joined."""

import math

import numpy as np
import pytest

import execspace as es
from execspace.dtypes import NAMES
from execspace.reducer import as_reducer

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
        with pytest.raises(es.LaunchError, match=r"is no reducer; expected es.Sum, es.Prod"):
            as_reducer(spec)
    with pytest.raises(es.LaunchError, match="No plugin registers a reducer named 'median'"):
        as_reducer("median")
