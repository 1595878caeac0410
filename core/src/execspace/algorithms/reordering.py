"""reverse, rotate, shift_left, shift_right and swap_ranges: other places for the same elements.

None of them blocks where the space is asynchronous.

Source: https://kokkos.org/kokkos-core-wiki/API/algorithms-index.html
"""

from __future__ import annotations

import operator
from functools import lru_cache, partial
from typing import Any

import numpy as np

from ..base.brief import brief
from ..base.errors import ViewError, ViewIndexError
from ..contract.space import ExecutionSpace
from ..events.recording import by_extents
from ..kernels.language import local
from ..launch.parallel import parallel_for
from ..policies.range import RangePolicy
from ..views.view import View
from .arguments import check_apart
from .copying import move_within
from .std_arguments import Space, amount, check_room, check_same_kind, position, ranges

__all__ = [
    "iter_swap",
    "reverse",
    "rotate",
    "shift_left",
    "shift_right",
    "swap_ranges",
]


def reverse(view: View | Any, *, space: Space = None, label: str | None = None) -> None:
    """Reverse the order of the elements of a View, in place.

    Parameters
    ----------
    view : View or array, rank 1
        Of any element type, records included.
    space : str or ExecutionSpace, optional
        Where to run; as for `parallel_for` if not given.
    label : str, optional
        The name in profiles; that of the algorithm if not given.

    Raises
    ------
    ViewError, TypeError, SpaceAccessError
        If `view` is no View of rank 1, read-only, or out of the space's reach.

    Notes
    -----
    Does not block where the space is asynchronous. Takes no memory.
    https://kokkos.org/kokkos-core-wiki/API/algorithms-index.html

    Examples
    --------
    >>> import numpy as np
    >>> import execspace as es
    >>> x = np.arange(5)
    >>> es.algorithms.reverse(x, space="oracle")
    >>> x
    array([4, 3, 2, 1, 0])
    """
    by_extents("reverse", partial(_reverse, space, label), view=view)


def _reverse(space: Space, label: str | None, *, view: Any) -> None:
    where, (row,) = ranges("reverse", space, (view, "view*"), records=True)
    _reversed(where, row, 0, row.shape[0], label or "reverse")


def _reversed(where: ExecutionSpace, row: View, begin: int, end: int, label: str) -> None:
    half = (end - begin) // 2
    if half:
        kernel = _exchange_ends if row.dtype.fields is None else _of_records(row.dtype)[0]
        parallel_for(RangePolicy(half, space=where), kernel, row, begin, end - 1, label=label)


def rotate(view: View | Any, middle: int, *, space: Space = None, label: str | None = None) -> int:
    """Rotate a View in place: the element at `middle` comes first, that before it last.

    Parameters
    ----------
    view : View or array, rank 1
        Of any element type, records included.
    middle : int
        From 0 to the extent.
    space, label : optional
        As of `reverse`.

    Returns
    -------
    int
        Where the element that was the first one is now: ``len(view) - middle``.

    Raises
    ------
    ViewError, ViewIndexError
        If `middle` is no such integer, or as `reverse`.
    TypeError, SpaceAccessError
        As `reverse`.

    Notes
    -----
    Does not block where the space is asynchronous. Both parts are reversed, and then the whole
    View, so it takes no memory and moves each element twice.

    Examples
    --------
    >>> import numpy as np
    >>> import execspace as es
    >>> x = np.arange(5)
    >>> es.algorithms.rotate(x, 2, space="oracle")
    3
    >>> x
    array([2, 3, 4, 0, 1])
    """
    _, (row,) = ranges("rotate", space, (view, "view*"), records=True)
    m = position(middle, row.shape[0], "rotate", "middle")
    by_extents("rotate", partial(_rotate, middle, space, label), view=view)
    return int(row.shape[0]) - m


