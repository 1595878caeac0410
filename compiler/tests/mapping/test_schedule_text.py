"""What explain says of schedules, for a host whose threads take chunks one after another."""

from __future__ import annotations

from dataclasses import replace

import pytest

from execspace.contract.launch_spec import with_options
from execspace_compiler.launch.describe import describe_rows


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
