"""Leagues of teams of every shape, as far as a space allows them, and arrays for what threads tell.

A result must not depend on how many threads a team has, nor on how many lanes a thread. Each
kernel is compiled anew for each shape, so all shapes are for few tests only.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import execspace as es
from execspace_testing.sizes import needs_teams

# Threads and lanes: odd numbers, parts of a warp of devices, whole ones, and two of them.
SHAPES = [(1, 1), (3, 1), (4, 2), (8, 4), (1, 16), (32, 1), ("auto", "auto")]
FEW = [(3, 1), (16, 4)]


def _named(shapes):
    ids = [f"{threads}x{lanes}" for threads, lanes in shapes]
    return pytest.mark.parametrize("shape", shapes, ids=ids)


every_shape, two_shapes = _named(SHAPES), _named(FEW)


def league(space: es.ExecutionSpace, teams: int, shape: Any = (12, 4), **options: Any) -> Any:
    """A policy of so many teams of a shape, or of what the space allows of it.

    Skips the test where the space has no teams.
    """
    needs_teams(space)
    return es.TeamPolicy(teams, *_clipped(space.team_limits(), shape), space=space, **options)


def _clipped(limits: es.TeamLimits, shape: Any) -> Any:
    threads, lanes = shape
    if lanes != "auto":
        most = min(lanes, limits.vector_length_max, limits.threads_max)
        lanes = 1 << (most.bit_length() - 1)
    if threads != "auto":
        others = 1 if lanes == "auto" else lanes
        threads = min(threads, limits.team_size_max, limits.threads_max // others)
    return threads, lanes


def told_by_threads(space: es.ExecutionSpace, teams: int, numbers: int) -> Any:
    """Room for some numbers of each thread of each team; -1 says that none has been here."""
    needs_teams(space)
    return np.full((teams, space.team_limits().team_size_max, numbers), -1)


def small_integers(shape: Any, seed: int = 0) -> Any:
    """Floats whose sums are exact in any order."""
    return np.random.default_rng(seed).integers(-9, 10, shape).astype(float)
