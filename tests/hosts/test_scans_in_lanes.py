"""Scans on hosts in lanes of vectors: prefixes are those of a plain loop, to the bit."""

import numpy as np
import pytest

import execspace as es

LANES = (1, 2, 4, 8, 16, None)


def rounds(v):
    n = 0
    while v < 100.0 and n < 20:
        v = v * v + 0.5
        n += 1
    return v, n


@es.kernel(fma=False)
def plain(i, prefix, final, x, y):
    if final:
        y[i] = prefix
    return x[i]


@es.kernel(fma=False)
def of_loops(i, prefix, final, x, y):
    """All that needs the prefix stands in one branch, which reads what was computed before."""
    v, n = rounds(x[i])
    if final:
        y[i] = prefix + n
    return v


@es.kernel(fma=False)
def in_several_branches(i, prefix, final, x, y):
    if x[i] > 0.5:
        if final:
            y[i] = -prefix
        return 0.0
    k = i
    while k % 3 != 0:
        k += 1
    if final:
        y[i] = prefix * k
    return x[i] * k


@es.kernel(fma=False)
def behind_the_branch(i, prefix, final, x, y):
    v, n = rounds(x[i])
    if final:
        n = n + 1
        y[i] = prefix / n
    return v * n if not final else v * (n - 1)


@es.kernel(fma=False)
def with_array(i, prefix, final, x, y):
    a = es.local(2)
    a[0], a[1] = x[i], i
    while a[0] < 3.0:
        a[0] = a[0] + x[i] + 0.25
    if final:
        y[i] = prefix + a[1]
    return a[0]


KERNELS = [plain, of_loops, in_several_branches, behind_the_branch, with_array]


def in_turn(kernel, x, start=0.0, join=lambda a, b: a + b):
    """Prefixes and total, by CPython."""
    y, prefix = np.zeros(len(x)), np.float64(start)
    for i in range(len(x)):
        prefix = join(prefix, kernel.fn(i, prefix, True, x, y))
    return y, prefix


@pytest.mark.parametrize("n", [0, 1, 7, 16, 1003])
@pytest.mark.parametrize("kernel", KERNELS, ids=lambda k: k.name)
def test_prefixes_are_those_of_a_loop(kernel, n):
    x = np.random.default_rng(n).random(n)
    wanted, total = in_turn(kernel, x)
    for lanes in LANES:
        y = np.zeros(n)
        found = es.parallel_scan(es.RangePolicy(n, space="serial", lanes=lanes), kernel, x, y)
        np.testing.assert_array_equal(y, wanted, err_msg=f"{lanes} lanes")
        assert found == total


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda k: k.name)
def test_threads_change_borders_only_and_lanes_nothing(kernel):
    n = 20_011
    x = np.random.default_rng(n).random(n)
    wanted, total = in_turn(kernel, x)
    first = None
    for lanes in LANES:
        y = np.zeros(n)
        found = es.parallel_scan(es.RangePolicy(n, space="openmp", lanes=lanes), kernel, x, y)
        np.testing.assert_allclose(y, wanted, rtol=1e-9)
        assert found == pytest.approx(total, rel=1e-9)
        first = first or (y, found)
        np.testing.assert_array_equal(y, first[0], err_msg=f"{lanes} lanes")
        assert found == first[1]


@es.kernel(fma=False)
def of_rows(i, j, prefix, final, x, y):
    v, _ = rounds(x[i, j])
    if final:
        y[i, j] = prefix
    return v


def test_rows_follow_each_other():
    x = np.random.default_rng(3).random((7, 13))
    flat, total = in_turn(plain, np.array([rounds(v)[0] for v in x.flat]))
    for lanes in LANES:
        y = np.zeros_like(x)
        policy = es.MDRangePolicy((7, 13), space="serial", lanes=lanes)
        assert es.parallel_scan(policy, of_rows, x, y) == total
        np.testing.assert_array_equal(y.ravel(), flat)


class Affine(es.Reducer):
    """Composition of x -> a x + b, which does not commute."""

    identity = (1.0, 0.0)

    @staticmethod
    def join(f, g):
        return f[0] * g[0], f[1] * g[0] + g[1]


