"""copy, move, reverse_copy, rotate_copy and their siblings, by the threads of a team."""

from __future__ import annotations

from typing import Any

from ...kernels.language import function
from ...launch.nested import TeamVectorRange


@function
def copy_n(team: Any, source: Any, n: Any, destination: Any) -> None:
    """Copy the first `n` elements of a View to the front of another one.

    Parameters
    ----------
    team : TeamMember
        The kernel's handle.
    source : View, rank 1
    n : int
    destination : View, rank 1
        With at least as many elements. The two must not overlap: `shift_left` and `shift_right`
        move elements within a View.

    Notes
    -----
    Ends with a barrier. https://kokkos.org/kokkos-core-wiki/API/algorithms-index.html

    Examples
    --------
    >>> import numpy as np
    >>> import execspace as es
    >>> x, y = np.arange(5), np.zeros(3, int)
    >>> es.algorithms.team.copy_n(es.TeamMember(), x, 2, y)
    >>> y
    array([0, 1, 0])
    """
    for i in TeamVectorRange(team, n):
        destination[i] = source[i]
    team.barrier()


@function
def copy(team: Any, source: Any, destination: Any) -> None:
    """Copy the elements of a View to the front of another one. See `copy_n`."""
    copy_n(team, source, len(source), destination)


@function
def copy_backward(team: Any, source: Any, destination: Any) -> None:
    """Copy the elements of a View, in their order, to the end of another one. See `copy_n`."""
    to = len(destination) - len(source)
    for i in TeamVectorRange(team, len(source)):
        destination[to + i] = source[i]
    team.barrier()


@function
def move(team: Any, source: Any, destination: Any) -> None:
    """Copy the elements of a View to the front of another one: `copy`, by the name of C++."""
    copy_n(team, source, len(source), destination)


@function
def move_backward(team: Any, source: Any, destination: Any) -> None:
    """Copy the elements of a View to the end of another one: `copy_backward`, by C++'s name."""
    copy_backward(team, source, destination)


@function
def reverse_copy(team: Any, source: Any, destination: Any) -> None:
    """Copy the elements of a View to the front of another one, the last one first. See `copy_n`."""
    last = len(source) - 1
    for i in TeamVectorRange(team, len(source)):
        destination[last - i] = source[i]
    team.barrier()


@function
def rotate_copy(team: Any, source: Any, middle: Any, destination: Any) -> None:
    """Copy a View from the element at `middle` on to the front of another; then the others.

    See `copy_n`.
    """
    rest = len(source) - middle
    for i in TeamVectorRange(team, rest):
        destination[i] = source[middle + i]
    for i in TeamVectorRange(team, middle):
        destination[rest + i] = source[i]
    team.barrier()
