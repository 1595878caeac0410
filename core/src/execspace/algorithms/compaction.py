"""copy_if, remove, unique, partition_copy and their siblings: elements that are kept move together.

A scan counts what is kept before each element, which is where it goes: one pass over memory.

Source: https://kokkos.org/kokkos-core-wiki/API/algorithms-index.html
"""

from __future__ import annotations

from typing import Any

from ..base.errors import ViewError
from ..contract.space import ExecutionSpace
from ..kernels.language import function
from ..launch.parallel_reduce import parallel_scan
from ..policies.range import RangePolicy
from ..reducers.builtin import Sum
from ..views.view import View
from .arguments import check_apart
from .copying import copy_part
from .std_arguments import (
    Space,
    check_same_kind,
    compared,
    first_true,
    function_of,
    is_false,
    is_true,
    part_size,
    ranges,
    room_for,
    same,
)

__all__ = [
    "copy_if",
    "partition_copy",
    "remove",
    "remove_copy",
    "remove_copy_if",
    "remove_if",
    "unique",
    "unique_copy",
]

_COUNT = Sum("int32")


def copy_if(
    source: View | Any,
    destination: View | Any,
    predicate: Any,
    *,
    space: Space = None,
    label: str | None = None,
) -> int:
    """Copy the elements of a View for which a predicate holds, in their order. Blocks.

    Parameters
    ----------
    source : View or array, rank 1
        Of any element type, records included.
    destination : View or array, rank 1
        With room for what is copied; elements behind that are left as they are.
    predicate : function
        Of an element; compiled as a helper of a kernel.
    space : str or ExecutionSpace, optional
        Where to run; as for `parallel_for` if not given.
    label : str, optional
        The name in profiles; that of the algorithm if not given.

    Returns
    -------
    int
        How many elements were copied.

    Raises
    ------
    LaunchError, KernelError
        If `predicate` is no function, or none that kernels can call.
    ViewError
        If an argument is no View of rank 1, or `destination` is read-only or overlaps `source`.
        Also if it has no room for all; then it holds as many as there is room for.
    DTypeError
        If elements would lose their kind, as floats do in a View of integers.
    TypeError, SpaceAccessError
        If an argument is no View or array, or the space cannot reach it.

    Notes
    -----
    https://kokkos.org/kokkos-core-wiki/API/algorithms-index.html

    Examples
    --------
    >>> import numpy as np
    >>> import execspace as es
    >>> x, y = np.array([3, 1, 4, 1, 5]), np.zeros(5, int)
    >>> es.algorithms.copy_if(x, y, es.function(lambda v: v > 2), space="oracle")
    3
    >>> y
    array([3, 4, 5, 0, 0])
    """
    p = function_of(predicate, "copy_if", "predicate", "an element")
    return _packed("copy_if", source, destination, is_true, p, space, label, records=True)


def remove_copy(
    source: View | Any,
    destination: View | Any,
    value: Any,
    *,
    space: Space = None,
    label: str | None = None,
) -> int:
    """Copy the elements of a View that do not equal a value, in their order. Blocks.

    Parameters, result and errors are those of `copy_if`, with a number, compared as ``==`` in
    kernels, in the place of the predicate.

    Examples
    --------
    >>> import numpy as np
    >>> import execspace as es
    >>> x, y = np.array([3, 1, 4, 1, 5]), np.zeros(5, int)
    >>> es.algorithms.remove_copy(x, y, 1, space="oracle")
    3
    >>> y
    array([3, 4, 5, 0, 0])
    """
    return _packed("remove_copy", source, destination, _is_another, value, space, label)


def remove_copy_if(
    source: View | Any,
    destination: View | Any,
    predicate: Any,
    *,
    space: Space = None,
    label: str | None = None,
) -> int:
    """Copy the elements of a View for which a predicate does not hold, in their order. Blocks.

    Parameters, result and errors are those of `copy_if`.

    Examples
    --------
    >>> import numpy as np
    >>> import execspace as es
    >>> x, y = np.array([3, 1, 4, 1, 5]), np.zeros(5, int)
    >>> es.algorithms.remove_copy_if(x, y, es.function(lambda v: v > 2), space="oracle")
    2
    >>> y
    array([1, 1, 0, 0, 0])
    """
    what = "remove_copy_if"
    p = function_of(predicate, what, "predicate", "an element")
    return _packed(what, source, destination, is_false, p, space, label, records=True)


