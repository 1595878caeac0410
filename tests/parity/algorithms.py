"""Rows of random numbers and sorting, and of the algorithms of C++ that change elements.

Those that only read, and those of teams, are in algorithms_reading.py.
"""

from __future__ import annotations

import numpy as np

import execspace as es
from execspace import algorithms as alg
from parity.table import row

RANDOM, STD = "1.4 Random numbers, sorting", "1.5 Algorithms of C++"


@row(RANDOM, "Random_XorShift64_Pool, Random_XorShift1024_Pool", "z = es.random_normal(seed, i)")
def random_numbers(space: es.ExecutionSpace) -> None:
    """TestRandom: moments, a histogram, and the same numbers on every space."""
    n, seed = 4000, 931

    def moments(i, seed):
        x = es.random_uniform(seed, i)
        z = es.random_normal(seed, i)
        return x, x * x, z, z * z, z * z * z

    n1, n2, m1, m2, m3 = np.array(es.parallel_reduce(n, moments, seed, reducer=(es.Sum,) * 5)) / n
    assert abs(n1 - 0.5) < 0.02 and abs(n2 - 1 / 3) < 0.02
    assert abs(m1) < 0.06 and abs(m2 - 1) < 0.1 and abs(m3) < 0.25
    bins = es.View(10, es.int64)
    es.parallel_for(n, lambda i, bins, seed: fall(bins, es.random_uniform(seed, i)), bins, seed)
    chi2 = ((bins.to_numpy() - n / 10) ** 2 / (n / 10)).sum()
    assert chi2 < 30
    out = es.View(3)
    es.parallel_for(3, lambda i, out: keep(out, i, es.random_uniform(5374857, i, 1)), out)
    assert out.to_numpy().tolist() == [es.random_uniform(5374857, i, 1) for i in range(3)]


def fall(bins, x):
    es.atomic_inc(bins, int(10 * x))


def keep(out, i, x):
    out[i] = x


@row(
    RANDOM,
    "rand, urand, urand64, frand, drand, normal",
    "die = es.random_integer(seed, i, 1, 7)",
)
def generator_calls(space: es.ExecutionSpace) -> None:
    def kernel(i, seed, out):
        die = es.random_integer(seed, i, 1, 7)
        low, high = -2.0, 3.0
        drawn = low + (high - low) * es.random_uniform(seed, i, 1)
        bits = es.random_uint64(seed, i) >> es.uint64(32)
        out[i, 0], out[i, 1] = die, drawn
        out[i, 2] = bits == es.random_uint32(seed, i)
        out[i, 3] = es.random_uniform32(seed, i)
        out[i, 4] = 10 + 0.5 * es.random_normal(seed, i)

    out = es.View((1000, 5))
    es.parallel_for(1000, kernel, 7, out)
    dice, drawn, same, small, normal = out.to_numpy().T
    assert set(dice) == {1, 2, 3, 4, 5, 6} and same.all()
    assert drawn.min() >= -2 and drawn.max() < 3 and 0 <= small.min() < small.max() < 1
    assert abs(normal.mean() - 10) < 0.06


@row(RANDOM, "fill_random", "es.fill_random(a, seed, 2.0, 5.0)")
def fill_random(space: es.ExecutionSpace) -> None:
    seed = 2024
    for layout in ("right", "left"):
        a = es.View((20, 50), layout=layout)
        es.fill_random(a, seed, 2.0, 5.0)
        found = a.to_numpy()
        assert found.min() >= 2 and found.max() < 5 and abs(found.mean() - 3.5) < 0.1
        assert found[1, 2] == 2 + 3 * es.random_uniform(seed, 52)
    n = es.View(100, es.int8)
    es.fill_random(n, seed, 1, 7)
    assert set(n.to_numpy()) == {1, 2, 3, 4, 5, 6}


