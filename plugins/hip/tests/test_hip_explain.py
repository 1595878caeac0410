"""explain(target="gfx942"): kernels compiled for an AMD GPU that is not there, and what they need.

What a compiler makes of our text is checked here for every kind of launch: no spills, LDS and
work-groups within the limits, wavefronts as the text takes them, and arguments laid out as packed.
"""

from __future__ import annotations

import math
import re
import struct

import numpy as np
import pytest

import execspace as es
from execspace_hip.amdgpu.code_object import read_code_object
from execspace_hip.amdgpu.offline import find_compiler
from execspace_hip.amdgpu.targets import TARGETS, occupancy, target_of

NAMES = ("gfx90a", "gfx942", "gfx1100")


@pytest.fixture(params=NAMES)
def target(request, tmp_path, monkeypatch):
    """Name of a kind of GPU that this machine can compile for."""
    monkeypatch.setenv("EXECSPACE_CACHE_DIR", str(tmp_path / "cache"))
    try:
        find_compiler(request.param)
    except es.SpaceUnavailableError as error:
        pytest.skip(str(error))
    return request.param


def axpy(i, a, x, y):
    y[i] += a * x[i]


def waves(i, x, y):
    y[i] = math.sin(x[i]) * math.exp(-x[i]) + math.hypot(x[i], y[i])


def stencil(i, j, A, B):
    B[i, j] = A[i - 1, j] + A[i + 1, j] + A[i, j - 1] + A[i, j + 1] - 4 * A[i, j]


def rows(team, A, y):
    row = team.league_rank
    total = es.parallel_reduce(es.TeamVectorRange(team, A.extent(1)), lambda k: A[row, k])
    if team.team_rank == 0:
        y[row] = total


def windows(team, x, y):
    at = team.scratch(team.team_size + 2, x.dtype)
    first = team.league_rank * team.team_size
    for k in es.TeamThreadRange(team, at.extent(0)):
        at[k] = x[first + k]
    team.barrier()
    y[first + team.team_rank] = at[team.team_rank] + at[team.team_rank + 2]


def prefix(i, before, final, x, y):
    if final:
        y[i] = before
    return x[i]


def counted(i, x, n):
    es.atomic_add(n, int(x[i]), 1)
    es.atomic_max(x, 0, x[i])


x, y, A = np.zeros(512), np.zeros(512), np.zeros((64, 64))
LAUNCHES = {
    "axpy": ((512, axpy, 2.0, x, y), {}),
    "float16": ((512, axpy, 2.0, x.astype("f2"), y.astype("f2")), {}),
    "mathematics": ((512, waves, x, y), {}),
    "stencil": ((es.MDRangePolicy((1, 1), (63, 63)), stencil, A, A.copy()), {}),
    "packs": ((es.MDRangePolicy((1, 1), (63, 63)), stencil, A.astype("f4"), A.astype("f4")), {}),
    "sum": ((512, lambda i, x: x[i], x), {"reducer": es.Sum}),
    "minloc": ((512, lambda i, x: (x[i], i), x), {"reducer": es.MinLoc}),
    "scan": ((512, prefix, x, y), {"pattern": "scan"}),
    "atomics": ((512, counted, x, np.zeros(9, "i4")), {}),
    "teams": ((es.TeamPolicy(64), rows, A, y), {}),
    "scratch": ((es.TeamPolicy(8, 62), windows, x, y), {}),
}


@pytest.mark.parametrize("case", LAUNCHES)
def test_kernels_fit_the_hardware(target, case):
    arguments, options = LAUNCHES[case]
    check_arguments(planned(target, arguments, options), target)
    found = es.explain(*arguments, **options, target=target)  # from the cache on disk
    kind = TARGETS[target]
    assert found.space == target and found.resource_usage
    for name, figures in found.resource_usage.items():
        assert figures["spills"] == figures["local"] == 0
        assert figures["shared"] <= kind.lds
        threads = figures["threads"]
        assert f"_ES_KERNEL({threads}) {name}(" in found.source
        expected = occupancy(
            kind, figures["registers"], figures["shared"], threads, figures["scalar registers"]
        )
        assert figures["wavefronts"] == expected.waves >= kind.waves * kind.simds // 4
        (line,) = (text for text in found.mapping if text.startswith(f"{name}: "))
        assert f"{expected.waves} of {expected.most} wavefronts of a " in line and target in line


