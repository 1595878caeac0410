"""What explain says of a policy's options: schedules of hosts, and what a space ignores."""

from __future__ import annotations

from dataclasses import replace

import pytest

from execspace.contract.launch_spec import with_options
from execspace_compiler.launch.describe import describe_calls, describe_rows, without_effect


def store(i, x):
    x[i] = i


def store2(i, j, x):
    x[i, j] = i + j


def told(lowered, **options):
    policy = with_options(lowered.spec.policy, **options)
    return describe_rows(replace(lowered, spec=replace(lowered.spec, policy=policy)))


@pytest.mark.parametrize(
    ("chunk", "taken"), [(0, "parts"), (1, "chunks of 1"), (64, "chunks of 64")]
)
def test_a_dynamic_range(lower, chunk, taken):
    lowered = lower(store, "float64[1]")
    assert told(lowered)[0] == "one loop, in a part for each thread"
    assert told(lowered, dynamic=True, chunk_size=chunk)[:2] == [
        "one loop, in chunks",
        f"schedule='dynamic': threads take {taken} one after another, until none is left",
    ]


def test_a_dynamic_range_of_several_dimensions(lower):
    lowered = lower(store2, "float64[2]", rank=2)
    line = "schedule='dynamic': threads take parts one after another, until none is left"
    assert line not in told(lowered)
    assert told(lowered, dynamic=True)[1] == line
    tiled = told(lowered, dynamic=True, tiled=True)
    assert tiled[:2] == ["tiles: each thread does whole ones, in plain loops", line]


def test_lanes_of_a_host_that_has_none(lower):
    lowered = lower(store2, "float64[2]", rank=2)
    policy = with_options(lowered.spec.policy, lanes=4, launch_bounds=64)
    lowered = replace(lowered, spec=replace(lowered.spec, policy=policy))
    why = "without effect here, where a thread does whole rows"
    assert describe_rows(lowered)[-1] == f"launch_bounds: {why}"
    assert describe_rows(lowered, False)[-1] == f"launch_bounds and lanes: {why}"


def test_options_in_vain_are_listed(lower):
    policy = with_options(
        lower(store, "float64[1]").spec.policy, tiled=True, lanes=2, launch_bounds=64
    )
    assert without_effect(policy, ("items_per_thread",), "") == []
    assert without_effect(policy, ("tiled", "lanes", "launch_bounds"), "nothing is done") == [
        "tile, lanes and launch_bounds: without effect here, where nothing is done"
    ]


@pytest.mark.parametrize(
    ("options", "pattern", "lines"),
    [
        ({}, "for", ["last"]),
        ({"iterate": "left"}, "reduce", ["first"]),
        ({"iterate": "left"}, "for", ["last", "iterate='left': without effect here, where only "
                                      "joins have an order"]),
        ({"iterate": "right", "outer": "left"}, "for",
         ["last", "iterate=('left', 'right'): without effect here, where only joins have an "
                  "order"]),
        ({"iterate": "right", "outer": "left"}, "reduce",
         ["last", "iterate=('left', 'right'): nothing is tiled, so only 'right' has an effect"]),
        ({"items_per_thread": (2,), "launch_bounds": 64}, "for",
         ["last", "items_per_thread and launch_bounds: without effect here, where calls run one by "
                  "one"]),
    ],
)  # fmt: skip
def test_calls_that_run_one_by_one(lower, options, pattern, lines):
    lowered = lower(store2, "float64[2]", rank=2)
    policy = with_options(lowered.spec.policy, **options)
    spec = replace(lowered.spec, policy=policy, pattern=pattern)
    first = f"one call after the other, interpreted, the {lines[0]} index fastest"
    assert describe_calls(replace(lowered, spec=spec)) == [first, *lines[1:]]
