"""reverse, rotate, shift_left, shift_right and swap_ranges, by the threads of a team."""

from __future__ import annotations

from typing import Any

from ...kernels.language import function
from ...launch.nested import PerTeam, TeamVectorRange, single


@function
def _reversed(team: Any, view: Any, begin: Any, end: Any) -> None:
    last = end - 1
    for i in TeamVectorRange(team, (end - begin) // 2):
        view[begin + i], view[last - i] = view[last - i], view[begin + i]
    team.barrier()


@function
def reverse(team: Any, view: Any) -> None:
    """Reverse the order of the elements of a View, in place.

    Parameters
    ----------
    team : TeamMember
        The kernel's handle.
    view : View, rank 1

    Notes
    -----
    Ends with a barrier. https://kokkos.org/kokkos-core-wiki/API/algorithms-index.html

    Examples
    --------
    >>> import numpy as np
    >>> import execspace as es
    >>> x = np.arange(5)
    >>> es.algorithms.team.reverse(es.TeamMember(), x)
    >>> x
    array([4, 3, 2, 1, 0])
    """
    _reversed(team, view, 0, len(view))


@function
def rotate(team: Any, view: Any, middle: Any) -> Any:
    """Rotate a View in place: the element at `middle` comes first, that before it last.

    Returns where the first one is now, ``len(view) - middle``. Ends with a barrier. See `reverse`.
    """
    n = len(view)
    _reversed(team, view, 0, middle)
    _reversed(team, view, middle, n)
    _reversed(team, view, 0, n)
    return n - middle


@function
def shift_left(team: Any, view: Any, n: Any) -> Any:
    """Move the elements of a View by `n` places to the front; the first `n` are lost.

    Parameters
    ----------
    team : TeamMember
    view : View, rank 1
    n : int
        0 or more. If it is the extent or more, nothing is moved.

    Returns
    -------
    int
        The end of what was moved: ``len(view) - n``, or 0.

    Notes
    -----
    Takes no memory; each thread moves an element at a time, with two barriers. Ends with one.

    Examples
    --------
    >>> import numpy as np
    >>> import execspace as es
    >>> x = np.arange(5)
    >>> es.algorithms.team.shift_left(es.TeamMember(), x, 2)
    3
    >>> x[:3]
    array([2, 3, 4])
    """
    kept = max(len(view) - n, 0)
    for begin in range(0, kept, team.team_size):
        i = begin + team.team_rank
        value = view[n + min(i, kept - 1)]
        team.barrier()
        if i < kept:
            view[i] = value
        team.barrier()
    return kept


@function
def shift_right(team: Any, view: Any, n: Any) -> Any:
    """Move the elements of a View by `n` places to the end; the last `n` are lost.

    Returns the begin of what was moved: `n`, or the extent. See `shift_left`.
    """
    kept = max(len(view) - n, 0)
    for begin in range(0, kept, team.team_size):
        i = kept - 1 - begin - team.team_rank
        value = view[max(i, 0)]
        team.barrier()
        if i >= 0:
            view[n + i] = value
        team.barrier()
    return min(n, len(view))


@function
def swap_ranges(team: Any, a: Any, b: Any) -> None:
    """Exchange the elements of a View with the first ones of another View.

    The two must not overlap. Ends with a barrier. See `reverse`.
    """
    for i in TeamVectorRange(team, len(a)):
        a[i], b[i] = b[i], a[i]
    team.barrier()


@function
def iter_swap(team: Any, a: Any, i: Any, b: Any, j: Any) -> None:
    """Exchange element `i` of a View with element `j` of a View. Ends with a barrier.

    See `reverse`.
    """
    if single(PerTeam(team)):
        a[i], b[j] = b[j], a[i]
    team.barrier()
