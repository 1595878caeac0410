"""Kokkos' unit tests of its core: their cases, with their numbers."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import threading
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import execspace as es
from parity.table import absent, raises, row

UNIT = "Unit tests"


@row(UNIT, "TeamTeamSize", 'most = policy.team_size_max(kernel, x, words, pattern="reduce")')
def team_team_size(space: es.ExecutionSpace) -> None:
    """No scratch memory, a third of it and all of it; what is told can be launched."""

    def kernel(team, x, words):
        at = team.scratch(words)
        at[words - 1] = x[team.league_rank]
        team.barrier()
        return at[words - 1]

    def fill(team, x, words):
        at = team.scratch(words)
        at[words - 1] = 2.0
        team.barrier()
        if es.single(es.PerTeam(team)):
            x[team.league_rank] = at[words - 1]

    league = 10
    room = es.TeamPolicy(league).scratch_size_max(0) // 8
    for bounds in (None, 128):
        policy = es.TeamPolicy(league, "auto", 4, launch_bounds=bounds)
        for words in (1, room // 3):
            x = es.ones(league)
            most = policy.team_size_max(kernel, x, words, pattern="reduce")
            few = policy.team_size_recommended(kernel, x, words, pattern="reduce")
            assert 1 <= few <= most and (bounds is None or most * 4 <= bounds)
            assert es.parallel_reduce(policy.with_options(team_size=few), kernel, x, words) == 10
        for words in (1, room // 3, room):
            x = es.ones(league)
            most = policy.team_size_max(fill, x, words)
            assert 1 <= policy.team_size_recommended(fill, x, words) <= most
            es.parallel_for(policy.with_options(team_size=most), fill, x, words)
            assert (x.to_numpy() == 2).all()


@row(UNIT, "ArrayReduceTeam", "es.Sum(es.int64, shape=3)")
def array_reduce_team(space: es.ExecutionSpace) -> None:
    """Of n work items: n, and the sum of 1 to n forwards and backwards."""

    def kernel(team, dst, nwork):
        thread = team.team_rank + team.team_size * team.league_rank
        threads = team.team_size * team.league_size
        chunk = (nwork + threads - 1) // threads
        for k in range(chunk * thread, min(chunk * (thread + 1), nwork)):
            dst[0] += 1
            dst[1] += k + 1
            dst[2] += nwork - k

    n = 1000
    policy = es.TeamPolicy((n + 3) // 4, 4)
    for _ in range(3):
        found = es.parallel_reduce(policy, kernel, n, reducer=es.Sum(es.int64, shape=3))
        assert found.tolist() == [n, n * (n + 1) // 2, n * (n + 1) // 2]


OUT_OF_BOUNDS = """
import execspace as es

v1, v2, v3 = (es.View(tuple(range(1, r + 1)), label="my_label") for r in (1, 2, 3))
kernels = (lambda i: v1[i + 4], lambda i: v2[i + 4, 0], lambda i: v3[i + 4, 0, 0])
for kernel in kernels:
    try:
        es.parallel_reduce(1, kernel)
    except es.ViewIndexError as error:
        print(*str(error).split())
