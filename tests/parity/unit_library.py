"""Kokkos' unit tests of containers, algorithms, graphs and vectors: their cases and numbers."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np

import execspace as es
from parity.table import absent, row

UNIT = "Unit tests"
alg = es.algorithms


@row(
    UNIT,
    "BinSort",
    "order = es.argsort(bins)",
    there="part",
    reason="`BinSort`",
)
def bin_sort(space: es.ExecutionSpace) -> None:
    """test_3D_sort_impl, and issue 1160: a part of the keys, and what goes with them."""
    n = 9
    keys = es.zeros((n**3, 3), es.int64)
    es.fill_random(keys, 1931, 0, 100)
    before, b = keys.to_numpy(), 16  # bins in each dimension

    def bin_of(i, keys, bins, b):
        x, y, z = keys[i, 0] * b // 100, keys[i, 1] * b // 100, keys[i, 2] * b // 100
        bins[i] = (x * b + y) * b + z

    bins = es.zeros(n**3, es.int64)
    es.parallel_for(n**3, bin_of, keys, bins, b)
    order = es.argsort(bins)
    counts, _ = es.histogram(bins, b**3, (0, b**3))
    es.sort_by_key(bins, keys)
    after = keys.to_numpy()
    places = [(tuple(row)) for row in (after * b // 100).tolist()]
    assert places == sorted(places) and (after == before[order.to_numpy()]).all()
    assert after.sum() == before.sum() and counts.to_numpy().sum() == n**3

    element, x = es.array(np.arange(9, -1, -1)), es.array(np.arange(9.0, -1.0, -1.0))
    es.sort_by_key(element[3:8], x[3:8])
    assert element.to_numpy().tolist() == [9, 8, 7, 2, 3, 4, 5, 6, 1, 0]
    assert x.to_numpy().tolist() == element.to_numpy().tolist()
    info = np.iinfo(np.int64)
    ends = es.array(np.array([info.max, info.min]))
    es.sort(ends)
    assert ends.to_numpy().tolist() == [info.min, info.max]


@row(UNIT, "SortCustomComp", "es.sort(x, less=lambda a, b: a > b)")
def sort_custom_comp(space: es.ExecutionSpace) -> None:
    """Sizes 0, 1, 2, 9 and 1003, of integers and floats, also with strides."""
    for n in (0, 1, 2, 9, 1003):
        for kind, low, high in ((es.int64, -1045, 565), (es.float64, -1045.0, 565.0)):
            whole = es.zeros(3 * n, kind)
            for x in (es.zeros(n, kind), whole[::3]):
                es.fill_random(x, 12371, low, high)
                before = x.to_numpy()
                es.sort(x, less=lambda a, b: a > b)
                assert (x.to_numpy() == np.sort(before)[::-1]).all()


@row(UNIT, "NestedSort", "alg.team.sort_by_key(team, mine, values[begin:end])")
def nested_sort(space: es.ExecutionSpace) -> None:
    """Arrays of 0 to 100 elements, by teams, by threads, in both orders, with values."""

    def by_team(team, keys, values, offsets):
        i = team.league_rank
        begin, end = offsets[i], offsets[i + 1]
        mine = keys[begin:end]
        alg.team.sort_by_key(team, mine, values[begin:end])

    def descending(team, keys, offsets):
        i = team.league_rank
        alg.team.sort(team, keys[offsets[i] : offsets[i + 1]], lambda a, b: a > b)

    rng = np.random.default_rng(1931)
    lengths = rng.integers(0, 100, 40)
    starts = np.concatenate([[0], np.cumsum(lengths)])
    a, n = rng.integers(0, 1000, starts[-1]), len(lengths)
    parts = [slice(*ends) for ends in pairwise(starts)]
    offsets = es.array(starts)
    for policy in (es.TeamPolicy(n, 4), es.TeamPolicy(n, 1), es.TeamPolicy(n, "auto")):
        keys, values = es.array(a), es.arange(len(a))
        es.parallel_for(policy, by_team, keys, values, offsets)
        k, v = keys.to_numpy(), values.to_numpy()
        assert all((k[p] == np.sort(a[p])).all() for p in parts) and (a[v] == k).all()
        es.parallel_for(policy, descending, keys, offsets)
        assert all((keys.to_numpy()[p] == np.sort(a[p])[::-1]).all() for p in parts)


@row(UNIT, "StdAlgorithms* (62)", "alg.exclusive_scan(x, out, 10.0)")
def std_algorithms(space: es.ExecutionSpace) -> None:
    """A case of each file, from the host and, of some, by a team."""
    a = np.array([3.0, 1.0, 4.0, 1.0, 5.0, 9.0, 2.0, 6.0, 5.0, 3.0])
    x, out, n = es.array(a), es.zeros(10), len(a)

    def large(v):
        return v > 4

    assert alg.find(x, 5.0) == 4 and alg.find_if(x, large) == 4 and alg.find(x, 7.0) == n
    assert alg.find_if_not(x, lambda v: v < 5) == 4 and alg.adjacent_find(x) == n
    assert alg.search(x, es.array([5.0, 9.0])) == 4 and alg.find_end(x, es.array([3.0])) == 9
    assert alg.search_n(x, 1, 2.0) == 6 and alg.find_first_of(x, es.array([8.0, 9.0])) == 5
    assert (alg.count(x, 5.0), alg.count_if(x, large)) == (2, 4)
    assert alg.any_of(x, large) and not alg.all_of(x, large) and not alg.none_of(x, large)
    assert alg.equal(x, es.array(a)) and alg.mismatch(x, es.array([3.0, 1.0, 5.0])) == 2
    assert alg.lexicographical_compare(es.array([3.0, 0.0]), x)
    assert (alg.min_element(x), alg.max_element(x), alg.minmax_element(x)) == (1, 5, (1, 5))
    assert alg.reduce(x) == a.sum() and alg.transform_reduce(x, x) == (a * a).sum()
    alg.inclusive_scan(x, out)
    assert (out.to_numpy() == np.cumsum(a)).all()
    alg.exclusive_scan(x, out, 10.0)
    assert (out.to_numpy() == 10 + np.cumsum(a) - a).all()
    alg.adjacent_difference(x, out)
    assert (out.to_numpy() == np.diff(a, prepend=0)).all()
    alg.transform(x, out, lambda v: 2 * v)
    assert (out.to_numpy() == 2 * a).all()
    alg.reverse_copy(x, out)
    assert (out.to_numpy() == a[::-1]).all()
    alg.rotate_copy(x, 3, out)
    assert (out.to_numpy() == np.roll(a, -3)).all()
    assert alg.copy_if(x, out, large) == 4 and out.to_numpy()[:4].tolist() == [5, 9, 6, 5]
    assert alg.unique_copy(es.array([1.0, 1.0, 2.0, 2.0, 1.0]), out) == 3
    y = x.copy()
    assert alg.remove_if(y, large) == 6 and y.to_numpy()[:6].tolist() == [3, 1, 4, 1, 2, 3]
    y = x.copy()
    alg.replace(y, 5.0, -5.0)
    assert y.to_numpy().tolist() == [3, 1, 4, 1, -5, 9, 2, 6, -5, 3]
    y = x.copy()
    assert alg.shift_left(y, 2) == 8 and (y.to_numpy()[:8] == a[2:]).all()
    alg.fill_n(y, 3, 7.0)
    alg.swap_ranges(y[:3], y[7:])
    assert (y.to_numpy()[7:] == 7).all()
    assert not alg.is_sorted(x) and alg.is_sorted_until(x) == 1
    assert alg.is_partitioned(es.array([1, 3, 2, 4]), lambda v: v % 2 == 1)
    assert alg.partition_point(es.array([1, 3, 2, 4]), lambda v: v % 2 == 1) == 2
    assert alg.partition_copy(x, es.zeros(10), es.zeros(10), large) == (4, 6)

    def by_team(team, rows, found):
        row = rows[team.league_rank, :]
        place = alg.team.max_element(team, row)
        number = alg.team.count_if(team, row, large)
        total = alg.team.reduce(team, row)
        alg.team.reverse(team, row)
        if es.single(es.PerTeam(team)):
            i = team.league_rank
            found[i, 0], found[i, 1], found[i, 2] = place, number, total

    rows, found = es.array(np.array([a, a[::-1]])), es.zeros((2, 3))
    es.parallel_for(es.TeamPolicy(2, 4), by_team, rows, found)
    assert found.to_numpy().tolist() == [[5, 4, a.sum()], [4, 4, a.sum()]]
    assert (rows.to_numpy() == [a[::-1], a]).all()


@row(UNIT, "Graph", "end = es.when_all(f2, f3).then(1, count, n, bugs, 6, 6)")
def graph(space: es.ExecutionSpace) -> None:
    """submit_once, submit_six and when_all_cycle."""

    def count(i, n, bugs, least, most):
        bugs[()] += 1 if n[()] > most or n[()] < least else 0
        n[()] += 1

    def count_by_teams(team, n):
        if es.single(es.PerTeam(team)):
            n[()] += 1

    def store(i, n, value):
        n[()] = value

    n, bugs = (es.zeros((), es.int64).with_traits("atomic") for _ in range(2))
    once = es.Graph(space)
    once.then(1, count, n, bugs, 0, 0)
    once.submit()
    assert (n.to_numpy(), bugs.to_numpy()) == (1, 0)

    six = es.Graph(space)
    ready = es.when_all(six.then(1, store, n, 0), six.then(1, store, bugs, 0))
    ready.then(1, count, n, bugs, 0, 6)
    ready.then(es.RangePolicy(0, 1), count, n, bugs, 0, 6)
    ready.then(es.MDRangePolicy((1, 1)), lambda i, j, n: es.atomic_add(n, (), 1), n)
    ready.then(es.TeamPolicy(1, 1), count_by_teams, n)
    ready.then(2, count, n, bugs, 0, 6)
    six.submit()
    assert (n.to_numpy(), bugs.to_numpy()) == (6, 0)

    cycle, total = es.Graph(space), es.zeros((), es.int64)
    f1 = cycle.then(1, store, n, 0)
    f2 = f1.then(1, count, n, bugs, 0, 0)
    f3 = f2.then(5, count, n, bugs, 1, 5)
    end = es.when_all(f2, f3).then(1, count, n, bugs, 6, 6)
    es.when_all(f1, end, f3).then_reduce(6, lambda i, n: n[()], n, out=total)
    for _ in range(3):
        cycle.submit()
        assert (n.to_numpy(), bugs.to_numpy(), total.item()) == (7, 0, 42)


@row(UNIT, "OffsetView", 'ov = es.OffsetView((-1, -2), (4, 3), label="firstOV")')
def offset_view(space: es.ExecutionSpace) -> None:
    ov = es.OffsetView((-1, -2), (4, 3), label="firstOV")
    assert ov.label == "firstOV" and ov.rank == 2 and ov.shape == (5, 5)
    assert (ov.begin(0), ov.end(0), ov.begin(1), ov.end(1)) == (-1, 4, -2, 3)

    def store(i, j, ov):
        ov[i, j] = 9

    policy = es.MDRangePolicy((-1, -2), (4, 3))
    es.parallel_for(policy, store, ov)
    assert es.parallel_reduce(policy, lambda i, j, ov: ov[i, j], ov) == 9 * 25
    view = es.ones((10, 20, 30))
    three = es.OffsetView.of(view, (-10, -20, -30))
    part = es.MDRangePolicy((-10, -20, -30), (0, 0, 0))
    assert es.parallel_reduce(part, lambda i, j, k, o: o[i, j, k], three) == 6000
    cut = es.OffsetView.of(ov.view[1:, :], (0, -2))
    assert cut.shape == (4, 5) and (cut.view.to_numpy() == 9).all()


@row(UNIT, "DynamicView", "d.resize_serial(total // 2)")
def dynamic_view(space: es.ExecutionSpace) -> None:
    """Chunks of 1024 and of 1023; 4 times larger, then smaller; what stays is kept."""

    def store(i, d):
        d.data[i] = i

    total = 8192
    for chunk in (1024, 1023):
        d = es.DynamicView(chunk, total)
        assert d.size == 0
        d.resize_serial(total // 8)
        es.parallel_for(total // 8, store, d)
        n = total // 8
        assert es.parallel_reduce(n, lambda i, d: d.data[i], d) == n * (n - 1) / 2
        d.resize_serial(total // 2)
        es.parallel_for(es.RangePolicy(n, total // 2), store, d)
        n = total // 2
        assert d.size == n
        assert es.parallel_reduce(n, lambda i, d: d.data[i], d) == n * (n - 1) / 2
        d.resize_serial(total // 8)
        assert d.size == total // 8 and (d.data.to_numpy() == np.arange(total // 8)).all()


@row(UNIT, "UnorderedMap", 'table.insert(key, i, "add")')
def unordered_map(space: es.ExecutionSpace) -> None:
    """1000 slots, 900 insertions, 10 of each key, near each other or far apart; erasing."""

    def insert(i, table, near):
        key = i // 10 if near else i % 90
        table.insert(key, i, "add")

    def erase(i, table):
        table.erase(i % 90)

    def wrong(i, table):
        return table.exists(i) != (i < 90)

    for near in (True, False):
        table = es.UnorderedMap(1000, es.uint32, es.uint32)
        es.parallel_for(900, insert, table, near)
        assert table.size() == 90 and not table.failed_insert()
        assert es.parallel_reduce(1000, wrong, table) == 0
        keys, values = (v.to_numpy() for v in table.items())
        numbers = np.arange(900)
        of = numbers // 10 if near else numbers % 90
        expected = np.bincount(of, weights=numbers)
        assert (values == expected[keys]).all()
        again = table.copy()
        es.parallel_for(900, erase, table)
        assert table.size() == 0 and again.size() == 90
    full = es.UnorderedMap(100, es.uint32, es.uint32)
    es.parallel_for(400, lambda i, t: t.insert(i, i), full)
    assert full.failed_insert()
    primes = es.UnorderedMap(11, es.int32)
    primes.insert_many(es.array(np.array([2, 3, 5, 7], np.int32)))
    primes.rehash()
    assert primes.size() == 4
    primes.clear()
    assert primes.size() == 0


@row(UNIT, "Bitset/ConcurrentBitset", "found, hint = bits.find_any_unset_near(hint)")
def bitset(space: es.ExecutionSpace) -> None:
    def set_bits(i, bits):
        return bits.set(i % bits.size)

    def reset_bits(i, bits):
        return bits.reset(i % bits.size)

    def set_any(i, bits):
        hint, attempts = (i >> 4) << 4, 0
        while attempts < bits.max_hint:
            found, hint = bits.find_any_unset_near(hint)
            if found and bits.set(hint):
                return 1
            attempts += 0 if found else 1
        return 0

    for size in (10, 100, 1000, 1 << 12):
        bits = es.Bitset(size)
        assert bits.count() == 0
        bits.set_all()
        assert bits.count() == bits.readonly().count() == size
        bits.reset_all()
        assert es.parallel_reduce(10 * size, set_bits, bits) == size == bits.count()
        assert es.parallel_reduce(10 * size, reset_bits, bits) == size and bits.count() == 0
        # Acquire half as many again as there are: all are found, and nothing more.
        assert es.parallel_reduce(size + size // 2, set_any, bits) == size == bits.count()


class Report(es.Record):
    """What Kokkos' test reports."""

    index: es.int64
    twice: es.int64
    value: es.float64


