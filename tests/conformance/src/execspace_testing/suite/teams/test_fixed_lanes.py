"""A vector length that the policy gives holds on every space, also where a device has no lanes.

A thread then does what its lanes would, one after the other; which thread does what stays the same.
"""

from __future__ import annotations

import numpy as np
import pytest

import execspace as es
from execspace_testing import staged
from execspace_testing.sizes import fitting, needs_teams

LANES = [2, 8, 32]  # a GPU's warp is the most that portable programs ask for


def fixed(space, threads, lanes):
    """A policy of such teams; skips where there are none, and asks for no less than it says."""
    needs_teams(space)
    if threads * lanes > space.team_limits().threads_max:
        threads = space.team_limits().threads_max // lanes
    return es.TeamPolicy(2, threads, lanes, space=space), threads


def shared(team, owners, tile_owners, rows, once):
    r, me = team.league_rank, team.team_rank
    once[r, me, 0] += 1
    if es.single(es.PerThread(team)):
        once[r, me, 1] += 1
    for i in es.TeamVectorRange(team, 3, owners.extent(1)):
        owners[r, i] = me
    for i, j in es.TeamVectorMDRange(team, tile_owners.extent(1), tile_owners.extent(2)):
        tile_owners[r, i, j] = me
    for i in es.TeamThreadRange(team, rows.extent(1)):
        for j in es.ThreadVectorRange(team, rows.extent(2)):
            rows[r, i, j] += 100 * me + j


@pytest.mark.parametrize("lanes", LANES)
def test_each_thread_does_what_its_lanes_would(space, lanes):
    """Lane l of thread t is member t * lanes + l of a range that all lanes share."""
    policy, threads = fixed(space, 3, lanes)
    n = fitting(space, 300, 100)
    owners, tile_owners = np.full((2, n), -1), np.full((2, 7, 13), -1)
    rows, once = np.zeros((2, 5, 9)), np.zeros((2, threads, 2), np.int64)
    staged.parallel_for(policy, shared, owners, tile_owners, rows, once)
    assert (once == 1).all()
    assert (owners[:, :3] == -1).all()
    assert (owners[:, 3:] == np.arange(n - 3) // lanes % threads).all()
    assert (tile_owners.reshape(2, -1) == np.arange(91) // lanes % threads).all()
    assert (rows == 100 * (np.arange(5) % threads)[:, None] + np.arange(9)).all()


def joined(team, x, prefixes, steps, sums):
    r, n = team.league_rank, x.extent(1)
    me = team.team_rank

    def of_all(i, prefix, final):
        if final:
            prefixes[r, i] = prefix
            steps[r, i] = me
        return x[r, i]

    def of_lanes(i, prefix, final):
        return x[r, i] + me

    total = es.parallel_scan(es.TeamVectorRange(team, 2, n), of_all)
    mine = es.parallel_scan(es.ThreadVectorRange(team, n), of_lanes)
    summed = es.parallel_reduce(es.TeamVectorRange(team, n), lambda i: x[r, i])
    least = es.parallel_reduce(
        es.TeamVectorRange(team, n), lambda i: (x[r, i], i), reducer=es.MinLoc
    )
    own = es.parallel_reduce(es.ThreadVectorRange(team, n), lambda i: x[r, i] * (me + 1))
    sums[r, me, 0] = total
    sums[r, me, 1] = mine
    sums[r, me, 2] = summed
    sums[r, me, 3] = least[1]
    sums[r, me, 4] = own


@pytest.mark.parametrize("lanes", LANES)
def test_reductions_and_scans_over_lanes(space, lanes):
    policy, threads = fixed(space, 4, lanes)
    n = fitting(space, 203, 70)
    x = np.random.default_rng(lanes).integers(-99, 100, (2, n))
    prefixes, steps = np.zeros_like(x), np.full_like(x, -1)
    sums = np.zeros((2, threads, 5), np.int64)
    staged.parallel_for(policy, joined, x, prefixes, steps, sums)
    me = np.arange(threads)
    for r in range(2):
        tail = x[r, 2:]
        assert (prefixes[r, 2:] == np.cumsum(tail) - tail).all()
        assert (steps[r, 2:] == np.arange(n - 2) // lanes % threads).all()
        assert (sums[r, :, 0] == tail.sum()).all()
        assert (sums[r, :, 1] == x[r].sum() + n * me).all()
        assert (sums[r, :, 2] == x[r].sum()).all()
        assert (sums[r, :, 3] == x[r].argmin()).all()
        assert (sums[r, :, 4] == x[r].sum() * (me + 1)).all()
