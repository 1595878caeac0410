"""equal, mismatch and lexicographical_compare: two Views, element by element.

Source: https://kokkos.org/kokkos-core-wiki/API/algorithms-index.html
"""

from __future__ import annotations

from typing import Any

from ..launch.parallel_reduce import parallel_reduce
from ..policies.range import RangePolicy
from ..reducers.builtin import LOr
from ..views.view import View
from .merge_sort import precedes
from .std_arguments import Space, first_true, function_of, ranges, same, some_true

__all__ = [
    "equal",
    "lexicographical_compare",
    "mismatch",
]


def equal(
    a: View | Any,
    b: View | Any,
    predicate: Any = None,
    *,
    space: Space = None,
    label: str | None = None,
) -> bool:
    """Whether two Views have the same extent and equal elements. Blocks.

    Parameters
    ----------
    a, b : View or array, rank 1
        Of numbers or bools; of the same element type or of others that can be compared.
    predicate : function, optional
        Of an element of `a` and one of `b`, in the place of ``==``.
    space : str or ExecutionSpace, optional
        Where to run; as for `parallel_for` if not given.
    label : str, optional
        The name in profiles; that of the algorithm if not given.

    Returns
    -------
    bool

    Raises
    ------
    LaunchError, KernelError
        If `predicate` is no function, or none that kernels can call.
    ViewError, TypeError, SpaceAccessError
        If an argument is no View of rank 1, or the space cannot reach it.

    Notes
    -----
    Looks at blocks of growing size, and at no more of them once elements differ. NaN equals
    nothing. https://kokkos.org/kokkos-core-wiki/API/algorithms-index.html

    Examples
    --------
    >>> import numpy as np
    >>> import execspace as es
    >>> es.algorithms.equal(np.array([1, 2, 3]), np.array([1.0, 2.0, 3.0]), space="oracle")
    True
    """
    where, first, second, p = _both("equal", a, b, predicate, space)
    n = first.shape[0]
    if second.shape[0] != n:
        return False
    return not some_true(where, n, label or "equal", _differ, first, second, p)


def mismatch(
    a: View | Any,
    b: View | Any,
    predicate: Any = None,
    *,
    space: Space = None,
    label: str | None = None,
) -> int:
    """First position at which two Views have elements that are not equal. Blocks.

    Parameters, errors and notes are those of `equal`.

    Returns
    -------
    int
        The lesser extent, if there is none. In C++ it is a pair of iterators, both at this place.

    Examples
    --------
    >>> import numpy as np
    >>> import execspace as es
    >>> es.algorithms.mismatch(np.array([1, 2, 3]), np.array([1, 2, 4, 5]), space="oracle")
    2
    """
    where, first, second, p = _both("mismatch", a, b, predicate, space)
    n = min(first.shape[0], second.shape[0])
    return first_true(where, n, label or "mismatch", _where_they_differ, first, second, p)


def lexicographical_compare(
    a: View | Any,
    b: View | Any,
    less: Any = None,
    *,
    space: Space = None,
    label: str | None = None,
) -> bool:
    """Whether a View comes before another one, as words do in a dictionary. Blocks.

    The first elements that differ decide. If there are none, the shorter View comes first.

    Parameters
    ----------
    a, b : View or array, rank 1
        Of integers, floats or bools; with `less` of any numbers.
    less : function, optional
        Of two elements: whether the one comes before the other. Without it the order is that of
        `sort`, in which NaN comes after all numbers and equals itself.
    space, label : optional
        As of `equal`.

    Returns
    -------
    bool

    Raises
    ------
    LaunchError, KernelError, ViewError, TypeError, SpaceAccessError
        As `equal`.

    Examples
    --------
    >>> import numpy as np
    >>> import execspace as es
    >>> a, b = np.array([1, 2, 3]), np.array([1, 3])
    >>> es.algorithms.lexicographical_compare(a, b, space="oracle")
    True
    """
    what = "lexicographical_compare"
    p = precedes if less is None else function_of(less, what, "less", "two elements")
    where, (first, second) = ranges(what, space, (a, "a"), (b, "b"), records=less is not None)
    n, m = first.shape[0], second.shape[0]
    shorter = min(n, m)
    at = first_true(where, shorter, label or what, _where_unordered, first, second, p)
    if at == shorter:
        return n < m
    policy = RangePolicy(at, at + 1, space=where)
    return bool(
        parallel_reduce(policy, _precedes, first, second, p, reducer=LOr, label=label or what)
    )


def _both(what: str, a: Any, b: Any, predicate: Any, space: Space) -> tuple[Any, View, View, Any]:
    p = same if predicate is None else function_of(predicate, what, "predicate", "two elements")
    given = predicate is not None
    where, (first, second) = ranges(what, space, (a, "a"), (b, "b"), records=given)
    return where, first, second, p


# -- kernels --------------------------------------------------------------------------------------


def _differ(i: Any, a: Any, b: Any, predicate: Any) -> Any:
    return not predicate(a[i], b[i])


def _where_they_differ(i: Any, a: Any, b: Any, predicate: Any) -> Any:
    return not predicate(a[i], b[i]), i


def _where_unordered(i: Any, a: Any, b: Any, less: Any) -> Any:
    return bool(less(a[i], b[i]) or less(b[i], a[i])), i


def _precedes(i: Any, a: Any, b: Any, less: Any) -> Any:
    return bool(less(a[i], b[i]))