"""


@row(UNIT, "ViewOutOfBounds", 'environment = {**os.environ, "EXECSPACE_CHECK": "bounds"}')
def view_out_of_bounds(space: es.ExecutionSpace) -> None:
    """On this space in a process that checks, where Kokkos is built so."""
    environment = {**os.environ, "EXECSPACE_CHECK": "bounds"}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "program.py")
        path.write_text(OUT_OF_BOUNDS, encoding="utf-8")
        done = subprocess.run(
            [sys.executable, path],
            env={**environment, "EXECSPACE_DEFAULT": space.name},
            capture_output=True,
            text=True,
            timeout=120,
        )
    lines = done.stdout.splitlines()
    assert len(lines) == 3, done.stderr
    assert all("out of bounds" in line and "dimension 0 of" in line for line in lines)
    assert all("v1[i + 4]" in line or "at (4," in line for line in lines)


@row(
    UNIT,
    "AtomicOperations_complexdouble",
    "found[0] = es.atomic_fetch_add(z, 0, update[0])",
)
def atomic_operations_complexdouble(space: es.ExecutionSpace) -> None:
    """add, sub, mul, div, load and store for i in -5 to 10, with end - i - start."""

    def operations(i, z, update, found):
        found[0] = es.atomic_fetch_add(z, 0, update[0])
        found[1] = es.atomic_sub_fetch(z, 0, update[0])
        found[2] = es.atomic_mul_fetch(z, 0, update[0])
        found[3] = es.atomic_div_fetch(z, 0, update[0])
        es.atomic_store(z, 0, update[0])
        found[4] = es.atomic_load(z, 0)

    def additions(i, z):
        es.atomic_add(z, 0, 1.0 + 2.0j)

    z = es.zeros(1, es.complex128)
    es.parallel_for(1000, additions, z)
    assert z.item() == 1000 + 2000j
    start, end = -5, 11
    for i in range(start, end):
        old, by = complex(i), complex(end - i - start)
        z, update = es.array([old]), es.array([by])
        found = es.zeros(5, es.complex128)
        if space.capabilities.atomic_bytes < 16:
            with raises(es.ExecspaceError, match="complex128"):
                es.parallel_for(1, operations, z, update, found)
            return
        es.parallel_for(1, operations, z, update, found)
        np.testing.assert_allclose(found.to_numpy(), [old, old, old * by, old, by], rtol=1e-15)


@row(UNIT, "ExecutionSpace", "self.space = es.default_space()")
def execution_space(space: es.ExecutionSpace) -> None:
    """A space as the member of a functor, and compared."""

    class Functor:
        def __init__(self) -> None:
            self.space = es.default_space()
            self.number = 3

        def __call__(self, i):
            return i + self.number

    functor = Functor()
    assert functor.space is space
    assert es.parallel_reduce(es.RangePolicy(1, space=functor.space), functor) == 3
    assert es.space("serial") is not es.space("oracle") and es.space(space.name) is space


@row(UNIT, "InitializationSettings", "settings = es.InitializationSettings(num_threads=255)")
def initialization_settings(space: es.ExecutionSpace) -> None:
    """Each is unset, is set, and has the type that it has."""
    assert es.InitializationSettings().num_threads is None
    settings = es.InitializationSettings(num_threads=255)
    assert settings.num_threads == 255
    assert settings.environment() == {"EXECSPACE_NUM_THREADS": "255"}
    with raises(TypeError):
        es.InitializationSettings(number_of_threads=3)


@row(UNIT, "chunk size/Schedule", 'es.RangePolicy(0, n, schedule="dynamic", chunk_size=10)')
def chunk_size_and_schedule(space: es.ExecutionSpace) -> None:
    """Of TestRange's dynamic policy: each index once, whatever the chunks."""

    def visit(i, x):
        es.atomic_add(x, i, 1)

    n = 1000
    for policy in (
        es.RangePolicy(0, n),
        es.RangePolicy(0, n, schedule="dynamic"),
        es.RangePolicy(0, n, schedule="dynamic", chunk_size=10),
        es.RangePolicy(0, n, schedule="dynamic", chunk_size=2 * n),
    ):
        x = es.zeros(n, es.int64)
        es.parallel_for(policy, visit, x)
        assert (x.to_numpy() == 1).all()
        assert es.parallel_reduce(policy, lambda i: i) == n * (n - 1) // 2


@row(UNIT, "LocalDeepCopy", "es.local_deep_copy(team, B[1, 1, 1, 1, 1, 1, i, :], 20.0)")
def local_deep_copy(space: es.ExecutionSpace) -> None:
    """Parts of Views of rank 8, by teams and by threads; copies and fills."""

    def by_teams(team, A, B):
        i = team.league_rank
        es.local_deep_copy(team, B[1, 1, 1, 1, 1, 1, i, :], A[1, 1, 1, 1, 1, 1, i, :])

    def fill_by_teams(team, B):
        i = team.league_rank
        es.local_deep_copy(team, B[1, 1, 1, 1, 1, 1, i, :], 20.0)

    def by_threads(i, A, B):
        es.local_deep_copy(B[1, 1, 1, 1, i, :, :, :], A[1, 1, 1, 1, i, :, :, :])

    n = 3
    A, B = es.zeros((n,) * 8), es.zeros((n,) * 8)
    A[1, 1, 1, 1, 1, 1, :, :].fill(10.0)
    es.parallel_for(es.TeamPolicy(n, "auto"), by_teams, A, B)
    assert (A.to_numpy() == B.to_numpy()).all()
    es.deep_copy(B, 0.0)
    es.parallel_for(es.TeamPolicy(n, "auto"), fill_by_teams, B)
    assert B.to_numpy().sum() == 20.0 * n * n
    es.deep_copy(B, 0.0)
    es.parallel_for(n, by_threads, A, B)
    assert (A.to_numpy() == B.to_numpy()).all()


