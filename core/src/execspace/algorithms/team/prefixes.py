"""inclusive_scan, exclusive_scan, their transforms and adjacent_difference, by a team's threads."""

from __future__ import annotations

from typing import Any

from ...kernels.language import function
from ...kernels.refusals import check_function
from ...launch.nested import TeamVectorRange
from ...launch.parallel_reduce import parallel_scan


@function
def _itself(x: Any) -> Any:
    return x


@function
def _summed(team: Any, source: Any, destination: Any, make: Any, init: Any, inclusive: Any) -> None:
    """Sums of all elements before each one, and of it, too, if `inclusive` is a string."""

    def store(i: Any, before: Any, final: Any) -> Any:
        value = make(source[i])
        if final:
            if inclusive is None:
                destination[i] = init + before
            elif init is None:
                destination[i] = before + value
            else:
                destination[i] = init + (before + value)
        return value

    parallel_scan(TeamVectorRange(team, len(source)), store)
    team.barrier()


@function
def _joined(
    team: Any, source: Any, destination: Any, make: Any, init: Any, op: Any, inclusive: Any
) -> None:
    """The same by a function: each thread joins a part, and then what stands before that."""
    n = len(source)
    each = (n + team.team_size - 1) // team.team_size
    begin = min(team.team_rank * each, n)
    end = min(begin + each, n)
    if begin < end:
        value = make(source[begin])
        destination[begin] = value
        for i in range(begin + 1, end):
            value = op(value, make(source[i]))
            destination[i] = value
    team.barrier()
    some = init is not None
    if init is None:
        before = 0
    else:
        before = init
    for rank in range(team.team_rank):
        if rank * each < n:
            last = destination[min(rank * each + each, n) - 1]
            before = op(before, last) if some else last
            some = True
    team.barrier()
    if inclusive is None:
        for k in range(begin + 1, end):
            i = begin + end - k
            destination[i] = op(before, destination[i - 1])
        if begin < end:
            destination[begin] = before
    elif some:
        for i in range(begin, end):
            destination[i] = op(before, destination[i])
    team.barrier()


@function
def transform_inclusive_scan(
    team: Any, source: Any, destination: Any, op: Any, make: Any, init: Any = None
) -> None:
    """Join what a function makes of each element of a View and of all before it.

    `op` may be None, for sums. Ends with a barrier. See `inclusive_scan`.
    """
    check_function("op", op)
    check_function("make", make)
    if op is None:
        _summed(team, source, destination, make, init, "inclusive")
    else:
        _joined(team, source, destination, make, init, op, "inclusive")


@function
def transform_exclusive_scan(
    team: Any, source: Any, destination: Any, init: Any, op: Any, make: Any
) -> None:
    """Join what a function makes of all elements of a View before each one.

    `op` may be None, for sums. Ends with a barrier. See `exclusive_scan`.
    """
    check_function("op", op)
    check_function("make", make)
    if op is None:
        _summed(team, source, destination, make, init, None)
    else:
        _joined(team, source, destination, make, init, op, None)


@function
def inclusive_scan(
    team: Any, source: Any, destination: Any, op: Any = None, init: Any = None
) -> None:
    """Join each element of a View with all before it; their sums if nothing else is said.

    Parameters
    ----------
    team : TeamMember
        The kernel's handle.
    source : View, rank 1
    destination : View, rank 1
        With at least as many elements. It may be `source` itself, but not overlap it otherwise.
    op : function, optional
        Of two values, associative.
    init : number, optional
        Joined with all elements, from the left.

    Notes
    -----
    Ends with a barrier. Sums are those of `es.parallel_scan`, in 64 bits or float64. With `op` each
    thread joins a part, and what it keeps meanwhile has the type of `destination`.
    https://kokkos.org/kokkos-core-wiki/API/algorithms-index.html

    Examples
    --------
    >>> import numpy as np
    >>> import execspace as es
    >>> x, y = np.array([3, 1, 4]), np.zeros(3, int)
    >>> es.algorithms.team.inclusive_scan(es.TeamMember(), x, y)
    >>> y
    array([3, 4, 8])
    """
    check_function("op", op)
    transform_inclusive_scan(team, source, destination, op, _itself, init)


@function
def exclusive_scan(team: Any, source: Any, destination: Any, init: Any = 0, op: Any = None) -> None:
    """Join all elements of a View before each one; their sums if nothing else is said.

    `init` is always joined, and is what the first element becomes. Ends with a barrier. See
    `inclusive_scan`.

    Examples
    --------
    >>> import numpy as np
    >>> import execspace as es
    >>> x, y = np.array([3, 1, 4]), np.zeros(3, int)
    >>> es.algorithms.team.exclusive_scan(es.TeamMember(), x, y, 1, lambda a, b: a * b)
    >>> y
    array([1, 3, 3])
    """
    check_function("op", op)
    transform_exclusive_scan(team, source, destination, init, op, _itself)


@function
def adjacent_difference(team: Any, source: Any, destination: Any, op: Any = None) -> None:
    """Store the difference of each element of a View to the one before it; the first one as it is.

    `op` is a function of an element and the one before it, in the place of ``-``. The Views must
    not overlap. Ends with a barrier.

    Examples
    --------
    >>> import numpy as np
    >>> import execspace as es
    >>> x, y = np.array([3, 4, 8]), np.zeros(3, int)
    >>> es.algorithms.team.adjacent_difference(es.TeamMember(), x, y)
    >>> y
    array([3, 1, 4])
    """
    check_function("op", op)
    for i in TeamVectorRange(team, len(source)):
        if i == 0:
            destination[i] = source[i]
        elif op is None:
            destination[i] = source[i] - source[i - 1]
        else:
            destination[i] = op(source[i], source[i - 1])
    team.barrier()
