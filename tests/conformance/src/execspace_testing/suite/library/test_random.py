"""Random numbers: known answers of Philox, the same numbers on every space, and fill_random."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest

import execspace as es
from execspace_testing import staged
from execspace_testing.sizes import fitting, needs_dtype

from .philox import POINTS, uint64
from .scaled import check_element_type

PI = ((0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344), (0xA4093822, 0x299F31D0))


# -- known answers --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("counter", "key", "expected"),
    [
        ((0,) * 4, (0,) * 2, "6627e8d5 e169c58d bc57ac4c 9b00dbd8"),
        ((2**32 - 1,) * 4, (2**32 - 1,) * 2, "408f276d 41c83b0e a20bc7c6 6d5451fd"),
        (*PI, "d16cfe09 94fdcceb 5001e420 24126ea1"),
    ],
)
def test_known_answers_of_random123(space, counter, key, expected):
    """The vectors of Random123's file kat_vectors, for philox4x32 with ten rounds."""
    given_ = np.array([*counter, *key], np.uint32)
    out = np.zeros(4, np.uint32)
    staged.parallel_for(es.RangePolicy(1, space=space), block, given_, out)
    assert " ".join(f"{word:08x}" for word in out) == expected
    assert " ".join(f"{word:08x}" for word in es.philox4x32(*counter, *key)) == expected


def block(i, c, out):
    out[0], out[1], out[2], out[3] = es.philox4x32(c[0], c[1], c[2], c[3], c[4], c[5])


# -- the same numbers everywhere ------------------------------------------------------------------


def one_of_each_family(k, seeds, indices, draws, bits, z, n):
    seed, index, draw = seeds[k], indices[k], draws[k]
    bits[k] = es.random_uint64(seed, index, draw)
    z[k] = es.random_normal(seed, index, draw)
    n[k] = es.random_integer(seed, index, -3, index, draw)


def test_numbers_are_the_same_on_every_space_and_on_the_host(space):
    n = len(POINTS)
    seeds, indices, draws = zip(*POINTS, strict=True)
    arrays = np.array(seeds, np.uint64), np.array(indices, np.int64), np.array(draws, np.uint64)
    kinds = (np.uint64, np.float64, np.int64)
    out = [np.zeros(n, kind) for kind in kinds]
    staged.parallel_for(es.RangePolicy(n, space=space), one_of_each_family, *arrays, *out)
    host = [np.zeros(n, kind) for kind in kinds]
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # NumPy's scalars warn when they wrap
        for k in range(n):
            one_of_each_family(k, seeds, indices, draws, *host)
    for got, expected in zip(out, host, strict=True):
        assert got.tobytes() == expected.tobytes()
    assert host[0].tolist() == [uint64(*point) for point in POINTS]


def test_normals_do_not_depend_on_contraction(space):
    """Not even fastmath changes a number: the arithmetic within is done as it is written."""
    n = 500
    out = np.zeros(n)

    @es.kernel(fastmath=True)
    def stores(i, out, seed):
        out[i] = es.random_normal(seed, i, i)

    staged.parallel_for(es.RangePolicy(n, space=space), stores, out, 3)
    assert out.tobytes() == np.array([es.random_normal(3, i, i) for i in range(n)]).tobytes()


def test_narrow_types_are_converted(space):
    """Indices and seeds may be of any integer type; -1 is -1 in each signed one."""
    small, seed = np.array([-1, 7], np.int8), np.array([200], np.uint8)
    out = np.zeros(2, np.uint64)

    def kernel(k, small, seed, out):
        out[k] = es.random_uint64(seed[0], small[k], small[1])

    staged.parallel_for(es.RangePolicy(2, space=space), kernel, small, seed, out)
    assert out.tolist() == [uint64(200, -1, 7), uint64(200, 7, 7)]


def test_another_seed_is_not_compiled_again(space):
    kernel = es.kernel(lambda i, out, seed: es.random_uint64(seed, i))
    policy, before = es.RangePolicy(1, space=space), len(kernel.plans)  # those of other spaces
    results = {staged.parallel_reduce(policy, kernel, 0, seed, reducer=es.Max) for seed in range(5)}
    assert len(results) == 5
    assert len(kernel.plans) == before + 1


# -- fill_random ----------------------------------------------------------------------------------

SHAPES = ((), (7,), (3, 4), (2, 3, 4))


@pytest.mark.parametrize("shape", SHAPES, ids=len)
def test_an_element_gets_the_number_of_its_linear_index(space, shape):
    expected = [es.random_uniform(9, n) for n in range(math.prod(shape))]
    for layout in ("right", "left"):
        A = es.View(shape, label="A", layout=layout, space=space)
        es.fill_random(A, 9, space=space)
        assert staged.fetch(A).ravel().tolist() == expected


def test_subviews_are_filled_and_nothing_else_is(space):
    A = es.View((6, 8), label="A", space=space)
    part = A[1:5:2, ::-3]
    es.fill_random(part, 9, space=space)
    expected = np.zeros((6, 8))
    expected[1:5:2, ::-3] = [[es.random_uniform(9, 3 * i + j) for j in range(3)] for i in range(2)]
    assert np.array_equal(staged.fetch(A), expected)


class Diagonals(es.Layout):
    """A square matrix row by row, each row turned by its number."""

    def span(self, n, m):
        return n * m

    def offset(self, i, j, n, m):
        return i * m + (i + j) % m


def test_layouts_of_ones_own(space):
    A = es.View((3, 3), layout=Diagonals(), space=space)
    es.fill_random(A, 9, space=space)
    expected = [es.random_uniform(9, n) for n in range(9)]
    assert staged.fetch(A).ravel().tolist() == expected


def test_empty_views(space):
    """They are valid, like empty ranges of policies."""
    es.fill_random(es.View((0, 3), layout="left", space=space), 9, space=space)
    es.fence()


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64, np.complex64])
def test_element_types(space, dtype):
    needs_dtype(space, dtype)
    check_element_type(dtype, space)


def test_normal_numbers_with_mean_and_deviation(space):
    z = [es.random_normal(9, n, 4) for n in range(40)]
    x = np.zeros(40, np.float32)
    staged.fill_random(x, 9, distribution="normal", mean=-3, std=0.5, draw=4, space=space)
    assert x.tolist() == [np.float32(-3 + 0.5 * value) for value in z]


# -- Kokkos' tutorial -----------------------------------------------------------------------------


def darts(i, seed, n):
    """Darts of one group that hit the quarter of a disc."""
    hits = 0
    for k in range(n):
        x = es.random_uniform(seed, i, 2 * k)
        y = es.random_uniform(seed, i, 2 * k + 1)
        if x * x + y * y <= 1.0:
            hits += 1
    return hits


def test_pi_by_darts(space):
    """Kokkos' tutorial exercise random_number, with its seed."""
    groups, n = fitting(space, 100_000, 100), 10
    hits = es.parallel_reduce(es.RangePolicy(groups, space=space), darts, 5374857, n)
    # The standard error of pi is 4 * sqrt(p * (1 - p) / darts), which is 0.0016 for a million.
    assert 4 * hits / (groups * n) == pytest.approx(math.pi, abs=4 / math.sqrt(groups * n))


def test_darts_hit_the_same_places_everywhere(space):
    policy = es.RangePolicy(100, space=space)
    assert staged.parallel_reduce(policy, darts, 5374857, 10) == sum(
        darts(i, 5374857, 10) for i in range(100)
    )
