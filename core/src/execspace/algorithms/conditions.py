"""all_of, any_of, none_of, count and count_if: what holds for the elements of a View.

Source: https://kokkos.org/kokkos-core-wiki/API/algorithms-index.html
"""

from __future__ import annotations

from typing import Any

from ..contract.space import ExecutionSpace
from ..launch.parallel_reduce import parallel_reduce
from ..policies.range import RangePolicy
from ..views.view import View
from .std_arguments import (
    Space,
    compared,
    function_of,
    is_false,
    is_true,
    is_value,
    ranges,
    some_true,
    whether,
)

__all__ = [
    "all_of",
    "any_of",
    "count",
    "count_if",
    "none_of",
]


def all_of(
    view: View | Any, predicate: Any, *, space: Space = None, label: str | None = None
) -> bool:
    """Whether a predicate holds for all elements of a View. Blocks.

    Parameters
    ----------
    view : View or array, rank 1
        Of any element type, records included.
    predicate : function
        Of an element; compiled as a helper of a kernel.
    space : str or ExecutionSpace, optional
        Where to run; as for `parallel_for` if not given.
    label : str, optional
        The name in profiles; that of the algorithm if not given.

    Returns
    -------
    bool
        Of an empty View True.

    Raises
    ------
    LaunchError, KernelError
        If `predicate` is no function, or none that kernels can call.
    ViewError, TypeError, SpaceAccessError
        If `view` is no View of rank 1, or the space cannot reach it.

    Notes
    -----
    Looks at blocks of growing size, and at no more of them once the answer is known.
    https://kokkos.org/kokkos-core-wiki/API/algorithms-index.html

    Examples
    --------
    >>> import numpy as np
    >>> import execspace as es
    >>> es.algorithms.all_of(np.array([2, 4, 6]), es.function(lambda x: x % 2 == 0), space="oracle")
    True
    """
    return not _some("all_of", view, predicate, is_false, space, label)


def any_of(
    view: View | Any, predicate: Any, *, space: Space = None, label: str | None = None
) -> bool:
    """Whether a predicate holds for at least one element of a View. Blocks.

    Parameters, errors and notes are those of `all_of`; of an empty View the answer is False.

    Examples
    --------
    >>> import numpy as np
    >>> import execspace as es
    >>> es.algorithms.any_of(np.array([2, 4, 6]), es.function(lambda x: x > 5), space="oracle")
    True
    """
    return _some("any_of", view, predicate, is_true, space, label)


def none_of(
    view: View | Any, predicate: Any, *, space: Space = None, label: str | None = None
) -> bool:
    """Whether a predicate holds for no element of a View. Blocks.

    Parameters, errors and notes are those of `all_of`; of an empty View the answer is True.

    Examples
    --------
    >>> import numpy as np
    >>> import execspace as es
    >>> es.algorithms.none_of(np.array([2, 4, 6]), es.function(lambda x: x > 5), space="oracle")
    False
    """
    return not _some("none_of", view, predicate, is_true, space, label)


def _some(what: str, view: Any, predicate: Any, rule: Any, space: Space, label: str | None) -> bool:
    p = function_of(predicate, what, "predicate", "an element")
    where, (row,) = ranges(what, space, (view, "view"), records=True)
    return some_true(where, row.shape[0], label or what, whether, row, rule, p)


def count(view: View | Any, value: Any, *, space: Space = None, label: str | None = None) -> int:
    """How many elements of a View equal a value. Blocks.

    Parameters
    ----------
    view : View or array, rank 1
        Of numbers or bools.
    value : number
        Compared as ``==`` in kernels: zeros of both signs are equal, and NaN equals nothing.
    space, label : optional
        As of `all_of`.

    Returns
    -------
    int

    Raises
    ------
    LaunchError
        If `value` is no number.
    ViewError, TypeError, SpaceAccessError
        As `all_of`.

    Notes
    -----
    One pass. https://kokkos.org/kokkos-core-wiki/API/algorithms-index.html

    Examples
    --------
    >>> import numpy as np
    >>> import execspace as es
    >>> es.algorithms.count(np.array([3, 1, 3]), 3, space="oracle")
    2
    """
    where, (row,) = ranges("count", space, (view, "view"))
    wanted = compared(value, row, "count", "value")
    return _counted(where, row, is_value, wanted, label or "count")


def count_if(
    view: View | Any, predicate: Any, *, space: Space = None, label: str | None = None
) -> int:
    """For how many elements of a View a predicate holds. Blocks.

    Parameters and errors are those of `all_of`. One pass.

    Returns
    -------
    int

    Examples
    --------
    >>> import numpy as np
    >>> import execspace as es
    >>> f = es.function(lambda x: x > 2)
    >>> es.algorithms.count_if(np.array([3, 1, 4, 1, 5]), f, space="oracle")
    3
    """
    p = function_of(predicate, "count_if", "predicate", "an element")
    where, (row,) = ranges("count_if", space, (view, "view"), records=True)
    return _counted(where, row, is_true, p, label or "count_if")


def _counted(where: ExecutionSpace, row: View, rule: Any, given: Any, label: str) -> int:
    policy = RangePolicy(row.shape[0], space=where)
    found: int = parallel_reduce(policy, whether, row, rule, given, label=label)
    return found
