"""for_each, fill, generate, transform and their siblings: each element by itself.

None of them blocks where the space is asynchronous.

Source: https://kokkos.org/kokkos-core-wiki/API/algorithms-index.html
"""

from __future__ import annotations

import inspect
from functools import partial
from typing import Any

import numpy as np

from ..base.brief import brief
from ..base.errors import DTypeError, LaunchError
from ..events.recording import by_extents
from ..launch.parallel import parallel_for
from ..policies.range import RangePolicy
from ..views.deep_copy import deep_copy
from ..views.view import View
from .std_arguments import (
    Space,
    check_in_place_or_apart,
    check_room,
    function_of,
    position,
    ranges,
    stored,
)

__all__ = [
    "fill",
    "fill_n",
    "for_each",
    "for_each_n",
    "generate",
    "generate_n",
    "transform",
]


def for_each(
    view: View | Any, function: Any, *, space: Space = None, label: str | None = None
) -> None:
    """Call a function for each element of a View; what it returns takes the element's place.

    In C++ the function gets a reference. Kernels have none for numbers, so it gets the element
    and returns what the element becomes, or nothing, and then the View is only read.

    Parameters
    ----------
    view : View or array, rank 1
        It may be read-only if nothing is stored. Of records the function gets the element itself,
        and may store into its fields.
    function : function
        Of an element; compiled as a helper of a kernel. It may store into Views that it captures.
    space : str or ExecutionSpace, optional
        Where to run; as for `parallel_for` if not given.
    label : str, optional
        The name in profiles; that of the algorithm if not given.

    Raises
    ------
    LaunchError, KernelError
        If `function` is no function, or none that kernels can call; if it returns a number and
        `view` is read-only.
    ViewError, TypeError, SpaceAccessError
        If `view` is no View of rank 1, or the space cannot reach it.

    Notes
    -----
    Does not block where the space is asynchronous. Numbers are converted to the element type as
    kernels do it: floats are truncated to integers.
    https://kokkos.org/kokkos-core-wiki/API/algorithms-index.html

    Examples
    --------
    >>> import numpy as np
    >>> import execspace as es
    >>> x = np.array([1.0, 2.0, 3.0])
    >>> es.algorithms.for_each(x, es.function(lambda v: v * v), space="oracle")
    >>> x
    array([1., 4., 9.])
    """
    _visited("for_each", view, None, function, space, label)


def for_each_n(
    view: View | Any, n: int, function: Any, *, space: Space = None, label: str | None = None
) -> None:
    """Call a function for each of the first `n` elements of a View, as `for_each` does.

    Parameters and errors are those of `for_each`; `n` is an integer from 0 to the extent, else
    ViewError is raised. Does not block where the space is asynchronous.

    Examples
    --------
    >>> import numpy as np
    >>> import execspace as es
    >>> x = np.array([1.0, 2.0, 3.0])
    >>> es.algorithms.for_each_n(x, 2, es.function(lambda v: -v), space="oracle")
    >>> x
    array([-1., -2.,  3.])
    """
    _visited("for_each_n", view, n, function, space, label)


def _visited(what: str, view: Any, n: Any, function: Any, space: Space, label: str | None) -> None:
    f = function_of(function, what, "function", "an element")
    by_extents(what, partial(_visit, what, n, f, space, label), view=view)


def _visit(what: str, n: Any, f: Any, space: Space, label: str | None, *, view: Any) -> None:
    where, (row,) = ranges(what, space, (view, "view"), records=True)
    number = _number(n, row, what)
    parallel_for(RangePolicy(number, space=where), _visit_one, row, f, label=label or what)


def _number(n: Any, view: View, what: str) -> int:
    extent: int = view.shape[0]
    return extent if n is None else position(n, extent, what, "n")


def fill(view: View | Any, value: Any, *, space: Space = None, label: str | None = None) -> None:
    """Store a number into all elements of a View.

    Parameters
    ----------
    view : View or array, rank 1
        Of any element type, records included.
    value : number or record
        A record of the type of the elements, as ``array[0]`` of NumPy.
    space, label : optional
        As of `for_each`.

    Raises
    ------
    DTypeError
        If the View cannot hold the number without losing its kind, as an integer a float.
    LaunchError
        If `value` is no number, or an integer that the element type does not hold.
    ViewError, TypeError, SpaceAccessError
        As `for_each`; also if the View is read-only.

    Notes
    -----
    Does not block where the space is asynchronous.

    Examples
    --------
    >>> import numpy as np
    >>> import execspace as es
    >>> x = np.zeros(3)
    >>> es.algorithms.fill(x, 2, space="oracle")
    >>> x
    array([2., 2., 2.])
    """
    by_extents("fill", partial(_fill, "fill", None, value, space, label), view=view)


