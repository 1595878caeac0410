"""Kokkos' teams: policies, members, scratch memory and nested ranges."""

from __future__ import annotations

import itertools

import numpy as np

import execspace as es
from parity.table import raises, row

TEAM = "3.4 TeamPolicy"


@row(TEAM, "league x team x vector", "es.parallel_for(es.TeamPolicy(5, 4, 2), count, x)")
def league_team_vector(space: es.ExecutionSpace) -> None:
    def count(team, x):
        for _ in es.ThreadVectorRange(team, 6):
            es.atomic_add(x, team.league_rank, 1.0)

    x = es.zeros(5)
    es.parallel_for(es.TeamPolicy(5, 4, 2), count, x)
    assert x.to_numpy().tolist() == [24.0] * 5


@row(TEAM, "set_scratch_size", "slow = team.scratch(team.team_size, es.int64, level=1)")
def set_scratch_size(space: es.ExecutionSpace) -> None:
    """What Kokkos is told in bytes is known from the shapes."""

    def reverse(team, x):
        fast = team.scratch(team.team_size, es.int64)
        slow = team.scratch(team.team_size, es.int64, level=1)
        rank = team.team_rank
        fast[rank] = 10 * team.league_rank + rank
        team.barrier()
        slow[rank] = fast[team.team_size - 1 - rank]
        team.barrier()
        x[team.league_rank, rank] = slow[rank]

    x = es.zeros((3, 4), es.int64)
    es.parallel_for(es.TeamPolicy(3, 4), reverse, x)
    assert x.to_numpy().tolist() == [[3, 2, 1, 0], [13, 12, 11, 10], [23, 22, 21, 20]]


@row(TEAM, "scratch_size queries", "policy.scratch_size(kernel, x, 6)")
def scratch_size(space: es.ExecutionSpace) -> None:
    """Of the team, and of each thread; at level 1."""

    def kernel(team, x, n):
        window, own = team.scratch(n), team.thread_scratch(4)
        large = team.scratch((n, 8), level=1)
        own[0], window[0], large[0, 0] = 1.0, 1.0, 1.0
        x[team.league_rank] = own[0]

    x = es.zeros(3)
    for size in (1, 4):
        policy = es.TeamPolicy(3, size)
        assert policy.scratch_size(kernel, x, 6) == 6 * 8 + size * 4 * 8
        assert policy.scratch_size(kernel, x, 6, level=1) == 6 * 8 * 8