def _rotate(middle: Any, space: Space, label: str | None, *, view: Any) -> None:
    where, (row,) = ranges("rotate", space, (view, "view*"), records=True)
    n = row.shape[0]
    m = position(middle, n, "rotate", "middle")
    if 0 < m < n:
        name = label or "rotate"
        _reversed(where, row, 0, m, name)
        _reversed(where, row, m, n, name)
        _reversed(where, row, 0, n, name)


def shift_left(view: View | Any, n: int, *, space: Space = None, label: str | None = None) -> int:
    """Move the elements of a View by `n` places to the front; the first `n` are lost.

    Parameters
    ----------
    view : View or array, rank 1
        Of any element type, records included.
    n : int
        0 or more. If it is the extent or more, nothing is moved.
    space, label : optional
        As of `reverse`.

    Returns
    -------
    int
        The end of what was moved: ``len(view) - n``, or 0. What is behind it is not specified.

    Raises
    ------
    ViewError
        If `n` is negative or no integer, or as `reverse`.
    TypeError, SpaceAccessError
        As `reverse`.

    Notes
    -----
    Does not block where the space is asynchronous. Elements move part after part; if `n` is less
    than a 64th of them, by way of memory for 65,536 elements for each thread of a host, on
    devices for an eighth of them.

    Examples
    --------
    >>> import numpy as np
    >>> import execspace as es
    >>> x = np.arange(5)
    >>> kept = es.algorithms.shift_left(x, 2, space="oracle")
    >>> x[:kept]
    array([2, 3, 4])
    """
    _, (row,) = ranges("shift_left", space, (view, "view*"), records=True)
    by = amount(n, "shift_left", "n")
    by_extents("shift_left", partial(_shift, "shift_left", by, space, label), view=view)
    return max(int(row.shape[0]) - by, 0)


def shift_right(view: View | Any, n: int, *, space: Space = None, label: str | None = None) -> int:
    """Move the elements of a View by `n` places to the end; the last `n` are lost.

    Parameters, errors and notes are those of `shift_left`.

    Returns
    -------
    int
        The begin of what was moved: `n`, or the extent. What is before it is not specified.

    Examples
    --------
    >>> import numpy as np
    >>> import execspace as es
    >>> x = np.arange(5)
    >>> first = es.algorithms.shift_right(x, 2, space="oracle")
    >>> x[first:]
    array([0, 1, 2])
    """
    _, (row,) = ranges("shift_right", space, (view, "view*"), records=True)
    by = amount(n, "shift_right", "n")
    by_extents("shift_right", partial(_shift, "shift_right", by, space, label), view=view)
    return min(by, int(row.shape[0]))


def _shift(what: str, by: int, space: Space, label: str | None, *, view: Any) -> None:
    where, (row,) = ranges(what, space, (view, "view*"), records=True)
    name = label or what
    kept = row.shape[0] - by
    if kept <= 0 or by == 0:
        return
    left = what == "shift_left"
    begin, to = (by, 0) if left else (0, by)
    move_within(where, kept, row, begin, row, to, by, not left, name)


def swap_ranges(
    a: View | Any, b: View | Any, *, space: Space = None, label: str | None = None
) -> None:
    """Exchange the elements of a View with the first ones of another View.

    Parameters
    ----------
    a, b : View or array, rank 1
        Of one kind of numbers, or records of one type. `b` has at least as many elements as `a`.
    space, label : optional
        As of `reverse`.

    Raises
    ------
    ViewError
        If `b` is too short, one of them is read-only, or they overlap.
    DTypeError
        If elements would lose their kind, as floats do in a View of integers.
    TypeError, SpaceAccessError
        As `reverse`.

    Notes
    -----
    Does not block where the space is asynchronous. Takes no memory.

    Examples
    --------
    >>> import numpy as np
    >>> import execspace as es
    >>> x, y = np.arange(2), np.arange(10, 13)
    >>> es.algorithms.swap_ranges(x, y, space="oracle")
    >>> x, y
    (array([10, 11]), array([ 0,  1, 12]))
    """
    by_extents("swap_ranges", partial(_swap_ranges, space, label), a=a, b=b)


