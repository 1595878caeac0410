"""all_of, any_of, none_of, count and count_if, by the threads of a team."""

from __future__ import annotations

from typing import Any

from ...kernels.language import function
from ...kernels.refusals import check_function
from ...launch.nested import TeamVectorRange
from ...launch.parallel_reduce import parallel_reduce
from ...reducers.builtin import LAnd, LOr


@function
def all_of(team: Any, view: Any, predicate: Any) -> Any:
    """Whether a predicate holds for all elements of a View; true of an empty one.

    Parameters
    ----------
    team : TeamMember
        The kernel's handle.
    view : View, rank 1
    predicate : function
        Of an element.

    Returns
    -------
    bool
        The same for all threads of the team, which wait for each other.

    Notes
    -----
    One pass. https://kokkos.org/kokkos-core-wiki/API/algorithms-index.html

    Examples
    --------
    >>> import numpy as np
    >>> import execspace as es
    >>> bool(es.algorithms.team.all_of(es.TeamMember(), np.array([2, 4]), lambda x: x > 1))
    True
    """
    check_function("predicate", predicate)
    return parallel_reduce(
        TeamVectorRange(team, len(view)), lambda i: bool(predicate(view[i])), reducer=LAnd
    )


@function
def any_of(team: Any, view: Any, predicate: Any) -> Any:
    """Whether a predicate holds for an element of a View; false of an empty one. See `all_of`."""
    check_function("predicate", predicate)
    return parallel_reduce(
        TeamVectorRange(team, len(view)), lambda i: bool(predicate(view[i])), reducer=LOr
    )


@function
def none_of(team: Any, view: Any, predicate: Any) -> Any:
    """Whether a predicate holds for no element of a View; true of an empty one. See `all_of`."""
    check_function("predicate", predicate)
    return not any_of(team, view, predicate)


@function
def count(team: Any, view: Any, value: Any) -> Any:
    """How many elements of a View equal a value.

    Parameters
    ----------
    team : TeamMember
    view : View, rank 1
    value : number

    Returns
    -------
    int
        The same for all threads of the team, which wait for each other.

    Examples
    --------
    >>> import numpy as np
    >>> import execspace as es
    >>> int(es.algorithms.team.count(es.TeamMember(), np.array([3, 1, 3]), 3))
    2
    """
    return parallel_reduce(TeamVectorRange(team, len(view)), lambda i: 1 if view[i] == value else 0)


@function
def count_if(team: Any, view: Any, predicate: Any) -> Any:
    """For how many elements of a View a predicate holds. See `count`."""
    check_function("predicate", predicate)
    return parallel_reduce(
        TeamVectorRange(team, len(view)), lambda i: 1 if predicate(view[i]) else 0
    )
