"""`x.view(dtype)`: the number of another type that has the same bits, as of NumPy's scalars.

The reference is NumPy's `view` of a whole array.
"""

from __future__ import annotations

import numpy as np
import pytest

import execspace as es
from execspace_testing import staged
from execspace_testing.sizes import needs_dtype

FLOATS = {"float16": "int16", "float32": "int32", "float64": "int64"}
REALS = (0.0, -0.0, 1.0, -1.0, 1.5, -2.75, 6e-8, -6e-8, 65504.0, float("inf"), float("-inf"))


@es.kernel
def seen(i, out, x):
    out[i] = x[i].view(out.dtype)


def view_on(space, source, dtype):
    """All of an array, seen as others."""
    out = np.zeros(source.size, dtype)
    staged.parallel_for(es.RangePolicy(source.size, space=space), seen, out, source)
    return out


@pytest.mark.parametrize("to", ["signed", "unsigned"])
@pytest.mark.parametrize("dtype", FLOATS)
def test_floats_as_integers_and_back(space, dtype, to):
    needs_dtype(space, dtype)
    word = FLOATS[dtype] if to == "signed" else "u" + FLOATS[dtype]
    numbers = np.array(REALS, dtype)
    bits = view_on(space, numbers, word)
    assert bits.tolist() == numbers.view(word).tolist()
    back = view_on(space, bits, dtype)
    assert back.tobytes() == numbers.tobytes()


@pytest.mark.parametrize("dtype", ["int8", "int16", "int32", "int64"])
def test_integers_with_and_without_a_sign(space, dtype):
    limits = np.iinfo(dtype)
    numbers = np.array([limits.min, limits.min + 1, -1, 0, 1, limits.max], dtype)
    found = view_on(space, numbers, "u" + dtype)
    assert found.tolist() == numbers.view("u" + dtype).tolist()
    assert view_on(space, found, dtype).tolist() == numbers.tolist()


@es.kernel
def next_after(i, out, x):
    out[i] = (x[i].view(np.int64) + 1).view(es.float64)


def test_computed_bits(space):
    needs_dtype(space, "float64")
    numbers = np.array([1.0, 1e300, 5e-324, 0.1])
    out = np.zeros(4)
    staged.parallel_for(es.RangePolicy(4, space=space), next_after, out, numbers)
    assert out.tolist() == np.nextafter(numbers, np.inf).tolist()


@es.kernel
def of_python(i, out, factor):
    out[i] = es.float64(factor * 2).view(es.int64) + es.int32(i).view(es.uint32)


def test_numbers_of_python_have_a_type_first(space):
    needs_dtype(space, "float64")
    out = np.zeros(3, np.int64)
    staged.parallel_for(es.RangePolicy(3, space=space), of_python, out, 0.75)
    bits = int(np.float64(1.5).view(np.int64))
    assert out.tolist() == [bits, bits + 1, bits + 2]


CAPTURED = np.float64(-1.5)


class Functor:
    """A number of its own, which is read at the launch."""

    def __init__(self, number):
        self.number = number

    def __call__(self, i):
        return self.number.view(es.int64)


def test_captured_numbers(space):
    needs_dtype(space, "float64")
    one = es.RangePolicy(1, space=space)
    bits = int(CAPTURED.view(np.int64))
    assert es.parallel_reduce(one, lambda i: CAPTURED.view(es.int64)) == bits
    for number in (CAPTURED, np.float64(0.25)):
        assert es.parallel_reduce(one, Functor(number)) == int(number.view(np.int64))


@es.kernel
def between(i, out, x):
    out[i] = es.float16(x[i]).view(es.int16)


def test_float16_only_within_an_expression(space):
    needs_dtype(space, "float16")
    numbers = np.array([1.1, -2.2, 1e6, 6e-8], np.float32)
    found = np.zeros(4, np.int16)
    staged.parallel_for(es.RangePolicy(4, space=space), between, found, numbers)
    with np.errstate(over="ignore"):
        assert found.tolist() == numbers.astype(np.float16).view(np.int16).tolist()


@pytest.mark.parametrize("case", ["weak", "size", "complex", "bool", "none", "several", "text"])
def test_what_has_no_view(space, case):
    @es.kernel
    def kernel(i, out, x):
        if case == "weak":
            out[0] = (i * 2).view(es.int64)
        elif case == "size":
            out[0] = x[i].view(es.int32)
        elif case == "complex":
            out[0] = x[i].view(es.complex64).real
        elif case == "bool":
            out[0] = (x[i] > 0).view(es.uint8)
        elif case == "none":
            out[0] = x[i].view()
        elif case == "several":
            out[0] = x[i].view(es.int64, 1)
        else:
            out[0] = x[i].view("int64")

    needs_dtype(space, "float64")
    out, x = es.zeros(1, es.int64, space=space), es.zeros(2, space=space)
    with pytest.raises(es.KernelTypeError, match="view"):
        es.parallel_for(es.RangePolicy(2, space=space), kernel, out, x)
