"""sort, sort_by_key and argsort: with a space's own library where it has one, else with kernels.

One order on every space: numbers ascend, zeros of both signs are equal, and NaN is greater than
every number, as in `numpy.sort`. With a comparator it is done by kernels everywhere.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import partial
from typing import Any

import numpy as np

from ..base import pending
from ..base.errors import ViewError
from ..base.flags import flag
from ..contract.space import ExecutionSpace, SupportsSort
from ..events import dispatch
from ..events.launches import kernel_events, queue_of
from ..events.recording import as_one, by_extents
from ..views.view import View
from .arguments import argument, check_apart, choose_space, part, result
from .merge_sort import gather_rows, merge_argsort, merge_sort, scratch
from .std_arguments import function_of, row

__all__ = [
    "argsort",
    "sort",
    "sort_by_key",
]


def sort(
    view: View | Any,
    *,
    less: Any = None,
    descending: bool = False,
    begin: int | None = None,
    end: int | None = None,
    space: str | ExecutionSpace | None = None,
) -> None:
    """Sort the elements of a View in place.

    Parameters
    ----------
    view : View or array, rank 1
        Integers, floats or bools; any strides. NaN is the greatest: last, or first if
        `descending`. With `less` also complex numbers and records.
    less : function, optional
        Of two elements: whether the one comes before the other; a strict weak ordering, compiled
        as a helper of a kernel.
    descending : bool, default False
        The greatest element comes first.
    begin, end : int, optional
        Sort ``begin <= i < end`` only.
    space : str or ExecutionSpace, optional
        Where to run; as for `parallel_for` if not given.

    Raises
    ------
    ViewError, ViewIndexError, DTypeError, TypeError
        If the View has another rank, is read-only, or holds complex numbers or records without
        `less`, or if `begin` and `end` are no range of it.
    SpaceAccessError
        If the space cannot reach the View.

    Notes
    -----
    With `less` it is stable. Without, it is not, which shows only in zeros and NaN of different
    bits; on some processors `numpy.sort` even gives two zeros the sign of one of them. Does not
    block where the space is asynchronous. Memory: `numpy.sort` needs up to a copy of the View on
    host spaces (of a strided one); spaces without a sort of their own need one, and so does a sort
    with `less`, which is done by kernels: a merge sort.

    Kokkos: https://kokkos.org/kokkos-core-wiki/API/algorithms/Sort.html

    Examples
    --------
    >>> import execspace as es
    >>> A = es.create_mirror_view_and_copy(es.default_space(), np.array([3, 1, 2]))
    >>> es.sort(A, descending=True)
    >>> list(map(int, es.create_mirror_view_and_copy(es.HOST, A)))
    [3, 2, 1]
    >>> x = np.array([3, -7, 4, 1])
    >>> es.sort(x, less=es.function(lambda a, b: abs(a) < abs(b)), space="oracle")
    >>> x
    array([ 1,  3,  4, -7])
    """
    descending = flag(descending, "descending", "sort", ViewError)
    order = _comparator(less, "sort")
    target = _keys(view, "sort", "view", order, writable=True)
    part(target, begin, end, "sort")
    where = choose_space(space, (target,), "sort")
    by_extents("sort", partial(_sorted, order, descending, begin, end, where), view=target)


def _comparator(less: Any, what: str) -> Any:
    return None if less is None else function_of(less, what, "less", "two elements")


def _keys(source: Any, what: str, role: str, less: Any, *, writable: bool = False) -> View:
    """What is sorted; a comparator may order complex numbers and records, too."""
    if less is None:
        return argument(source, what, role, writable=writable)
    return row(source, what, role, writable=writable, records=True)


def _sorted(
    less: Any,
    descending: bool,
    begin: int | None,
    end: int | None,
    where: ExecutionSpace,
    *,
    view: Any,
) -> None:
    target = part(_keys(view, "sort", "view", less, writable=True), begin, end, "sort")
    choose_space(where, (target,), "sort")
    if target.size > 1:
        as_one("sort", partial(_sort, target, less, descending, where), where)


def _sort(target: View, less: Any, descending: bool, where: ExecutionSpace) -> None:
    if less is not None:
        merge_sort(target, descending, where, less)
    elif isinstance(where, SupportsSort) and target.mapping is None:
        with _library_call("sort", where, target):
            where.sort(target, descending)
    else:
        merge_sort(target, descending, where)


def argsort(
    keys: View | Any,
    *,
    less: Any = None,
    descending: bool = False,
    out: View | None = None,
    space: str | ExecutionSpace | None = None,
) -> View:
    """Permutation that sorts a View: element ``order[i]`` comes to place `i`. Stable.

    Parameters
    ----------
    keys : View or array, rank 1
        Integers, floats or bools; with `less` also complex numbers and records. Not changed.
    less : function, optional
        As of `sort`.
    descending : bool, default False
        The greatest key, or NaN, comes first. Equal keys keep their order all the same.
    out : View of int64, optional
        Of the shape of `keys`; receives the permutation.
    space : str or ExecutionSpace, optional
        Where to run; as for `parallel_for` if not given.

    Returns
    -------
    View of int64, shape of `keys`
        `out`, or a new View in the memory of the space.

    Raises
    ------
    ViewError, DTypeError, TypeError, SpaceAccessError
        As `sort`; also if `out` has another shape or dtype, or overlaps `keys`.

    Notes
    -----
    Does not block where the space is asynchronous. Needs memory for a second permutation. It is
    what ``BinSort::get_permute_vector`` gives in Kokkos:
    https://kokkos.org/kokkos-core-wiki/API/algorithms/Sort.html
    """
    descending = flag(descending, "descending", "argsort", ViewError)
    comparator = _comparator(less, "argsort")
    source = _keys(keys, "argsort", "keys", comparator)
    given = () if out is None else (argument(out, "argsort", "out", writable=True),)
    where = choose_space(space, (source, *given), "argsort")
    order = result(out, "argsort", source.shape, np.int64, where)
    by_extents("argsort", partial(_ordered, comparator, descending, where), keys=source, out=order)
    return order


def _ordered(less: Any, descending: bool, where: ExecutionSpace, *, keys: Any, out: Any) -> None:
    source = _keys(keys, "argsort", "keys", less)
    order = result(out, "argsort", source.shape, np.int64, where)
    choose_space(where, (source, order), "argsort")
    check_apart((source, order), "argsort")
    as_one("argsort", partial(_order, source, less, descending, order, where), where)


def sort_by_key(
    keys: View | Any,
    *values: View | Any,
    less: Any = None,
    descending: bool = False,
    space: str | ExecutionSpace | None = None,
) -> None:
    """Sort keys in place and bring the rows of other Views into the same order. Stable.

    Parameters
    ----------
    keys : View or array, rank 1
        Integers, floats or bools; with `less` also complex numbers and records.
    *values : View or array, rank 1 to 8
        Any dtype, records included. Extent 0 is that of `keys`; whole rows move.
    less : function, optional
        Of two keys, as of `sort`.
    descending : bool, default False
        The greatest key, or NaN, comes first. Equal keys keep their order all the same.
    space : str or ExecutionSpace, optional
        Where to run; as for `parallel_for` if not given.

    Raises
    ------
    ViewError, DTypeError, TypeError, SpaceAccessError
        As `sort`; also if extents differ or two of the Views overlap.

    Notes
    -----
    Does not block where the space is asynchronous. Needs memory for two permutations, and for a
    copy of one View at a time. Kokkos:
    https://kokkos.org/kokkos-core-wiki/API/algorithms/Sort.html

    Examples
    --------
    >>> import execspace as es
    >>> keys, names = np.array([2, 0, 1]), np.array([20, 0, 10])
    >>> es.sort_by_key(keys, names, space="serial")
    >>> names
    array([ 0, 10, 20])
    """
    descending = flag(descending, "descending", "sort_by_key", ViewError)
    order = _comparator(less, "sort_by_key")
    where = choose_space(space, _rows(order, keys, *values), "sort_by_key")
    named = {f"value_{k}": value for k, value in enumerate(values)}
    by_extents("sort_by_key", partial(_sorted_rows, order, descending, where), keys=keys, **named)


def _rows(less: Any, keys: Any, *values: Any) -> list[View]:
    """Keys, and what has a row for each of them."""
    source = _keys(keys, "sort_by_key", "keys", less, writable=True)
    moved = [source]
    for k, value in enumerate(values):
        role = f"value {k}"
        view = argument(value, "sort_by_key", role, writable=True, numbers=False)
        if view.shape[0] != source.shape[0]:
            raise ViewError(
                f"sort_by_key: View '{view.label}' has {view.shape[0]} rows; expected "
                f"{source.shape[0]}, one for each key of View '{source.label}'."
            )
        moved.append(view)
    return moved


def _sorted_rows(
    less: Any, descending: bool, where: ExecutionSpace, *, keys: Any, **values: Any
) -> None:
    moved = _rows(less, keys, *values.values())
    choose_space(where, moved, "sort_by_key")
    check_apart(moved, "sort_by_key")
    if moved[0].size > 1:
        as_one("sort_by_key", partial(_sort_rows, moved, less, descending, where), where)


def _sort_rows(moved: list[View], less: Any, descending: bool, where: ExecutionSpace) -> None:
    """Sort keys, which come first, and the rows of other Views with them."""
    source = moved[0]
    order = scratch(source.size, where.memory_space)
    _order(source, less, descending, order, where)
    for view in moved:
        if isinstance(where, SupportsSort) and view.mapping is None:
            with _library_call("permute", where, view, order):
                where.permute(view, order)
        else:
            gather_rows(view, order, where)


def _order(keys: View, less: Any, descending: bool, out: View, space: ExecutionSpace) -> None:
    if not keys.size:
        return
    if less is not None:
        merge_argsort(keys, descending, out, space, less)
    elif isinstance(space, SupportsSort) and keys.mapping is None and out.mapping is None:
        with _library_call("argsort", space, out, keys):
            space.argsort(keys, descending, out)
    else:
        merge_argsort(keys, descending, out, space)


_NOTHING = nullcontext()


def _library_call(
    name: str, space: ExecutionSpace, written: View, *read: View
) -> AbstractContextManager[None]:
    """Around work that a library does in place of kernels: tools and checks are told of it."""
    told = kernel_events("library", name, space) if dispatch.TOOLS else _NOTHING
    if not pending.watches(space):
        return told
    views = [(written, True), *[(view, False) for view in read]]
    touched = [pending.Touched(f"View '{v.label}',", v, changes) for v, changes in views]
    return _both(pending.work(f"kernel '{name}'", queue_of(space), touched), told)


@contextmanager
def _both(
    outer: AbstractContextManager[None], inner: AbstractContextManager[None]
) -> Iterator[None]:
    with outer, inner:
        yield
