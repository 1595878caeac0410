"""Reducers of one's own: identity, join and final over numbers, tuples, arrays and records.

A join need not be commutative where the space says that it joins in the order of the indices.
"""

from __future__ import annotations

import functools
import math
import operator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import execspace as es
from execspace_testing import staged
from execspace_testing.sizes import fitting, interpreted, needs_order

HYPOTHESIS = {
    "max_examples": 15,
    "deadline": None,
    "derandomize": True,
    "suppress_health_check": [HealthCheck.function_scoped_fixture],
}


# -- numbers ------------------------------------------------------------------------------------


class GeometricMean(es.Reducer):
    """Joins logarithms would be safer; products are what Kokkos' exercise has."""

    identity = 1.0

    def join(a, b):
        return a * b

    def final(a):
        return a**0.1


def test_geometric_mean(space):
    """Kokkos' tutorial exercise advanced_reductions: of 1.0, 1.1, ... 1.9."""
    with es.use_space(space):
        mean = staged.parallel_reduce(10, lambda i: 1 + i / 10, reducer=GeometricMean)
        nothing = staged.parallel_reduce(0, lambda i: 1 + i / 10, reducer=GeometricMean)
    assert math.isclose(mean, 1.4208006883237596, rel_tol=1e-15)
    assert nothing == 1.0


def larger(a, b):
    """A helper of a join."""
    return a if a > b else b


@dataclass
class Clipped(es.Reducer):
    """Greatest contribution up to a limit, which is a constant of the compiled join."""

    limit: int
    identity = 0

    def join(self, a, b):
        return larger(a, min(b, self.limit))


def test_a_join_may_use_attributes_and_helpers(space):
    """Another value of the attribute is another join, also for the same instance."""
    clipped = Clipped(50)
    with es.use_space(space):
        assert staged.parallel_reduce(100, lambda i: i, reducer=clipped) == 50
        clipped.limit = 70
        assert staged.parallel_reduce(100, lambda i: i, reducer=clipped) == 70
        assert staged.parallel_reduce(100, lambda i: i, reducer=Clipped(20)) == 20


class From(es.Reducer):
    """Its identity is a method, so that it can follow the type of the contributions."""

    def __init__(self, below: int) -> None:
        self.below = below

    def identity(self, dtype):
        return np.dtype(dtype).type(self.below)

    def join(self, a, b):
        return larger(a, b)


def test_an_identity_may_be_a_method(space):
    """What the method reads of `self` is read anew, too."""
    k = staged.place(space, np.arange(4, dtype=np.int16))
    with es.use_space(space):
        assert staged.parallel_reduce(4, lambda i: k[i], reducer=From(-3)) == 3
        assert staged.parallel_reduce(0, lambda i: k[i], reducer=From(-3)) == -3
        assert staged.parallel_reduce(0, lambda i: k[i], reducer=From(-5)) == -5


class Total32(es.Reducer):
    identity = 0.0
    dtype = np.float32

    def join(a, b):
        return a + b * np.float64(1)


def test_a_dtype_is_that_of_the_joined_number(space):
    """Even where the join computes in a wider type: 2**24 + 1 is not a float32."""
    with es.use_space(space):
        total = staged.parallel_reduce(2, lambda i: 2.0**24 if i == 0 else 1.0, reducer=Total32)
    assert total == 2.0**24


class Parity(es.Reducer):
    identity = False
    join = operator.xor  # replaced below: operators of Python have no source


Parity.join = lambda a, b: a ^ b


def test_a_join_may_be_a_lambda(space):
    n = fitting(space, 30_001)
    x = np.random.default_rng(1).random(n) < 0.5
    mask = staged.place(space, x)
    with es.use_space(space):
        assert staged.parallel_reduce(n, lambda i: mask[i], reducer=Parity) is bool(x.sum() % 2)


# -- tuples -------------------------------------------------------------------------------------


class Moments(NamedTuple):
    count: int
    mean: float
    squares: float


