"""Captured objects of classes with code of their own: used as Python would, or refused."""

from __future__ import annotations

import enum
from collections import namedtuple
from typing import NamedTuple

import numpy as np
import pytest

import execspace as es

Plain = namedtuple("Plain", "x y", defaults=(1.0,))


def result(kernel, *args):
    x = np.zeros(2)
    with es.use_space("oracle"):
        es.parallel_for(2, kernel, x, *args)
    return x[1]


def member(name, base=Plain):
    return type("Own", (base,), {name: lambda self, *args: 3})


def refused(kernel, name):
    with pytest.raises(es.KernelTypeError, match=f"own '{name}' kernels"):
        result(kernel)


SPECIAL = ("__getitem__", "__len__", "__iter__", "__contains__", "__add__", "__radd__", "__eq__",
           "__ne__", "__mul__", "__bool__", "__lt__", "__reversed__", "__getattr__")  # fmt: skip


@pytest.mark.parametrize("name", SPECIAL)
def test_a_tuple_with_an_operator_of_its_own_is_refused(name):
    kind = member(name)
    held = kind(1.0, 2.0)
    bare = member(name, tuple)((1.0, 2.0))

    def captured(i, x):
        x[i] = held[0]

    def nested(i, x, pair=(1, held)):
        x[i] = pair[1][0]

    def of_no_fields(i, x):
        x[i] = bare[0]

    def made(i, x):
        x[i] = kind(x[i], 2.0)[0]

    for kernel in (captured, nested, of_no_fields, made):
        refused(kernel, name)


def test_fields_that_a_class_computes_itself_are_refused():
    class Computed(Plain):
        x = property(lambda self: 5.0)

    class Swapped(Plain):
        x, y = Plain.y, Plain.x

    for kind in (Computed, Swapped):
        held = kind(1.0, 2.0)

        def captured(i, x, held=held):
            x[i] = held.x

        def made(i, x, kind=kind):
            x[i] = kind(1.0, 2.0).x

        refused(captured, "x")
        refused(made, "x")


@pytest.mark.parametrize("name", ["__new__", "__init__"])
def test_a_class_that_makes_its_tuples_itself_is_not_called(name):
    def new(cls, x):
        return tuple.__new__(cls, (x, x * x))

    kind = type("Own", (Plain,), {name: new if name == "__new__" else lambda self, *args: None})

    def made(i, x):
        x[i] = kind(2.0, 4.0).y

    refused(made, name)
    held = kind(3.0)

    def captured(i, x):
        x[i] = held.y

    assert result(captured) == held.y  # its items are known, however they were computed


def test_fields_of_a_named_tuple_with_operators_can_be_read():
    class Vector(NamedTuple):
        x: float
        y: float

        def __add__(self, other):
            return Vector(self.x + other.x, self.y + other.y)

        def __repr__(self):
            return "a vector"

    a = Vector(3.0, 4.0)

    def fields(i, x):
        x[i] = a.x * a.y

    def added(i, x):
        x[i] = len(a + a)

    assert result(fields) == 12.0
    refused(added, "__add__")


def test_plain_subclasses_are_what_they_hold():
    class Named(Plain):
        """A class of no code that a kernel would call."""

        __slots__ = ()

        def norm(self):
            return self.x

        def __repr__(self):
            return "named"

    class Typed(NamedTuple):
        x: float
        y: float = 2.0

    held = (Named(1.0, 2.0), Plain(3.0), Typed(5.0))

    def kernel(i, x):
        a, b, c = held
        x[i] = a.x + b.y + c.y + Named(1.0, 2.0).y + len(held) + Typed(7.0, 1.0).x

    assert result(kernel) == 1.0 + 1.0 + 2.0 + 2.0 + 3 + 7.0


@pytest.mark.parametrize("base", [int, float, complex, np.float64])
@pytest.mark.parametrize("name", ["__add__", "__rmul__", "__lt__", "__bool__", "__neg__", "real"])
def test_a_number_with_an_operator_of_its_own_is_refused(base, name):
    held = member(name, base)(2)

    def kernel(i, x):
        x[i] = abs(held + 1)

    refused(kernel, name)
    if not isinstance(held, np.generic):
        with pytest.raises(es.LaunchError, match=f"its own '{name}'"):
            result(lambda i, x, v: None, held)


