"""The promotion table: NumPy's for strong types, NEP 50 for Python's numbers, no silent float64."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from execspace_compiler.ir.types import (
    BOOL,
    INDEX,
    PY_COMPLEX,
    PY_FLOAT,
    PY_INT,
    PromotionError,
    Scalar,
    arithmetic,
    promote,
    true_division,
)

STRONG = [
    Scalar(name)
    for name in (
        "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
        "float32", "float64", "complex64", "complex128",
    )
]  # fmt: skip
ALL = [*STRONG, INDEX, PY_INT, PY_FLOAT, PY_COMPLEX]


@pytest.mark.parametrize(("a", "b"), [*itertools.product(STRONG, STRONG)])
def test_strong_types_promote_as_in_numpy_or_not_at_all(a, b):
    expected = np.promote_types(a.name, b.name)
    if a.is_integer and b.is_integer and expected.kind == "f":
        with pytest.raises(PromotionError, match="no common integer type"):
            promote(a, b)
    else:
        assert promote(a, b) == Scalar(expected.name)


@pytest.mark.parametrize("strong", STRONG)
@pytest.mark.parametrize(("weak", "number"), [(PY_INT, 1), (PY_FLOAT, 1.0), (PY_COMPLEX, 1j)])
def test_pythons_numbers_are_weak_as_numpy_has_them(strong, weak, number):
    """Against NumPy itself: the type of a NumPy scalar plus a Python number."""
    if strong == BOOL and weak == PY_INT:
        assert promote(strong, weak) == PY_INT  # stays weak: True + 1 is a Python int
        return
    one = np.dtype(strong.name).type(1)
    assert promote(strong, weak).strong.name == (one + number).dtype.name


@pytest.mark.parametrize(
    ("other", "result"),
    [("int8", "int64"), ("int32", "int64"), ("uint8", "int64"), ("uint64", "uint64"),
     ("float32", "float32"), ("complex64", "complex64")],
)  # fmt: skip
def test_an_index_is_int64_among_integers_and_weak_among_floats(other, result):
    assert promote(INDEX, Scalar(other)) == Scalar(result)


@pytest.mark.parametrize(("a", "b"), [*itertools.product(ALL, ALL)])
def test_promotion_is_symmetric(a, b):
    try:
        assert promote(a, b) == promote(b, a)
    except PromotionError:
        with pytest.raises(PromotionError):
            promote(b, a)


@pytest.mark.parametrize(("a", "b", "c"), [*itertools.combinations(ALL, 3)])
def test_widening_in_any_order_ends_within_one_kind(a, b, c):
    """What the fix-point of types needs: joining again never narrows."""
    try:
        joined = promote(promote(a, b), c)
        assert promote(joined, c) == joined
    except PromotionError:
        pass
    else:
        assert promote(joined, a) == joined or joined.weak > a.weak


def test_bools_count_and_integers_divide_to_float64():
    assert arithmetic(BOOL, BOOL) == PY_INT
    assert true_division(Scalar("int32"), Scalar("int32")) == Scalar("float64")
    assert true_division(INDEX, PY_INT) == PY_FLOAT
    assert true_division(Scalar("float32"), PY_INT) == Scalar("float32")