class Variance(es.Reducer):
    """Pairwise update of mean and squared deviations: Chan, Golub, LeVeque (1979)."""

    identity = Moments(0, 0.0, 0.0)

    def join(a, b):
        n = a.count + b.count
        if n == 0:
            return 0, 0.0, 0.0
        d = b.mean - a.mean
        mean = a.mean + d * b.count / n
        return n, mean, a.squares + b.squares + d * d * a.count * b.count / n

    def final(a):
        return a.mean, a.squares / max(a.count, 1)


class Sample(Variance):
    """The same without the last step: the result is a tuple of the identity's class."""

    final = None


def one(i, x):
    return 1, x[i], 0.0


def test_mean_and_variance_in_one_pass(space):
    n = fitting(space, 30_000)
    x = 1e6 + np.random.default_rng(3).normal(size=n)
    with es.use_space(space):
        mean, variance = staged.parallel_reduce(n, one, x, reducer=Variance)
        moments = staged.parallel_reduce(n, one, x, reducer=Sample)
        assert staged.parallel_reduce(0, one, x, reducer=Variance) == (0.0, 0.0)
    assert math.isclose(mean, x.mean(), rel_tol=1e-12)
    assert math.isclose(variance, x.var(), rel_tol=1e-6)
    assert type(moments) is Moments
    assert moments.count == n
    assert moments.mean == mean


class Range(es.Reducer):
    """Structures may be nested: a pair, and for how many."""

    identity = ((math.inf, -math.inf), 0)

    def join(a, b):
        (low, high), n = a
        return (min(low, b[0][0]), max(high, b[0][1])), n + b[1]


def test_nested_tuples(space):
    x = staged.place(space, np.array([3.0, -1.0, 2.0]))
    with es.use_space(space):
        found = staged.parallel_reduce(3, lambda i: ((x[i], x[i]), 1), reducer=Range)
    assert found == ((-1.0, 3.0), 3)


def test_beside_built_in_reducers(space):
    """Of mixed types, each with its own contribution and result."""
    n = fitting(space, 20_000)
    x = np.random.default_rng(3).normal(size=n)
    with es.use_space(space):
        (low_high, count), total, moments, parity, place = staged.parallel_reduce(
            n,
            lambda i, x: (((x[i], x[i]), 1), i, (1, x[i], 0.0), x[i] > 0, (x[i], i)),
            x,
            reducer=(Range, es.Sum, Variance, Parity, es.MaxLoc),
        )
    assert (low_high, count) == ((x.min(), x.max()), n)
    assert total == n * (n - 1) // 2
    assert math.isclose(moments[1], x.var(), rel_tol=1e-12)
    assert parity is bool((x > 0).sum() % 2)
    assert place == (x.max(), x.argmax())


# -- arrays and records -------------------------------------------------------------------------


class MatrixProduct(es.Reducer):
    """Product of 2 x 2 matrices of integers, which wrap: associative, not commutative."""

    identity = np.eye(2, dtype=np.int64)

    def join(a, b):
        return (
            (a[0][0] * b[0][0] + a[0][1] * b[1][0], a[0][0] * b[0][1] + a[0][1] * b[1][1]),
            (a[1][0] * b[0][0] + a[1][1] * b[1][0], a[1][0] * b[0][1] + a[1][1] * b[1][1]),
        )


def step_matrix(i, k):
    return ((k[i], 1), (1, k[i] - 2))


@settings(**HYPOTHESIS)
@given(size=st.integers(0, 40_000), seed=st.integers(0, 99))
def test_matrices_are_multiplied_in_order(space, size, seed):
    """An identity that is an array: the result is an array of its shape and dtype."""
    needs_order(space)
    size = fitting(space, size, 60)
    k = np.random.default_rng(seed).integers(-5, 6, max(size, 1))
    with es.use_space(space):
        found = staged.parallel_reduce(size, step_matrix, k, reducer=MatrixProduct)
    product = np.eye(2, dtype=object)
    for v in k[:size].tolist():
        product = (product @ np.array([[v, 1], [1, v - 2]], object)) % 2**64
    assert found.shape == (2, 2)
    assert found.dtype == np.int64
    np.testing.assert_array_equal(found.astype(np.uint64), product.astype(np.uint64))


