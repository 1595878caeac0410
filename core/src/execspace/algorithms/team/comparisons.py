"""equal, mismatch and lexicographical_compare, by the threads of a team."""

from __future__ import annotations

from typing import Any

from ...kernels.language import function
from ...kernels.refusals import check_function
from ...launch.nested import TeamVectorRange
from ...launch.parallel_reduce import parallel_reduce
from ...reducers.builtin import FirstLoc
from ..merge_sort import precedes
from ..std_arguments import same


@function
def mismatch(team: Any, a: Any, b: Any, predicate: Any = None) -> Any:
    """First position at which two Views have elements that are not equal; else the lesser extent.

    Parameters
    ----------
    team : TeamMember
        The kernel's handle.
    a, b : View, rank 1
    predicate : function, optional
        Of an element of `a` and one of `b`, in the place of ``==``.

    Returns
    -------
    int
        The same for all threads of the team, which wait for each other.

    Notes
    -----
    https://kokkos.org/kokkos-core-wiki/API/algorithms-index.html

    Examples
    --------
    >>> import numpy as np
    >>> import execspace as es
    >>> int(es.algorithms.team.mismatch(es.TeamMember(), np.array([1, 2]), np.array([1, 3])))
    1
    """
    check_function("predicate", predicate)
    n = min(len(a), len(b))
    holds = predicate or same
    found = parallel_reduce(
        TeamVectorRange(team, n), lambda i: (not holds(a[i], b[i]), i), reducer=FirstLoc
    )
    return min(found, n)


@function
def equal(team: Any, a: Any, b: Any, predicate: Any = None) -> Any:
    """Whether two Views have the same extent and equal elements. See `mismatch`."""
    check_function("predicate", predicate)
    at = mismatch(team, a, b, predicate)
    return len(a) == len(b) and at == len(a)


@function
def lexicographical_compare(team: Any, a: Any, b: Any, less: Any = None) -> Any:
    """Whether a View comes before another one, as words do in a dictionary. See `mismatch`.

    `less` is a function of two elements; without it the order is that of `sort`.
    """
    check_function("less", less)
    n = min(len(a), len(b))
    before = less or precedes
    found = parallel_reduce(
        TeamVectorRange(team, n),
        lambda i: (bool(before(a[i], b[i]) or before(b[i], a[i])), i),
        reducer=FirstLoc,
    )
    return bool(before(a[found], b[found])) if found < n else len(a) < len(b)
