"""Teams of several threads on one thread of a host: what each member keeps between barriers.

What comes out is compared with the oracle in the conformance kit; here is what the text looks like.
"""

from __future__ import annotations

import numpy as np
import pytest

import execspace as es
from execspace import Kernel, LaunchSpec, ViewType
from execspace.contract.argtypes import SCALAR_TYPES
from execspace.contract.launch_spec import policy_spec
from execspace_compiler import ir, lower_kernel
from execspace_compiler.ir.text import function_text
from execspace_compiler.teams.host_teams import host_team


def cut(kernel, *arguments, size=4, lanes=1):
    """Body of a kernel for teams of a size, as text without declarations."""
    types = [
        ViewType(a, 1, "right", 0, False, "host") if isinstance(a, str) else SCALAR_TYPES[a]
        for a in arguments
    ]
    spec = LaunchSpec("for", policy_spec("team", 1), tuple(types))
    return host_team(lower_kernel(Kernel(kernel), spec), size, lanes)


def kept(team):
    """Variables of which each member keeps its own."""
    start = "_m_kept_"
    return {n.removeprefix(start) for n in team.lowered.body.locals if n.startswith(start)}


def loops(team):
    """Loops over the members."""
    body = team.lowered.body.body
    return [s for s in ir.walk_statements(body) if isinstance(s, ir.For) and s.name == "_m_"]


def test_a_team_of_one_is_plain_loops():
    def kernel(team, x):
        total = es.parallel_reduce(es.TeamThreadRange(team, x.extent(0)), lambda k: x[k])
        team.barrier()
        x[team.team_rank] = total

    team = cut(kernel, "float64", size=1)
    text = function_text(team.lowered.body)
    assert "_m_" not in text
    assert "barrier" not in text and "combine" not in text
    assert "for _t1 in range(0:int64, extent(x, 0), 1:int64)" in text


def test_members_keep_what_differs_and_lives_on():
    def kernel(team, x, n):
        mine = x[team.team_rank] + n
        same = n * 2
        inside = mine * 3
        x[team.team_rank] = inside
        team.barrier()
        x[team.team_rank] = mine + same

    team = cut(kernel, "float64", int)
    assert kept(team) == {"mine"}  # `same` is the same for all, `inside` does not live on
    assert len(loops(team)) == 2


def test_what_counts_rounds_is_kept_though_it_is_the_same_for_all():
    def kernel(team, x):
        rounds = 0
        while rounds < 3:
            x[team.team_rank] += 1
            team.barrier()
            rounds += 1

    team = cut(kernel, "float64")
    assert kept(team) == {"rounds"}  # one instance would count each member's step


def test_private_arrays_that_differ_are_kept():
    def kernel(team, x):
        mine = es.local(2)
        same = es.local(2)
        mine[1] = x[team.team_rank]
        same[1] = x[0]
        team.barrier()
        x[team.team_rank] = mine[1] + same[1]

    team = cut(kernel, "float64")
    assert any("_local_" in name for name in kept(team))
    assert len(kept(team)) == 1


def test_loops_around_barriers_are_those_of_the_team():
    def kernel(team, x, n):
        for _ in range(n):
            x[team.team_rank] += 1
            team.barrier()

    team = cut(kernel, "float64", int)
    outer = next(s for s in team.lowered.body.body if isinstance(s, ir.For))
    assert outer.name != "_m_"
    assert [s.name for s in outer.body if isinstance(s, ir.For)] == ["_m_"]


def test_iterations_go_round_the_members():
    def kernel(team, x, n):
        for k in es.TeamThreadRange(team, n):
            x[k] = team.team_rank

    team = cut(kernel, "float64", int)
    each = next(s for s in loops(team)[0].body if isinstance(s, ir.For))
    assert (str(each.start), each.step.value) == ("_m_", 4)


@pytest.mark.parametrize("size", [1, 4])
def test_scratch_memory_lies_one_behind_the_other(size):
    def kernel(team, x, n):
        first = team.scratch(n, es.float32)
        second = team.scratch((3, 3), es.int16)
        mine = team.thread_scratch(2)
        first[0] = second[0, 0] = mine[0] = x[0]

    team = cut(kernel, "float64", int, size=size)
    sizes = team.sizes("a space")
    assert sizes.found(1, (only_extents(7), 7)) == (32 + 32 + 16 * size, 0)
    offsets = [p.offset for p in team.layout.allocations.values()]
    assert len(offsets) == 3 and offsets[0] == ir.integer(0)


def test_sizes_of_scratch_memory_are_found_in_arguments_of_any_type():
    def kernel(team, x, n, factor, twice):
        rows = min(n, 3) + int(factor * 2.0) + twice
        a = team.scratch((rows, x.extent(0) // 4 + n % 4), es.float32)
        b = team.scratch(max(abs(-n), team.league_size), level=1)
        a[0, 0] = b[0] = x[0]

    sizes = cut(kernel, "float64", int, float, bool).sizes("a space")
    first = (3 + 3 + 1) * (9 // 4 + 7 % 4) * 4  # bytes, up to a multiple of 16 of them
    assert sizes.found(5, (only_extents(9), 7, 1.5, True)) == (-(-first // 16) * 16, 64)
    assert sizes.found(20, (only_extents(9), 7, 1.5, np.False_))[1] == 160
    assert sizes.found(5, (only_extents(9), np.int8(120), 1.5, True))[1] == 960  # 8 * 120
    with pytest.raises(es.LaunchError, match=r"would have the shape \(-3, "):
        sizes.found(5, (only_extents(9), 1, -2.5, np.True_))


@pytest.mark.parametrize("size", [1, 4])
def test_level_1_lies_behind_level_0(size):
    def kernel(team, x):
        small = team.scratch(5)
        large = team.scratch(7, level=1)
        mine = team.thread_scratch(3, level=1)
        small[0] = large[0] = mine[0] = x[0]

    team = cut(kernel, "float64", size=size)
    assert team.sizes("a space").found(1, (only_extents(7),)) == (48, 64 + 32 * size)
    carved = {s.view.name: s for s in ir.walk_statements(team.lowered.body.body)
              if isinstance(s, ir.Carve)}  # fmt: skip
    offsets = [s.offset for s in carved.values()]
    assert [e.value for e in offsets if isinstance(e, ir.Const)][:2] == [0, 48]
    assert offsets[2] == ir.integer(112) or "112" in str(offsets[2])


def only_extents(n):
    """Stands for a View, of which only the extents matter."""

    class View:
        shape = (n,)

    return View()