@row(UNIT, "ErrorReporter", "errors.add_report(i, Report(i, -2 * i, math.pi * i))")
def error_reporter(space: es.ExecutionSpace) -> None:
    """Room for 100 of 5 reports, and for 10 of 50; then cleared and resized."""

    def check(i, errors):
        if i % 2 != 0:
            errors.add_report(i, Report(i, -2 * i, math.pi * i))

    for capacity, size in ((100, 10), (10, 100)):
        errors = es.ErrorReporter(capacity, Report)
        es.parallel_for(size, check, errors)
        assert errors.num_reports() == min(capacity, size // 2)
        assert errors.num_report_attempts() == size // 2
        assert errors.full() == (capacity <= size // 2)
        reporters, reports = errors.get_reports()
        assert (reporters % 2 == 1).all() and (reports["index"] == reporters).all()
        assert (reports["twice"] == -2 * reporters).all()
        errors.clear()
        errors.resize(size)
        es.parallel_for(size, check, errors)
        assert errors.num_reports() == size // 2


@row(UNIT, "StaticCrsGraph", "graph = es.create_staticcrsgraph(lists)")
def static_crs_graph(space: es.ExecutionSpace) -> None:
    """1000 rows of 8 entries i + 3 j; rows of sizes 6 + i % 4; blocks of equal work."""
    lists = [[i + 3 * j for j in range(8)] for i in range(1000)]
    graph = es.create_staticcrsgraph(lists)
    assert graph.num_rows == 1000 and graph.to_lists() == lists

    def sums(i, graph, out):
        begin, end = graph.row(i)
        for k in range(begin, end):
            out[i] += graph.entries[k]

    out = es.zeros(1000, es.int64)
    es.parallel_for(1000, sums, graph, out)
    assert (out.to_numpy() == [sum(one) for one in lists]).all()
    sizes = np.array([6 + i % 4 for i in range(10)])
    row_map = es.get_crs_row_map_from_counts(es.array(sizes))
    assert row_map.to_numpy().tolist() == [0, *np.cumsum(sizes).tolist()]
    cuts = graph.create_block_partitioning(7).to_numpy()
    assert cuts[0] == 0 and cuts[-1] == 1000 and len(cuts) == 8
    assert max(np.diff(cuts)) - min(np.diff(cuts)) <= 2


@row(UNIT, "Crs", "crs = es.count_and_fill_crs(rows, fill)")
def crs(space: es.ExecutionSpace) -> None:
    """Rows of (row % 4) + 1 entries j + 1, of which kernels make squares; the transpose."""

    def fill(row, entries):
        n = row % 4 + 1
        if entries is not None:
            for j in range(n):
                entries[j] = j + 1
        return n

    def squares(row, crs):
        begin, end = crs.row(row)
        for k in range(begin, end):
            crs.entries[k] = (k - begin + 1) * (k - begin + 1)

    for rows in (0, 1, 2, 3, 13, 100):
        crs = es.count_and_fill_crs(rows, fill)
        expected = [[j + 1 for j in range(row % 4 + 1)] for row in range(rows)]
        assert crs.num_rows == rows and crs.to_lists() == expected
        if rows:
            back = es.transpose_crs(crs, 5).to_lists()
            assert back == [[r for r in range(rows) if k in expected[r]] for k in range(5)]
        es.parallel_for(rows, squares, crs)
        assert crs.to_lists() == [[k * k for k in one] for one in expected]


@row(UNIT, "MemoryPool", "at = pool.allocate(size, i)")
def memory_pool(space: es.ExecutionSpace) -> None:
    """Blocks of all sizes, no two of which overlap; freed by thirds, and taken again."""

    def allocate(i, pool, places, owners):
        if places[i] < 0:
            size = 4 << (i % 4)
            at = pool.allocate(size, i)
            places[i] = at
            if at >= 0:
                for k in range(size):
                    es.atomic_add(owners, at + k, 1)

    def free(i, pool, places, owners):
        if i % 3 == 0 and places[i] >= 0:
            for k in range(4 << (i % 4)):
                es.atomic_sub(owners, places[i] + k, 1)
            pool.deallocate(places[i])
            places[i] = -1

    n = 60
    pool = es.MemoryPool(4096, es.float64, min_block=4, max_block=64)
    places, owners = es.full(n, -1), es.zeros(pool.data.size, es.int64)
    for _ in range(3):
        es.parallel_for(n, allocate, pool, places, owners)
        assert (places.to_numpy() >= 0).all() and owners.to_numpy().max() == 1
        assert pool.usage().blocks == n
        es.parallel_for(n, free, pool, places, owners)
        assert pool.usage().blocks == n - n // 3
    pool.reset()
    assert pool.usage().blocks == 0


@row(UNIT, "SIMD", "chosen = np.where(a < b, a, b)")
def simd(space: es.ExecutionSpace) -> None:
    """Operators, shifts, masks, reductions, conversions and generators, as numbers have them."""
    for dtype, width in (("float64", 4), ("float32", 8), ("int32", 8), ("uint64", 2)):
        T = es.simd(dtype, width)

        def kernel(i, x, y, out, T: es.static):
            at = i * T.width
            a, b = T.load(x, at), T.load(y, at)
            (a + b).store(out[0, :], at)
            (a - b).store(out[1, :], at)
            (a * b).store(out[2, :], at)
            chosen = np.where(a < b, a, b)
            chosen.store(out[3, :], at)
            np.maximum(a, b).store(out[4, :], at)
            m = T.first(1)
            (T(7) + T.iota()).store(out[5, :], at, m)
            T.generate(lambda k: k * k).store(out[6, :], at)
            T.gather(x, es.simd("int64", T.width).iota()).store(out[7, :], at)
            out[8, at] = (a + b).sum()
            out[8, at + 1] = a.max() + b.min(T.first(1))

        n = 4 * width
        a = np.random.default_rng(1).integers(3, 90, n).astype(dtype)
        b = np.random.default_rng(2).integers(0, 3, n).astype(dtype)
        out = es.zeros((9, n), dtype)
        es.parallel_for(4, kernel, es.array(a), es.array(b), out, T)
        found, vectors = out.to_numpy(), a.reshape(4, width)
        assert (found[:3] == [a + b, a - b, a * b]).all()
        assert (found[3] == np.minimum(a, b)).all() and (found[4] == np.maximum(a, b)).all()
        assert (found[5] == np.tile([7] + [0] * (width - 1), 4)).all()
        assert (found[6] == np.tile(np.arange(width) ** 2, 4)).all()
        assert (found[7] == np.tile(a[:width], 4)).all()
        both = (a + b).reshape(4, width).sum(axis=1)
        assert (found[8, ::width] == both).all()
        assert (found[8, 1::width] == vectors.max(axis=1) + b[::width]).all()


@row(UNIT, "MDSpan", "array = np.asarray(es.create_mirror_view_and_copy(es.HOST, x))")
def mdspan(space: es.ExecutionSpace) -> None:
    """What mdspan is to C++ are arrays of NumPy and DLPack to Python, over the same memory."""
    x = es.array(np.arange(100))
    array = np.asarray(es.create_mirror_view_and_copy(es.HOST, x))
    assert (array == np.arange(100)).all()
    if x.memory_space.host_accessible:
        assert np.shares_memory(array, np.from_dlpack(x)) and array.ctypes.data == x.data_ptr
    back = es.asarray(array)
    assert es.parallel_reduce(100, lambda i, b: b[i] != i, back, reducer=es.LOr) is False


absent(UNIT, "ViewHooks", "View hooks")
