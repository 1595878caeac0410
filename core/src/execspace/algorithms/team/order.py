"""min_element, max_element, is_sorted, is_partitioned and their siblings, by a team's threads."""

from __future__ import annotations

from typing import Any

from ...kernels.language import function
from ...kernels.refusals import check_function
from ...launch.nested import TeamVectorRange
from ...launch.parallel_reduce import parallel_reduce
from ...reducers.builtin import FirstLoc, MaxLoc, MinLoc, MinMaxFirstLastLoc, StdIsPartitioned
from ..merge_sort import precedes


@function
def _extreme(team: Any, view: Any, later: Any) -> Any:
    """Position of the element that `later` prefers to all before it, and to all after it."""
    at = -1
    for i in range(team.team_rank, len(view), team.team_size):
        if at < 0 or later(view[at], view[i]):
            at = i
    best = -1
    for rank in range(team.team_size):
        other = team.broadcast(at, rank)
        if best < 0:
            best = other
        elif other >= 0:
            first, second = min(best, other), max(best, other)
            best = second if later(view[first], view[second]) else first
    return max(best, 0)


@function
def min_element(team: Any, view: Any, less: Any = None) -> Any:
    """Position of the least element of a View, of several the first one; of an empty View 0.

    Parameters
    ----------
    team : TeamMember
        The kernel's handle.
    view : View, rank 1
    less : function, optional
        Of two elements: whether the one comes before the other; a strict weak ordering. Without it
        the first NaN, if there is one, is the least element, and also the greatest.

    Returns
    -------
    int
        The same for all threads of the team, which wait for each other.

    Notes
    -----
    With `less` the threads tell each other what they found one after the other.
    https://kokkos.org/kokkos-core-wiki/API/algorithms-index.html

    Examples
    --------
    >>> import numpy as np
    >>> import execspace as es
    >>> int(es.algorithms.team.min_element(es.TeamMember(), np.array([3, 1, 4])))
    1
    """
    check_function("less", less)
    if less is None:
        n = len(view)
        if n == 0:
            at = 0
        else:
            found = parallel_reduce(
                TeamVectorRange(team, n), lambda i: (view[i], i), reducer=MinLoc
            )
            at = found.loc
    else:
        at = _extreme(team, view, lambda x, y: less(y, x))
    return at


@function
def max_element(team: Any, view: Any, less: Any = None) -> Any:
    """Position of the greatest element of a View, of several the first one. See `min_element`."""
    check_function("less", less)
    if less is None:
        n = len(view)
        if n == 0:
            at = 0
        else:
            found = parallel_reduce(
                TeamVectorRange(team, n), lambda i: (view[i], i), reducer=MaxLoc
            )
            at = found.loc
    else:
        at = _extreme(team, view, less)
    return at


@function
def minmax_element(team: Any, view: Any, less: Any = None) -> Any:
    """Positions of the least element, the first of several, and the greatest, the last of several.

    Of an empty View (0, 0). See `min_element`.
    """
    check_function("less", less)
    if less is None:
        n = len(view)
        if n == 0:
            least, greatest = 0, 0
        else:
            found = parallel_reduce(
                TeamVectorRange(team, n), lambda i: (view[i], i), reducer=MinMaxFirstLastLoc
            )
            least, greatest = found.min_loc, found.max_loc
    else:
        least = _extreme(team, view, lambda x, y: less(y, x))
        greatest = _extreme(team, view, lambda x, y: not less(y, x))
    return least, greatest


@function
def is_sorted_until(team: Any, view: Any, less: Any = None) -> Any:
    """Position of the first element that comes before the one in front of it, or the extent.

    Without `less` the order is that of `sort`: NaN is greater than every number. See
    `min_element`.
    """
    check_function("less", less)
    n = len(view)
    before = less or precedes
    found = parallel_reduce(
        TeamVectorRange(team, 1, max(n, 1)),
        lambda i: (bool(before(view[i], view[i - 1])), i),
        reducer=FirstLoc,
    )
    return min(found, n)


@function
def is_sorted(team: Any, view: Any, less: Any = None) -> Any:
    """Whether no element of a View comes before the one in front of it. See `is_sorted_until`."""
    check_function("less", less)
    return is_sorted_until(team, view, less) == len(view)


@function
def is_partitioned(team: Any, view: Any, predicate: Any) -> Any:
    """Whether all elements for which a predicate holds stand before all others.

    The same for all threads of the team, which wait for each other.
    """
    check_function("predicate", predicate)
    found = parallel_reduce(
        TeamVectorRange(team, len(view)),
        lambda i: (bool(predicate(view[i])), i),
        reducer=StdIsPartitioned,
    )
    return found.max_loc_true < found.min_loc_false
