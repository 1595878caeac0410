"""min_element, max_element, is_sorted, is_partitioned and their siblings: the order of elements.

Source: https://kokkos.org/kokkos-core-wiki/API/algorithms-index.html
"""

from __future__ import annotations

from typing import Any

from ..base.errors import DTypeError
from ..contract.dtypes import int64
from ..contract.space import ExecutionSpace
from ..kernels.language import function
from ..launch.parallel import parallel_for
from ..launch.parallel_reduce import parallel_reduce
from ..policies.range import RangePolicy
from ..reducers.base import Reducer
from ..reducers.builtin import MaxLoc, MinLoc, MinMaxFirstLastLoc, StdIsPartitioned
from ..views.view import View
from .merge_sort import precedes
from .std_arguments import CHUNK, Space, chunks, first_true, function_of, ranges

__all__ = [
    "is_partitioned",
    "is_sorted",
    "is_sorted_until",
    "max_element",
    "min_element",
    "minmax_element",
]


def min_element(
    view: View | Any, less: Any = None, *, space: Space = None, label: str | None = None
) -> int:
    """Position of the least element of a View, of several the first one. Blocks.

    Parameters
    ----------
    view : View or array, rank 1
        Of integers, floats or bools; with `less` of any numbers, or records.
    less : function, optional
        Of two elements: whether the one comes before the other; a strict weak ordering. Without it
        numbers are compared as `es.MinLoc` does: the first NaN, if there is one, is the least
        element, and also the greatest, as in `numpy.argmin` and `numpy.argmax`.
    space : str or ExecutionSpace, optional
        Where to run; as for `parallel_for` if not given.
    label : str, optional
        The name in profiles; that of the algorithm if not given.

    Returns
    -------
    int
        Of an empty View its extent, 0.

    Raises
    ------
    LaunchError, KernelError
        If `less` is no function, or none that kernels can call.
    ViewError, TypeError, SpaceAccessError
        If `view` is no View of rank 1, or the space cannot reach it.
    DTypeError
        If it holds complex numbers and there is no `less`.

    Notes
    -----
    One pass. https://kokkos.org/kokkos-core-wiki/API/algorithms-index.html

    Examples
    --------
    >>> import numpy as np
    >>> import execspace as es
    >>> x = np.array([3, -7, 4, 1])
    >>> es.algorithms.min_element(x, space="oracle")
    1
    >>> es.algorithms.min_element(x, es.function(lambda a, b: abs(a) < abs(b)), space="oracle")
    3
    """
    return _extreme("min_element", view, less, space, label)


def max_element(
    view: View | Any, less: Any = None, *, space: Space = None, label: str | None = None
) -> int:
    """Position of the greatest element of a View, of several the first one. Blocks.

    Parameters, result and errors are those of `min_element`.

    Examples
    --------
    >>> import numpy as np
    >>> import execspace as es
    >>> es.algorithms.max_element(np.array([3, -7, 4, 1]), space="oracle")
    2
    """
    return _extreme("max_element", view, less, space, label)


def _extreme(what: str, view: Any, less: Any, space: Space, label: str | None) -> int:
    least = what == "min_element"
    where, row, f = _ordered(what, view, less, space)
    n = row.shape[0]
    if not n:
        return 0
    name = label or what
    if row.dtype.fields is not None:
        return _best_record(where, row, f, _lesser if least else _greater, name)
    if f is None:
        kind = MinLoc if least else MaxLoc
        policy = RangePolicy(n, space=where)
        return int(parallel_reduce(policy, _placed, row, reducer=kind, label=name).loc)
    later = _lesser if least else _greater
    policy, length = chunks(where, n)
    kernel = _placed if length == 1 else _best_of_part
    args = (row,) if length == 1 else (row, f, later)
    return int(parallel_reduce(policy, kernel, *args, reducer=_Extreme(f, later), label=name))


