"""Jacobi's rotations of pairs of rows and columns, and what both decompositions do after them.

Pairs of a round have no row in common, so that a team does them at once; a sweep has as many rounds
as bring each row together with each other one, as in a tournament. Golub and Van Loan, "Matrix
Computations", 4th edition, 8.5.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import execspace as es

from ..arguments import has_teams, is_device, largest_team
from ..batched.elements import zero_of

__all__ = ["MOST_SWEEPS", "lanes_of", "pair", "policy_of", "put_in_order", "rotation", "turn"]

MOST_SWEEPS = 30  # far more than eigenvalues ever take: convergence is quadratic
_THREADS = 256  # of a team, its lanes included, so that each has as many registers as there are
_LANES = 16  # that have elements of a column


def lanes_of(space: Any) -> int:
    """Lanes of a thread."""
    return min(_LANES, int(space.team_limits().vector_length_max)) if is_device(space) else 1


def policy_of(space: es.ExecutionSpace, lanes: int) -> Any:
    """The policy of one team whose threads have so many lanes; None where there are no teams."""
    if not has_teams(space):
        return None
    size = min(_THREADS // lanes, largest_team(space)) if is_device(space) else 1
    return es.TeamPolicy(1, size, vector_length=lanes, space=space)


@es.function
def pair(t: Any, round_: Any, n: Any) -> Any:
    """The rows of pair t of a round, the smaller one first; the other one is n or more if the first
    has a rest."""
    others = n - 1 + n % 2
    a = others if t == 0 else (round_ + t) % others
    b = (round_ + others - t) % others
    return min(a, b), max(a, b)


@es.function
def rotation(app: Any, aqq: Any, apq: Any) -> Any:
    """Tangent, |apq|, cosine and sine that make the element between two columns 0.

    The columns become c p - conj(s) q and s p + c q, by the smaller one of both angles.
    """
    size = abs(apq)
    theta = (aqq - app) / (2 * size)
    root = np.sqrt(theta * theta + 1)  # infinite for large ones, of which the tangent is 0
    tangent = 1 / (theta + root) if theta >= 0 else 1 / (theta - root)
    cosine = 1 / np.sqrt(tangent * tangent + 1)
    return tangent, size, cosine, apq / size * (tangent * cosine)


@es.function
def turn(X: Any, i: Any, p: Any, q: Any, cosine: Any, sine: Any) -> None:
    """Two columns, in a row."""
    left = zero_of(X) + X[i, p]
    right = zero_of(X) + X[i, q]
    X[i, p] = cosine * left - np.conj(sine) * right
    X[i, q] = sine * left + cosine * right


def put_in_order(
    values: es.View, out: es.View, order: str, space: es.ExecutionSpace
) -> es.View:  # fmt: skip
    """Store values in "ascending" or "descending" order, NaN last; the place of each one."""
    places = es.View(values.shape, np.int32, label="places", space=space, initialize=False)
    each = es.RangePolicy(values.shape[0], space=space)
    es.parallel_for(each, _place, values, out, places, order, label="lapack order")
    return places


@es.function
def _is_before(a: Any, b: Any, order: Any) -> Any:
    is_less = a < b if order == "ascending" else a > b
    return is_less or (b != b and a == a)


def _place(i: int, values: Any, out: Any, places: Any, order: Any) -> None:
    own = values[i]
    at = 0
    for j in range(values.extent(0)):
        if _is_before(values[j], own, order) or (j < i and not _is_before(own, values[j], order)):
            at += 1
    places[i] = at
    out[at] = own