@row(RANDOM, "sort, of a part, with a comparator", "es.sort(a, less=lambda p, q: abs(p) < abs(q))")
def sort(space: es.ExecutionSpace) -> None:
    """TestSort, TestSortCustomComp."""
    x = np.random.default_rng(3).normal(size=2000)
    x[::97] = np.nan
    a = es.array(x)
    es.sort(a, begin=100, end=900)
    np.testing.assert_array_equal(a.to_numpy(), [*x[:100], *np.sort(x[100:900]), *x[900:]])
    es.sort(a)
    np.testing.assert_array_equal(a.to_numpy(), np.sort(x))
    x = np.random.default_rng(3).permutation(999) - 499.25
    a = es.array(x)
    es.sort(a, less=lambda p, q: abs(p) < abs(q))
    assert a.to_numpy().tolist() == sorted(x, key=abs)
    es.sort(a, descending=True)
    assert a.to_numpy().tolist() == sorted(x, reverse=True)


@row(RANDOM, "sort_by_key", "es.sort_by_key(keys, values, rows)")
def sort_by_key(space: es.ExecutionSpace) -> None:
    """TestSortByKey: stable, of values of any rank."""
    k = np.random.default_rng(4).integers(0, 50, 1000)
    keys, values, rows = es.array(k), es.arange(1000), es.array(np.arange(3000).reshape(1000, 3))
    es.sort_by_key(keys, values, rows)
    order = np.argsort(k, kind="stable")
    assert (keys.to_numpy() == k[order]).all() and (values.to_numpy() == order).all()
    assert (rows.to_numpy() == 3 * order[:, None] + np.arange(3)).all()


@row(
    RANDOM,
    "BinSort, BinOp1D, BinOp3D",
    "order = es.argsort(number)",
    there="part",
    reason="`BinSort`",
)
def bin_sort(space: es.ExecutionSpace) -> None:
    """TestBinSortA: particles by cells of three dimensions; offsets, counts, the permutation."""

    def cell(i, x, number):
        a, b, c = int(4 * x[i, 0]), int(4 * x[i, 1]), int(4 * x[i, 2])
        number[i] = (a * 4 + b) * 4 + c

    x = np.random.default_rng(5).random((2000, 3))
    points, number = es.array(x), es.View(2000, es.int64)
    es.parallel_for(2000, cell, points, number)
    order = es.argsort(number)
    counts, _ = es.histogram(number, 64, (0, 64))
    offsets = es.View(64, es.int64)
    alg.exclusive_scan(counts, offsets)
    expected = (np.floor(4 * x).astype(int) * [16, 4, 1]).sum(1)
    assert (order.to_numpy() == np.argsort(expected, kind="stable")).all()
    bins = np.bincount(expected, minlength=64)
    assert (counts.to_numpy() == bins).all()
    assert (offsets.to_numpy() == np.cumsum(bins) - bins).all()


@row(RANDOM, "sort_team, sort_by_key_team, sort_thread", "alg.team.sort(team, a[row, :])")
def nested_sort(space: es.ExecutionSpace) -> None:
    """TestNestedSort."""

    def kernel(team, a, keys, values):
        row = team.league_rank
        alg.team.sort(team, a[row, :])
        alg.team.sort_by_key(team, keys[row, :], values[row, :])

    rng = np.random.default_rng(6)
    x, k = rng.normal(size=(5, 37)), np.array([rng.permutation(37) for _ in range(5)])
    a, keys, values = es.array(x), es.array(k), es.array(10 * k)
    es.parallel_for(es.TeamPolicy(5, "auto"), kernel, a, keys, values)
    assert (a.to_numpy() == np.sort(x)).all()
    assert (keys.to_numpy() == np.arange(37)).all()
    assert (values.to_numpy() == 10 * np.arange(37)).all()


# -- algorithms of C++ that change elements -------------------------------------------------------


def numbers() -> np.ndarray:
    """Of which many are equal."""
    return np.random.default_rng(7).integers(0, 6, 200)


def odd(v):
    return v % 2 == 1


@row(STD, "for_each, for_each_n", "alg.for_each(a, lambda v: v + 1)")
def for_each(space: es.ExecutionSpace) -> None:
    x = numbers()
    a = es.array(x)
    alg.for_each(a, lambda v: v + 1)
    alg.for_each_n(a, 50, lambda v: 10 * v)
    assert a.to_numpy().tolist() == [*(10 * (x[:50] + 1)), *(x[50:] + 1)]


@row(STD, "fill, fill_n", "alg.fill_n(a, 3, 7)")
def fill(space: es.ExecutionSpace) -> None:
    a = es.View(5, es.int64)
    alg.fill(a, 2)
    alg.fill_n(a, 3, 7)
    assert a.to_numpy().tolist() == [7, 7, 7, 2, 2]


