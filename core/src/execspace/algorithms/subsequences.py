"""search, search_n, find_end and find_first_of: where a sequence, or one of several values, stands.

Source: https://kokkos.org/kokkos-core-wiki/API/algorithms-index.html
"""

from __future__ import annotations

from typing import Any

from ..views.view import View
from .std_arguments import (
    Space,
    amount,
    check_number,
    compared,
    first_true,
    function_of,
    last_true,
    ranges,
    same,
)

__all__ = [
    "find_end",
    "find_first_of",
    "search",
    "search_n",
]


def search(
    view: View | Any,
    pattern: View | Any,
    predicate: Any = None,
    *,
    space: Space = None,
    label: str | None = None,
) -> int:
    """Position where the elements of a pattern stand in a View for the first time. Blocks.

    Parameters
    ----------
    view, pattern : View or array, rank 1
    predicate : function, optional
        Of an element of `view` and one of `pattern`, in the place of ``==``.
    space : str or ExecutionSpace, optional
        Where to run; as for `parallel_for` if not given.
    label : str, optional
        The name in profiles; that of the algorithm if not given.

    Returns
    -------
    int
        The extent, ``len(view)``, if it stands nowhere; 0 for an empty pattern.

    Raises
    ------
    LaunchError, KernelError
        If `predicate` is no function, or none that kernels can call.
    ViewError, TypeError, SpaceAccessError
        If an argument is no View of rank 1, or the space cannot reach it.

    Notes
    -----
    Each position is compared until the first element that differs, so at most ``n * m``
    elements are compared. https://kokkos.org/kokkos-core-wiki/API/algorithms-index.html

    Examples
    --------
    >>> import numpy as np
    >>> import execspace as es
    >>> text = np.frombuffer(b"to be or not to be", np.uint8)
    >>> es.algorithms.search(text, np.frombuffer(b"be", np.uint8), space="oracle")
    3
    """
    where, row, wanted, p = _both("search", view, pattern, "pattern", predicate, space)
    n, m = row.shape[0], wanted.shape[0]
    places = max(n - m + 1, 0)
    found = first_true(where, places, label or "search", _matches, row, wanted, p)
    return found if found < places else n


def find_end(
    view: View | Any,
    pattern: View | Any,
    predicate: Any = None,
    *,
    space: Space = None,
    label: str | None = None,
) -> int:
    """Position where the elements of a pattern stand in a View for the last time. Blocks.

    Parameters and errors are those of `search`; looks from the end.

    Returns
    -------
    int
        The extent, ``len(view)``, if it stands nowhere, and for an empty pattern.

    Examples
    --------
    >>> import numpy as np
    >>> import execspace as es
    >>> text = np.frombuffer(b"to be or not to be", np.uint8)
    >>> es.algorithms.find_end(text, np.frombuffer(b"be", np.uint8), space="oracle")
    16
    """
    where, row, wanted, p = _both("find_end", view, pattern, "pattern", predicate, space)
    n, m = row.shape[0], wanted.shape[0]
    found = last_true(where, max(n - m + 1, 0), label or "find_end", _matches, row, wanted, p)
    return found if found >= 0 else n


def find_first_of(
    view: View | Any,
    values: View | Any,
    predicate: Any = None,
    *,
    space: Space = None,
    label: str | None = None,
) -> int:
    """Position of the first element of a View that equals one of several values. Blocks.

    Parameters
    ----------
    view, values : View or array, rank 1
    predicate : function, optional
        Of an element of `view` and one of `values`, in the place of ``==``.
    space, label : optional
        As of `search`.

    Returns
    -------
    int
        The extent, ``len(view)``, if there is none.

    Raises
    ------
    LaunchError, KernelError, ViewError, TypeError, SpaceAccessError
        As `search`.

    Notes
    -----
    Compares at most ``n * m`` elements.

    Examples
    --------
    >>> import numpy as np
    >>> import execspace as es
    >>> es.algorithms.find_first_of(np.array([3, 1, 4]), np.array([4, 1]), space="oracle")
    1
    """
    where, row, wanted, p = _both("find_first_of", view, values, "values", predicate, space)
    return first_true(where, row.shape[0], label or "find_first_of", _is_one_of, row, wanted, p)


def search_n(
    view: View | Any,
    n: int,
    value: Any,
    predicate: Any = None,
    *,
    space: Space = None,
    label: str | None = None,
) -> int:
    """Position where `n` elements in a row equal a value for the first time. Blocks.

    Parameters
    ----------
    view : View or array, rank 1
    n : int
        0 or more.
    value : number
    predicate : function, optional
        Of an element and `value`, in the place of ``==``.
    space, label : optional
        As of `search`.

    Returns
    -------
    int
        The extent, ``len(view)``, if there are none; 0 where `n` is 0.

    Raises
    ------
    ViewError
        If `n` is negative or no integer.
    LaunchError, KernelError, TypeError, SpaceAccessError
        As `search`.

    Notes
    -----
    Every row of `n` elements has one whose index is a multiple of `n`, less one. Only those are
    looked at, and around them what equals the value: at most ``3 * len(view)`` elements. There
    are ``len(view) / n`` of them, so for rows that are nearly as long as the View few threads
    have work.

    Examples
    --------
    >>> import numpy as np
    >>> import execspace as es
    >>> es.algorithms.search_n(np.array([7, 0, 7, 7, 7]), 2, 7, space="oracle")
    2
    """
    what = "search_n"
    number = amount(n, what, "n")
    check_number(value, what, "value")
    p = same if predicate is None else function_of(predicate, what, "predicate", "two elements")
    where, (row,) = ranges(what, space, (view, "view"))
    if number == 0:
        return 0
    if predicate is None:
        value = compared(value, row, what, "value")
    extent = row.shape[0]
    places = extent // number
    k = first_true(where, places, label or what, _in_a_row, row, number, value, p)
    if k == places:
        return extent
    # All before it up to the last element that does not belong to its row.
    at = (k + 1) * number - 1
    return last_true(where, at, label or what, _is_another, row, value, p) + 1


def _both(
    what: str, view: Any, other: Any, role: str, predicate: Any, space: Space
) -> tuple[Any, View, View, Any]:
    p = same if predicate is None else function_of(predicate, what, "predicate", "two elements")
    where, (row, wanted) = ranges(
        what, space, (view, "view"), (other, role), records=predicate is not None
    )
    return where, row, wanted, p


# -- kernels --------------------------------------------------------------------------------------


def _matches(i: Any, view: Any, pattern: Any, predicate: Any) -> Any:
    k = 0
    while k < len(pattern) and predicate(view[i + k], pattern[k]):
        k += 1
    return k == len(pattern), i


def _is_one_of(i: Any, view: Any, values: Any, predicate: Any) -> Any:
    k = 0
    while k < len(values) and not predicate(view[i], values[k]):
        k += 1
    return k < len(values), i


def _in_a_row(i: Any, view: Any, n: Any, value: Any, predicate: Any) -> Any:
    at = (i + 1) * n - 1
    length = 0
    if predicate(view[at], value):
        length = 1
        k = at - 1
        while length < n and k >= 0 and predicate(view[k], value):
            length += 1
            k -= 1
        k = at + 1
        while length < n and k < len(view) and predicate(view[k], value):
            length += 1
            k += 1
    return length >= n, i


def _is_another(i: Any, view: Any, value: Any, predicate: Any) -> Any:
    return not predicate(view[i], value), i
