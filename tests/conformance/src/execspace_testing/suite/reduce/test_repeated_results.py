"""Reductions of one number that come again and again: each result is that of its own launch."""

from __future__ import annotations

import struct

import numpy as np
import pytest

import execspace as es

# Bits that say nothing, and some by which a space may tell that a result is not there yet.
WORDS = [0, 1, 0x7FF9_5EED_0BAD_5EED, 0x7FF8_0000_0000_0000, 0xFFFF_FFFF_FFFF_FFFF, 1 << 63]
HALVES = [0, 1, 0x7FC1_5EED, 0x7FC0_0000, 0xFFFF_FFFF, 1 << 31]


def element(i, x):
    return x[i]


def total(space, n, x, reducer=es.Sum):
    return es.parallel_reduce(es.RangePolicy(n, space=space), element, x, reducer=reducer)


@pytest.mark.parametrize("kind", ["i8", "u8", "f8", "i4", "u4", "f4"])
def test_a_result_may_have_any_bits(space, kind):
    size = np.dtype(kind).itemsize
    values = np.array(WORDS if size == 8 else HALVES, f"u{size}").view(kind)
    x = es.zeros(1, kind, space=space)
    for _ in range(2):
        for value in values:
            es.deep_copy(x, value)
            found = total(space, 1, x, es.Max if kind[0] != "f" else es.Sum)
            if kind[0] == "f":
                assert np.array_equal(found, value, equal_nan=True), (found, value)
            else:
                assert found == int(value)


@pytest.mark.parametrize("n", [1, 2, 31, 64, 127, 128, 129, 1000, 1025, 100_000])
def test_each_result_is_that_of_its_launch(space, n):
    x = es.zeros(n, np.int64, space=space)
    for step in range(20):
        es.deep_copy(x, step)
        assert total(space, n, x) == step * n
        assert total(space, 0, x) == 0


def test_a_long_reduction_is_waited_for(space):
    def slow(i, rounds):
        s = 1.0
        for _ in range(rounds):
            s = s * 0.5 + 0.5
        return s

    for rounds in (1, 10, 200_000 if space.name.partition(":")[0] != "oracle" else 200):
        on = es.RangePolicy(8, space=space)
        assert es.parallel_reduce(on, slow, rounds) == 8.0


def test_what_a_kernel_stores_is_there_when_its_result_is(space):
    """In memory that the host reaches, too, where a space has such."""

    def store(i, x, k):
        x[i] = k
        return 1

    kinds = [kind for m in space.memory_spaces for kind in m.kinds if m.host_accessible]
    memory = "shared" if "shared" in kinds else None
    if memory is None:
        pytest.skip("the host reaches no memory of the space")
    x = es.zeros(5000, np.int64, space=space, memory=memory)
    for k in range(20):
        assert es.parallel_reduce(es.RangePolicy(5000, space=space), store, x, k) == 5000
        assert (np.asarray(x) == k).all()


def test_small_floats_come_as_they_are(space):
    x = es.zeros(1, np.float32, space=space)
    for value in (1e-45, -0.0, 3.4e38, float("inf")):
        es.deep_copy(x, value)
        found = total(space, 1, x, es.Max)
        stored = np.float32(value)
        assert struct.pack("f", found) == struct.pack("f", stored) or (value == 0 and found == 0)
