"""Occupancy, work items and pairs of orders: what policies take, refuse and show; with_options."""

from __future__ import annotations

import copy
import pickle
import sys

import numpy as np
import pytest

import execspace as es
from execspace.contract.launch_spec import policy_spec
from execspace.policies.hints import heeded

KINDS = {
    "RangePolicy": lambda **o: es.RangePolicy(2, 9, **o),
    "MDRangePolicy": lambda **o: es.MDRangePolicy((0, 1), (4, 5), **o),
    "TeamPolicy": lambda **o: es.TeamPolicy(9, 4, **o),
}
kinds = pytest.mark.parametrize("name", KINDS)


@pytest.fixture
def two(plain):
    """A space that heeds everything, and one that heeds nothing."""
    plain.name = "plain"
    plain.capabilities = es.Capabilities(dynamic_schedules=True, hints=("occupancy", "work_items"))
    other = type(plain)("other")
    return plain, other


# -- occupancy ------------------------------------------------------------------------------------


@kinds
def test_an_occupancy_is_kept(name):
    policy = KINDS[name](occupancy=np.int8(50))
    assert policy.occupancy == policy.key[0].occupancy == 50
    assert "occupancy=50" in repr(policy) and KINDS[name]().occupancy is None
    assert KINDS[name](occupancy=None) == KINDS[name]() != policy


@kinds
@pytest.mark.parametrize("value", [0, 101, -5, True, 2**70])
def test_other_percentages_are_refused(name, value):
    with pytest.raises(es.PolicyError, match=f"^{name}: occupancy"):
        KINDS[name](occupancy=value)


@kinds
@pytest.mark.parametrize("value", [50.0, "50", (50,)])
def test_an_occupancy_is_an_integer(name, value):
    with pytest.raises(es.PolicyError, match=f"^{name}: occupancy must be an integer"):
        KINDS[name](occupancy=value)


# -- work items -----------------------------------------------------------------------------------


@kinds
@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("light", "light"), ("heavy", "heavy"), ("regular", "regular"), ("irregular", "irregular"),
        (("light",), "light"), (["irregular", "heavy"], ("heavy", "irregular")),
        (("light", "regular"), ("light", "regular")), (None, None),
    ],
)  # fmt: skip
def test_words_are_kept(name, given, kept):
    policy = KINDS[name](work_items=given)
    assert policy.work_items == kept
    assert (f"work_items={kept!r}" in repr(policy)) == (kept is not None)
    twin = pickle.loads(pickle.dumps(policy))
    assert twin == policy and twin.key == policy.key and repr(twin) == repr(policy)


@kinds
@pytest.mark.parametrize(
    "value",
    ["Light", "", (), ("light", "heavy"), ("regular", "irregular"), 3, ("light", 3), {"light": 1}],
)
def test_other_words_are_refused(name, value):
    with pytest.raises(es.PolicyError) as caught:
        KINDS[name](work_items=value)
    assert str(caught.value).startswith(f"{name}: work_items=")
    assert "expected one of ('light', 'heavy', 'regular', 'irregular'), or a pair" in str(
        caught.value
    )


@pytest.mark.parametrize("name", ["RangePolicy", "MDRangePolicy"])
def test_irregular_work_is_dynamic_unless_the_schedule_is_named(name):
    make = KINDS[name]
    assert make(work_items="irregular").schedule == "dynamic"
    assert make(work_items=("irregular", "heavy"), schedule="static").schedule == "static"
    assert make(work_items="regular").schedule == make(work_items="heavy").schedule == "static"
    assert make(schedule=None).schedule == "static"
    assert make(schedule=None) == make(schedule="static") == make()
    named = make(work_items="irregular", schedule="dynamic")
    assert named.with_options(work_items=None).schedule == "dynamic"
    assert make(work_items="irregular").with_options(work_items=None).schedule == "static"
    for policy in (named, make(work_items="irregular", schedule="static")):
        assert pickle.loads(pickle.dumps(policy)) == policy != make(work_items="irregular")


