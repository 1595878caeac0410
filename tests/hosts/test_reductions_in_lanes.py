"""Reductions on hosts: the order of joins, which no number of lanes changes.

`expected` says that order once more, with NumPy.
"""

import numpy as np
import pytest

import execspace as es

LANES = (None, 1, 2, 4, 8, 16, 32, 64)
STRIP = 8192


def policy(n, lanes=None):
    return es.RangePolicy(n, space="serial", lanes=lanes)


def expected(values, running):
    """The sum of a row: strips, in each of them running values, which are joined by halves."""
    total = values.dtype.type(0)
    for start in range(0, len(values), STRIP):
        strip = values[start : start + STRIP]
        own = np.zeros(running, values.dtype)
        for k in range(0, len(strip), running):
            part = strip[k : k + running]
            own[: len(part)] += part
        while len(own) > 1:
            own = own[: len(own) // 2] + own[len(own) // 2 :]
        total = total + own[0]
    return total


@es.kernel(fma=False)
def element(i, x):
    return x[i]


@es.kernel(fma=False)
def in_branches(i, x):
    if x[i] > 0.5:
        return x[i] * 3
    v = x[i] + 1
    while v < 20:
        v = v * v + 1
    return v


def test_explain_tells_of_the_most_lanes():
    x = np.ones(9)
    told = es.explain(policy(9, 64), element, x, reducer=es.Sum()).vectorisation
    assert told[0].endswith(": 64 lanes are asked for, and there are at most 32")


@es.kernel(fma=False)
def pair(i, x):
    return x[i], x[i] - 1


def contributions(kernel, x):
    return np.array([kernel.fn(i, x) for i in range(len(x))], x.dtype)


def data(n, dtype):
    rng = np.random.default_rng(n)
    if dtype.startswith("complex"):
        return (rng.random(n) + 1j * rng.random(n)).astype(dtype)
    return rng.random(n).astype(dtype)


# Sums of float32 are joined in float64.
@pytest.mark.parametrize(
    ("dtype", "running"), [("float64", 32), ("float32", 32), ("complex128", 16), ("complex64", 16)]
)
@pytest.mark.parametrize("n", [0, 1, 31, 33, 8191, 8192, 20_001])
def test_the_order_of_a_sum_is_that_of_its_definition(dtype, running, n):
    x = data(n, dtype)
    wide = x.astype("complex128" if dtype.startswith("complex") else "float64")
    for lanes in LANES:
        assert es.parallel_reduce(policy(n, lanes), element, x) == expected(wide, running), lanes


@pytest.mark.parametrize("n", [3, 9000])
def test_a_kernel_with_loops_adds_in_the_same_order(n):
    x = data(n, "float64")
    wanted = expected(contributions(in_branches, x), 32)
    for lanes in LANES:
        assert es.parallel_reduce(policy(n, lanes), in_branches, x) == wanted, lanes


def test_two_sums_have_half_as_many_running_values_each():
    x = data(9000, "float64")
    wanted = (expected(x, 16), expected(x - 1, 16))
    for lanes in LANES:
        found = es.parallel_reduce(policy(len(x), lanes), pair, x, reducer=(es.Sum(), es.Sum()))
        assert found == wanted, lanes


REDUCERS = [
    es.Prod(), es.Min(), es.Max(), es.MinMax(), es.Sum(accuracy="high"), (es.Max(), es.Sum()),
]  # fmt: skip


@pytest.mark.parametrize("reducer", REDUCERS, ids=str)
@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "int64", "int8", "uint16"])
def test_no_number_of_lanes_changes_a_bit(reducer, dtype):
    def kernel(i, x):
        v = x[i]
        if i % 3 == 0:
            for k in range(i % 5):
                v = max(v, x[i - k])
        return v

    def both(i, x):
        return x[i], x[i]

    used = es.kernel(both if isinstance(reducer, tuple) else kernel, fma=False)
    x = (data(9001, "float64") * 9 + 1).astype(dtype)
    found = {
        repr(es.parallel_reduce(policy(len(x), lanes), used, x, reducer=reducer)) for lanes in LANES
    }
    assert len(found) == 1


@pytest.mark.parametrize("reducer", [es.MinLoc, es.MaxLoc, es.MinMaxLoc])
def test_locations_are_those_of_numpy(reducer):
    x = np.random.default_rng(3).integers(0, 50, 5000) * 1.5
    for lanes in LANES:
        found = es.parallel_reduce(
            policy(len(x), lanes), lambda i, x: (x[i], i), x, reducer=reducer()
        )
        places = (found.loc,) if reducer is not es.MinMaxLoc else (found.min_loc, found.max_loc)
        least, most = int(np.argmin(x)), int(np.argmax(x))
        wanted = {es.MinLoc: (least,), es.MaxLoc: (most,), es.MinMaxLoc: (least, most)}[reducer]
        assert places == wanted, lanes


class Composed(es.Reducer):
    """x -> a * x + b, one after the other: it does not commute."""

    identity = (1, 0)

    def join(f, g):
        return f[0] * g[0] % 10007, (f[1] * g[0] + g[1]) % 10007


def test_joins_of_ones_own_are_done_in_the_order_of_the_indices():
    def kernel(i, x):
        n = 0
        while n * n < x[i]:
            n += 1
        return n, i % 11

    x = np.random.default_rng(4).integers(0, 90, 1000)
    a, b = 1, 0
    for i in range(len(x)):
        n = int(np.ceil(np.sqrt(x[i])))
        a, b = a * n % 10007, (b * n + i % 11) % 10007
    for lanes in LANES:
        found = es.parallel_reduce(policy(len(x), lanes), kernel, x, reducer=Composed)
        assert found == (a, b), lanes


@pytest.mark.parametrize(
    ("shape", "options"),
    [((70, 3), {}), ((3, 70), {}), ((5, 6, 40), {}), ((40, 50), {"tile": (7, 9)}),
     ((4, 5, 6, 7), {}), ((90, 100), {"iterate": "left"}), ((0, 5), {}), ((300, 301), {})],
)  # fmt: skip
def test_rows_and_tiles_give_the_same_bits_in_any_lanes(shape, options):
    A = np.random.default_rng(5).random(shape)
    kernels = {
        2: lambda i, j, A: A[i, j] if A[i, j] > 0.1 else 1.0 / (A[i, j] + 1.0),
        3: lambda i, j, k, A: A[i, j, k] if A[i, j, k] > 0.1 else 1.0,
        4: lambda i, j, k, m, A: A[i, j, k, m] if A[i, j, k, m] > 0.1 else 1.0,
    }
    kernel = es.kernel(kernels[len(shape)], fma=False)
    found = set()
    for lanes in LANES:
        over = es.MDRangePolicy(shape, space="serial", lanes=lanes, **options)
        found.add(es.parallel_reduce(over, kernel, A))
    assert len(found) == 1
    exact = np.where(A > 0.1, A, 1.0 / (A + 1.0) if len(shape) == 2 else 1.0).sum()
    assert found.pop() == pytest.approx(exact, rel=1e-12)


@pytest.mark.parametrize("bad", [0, 5, 31, 32, 8200])
def test_an_assertion_that_fails_in_lanes_names_its_first_index(bad):
    def kernel(i, x):
        assert x[i] > 0
        return x[i]

    x = np.ones(9000)
    assert es.parallel_reduce(policy(9000), kernel, x) == 9000
    x[bad] = x[-1] = -1
    for lanes in LANES:
        with pytest.raises(es.KernelAssertionError, match=rf"at index {bad}\b"):
            es.parallel_reduce(policy(9000, lanes), kernel, x)
