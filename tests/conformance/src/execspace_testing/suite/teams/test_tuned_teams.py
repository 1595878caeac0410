"""Sizes of teams that are found by measurement give the right results."""

from __future__ import annotations

import numpy as np
import pytest

import execspace as es
from execspace_testing import staged
from execspace_testing.sizes import needs_teams

pytestmark = pytest.mark.usefixtures("tuning_folder")


@es.kernel
def row_sums(team, A, y):
    row = team.league_rank
    total = es.parallel_reduce(es.TeamVectorRange(team, A.extent(1)), lambda e: A[row, e])
    if es.single(es.PerTeam(team)):
        y[row] += total


def test_teams_get_sizes_with_which_results_are_right(space):
    needs_teams(space)
    values = np.arange(120.0).reshape(30, 4)
    A, y = staged.view_on(space, values, "A"), es.View(30, label="y", space=space)
    policy = es.TeamPolicy(30, space=space)
    found = es.tune(policy, row_sums, A, y, seconds=0.5)
    assert found.shapes == "32 32x4 32"
    for chosen in (policy, found.policy):
        es.parallel_for(chosen, row_sums, A, y)
    space.fence()
    np.testing.assert_array_equal(staged.fetch(y), 2 * values.sum(axis=1))
