"""local_deep_copy: kernels copy or fill a View or a part of one, by a thread or a team."""

from __future__ import annotations

from typing import Any

from ..base.brief import brief
from ..base.errors import LaunchError
from .team_member import TeamMember

__all__ = [
    "local_deep_copy",
]


def local_deep_copy(*arguments: Any) -> None:
    """Copy a View, or a number to all of its elements, within a kernel.

    ``local_deep_copy(to, source)`` is done by the one thread that calls it, and is the same as
    ``to[:] = source``. ``local_deep_copy(team, to, source)`` is done by all threads of a team and
    their lanes, which must all call it; it waits for the team before and after.

    Parameters
    ----------
    team : TeamMember, optional
        Handle of the team.
    to : View, subview or local array
        Rank 0 to 8.
    source : View, subview or local array of the same extents, or number
        Parts of one View that the team copies must not overlap. Elements are converted as
        stores are: a float is truncated to an integer.

    Raises
    ------
    LaunchError
        On the host, if there are not two or three arguments, or the first of three is no team; in
        a kernel it is a KernelTypeError, as for extents that are known and differ.

    Notes
    -----
    Kokkos: https://kokkos.org/kokkos-core-wiki/API/core/view/local_deep_copy.html

    Examples
    --------
    >>> import numpy as np
    >>> import execspace as es
    >>> def rows(i, x, y):
    ...     es.local_deep_copy(x[i, :], y[i, :])
    >>> x, y = np.zeros((2, 3)), np.ones((2, 3))
    >>> es.parallel_for(es.RangePolicy(2, space="serial"), rows, x, y)
    >>> x
    array([[1., 1., 1.],
           [1., 1., 1.]])
    """
    if len(arguments) not in (2, 3) or (
        len(arguments) == 3 and not isinstance(arguments[0], TeamMember)
    ):
        got = ", ".join(map(brief, arguments))
        raise LaunchError(
            f"local_deep_copy({got}): expected (to, source), or (team, to, source) with the "
            f"handle of a team."
        )
    to, source = arguments[-2:]
    to[...] = source
