"""Vectors in plain Python, and their types."""

import copy
import pickle

import numpy as np
import pytest

import execspace as es

T = es.simd("float64", 4)
J = es.simd("int32", 4)


def lanes(v):
    return v.numbers.tolist()


# -- types ----------------------------------------------------------------------------------------


def test_types_are_values():
    assert es.simd(np.float64, 4) == T == es.simd(float, np.int64(4))
    assert hash(es.simd(es.float64, 4)) == hash(T)
    assert T not in (es.simd("float32", 4), es.simd("float64", 8), J, "float64")
    assert (
        repr(T) == "es.simd('float64', 4)"
        and repr(es.simd("int32")) == "es.simd('int32', 'native')"
    )
    assert pickle.loads(pickle.dumps(T)) == copy.copy(T) == T
    assert (T.width, T.dtype) == (4, np.dtype("float64"))
    with pytest.raises(AttributeError):
        T.dtype = np.dtype("int32")


@pytest.mark.parametrize("width", [0, -4, 3, 128, 4.0, True, "wide", None])
def test_other_widths_are_refused(width):
    with pytest.raises(es.DTypeError, match="expected a power of two up to 64, or 'native'"):
        es.simd("float64", width)


@pytest.mark.parametrize("dtype", ["float16", "int8", "bool", "complex128", [("x", "f8")]])
def test_other_lanes_are_refused(dtype):
    with pytest.raises(es.DTypeError, match="expected one of float32, float64, int32"):
        es.simd(dtype, 4)


# -- values ---------------------------------------------------------------------------------------


def test_making_and_converting():
    assert lanes(T(2)) == [2.0] * 4 and T(2).dtype == np.float64
    assert lanes(T.iota()) == lanes(T.of(0, 1, 2, 3)) == lanes(T.generate(lambda k: k))
    assert lanes(J(T.of(1.9, -1.9, 0, 3))) == [1, -1, 0, 3]
    assert lanes(T(T.iota() > 1)) == [0, 0, 1, 1]
    assert lanes(T.first(2)) == [True, True, False, False]
    assert repr(J.iota()) == "<0, 1, 2, 3: int32>"
    assert J.iota().size == 4
    for wrong in (lambda: T.of(1, 2), lambda: T(es.simd("float64", 2)(0)), lambda: T(np.ones(3))):
        with pytest.raises(TypeError, match="with 4 lanes is made of"):
            wrong()


def test_operators_and_functions_are_those_of_numpy():
    v, w = T.of(1, -2, 3, 0), J.of(2, 2, 2, 2)
    a, b = v.numbers, w.numbers
    with np.errstate(all="ignore"):
        for found, right in (
            (v + w, a + b), (2 - v, 2 - a), (v / v, a / a), (v // 2, a // 2), (w**2, b**2),
            (w << 3, b << 3), (~w, ~b), (abs(v), abs(a)), (-v, -a), (np.sqrt(v), np.sqrt(a)),
            (np.maximum(v, w), np.maximum(a, b)), (np.clip(v, -1, 1), np.clip(a, -1, 1)),
            (np.where(v > 0, v, 7), np.where(a > 0, a, 7)), (v < w, a < b), (v >= 3, a >= 3),
            ((v > 0) & ~(v > 2), (a > 0) & ~(a > 2)),
        ):  # fmt: skip
            np.testing.assert_array_equal(found.numbers, right)
            assert found.dtype == right.dtype
    before = v
    v += 1
    assert lanes(before) == [1, -2, 3, 0] and lanes(v) == [2, -1, 4, 1]
    assert es.simd("float32", 4)(1).dtype == (es.simd("float32", 4)(1) * 0.1).dtype == np.float32


def test_memory():
    x = np.arange(10.0)
    assert lanes(T.load(x, 3)) == [3, 4, 5, 6]
    assert lanes(T.load(x, 8, T.first(2), -1)) == [8, 9, -1, -1]
    assert lanes(T.gather(x[::-1], J.of(0, 2, 4, 6))) == [9, 7, 5, 3]
    T.load(x, 0).store(x, 6)
    T(50).store(x, 0, T.iota() > 2)
    J.iota().scatter(x, J.of(4, 5, 5, 4), J.iota() < 3)
    assert x.tolist() == [0, 1, 2, 50, 0, 2, 0, 1, 2, 3]
    A = es.zeros(6, memory=es.HOST)
    T.iota().store(A, 2)
    assert lanes(T.load(A, 1)) == [0, 0, 1, 2]


def test_reductions():
    v = T.of(1, 2, 3, 4)
    assert (v.sum(), v.prod(), v.min(), v.max()) == (10, 24, 1, 4)
    assert (v.sum(v > 2), v.prod(v < 0), v.min(v > 9), v.max(v > 9)) == (7, 1, np.inf, -np.inf)
    assert J.iota().min(J.iota() < 0) == 2**31 - 1
    m = v > 2
    assert (m.any(), m.all(), m.none(), m.count()) == (True, False, False, 2)
    assert v[0] == 1 and v[-1] == 4
    x = np.random.default_rng(0).normal(size=4)
    assert T.load(x, 0).sum() == (x[0] + x[2]) + (x[1] + x[3])


def test_what_kernels_refuse_is_refused():
    v = T.iota()
    with pytest.raises(TypeError, match="4 and 8 lanes do not mix"):
        v + es.simd("float64", 8)(1)
    with pytest.raises(TypeError, match=r"mask.any\(\) or mask.all\(\)"):
        bool(v > 1)
    with pytest.raises(TypeError, match="a mask has no add"):
        (v > 1) + (v > 2)
    with pytest.raises(TypeError, match="lanes cannot be assigned"):
        v[0] = 1
    with pytest.raises(TypeError, match="no sequence"):
        list(v)
    with pytest.raises(TypeError, match="expected a mask"):
        v.any()
    with pytest.raises(TypeError, match="a mask has any, all"):
        (v > 1).sum()
    with pytest.raises(TypeError, match="need as many indices"):
        T.gather(np.zeros(9), es.simd("int32", 2)(0))
    with pytest.raises(TypeError, match="need a mask of as many"):
        v.store(np.zeros(9), 0, es.simd("int32", 2).first(1))
    with pytest.raises(TypeError):
        np.add.reduce(v)
    with pytest.raises(TypeError):
        v @ v
    with pytest.raises(TypeError):
        np.concatenate([v, v])
    with pytest.raises(TypeError):
        v + "text"
