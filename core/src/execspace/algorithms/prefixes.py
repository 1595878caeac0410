"""inclusive_scan, exclusive_scan, their transforms and adjacent_difference.

None of them blocks where the space is asynchronous.

Source: https://kokkos.org/kokkos-core-wiki/API/algorithms-index.html
"""

from __future__ import annotations

from functools import partial
from typing import Any

from ..contract.space import ExecutionSpace
from ..events.recording import by_extents, current
from ..kernels.language import function
from ..launch.parallel import parallel_for
from ..launch.parallel_reduce import parallel_scan
from ..policies.range import RangePolicy
from ..reducers.base import Reducer
from ..reducers.builtin import Max, Min
from ..views.kept import kept_view
from ..views.view import View
from .copying import copy_part
from .operators import Joined, operator_of
from .std_arguments import (
    Space,
    check_in_place_or_apart,
    check_number,
    check_room,
    function_of,
    in_place,
    on_device,
    ranges,
    room_for,
)

__all__ = [
    "adjacent_difference",
    "exclusive_scan",
    "inclusive_scan",
    "transform_exclusive_scan",
    "transform_inclusive_scan",
]


def inclusive_scan(
    source: View | Any,
    destination: View | Any,
    op: Any = None,
    init: Any = None,
    *,
    space: Space = None,
    label: str | None = None,
) -> None:
    """Join each element of a View with all before it; their sums if nothing else is said.

    Parameters
    ----------
    source : View or array, rank 1
        Of numbers or bools.
    destination : View or array, rank 1
        With at least as many elements; more are left as they are. It may be `source` itself.
    op : function or reducer, optional
        A function of two values, associative, compiled as a helper of a kernel; or one of
        `es.Sum`, `es.Prod`, `es.Min`, `es.Max`, `es.BAnd` and `es.BOr`, of which sums, products and
        bits are faster than functions. `operator.add`, `numpy.maximum` and their like stand for
        these.
    init : number, optional
        Joined with all elements, from the left.
    space : str or ExecutionSpace, optional
        Where to run; as for `parallel_for` if not given.
    label : str, optional
        The name in profiles; that of the algorithm if not given.

    Raises
    ------
    ViewError
        If an argument is no View of rank 1, or `destination` is too short, read-only, or overlaps
        `source` without being the same elements.
    LaunchError, KernelError
        If `op` is neither a function that kernels can call nor one of these reducers, `init` is no
        number, or results cannot be stored, as complex numbers in a View of floats.
    TypeError, SpaceAccessError
        If an argument is no View or array, or the space cannot reach it.

    Notes
    -----
    Does not block where the space is asynchronous. Sums and products are joined in 64 bits, or in
    float64, and converted when they are stored. A function joins in the type of the elements and
    of what it returns. https://kokkos.org/kokkos-core-wiki/API/algorithms-index.html

    Examples
    --------
    >>> import numpy as np
    >>> import execspace as es
    >>> x, y = np.array([3, 1, 4, 1, 5]), np.zeros(5, int)
    >>> es.algorithms.inclusive_scan(x, y, space="oracle")
    >>> y
    array([ 3,  4,  8,  9, 14])
    >>> es.algorithms.inclusive_scan(x, y, es.Max, space="oracle")
    >>> y
    array([3, 3, 4, 4, 5])
    """
    _scanned("inclusive_scan", source, destination, None, op, init, space, label)


def exclusive_scan(
    source: View | Any,
    destination: View | Any,
    init: Any = 0,
    op: Any = None,
    *,
    space: Space = None,
    label: str | None = None,
) -> None:
    """Join all elements of a View before each one; their sums if nothing else is said.

    Parameters, errors and notes are those of `inclusive_scan`, but `init` is always joined and is
    what the first element becomes. With `op` give one that fits it, such as 1 for products.

    Examples
    --------
    >>> import numpy as np
    >>> import execspace as es
    >>> x, y = np.array([3, 1, 4, 1, 5]), np.zeros(5, int)
    >>> es.algorithms.exclusive_scan(x, y, space="oracle")
    >>> y
    array([0, 3, 4, 8, 9])
    """
    _scanned("exclusive_scan", source, destination, None, op, init, space, label)


