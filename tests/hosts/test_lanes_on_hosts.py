"""Lanes on hosts: who decides, what explain says, and that lanes which are off touch nothing."""

import ctypes
import mmap
import sys

import numpy as np
import pytest

import execspace as es

HOSTS = ("serial", "openmp")


def halved(i, x, steps):
    n = 0
    v = x[i]
    while v > 1.0:
        v *= 0.5
        n += 1
    steps[i] = n


def told(lanes=None, kernel=halved, space="serial"):
    policy = es.RangePolicy(9, space=space, lanes=lanes)
    return es.explain(policy, kernel, np.ones(9), np.zeros(9, np.int64)).vectorisation


@pytest.mark.parametrize("host", HOSTS)
def test_policy_kernel_and_variable_decide_in_this_order(monkeypatch, host):
    kernel = es.kernel(lanes=8)(halved)
    assert told(2, kernel, host)[0].startswith("2 calls at a time")
    assert told(None, kernel, host)[0].startswith("8 calls at a time")
    monkeypatch.setenv("EXECSPACE_LANES", "4")
    assert told(None, kernel, host)[0].startswith("8 calls at a time")
    assert told(space=host)[0].startswith("4 calls at a time")
    monkeypatch.setenv("EXECSPACE_LANES", "1")
    assert told(space=host)[-1] == "not in lanes: one lane is asked for"


def test_the_variable_must_be_a_number_of_lanes(monkeypatch):
    monkeypatch.setenv("EXECSPACE_LANES", "three")
    with pytest.raises(
        es.ConfigError, match=r"EXECSPACE_LANES: lanes=.three.; expected .* or auto to"
    ):
        es.parallel_for(es.RangePolicy(3, space="serial"), halved, np.ones(3), np.zeros(3, int))


@pytest.mark.parametrize("lanes", [0, 3, -2, 128, True, 2.0, "4"])
def test_other_numbers_are_refused(lanes):
    for make in (
        lambda: es.RangePolicy(9, lanes=lanes),
        lambda: es.MDRangePolicy((9, 9), lanes=lanes),
    ):
        with pytest.raises(es.PolicyError, match="expected a power of two from 1 to 64, or None"):
            make()
    with pytest.raises(es.LaunchError, match=r"Kernel 'halved': lanes=.*expected a power of"):
        es.kernel(lanes=lanes)(halved)


def test_policies_show_their_lanes_and_are_told_apart_by_them():
    assert repr(es.RangePolicy(9, lanes=4)) == "RangePolicy(0, 9, lanes=4)"
    assert repr(es.MDRangePolicy((3, 4), lanes=4)) == "MDRangePolicy((0, 0), (3, 4), lanes=4)"
    assert es.RangePolicy(9, lanes=4).lanes == 4 and es.RangePolicy(9).lanes is None
    assert es.RangePolicy(9, lanes=4) != es.RangePolicy(9)


def test_kernels_that_have_no_lanes_say_why():
    def vectors(i, x, steps):
        v = es.simd(es.float64, 2)(x[i])
        if v[0] > 0.0:
            x[i] = v[1]

    def histogram(i, x, steps):
        steps[int(x[i])] += 1

    assert told(4, vectors)[-1] == "not in lanes: it computes with vectors itself"
    why = "not in lanes: lanes may change the same elements of 'steps', which it reads"
    assert told(4, histogram)[-1] == why
    policy = es.RangePolicy(9, space="serial")
    x = np.ones(9)
    lines = es.explain(policy, lambda i, x: x[i] / 3.0, x, reducer=es.Sum()).vectorisation
    assert lines[0].startswith("32 calls at a time, of neighbouring i, in lanes")

    def histogram_of(i, counts, x):
        counts[int(x[i])] += 1.0

    lines = es.explain(policy, histogram_of, x, reducer=es.Sum(shape=3)).vectorisation
    assert lines[-1] == "not in lanes: reductions to arrays do not run in lanes"


INTEGERS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]


