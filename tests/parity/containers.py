"""Rows of containers: Views in two memories, maps, bits, graphs, pools, tokens.

`vector` has no row: Kokkos has removed it. AcquireUniqueToken has none either, for kernels have no
destructors: `acquire` and `release` are calls.
"""

from __future__ import annotations

import numpy as np

import execspace as es
from parity.table import absent, raises, row

CONTAINERS = "1.2 Containers"


@row(CONTAINERS, "DualView", 'd.sync("device")')
def dual_view(space: es.ExecutionSpace) -> None:
    """TestDualView: the newer side is copied, and a change of both is a fault."""
    d = es.DualView((4, 2), label="d", space=space)
    d.h_view[1, 0] = 5
    d.modify("host")
    assert d.need_sync("device") == (not d.shares_memory)
    d.sync("device")
    es.parallel_for(4, lambda i, a: add(a, i), d.d_view)
    d.modify("device")
    d.sync("host")
    assert np.asarray(d.h_view)[:, 0].tolist() == [1, 6, 1, 1]
    d.modify("host")
    if d.shares_memory:
        d.modify("device")
    else:
        with raises(es.ViewError):
            d.modify("device")
    d.clear_sync_state()
    d.resize((5, 2))
    d.sync("host")
    assert d.shape == (5, 2) and np.asarray(d.view("host"))[:, 0].tolist() == [1, 6, 1, 1, 0]


def add(a, i):
    a[i, 0] += 1


@row(CONTAINERS, "OffsetView", "a = es.OffsetView((-1, -2), (4, 3))")
def offset_view(space: es.ExecutionSpace) -> None:
    """TestOffsetView: the sum over all indices, subviews, bounds."""

    def fill(i, j, a):
        a[i, j] = i + j

    a = es.OffsetView((-1, -2), (4, 3))
    policy = es.MDRangePolicy((-1, -2), (4, 3))
    es.parallel_for(policy, fill, a)
    assert (a.begin(0), a.end(1), a.extent(0)) == (-1, 3, 5)
    expected = np.arange(-1, 4)[:, None] + np.arange(-2, 3)
    assert (a.view.to_numpy() == expected).all()
    assert es.parallel_reduce(policy, lambda i, j, a: a[i, j], a) == expected.sum()
    part = a[0:2, :]
    assert (part.begins, part.ends) == ((0, -2), (2, 3))
    of = es.OffsetView.of(es.array(np.arange(3)), 10)
    assert es.parallel_reduce(es.RangePolicy(10, 13), lambda i, of: i * of[i], of) == 11 + 24


@row(
    CONTAINERS,
    "ScatterView: sum, prod, min, max; atomic, duplicated",
    "scatter = es.ScatterView(result, op=op, strategy=strategy, space=space)",
)
def scatter_view(space: es.ExecutionSpace) -> None:
    """TestScatterView: what many indices contribute to one element."""
    n = 600

    def kernel(i, copies, scatter_acquire, op: es.static):
        k = i % 3
        if op == "sum":
            copies[scatter_acquire, k] += 4
        elif op == "prod":
            copies[scatter_acquire, k] *= 1 + (i < 6)
        elif op == "min":
            es.atomic_min(copies, (scatter_acquire, k), i)
        else:
            es.atomic_max(copies, (scatter_acquire, k), i)

    class Contribution:
        def __init__(self, scatter: es.ScatterView, op: str) -> None:
            self.scatter, self.copies, self.op = scatter, scatter.copies(), op

        def one(self, i):
            mine = self.scatter.acquire(i)
            kernel(i, self.copies, mine, self.op)
            self.scatter.release(mine)

    expected = {"sum": [800] * 3, "prod": [4] * 3, "min": [0, 1, 2], "max": [597, 598, 599]}
    for op, values in expected.items():
        for strategy in (None, "atomic", "duplicated"):
            start = {"sum": 0, "prod": 1, "min": 10**6, "max": -1}[op]
            result = es.full(3, start, es.int64)
            scatter = es.ScatterView(result, op=op, strategy=strategy, space=space)
            es.parallel_for(n, Contribution(scatter, op).one)
            scatter.contribute(result)
            assert result.to_numpy().tolist() == values, (op, strategy)
            scatter.reset()
            scatter.contribute(result)
            assert result.to_numpy().tolist() == values


