"""`spmd.kernel_in_lanes`, which the public door offers: forms of kernels for backends of others."""

import pytest

from execspace import Kernel, LaunchSpec, ViewType
from execspace.contract.argtypes import SCALAR_TYPES
from execspace.contract.launch_spec import policy_spec
from execspace_compiler.backend import ir, lower_kernel, spmd

VIEW = ViewType("float64", 1, "right", 0, False, "host")
PLANE = ViewType("float64", 2, "right", 1, False, "host")


def lowered(kernel, *types, kind="range", rank=1, pattern="for"):
    return lower_kernel(Kernel(kernel), LaunchSpec(pattern, policy_spec(kind, rank), types))


def clipped(i, x, limit):
    if x[i] > limit:
        x[i] = limit


def test_a_form_is_functions_of_vectors_and_what_is_known_of_them():
    form = spmd.kernel_in_lanes(lowered(clipped, VIEW, SCALAR_TYPES[float]), 8)
    assert isinstance(form, spmd.LaneForm)
    assert form.lanes == 8 and form.functions[-1] is form.body
    assert [p.name for p in form.body.parameters[:3]] == ["i", "x", "limit"]
    mask = form.body.parameters[-1].type
    assert isinstance(mask, ir.types.Vector) and (mask.name, mask.lanes) == ("bool", 8)
    assert form.findings.steps["i"] == 1 and form.findings.steps["limit"] == 0
    assert len(form.findings.diverging) == 1
    assert "any" in form.text


def rows(i, j, x):
    x[i, j] = i


def test_the_fastest_index_may_be_named():
    kernel = lowered(rows, PLANE, kind="mdrange", rank=2)
    assert spmd.kernel_in_lanes(kernel, 4).findings.steps["j"] == 1
    assert spmd.kernel_in_lanes(kernel, 4, fastest=0).findings.steps == {"i": 1, "j": 0, "x": 0}
    with pytest.raises(ValueError, match="fastest=2: expected an index from 0 to 1"):
        spmd.kernel_in_lanes(kernel, 4, fastest=2)


@pytest.mark.parametrize("lanes", [0, 1, 3, 128])
def test_lanes_are_a_power_of_two(lanes):
    with pytest.raises(ValueError, match=f"lanes={lanes}: expected a power of two from 2 to 64"):
        spmd.kernel_in_lanes(lowered(clipped, VIEW, SCALAR_TYPES[float]), lanes)


def counted(i, x, limit):
    x[0] = x[0] + limit


def test_kernels_without_a_form_say_why():
    with pytest.raises(spmd.NotVectorised, match="lanes may change the same elements of 'x'"):
        spmd.kernel_in_lanes(lowered(counted, VIEW, SCALAR_TYPES[float]), 4)

    def of_team(team, x):
        x[team.league_rank] = 1.0

    with pytest.raises(spmd.NotVectorised, match="it is no parallel_for over a range"):
        spmd.kernel_in_lanes(lowered(of_team, VIEW, kind="team"), 4)


def scaled(i, x, limit):
    x[i] = x[i] * limit + 1.0


def test_products_and_sums_are_contracted_if_that_is_asked_for():
    kernel = lowered(scaled, VIEW, SCALAR_TYPES[float])
    for contract in (False, True):
        text = spmd.kernel_in_lanes(kernel, 4, contract=contract).text
        assert ("fma" in text) == contract
