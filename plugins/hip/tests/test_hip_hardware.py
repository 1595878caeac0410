"""The space itself, on an AMD GPU: skipped as "never run" where there is none.

The conformance kit says all else: pytest --pyargs execspace_testing.suite --space hip
"""

from __future__ import annotations

import numpy as np
import pytest

import execspace as es


@pytest.fixture
def hip():
    row = next(s for s in es.spaces() if s.name == "hip")
    if not row.usable:
        pytest.skip(f"never run on an AMD GPU: {row.reason}")
    return es.space("hip")


def scaled(i, a, x):
    x[i] *= a


def rows(team, A, y):
    row = team.league_rank
    total = es.parallel_reduce(es.TeamVectorRange(team, A.extent(1)), lambda k: A[row, k])
    if team.team_rank == 0:
        y[row] = total


def on_device(hip, array):
    return es.create_mirror_view_and_copy(hip, es.view_of(array))


def test_a_launch_and_a_reduction(hip):
    x = on_device(hip, np.arange(1000.0))
    es.parallel_for(es.RangePolicy(1000, space=hip), scaled, 2.0, x)
    total = es.parallel_reduce(es.RangePolicy(1000, space=hip), lambda i, x: x[i], x)
    assert total == 999000.0


def test_teams_fill_a_wavefront(hip):
    A = on_device(hip, np.arange(8 * 500.0).reshape(8, 500))
    y = es.View(8, space=hip)
    policy = es.TeamPolicy(8, 4, hip.dialect.lanes.count, space=hip)
    es.parallel_for(policy, rows, A, y)
    found = np.asarray(es.create_mirror_view_and_copy("serial", y))
    assert found.tolist() == [sum(range(500 * r, 500 * r + 500)) for r in range(8)]


def test_what_explain_tells_of_a_device_is_read_from_its_code(hip):
    x = on_device(hip, np.zeros(8))
    found = es.explain(es.RangePolicy(8, space=hip), scaled, 2.0, x)
    figures = found.resource_usage["es_for"]
    assert figures["threads"] == 256 and figures["registers"] > 0
    assert 0 < figures["wavefronts"] <= figures["most wavefronts"]