@row(CONTAINERS, "ScatterView: access, resize, realloc", "scatter.resize(4)")
def scatter_view_extents(space: es.ExecutionSpace) -> None:
    def pull(k, f):
        f[k] += 0.5
        f[k + 1] -= 0.5

    forces = es.View(3)
    scatter = es.ScatterView(forces)
    es.parallel_for(2, pull, scatter.access())
    scatter.resize(4)
    larger = es.View(4)
    scatter.contribute(larger)
    assert larger.to_numpy().tolist() == [0.5, 0, -0.5, 0]
    scatter.realloc(2)
    smaller = es.View(2)
    scatter.contribute(smaller)
    assert smaller.to_numpy().tolist() == [0, 0]


@row(CONTAINERS, "DynRankView", "views = [es.View((3,) * rank) for rank in range(1, 8)]")
def dyn_rank_view(space: es.ExecutionSpace) -> None:
    """Views of several ranks in one place; the rank is known when a kernel is compiled."""

    def first(i, a, out):
        if a.rank == 1:
            a[i] = 1
        elif a.rank == 2:
            a[i, 0] = 2
        out[i] = a.rank

    views = [es.View((3,) * rank) for rank in range(1, 8)]
    for a in views:
        out = es.View(3, es.int64)
        es.parallel_for(3, first, a, out)
        assert out.to_numpy().tolist() == [a.rank] * 3
        assert a.to_numpy().sum() == {1: 3, 2: 6}.get(a.rank, 0)


@row(CONTAINERS, "DynamicView", "d.resize_serial(n)")
def dynamic_view(space: es.ExecutionSpace) -> None:
    """TestDynamicView: it grows and shrinks, and what stays keeps its values."""

    def fill(i, d, more):
        d.data[i] = i + more

    for reserve in (False, True) if space.memory_space.host_accessible else (False,):
        d = es.DynamicView(16, 1000, es.int64, reserve=reserve)
        for n in (10, 200, 1000):
            d.resize_serial(n)
            assert d.size == n and d.allocation_extent >= n
        es.parallel_for(1000, fill, d, 7)
        d.resize_serial(300)
        d.resize_serial(400)
        found = d.data.to_numpy()
        assert (found[:300] == np.arange(300) + 7).all() and not found[300:].any()


@row(CONTAINERS, "UnorderedMap: insert, find, erase", "result = m.insert(i % 71, 3 * (i % 71))")
def unordered_map(space: es.ExecutionSpace) -> None:
    """TestUnorderedMap: of many insertions of a key one succeeds, the others find it there."""

    def insert(i, m, counts):
        result = m.insert(i % 71, 3 * (i % 71))
        es.atomic_add(counts, 0 if result.success else 1 if result.existing else 2, 1)

    def find(i, m, out):
        at = m.find(i)
        out[i] = m.value_at(at) if at >= 0 else -1

    def erase(i, m, counts):
        if m.erase(2 * i):
            es.atomic_add(counts, 0, 1)

    m = es.UnorderedMap(100, es.int64, es.int64)
    counts, out = es.View(3, es.int64), es.View(100, es.int64)
    es.parallel_for(1000, insert, m, counts)
    assert counts.to_numpy().tolist() == [71, 929, 0] and m.size() == 71
    es.parallel_for(100, find, m, out)
    assert out.to_numpy().tolist() == [3 * k if k < 71 else -1 for k in range(100)]
    counts.fill(0)
    es.parallel_for(50, erase, m, counts)
    assert counts.to_numpy()[0] == 36 and m.size() == 35
    es.parallel_for(100, find, m, out)
    assert out.to_numpy().tolist() == [3 * k if k < 71 and k % 2 else -1 for k in range(100)]


@row(CONTAINERS, "UnorderedMap: failed insertions, rehash", "m.rehash(2 * m.capacity)")
def rehash(space: es.ExecutionSpace) -> None:
    """TestUnorderedMap_Failed_Insert: too many keys, and again with more room."""

    def insert(i, m):
        m.insert(i, i * i)

    m = es.UnorderedMap(50, es.int64, es.int64)
    while True:
        es.parallel_for(1000, insert, m)
        if not m.failed_insert():
            break
        m.rehash(2 * m.capacity)
    keys, values = (v.to_numpy() for v in m.items())
    assert sorted(keys) == list(range(1000)) and (values == keys * keys).all()
    there = m.copy()
    m.clear()
    assert m.size() == 0 and there.size() == 1000


@row(CONTAINERS, "UnorderedMap: sets, add as the operation", 'm.insert(k, 1, "add")')
def sets_and_sums(space: es.ExecutionSpace) -> None:
    def count(i, m, seen):
        k = i % 13 - 6
        m.insert(k, 1, "add")
        seen.insert(k)

    m, seen = es.UnorderedMap(20, es.int32, es.int32), es.UnorderedMap(20, es.int32)
    es.parallel_for(1300, count, m, seen)
    assert sorted(seen.keys().to_numpy()) == list(range(-6, 7))
    assert m.size() == 13 and m.values().to_numpy().tolist() == [100] * 13
    slots = es.parallel_reduce(m.slots, lambda s, m: m.valid_at(s) and m.key_at(s) > 0, m)
    assert slots == 6