def fill_n(
    view: View | Any, n: int, value: Any, *, space: Space = None, label: str | None = None
) -> None:
    """Store a number into the first `n` elements of a View.

    Parameters and errors are those of `fill`; `n` is an integer from 0 to the extent, else
    ViewError is raised. Does not block where the space is asynchronous.

    Examples
    --------
    >>> import numpy as np
    >>> import execspace as es
    >>> x = np.zeros(3)
    >>> es.algorithms.fill_n(x, 2, 5, space="oracle")
    >>> x
    array([5., 5., 0.])
    """
    by_extents("fill_n", partial(_fill, "fill_n", n, value, space, label), view=view)


def _fill(what: str, n: Any, value: Any, space: Space, label: str | None, *, view: Any) -> None:
    where, (row,) = ranges(what, space, (view, "view*"), records=True)
    number = _number(n, row, what)
    if row.dtype.fields is not None:
        deep_copy(row[:number], _record(value, row, what), instance=where)
        return
    given = stored(value, row, what, "value")
    parallel_for(RangePolicy(number, space=where), _store, row, given, label=label or what)


def _record(value: Any, view: View, what: str) -> Any:
    """A record that is stored in all elements."""
    if not isinstance(value, np.void) or value.dtype != np.dtype(view.dtype):
        raise DTypeError(
            f"{what}: value={brief(value)} cannot be stored in View '{view.label}' of records, "
            f"dtype {view.dtype}; expected a record of that type, such as array[0]."
        )
    return value


def generate(
    view: View | Any, function: Any, *, space: Space = None, label: str | None = None
) -> None:
    """Store what a function returns into each element of a View.

    Parameters
    ----------
    view : View or array, rank 1
        Of any element type, records included.
    function : function
        Of nothing, as in C++, or of the index of the element.
    space, label : optional
        As of `for_each`.

    Raises
    ------
    LaunchError, KernelError
        If `function` is no function, takes other arguments, or is none that kernels can call.
    ViewError, TypeError, SpaceAccessError
        As `for_each`; also if the View is read-only.

    Notes
    -----
    Does not block where the space is asynchronous. Calls happen in any order and at the same
    time, so a function cannot count them; it is given the index instead.

    Examples
    --------
    >>> import numpy as np
    >>> import execspace as es
    >>> x = np.zeros(4)
    >>> es.algorithms.generate(x, es.function(lambda i: i * i), space="oracle")
    >>> x
    array([0., 1., 4., 9.])
    """
    _generated("generate", view, None, function, space, label)


def generate_n(
    view: View | Any, n: int, function: Any, *, space: Space = None, label: str | None = None
) -> None:
    """Store what a function returns into each of the first `n` elements of a View.

    Parameters and errors are those of `generate`; `n` is an integer from 0 to the extent, else
    ViewError is raised. Does not block where the space is asynchronous.

    Examples
    --------
    >>> import numpy as np
    >>> import execspace as es
    >>> x = np.zeros(3)
    >>> es.algorithms.generate_n(x, 2, es.function(lambda: 7), space="oracle")
    >>> x
    array([7., 7., 0.])
    """
    _generated("generate_n", view, n, function, space, label)


def _generated(
    what: str, view: Any, n: Any, function: Any, space: Space, label: str | None
) -> None:
    f = function_of(function, what, "function", "the index, or of nothing")
    kernel = _generate_with_index if _takes(f, 1) else _generate
    if kernel is _generate and not _takes(f, 0):
        raise LaunchError(
            f"{what}: function={brief(function)}; expected a function of the index, or of nothing."
        )
    by_extents(what, partial(_generate_all, what, n, kernel, f, space, label), view=view)


def _takes(f: Any, number: int) -> bool:
    try:
        inspect.signature(f).bind(*range(number))
    except (TypeError, ValueError):
        return False
    return True