def unique_copy(
    source: View | Any,
    destination: View | Any,
    predicate: Any = None,
    *,
    space: Space = None,
    label: str | None = None,
) -> int:
    """Copy the first element of each row of equal neighbours of a View. Blocks.

    Parameters, result and errors are those of `copy_if`, but `predicate` is a function of an
    element and the one after it, in the place of ``==``; as there, what equals the same must be
    equal.

    Examples
    --------
    >>> import numpy as np
    >>> import execspace as es
    >>> x, y = np.array([1, 1, 2, 1, 1]), np.zeros(5, int)
    >>> es.algorithms.unique_copy(x, y, space="oracle")
    3
    >>> y
    array([1, 2, 1, 0, 0])
    """
    what = "unique_copy"
    p = same if predicate is None else function_of(predicate, what, "predicate", "two elements")
    records = predicate is not None
    return _packed(what, source, destination, _begins_row, p, space, label, records=records)


def _packed(
    what: str,
    source: Any,
    destination: Any,
    rule: Any,
    given: Any,
    space: Space,
    label: str | None,
    records: bool = False,
) -> int:
    where, (a, b) = ranges(
        what, space, (source, "source"), (destination, "destination*"), records=records
    )
    check_same_kind(a, b, what)
    check_apart((a, b), what)
    if rule is _is_another:
        given = compared(given, a, what, "value")
    return _pack(where, a, 0, a.shape[0], b, rule, given, what, label)


def _pack(
    where: ExecutionSpace,
    source: View,
    begin: int,
    end: int,
    destination: View,
    rule: Any,
    given: Any,
    what: str,
    label: str | None,
) -> int:
    """Store what a rule keeps of a part to the front of a View; return how many."""
    policy = RangePolicy(begin, end, space=where)
    count = _COUNT if end < 2**31 else Sum  # fewer bits go from block to block
    kept = parallel_scan(
        policy, _pack_one, source, destination, rule, given, reducer=count, label=label or what
    )
    _check_held(destination, kept, what)
    return int(kept)


def _check_held(view: View, number: int, what: str) -> None:
    if number > view.shape[0]:
        raise ViewError(
            f"{what}: View '{view.label}' has extent {view.shape[0]}, and {number} elements are to "
            f"be stored; it holds the first of them. Give it room for all: es.algorithms.count_if "
            f"counts them."
        )


# -- in place -------------------------------------------------------------------------------------


def remove(view: View | Any, value: Any, *, space: Space = None, label: str | None = None) -> int:
    """Move the elements of a View that do not equal a value to its front, in their order. Blocks.

    Parameters
    ----------
    view : View or array, rank 1
        Of numbers or bools.
    value : number
        Compared as ``==`` in kernels: zeros of both signs are equal, and NaN equals nothing.
    space, label : optional
        As of `copy_if`.

    Returns
    -------
    int
        How many elements are kept. What is behind them is not specified.

    Raises
    ------
    LaunchError
        If `value` is no number.
    ViewError, TypeError, SpaceAccessError
        As `copy_if`; also if the View is read-only.

    Notes
    -----
    Elements move part after part, by way of memory for 65,536 elements for each thread of a host,
    on devices for an eighth of them. The View keeps its extent: ``view[:kept]`` is what was kept.

    Examples
    --------
    >>> import numpy as np
    >>> import execspace as es
    >>> x = np.array([3, 1, 4, 1, 5])
    >>> kept = es.algorithms.remove(x, 1, space="oracle")
    >>> x[:kept]
    array([3, 4, 5])
    """
    return _removed("remove", view, _is_another, value, space, label)


def remove_if(
    view: View | Any, predicate: Any, *, space: Space = None, label: str | None = None
) -> int:
    """Move the elements for which a predicate does not hold to the front of a View. Blocks.

    Result and notes are those of `remove`; `predicate` is a function of an element, compiled as a
    helper of a kernel. Errors are those of `copy_if`.

    Examples
    --------
    >>> import numpy as np
    >>> import execspace as es
    >>> x = np.array([3, 1, 4, 1, 5])
    >>> kept = es.algorithms.remove_if(x, es.function(lambda v: v > 3), space="oracle")
    >>> x[:kept]
    array([3, 1, 1])
    """
    p = function_of(predicate, "remove_if", "predicate", "an element")
    return _removed("remove_if", view, is_false, p, space, label, records=True)