@row(TEAM, "scratch_size_max", "room = policy.scratch_size_max(0)")
def scratch_size_max(space: es.ExecutionSpace) -> None:
    def kernel(team, x, n):
        at = team.scratch(n)
        at[n - 1] = 1.0
        x[team.league_rank] = at[n - 1]

    policy, x = es.TeamPolicy(3, 1), es.zeros(3)
    room = policy.scratch_size_max(0)
    assert 0 < room <= policy.scratch_size_max(1)
    es.parallel_for(policy, kernel, x, room // 16)
    with raises(es.LaunchError, match="bytes"):
        es.parallel_for(policy, kernel, x, room // 8 + 1)
    assert x.to_numpy().tolist() == [1.0] * 3


@row(TEAM, "team_size_max / recommended", "most = policy.team_size_max(kernel, x)")
def team_size_max(space: es.ExecutionSpace) -> None:
    """Also where scratch memory grows with the team: 1000 doubles for each thread."""

    def kernel(team, x):
        at = team.scratch(team.team_size * 1000)
        at[1000 * team.team_rank] = 1.0
        es.atomic_add(x, team.league_rank, at[1000 * team.team_rank])

    policy, x = es.TeamPolicy(3), es.zeros(3)
    if policy.scratch_size_max(0) < 8000:
        with raises(es.LaunchError):
            policy.team_size_max(kernel, x)
        return
    most = policy.team_size_max(kernel, x)
    assert 1 <= policy.team_size_recommended(kernel, x) <= most
    assert most * 8000 <= policy.scratch_size_max(0)
    es.parallel_for(es.TeamPolicy(3, most), kernel, x)
    assert x.to_numpy().tolist() == [most] * 3


@row(TEAM, "vector_length_max", "longest = es.TeamPolicy(1).vector_length_max()")
def vector_length_max(space: es.ExecutionSpace) -> None:
    longest = es.TeamPolicy(1).vector_length_max()
    assert longest >= 1 and longest & (longest - 1) == 0
    policy = es.TeamPolicy(2, 1, longest)
    assert es.parallel_reduce(policy, lambda team: team.league_rank + 1) == 3


@row(
    TEAM,
    "vector rounding",
    "es.TeamPolicy(4, 1, 3)",
    there="part",
    reason="Rounding of vector lengths",
)
def vector_rounding(space: es.ExecutionSpace) -> None:
    with raises(es.PolicyError, match="power of two"):
        es.parallel_reduce(es.TeamPolicy(4, 1, 3), lambda team: 1)


@row(TEAM, "limits raise", "es.TeamPolicy(4, 2**20)")
def limits(space: es.ExecutionSpace) -> None:
    def kernel(team, x):
        x[team.league_rank] = 1.0

    x = es.zeros(4)
    with raises((es.PolicyError, es.LaunchError)):
        es.parallel_for(es.TeamPolicy(4, 2**20), kernel, x)
    with raises(es.PolicyError):
        es.TeamPolicy(4, 0)
    with raises(es.PolicyError):
        es.TeamPolicy(-1, 1)
    assert not x.to_numpy().any()


@row(TEAM, "chunk_size", "es.TeamPolicy(100, 4, chunk_size=8)")
def chunk_size(space: es.ExecutionSpace) -> None:
    policy = es.TeamPolicy(100, 4, chunk_size=8)
    assert policy.chunk_size == 8
    assert es.parallel_reduce(policy, lambda team: team.league_rank) == 4950


@row(TEAM, "AUTO", 'es.TeamPolicy(20, "auto", "auto")')
def auto(space: es.ExecutionSpace) -> None:
    def sums(team, out):
        total = es.parallel_reduce(es.TeamVectorRange(team, 100), lambda k: k)
        if es.single(es.PerTeam(team)):
            out[team.league_rank] = total + team.league_rank

    out = es.zeros(20, es.int64)
    es.parallel_for(es.TeamPolicy(20, "auto", "auto"), sums, out)
    assert out.to_numpy().tolist() == [4950 + k for k in range(20)]


@row(TEAM, "TeamPolicy + scan", "total = es.parallel_scan(es.TeamPolicy(6, 2), kernel, out)")
def scan_over_teams(space: es.ExecutionSpace) -> None:
    """Kokkos has none."""

    def kernel(team, prefix, final, out):
        if final:
            if es.single(es.PerTeam(team)):
                out[team.league_rank] = prefix
        return team.league_rank + 1

    out = es.zeros(6, es.int64)
    total = es.parallel_scan(es.TeamPolicy(6, 2), kernel, out)
    assert total == 21 and out.to_numpy().tolist() == [0, 1, 3, 6, 10, 15]


@row(TEAM, "ranks and sizes", "x[team.league_rank, team.team_rank] = team.league_size")
def ranks_and_sizes(space: es.ExecutionSpace) -> None:
    def kernel(team, x):
        x[team.league_rank, team.team_rank] = team.league_size
        x[team.league_rank, team.team_rank] += 10 * team.team_size

    x = es.zeros((3, 4))
    es.parallel_for(es.TeamPolicy(3, 4), kernel, x)
    assert (x.to_numpy() == 43).all()


@row(TEAM, "team_barrier", "team.barrier()")
def team_barrier(space: es.ExecutionSpace) -> None:
    def shift(team, x):
        at = team.scratch(team.team_size)
        for _ in range(3):
            at[team.team_rank] = x[team.league_rank, team.team_rank]
            team.barrier()
            x[team.league_rank, team.team_rank] = at[(team.team_rank + 1) % team.team_size]
            team.barrier()

    x = es.array(np.arange(8.0).reshape(2, 4))
    es.parallel_for(es.TeamPolicy(2, 4), shift, x)
    assert x.to_numpy().tolist() == [[3, 0, 1, 2], [7, 4, 5, 6]]


@row(TEAM, "team_broadcast", "value = team.broadcast(10 * team.team_rank + 1, 2)")
def team_broadcast(space: es.ExecutionSpace) -> None:
    """Of TestTeam's broadcast: from each thread in turn, numbers and tuples."""

    def kernel(team, x):
        value = team.broadcast(10 * team.team_rank + 1, 2)
        first, second = team.broadcast((team.team_rank, 2.5 * team.team_rank), 3)
        x[team.league_rank, team.team_rank] = value + first + second

    x = es.zeros((3, 4))
    es.parallel_for(es.TeamPolicy(3, 4), kernel, x)
    assert (x.to_numpy() == 21 + 3 + 7.5).all()


@row(TEAM, "team_reduce any reducer", "team.reduce(value, es.Max)")
def team_reduce(space: es.ExecutionSpace) -> None:
    def kernel(team, x):
        value = (team.team_rank * 3) % 4 + 10 * team.league_rank
        most = team.reduce(value, es.Max)
        place = team.reduce((value, team.team_rank), es.MinLoc).loc
        x[team.league_rank, team.team_rank] = 100 * team.reduce(value) + 10 * place + most % 10

    x = es.zeros((2, 4), es.int64)
    es.parallel_for(es.TeamPolicy(2, 4), kernel, x)
    assert x.to_numpy().tolist() == [[603] * 4, [4603] * 4]


@row(
    TEAM,
    "team_scan(val, global*)",
    "es.single(es.PerTeam(team), lambda: es.atomic_fetch_add(total, 0, mine))",
)
def team_scan(space: es.ExecutionSpace) -> None:
    """Of TestScanTeam: each team adds what it has to a number of all of them."""

    def kernel(team, places, total):
        value = team.team_rank + 1
        before, mine = team.scan(value), team.reduce(value)
        begin = es.single(es.PerTeam(team), lambda: es.atomic_fetch_add(total, 0, mine))
        for k in range(value):
            places[begin + before + k] = 1

    league, size = 10, 4
    number = league * size * (size + 1) // 2
    places, total = es.zeros(number, es.int64), es.zeros(1, es.int64)
    es.parallel_for(es.TeamPolicy(league, size), kernel, places, total)
    assert total.item() == number and (places.to_numpy() == 1).all()


@row(TEAM, "scratch handles", "own = team.thread_scratch(3)")
def scratch_handles(space: es.ExecutionSpace) -> None:
    def kernel(team, x):
        shared = team.scratch((team.team_size, 3))
        own = team.thread_scratch(3)
        for k in es.ThreadVectorRange(team, 3):
            own[k] = 10 * team.team_rank + k
        for k in es.ThreadVectorRange(team, 3):
            shared[team.team_rank, k] = own[k]
        team.barrier()
        total = es.parallel_reduce(
            es.TeamVectorMDRange(team, team.team_size, 3), lambda i, k: shared[i, k]
        )
        if es.single(es.PerTeam(team)):
            x[team.league_rank] = total

    x = es.zeros(5)
    es.parallel_for(es.TeamPolicy(5, 4), kernel, x)
    assert x.to_numpy().tolist() == [192.0] * 5


@row(TEAM, "TeamThreadRange", "for k in es.TeamThreadRange(team, 2, 9):")
def team_thread_range(space: es.ExecutionSpace) -> None:
    def kernel(team, x):
        for k in es.TeamThreadRange(team, 2, 9):
            x[team.league_rank, k] += 1

    x = es.zeros((3, 10))
    es.parallel_for(es.TeamPolicy(3, 4), kernel, x)
    assert x.to_numpy().tolist() == [[0, 0] + 7 * [1] + [0]] * 3


@row(TEAM, "ThreadVectorRange", "for k in es.ThreadVectorRange(team, 10):")
def thread_vector_range(space: es.ExecutionSpace) -> None:
    """Of TestTeamVector: for, reduce and scan over the lanes of a thread."""

    def kernel(team, x, sums, prefixes):
        row = team.team_rank
        for k in es.ThreadVectorRange(team, 10):
            x[row, k] = row + k
        sums[row] = es.parallel_reduce(es.ThreadVectorRange(team, 10), lambda k: row + k)

        def scanned(k, prefix, final):
            if final:
                prefixes[row, k] = prefix
            return k + 1

        es.parallel_scan(es.ThreadVectorRange(team, 10), scanned)

    x, sums, prefixes = es.zeros((4, 10)), es.zeros(4), es.zeros((4, 10))
    es.parallel_for(es.TeamPolicy(1, 4, 2), kernel, x, sums, prefixes)
    expected = np.add.outer(np.arange(4.0), np.arange(10.0))
    assert (x.to_numpy() == expected).all() and (sums.to_numpy() == expected.sum(1)).all()
    assert (prefixes.to_numpy() == np.cumsum(np.arange(10.0))).all()


@row(TEAM, "TeamVectorRange", "es.parallel_reduce(es.TeamVectorRange(team, n), lambda k: k * k)")
def team_vector_range(space: es.ExecutionSpace) -> None:
    """Of TestTeamVectorRange: sizes below and beyond those of the team."""

    def kernel(team, x):
        n = team.league_rank * 7
        total = es.parallel_reduce(es.TeamVectorRange(team, n), lambda k: k * k)
        if es.single(es.PerTeam(team)):
            x[team.league_rank] = total

    x = es.zeros(9, es.int64)
    es.parallel_for(es.TeamPolicy(9, 4, 2), kernel, x)
    assert x.to_numpy().tolist() == [sum(k * k for k in range(7 * n)) for n in range(9)]


@row(
    TEAM,
    "single PerTeam/PerThread with value",
    "found = es.single(es.PerThread(team), lambda: team.team_rank + 0.5)",
)
def single(space: es.ExecutionSpace) -> None:
    def kernel(team, x, number):
        once = es.single(es.PerTeam(team), lambda: es.atomic_add_fetch(number, 0, 1))
        found = es.single(es.PerThread(team), lambda: team.team_rank + 0.5)
        if es.single(es.PerThread(team)):
            x[team.league_rank, team.team_rank] = found + min(once, 1)

    x, number = es.zeros((3, 4)), es.zeros(1, es.int64)
    es.parallel_for(es.TeamPolicy(3, 4, 2), kernel, x, number)
    assert x.to_numpy().tolist() == [[1.5, 2.5, 3.5, 4.5]] * 3 and number.item() == 3


@row(TEAM, "restrictions enforced", "for k in es.TeamThreadRange(team, 4):")
def restrictions(space: es.ExecutionSpace) -> None:
    def barrier_of_some(team, x):
        if team.team_rank > 0:
            team.barrier()

    def barrier_in_a_range(team, x):
        for k in es.TeamThreadRange(team, 4):
            x[k] = 1.0
            team.barrier()

    def same_level_twice(team, x):
        for k in es.TeamThreadRange(team, 4):
            for m in es.TeamThreadRange(team, 4):
                x[k] = m

    x = es.zeros(4)
    for kernel in (barrier_of_some, barrier_in_a_range, same_level_twice):
        with raises(es.KernelError):
            es.parallel_for(es.TeamPolicy(2, 2), kernel, x)


@row(TEAM, "counting check", "es.parallel_reduce(es.TeamPolicy(n, size), ten) == 10 * n")
def counting(space: es.ExecutionSpace) -> None:
    """A team counts once, whatever its size; threads that add by themselves count each."""

    def ten(team):
        return es.parallel_reduce(es.TeamThreadRange(team, 10), lambda k: 1)

    def each(team, total):
        es.atomic_add(total, 0, es.parallel_reduce(es.TeamThreadRange(team, 10), lambda k: 1))

    n = 7
    for size in (1, 4, 8):
        total = es.zeros(1, es.int64)
        assert es.parallel_reduce(es.TeamPolicy(n, size), ten) == 10 * n
        es.parallel_for(es.TeamPolicy(n, size), each, total)
        assert total.item() == n * size * 10


@row(TEAM, "MDRange nested", "for i, j, k in es.TeamThreadMDRange(team, 2, 3, 4):")
def nested_mdrange(space: es.ExecutionSpace) -> None:
    """Of TestTeamMDRange, ranks 2 to 8; reductions are sums there, and here by any reducer."""

    def kernel(team, x, found):
        for i, j, k in es.TeamThreadMDRange(team, 2, 3, 4):
            x[team.league_rank, i, j, k] = 100 * i + 10 * j + k
        most = es.parallel_reduce(
            es.TeamVectorMDRange(team, 2, 1, 2, 3, 2, 2),
            lambda a, b, c, d, e, f: a + b + c + d + e + f,
            reducer=es.Max,
        )
        total = es.parallel_reduce(
            es.TeamThreadMDRange(team, 2, 1, 2, 3, 2, 2, 1, 2),
            lambda a, b, c, d, e, f, g, h: a + b + c + d + e + f + g + h,
        )
        if es.single(es.PerTeam(team)):
            found[team.league_rank, 0], found[team.league_rank, 1] = most, total

    x, found = es.zeros((3, 2, 3, 4)), es.zeros((3, 2), es.int64)
    es.parallel_for(es.TeamPolicy(3, 2, 2), kernel, x, found)
    expected = np.zeros((2, 3, 4))
    for i, j, k in itertools.product(range(2), range(3), range(4)):
        expected[i, j, k] = 100 * i + 10 * j + k
    eight = itertools.product(*(range(n) for n in (2, 1, 2, 3, 2, 2, 1, 2)))
    assert (x.to_numpy() == expected).all()
    assert found.to_numpy().tolist() == [[6, sum(map(sum, eight))]] * 3
