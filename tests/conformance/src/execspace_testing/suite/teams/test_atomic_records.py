"""Atomic operations on records by the threads of teams, also in scratch memory."""

from __future__ import annotations

import numpy as np
import pytest

import execspace as es
from execspace_testing import staged
from execspace_testing.sizes import needs_atomic, needs_dtype, needs_teams

from .shapes import league, two_shapes


class Sum3(es.Record):
    a: es.int64
    b: es.int64 = 0
    c: es.int64 = 0

    def __add__(self, other):
        return Sum3(self.a + other.a, self.b + other.b, self.c + other.c)


def spread(team, totals):
    own = team.scratch((2,), Sum3)
    if es.single(es.PerTeam(team)):
        own[0] = Sum3(0)
        own[1] = Sum3(0)
    team.barrier()
    for k in es.TeamThreadRange(team, 64):
        es.atomic_add(own, k % 2, Sum3(1, k, 2 * k))
    team.barrier()
    if es.single(es.PerTeam(team)):
        es.atomic_add(totals, 0, own[0])
        es.atomic_add(totals, 1, own[1].copy())


@two_shapes
def test_records_in_scratch_and_in_memory(space, shape):
    needs_teams(space)
    needs_dtype(space, "int64")
    needs_atomic(space, 4)
    totals = es.View(2, Sum3, space=space)
    es.deep_copy(totals, np.zeros(2, Sum3.dtype))
    es.parallel_for(league(space, 10, shape), spread, totals)
    found = staged.fetch(totals)
    assert found["a"].tolist() == [320, 320]
    assert found["b"].tolist() == [10 * sum(range(k, 64, 2)) for k in range(2)]
    assert (found["c"] == 2 * found["b"]).all()


def racing(team, totals):
    own = team.scratch((1,), Sum3)
    es.atomic_store(own, 0, Sum3(1))
    if team.team_rank == 0:
        totals[team.league_rank] = own[0]


def test_the_oracle_finds_a_race_with_what_is_changed_atomically(space):
    needs_teams(space)
    if space.name != "oracle":
        pytest.skip("the oracle looks for races")
    totals = es.View(1, Sum3, space=space)
    with pytest.raises(es.KernelError, match="race"):
        es.parallel_for(es.TeamPolicy(1, 2, space=space), racing, totals)
