"""`occupancy` and `work_items`: no result depends on them, and `explain` tells what each does.

Which spaces heed them is in `Capabilities.hints`; `work_items="irregular"` is the dynamic schedule.
"""

from __future__ import annotations

import numpy as np
import pytest

import execspace as es
from execspace_testing import staged
from execspace_testing.sizes import fitting, needs_teams

WORDS = [
    "light", "heavy", "regular", "irregular", ("light", "irregular"), ("regular", "heavy"),
]  # fmt: skip


@es.kernel
def collatz(i, steps):
    """Steps of i + 1 to 1: from none to hundreds, and neighbours differ."""
    n = i + 1
    count = 0
    while n != 1:
        n = 3 * n + 1 if n % 2 else n // 2
        count += 1
    steps[i] = count


def expected_steps(n):
    out = np.zeros(n, np.int64)
    for i in range(n):
        collatz.fn(i, out)
    return out


OPTIONS = [{"work_items": w} for w in WORDS]
OPTIONS += [{"occupancy": p} for p in (1, 30, 50, 100)]
OPTIONS += [{"occupancy": 25, "work_items": ("heavy", "irregular"), "launch_bounds": 64}]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_ranges(space, options):
    n = fitting(space, 5000)
    policy = es.RangePolicy(n, space=space, **options)
    steps, expected = np.zeros(n, np.int64), expected_steps(n)
    staged.parallel_for(policy, collatz, steps)
    np.testing.assert_array_equal(steps, expected)
    x = staged.view_on(space, expected, "x")
    assert es.parallel_reduce(policy, lambda i: x[i]) == expected.sum()

    def prefix(i, before, final, x, out):
        if final:
            out[i] = before
        return x[i]

    out = staged.view_on(space, np.zeros(n, np.int64), "out")
    if "launch_bounds" not in options:
        assert es.parallel_scan(policy, prefix, x, out) == expected.sum()
        np.testing.assert_array_equal(staged.fetch(out)[1:], expected.cumsum()[:-1])


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("tile", [None, (4, 8)])
def test_ranges_of_several_dimensions(space, options, tile):
    """A stream, and a stencil, for which devices have blocks."""
    n, m = (9, 40) if fitting(space, 10_000) < 10_000 else (70, 300)
    policy = es.MDRangePolicy((n, m), tile=tile, space=space, **options)
    B = np.arange(float((n + 2) * (m + 2))).reshape(n + 2, m + 2) % 31

    def around(i, j, A, B):
        A[i, j] = B[i, j] + B[i + 1, j] + B[i + 2, j] + B[i, j + 2]

    A = np.zeros((n, m))
    staged.parallel_for(policy, around, A, B)
    np.testing.assert_array_equal(A, B[:-2, :-2] + B[1:-1, :-2] + B[2:, :-2] + B[:-2, 2:])
    assert staged.parallel_reduce(policy, lambda i, j: 2 * i + j) == sum(
        2 * i + j for i in range(n) for j in range(m)
    )


@pytest.mark.parametrize("options", [o for o in OPTIONS if "launch_bounds" not in o], ids=str)
def test_teams(space, options):
    """Of different work, with scratch memory, and as a reduction."""
    needs_teams(space)
    teams = fitting(space, 500, 12)
    policy = es.TeamPolicy(teams, space=space, **options)

    def triangle(team, out):
        at = team.scratch(4, es.int64)
        for k in es.TeamThreadRange(team, 4):
            at[k] = k
        team.barrier()
        total = es.parallel_reduce(es.TeamThreadRange(team, team.league_rank % 50), lambda k: k)
        if es.single(es.PerTeam(team)):
            out[team.league_rank] = total + at[3]

    out = np.zeros(teams, np.int64)
    staged.parallel_for(policy, triangle, out)
    r = np.arange(teams) % 50
    np.testing.assert_array_equal(out, r * (r - 1) // 2 + 3)
    assert es.parallel_reduce(policy, lambda team: team.league_rank) == teams * (teams - 1) // 2


def test_in_a_graph(space):
    n = fitting(space, 3000)
    steps = staged.view_on(space, np.zeros(n, np.int64), "steps")
    options = {"occupancy": 20, "work_items": ("light", "irregular")}
    with es.Graph(space) as graph:
        es.parallel_for(es.RangePolicy(n, space=space, **options), collatz, steps)
    for _ in range(2):
        es.deep_copy(steps, 0)
        graph.submit()
        space.fence()
        np.testing.assert_array_equal(staged.fetch(steps), expected_steps(n))


def told(space, option, **options):
    """What explain says of an option."""
    x = staged.view_on(space, np.zeros(100, np.int64), "x")
    found = es.explain(es.RangePolicy(100, space=space, **options), collatz, x).mapping
    return [line for line in found if line.startswith(f"{option}=")]


@pytest.mark.parametrize("word", ["light", "heavy", "regular", "irregular"])
def test_explain_tells_what_a_word_does(space, word):
    (line,) = told(space, "work_items", work_items=word)
    heeds = "work_items" in space.capabilities.hints
    expected = {
        "light": "asks for larger blocks" if heeds else "takes no notice",
        "heavy": "asks for smaller blocks" if heeds else "takes no notice",
        "regular": "as without it",
        "irregular": "schedule='dynamic', for the policy names none"
        if space.capabilities.dynamic_schedules else "takes no notice",
    }[word]  # fmt: skip
    assert line.startswith(f"work_items='{word}': ") and expected in line


def test_explain_tells_what_an_occupancy_does(space):
    (line,) = told(space, "occupancy", occupancy=50)
    heeds = "occupancy" in space.capabilities.hints
    assert line.startswith("occupancy=50: ")
    assert ("takes no notice" in line) == (not heeds)
    assert not told(space, "occupancy")


def test_a_schedule_that_is_named_counts(space):
    options = {"work_items": "irregular", "schedule": "static"}
    assert es.RangePolicy(100, **options).schedule == "static"
    assert not told(space, "schedule", **options)
    (line,) = told(space, "work_items", **options)
    assert line == "work_items='irregular': no effect, for the policy has schedule='static'"


def test_what_a_space_does_not_heed_is_compiled_once(space):
    x = staged.view_on(space, np.zeros(100, np.int64), "x")
    made = []
    for options in ({}, {"occupancy": 40, "work_items": "heavy"}):
        plan = es.bind(es.RangePolicy(100, space=space, **options), collatz, x).plan
        made.append(plan.spec.policy)
    same = not space.capabilities.hints
    assert (made[0] is made[1]) == same
    assert made[1].occupancy == (40 if "occupancy" in space.capabilities.hints else 0)


def test_the_largest_tile_that_is_one_block(space):
    most = es.max_total_tile_size(space)
    assert most == space.max_total_tile_size
    if most is None:
        return
    assert most >= 64
    x = staged.view_on(space, np.zeros((2, 4 * most), np.int64), "x")

    def mark(i, j, x):
        x[i, j] += 1

    for length in (most, 2 * most):
        es.parallel_for(es.MDRangePolicy(x.shape, tile=(1, length), space=space), mark, x)
    assert (staged.fetch(x) == 2).all()
