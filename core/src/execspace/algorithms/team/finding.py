"""find, search and their siblings, by the threads of a team."""

from __future__ import annotations

from typing import Any

from ...kernels.language import function
from ...kernels.refusals import check_function
from ...launch.nested import TeamVectorRange
from ...launch.parallel_reduce import parallel_reduce
from ...reducers.builtin import FirstLoc, LastLoc
from ..std_arguments import same


@function
def find(team: Any, view: Any, value: Any) -> Any:
    """Position of the first element of a View that equals a value.

    Parameters
    ----------
    team : TeamMember
        The kernel's handle.
    view : View, rank 1
    value : number

    Returns
    -------
    int
        The extent if there is none. The same for all threads of the team, which wait for each
        other.

    Notes
    -----
    Reads the whole View. https://kokkos.org/kokkos-core-wiki/API/algorithms-index.html

    Examples
    --------
    >>> import numpy as np
    >>> import execspace as es
    >>> int(es.algorithms.team.find(es.TeamMember(), np.array([3, 1, 4]), 4))
    2
    """
    n = len(view)
    found = parallel_reduce(
        TeamVectorRange(team, n), lambda i: (view[i] == value, i), reducer=FirstLoc
    )
    return min(found, n)


@function
def find_if(team: Any, view: Any, predicate: Any) -> Any:
    """Position of the first element for which a predicate holds, or the extent. See `find`."""
    check_function("predicate", predicate)
    n = len(view)
    found = parallel_reduce(
        TeamVectorRange(team, n), lambda i: (bool(predicate(view[i])), i), reducer=FirstLoc
    )
    return min(found, n)


@function
def find_if_not(team: Any, view: Any, predicate: Any) -> Any:
    """Position of the first element for which it does not hold, or the extent. See `find`."""
    check_function("predicate", predicate)
    n = len(view)
    found = parallel_reduce(
        TeamVectorRange(team, n), lambda i: (not predicate(view[i]), i), reducer=FirstLoc
    )
    return min(found, n)


@function
def adjacent_find(team: Any, view: Any, predicate: Any = None) -> Any:
    """Position of the first element that equals the one after it, or the extent. See `find`.

    `predicate` is a function of the two, in the place of ``==``.
    """
    check_function("predicate", predicate)
    n = len(view)
    holds = predicate or same
    found = parallel_reduce(
        TeamVectorRange(team, max(n - 1, 0)),
        lambda i: (bool(holds(view[i], view[i + 1])), i),
        reducer=FirstLoc,
    )
    return min(found, n)


@function
def partition_point(team: Any, view: Any, predicate: Any) -> Any:
    """Position of the first element for which a predicate does not hold, by bisection.

    All for which it holds come first. Each thread reads about ``log2(n)`` elements, the same ones;
    then they wait for each other. See `find`.
    """
    check_function("predicate", predicate)
    low = 0
    high = len(view)
    while low < high:
        middle = (low + high) // 2
        if predicate(view[middle]):
            low = middle + 1
        else:
            high = middle
    team.barrier()
    return low


@function
def _matches(view: Any, i: Any, pattern: Any, holds: Any) -> Any:
    k = 0
    while k < len(pattern) and holds(view[i + k], pattern[k]):
        k += 1
    return k == len(pattern)


@function
def search(team: Any, view: Any, pattern: Any, predicate: Any = None) -> Any:
    """Position where the elements of a pattern stand in a View for the first time.

    Parameters
    ----------
    team : TeamMember
    view, pattern : View, rank 1
    predicate : function, optional
        Of an element of `view` and one of `pattern`, in the place of ``==``.

    Returns
    -------
    int
        The extent if it stands nowhere; 0 for an empty pattern. The same for all threads of the
        team, which wait for each other.

    Examples
    --------
    >>> import numpy as np
    >>> import execspace as es
    >>> x = np.array([3, 1, 4, 1, 5])
    >>> int(es.algorithms.team.search(es.TeamMember(), x, np.array([1, 5])))
    3
    """
    check_function("predicate", predicate)
    n = len(view)
    holds = predicate or same
    found = parallel_reduce(
        TeamVectorRange(team, max(n - len(pattern) + 1, 0)),
        lambda i: (_matches(view, i, pattern, holds), i),
        reducer=FirstLoc,
    )
    return min(found, n)


@function
def find_end(team: Any, view: Any, pattern: Any, predicate: Any = None) -> Any:
    """Position where a pattern stands for the last time; the extent if nowhere, or if it is empty.

    See `search`.
    """
    check_function("predicate", predicate)
    n = len(view)
    holds = predicate or same
    found = parallel_reduce(
        TeamVectorRange(team, max(n - len(pattern) + 1, 0)),
        lambda i: (_matches(view, i, pattern, holds), i),
        reducer=LastLoc,
    )
    return found if found >= 0 else n


@function
def find_first_of(team: Any, view: Any, values: Any, predicate: Any = None) -> Any:
    """Position of the first element that equals one of several values, or the extent.

    See `search`.
    """
    check_function("predicate", predicate)
    n = len(view)
    holds = predicate or same

    def is_one(i: Any) -> Any:
        k = 0
        while k < len(values) and not holds(view[i], values[k]):
            k += 1
        return k < len(values), i

    return min(parallel_reduce(TeamVectorRange(team, n), is_one, reducer=FirstLoc), n)


@function
def search_n(team: Any, view: Any, number: Any, value: Any, predicate: Any = None) -> Any:
    """Position where so many elements in a row equal a value; the extent if nowhere, 0 for none.

    Compares at most ``n * number`` elements. See `search`.
    """
    check_function("predicate", predicate)
    n = len(view)
    holds = predicate or same

    def begins(i: Any) -> Any:
        k = 0
        while k < number and holds(view[i + k], value):
            k += 1
        return k >= number, i

    places = max(n - number + 1, 0)
    return min(parallel_reduce(TeamVectorRange(team, places), begins, reducer=FirstLoc), n)