def transform_inclusive_scan(
    source: View | Any,
    destination: View | Any,
    op: Any,
    function: Any,
    init: Any = None,
    *,
    space: Space = None,
    label: str | None = None,
) -> None:
    """Join what a function makes of each element of a View and of all before it.

    Parameters, errors and notes are those of `inclusive_scan`; `op` may be None, for sums, and
    `function` is a function of an element.

    Examples
    --------
    >>> import numpy as np
    >>> import execspace as es
    >>> x, y = np.array([1, 2, 3]), np.zeros(3, int)
    >>> f = es.function(lambda v: v * v)
    >>> es.algorithms.transform_inclusive_scan(x, y, None, f, space="oracle")
    >>> y
    array([ 1,  5, 14])
    """
    what = "transform_inclusive_scan"
    f = function_of(function, what, "function", "an element")
    _scanned(what, source, destination, f, op, init, space, label)


def transform_exclusive_scan(
    source: View | Any,
    destination: View | Any,
    init: Any,
    op: Any,
    function: Any,
    *,
    space: Space = None,
    label: str | None = None,
) -> None:
    """Join what a function makes of all elements of a View before each one.

    Parameters, errors and notes are those of `exclusive_scan`; `op` may be None, for sums, and
    `function` is a function of an element.

    Examples
    --------
    >>> import numpy as np
    >>> import execspace as es
    >>> x, y = np.array([1, 2, 3]), np.zeros(3, int)
    >>> f = es.function(lambda v: v * v)
    >>> es.algorithms.transform_exclusive_scan(x, y, 10, None, f, space="oracle")
    >>> y
    array([10, 11, 15])
    """
    what = "transform_exclusive_scan"
    f = function_of(function, what, "function", "an element")
    _scanned(what, source, destination, f, op, init, space, label)


def _scanned(
    what: str,
    source: Any,
    destination: Any,
    f: Any,
    op: Any,
    init: Any,
    space: Space,
    label: str | None,
) -> None:
    reducer, join = operator_of(op, what)
    inclusive = "inclusive" in what
    if init is not None or not inclusive:
        check_number(init, what, "init")
    by_extents(
        what, partial(_scan, what, inclusive, f, reducer, join, init, space, label),
        source=source, destination=destination,
    )  # fmt: skip


def _scan(
    what: str,
    inclusive: bool,
    f: Any,
    reducer: Reducer | None,
    join: Any,
    init: Any,
    space: Space,
    label: str | None,
    *,
    source: Any,
    destination: Any,
) -> None:
    records = ("source",) if f is not None else ()
    where, (a, b) = ranges(
        what, space, (source, "source"), (destination, "destination*"), records=records
    )
    check_room(b, a.shape[0], what)
    check_in_place_or_apart(a, b, what)
    policy = RangePolicy(a.shape[0], space=where)
    kernel: Any
    if isinstance(reducer, Min | Max) and not on_device(where):
        reducer = None  # faster there, with the same results
    if reducer is not None:
        kernel = _inclusive if inclusive else _exclusive
    else:
        kernel = _inclusive_by_function if inclusive else _exclusive_by_function
    _launch(where, policy, kernel, (a, b, f, join, init), reducer, join, label or what)


def _launch(
    where: ExecutionSpace,
    policy: RangePolicy,
    kernel: Any,
    args: tuple[Any, ...],
    reducer: Reducer | None,
    join: Any,
    label: str,
) -> None:
    """A scan whose total nobody wants, and so nobody waits for."""
    joins = Joined(join, total=False) if reducer is None else reducer
    if current() is None and not where.capabilities.asynchronous:
        parallel_scan(policy, kernel, *args, reducer=joins, label=label)
        return
    # A place for the total, of a type that holds any.
    kind = "complex128" if where.capabilities.complex else "float64"
    if reducer is None:
        kind = "bool"
    if current() is None:
        total = kept_view(where, (), kind, "total of a scan", where)
    else:
        total = View((), kind, label=f"total of {label}", space=where)
    parallel_scan(policy, kernel, *args, reducer=joins, label=label, out=total)


