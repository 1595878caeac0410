"""Teams as work-items: how they lie in groups, what lanes do alike, and the text of collectives."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from cfamily_cases import without_heads
from team_cases import lowered

import execspace as es
from execspace_compiler import ir
from execspace_compiler.codegen.cfamily.cuda import CUDA
from execspace_compiler.codegen.cfamily.device_kernel import DeviceKernel
from execspace_compiler.codegen.cfamily.hip import hip
from execspace_compiler.codegen.cfamily.opencl import OPENCL
from execspace_compiler.ir.diagnostics import Fault
from execspace_compiler.launch.device_code import device_code
from execspace_compiler.mapping.variant import Variant
from execspace_compiler.teams.device import Shape, device_team, shape_of

GOLDEN = Path(__file__).parents[1] / "golden"


def statements(team):
    return ir.walk_statements(team.lowered.body.body)


# -- shapes -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("size", "lanes", "chunk", "expected"),
    [
        (1, 1, 0, Shape(1, 1, 128, 1)),  # as many as make 128 threads
        (3, 2, 0, Shape(3, 2, 16, 8)),  # no team straddles two warps
        (8, 4, 0, Shape(8, 4, 4, 32)),
        (8, 4, 5, Shape(8, 4, 5, 32)),
        (1, 1, 1, Shape(1, 1, 1)),
        (33, 1, 0, Shape(33, 1)),  # a block of its own
        (64, 1, 3, Shape(64, 1, 3, 64)),  # with barriers of hardware for parts of a block
        (33, 1, 3, Shape(33, 1, 3)),  # which take whole warps: one team after the other
        (64, 1, 16, Shape(64, 1, 16)),  # there are 15 of them
        (128, 1, 9, Shape(128, 1, 9)),  # more threads than a block can have
        (256, 1, 0, Shape(256, 1)),
    ],
)
def test_teams_in_groups(size, lanes, chunk, expected):
    assert shape_of(size, lanes, chunk, 32, True, 1024) == expected


def test_where_nothing_is_exchanged_groups_do_one_team_after_the_other():
    assert shape_of(8, 1, 0, 1, False, 256) == Shape(8, 1)
    assert shape_of(8, 1, 5, 1, False, 256) == Shape(8, 1, 5)
    assert Shape(8, 1, 5).group == 8
    assert Shape(8, 4, 5, 32).group == 160


# -- lanes ------------------------------------------------------------------------------------


def test_one_lane_stores_for_all():
    def kernel(team, x):
        x[team.team_rank] += 1
        old = es.atomic_fetch_add(x, 0, 1.0)
        for k in es.ThreadVectorRange(team, 8):
            x[k] = old

    team = device_team(lowered(kernel, "float64"), Shape(4, 8, 4, 32))
    ifs = [s for s in statements(team) if isinstance(s, ir.If)]
    assert [str(s.test) for s in ifs] == ["eq:bool(_lane, 0:int64)"] * 2
    assert any(isinstance(s, ir.FromFirstLane) for s in statements(team))
    loop = next(s for s in statements(team) if isinstance(s, ir.For))
    assert (str(loop.start), loop.step.value) == ("add:int64(0:int64, _lane)", 8)
    assert isinstance(loop.body[-1], ir.Store)  # each lane its own


def test_with_one_lane_nothing_is_added():
    def kernel(team, x):
        x[team.team_rank] += 1

    team = device_team(lowered(kernel, "float64"), Shape(4, 1, 32, 4))
    assert not any(isinstance(s, ir.If | ir.LaneSync) for s in statements(team))


def test_a_helper_that_changes_what_lanes_have_and_what_they_share():
    def keep(mine, x, k):
        mine[k] = 1.0
        x[k] = 2.0

    def kernel(team, x):
        mine = es.local(4)
        keep(mine, x, 1)
        x[0] = mine[1]

    device_team(lowered(kernel, "float64"), Shape(4, 1))
    with pytest.raises(Fault, match="'keep' changes a private array, and does more") as caught:
        device_team(lowered(kernel, "float64"), Shape(4, 2))
    assert "use team.thread_scratch in place of es.local, or vector_length=1" in str(caught.value)


def test_helpers_that_only_read_or_only_change_what_lanes_have():
    def put(x, k, mine):
        x[k] = mine[k]

    def fill(mine, x):
        mine[0] = x[0]

    def kernel(team, x):
        mine = es.local(4)
        fill(mine, x)
        put(x, 1, mine)

    team = device_team(lowered(kernel, "float64"), Shape(4, 2))
    (alone,) = [s for s in statements(team) if isinstance(s, ir.If)]
    assert str(alone.test) == "eq:bool(_lane, 0:int64)"
    assert "put" in str(alone.body)
    assert "fill" not in str(alone.body)


# -- text -------------------------------------------------------------------------------------


def everything(team, x, y, n):
    """A collective of each kind."""
    row = team.league_rank
    at = team.scratch((n, 2))
    mine = team.thread_scratch(n, es.int32, level=1)

    def before(k, prefix, final):
        if final:
            at[k, 0] = prefix
        return x[row, k]

    total = es.parallel_scan(es.TeamThreadRange(team, n), before)
    for k in es.ThreadVectorRange(team, n):
        mine[k] = k
    most = es.parallel_reduce(es.ThreadVectorRange(team, n), lambda k: x[row, k], reducer=es.Max)
    low = es.parallel_reduce(
        es.TeamVectorRange(team, n), lambda k: (x[row, k], k), reducer=es.MinLoc
    )
    last = team.broadcast(team.scan(mine[0] + 1), team.team_size - 1)
    team.barrier()
    for k, j in es.TeamVectorMDRange(team, n, 2):
        y[row, k] = at[k, j] + most
    return total + low[0] + last


def check(name, source):
    path = GOLDEN / name
    if os.environ.get("UPDATE_GOLDEN") == "1":
        path.write_text(source, encoding="utf-8")
    assert source == path.read_text(encoding="utf-8"), f"{name} changed: run with UPDATE_GOLDEN=1"


@pytest.mark.parametrize(
    ("dialect", "shape"),
    [
        (CUDA, Shape(4, 4, 8, 16)),  # within a warp
        (CUDA, Shape(32, 4, 3, 128)),  # several warps, with barriers for parts of a block
        (CUDA, Shape(25, 2)),  # no whole number of warps
        (OPENCL, Shape(6, 1)),
        (hip(64), Shape(16, 4, 2, 64)),  # a wave of 64 lanes, masks of as many bits
        (hip(64), Shape(25, 4)),  # no whole number of waves
        (hip(32), Shape(25, 4)),
    ],
    ids=["warp", "parts", "block", "memory", "wave64", "waves64", "waves32"],
)
def test_text(request, dialect, shape):
    source = lowered(everything, "float64 2", "float64 2", int, pattern="reduce")
    team = device_team(source, shape)
    kernel = DeviceKernel(team.lowered, dialect, team=team)
    text = device_code(kernel, Variant(narrow=True, small=True, group=shape.group))
    name = request.node.callspec.id
    suffix = {"opencl": "cl", "cuda": "cu", "hip": "hip"}[dialect.name]
    check(f"team.{name}.{suffix}.txt", without_heads(text.source, dialect))


@pytest.mark.parametrize(
    ("wave", "shape"),
    [(64, Shape(16, 4, 2, 64)), (64, Shape(25, 4)), (32, Shape(8, 4)), (32, Shape(25, 4))],
)
def test_clang_compiles_teams_for_amd_gpus(build_hip, wave, shape):
    source = lowered(everything, "float64 2", "float64 2", int, pattern="reduce")
    team = device_team(source, shape)
    kernel = DeviceKernel(team.lowered, hip(wave), team=team)
    found = device_code(kernel, Variant(narrow=True, small=True, group=shape.group))
    assert build_hip(found.source) == {"es_reduce"}


def test_views_that_a_team_changes_are_not_restrict():
    def kernel(team, x, y):
        y[team.team_rank] = x[team.team_rank]
        team.barrier()
        y[0] = y[team.team_size - 1]

    team = device_team(lowered(kernel, "float64", "float64"), Shape(64, 1))
    kernel = DeviceKernel(team.lowered, CUDA, team=team)
    text = device_code(kernel, Variant(disjoint=True, group=64)).source
    assert "double *__restrict__ _b0" in text
    assert "double *_b1" in text