def _swap_ranges(space: Space, label: str | None, *, a: Any, b: Any) -> None:
    what = "swap_ranges"
    where, (first, second) = ranges(what, space, (a, "a*"), (b, "b*"), records=True)
    check_room(second, first.shape[0], what)
    check_same_kind(first, second, what)
    check_same_kind(second, first, what)
    check_apart((first, second), what)
    policy = RangePolicy(first.shape[0], space=where)
    parallel_for(policy, _kernel_for(first), first, 0, second, 0, label=label or what)


def iter_swap(
    a: View | Any,
    i: int,
    b: View | Any,
    j: int,
    *,
    space: Space = None,
    label: str | None = None,
) -> None:
    """Exchange element `i` of a View with element `j` of a View, which may be the same one.

    Parameters
    ----------
    a, b : View or array, rank 1
        Of one kind of numbers, or records of one type.
    i, j : int
        From 0 to the extent, exclusive.
    space, label : optional
        As of `reverse`.

    Raises
    ------
    ViewError, ViewIndexError
        If `i` or `j` is no such integer, or as `reverse`.
    DTypeError, TypeError, SpaceAccessError
        As `swap_ranges`.

    Notes
    -----
    Does not block where the space is asynchronous. It is a launch of one thread.

    Examples
    --------
    >>> import numpy as np
    >>> import execspace as es
    >>> x = np.arange(4)
    >>> es.algorithms.iter_swap(x, 0, x, 3, space="oracle")
    >>> x
    array([3, 1, 2, 0])
    """
    by_extents("iter_swap", partial(_iter_swap, i, j, space, label), a=a, b=b)


def _iter_swap(i: Any, j: Any, space: Space, label: str | None, *, a: Any, b: Any) -> None:
    what = "iter_swap"
    where, (first, second) = ranges(what, space, (a, "a*"), (b, "b*"), records=True)
    check_same_kind(first, second, what)
    check_same_kind(second, first, what)
    k, m = _index(i, first, "i"), _index(j, second, "j")
    kernel = _kernel_for(first)
    parallel_for(RangePolicy(1, space=where), kernel, first, k, second, m, label=label or what)


def _kernel_for(view: View) -> Any:
    return _exchange if view.dtype.fields is None else _of_records(view.dtype)[1]


def _index(value: Any, view: View, role: str) -> int:
    n = view.shape[0]
    try:
        number = operator.index(value)
    except TypeError:
        raise ViewError(
            f"iter_swap: {role}={brief(value)}; expected an integer, 0 <= {role} < {n}."
        ) from None
    if not 0 <= number < n:
        raise ViewIndexError(
            f"iter_swap: {role}={number} for View '{view.label}'; expected 0 <= {role} < {n}."
        )
    return number


# -- kernels --------------------------------------------------------------------------------------


def _exchange_ends(i: Any, view: Any, first: Any, last: Any) -> None:
    view[first + i], view[last - i] = view[last - i], view[first + i]


def _exchange(i: Any, a: Any, begin: Any, b: Any, other: Any) -> None:
    a[begin + i], b[other + i] = b[other + i], a[begin + i]


@lru_cache(maxsize=64)
def _of_records(dtype: np.dtype[Any]) -> tuple[Any, Any]:
    """The same two for records, whose names refer to elements: one is kept in memory of its own."""

    def exchange_ends(i: Any, view: Any, first: Any, last: Any) -> None:
        kept = local(1, dtype)
        kept[0] = view[first + i]
        view[first + i] = view[last - i]
        view[last - i] = kept[0]

    def exchange(i: Any, a: Any, begin: Any, b: Any, other: Any) -> None:
        kept = local(1, dtype)
        kept[0] = a[begin + i]
        a[begin + i] = b[other + i]
        b[other + i] = kept[0]

    return exchange_ends, exchange
