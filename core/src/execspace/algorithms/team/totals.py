"""reduce and transform_reduce, by the threads of a team."""

from __future__ import annotations

from typing import Any

from ...kernels.language import function
from ...kernels.refusals import check_function
from ...launch.nested import TeamVectorRange
from ...launch.parallel_reduce import parallel_reduce


@function
def _joined(team: Any, n: Any, value_of: Any, init: Any, op: Any) -> Any:
    """Values of the indices below `n`, joined in their order, and `init` in front of them."""
    each = (n + team.team_size - 1) // team.team_size
    begin = min(team.team_rank * each, n)
    end = min(begin + each, n)
    value = value_of(begin) if begin < end else 0
    for i in range(begin + 1, end):
        value = op(value, value_of(i))
    some = init is not None
    if init is None:
        total = 0
    else:
        total = init
    for rank in range(team.team_size):
        other, there = team.broadcast((value, begin < end), rank)
        if there:
            total = op(total, other) if some else other
            some = True
    return total


@function
def reduce(team: Any, view: Any, init: Any = None, op: Any = None) -> Any:
    """Join the elements of a View to one number; their sum if nothing else is said.

    Parameters
    ----------
    team : TeamMember
        The kernel's handle.
    view : View, rank 1
    init : number, optional
        Joined with the elements.
    op : function, optional
        Of two values, associative.

    Returns
    -------
    number
        Sums of integers have 64 bits, those of floats are of float64; a function joins in the type
        of the elements and of what it returns. Of an empty View without `init` 0. The same for all
        threads of the team, which wait for each other.

    Notes
    -----
    With `op` each thread joins a part, and then tells the others, one after the other.
    https://kokkos.org/kokkos-core-wiki/API/algorithms-index.html

    Examples
    --------
    >>> import numpy as np
    >>> import execspace as es
    >>> x = np.array([3, 1, 4])
    >>> int(es.algorithms.team.reduce(es.TeamMember(), x, 2, lambda a, b: a * b))
    24
    """
    check_function("op", op)
    n = len(view)
    if op is not None:
        total = _joined(team, n, lambda i: view[i], init, op)
    elif init is not None:
        total = init + parallel_reduce(TeamVectorRange(team, n), lambda i: view[i])
    else:
        total = parallel_reduce(TeamVectorRange(team, n), lambda i: view[i])
    return total


@function
def _transformed(team: Any, n: Any, value_of: Any, init: Any, op: Any) -> Any:
    if op is not None:
        total = _joined(team, n, value_of, init, op)
    elif init is not None:
        total = init + parallel_reduce(TeamVectorRange(team, n), value_of)
    else:
        total = parallel_reduce(TeamVectorRange(team, n), value_of)
    return total


@function
def transform_reduce(
    team: Any, view: Any, second: Any, third: Any = 0, fourth: Any = None, fifth: Any = None
) -> Any:
    """Join what a function makes of the elements of a View, or of two, to one number.

    ``transform_reduce(team, view, init, op, function)`` joins ``function(view[i])``,
    ``transform_reduce(team, a, b, init, op, function)`` joins ``function(a[i], b[i])``, and
    ``transform_reduce(team, a, b, init=0)`` is ``init`` and the inner product. `init` and `op` may
    be None, as of `reduce`, which says what is returned.

    Examples
    --------
    >>> import numpy as np
    >>> import execspace as es
    >>> a, b = np.array([1.0, 2.0, 3.0]), np.array([1.0, 0.0, 2.0])
    >>> float(es.algorithms.team.transform_reduce(es.TeamMember(), a, b))
    7.0
    """
    n = len(view)
    if fifth is not None:
        total = _transformed(team, n, lambda i: fifth(view[i], second[i]), third, fourth)
    elif fourth is not None:
        total = _transformed(team, n, lambda i: fourth(view[i]), second, third)
    else:
        total = _transformed(team, n, lambda i: view[i] * second[i], third, None)
    return total