@row(STD, "generate, generate_n", "alg.generate(a, lambda i: i * i)")
def generate(space: es.ExecutionSpace) -> None:
    a = es.View(5, es.int64)
    alg.generate(a, lambda i: i * i)
    alg.generate_n(a, 2, lambda: -1)
    assert a.to_numpy().tolist() == [-1, -1, 4, 9, 16]


@row(STD, "transform", "alg.transform(a, b, c, lambda v, w: v * w)")
def transform(space: es.ExecutionSpace) -> None:
    x = numbers()
    a, b, c = es.array(x), es.View(200, es.int64), es.View(200, es.int64)
    alg.transform(a, b, lambda v: v - 3)
    alg.transform(a, b, c, lambda v, w: v * w)
    assert (c.to_numpy() == x * (x - 3)).all()


@row(STD, "replace, replace_if", "alg.replace_if(a, odd, -1)")
def replace(space: es.ExecutionSpace) -> None:
    x = numbers()
    a = es.array(x)
    alg.replace(a, 2, 20)
    alg.replace_if(a, odd, -1)
    assert (a.to_numpy() == np.where(x == 2, 20, np.where(x % 2, -1, x))).all()


@row(STD, "replace_copy, replace_copy_if", "alg.replace_copy_if(a, b, odd, -1)")
def replace_copy(space: es.ExecutionSpace) -> None:
    x = numbers()
    a, b = es.array(x), es.View(200, es.int64)
    alg.replace_copy(a, b, 2, 20)
    assert (b.to_numpy() == np.where(x == 2, 20, x)).all()
    alg.replace_copy_if(a, b, odd, -1)
    assert (b.to_numpy() == np.where(x % 2, -1, x)).all()


@row(STD, "copy, copy_n, move", "alg.copy(a[10:], a)")
def copy(space: es.ExecutionSpace) -> None:
    """Also to the left within a View."""
    x = numbers()
    a, b, c = es.array(x), es.View(200, es.int64), es.View(200, es.int64)
    alg.copy_n(a, 50, b)
    alg.move(a, c)
    alg.copy(a[10:], a)
    assert b.to_numpy().tolist() == [*x[:50], *[0] * 150]
    assert (c.to_numpy() == x).all()
    assert a.to_numpy().tolist() == [*x[10:], *x[190:]]


@row(STD, "copy_backward, move_backward", "alg.copy_backward(a[:190], a)")
def copy_backward(space: es.ExecutionSpace) -> None:
    x = numbers()
    a, b = es.array(x), es.View(210, es.int64)
    alg.move_backward(a, b)
    alg.copy_backward(a[:190], a)
    assert b.to_numpy().tolist() == [*[0] * 10, *x]
    assert a.to_numpy().tolist() == [*x[:10], *x[:190]]


@row(STD, "copy_if", "n = alg.copy_if(a, b, odd)")
def copy_if(space: es.ExecutionSpace) -> None:
    x = numbers()
    a, b = es.array(x), es.View(200, es.int64)
    n = alg.copy_if(a, b, odd)
    assert b.to_numpy()[:n].tolist() == [v for v in x if v % 2]


@row(STD, "reverse, reverse_copy", "alg.reverse(a)")
def reverse(space: es.ExecutionSpace) -> None:
    x = numbers()
    a, b = es.array(x), es.View(200, es.int64)
    alg.reverse_copy(a, b)
    alg.reverse(a)
    assert (a.to_numpy() == x[::-1]).all() and (b.to_numpy() == x[::-1]).all()


@row(STD, "rotate, rotate_copy", "assert alg.rotate(a, 60) == 140")
def rotate(space: es.ExecutionSpace) -> None:
    x = numbers()
    a, b = es.array(x), es.View(200, es.int64)
    alg.rotate_copy(a, 60, b)
    assert alg.rotate(a, 60) == 140
    expected = np.roll(x, -60)
    assert (a.to_numpy() == expected).all() and (b.to_numpy() == expected).all()