BODY = np.dtype([("mass", "f8"), ("moment", "f8", (2,)), ("count", "i4")])


class CentreOfMass(es.Reducer):
    """A record with an array in it: kernel and join return tuples of its fields."""

    identity = np.zeros((), BODY)[()]

    def join(a, b):
        moment = a.moment[0] + b.moment[0], a.moment[1] + b.moment[1]
        return a.mass + b.mass, moment, a.count + b.count


def test_records(space):
    n = fitting(space, 20_000)
    m = np.random.default_rng(6).integers(1, 9, n).astype(float)
    with es.use_space(space):
        body = staged.parallel_reduce(
            n, lambda i, m: (m[i], (m[i] * i, -m[i]), np.int32(1)), m, reducer=CentreOfMass
        )
    assert body.dtype == BODY
    assert (body["mass"], body["count"]) == (m.sum(), n)
    assert body["moment"].tolist() == [m @ np.arange(n), -m.sum()]


class Elements(es.Reducer):
    """With a shape, identity and join are those of an element of a small array."""

    identity = 0.0
    shape = 4

    def join(a, b):
        return a + b

    def final(a):
        return a / 2


def powers(i, a):
    v = 1.0
    for j in range(4):
        a[j] += v
        v *= i


def test_an_array_of_elements(space):
    n = fitting(space, 3000)
    with es.use_space(space):
        halves = staged.parallel_reduce(n, powers, reducer=Elements)
    expected = [float(sum(i**p for i in range(n))) / 2 for p in range(4)]
    np.testing.assert_allclose(halves, expected, rtol=1e-12)


# -- joins that are not commutative ---------------------------------------------------------------


class Affine(es.Reducer):
    """Composition of x -> a * x + b, first come first applied, in wrapping integers."""

    identity = (1, 0)

    def join(f, g):
        return f[0] * g[0], f[1] * g[0] + g[1]


class LastNonZero(es.Reducer):
    identity = 0

    def join(a, b):
        return a if b == 0 else b


def ordered(i, k):
    return (k[i] % 3 + 1, k[i]), k[i]


@settings(**HYPOTHESIS)
@given(
    size=st.integers(0, 40_000), seed=st.integers(0, 99), share=st.sampled_from([0.0, 1e-4, 0.5])
)
def test_contributions_are_joined_in_the_order_of_indices(space, size, seed, share):
    needs_order(space)
    size = fitting(space, size, 60)
    rng = np.random.default_rng(seed)
    k = np.where(rng.random(size + 1) < share, rng.integers(-9, 10, size + 1), 0)
    with es.use_space(space):
        composed, last = staged.parallel_reduce(size, ordered, k, reducer=(Affine, LastNonZero))
    values = k[:size].tolist()
    a, b = 1, 0
    for v in values:
        a, b = a * (v % 3 + 1) % 2**64, (b * (v % 3 + 1) + v) % 2**64
    assert (composed[0] % 2**64, composed[1] % 2**64) == (a, b)
    assert last == next((v for v in reversed(values) if v), 0)


@pytest.mark.parametrize("iterate", ["right", "left"])
def test_rows_and_columns_are_joined_in_the_order_that_is_asked_for(space, iterate):
    needs_order(space)
    shape = (7, 11) if interpreted(space) else (150, 170)
    k = np.random.default_rng(2).integers(-9, 10, shape)
    with es.use_space(space):
        found = staged.parallel_reduce(
            es.MDRangePolicy(shape, iterate=iterate),
            lambda i, j, k: (k[i, j] % 3 + 1, k[i, j]),
            k,
            reducer=Affine,
        )
    in_order = k.ravel(order="C" if iterate == "right" else "F").tolist()
    a, b = functools.reduce(
        lambda f, v: (f[0] * (v % 3 + 1) % 2**64, (f[1] * (v % 3 + 1) + v) % 2**64),
        in_order,
        (1, 0),
    )
    assert (found[0] % 2**64, found[1] % 2**64) == (a, b)
