"""Binary search: lower_bound and upper_bound, in kernels and on the host, and searchsorted.

The order is that of `sort`: numbers ascend, and NaN is greater than every number.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from ..base.brief import brief
from ..base.errors import ViewError
from ..contract.space import ExecutionSpace
from ..events.recording import by_extents
from ..kernels.language import function
from ..launch.parallel import parallel_for
from ..policies.range import RangePolicy
from ..views.view import View
from .arguments import argument, check_apart, choose_space, result
from .merge_sort import precedes

__all__ = [
    "lower_bound",
    "searchsorted",
    "upper_bound",
]


@function
def lower_bound(view: Any, value: Any) -> Any:
    """Index of the first element that is not less than a value; the extent if there is none.

    Parameters
    ----------
    view : View or array, rank 1
        Ascending, as `sort` leaves it. In kernels also a subview or a local array.
    value : number

    Returns
    -------
    int
        From 0 to ``len(view)``: `value` put in there keeps the order.

    Raises
    ------
    SpaceAccessError
        On the host, if it cannot read the View.

    Notes
    -----
    Takes about ``log2(n)`` steps. Kokkos: ``lower_bound`` of
    https://kokkos.org/kokkos-core-wiki/API/algorithms-index.html

    Examples
    --------
    >>> import execspace as es
    >>> es.lower_bound(np.array([1, 3, 3, 5]), 3)
    1
    """
    low = 0
    high = len(view)
    while low < high:
        middle = (low + high) // 2
        if precedes(view[middle], value):
            low = middle + 1
        else:
            high = middle
    return low


@function
def upper_bound(view: Any, value: Any) -> Any:
    """Index of the first element that is greater than a value; the extent if there is none.

    Parameters, result and errors are those of `lower_bound`.

    Examples
    --------
    >>> import execspace as es
    >>> es.upper_bound(np.array([1, 3, 3, 5]), 3)
    3
    """
    low = 0
    high = len(view)
    while low < high:
        middle = (low + high) // 2
        if precedes(value, view[middle]):
            high = middle
        else:
            low = middle + 1
    return low


def _search_left(i: int, sorted_view: Any, values: Any, out: Any) -> None:
    out[i] = lower_bound(sorted_view, values[i])


def _search_right(i: int, sorted_view: Any, values: Any, out: Any) -> None:
    out[i] = upper_bound(sorted_view, values[i])


_SIDES: dict[Any, Any] = {"left": _search_left, "right": _search_right}


def searchsorted(
    sorted_view: View | Any,
    values: View | Any,
    side: str = "left",
    out: View | None = None,
    *,
    space: str | ExecutionSpace | None = None,
) -> View:
    """Where values belong in a sorted View: a binary search for each of them, in parallel.

    Parameters
    ----------
    sorted_view : View or array, rank 1
        Ascending integers, floats or bools, as `sort` leaves them; this is not checked.
    values : View or array, rank 1
    side : {"left", "right"}, default "left"
        `lower_bound`, before the elements that are equal, or `upper_bound`, after them.
    out : View of int64, optional
        Of the shape of `values`; receives the indices.
    space : str or ExecutionSpace, optional
        Where to run; as for `parallel_for` if not given.

    Returns
    -------
    View of int64, shape of `values`
        `out`, or a new View in the memory of the space.

    Raises
    ------
    ViewError, DTypeError, TypeError
        If a View has another rank, holds complex numbers or records, or `side` is not known; if
        `out` does not fit, is read-only or overlaps the others.
    SpaceAccessError
        If the space cannot reach one of the Views.

    Notes
    -----
    Does not block where the space is asynchronous. Integers are compared exactly, also int64
    with uint64. https://numpy.org/doc/stable/reference/generated/numpy.searchsorted.html
    """
    if side not in ("left", "right"):
        raise ViewError(f"searchsorted: side={brief(side)}; expected 'left' or 'right'.")
    table = argument(sorted_view, "searchsorted", "sorted_view")
    wanted = argument(values, "searchsorted", "values")
    given = () if out is None else (argument(out, "searchsorted", "out", writable=True),)
    where = choose_space(space, (table, wanted, *given), "searchsorted")
    found = result(out, "searchsorted", wanted.shape, np.int64, where)
    by_extents(
        "searchsorted", partial(_searched, side, where),
        sorted_view=table, values=wanted, out=found,
    )  # fmt: skip
    return found


def _searched(side: str, where: ExecutionSpace, *, sorted_view: Any, values: Any, out: Any) -> None:
    table = argument(sorted_view, "searchsorted", "sorted_view")
    wanted = argument(values, "searchsorted", "values")
    found = result(out, "searchsorted", wanted.shape, np.int64, where)
    for view in (table, wanted):
        check_apart((view, found), "searchsorted")
    policy = RangePolicy(wanted.size, space=where)
    parallel_for(policy, _SIDES[side], table, wanted, found, label="searchsorted")