def minmax_element(
    view: View | Any, less: Any = None, *, space: Space = None, label: str | None = None
) -> tuple[int, int]:
    """Positions of the least and of the greatest element of a View. Blocks.

    Of several least elements it is the first one, of several greatest ones the last one, as in
    C++. So is a NaN: without `less`, the first and the last NaN of floats.

    Parameters and errors are those of `min_element`. One pass.

    Returns
    -------
    tuple of two int
        Of an empty View (0, 0).

    Examples
    --------
    >>> import numpy as np
    >>> import execspace as es
    >>> es.algorithms.minmax_element(np.array([3, 1, 4, 1, 4]), space="oracle")
    (1, 4)
    """
    what = "minmax_element"
    where, row, f = _ordered(what, view, less, space)
    n = row.shape[0]
    if not n:
        return 0, 0
    name = label or what
    if row.dtype.fields is not None:
        first = _best_record(where, row, f, _lesser, name)
        return first, _best_record(where, row, f, _last_greater, name)
    if f is None:
        policy = RangePolicy(n, space=where)
        found = parallel_reduce(policy, _placed, row, reducer=MinMaxFirstLastLoc, label=name)
        return int(found.min_loc), int(found.max_loc)
    both = _Extreme(f, _lesser), _Extreme(f, _last_greater)
    policy, length = chunks(where, n)
    kernel = _placed_twice if length == 1 else _both_of_part
    args = (row,) if length == 1 else (row, f)
    first, last = parallel_reduce(policy, kernel, *args, reducer=both, label=name)
    return int(first), int(last)


def _ordered(what: str, view: Any, less: Any, space: Space) -> tuple[ExecutionSpace, View, Any]:
    f = None if less is None else function_of(less, what, "less", "two elements")
    where, (row,) = ranges(what, space, (view, "view"), records=f is not None)
    if f is None and row.dtype.kind == "c":
        raise DTypeError(
            f"{what}: View '{row.label}' holds {row.dtype.name}, which have no order; expected "
            f"integers, floats or bools. Give less=, such as lambda a, b: abs(a) < abs(b)."
        )
    return where, row, f


_PART = 256  # elements of which a work item takes one