@row(CONTAINERS, "Bitset, ConstBitset", "changed = b.set(i // 2)")
def bitset(space: es.ExecutionSpace) -> None:
    """TestBitset: each bit is changed by one of those that try."""

    def change(i, b, counts):
        changed = b.set(i // 2)
        es.atomic_add(counts, 0, es.int64(changed))
        if i % 3 == 0:
            es.atomic_add(counts, 1, es.int64(b.flip(500 + i // 3)))

    b, counts = es.Bitset(1000), es.View(2, es.int64)
    es.parallel_for(600, change, b, counts)
    assert counts.to_numpy().tolist() == [300, 200] and b.count() == 500
    there = b.readonly()
    assert es.parallel_reduce(1000, lambda i, t: t.test(i), there) == 500
    es.parallel_for(1000, lambda i, b: b.reset(i), b)
    assert b.count() == 0 and there.count() == 0


@row(CONTAINERS, "Bitset: bitset_and, or, xor of whole ones", "both = a & b")
def whole_bitsets(space: es.ExecutionSpace) -> None:
    x, y = np.arange(100) % 2 == 0, np.arange(100) % 3 == 0
    a, b = es.Bitset.from_bools(es.array(x)), es.Bitset.from_bools(es.array(y))
    both = a & b
    assert (both.to_bools().to_numpy() == (x & y)).all()
    assert ((a | b).to_bools().to_numpy() == (x | y)).all()
    assert ((a ^ ~b).to_bools().to_numpy() == (x ^ ~y)).all()
    a.set_all()
    assert a.count() == 100 and both.count() == 17
    a.copy_from(both)
    assert a.count() == 17


@row(
    CONTAINERS,
    "Bitset: find_any_set_near, find_any_unset_near, both directions",
    "found, hint = b.find_any_unset_near(hint, direction)",
)
def bitset_search(space: es.ExecutionSpace) -> None:
    """TestBitsetAny: each index claims a bit of its own until all are taken, and gives one back."""

    def claim(i, b, place, direction):
        hint = i
        place[i] = -1
        while place[i] < 0:
            found, hint = b.find_any_unset_near(hint, direction)
            if found and b.set(hint):
                place[i] = hint

    def free(i, b, place, direction):
        hint = 7 * i
        place[i] = -1
        while place[i] < 0:
            found, hint = b.find_any_set_near(hint, direction)
            if found and b.reset(hint):
                place[i] = hint

    for direction in ("forward", "backward"):
        b, place = es.Bitset(500), es.View(500, es.int64)
        es.parallel_for(500, claim, b, place, direction)
        assert sorted(place.to_numpy()) == list(range(500)) and b.count() == 500
        es.parallel_for(500, free, b, place, direction)
        assert sorted(place.to_numpy()) == list(range(500)) and b.count() == 0


@row(CONTAINERS, "ErrorReporter", "errors.add_report(i, 10 * i)")
def error_reporter(space: es.ExecutionSpace) -> None:
    """TestErrorReporter: as many reports as there is room for, and how many there were."""

    def check(i, errors):
        if i % 5 == 0:
            errors.add_report(i, 10 * i)

    errors = es.ErrorReporter(8, es.int64)
    es.parallel_for(100, check, errors)
    assert errors.num_report_attempts() == 20 and errors.num_reports() == 8 and errors.full()
    reporters, reports = errors.get_reports()
    assert len(set(reporters)) == 8 and (reporters % 5 == 0).all()
    assert (reports == 10 * reporters).all()
    errors.clear()
    errors.resize(100)
    es.parallel_for(100, check, errors)
    assert sorted(errors.get_reports()[0]) == list(range(0, 100, 5)) and not errors.full()


@row(CONTAINERS, "StaticCrsGraph", "begin, end = graph.row(i)")
def static_crs_graph(space: es.ExecutionSpace) -> None:
    """TestStaticCrsGraph: rows, and parts of about equal work."""

    def total(i, graph, out):
        begin, end = graph.row(i)
        for k in range(begin, end):
            out[i] += graph.entries[k]

    rows = [[i + j for j in range(i % 4)] for i in range(50)]
    graph = es.create_staticcrsgraph(rows)
    assert (graph.num_rows, graph.num_entries) == (50, sum(map(len, rows)))
    out = es.View(50, es.int64)
    es.parallel_for(50, total, graph, out)
    assert out.to_numpy().tolist() == [sum(row) for row in rows]
    cuts = graph.create_block_partitioning(6).to_numpy()
    assert cuts[0] == 0 and cuts[-1] == 50 and (np.diff(cuts) >= 0).all() and len(cuts) == 7


@row(CONTAINERS, "Crs: count_and_fill_crs, transpose_crs", "near = es.count_and_fill_crs(5, row)")
def crs(space: es.ExecutionSpace) -> None:
    """TestCrs."""

    def row(i, entries):
        n = 0
        for k in range(max(i - 1, 0), min(i + 2, 5)):
            if entries is not None:
                entries[n] = k
            n += 1
        return n

    near = es.count_and_fill_crs(5, row)
    assert near.to_lists() == [[k for k in range(5) if abs(k - i) < 2] for i in range(5)]
    assert es.transpose_crs(near).to_lists() == near.to_lists()
    counts = es.get_crs_transpose_counts(near)
    assert counts.to_numpy().tolist() == [2, 3, 3, 3, 2]
    assert es.get_crs_row_map_from_counts(counts).to_numpy().tolist() == [0, 2, 5, 8, 11, 13]


@row(CONTAINERS, "MemoryPool", "at = pool.allocate(n, i)")
def memory_pool(space: es.ExecutionSpace) -> None:
    """TestMemoryPool: blocks are apart, come back, and run out."""

    def fill(i, pool, where):
        n = i % 5 + 1
        at = pool.allocate(n, i)
        where[i] = at
        for k in range(n if at >= 0 else 0):
            pool.data[at + k] = i

    def check_and_free(i, pool, where):
        bad = 0
        if where[i] >= 0:
            for k in range(i % 5 + 1):
                bad += pool.data[where[i] + k] != i
            pool.deallocate(where[i])
        return bad

    pool, where = es.MemoryPool(4096, min_block=8), es.View(300, es.int64)
    for _ in range(3):
        es.parallel_for(300, fill, pool, where)
        places = where.to_numpy()
        assert (places >= 0).all() and len(set(places)) == 300
        assert pool.usage().blocks == 300
        assert es.parallel_reduce(300, check_and_free, pool, where) == 0
        assert pool.usage().blocks == 0
    small = es.MemoryPool(256, min_block=8)
    es.parallel_for(300, fill, small, where)
    got = (where.to_numpy() >= 0).sum()
    assert 0 < got <= 32 and small.usage().blocks == got


@row(CONTAINERS, "UniqueToken, of an instance and global", "mine = self.token.acquire(i)")
def unique_token(space: es.ExecutionSpace) -> None:
    """TestUniqueToken: nobody else has the id; instances that share a token share its ids."""

    class Count:
        def __init__(self, space: es.ExecutionSpace) -> None:
            self.token = es.UniqueToken(space)
            self.sums = es.View(self.token.size, es.int64)
            self.holders = es.View(self.token.size, es.int64)
            self.errors = es.View(1, es.int64)

        def step(self, i):
            mine = self.token.acquire(i)
            if es.atomic_fetch_inc(self.holders, mine) != 0:
                es.atomic_inc(self.errors, 0)
            self.sums[mine] += 1
            es.atomic_dec(self.holders, mine)
            self.token.release(mine)

    count = Count(space)
    assert count.token.size >= 1
    one, other = space.instance(), space.instance()
    for _ in range(5):
        es.parallel_for(es.RangePolicy(1000, space=one), count.step)
        es.parallel_for(es.RangePolicy(1000, space=other), count.step)
    one.fence()
    other.fence()
    assert count.sums.to_numpy().sum() == 10_000 and count.errors.to_numpy()[0] == 0


@row(CONTAINERS, "UniqueToken of a team", "mine = team.broadcast(mine, 0)")
def token_of_a_team(space: es.ExecutionSpace) -> None:
    """AcquireTeamUniqueToken: one thread acquires, all know the id."""

    class Count:
        def __init__(self, space: es.ExecutionSpace) -> None:
            self.token = es.UniqueToken(space, 4)
            self.sums = es.View(4, es.int64)

        def step(self, team):
            mine = 0
            if es.single(es.PerTeam(team)):
                mine = self.token.acquire(team.league_rank)
            mine = team.broadcast(mine, 0)
            n = es.parallel_reduce(es.TeamThreadRange(team, 10), lambda k: k)
            if es.single(es.PerTeam(team)):
                self.sums[mine] += n
                self.token.release(mine)

    count = Count(space)
    es.parallel_for(es.TeamPolicy(100, "auto"), count.step)
    assert count.sums.to_numpy().sum() == 4500


absent(CONTAINERS, "kokkos_malloc, kokkos_free", "`kokkos_malloc`")