def unique(
    view: View | Any, predicate: Any = None, *, space: Space = None, label: str | None = None
) -> int:
    """Keep the first element of each row of equal neighbours, at the front of a View. Blocks.

    Result and notes are those of `remove`, `predicate` is that of `unique_copy`, and errors are
    those of `copy_if`.

    Examples
    --------
    >>> import numpy as np
    >>> import execspace as es
    >>> x = np.array([1, 1, 2, 1, 1])
    >>> kept = es.algorithms.unique(x, space="oracle")
    >>> x[:kept]
    array([1, 2, 1])
    """
    p = same if predicate is None else function_of(predicate, "unique", "predicate", "two elements")
    records = predicate is not None
    return _removed("unique", view, _begins_row, p, space, label, records=records)


def _removed(
    what: str,
    view: Any,
    rule: Any,
    given: Any,
    space: Space,
    label: str | None,
    records: bool = False,
) -> int:
    where, (row,) = ranges(what, space, (view, "view*"), records=records)
    if rule is _is_another:
        given = compared(given, row, what, "value")
    n = row.shape[0]
    name = label or what
    first = first_true(where, n, name, _where_it_breaks, row, rule, given)
    if first == n:
        return int(n)
    # Part after part, by way of memory for one. Nothing is stored behind the place that it had, so
    # what a rule reads before the part is as it was.
    size = part_size(where, n - first)
    between = room_for(row, size, what)
    end = first
    for begin in range(first, n, size):
        kept = _pack(where, row, begin, min(begin + size, n), between, rule, given, what, label)
        copy_part(where, kept, between, 0, row, end, name)
        end += kept
    return int(end)


def partition_copy(
    source: View | Any,
    true: View | Any,
    false: View | Any,
    predicate: Any,
    *,
    space: Space = None,
    label: str | None = None,
) -> tuple[int, int]:
    """Copy elements for which a predicate holds to one View, and the others to another. Blocks.

    Both keep their order.

    Parameters
    ----------
    source : View or array, rank 1
        Of any element type, records included.
    true, false : View or array, rank 1
        With room for what is copied.
    predicate : function
        Of an element; compiled as a helper of a kernel.
    space, label : optional
        As of `copy_if`.

    Returns
    -------
    tuple of two int
        How many elements were copied to `true`, and how many to `false`.

    Raises
    ------
    LaunchError, KernelError, ViewError, DTypeError, TypeError, SpaceAccessError
        As `copy_if`; also if `true` and `false` overlap.

    Examples
    --------
    >>> import numpy as np
    >>> import execspace as es
    >>> x, odd, even = np.arange(5), np.zeros(2, int), np.zeros(3, int)
    >>> f = es.function(lambda v: v % 2 == 1)
    >>> es.algorithms.partition_copy(x, odd, even, f, space="oracle")
    (2, 3)
    >>> odd, even
    (array([1, 3]), array([0, 2, 4]))
    """
    what = "partition_copy"
    p = function_of(predicate, what, "predicate", "an element")
    where, (a, b, c) = ranges(
        what, space, (source, "source"), (true, "true*"), (false, "false*"), records=True
    )
    check_same_kind(a, b, what)
    check_same_kind(a, c, what)
    check_apart((a, b, c), what)
    n = int(a.shape[0])
    policy = RangePolicy(n, space=where)
    number: int = parallel_scan(policy, _part_one, a, b, c, p, label=label or what)
    _check_held(b, number, what)
    _check_held(c, n - number, what)
    return number, n - number


# -- kernels and rules ----------------------------------------------------------------------------


@function
def _is_another(view: Any, i: Any, value: Any) -> Any:
    return view[i] != value


@function
def _begins_row(view: Any, i: Any, predicate: Any) -> Any:
    return i == 0 or not predicate(view[i - 1], view[i])


def _where_it_breaks(i: Any, view: Any, rule: Any, given: Any) -> Any:
    return not rule(view, i, given), i


def _pack_one(
    i: Any, place: Any, final: Any, source: Any, destination: Any, rule: Any, given: Any
) -> Any:
    kept = rule(source, i, given)
    if final and kept and place < len(destination):
        destination[place] = source[i]
    return kept


def _part_one(
    i: Any, place: Any, final: Any, source: Any, true: Any, false: Any, predicate: Any
) -> Any:
    holds = bool(predicate(source[i]))
    if final:
        if holds:
            if place < len(true):
                true[place] = source[i]
        elif i - place < len(false):
            false[i - place] = source[i]
    return holds