@row(STD, "shift_left, shift_right", "end = alg.shift_left(a, 30)")
def shift(space: es.ExecutionSpace) -> None:
    x = numbers()
    a, b = es.array(x), es.array(x)
    end = alg.shift_left(a, 30)
    begin = alg.shift_right(b, 30)
    assert (end, begin) == (170, 30)
    assert (a.to_numpy()[:170] == x[30:]).all() and (b.to_numpy()[30:] == x[:170]).all()


@row(STD, "swap_ranges, iter_swap", "alg.swap_ranges(a, b)")
def swap_ranges(space: es.ExecutionSpace) -> None:
    a, b = es.array([1, 2, 3]), es.array([4, 5, 6, 7])
    alg.swap_ranges(a, b)
    alg.iter_swap(b, 0, b, 3)
    assert a.to_numpy().tolist() == [4, 5, 6] and b.to_numpy().tolist() == [7, 2, 3, 1]


@row(STD, "remove, remove_if", "n = alg.remove_if(a, odd)")
def remove(space: es.ExecutionSpace) -> None:
    x = numbers()
    a = es.array(x)
    n = alg.remove_if(a, odd)
    assert a.to_numpy()[:n].tolist() == [v for v in x if v % 2 == 0]
    m = alg.remove(a[:n], 4)
    assert a.to_numpy()[:m].tolist() == [v for v in x if v % 2 == 0 and v != 4]


@row(STD, "remove_copy, remove_copy_if", "n = alg.remove_copy(a, b, 4)")
def remove_copy(space: es.ExecutionSpace) -> None:
    x = numbers()
    a, b = es.array(x), es.View(200, es.int64)
    n = alg.remove_copy(a, b, 4)
    assert b.to_numpy()[:n].tolist() == [v for v in x if v != 4]
    n = alg.remove_copy_if(a, b, odd)
    assert b.to_numpy()[:n].tolist() == [v for v in x if v % 2 == 0]


@row(STD, "unique, unique_copy", "n = alg.unique(a)")
def unique(space: es.ExecutionSpace) -> None:
    x = numbers()
    firsts = [v for k, v in enumerate(x) if k == 0 or x[k - 1] != v]
    a, b = es.array(x), es.View(200, es.int64)
    assert alg.unique_copy(a, b) == len(firsts)
    n = alg.unique(a)
    assert a.to_numpy()[:n].tolist() == firsts == b.to_numpy()[:n].tolist()


@row(STD, "partition_copy", "n, m = alg.partition_copy(a, yes, no, odd)")
def partition_copy(space: es.ExecutionSpace) -> None:
    x = numbers()
    a, yes, no = es.array(x), es.View(200, es.int64), es.View(200, es.int64)
    n, m = alg.partition_copy(a, yes, no, odd)
    assert yes.to_numpy()[:n].tolist() == [v for v in x if v % 2]
    assert no.to_numpy()[:m].tolist() == [v for v in x if v % 2 == 0] and n + m == 200


@row(STD, "inclusive_scan, transform_inclusive_scan", "alg.inclusive_scan(a, b)")
def inclusive_scan(space: es.ExecutionSpace) -> None:
    x = numbers()
    a, b = es.array(x), es.View(200, es.int64)
    alg.inclusive_scan(a, b)
    assert (b.to_numpy() == np.cumsum(x)).all()
    alg.transform_inclusive_scan(a, b, es.Max, lambda v: v * v % 7)
    assert (b.to_numpy() == np.maximum.accumulate(x * x % 7)).all()


@row(STD, "exclusive_scan, transform_exclusive_scan", "alg.exclusive_scan(a, b, 5)")
def exclusive_scan(space: es.ExecutionSpace) -> None:
    x = numbers()
    a, b = es.array(x), es.View(200, es.int64)
    alg.exclusive_scan(a, b, 5)
    assert (b.to_numpy() == np.cumsum(x) - x + 5).all()
    alg.transform_exclusive_scan(a, b, 0, es.Sum, lambda v: v * v)
    assert (b.to_numpy() == np.cumsum(x * x) - x * x).all()


@row(STD, "adjacent_difference", "alg.adjacent_difference(a, b)")
def adjacent_difference(space: es.ExecutionSpace) -> None:
    x = numbers()
    a, b = es.array(x), es.View(200, es.int64)
    alg.adjacent_difference(a, b)
    assert b.to_numpy().tolist() == [x[0], *np.diff(x)]
