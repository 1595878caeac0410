"""find and its siblings: the position of the first element, or pair, for which something holds.

Source: https://kokkos.org/kokkos-core-wiki/API/algorithms-index.html
"""

from __future__ import annotations

from typing import Any

from ..launch.parallel_reduce import parallel_reduce
from ..policies.range import RangePolicy
from ..reducers.builtin import Max
from ..views.view import View
from .std_arguments import (
    Space,
    compared,
    first_true,
    function_of,
    is_false,
    is_true,
    is_value,
    located,
    ranges,
    same,
)

__all__ = [
    "adjacent_find",
    "find",
    "find_if",
    "find_if_not",
    "partition_point",
]


def find(view: View | Any, value: Any, *, space: Space = None, label: str | None = None) -> int:
    """Position of the first element of a View that equals a value. Blocks.

    Parameters
    ----------
    view : View or array, rank 1
        Of numbers or bools.
    value : number
        Compared as ``==`` in kernels: zeros of both signs are equal, and NaN equals nothing.
    space : str or ExecutionSpace, optional
        Where to run; as for `parallel_for` if not given.
    label : str, optional
        The name in profiles; that of the algorithm if not given.

    Returns
    -------
    int
        The extent, ``len(view)``, if there is none.

    Raises
    ------
    LaunchError
        If `value` is no number.
    ViewError, TypeError, SpaceAccessError
        If `view` is no View of rank 1, or the space cannot reach it.

    Notes
    -----
    Looks at blocks of growing size, and at no more of them once it is found.
    https://kokkos.org/kokkos-core-wiki/API/algorithms-index.html

    Examples
    --------
    >>> import numpy as np
    >>> import execspace as es
    >>> es.algorithms.find(np.array([3, 1, 4, 1]), 1, space="oracle")
    1
    """
    where, (row,) = ranges("find", space, (view, "view"))
    wanted = compared(value, row, "find", "value")
    return first_true(where, row.shape[0], label or "find", located, row, is_value, wanted)


def find_if(
    view: View | Any, predicate: Any, *, space: Space = None, label: str | None = None
) -> int:
    """Position of the first element of a View for which a predicate holds. Blocks.

    Parameters
    ----------
    view : View or array, rank 1
        Of any element type, records included.
    predicate : function
        Of an element; compiled as a helper of a kernel.
    space, label : optional
        As of `find`.

    Returns
    -------
    int
        The extent, ``len(view)``, if there is none.

    Raises
    ------
    LaunchError, KernelError
        If `predicate` is no function, or none that kernels can call.
    ViewError, TypeError, SpaceAccessError
        As `find`.

    Examples
    --------
    >>> import numpy as np
    >>> import execspace as es
    >>> es.algorithms.find_if(np.array([3, 1, 4, 1]), es.function(lambda x: x > 3), space="oracle")
    2
    """
    return _found("find_if", view, predicate, is_true, space, label)


def find_if_not(
    view: View | Any, predicate: Any, *, space: Space = None, label: str | None = None
) -> int:
    """Position of the first element of a View for which a predicate does not hold. Blocks.

    Parameters, result and errors are those of `find_if`.

    Examples
    --------
    >>> import numpy as np
    >>> import execspace as es
    >>> f = es.function(lambda x: x > 2)
    >>> es.algorithms.find_if_not(np.array([3, 1, 4, 1]), f, space="oracle")
    1
    """
    return _found("find_if_not", view, predicate, is_false, space, label)


def _found(what: str, view: Any, predicate: Any, rule: Any, space: Space, label: str | None) -> int:
    p = function_of(predicate, what, "predicate", "an element")
    where, (row,) = ranges(what, space, (view, "view"), records=True)
    return first_true(where, row.shape[0], label or what, located, row, rule, p)


def adjacent_find(
    view: View | Any, predicate: Any = None, *, space: Space = None, label: str | None = None
) -> int:
    """Position of the first element of a View that equals the one after it. Blocks.

    Parameters
    ----------
    view : View or array, rank 1
    predicate : function, optional
        Of an element and the one after it, in the place of ``==``.
    space, label : optional
        As of `find`.

    Returns
    -------
    int
        The extent, ``len(view)``, if there is none.

    Raises
    ------
    LaunchError, KernelError, ViewError, TypeError, SpaceAccessError
        As `find_if`.

    Examples
    --------
    >>> import numpy as np
    >>> import execspace as es
    >>> es.algorithms.adjacent_find(np.array([3, 1, 1, 4]), space="oracle")
    1
    """
    what = "adjacent_find"
    p = same if predicate is None else function_of(predicate, what, "predicate", "two elements")
    where, (row,) = ranges(what, space, (view, "view"), records=predicate is not None)
    n = row.shape[0]
    found = first_true(where, n - 1, label or what, _pair, row, p)
    return found if found < n - 1 else n


def _pair(i: Any, view: Any, predicate: Any) -> Any:
    return bool(predicate(view[i], view[i + 1])), i


def partition_point(
    view: View | Any, predicate: Any, *, space: Space = None, label: str | None = None
) -> int:
    """Position of the first element for which a predicate does not hold, by bisection. Blocks.

    Parameters
    ----------
    view : View or array, rank 1
        Elements for which the predicate holds come first, all others after them, which is not
        checked; see `is_partitioned`.
    predicate : function
        Of an element; compiled as a helper of a kernel.
    space, label : optional
        As of `find`.

    Returns
    -------
    int
        The extent, ``len(view)``, if it holds for all.

    Raises
    ------
    LaunchError, KernelError, ViewError, TypeError, SpaceAccessError
        As `find_if`.

    Notes
    -----
    Reads about ``log2(n)`` elements, one after the other.

    Examples
    --------
    >>> import numpy as np
    >>> import execspace as es
    >>> f = es.function(lambda x: x % 2 == 0)
    >>> es.algorithms.partition_point(np.array([2, 4, 8, 3, 5]), f, space="oracle")
    3
    """
    what = "partition_point"
    p = function_of(predicate, what, "predicate", "an element")
    where, (row,) = ranges(what, space, (view, "view"), records=True)
    found: int = parallel_reduce(
        RangePolicy(1, space=where), _bisected, row, p, reducer=Max, label=label or what
    )
    return found


def _bisected(i: Any, view: Any, predicate: Any) -> Any:
    low = 0
    high = len(view)
    while low < high:
        middle = (low + high) // 2
        if predicate(view[middle]):
            low = middle + 1
        else:
            high = middle
    return low