def test_a_chunk_fits_irregular_work():
    assert es.RangePolicy(8, chunk_size=2, work_items="irregular").chunk_size == 2
    with pytest.raises(es.PolicyError, match="chunk_size=2 with the static schedule"):
        es.RangePolicy(8, chunk_size=2, work_items="irregular", schedule="static")


def test_spaces_get_what_they_heed(two):
    plain, other = two
    spec = es.RangePolicy(
        9, occupancy=50, work_items=("heavy", "irregular"), chunk_size=3
    ).key[0]  # fmt: skip
    expected = policy_spec("range", 1, chunk_size=3, dynamic=True, occupancy=50, work_items="heavy")
    assert heeded(spec, "for", plain.capabilities) is expected
    assert heeded(spec, "for", other.capabilities) is policy_spec("range", 1)
    assert heeded(spec, "scan", plain.capabilities) is policy_spec("range", 1, occupancy=50)
    team = es.TeamPolicy(9, chunk_size=3, work_items=("heavy", "irregular")).key[0]
    assert heeded(team, "for", other.capabilities) is policy_spec("team", 1, chunk_size=3)
    assert heeded(team, "for", plain.capabilities) is policy_spec(
        "team", 1, chunk_size=3, dynamic=True
    )
    regular = es.RangePolicy(9, work_items="regular").key[0]
    assert heeded(regular, "for", plain.capabilities) is policy_spec("range", 1)


def store(i, x):
    x[i] = 1.0


@pytest.mark.parametrize(
    ("options", "lines"),
    [
        ({"occupancy": 50}, ["occupancy=50: space 'other' takes no notice"]),
        ({"work_items": "light"}, ["work_items='light': space 'other' takes no notice"]),
        ({"work_items": "regular"}, ["work_items='regular': as without it"]),
        ({"work_items": "irregular"}, ["work_items='irregular': space 'other' takes no notice"]),
        (
            {"work_items": ("heavy", "irregular"), "schedule": "static"},
            ["work_items='heavy': space 'other' takes no notice",
             "work_items='irregular': no effect, for the policy has schedule='static'"],
        ),
        (
            {"work_items": "irregular", "schedule": "dynamic"},
            ["schedule='dynamic': space 'other' takes no notice",
             "work_items='irregular': no effect, for the policy has schedule='dynamic'"],
        ),
    ],
)  # fmt: skip
def test_explain_tells_what_a_space_does_not_heed(two, options, lines):
    _, other = two
    x = es.View(9, label="x", space=other)
    assert es.explain(es.RangePolicy(9, space=other, **options), store, x).mapping == tuple(lines)


def test_explain_tells_of_words_without_effect_on_a_reduction(two):
    plain, _ = two
    x = es.View(9, label="x", space=plain)
    policy = es.RangePolicy(9, space=plain, work_items=("light", "irregular"))
    assert es.explain(policy, lambda i: x[i]).mapping == (
        "work_items='light': no effect on a parallel_reduce",
        "work_items='irregular': schedule='dynamic', for the policy names none",
    )
    assert es.explain(policy, store, x).mapping == (
        "work_items='irregular': schedule='dynamic', for the policy names none",
    )


# -- orders ---------------------------------------------------------------------------------------


def test_a_pair_is_the_order_of_tiles_and_that_within_one():
    policy = es.MDRangePolicy((4, 5), iterate=["left", "right"])
    spec = policy.key[0]
    assert policy.iterate == ("left", "right")
    assert (spec.outer, spec.iterate) == ("left", "right")
    assert repr(policy) == "MDRangePolicy((0, 0), (4, 5), iterate=('left', 'right'))"
    assert pickle.loads(pickle.dumps(policy)) == policy
    assert policy != es.MDRangePolicy((4, 5), iterate="right")


