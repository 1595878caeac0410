"""Schedules of ranges: what a policy says, what a space is given of it, and what is refused."""

from __future__ import annotations

import pickle
from dataclasses import replace

import numpy as np
import pytest

import execspace as es
from execspace.contract.launch_spec import policy_spec
from execspace.tuning import Choice
from execspace.tuning.choices import applied, policy_with

DYNAMIC = [
    lambda **o: es.RangePolicy(2, 9, schedule="dynamic", **o),
    lambda **o: es.RangePolicy(9, schedule="dynamic", chunk_size=4, launch_bounds=64, **o),
    lambda **o: es.MDRangePolicy((3, 4), schedule="dynamic", **o),
    lambda **o: es.MDRangePolicy((1, 1), (3, 4), tile=(2, 2), schedule="dynamic", **o),
]


@es.kernel
def store(i, x):
    x[i] += i + 1.0


@es.kernel
def store2(i, j, x):
    x[i, j] += 10.0 * i + j


@pytest.fixture
def sharing(plain):
    """A space whose threads take chunks one after another, as it says."""
    plain.name = "sharing"
    plain.capabilities = replace(plain.capabilities, dynamic_schedules=True)
    return plain


# -- the policy -----------------------------------------------------------------------------------


def test_a_range_is_static_unless_it_says_otherwise():
    policy = es.RangePolicy(5)
    assert (policy.schedule, policy.chunk_size) == ("static", None)
    assert policy.key == es.RangePolicy(5, schedule="static", chunk_size=None).key
    assert es.MDRangePolicy((5, 5)).schedule == "static"


def test_a_dynamic_range_has_chunks_or_leaves_them_to_the_space():
    policy = es.RangePolicy(5, schedule="dynamic")
    assert (policy.schedule, policy.chunk_size, policy.bounds) == ("dynamic", None, (0, 5))
    policy = es.RangePolicy(5, schedule="dynamic", chunk_size=np.int8(3))
    assert (policy.schedule, policy.chunk_size, type(policy.chunk_size)) == ("dynamic", 3, int)
    assert es.MDRangePolicy((5, 5), schedule="dynamic").schedule == "dynamic"


def test_a_plan_depends_on_the_schedule_and_the_chunk():
    policies = [
        es.RangePolicy(5), es.RangePolicy(5, schedule="dynamic"),
        es.RangePolicy(5, schedule="dynamic", chunk_size=1),
        es.RangePolicy(5, schedule="dynamic", chunk_size=2),
        es.MDRangePolicy((5,)), es.MDRangePolicy((5,), schedule="dynamic"),
    ]  # fmt: skip
    assert len({p.key for p in policies}) == len(policies)
    last = es.RangePolicy(7, 9, schedule="dynamic", chunk_size=2)
    assert last.key == policies[3].key
    assert (last.key[0].dynamic, last.key[0].chunk_size) == (True, 2)


def test_a_schedule_is_shown():
    assert repr(es.RangePolicy(3, schedule="dynamic")) == "RangePolicy(0, 3, schedule='dynamic')"
    assert repr(es.RangePolicy(3, schedule="static")) == "RangePolicy(0, 3)"
    full = es.RangePolicy(1, 3, launch_bounds=64, schedule="dynamic", chunk_size=2)
    assert repr(full) == ("RangePolicy(1, 3, launch_bounds=64, schedule='dynamic', chunk_size=2)")
    assert repr(es.MDRangePolicy((2, 3), tile=(1, 2), schedule="dynamic")) == (
        "MDRangePolicy((0, 0), (2, 3), tile=(1, 2), schedule='dynamic')"
    )


@pytest.mark.parametrize("make", DYNAMIC)
def test_a_schedule_is_pickled(make):
    policy = make()
    twin = pickle.loads(pickle.dumps(policy))
    assert (repr(twin), twin.bounds) == (repr(policy), policy.bounds)
    assert twin.key == policy.key


@pytest.mark.parametrize("make", [es.RangePolicy, lambda n, **o: es.MDRangePolicy((n,), **o)])
@pytest.mark.parametrize("value", ["guided", "Dynamic", "", True, 4, ("dynamic",)])
def test_other_schedules_are_refused(make, value):
    with pytest.raises(es.PolicyError, match=r"schedule=.*; expected one of \('static', 'dynamic"):
        make(8, schedule=value)


def test_an_array_is_no_schedule():
    with pytest.raises(es.PolicyError, match=r"RangePolicy: schedule=.*; expected one of"):
        es.RangePolicy(8, schedule=np.array(["dynamic", "static"]))


def test_a_chunk_needs_the_dynamic_schedule():
    for options in ({}, {"schedule": "static"}):
        with pytest.raises(es.PolicyError) as caught:
            es.RangePolicy(8, chunk_size=4, **options)
        assert str(caught.value) == (
            "RangePolicy: chunk_size=4 with the static schedule, in which each thread gets one "
            "part of the range; give schedule='dynamic', too, or leave out chunk_size=."
        )