@es.kernel(fma=False)
def composed(i, prefix, final, x, y):
    v, n = rounds(x[i])
    if final:
        y[i] = prefix[1] + n
    return 1.0 / v, x[i]


def test_joins_of_ones_own_need_not_commute():
    x = np.random.default_rng(4).random(100)
    y = np.zeros(100)
    es.parallel_scan(es.RangePolicy(100, space="oracle"), composed, x, y, reducer=Affine)
    for lanes in LANES:
        found = np.zeros(100)
        policy = es.RangePolicy(100, space="serial", lanes=lanes)
        es.parallel_scan(policy, composed, x, found, reducer=Affine)
        np.testing.assert_allclose(found, y, rtol=1e-14)


@es.kernel(fma=False)
def counts(i, prefix, final, x, y):
    _, n = rounds(x[i])
    if final:
        y[prefix] = i
    return n > 8


def test_a_scan_of_integers_fills_a_list():
    x = np.random.default_rng(5).random(500)
    wanted = [i for i in range(500) if rounds(x[i])[1] > 8]
    for lanes in LANES:
        y = np.full(501, -1)
        policy = es.RangePolicy(500, space="serial", lanes=lanes)
        number = es.parallel_scan(policy, counts, x, y)
        assert y[: len(wanted)].tolist() == wanted and number == len(wanted)


@es.kernel(fma=False)
def asserts(i, prefix, final, x, y):
    v, n = rounds(x[i])
    assert n < 25 and x[i] >= 0
    if final:
        y[i] = prefix
    return v


def test_assertions_are_told():
    x = np.random.default_rng(6).random(50)
    for lanes in LANES:
        y = np.zeros(50)
        policy = es.RangePolicy(50, space="serial", lanes=lanes)
        x[33] = 0.5
        es.parallel_scan(policy, asserts, x, y)
        x[33] = -1
        with pytest.raises(es.KernelAssertionError, match="asserts"):
            es.parallel_scan(policy, asserts, x, y)


@es.kernel(fma=False)
def asserts_at_the_end(i, prefix, final, x, y):
    v, n = rounds(x[i])
    if final:
        assert i != 9
        y[i] = prefix + n
    return v


def test_what_follows_a_failed_assertion_is_the_same():
    x = np.random.default_rng(7).random(20)
    found = []
    for lanes in LANES:
        y = np.zeros(20)
        policy = es.RangePolicy(20, space="serial", lanes=lanes)
        with pytest.raises(es.KernelAssertionError):
            es.parallel_scan(policy, asserts_at_the_end, x, y)
        found.append(y)
    assert all((y == found[0]).all() for y in found)
    told = es.explain(policy, asserts_at_the_end, x, y, pattern="scan").vectorisation
    assert told[-1] == "not in lanes: it has assertions"


def test_explain_tells_of_lanes():
    x, y = np.zeros(100), np.zeros(100)
    policy = es.RangePolicy(100, space="serial")
    told = es.explain(policy, of_loops, x, y, pattern="scan").vectorisation
    assert any("calls at a time, of neighbouring i, in lanes" in line for line in told)
    told = es.explain(policy, plain, x, y, pattern="scan").vectorisation
    assert not any("in lanes" in line for line in told)


def before(i, prefix, final, x, y):
    if final:
        y[i] = prefix
    return x[i]


@pytest.mark.parametrize("dtype", ["int8", "uint16", "int32", "float32", "float64"])
@pytest.mark.parametrize("lanes", [2, 4])
def test_a_rest_of_one_call_stores_one_number(dtype, lanes):
    """LLVM 22 would store more, where that is narrower than the prefix."""
    for count in range(1, 2 * lanes + 2):
        x, y = np.ones(count, dtype), np.full(count + 20, 7, dtype)
        es.parallel_scan(es.RangePolicy(count, space="serial", lanes=lanes), before, x, y)
        np.testing.assert_array_equal(y, [*range(count)] + 20 * [7])
