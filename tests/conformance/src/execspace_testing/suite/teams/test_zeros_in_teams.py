"""Sums of teams begin with 0.0, so nothing but -0.0 adds up to 0.0."""

from __future__ import annotations

import numpy as np
import pytest

import execspace as es
from execspace_testing import staged

from .shapes import league, two_shapes


def in_teams(team, x, total, before, threads):
    r = team.league_rank
    total[r, 0] = es.parallel_reduce(es.ThreadVectorRange(team, x.shape[0]), lambda k: x[k])
    total[r, 1] = es.parallel_reduce(es.TeamThreadRange(team, x.shape[0]), lambda k: x[k])

    def scanned(k, prefix, final):
        if final:
            before[r, k] = prefix
        return x[k]

    total[r, 2] = es.parallel_scan(es.TeamThreadRange(team, x.shape[0]), scanned)
    total[r, 3] = team.reduce(x[0])
    threads[r, team.team_rank] = team.scan(x[0])


@two_shapes
@pytest.mark.parametrize("n", [1, 2, 9, 100])
def test_sums_and_prefixes_of_teams(space, shape, n):
    x = np.full(n, -0.0)
    total, before, threads = np.full((2, 4), np.nan), np.full((2, n), np.nan), np.zeros((2, 64))
    staged.parallel_for(league(space, 2, shape), in_teams, x, total, before, threads)
    for values in (total, before, threads):
        assert (values == 0.0).all()
        assert not np.signbit(values).any()
