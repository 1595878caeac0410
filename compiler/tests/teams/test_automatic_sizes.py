"""Sizes of teams that policies leave to the space: defaults, and what fits a launch."""

from __future__ import annotations

import numpy as np
import pytest
from team_cases import lowered

import execspace as es
from execspace_compiler.teams.automatic_sizes import default_sizes, range_lengths

WARP, BLOCK, PROCESSORS, SHARED = 32, 1024, 132, 227 * 1024


def sizes(kernel, *arguments, league, args, pattern="for", scratch=0, width=WARP, most=BLOCK):
    """Threads and lanes of a launch on a device with as many processors as an H200."""
    found = lowered(kernel, *arguments, pattern=pattern)
    ranges = range_lengths(found)
    resident = -(-league // PROCESSORS)
    if scratch:
        resident = min(resident, SHARED // scratch)
    lengths, usual = ranges.found(league, args), default_sizes(found, width, most)
    return ranges.sizes(lengths, usual, resident, width, most)


def test_sizes_by_what_the_kernel_does():
    def rows(team, A, y):
        for i in es.TeamThreadRange(team, A.extent(0)):
            y[i] = es.parallel_reduce(es.ThreadVectorRange(team, A.extent(1)), lambda k: A[i, k])

    def windows(team, A, y):
        at = team.scratch(100)
        for i in es.TeamThreadRange(team, 100):
            at[i] = A[0, i]
        team.barrier()
        for i in es.TeamThreadRange(team, 90):
            y[i] = es.parallel_reduce(es.ThreadVectorRange(team, 10), lambda k: at[i + k])

    def alone(team, A, y):
        y[team.league_rank] = A[team.league_rank, 0]

    arguments = ("float64 2", "float64")
    assert default_sizes(lowered(rows, *arguments), 32, 1024) == (8, 32)  # along the rows
    assert default_sizes(lowered(windows, *arguments), 32, 1024) == (256, 1)  # scratch is near
    assert default_sizes(lowered(rows, *arguments), 1, 1024) == (256, 1)
    assert default_sizes(lowered(rows, *arguments, team_size=5), 32, 1024) == (5, 32)
    assert default_sizes(lowered(rows, *arguments), 32, 64) == (2, 32)
    assert default_sizes(lowered(alone, *arguments), 32, 1024) == (1, 1)  # others would do the same


def steps(team, x, n):
    """Light work between barriers, as of a sort or a relaxation."""
    at = team.scratch(x.extent(1))
    for k in es.TeamVectorRange(team, x.extent(1)):
        at[k] = x[team.league_rank, k]
    for _ in range(n):
        team.barrier()
        for k in es.TeamVectorRange(team, x.extent(1) // 2):
            at[k] = at[k] + at[k + 1]


@pytest.mark.parametrize(
    ("league", "length", "threads"),
    [
        (65536, 256, 32),  # a warp, whose barriers cost little
        (65536, 2048, 128),
        (65536, 8, 4),  # teams of a part of a warp are side by side
        (65536, 32, 16),
        (8192, 8192, 512),  # scratch leaves room for few teams, so they are larger
        (132, 2048, 512),  # there are few teams
        (512, 256, 64),
    ],
)
def test_threads_between_barriers_have_some_iterations_each(league, length, threads):
    x = np.zeros((1, length))
    found = sizes(steps, "float64 2", int, league=league, args=(x, 9), scratch=8 * length)
    assert found == (threads, 1)


def tiles(team, x, y):
    """Long iterations, as of a product of matrices."""
    for t in range(x.extent(0) // 16):
        for k in es.TeamVectorRange(team, 256):
            total = 0.0
            for q in range(16):
                total += x[16 * t + q, k]
            y[k] = total
        team.barrier()


def test_long_iterations_are_shared_by_more_threads():
    assert sizes(tiles, *["float64 2", "float64"], league=16384, args=(np.zeros((64, 1)), 0)) == (
        128, 1,
    )  # fmt: skip


def row(team, x, y):
    y[team.league_rank] = es.parallel_reduce(
        es.TeamVectorRange(team, x.extent(1)), lambda k: x[team.league_rank, k]
    )


@pytest.mark.parametrize(
    ("length", "threads"),
    [(4, 1), (16, 2), (64, 8), (512, 32), (1024, 64), (2048, 128), (65536, 256)],
)
def test_sums_of_rows(length, threads):
    args = (np.zeros((1, length)), np.zeros(1))
    assert sizes(row, "float64 2", "float64", league=1 << 22, args=args) == (threads, 1)


@pytest.mark.parametrize(
    ("length", "threads"), [(4, 1), (8, 2), (64, 16), (128, 32), (256, 32), (1024, 128)]
)
def test_copies_of_rows(length, threads):
    def copied(team, x, y):
        for k in es.TeamVectorRange(team, x.extent(1)):
            y[team.league_rank, k] = x[team.league_rank, k]

    args = (np.zeros((1, length)), np.zeros((1, length)))
    assert sizes(copied, *["float64 2"] * 2, league=1 << 22, args=args) == (threads, 1)


def test_without_exchanges_teams_have_at_least_a_usual_warp():
    args = (np.zeros((1, 4)), np.zeros(1))
    assert sizes(row, "float64 2", "float64", league=65536, args=args, width=1) == (32, 1)


def columns(team, x, y):
    for c in es.TeamThreadRange(team, x.extent(1)):
        y[team.league_rank, c] = es.parallel_reduce(
            es.ThreadVectorRange(team, x.extent(2)), lambda k: x[team.league_rank, c, k]
        )


@pytest.mark.parametrize(
    ("points", "levels", "expected"),
    [
        (16, 72, (16, 8)),
        (16, 256, (8, 32)),
        (16, 5000, (8, 32)),  # at most a warp
        (100, 4, (100, 1)),
        (3, 32, (3, 4)),
        (0, 72, (32, 8)),  # nothing to do: as without knowledge of the range
    ],
)
def test_lanes_have_some_iterations_and_threads_one(points, levels, expected):
    args = (np.zeros((1, points, levels)), np.zeros((1, points)))
    assert sizes(columns, "float64 3", "float64 2", league=5400, args=args) == expected


def test_sizes_stay_within_a_block():
    args = (np.zeros((1, 65536)), np.zeros(1))
    assert sizes(row, "float64 2", "float64", league=9, args=args, most=96) == (96, 1)
    args = (np.zeros((1, 16, 256)), np.zeros((1, 16)))
    assert sizes(columns, "float64 3", "float64 2", league=9, args=args, most=64) == (2, 32)


def test_lengths_that_are_read_in_the_kernel_are_not_known():
    def ragged(team, starts, x):
        first = starts[team.league_rank]
        for k in es.TeamVectorRange(team, first, starts[team.league_rank + 1]):
            x[k] = 1

    assert range_lengths(lowered(ragged, "int64", "float64")) is None


def test_what_a_policy_sets_is_not_chosen():
    assert range_lengths(lowered(row, "float64 2", "float64", team_size=64)) is None
    found = lowered(columns, "float64 3", "float64 2", vector_length=4)
    ranges = range_lengths(found)
    args = (np.zeros((1, 16, 256)), np.zeros((1, 16)))
    assert ranges.sizes(ranges.found(1, args), default_sizes(found, 32, 1024), 9, 32, 1024) == (
        16, 4,
    )  # fmt: skip


def test_lengths_may_be_negative_or_divided_by_zero():
    def odd(team, x, n):
        for k in es.TeamVectorRange(team, n):
            x[k] = 1
        for k in es.TeamThreadRange(team, 100 // n):
            x[k] = 2

    ranges = range_lengths(lowered(odd, "float64", int))
    assert ranges.found(5, (np.zeros(1), -7)) == (0, 0)
    assert ranges.found(5, (np.zeros(1), 0)) == (0, 0)
    assert ranges.found(5, (np.zeros(1), np.int8(10))) == (10, 0)