@pytest.mark.parametrize(
    ("chunk", "message"),
    [
        (0, "RangePolicy: chunk_size=0; expected at least 1."),
        (-3, "RangePolicy: chunk_size=-3; expected at least 1."),
        (2.0, "RangePolicy: chunk_size must be an integer, got 2.0."),
        ("auto", "RangePolicy: chunk_size must be an integer, got 'auto'."),
    ],
)
def test_a_chunk_has_an_index_at_least(chunk, message):
    with pytest.raises(es.PolicyError) as caught:
        es.RangePolicy(8, schedule="dynamic", chunk_size=chunk)
    assert str(caught.value) == message


@pytest.mark.parametrize("bounds", [(0, 2**62), (2**62, 2**62 + 1), (-(2**62), 0)])
def test_a_last_chunk_whose_end_64_bits_cannot_hold_is_refused(bounds):
    """Rounding a range up to whole chunks would overflow, and silently do nothing."""
    with pytest.raises(es.PolicyError, match="chunk_size=4611686018427387904 reaches beyond"):
        es.RangePolicy(*bounds, schedule="dynamic", chunk_size=2**62)
    es.RangePolicy(*bounds, schedule="dynamic", chunk_size=2**62 - 2)


def test_ranges_of_several_dimensions_have_no_chunks():
    with pytest.raises(TypeError, match="chunk_size"):
        es.MDRangePolicy((8, 8), schedule="dynamic", chunk_size=2)


# -- launches -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "expected"),
    [({}, (False, 0)), ({"schedule": "dynamic"}, (True, 0)),
     ({"schedule": "dynamic", "chunk_size": 3}, (True, 3))],
)  # fmt: skip
def test_a_space_with_dynamic_schedules_is_given_them(sharing, options, expected):
    x = es.View(5, label="x", space=sharing)
    policy = es.RangePolicy(1, 5, space=sharing, **options)
    for _ in range(2):
        es.parallel_for(policy, store, x)
    total = es.parallel_reduce(policy, lambda i, x: x[i], x)
    assert list(x) == [0.0, 4.0, 6.0, 8.0, 10.0]
    assert total == 28.0
    specs = [spec.policy for _, spec in sharing.compiled]
    assert [(s.dynamic, s.chunk_size) for s in specs] == [expected] * 2  # and not for each launch


@pytest.mark.parametrize("make", DYNAMIC)
def test_a_space_without_them_is_given_a_static_policy(plain, make):
    policy = make(space=plain)
    rank = len(policy.bounds) // 2 if isinstance(policy, es.RangePolicy) else policy.rank
    x = es.View((9,) * rank, label="x", space=plain)
    es.parallel_for(policy, store if rank == 1 else store2, x)
    (spec,) = [spec.policy for _, spec in plain.compiled]
    asked = policy.key[0]
    assert spec is policy_spec(
        asked.kind, asked.rank, tiled=asked.tiled, launch_bounds=asked.launch_bounds
    )
    assert asked.dynamic
    assert np.count_nonzero(np.asarray(x)) >= 4


@pytest.mark.parametrize("make", DYNAMIC[:2])
def test_a_scan_is_static(sharing, make):
    @es.kernel
    def running(i, prefix, final, x):
        if final:
            x[i] = prefix
        return x[i]

    x = es.View(9, label="x", space=sharing)
    with pytest.raises(es.PolicyError) as caught:
        es.parallel_scan(make(space=sharing), running, x)
    assert str(caught.value) == (
        "Kernel 'running': parallel_scan goes through the indices one after the other, each thread "
        "through one part of them, so its policy cannot have the dynamic schedule; leave out "
        "schedule=."
    )
    assert not sharing.compiled


def test_explain_says_where_a_schedule_changes_nothing(plain, sharing):
    x = es.View(9, label="x", space=plain)
    line = "schedule='dynamic': space 'plain' takes no notice"
    plain.name = "plain"
    plain.capabilities = es.Capabilities()
    assert es.explain(es.RangePolicy(9, space=plain), store, x).mapping == ()
    for make in DYNAMIC[:2]:
        assert es.explain(make(space=plain), store, x).mapping == (line,)
    plain.capabilities = es.Capabilities(dynamic_schedules=True)
    assert es.explain(DYNAMIC[0](space=plain), store, x).mapping == ()


# -- tuning ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", DYNAMIC[:3])
def test_a_tuned_policy_keeps_its_schedule(make):
    policy = make()
    rank = policy.key[0].rank
    for choice in (Choice(launch_bounds=128), Choice(tile=(2,) * rank)):
        tuned = policy_with(policy, choice)
        spec, bounds = applied(policy.key[0], policy.bounds, choice)
        assert tuned.schedule == "dynamic"
        assert (tuned.key[0], tuned.bounds) == (spec, bounds)