@pytest.mark.parametrize(
    ("given", "same"),
    [
        (("left", "left"), "left"), (("auto", "left"), "left"), (("auto", "auto"), "auto"),
        (("right", "right"), "right"),
    ],
)  # fmt: skip
def test_a_pair_of_one_order_is_that_order(given, same):
    policy = es.MDRangePolicy((4, 5), iterate=given)
    assert policy == es.MDRangePolicy((4, 5), iterate=same)
    assert policy.key[0] is es.MDRangePolicy((4, 5), iterate=same).key[0]


@pytest.mark.parametrize(
    "value", ["middle", ("left",), ("left", "right", "left"), ("left", 3), 3, None, ("left", "")]
)
def test_other_orders_are_refused(value):
    with pytest.raises(es.PolicyError) as caught:
        es.MDRangePolicy((4, 5), iterate=value)
    assert str(caught.value).endswith(
        "; expected one of ('auto', 'left', 'right'), or a pair of them: the order of tiles, and "
        "that within a tile."
    )


def test_a_named_tile_needs_the_order_within_it_alone():
    policy = es.MDRangePolicy((64, 64), tile="kokkos", iterate=("left", "right"))
    assert policy.tile == (2, 16)
    with pytest.raises(es.PolicyError, match="say which it is"):
        es.MDRangePolicy((64, 64), tile="kokkos", iterate=("left", "auto"))


# -- with_options ---------------------------------------------------------------------------------


@kinds
def test_an_option_is_changed_and_all_others_stay(name):
    policy = KINDS[name](launch_bounds=256, work_items="heavy")
    changed = policy.with_options(occupancy=40)
    assert changed == KINDS[name](launch_bounds=256, work_items="heavy", occupancy=40)
    assert changed.with_options(occupancy=None) == policy
    assert policy.with_options() == policy


def test_every_parameter_has_its_name():
    assert es.RangePolicy(9).with_options(begin=2, end=5) == es.RangePolicy(2, 5)
    tiled = es.MDRangePolicy((4, 5), tile=(2, 2)).with_options(upper=(8, 9), iterate="left")
    assert tiled == es.MDRangePolicy((0, 0), (8, 9), tile=(2, 2), iterate="left")
    assert tiled.with_options(tile=None).tile is None
    team = es.TeamPolicy(9, 4).with_options(league_size=3, team_size="auto", chunk_size=2)
    assert team == es.TeamPolicy(3, chunk_size=2)


@kinds
def test_other_parameters_are_refused(name):
    with pytest.raises(es.PolicyError) as caught:
        KINDS[name]().with_options(ocupancy=40)
    assert str(caught.value).startswith(
        f"{name}.with_options: there is no parameter 'ocupancy'; expected some of: "
    )
    with pytest.raises(es.PolicyError, match=f"^{name}: occupancy=400; expected percent"):
        KINDS[name]().with_options(occupancy=400)


@kinds
def test_values_without_a_name_are_refused(name):
    with pytest.raises(es.PolicyError) as caught:
        KINDS[name]().with_options(5)
    assert str(caught.value).startswith(
        f"{name}.with_options: got 5 without a name; expected name=value of some of: "
    )


@pytest.mark.skipif(sys.version_info < (3, 13), reason="copy.replace is of Python 3.13")
@kinds
def test_copy_replace_does_the_same(name):
    policy = KINDS[name]()
    assert copy.replace(policy, occupancy=40) == policy.with_options(occupancy=40)


# -- tiles ----------------------------------------------------------------------------------------


def test_a_space_has_no_largest_tile_unless_it_says_so(two):
    plain, other = two
    type(other).max_total_tile_size = property(lambda self: 512 if self is other else None)
    try:
        assert es.max_total_tile_size(other) == 512
        assert es.max_total_tile_size(plain) is None
    finally:
        del type(other).max_total_tile_size


def test_plans_that_do_not_say_what_scratch_takes(two):
    plain, _ = two
    x = es.View(9, label="x", space=plain)
    plan = es.bind(es.RangePolicy(9, space=plain), store, x).plan
    with pytest.raises(es.PluginError, match="plans for teams have no scratch_size"):
        plan.scratch_size((0, 9), (x,))