@pytest.mark.parametrize("dtype", INTEGERS)
def test_division_by_a_number_that_is_known(dtype):
    """Without a loop over the lanes."""

    def divided(i, x, y, z):
        y[i, 0], z[i, 0] = x[i] // 8, x[i] % 8
        y[i, 1], z[i, 1] = x[i] // 7, x[i] % 7
        y[i, 2], z[i, 2] = x[i] // 1, x[i] % 1

    def negative(i, x, y, z):
        y[i, 0], z[i, 0] = x[i] // -8, x[i] % -8
        y[i, 1], z[i, 1] = x[i] // -7, x[i] % -7
        y[i, 2], z[i, 2] = x[i] // -1, x[i] % -1

    info = np.iinfo(dtype)
    some = [info.min, info.min + 1, info.max, info.max - 1, *range(max(info.min, -30), 30)]
    x = np.array(some, dtype)
    for kernel in [divided] + [negative] * (info.min < 0):
        for lanes in (1, 4, 16):
            y, z = np.zeros((len(x), 3), dtype), np.zeros((len(x), 3), dtype)
            policy = es.RangePolicy(len(x), space="serial", lanes=lanes)
            es.parallel_for(policy, kernel, x, y, z)
            sign = -1 if kernel is negative else 1
            by = np.array([8, 7, 1]) * sign
            quotients, rests = _floored(x, by)
            np.testing.assert_array_equal(y, quotients)
            np.testing.assert_array_equal(z, rests)


def _floored(x, by):
    """By Python's integers, wrapped."""
    quotients = [[int(v) // int(b) for b in by] for v in x]
    rests = [[int(v) % int(b) for b in by] for v in x]
    wrap = 1 << (8 * x.dtype.itemsize)

    def wrapped(rows):
        unsigned = f"uint{8 * x.dtype.itemsize}"
        return np.array([[n % wrap for n in row] for row in rows], unsigned).view(x.dtype)

    return wrapped(quotients), wrapped(rests)


def test_who_waits_for_others_has_no_lanes():
    """A lane would wait for another one that does not go on before it. So tokens are safe."""

    def locked(i, x, steps):
        while es.atomic_compare_exchange(steps, 0, 0, 1) != 0:
            pass
        x[i] += 1.0
        es.atomic_store(steps, 0, 0)

    why = "not in lanes: it has atomic operations in a loop that may wait for others"
    assert told(4, locked)[-1] == why
    es.parallel_for(es.RangePolicy(99, space="serial"), locked, np.zeros(99), np.zeros(9, int))


# -- memory ---------------------------------------------------------------------------------------


@pytest.fixture
def guarded():
    """``guarded(n, dtype)``: an array whose last element is the last one of a page, before one
    that must not be touched."""
    held = []

    def make(n, dtype="f8"):
        page = mmap.PAGESIZE
        area = mmap.mmap(-1, 3 * page)
        start = ctypes.addressof(ctypes.c_char.from_buffer(area))
        protect = ctypes.CDLL(None).mprotect
        for at in (start, start + 2 * page):
            assert protect(ctypes.c_void_p(at), ctypes.c_size_t(page), 0) == 0
        held.append((area, start))
        whole = np.frombuffer(area, np.uint8)[page : 2 * page].view(dtype)
        return whole[len(whole) - n :]

    yield make
    for area, start in held:
        ctypes.CDLL(None).mprotect(
            ctypes.c_void_p(start), ctypes.c_size_t(3 * mmap.PAGESIZE), 3
        )  # fmt: skip
        del area


@pytest.mark.skipif(sys.platform != "linux", reason="protects pages by mprotect")
@pytest.mark.parametrize("dtype", ["f8", "f4", "i2", "u1", "c16"])
@pytest.mark.parametrize("lanes", [4, 8, 16])
@pytest.mark.parametrize("n", [1, 7, 30])
def test_nothing_is_touched_for_lanes_that_are_off(guarded, dtype, lanes, n):
    """What is left of a range, branches of few lanes, subscripts that are wrong for the others."""

    def kernel(i, x, y, at, far):
        if i % 3 != 0:
            y[i] = x[i] + x[at[i]] if at[i] < far else x[i]
        for k in range(i % 3):
            y[i] = y[i] + x[at[i] - k - 1] if at[i] > k and at[i] < far else y[i]

    x, y, at = guarded(n, dtype), guarded(n, dtype), guarded(n, "i8")
    x[:] = np.arange(n) % 50
    at[:] = (np.arange(n) * 5) % (n + 3)  # some are beyond the end
    expected = y.copy()
    for i in range(n):
        kernel(i, x, expected, at, n)
    es.parallel_for(es.RangePolicy(n, space="serial", lanes=lanes), kernel, x, y, at, n)
    np.testing.assert_array_equal(y, expected)


def test_a_first_failure_is_told_and_nothing_stored_behind_it():
    def kernel(i, x, y):
        for _ in range(i % 4):
            assert x[i] < 20.0
        y[i] = 1.0

    x, y = np.arange(32.0), np.zeros(32)
    with pytest.raises(es.KernelAssertionError, match="at index 21"):
        es.parallel_for(es.RangePolicy(32, space="serial", lanes=8), kernel, x, y)
    assert y[21:24].tolist() == [0, 0, 0]