def _generate_all(
    what: str, n: Any, kernel: Any, f: Any, space: Space, label: str | None, *, view: Any
) -> None:
    where, (row,) = ranges(what, space, (view, "view*"), records=True)
    number = _number(n, row, what)
    parallel_for(RangePolicy(number, space=where), kernel, row, f, label=label or what)


def transform(*arguments: Any, space: Space = None, label: str | None = None) -> None:
    """Store what a function makes of the elements of one View, or of two.

    ``transform(source, destination, function)`` or
    ``transform(source1, source2, destination, function)``, as in C++.

    Parameters
    ----------
    source, source1, source2 : View or array, rank 1
        Of any element type, records included. `source2` has at least the extent of `source1`.
    destination : View or array, rank 1
        With at least as many elements; more are left as they are. It may be a source itself.
    function : function
        Of an element, or of one of each source.
    space, label : optional
        As of `for_each`.

    Raises
    ------
    LaunchError, KernelError
        If there are not three or four arguments, or `function` is none that kernels can call.
    ViewError
        If an extent is too small, `destination` is read-only, or overlaps a source without being
        the same elements.
    TypeError, SpaceAccessError
        As `for_each`.

    Notes
    -----
    Does not block where the space is asynchronous. Numbers are converted to the element type of
    the destination as kernels do it: floats are truncated to integers.

    Examples
    --------
    >>> import numpy as np
    >>> import execspace as es
    >>> a, b, c = np.array([1.0, 2.0]), np.array([3.0, 5.0]), np.zeros(2)
    >>> es.algorithms.transform(a, c, es.function(lambda x: 10 * x), space="oracle")
    >>> c
    array([10., 20.])
    >>> es.algorithms.transform(a, b, c, es.function(lambda x, y: x * y), space="oracle")
    >>> c
    array([ 3., 10.])
    """
    if len(arguments) == 3:
        source, destination, function = arguments
        f = function_of(function, "transform", "function", "an element")
        by_extents(
            "transform", partial(_transform, f, space, label),
            source=source, destination=destination,
        )  # fmt: skip
        return
    if len(arguments) != 4:
        raise LaunchError(
            f"transform: got {len(arguments)} arguments; expected (source, destination, function) "
            f"or (source1, source2, destination, function)."
        )
    source1, source2, destination, function = arguments
    f = function_of(function, "transform", "function", "two elements")
    by_extents(
        "transform", partial(_transform_both, f, space, label),
        source1=source1, source2=source2, destination=destination,
    )  # fmt: skip


def _transform(f: Any, space: Space, label: str | None, *, source: Any, destination: Any) -> None:
    what = "transform"
    where, (a, c) = ranges(
        what, space, (source, "source"), (destination, "destination*"), records=True
    )
    check_room(c, a.shape[0], what)
    check_in_place_or_apart(a, c, what)
    parallel_for(RangePolicy(a.shape[0], space=where), _apply, a, c, f, label=label or what)


def _transform_both(
    f: Any, space: Space, label: str | None, *, source1: Any, source2: Any, destination: Any
) -> None:
    what = "transform"
    where, (a, b, c) = ranges(
        what,
        space,
        (source1, "source1"),
        (source2, "source2"),
        (destination, "destination*"),
        records=True,
    )
    for view in (b, c):
        check_room(view, a.shape[0], what)
    for view in (a, b):
        check_in_place_or_apart(view, c, what)
    parallel_for(RangePolicy(a.shape[0], space=where), _apply_both, a, b, c, f, label=label or what)


# -- kernels --------------------------------------------------------------------------------------


def _visit_one(i: Any, view: Any, f: Any) -> None:
    result = f(view[i])
    if result is not None:
        view[i] = result


def _store(i: Any, view: Any, value: Any) -> None:
    view[i] = value


def _generate(i: Any, view: Any, f: Any) -> None:
    view[i] = f()


def _generate_with_index(i: Any, view: Any, f: Any) -> None:
    view[i] = f(i)


def _apply(i: Any, source: Any, destination: Any, f: Any) -> None:
    destination[i] = f(source[i])


def _apply_both(i: Any, a: Any, b: Any, destination: Any, f: Any) -> None:
    destination[i] = f(a[i], b[i])