def _best_record(where: ExecutionSpace, row: View, less: Any, later: Any, label: str) -> int:
    """Location of the record that a rule prefers: of parts, then of parts of these, and so on.

    A reducer would hold the record itself, and names of records refer to elements.
    """
    n, places = int(row.shape[0]), None
    while n > 1:
        parts = -(-n // _PART)
        best = View(parts, int64, label=f"locations for {label}", memory=row.memory_space)
        parallel_for(
            RangePolicy(parts, space=where), _best_of_records, row, places, n, less, later, best,
            label=label,
        )  # fmt: skip
        n, places = parts, best
    return 0 if places is None else int(places.to_numpy()[0])


# Whether of two values the later one is taken.


@function
def _lesser(less: Any, x: Any, y: Any) -> Any:
    return bool(less(y, x))


@function
def _greater(less: Any, x: Any, y: Any) -> Any:
    return bool(less(x, y))


@function
def _last_greater(less: Any, x: Any, y: Any) -> Any:
    return not less(y, x)


class _Extreme(Reducer):
    """Location of the value that a rule prefers; -1 is that of none.

    It may join in any order, as locations say which value is the later one.
    """

    identity = (0, -1)

    def __init__(self, less: Any, later: Any) -> None:
        self.less = less
        self.later = later

    def join(self, a: Any, b: Any) -> Any:
        value, at = a
        if b[1] >= 0:
            if at < 0:
                value, at = b
            else:
                turned = b[1] < at
                x, y = (b[0], value) if turned else (value, b[0])
                if self.later(self.less, x, y) != turned:
                    value, at = b
        return value, at

    @staticmethod
    def final(a: Any) -> Any:
        return a[1]


def is_sorted(
    view: View | Any, less: Any = None, *, space: Space = None, label: str | None = None
) -> bool:
    """Whether no element of a View comes before the one in front of it. Blocks.

    Parameters
    ----------
    view : View or array, rank 1
        Of integers, floats or bools; with `less` of any numbers, or records.
    less : function, optional
        Of two elements: whether the one comes before the other. Without it the order is that of
        `sort`: numbers ascend, and NaN is greater than every number.
    space, label : optional
        As of `min_element`.

    Returns
    -------
    bool
        Of an empty View True.

    Raises
    ------
    LaunchError, KernelError, ViewError, TypeError, SpaceAccessError
        As `min_element`.

    Notes
    -----
    Looks at blocks of growing size, and at no more of them once the answer is known.

    Examples
    --------
    >>> import numpy as np
    >>> import execspace as es
    >>> es.algorithms.is_sorted(np.array([1.0, 1.0, 2.0, np.nan]), space="oracle")
    True
    """
    where, row, f = _ordered("is_sorted", view, less, space)
    n = row.shape[0]
    return _sorted_until(where, row, f, label or "is_sorted") == n


def is_sorted_until(
    view: View | Any, less: Any = None, *, space: Space = None, label: str | None = None
) -> int:
    """Position of the first element of a View that comes before the one in front of it. Blocks.

    Parameters, errors and notes are those of `is_sorted`.

    Returns
    -------
    int
        The extent, ``len(view)``, if all are sorted.

    Examples
    --------
    >>> import numpy as np
    >>> import execspace as es
    >>> es.algorithms.is_sorted_until(np.array([1, 3, 5, 4, 2]), space="oracle")
    3
    """
    where, row, f = _ordered("is_sorted_until", view, less, space)
    return _sorted_until(where, row, f, label or "is_sorted_until")


def _sorted_until(where: ExecutionSpace, row: View, f: Any, label: str) -> int:
    n = int(row.shape[0])
    order = precedes if f is None else f
    pairs = max(n - 1, 0)
    found = first_true(where, pairs, label, _descends, row, order)
    return found + 1 if found < pairs else n


def is_partitioned(
    view: View | Any, predicate: Any, *, space: Space = None, label: str | None = None
) -> bool:
    """Whether all elements for which a predicate holds stand before all others. Blocks.

    Parameters
    ----------
    view : View or array, rank 1
        Of any element type, records included.
    predicate : function
        Of an element; compiled as a helper of a kernel.
    space, label : optional
        As of `min_element`.

    Returns
    -------
    bool
        Of an empty View True.

    Raises
    ------
    LaunchError, KernelError, ViewError, TypeError, SpaceAccessError
        As `min_element`.

    Notes
    -----
    One pass.

    Examples
    --------
    >>> import numpy as np
    >>> import execspace as es
    >>> f = es.function(lambda x: x % 2 == 0)
    >>> es.algorithms.is_partitioned(np.array([2, 4, 3, 5]), f, space="oracle")
    True
    """
    what = "is_partitioned"
    p = function_of(predicate, what, "predicate", "an element")
    where, (row,) = ranges(what, space, (view, "view"), records=True)
    policy = RangePolicy(row.shape[0], space=where)
    found = parallel_reduce(policy, _judged, row, p, reducer=StdIsPartitioned, label=label or what)
    return bool(found.max_loc_true < found.min_loc_false)


# -- kernels --------------------------------------------------------------------------------------


def _placed(i: Any, view: Any) -> Any:
    return view[i], i


@function
def _best(i: Any, view: Any, less: Any, later: Any) -> Any:
    n = len(view)
    p = i * CHUNK
    at = p
    value = view[p]
    if p + CHUNK <= n:
        step = CHUNK // 4
        q, r, s = p + step, p + 2 * step, p + 3 * step
        at1, at2, at3 = q, r, s
        v1, v2, v3 = view[q], view[r], view[s]
        for k in range(1, step):
            w, w1, w2, w3 = view[p + k], view[q + k], view[r + k], view[s + k]
            if later(less, value, w):
                value, at = w, p + k
            if later(less, v1, w1):
                v1, at1 = w1, q + k
            if later(less, v2, w2):
                v2, at2 = w2, r + k
            if later(less, v3, w3):
                v3, at3 = w3, s + k
        if later(less, value, v1):
            value, at = v1, at1
        if later(less, value, v2):
            value, at = v2, at2
        if later(less, value, v3):
            value, at = v3, at3
    else:
        for k in range(p + 1, n):
            w = view[k]
            if later(less, value, w):
                value, at = w, k
    return value, at


def _best_of_part(i: Any, view: Any, less: Any, later: Any) -> Any:
    return _best(i, view, less, later)


def _both_of_part(i: Any, view: Any, less: Any) -> Any:
    return _best(i, view, less, _lesser), _best(i, view, less, _last_greater)


def _best_of_records(
    i: Any, row: Any, places: Any, n: Any, less: Any, later: Any, best: Any
) -> None:
    at = i * _PART
    found = _place(places, at)
    for k in range(at + 1, min(at + _PART, n)):
        other = _place(places, k)
        if later(less, row[found], row[other]):
            found = other
    best[i] = found


@function
def _place(places: Any, k: Any) -> Any:
    if places is None:
        place = int64(k)
    else:
        place = int64(places[k])
    return place


def _placed_twice(i: Any, view: Any) -> Any:
    return (view[i], i), (view[i], i)


def _descends(i: Any, view: Any, less: Any) -> Any:
    return bool(less(view[i + 1], view[i])), i


def _judged(i: Any, view: Any, predicate: Any) -> Any:
    return bool(predicate(view[i])), i
