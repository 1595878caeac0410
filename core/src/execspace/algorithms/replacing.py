"""replace, replace_if and their copies: another number in the place of some elements.

None of them blocks where the space is asynchronous.

Source: https://kokkos.org/kokkos-core-wiki/API/algorithms-index.html
"""

from __future__ import annotations

from functools import partial
from typing import Any

from ..events.recording import by_extents
from ..launch.parallel import parallel_for
from ..policies.range import RangePolicy
from ..views.view import View
from .std_arguments import (
    Space,
    check_in_place_or_apart,
    check_number,
    check_room,
    check_same_kind,
    compared,
    function_of,
    is_true,
    is_value,
    ranges,
    stored,
)

__all__ = [
    "replace",
    "replace_copy",
    "replace_copy_if",
    "replace_if",
]


def replace(
    view: View | Any, old: Any, new: Any, *, space: Space = None, label: str | None = None
) -> None:
    """Store a number into each element of a View that equals another one.

    Parameters
    ----------
    view : View or array, rank 1
        Of numbers or bools.
    old, new : number
        `old` is compared as ``==`` in kernels: zeros of both signs are equal, NaN equals nothing.
    space : str or ExecutionSpace, optional
        Where to run; as for `parallel_for` if not given.
    label : str, optional
        The name in profiles; that of the algorithm if not given.

    Raises
    ------
    DTypeError
        If the View cannot hold `new` without losing its kind, as an integer a float.
    LaunchError
        If `old` or `new` is no number, or `new` an integer that the element type does not hold.
    ViewError, TypeError, SpaceAccessError
        If `view` is no View of rank 1, read-only, or out of the space's reach.

    Notes
    -----
    Does not block where the space is asynchronous.
    https://kokkos.org/kokkos-core-wiki/API/algorithms-index.html

    Examples
    --------
    >>> import numpy as np
    >>> import execspace as es
    >>> x = np.array([1, 2, 1])
    >>> es.algorithms.replace(x, 1, 9, space="oracle")
    >>> x
    array([9, 2, 9])
    """
    check_number(old, "replace", "old")
    by_extents("replace", partial(_replace, "replace", is_value, old, new, space, label), view=view)


def replace_if(
    view: View | Any, predicate: Any, new: Any, *, space: Space = None, label: str | None = None
) -> None:
    """Store a number into each element of a View for which a predicate holds.

    Parameters
    ----------
    view : View or array, rank 1
    predicate : function
        Of an element; compiled as a helper of a kernel.
    new : number
    space, label : optional
        As of `replace`.

    Raises
    ------
    LaunchError, KernelError
        If `predicate` is no function, or none that kernels can call.
    DTypeError, ViewError, TypeError, SpaceAccessError
        As `replace`.

    Notes
    -----
    Does not block where the space is asynchronous.

    Examples
    --------
    >>> import numpy as np
    >>> import execspace as es
    >>> x = np.array([1.0, np.nan, 3.0])
    >>> es.algorithms.replace_if(x, np.isnan, 0, space="oracle")
    >>> x
    array([1., 0., 3.])
    """
    p = function_of(predicate, "replace_if", "predicate", "an element")
    by_extents(
        "replace_if", partial(_replace, "replace_if", is_true, p, new, space, label), view=view
    )


def _replace(
    what: str, rule: Any, given: Any, new: Any, space: Space, label: str | None, *, view: Any
) -> None:
    where, (row,) = ranges(what, space, (view, "view*"))
    if rule is is_value:
        given = compared(given, row, what, "old")
    number = stored(new, row, what, "new")
    parallel_for(
        RangePolicy(row.shape[0], space=where), _replace_one, row, rule, given, number,
        label=label or what,
    )  # fmt: skip


def replace_copy(
    source: View | Any,
    destination: View | Any,
    old: Any,
    new: Any,
    *,
    space: Space = None,
    label: str | None = None,
) -> None:
    """Copy a View, with a number in the place of each element that equals another one.

    Parameters
    ----------
    source : View or array, rank 1
    destination : View or array, rank 1
        With at least as many elements; more are left as they are.
    old, new : number
        As of `replace`; `new` is stored in `destination`.
    space, label : optional
        As of `replace`.

    Raises
    ------
    ViewError
        If `destination` is too short, read-only, or overlaps `source` without being the same
        elements.
    DTypeError
        If elements of `source`, or `new`, lose their kind in `destination`.
    LaunchError, TypeError, SpaceAccessError
        As `replace`.

    Notes
    -----
    Does not block where the space is asynchronous.

    Examples
    --------
    >>> import numpy as np
    >>> import execspace as es
    >>> x, y = np.array([1, 2, 1]), np.zeros(3, int)
    >>> es.algorithms.replace_copy(x, y, 1, 9, space="oracle")
    >>> y
    array([9, 2, 9])
    """
    check_number(old, "replace_copy", "old")
    by_extents(
        "replace_copy", partial(_replace_copy, "replace_copy", is_value, old, new, space, label),
        source=source, destination=destination,
    )  # fmt: skip


def replace_copy_if(
    source: View | Any,
    destination: View | Any,
    predicate: Any,
    new: Any,
    *,
    space: Space = None,
    label: str | None = None,
) -> None:
    """Copy a View, with a number in the place of each element for which a predicate holds.

    Parameters and errors are those of `replace_copy`, with `predicate` as of `replace_if` in the
    place of `old`. Does not block where the space is asynchronous.

    Examples
    --------
    >>> import numpy as np
    >>> import execspace as es
    >>> x, y = np.array([1, 2, 3]), np.zeros(3, int)
    >>> es.algorithms.replace_copy_if(x, y, es.function(lambda v: v > 1), 0, space="oracle")
    >>> y
    array([1, 0, 0])
    """
    p = function_of(predicate, "replace_copy_if", "predicate", "an element")
    by_extents(
        "replace_copy_if", partial(_replace_copy, "replace_copy_if", is_true, p, new, space, label),
        source=source, destination=destination,
    )  # fmt: skip


def _replace_copy(
    what: str,
    rule: Any,
    given: Any,
    new: Any,
    space: Space,
    label: str | None,
    *,
    source: Any,
    destination: Any,
) -> None:
    where, (a, b) = ranges(what, space, (source, "source"), (destination, "destination*"))
    check_room(b, a.shape[0], what)
    check_same_kind(a, b, what)
    number = stored(new, b, what, "new")
    if rule is is_value:
        given = compared(given, a, what, "old")
    check_in_place_or_apart(a, b, what)
    parallel_for(
        RangePolicy(a.shape[0], space=where), _replace_copy_one, a, b, rule, given, number,
        label=label or what,
    )  # fmt: skip


# -- kernels --------------------------------------------------------------------------------------


def _replace_one(i: Any, view: Any, rule: Any, given: Any, new: Any) -> None:
    if rule(view, i, given):
        view[i] = new


def _replace_copy_one(
    i: Any, source: Any, destination: Any, rule: Any, given: Any, new: Any
) -> None:
    destination[i] = new if rule(source, i, given) else source[i]
