"""copy_if, remove, unique, partition_copy and their siblings, by the threads of a team."""

from __future__ import annotations

from typing import Any

from ...kernels.language import function
from ...kernels.refusals import check_function
from ...launch.nested import TeamVectorRange
from ...launch.parallel_reduce import parallel_scan
from ..std_arguments import is_false, is_true, same


@function
def is_another(view: Any, i: Any, value: Any) -> Any:
    """Rule of `remove`: an element does not equal a value."""
    return view[i] != value


@function
def begins_row(view: Any, i: Any, holds: Any) -> Any:
    """Rule of `unique`: an element is the first one, or does not equal the one before it."""
    return i == 0 or not holds(view[i - 1], view[i])


@function
def _packed(team: Any, source: Any, destination: Any, rule: Any, given: Any) -> Any:
    def place(i: Any, before: Any, final: Any) -> Any:
        kept = bool(rule(source, i, given))
        if final and kept and before < len(destination):
            destination[before] = source[i]
        return kept

    number = parallel_scan(TeamVectorRange(team, len(source)), place)
    team.barrier()
    return number


@function
def copy_if(team: Any, source: Any, destination: Any, predicate: Any) -> Any:
    """Copy the elements of a View for which a predicate holds, in their order.

    Parameters
    ----------
    team : TeamMember
        The kernel's handle.
    source, destination : View, rank 1
        They must not overlap.
    predicate : function
        Of an element.

    Returns
    -------
    int
        For how many it holds. If `destination` has no room for them, it has the first of them. The
        same for all threads of the team.

    Notes
    -----
    Ends with a barrier. https://kokkos.org/kokkos-core-wiki/API/algorithms-index.html

    Examples
    --------
    >>> import numpy as np
    >>> import execspace as es
    >>> x, y = np.array([3, 1, 4, 1, 5]), np.zeros(5, int)
    >>> int(es.algorithms.team.copy_if(es.TeamMember(), x, y, lambda v: v > 2))
    3
    >>> y
    array([3, 4, 5, 0, 0])
    """
    check_function("predicate", predicate)
    return _packed(team, source, destination, is_true, predicate)


@function
def remove_copy(team: Any, source: Any, destination: Any, value: Any) -> Any:
    """Copy the elements of a View that do not equal a value, in their order. See `copy_if`."""
    return _packed(team, source, destination, is_another, value)


@function
def remove_copy_if(team: Any, source: Any, destination: Any, predicate: Any) -> Any:
    """Copy the elements for which a predicate does not hold, in their order. See `copy_if`."""
    check_function("predicate", predicate)
    return _packed(team, source, destination, is_false, predicate)


@function
def unique_copy(team: Any, source: Any, destination: Any, predicate: Any = None) -> Any:
    """Copy the first element of each row of equal neighbours of a View. See `copy_if`.

    `predicate` is a function of an element and the one after it, in the place of ``==``.
    """
    check_function("predicate", predicate)
    return _packed(team, source, destination, begins_row, predicate or same)


@function
def partition_copy(team: Any, source: Any, true: Any, false: Any, predicate: Any) -> Any:
    """Copy elements for which a predicate holds to one View, and the others to another.

    Returns how many it holds for, and for how many not. See `copy_if`.
    """
    check_function("predicate", predicate)

    def place(i: Any, before: Any, final: Any) -> Any:
        holds = bool(predicate(source[i]))
        if final:
            if holds:
                if before < len(true):
                    true[before] = source[i]
            elif i - before < len(false):
                false[i - before] = source[i]
        return holds

    number = parallel_scan(TeamVectorRange(team, len(source)), place)
    team.barrier()
    return number, len(source) - number


@function
def _removed(team: Any, view: Any, rule: Any, given: Any) -> Any:
    n = len(view)
    kept = 0
    # As many elements at a time as there are threads: each is read before any of them is stored,
    # and none is stored behind the place that it had.
    for begin in range(0, n, team.team_size):
        i = begin + team.team_rank
        value = view[min(i, n - 1)]
        stays = 1 if i < n and rule(view, i, given) else 0
        place = kept + team.scan(stays)
        kept += team.reduce(stays)
        if stays == 1:
            view[place] = value
        team.barrier()
    return kept


@function
def remove(team: Any, view: Any, value: Any) -> Any:
    """Move the elements of a View that do not equal a value to its front, in their order.

    Parameters
    ----------
    team : TeamMember
    view : View, rank 1
    value : number

    Returns
    -------
    int
        How many elements are kept, the same for all threads. What is behind them is not specified.

    Notes
    -----
    Takes no memory; each thread moves an element at a time. Ends with a barrier.

    Examples
    --------
    >>> import numpy as np
    >>> import execspace as es
    >>> x = np.array([3, 1, 4, 1, 5])
    >>> kept = es.algorithms.team.remove(es.TeamMember(), x, 1)
    >>> x[:kept]
    array([3, 4, 5])
    """
    return _removed(team, view, is_another, value)


@function
def remove_if(team: Any, view: Any, predicate: Any) -> Any:
    """Move the elements for which a predicate does not hold to the front. See `remove`."""
    check_function("predicate", predicate)
    return _removed(team, view, is_false, predicate)


@function
def unique(team: Any, view: Any, predicate: Any = None) -> Any:
    """Keep the first element of each row of equal neighbours, at the front. See `remove`.

    `predicate` is a function of an element and the one after it, in the place of ``==``.
    """
    check_function("predicate", predicate)
    return _removed(team, view, begins_row, predicate or same)
