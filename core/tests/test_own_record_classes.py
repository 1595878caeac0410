"""Classes of `es.Record` in plain Python: their dtypes, values, elements, and what is refused."""

import copy
import pickle

import numpy as np
import pytest

import execspace as es
from execspace.contract.dtypes import dtype_of, name_of


class Dual(es.Record):
    value: es.float64
    slope: es.float32 = 0.5

    def __add__(self, other):
        return Dual(self.value + other.value, self.slope + other.slope)

    def __rmul__(self, number):
        return Dual(number * self.value, number * self.slope)


class Tagged(es.Record):
    real: Dual
    tag: es.int8 = 1


def test_values_have_the_types_of_the_fields():
    one = Dual(1)
    assert (one.value, one.slope) == (1.0, 0.5)
    assert type(one.slope) is np.float32
    assert repr(Tagged(one)) == "Tagged(real=Dual(value=1.0, slope=0.5), tag=1)"
    assert Dual(slope=0.1, value=2).slope == np.float32(0.1)


def test_elements_of_arrays_have_the_operators_and_refer_to_the_array():
    x = np.zeros(2, Dual.dtype)
    x["value"] = [1.0, 2.0]
    assert type(x[0]) is Dual
    assert x[0] + x[1] == Dual(3.0, 0.0)
    assert np.float64(2.0) * x[1] == 2 * x[1] == Dual(4.0, 0.0)
    x[0].value = 5.0
    assert x["value"][0] == 5.0
    held = x[0].copy()
    x[0] = Dual(7.0)
    assert held.value == 5.0 and x[0] != held and x[0] != 7.0


def test_elements_of_views_are_of_the_class():
    v = es.full((2, 2), Dual(1.0), memory=es.HOST)
    assert type(v[1, 1]) is Dual and v[0, 1] == Dual(1.0)
    v[0, 0] = v[0, 1] + v[1, 1]
    v[1, 1].slope = 3.0
    assert v.to_numpy()[0, 0] == Dual(2.0, 1.0)
    assert np.asarray(v)[1, 1].slope == 3.0
    assert es.View(3, Dual, memory=es.HOST).dtype == Dual.dtype
    assert type(es.array([Dual(1.0), Dual(2.0)], memory=es.HOST)[1]) is Dual
    inner = es.full(2, Tagged(Dual(2.0)), memory=es.HOST)
    assert type(inner[1].real) is Dual


def test_dtypes_are_aligned_and_differ_from_those_of_the_same_fields():
    assert Dual.dtype.itemsize == 16
    assert Tagged.dtype.itemsize == 24 and Tagged.dtype.fields["tag"][1] == 16
    plain = np.dtype([("value", "f8"), ("slope", "f4")], align=True)
    assert plain != Dual.dtype
    assert name_of(plain) != name_of(Dual.dtype)
    assert dtype_of(name_of(Dual.dtype)).type is Dual


def test_arrays_survive_copies_pickles_and_files(tmp_path):
    x = np.array([(1.0, 2.0), (3.0, 4.0)], Dual.dtype)
    for other in (x.copy(), pickle.loads(pickle.dumps(x)), np.concatenate([x, x]), x.reshape(2, 1)):
        assert other.dtype.type is Dual
    for one in (copy.deepcopy(x[0]), pickle.loads(pickle.dumps(x[0]))):
        assert type(one) is Dual and one == x[0]
    np.save(tmp_path / "x.npy", x)
    found = np.load(tmp_path / "x.npy")
    assert type(es.view_of(found)[1]) is Dual  # which the array itself does not know
    assert es.array(found, memory=es.HOST)[1] == Dual(3.0, 4.0)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Dual(), "Dual gets no value for 'value'; its fields are value, slope"),
        (lambda: Dual(1, 2, 3), "Dual takes 2 values, got 3; its fields are value, slope"),
        (lambda: Dual(1, x=3), "Dual has no field 'x'; its fields are value, slope"),
        (lambda: Dual(1, value=3), "Dual gets two values for 'value'"),
        (lambda: es.Record(), "Record has no fields"),
    ],
)
def test_wrong_values(make, message):
    with pytest.raises(TypeError, match=message.replace("(", r"\(")):
        make()


def test_fields_are_fixed():
    with pytest.raises(AttributeError, match="Dual has no field 'other'; its fields are value"):
        Dual(1.0).other = 3


def made(**members):
    """A class of these annotations and attributes."""
    kinds = {n: members.pop(n) for n in list(members) if n.startswith("f_")}
    kinds = {n.removeprefix("f_"): k for n, k in kinds.items()}
    return type(es.Record)("Made", (es.Record,), {"__annotations__": kinds, **members})


@pytest.mark.parametrize(
    ("members", "message"),
    [
        ({"f_shape": es.int8}, "Field 'shape' of record 'Made' has a name that records use"),
        ({"f__x": es.int8}, "Field '_x' of record 'Made' has a name that records use"),
        ({"f_x": str}, "Field 'x' of record 'Made' has no type for elements"),
        ({"f_x": "nothing"}, "Record 'Made': an annotation cannot be evaluated"),
        ({"f_x": np.dtype([("a", "f4")])}, "is a structured dtype without a class"),
        ({"f_x": es.int8, "x": 300}, "Field 'x' of record 'Made' has the default 300"),
        ({"f_record_fields": es.int8}, "Field 'record_fields' of record 'Made' has a name that"),
        (
            {"f_x": es.int8, "x": property(len)},
            "Field 'x' of record 'Made' is a method or property",
        ),
        ({"f_x": es.int8, "__len__": len}, "defines __len__, which records cannot have"),
        ({"f_x": es.int8, "__iadd__": len}, "defines __iadd__, which records cannot have"),
        ({"f_x": es.int8, "__init__": len}, "defines __init__, which records cannot have"),
        ({"f_x": es.int8, "__slots__": ("y",)}, "has __slots__; expected annotated fields"),
    ],
)
def test_wrong_classes(members, message):
    with pytest.raises(es.DTypeError) as caught:
        made(**members)
    assert message in str(caught.value)


def test_classes_with_fields_are_not_extended():
    with pytest.raises(es.DTypeError, match="'More' extends a record with fields"):

        class More(Dual):
            pass


def test_a_class_without_fields_has_no_elements():
    class Base(es.Record):
        pass

    with pytest.raises(es.DTypeError):
        es.View(3, Base, memory=es.HOST)


def test_annotations_may_be_names_of_a_function():
    """As with `from __future__ import annotations`."""
    real = es.float32

    class Local(es.Record):
        x: "real"

    assert Local.dtype["x"] == real
