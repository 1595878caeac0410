"""Householder's reflectors of a panel, by one team."""

from __future__ import annotations

from typing import Any

import numpy as np

import execspace as es

from ..arguments import is_device
from ..batched import serial
from ..batched.elements import magnitude, zero_of
from ..blas.operands import runs_along
from .operands import one_team

__all__ = ["factor_panel"]


def factor_panel(A: es.View, tau: es.View, space: es.ExecutionSpace) -> None:
    """Reflectors and R in place of a panel, and the factors of the reflectors."""
    policy = one_team(space)
    if policy is None:
        one = es.RangePolicy(1, space=space)
        es.parallel_for(one, _panel_by_one, A, tau, label="geqrf panel")
        return
    n = A.shape[1]
    groups = max(policy.team_size // max(n, 1), 1)  # of rows, whose sums threads add up
    along = "left" if is_device(space) else runs_along(A)
    es.parallel_for(policy, _panel, A, tau, groups, along, label="geqrf panel")


def _panel_by_one(_: int, A: Any, tau: Any) -> None:
    serial.geqrf(A, tau)


def _panel(team: Any, A: Any, tau: Any, groups: Any, along: Any) -> None:
    m, n = A.extent(0), A.extent(1)
    parts = team.scratch((groups, A.extent(1)), A.dtype)
    for k in range(min(m, n)):
        pivot = zero_of(A) + A[k, k]
        below = es.parallel_reduce(
            es.TeamThreadRange(team, k + 1, m),
            lambda i: magnitude(A, A[i, k]),  # noqa: B023
            reducer=es.Max,
        )
        is_real = True
        if A.dtype.kind == "c":
            is_real = pivot.imag == 0
        if k + 1 == m:
            below = zero_of(A).real
        if below == 0 and is_real:
            if es.single(es.PerTeam(team)):
                tau[k] = 0
            team.barrier()
        else:
            # Squares of scaled elements neither overflow nor vanish.
            largest = max(magnitude(A, pivot), below)
            total = es.parallel_reduce(
                es.TeamThreadRange(team, k, m),
                lambda i: (A[i, k] / largest * np.conj(A[i, k] / largest)).real,  # noqa: B023
            )
            norm = largest * np.sqrt(total)
            end = -norm if pivot.real >= 0 else norm
            factor = (end - pivot) / end
            team.barrier()
            for i in es.TeamThreadRange(team, k + 1, m):
                A[i, k] = A[i, k] / (pivot - end)
            if es.single(es.PerTeam(team)):
                tau[k] = factor
                A[k, k] = end
            team.barrier()
            _reflect(team, A, k, np.conj(factor), parts, groups, along)


@es.function
def _reflect(
    team: Any, A: Any, k: Any, factor: Any, parts: Any, groups: Any, along: Any
) -> None:  # fmt: skip
    """Apply the reflector of column k to those behind it."""
    m, n = A.extent(0), A.extent(1)
    left = n - k - 1
    if along == "left":  # a thread has a column in every so many rows
        for e in es.TeamThreadRange(team, groups * left):
            g = e // left
            j = k + 1 + e % left
            total = zero_of(A)
            if g == 0:
                total += A[k, j]
            for i in range(k + 1 + g, m, groups):
                total += np.conj(A[i, k]) * A[i, j]
            parts[g, j] = total
    else:  # it has whole rows
        for g in es.TeamThreadRange(team, groups):
            for j in range(k + 1, n):
                parts[g, j] = A[k, j] if g == 0 else zero_of(A)
            for i in range(k + 1 + g, m, groups):
                value = np.conj(A[i, k])
                for j in range(k + 1, n):
                    parts[g, j] += value * A[i, j]
    team.barrier()
    for j in es.TeamThreadRange(team, k + 1, n):
        total = zero_of(A)
        for g in range(groups):
            total += parts[g, j]
        parts[0, j] = factor * total
        A[k, j] -= factor * total
    team.barrier()
    if along == "left":
        for j in range(k + 1, n):
            for i in es.TeamThreadRange(team, k + 1, m):
                A[i, j] -= A[i, k] * parts[0, j]
    else:
        for i in es.TeamThreadRange(team, k + 1, m):
            for j in range(k + 1, n):
                A[i, j] -= A[i, k] * parts[0, j]
    team.barrier()