@dataclass
class Holder:
    """A class with a View in it, as S of Kokkos' test."""

    view: es.View


@row(UNIT, "ViewOfViews", "table[i % 2][i % 3].view[0] += 1")
def view_of_views(space: es.ExecutionSpace) -> None:
    """A table of 2 x 3, in which two places have one View."""

    def count(i, table):
        table[i % 2][i % 3].view[0] += 1

    a, b, rest = (es.zeros(1, es.int64) for _ in range(3))
    shared = [Holder(v.with_traits("atomic")) for v in (a, b, rest)]
    first, second, other = shared
    table = ((first, second, other), (first, other, other))
    es.parallel_for(600, count, table)
    assert (a.item(), b.item(), rest.item()) == (200, 100, 300)


@row(UNIT, "ExecSpacePartitioning", "first, second = es.partition_space(space, [1, 1])")
def exec_space_partitioning(space: es.ExecutionSpace) -> None:
    """Two parts whose threads sum 3910 numbers at the same time."""
    if space.name == "openmp" and space.concurrency == 1:
        with raises(es.SpaceError):
            es.partition_space(space, [1, 1])
        return
    first, second = es.partition_space(space, [1, 1])
    for part in (first, second):
        assert es.RangePolicy(1, space=part).space is part
        assert es.MDRangePolicy((1, 1), space=part).space is part
        assert es.TeamPolicy(1, space=part).space is part
    if space.name == "openmp":
        assert first.concurrency + second.concurrency == space.concurrency
    n, sums = 3910, [0, 0]

    def total(k: int, part: es.ExecutionSpace) -> None:
        sums[k] = es.parallel_reduce(es.RangePolicy(n, space=part), lambda i: i)

    threads = [threading.Thread(target=total, args=p) for p in enumerate((first, second))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sums == [n * (n - 1) // 2] * 2


class SuperScalar(es.Record):
    """Four numbers, which an atomic operation changes as one."""

    a: es.float64
    b: es.float64 = 0.0
    c: es.float64 = 0.0
    d: es.float64 = 0.0

    def __add__(self, other):
        return SuperScalar(self.a + other.a, self.b + other.b, self.c + other.c, self.d + other.d)


@row(UNIT, "atomics on structs", "es.atomic_add(total, 0, SuperScalar(1.0, 2.0, 3.0, 4.0))")
def atomics_on_structs(space: es.ExecutionSpace) -> None:
    """TestAtomics' SuperScalar<4>: add, exchange and compare and exchange."""

    def add(i, total):
        es.atomic_add(total, 0, SuperScalar(1.0, 2.0, 3.0, 4.0))

    def exchange(i, total, torn):
        k = 1.0 * i
        old = es.atomic_exchange(total, 0, SuperScalar(k, 2 * k, 3 * k, 4 * k))
        if old.b != 2 * old.a or old.d != 4 * old.a:
            es.atomic_inc(torn, 0)

    total, torn = es.full(1, SuperScalar(0.0)), es.zeros(1, es.int64)
    es.parallel_for(1000, add, total)
    found = total.to_numpy()
    assert [found[name][0] for name in "abcd"] == [1000.0, 2000.0, 3000.0, 4000.0]
    es.parallel_for(1000, exchange, total, torn)
    assert torn.item() == 0


absent(UNIT, "memory fences", "Fences within kernels")


@row(UNIT, "OccupancyControlTrait", 'with_hint = changed.with_options(work_items="light")')
def occupancy_control_trait(space: es.ExecutionSpace) -> None:
    """From the most to 33 and to 24 percent, with a hint, and back to the most; each runs."""

    def visits(policy) -> float:
        if isinstance(policy, es.MDRangePolicy):
            return es.parallel_reduce(policy, lambda i, j: 1.0)
        return es.parallel_reduce(policy, lambda i: 1.0)

    for policy in (es.RangePolicy(1), es.TeamPolicy(1), es.MDRangePolicy((1, 1))):
        desired = policy.with_options(occupancy=33)
        changed = desired.with_options(occupancy=24)
        with_hint = changed.with_options(work_items="light")
        dropped = with_hint.with_options(occupancy=None)
        assert (desired.occupancy, changed.occupancy, with_hint.occupancy) == (33, 24, 24)
        assert dropped.occupancy is None
        assert [visits(p) for p in (policy, desired, changed, with_hint, dropped)] == [1.0] * 5


absent(UNIT, "WorkGraph", "`WorkGraphPolicy` and tasks")