def test_enumerations_are_their_numbers():
    class Axis(enum.IntEnum):
        X = 1
        Y = 2

        def __str__(self):
            return "axis"

    class Flag(enum.IntFlag):
        A = 1
        B = 2

    class Level(float, enum.Enum):
        LOW = 0.5

    class Odd(enum.IntEnum):
        ONE = 1

        def __add__(self, other):
            return 7

    def kernel(i, x, axis):
        x[i] = Axis.Y * 10 + (Flag.A | Flag.B) + Level.LOW + axis

    def odd(i, x):
        x[i] = Odd.ONE + 1

    assert result(kernel, Axis.X) == 24.5
    refused(odd, "__add__")


class Answers:
    """Has whatever it is asked for."""

    def __init__(self, answer):
        self.answer = answer

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return self.answer


@pytest.mark.parametrize("answer", [2.0, 3, "text", (1.0,), None, len])
def test_an_object_that_answers_every_name_is_an_object(answer):
    held = Answers(answer)

    def kernel(i, x):
        value = held.anything
        x[i] = 1.0 if value is None or value == "text" else 2.0

    assert result(kernel) == (1.0 if answer in (None, "text") else 2.0)


def test_an_object_that_answers_every_name_with_a_function_is_no_function():
    held = Answers(lambda v: v + 1.0)

    def kernel(i, x):
        x[i] = held.anything(2.0)

    def called(i, x):
        x[i] = held(2.0)

    assert result(kernel) == 3.0
    with pytest.raises(es.KernelSyntaxError, match="'held' cannot be called"):
        result(called)


def test_an_object_whose_hash_fails_is_told_by_its_identity():
    class Unhashable:
        value = 2.0

        def __hash__(self):
            raise ValueError("no")

    held, memory = Unhashable(), memoryview(bytearray(4))

    def kernel(i, x):
        x[i] = held.value if held is not None else 0.0

    def with_memory(i, x):
        x[i] = 3.0 if memory is not None else 0.0

    assert result(kernel) == 2.0
    assert result(with_memory) == 3.0


def test_a_strict_zip_of_equal_lengths_is_a_zip():
    def kernel(i, x):
        for a, b in zip((1.0, 2.0), (3.0, 4.0), strict=True):
            x[i] += a * b
        for a, b in zip((1.0, 2.0), (3.0, 4.0, 5.0), strict=False):
            x[i] += a * b

    assert result(kernel) == 22.0


CALLS = """
sum((1.0, 2.0), start=5.0)
sum((1.0, 2.0), 5.0)
max((1.0, 2.0), key=abs)
min((1.0, 2.0), default=0.0)
int(x[i], base=2)
int("11", 2)
round(x[i], ndigits=2)
pow(2, 3, mod=5)
pow(2, 3, 5)
np.sqrt(x[i], where=False)
np.sqrt(x[i], dtype=np.float32)
np.sqrt(x[i], out=None)
np.sqrt(x[i], casting="no")
np.maximum(x[i], 1.0, None)
np.round(x[i], decimals=1)
np.clip(x[i], 0.0, 1.0, dtype=np.float32)
np.float32(x[i], dtype=None)
complex(real=1.0).real
len(tuple(enumerate((1.0, 2.0), start=1)))
len(tuple(enumerate((1.0, 2.0), 1)))
es.atomic_add(x, i, 1.0, order="none")
es.local(3, dtype=np.float64, fill=1.0)[0]
""".strip().splitlines()


@pytest.mark.parametrize("call", CALLS)
def test_keywords_that_kernels_do_not_know_are_refused(call, tmp_path):
    scope = {"np": np, "es": es}
    path = tmp_path / "calls.py"
    path.write_text(f"def kernel(i, x):\n    x[i] = {call}\n")
    exec(compile(path.read_text(), str(path), "exec"), scope)
    with pytest.raises(es.KernelError):
        result(scope["kernel"])