def check_arguments(plan, target):
    """They lie where they are packed: the driver takes each from an address of its own, the struct
    of numbers first."""
    entry = plan.device_code.entry
    code = read_code_object(plan.code)
    assert set(code.kernels) == set(entry.kernels)
    for kernel in code.kernels.values():
        numbers, *pointers = kernel.given
        assert (numbers.kind, numbers.offset) == ("by_value", 0)
        assert numbers.size == struct.calcsize(entry.format)
        assert {p.size for p in pointers} == {8} and len(pointers) >= len(entry.buffers)
        places = [numbers.size + 8 * n for n in range(len(pointers))]
        assert [p.offset for p in pointers] == places
        assert kernel.wave == target_of(target).wave


def planned(target, arguments, options):
    """The plan that explain makes."""
    from execspace.launch.prepare import planned as prepared

    policy, kernel, *rest = arguments
    pattern = options.get("pattern", "for")
    return prepared(
        policy, kernel, tuple(rest), pattern, options.get("reducer"), None, target
    ).plan  # fmt: skip


def test_waves_are_those_of_the_target(target):
    policy = es.TeamPolicy(64, 8, TARGETS[target].wave, space=None)
    found = es.explain(policy, rows, A, y, target=target)
    assert f"{TARGETS[target].wave} lanes" in found.mapping[0]
    with pytest.raises(es.PolicyError, match="vector_length=128"):
        es.explain(es.TeamPolicy(64, 2, 128), rows, A, y, target=target)


def test_nothing_is_launched(target):
    plan = planned(target, (512, axpy, 2.0, x, y), {})
    with pytest.raises(es.SpaceUnavailableError, match=f"Target '{target}' compiles kernels and"):
        plan.launch((0, 512), (2.0, x, y))


def test_a_compiled_text_is_kept(target, tmp_path):
    es.explain(512, axpy, 2.0, x, y, target=target)
    (stored,) = (tmp_path / "cache" / "hip").glob("*.bin")
    before = stored.stat().st_mtime_ns
    es.explain(512, es.Kernel(axpy), 2.0, x, y, target=target)
    assert stored.stat().st_mtime_ns == before


def test_targets_that_are_not_known():
    with pytest.raises(es.BackendCompileError, match=r"'gfx' is not a kind of AMD GPU; expected a"):
        es.explain(512, axpy, 2.0, x, y, target="gfx")
    with pytest.raises(es.BackendCompileError, match="Nothing is known of AMD GPU 'gfx803'"):
        es.explain(512, axpy, 2.0, x, y, target="gfx803")
    with pytest.raises(es.UnknownSpaceError, match="target='sm_90': none of the spaces"):
        es.explain(512, axpy, 2.0, x, y, target="sm_90")


def test_no_compiler_says_what_to_install(monkeypatch, tmp_path):
    monkeypatch.setenv("EXECSPACE_HIP_COMPILER", str(tmp_path / "clang"))
    with pytest.raises(es.SpaceUnavailableError, match="there is no such program"):
        es.explain(512, axpy, 2.0, x, y, target="gfx942")


@pytest.mark.parametrize("percent", [10, 25, 50, 100])
def test_an_occupancy_is_told_for_a_target(target, percent):
    kind = TARGETS[target]
    policy = es.RangePolicy(512, occupancy=percent)
    found = es.explain(policy, axpy, 2.0, x, y, target=target)
    (line,) = (text for text in found.mapping if text.startswith(f"occupancy={percent}: "))
    usage = found.resource_usage["es_for"]
    size = int(re.search(r"(\d+) threads a block", found.mapping[0])[1])
    had = occupancy(kind, usage["registers"], usage["shared"], size, usage["scalar registers"])
    keeps = kind.waves * kind.simds * kind.wave
    wanted = max(1, int(percent * keeps / (100 * size) + 0.5))

    def groups_with(added):
        lds = usage["shared"] + added
        return occupancy(kind, usage["registers"], lds, size, usage["scalar registers"]).groups

    wanted = max(wanted, groups_with(kind.lds - usage["shared"]))  # of the largest ones
    if had.groups <= wanted:
        assert "no effect" in line
        return
    nbytes = int(re.search(r"ask for (\d+) bytes", line)[1])
    assert groups_with(nbytes) <= wanted < groups_with(nbytes - 1)
    assert f"in place of {had.groups}" in line