def adjacent_difference(
    source: View | Any,
    destination: View | Any,
    op: Any = None,
    *,
    space: Space = None,
    label: str | None = None,
) -> None:
    """Store the difference of each element of a View to the one before it; the first one as it is.

    Parameters
    ----------
    source : View or array, rank 1
        Of numbers or bools.
    destination : View or array, rank 1
        With at least as many elements; more are left as they are. It may be `source` itself.
    op : function, optional
        Of an element and the one before it, in the place of ``-``.
    space, label : optional
        As of `inclusive_scan`.

    Raises
    ------
    ViewError, LaunchError, KernelError, TypeError, SpaceAccessError
        As `inclusive_scan`.

    Notes
    -----
    Does not block where the space is asynchronous. If `destination` is `source` itself it takes
    memory for a copy of it, in its memory space.

    Examples
    --------
    >>> import numpy as np
    >>> import execspace as es
    >>> x, y = np.array([3, 4, 8, 9, 14]), np.zeros(5, int)
    >>> es.algorithms.adjacent_difference(x, y, space="oracle")
    >>> y
    array([3, 1, 4, 1, 5])
    """
    what = "adjacent_difference"
    f = _difference if op is None else function_of(op, what, "op", "two elements")
    by_extents(what, partial(_differences, f, space, label), source=source, destination=destination)


def _differences(f: Any, space: Space, label: str | None, *, source: Any, destination: Any) -> None:
    what = "adjacent_difference"
    where, (a, b) = ranges(what, space, (source, "source"), (destination, "destination*"))
    n = a.shape[0]
    check_room(b, n, what)
    check_in_place_or_apart(a, b, what)
    name = label or what
    if not n:
        return
    if in_place(a, b):
        before = room_for(a, n, what)
        copy_part(where, n, a, 0, before, 0, name)
        a = before
    copy_part(where, 1, a, 0, b, 0, name)
    parallel_for(RangePolicy(1, n, space=where), _differ, a, b, f, label=name)


# -- kernels --------------------------------------------------------------------------------------


@function
def _difference(a: Any, b: Any) -> Any:
    return a - b


def _differ(i: Any, source: Any, destination: Any, f: Any) -> None:
    destination[i] = f(source[i], source[i - 1])


@function
def _made(x: Any, f: Any) -> Any:
    if f is None:
        value = x
    else:
        value = f(x)
    return value


def _inclusive(
    i: Any, prefix: Any, final: Any, source: Any, destination: Any, f: Any, join: Any, init: Any
) -> Any:
    value = _made(source[i], f)
    if final:
        if init is None:
            destination[i] = join(prefix, value)
        else:
            destination[i] = join(init, join(prefix, value))
    return value


def _exclusive(
    i: Any, prefix: Any, final: Any, source: Any, destination: Any, f: Any, join: Any, init: Any
) -> Any:
    value = _made(source[i], f)
    if final:
        destination[i] = join(init, prefix)
    return value


def _inclusive_by_function(
    i: Any, prefix: Any, final: Any, source: Any, destination: Any, f: Any, join: Any, init: Any
) -> Any:
    value = _made(source[i], f)
    if final:
        there, before = prefix
        joined = value
        if there:
            joined = join(before, value)
        if init is None:
            destination[i] = joined
        else:
            destination[i] = join(init, joined)
    return True, value


def _exclusive_by_function(
    i: Any, prefix: Any, final: Any, source: Any, destination: Any, f: Any, join: Any, init: Any
) -> Any:
    value = _made(source[i], f)
    if final:
        there, before = prefix
        if there:
            destination[i] = join(init, before)
        else:
            destination[i] = init
    return True, value
