"""reduce and transform_reduce: the elements of a View, or of two, joined to one number.

Source: https://kokkos.org/kokkos-core-wiki/API/algorithms-index.html
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from ..base.brief import brief
from ..base.errors import LaunchError, ViewError
from ..contract.space import ExecutionSpace
from ..kernels.language import function
from ..launch.parallel_reduce import parallel_reduce
from ..policies.range import RangePolicy
from ..reducers.base import Reducer
from ..reducers.builtin import BAnd, BOr, Max, Min, Prod, Sum
from ..views.view import View
from .operators import Joined, operator_of
from .std_arguments import (
    CHUNK,
    Space,
    check_number,
    check_room,
    chunks,
    function_of,
    ranges,
    stored,
)

__all__ = [
    "reduce",
    "transform_reduce",
]


def reduce(
    view: View | Any,
    init: Any = None,
    op: Any = None,
    *,
    space: Space = None,
    label: str | None = None,
) -> Any:
    """Join the elements of a View to one number; their sum if nothing else is said. Blocks.

    Parameters
    ----------
    view : View or array, rank 1
        Of numbers or bools.
    init : number, optional
        Joined with the elements: by a reducer after them, on the host, in Python's numbers, so that
        it may be of a wider type than theirs, and integers are exact; by a function in the kernel,
        in whose type of elements an integer must fit.
    op : function or reducer, optional
        A function of two values, associative and commutative, compiled as a helper of a kernel;
        or one of `es.Sum`, `es.Prod`, `es.Min`, `es.Max`, `es.BAnd` and `es.BOr`, which are faster
        than functions. `operator.add`, `numpy.maximum` and their like stand for these.
    space : str or ExecutionSpace, optional
        Where to run; as for `parallel_for` if not given.
    label : str, optional
        The name in profiles; that of the algorithm if not given.

    Returns
    -------
    number
        Reducers join in types of their own: sums of integers have 64 bits, those of floats are of
        float64. A function joins in the type of the elements and of what it returns.

    Raises
    ------
    ViewError
        If `view` is no View of rank 1; or empty, where `op` is a function and there is no `init`.
    LaunchError, KernelError
        If `op` is neither a function that kernels can call nor one of these reducers.
    TypeError, SpaceAccessError
        If `view` is no View or array, or the space cannot reach it.

    Notes
    -----
    One pass. The result of a launch is the same in each run; where elements are joined in which
    order is a definition on hosts, see docs/semantics.md.
    https://kokkos.org/kokkos-core-wiki/API/algorithms-index.html

    Examples
    --------
    >>> import numpy as np
    >>> import execspace as es
    >>> x = np.array([3, 1, 4, 1, 5])
    >>> es.algorithms.reduce(x, space="oracle")
    14
    >>> es.algorithms.reduce(x, 2, es.function(lambda a, b: a * b), space="oracle")
    120
    >>> es.algorithms.reduce(x, op=es.Max, space="oracle")
    5
    """
    where, (row,) = ranges("reduce", space, (view, "view"))
    return _total("reduce", where, row, None, None, init, op, label)


def transform_reduce(
    view: View | Any, *arguments: Any, space: Space = None, label: str | None = None
) -> Any:
    """Join what a function makes of the elements of a View, or of two, to one number. Blocks.

    ``transform_reduce(view, init, op, function)`` joins ``function(view[i])``,
    ``transform_reduce(a, b, init, op, function)`` joins ``function(a[i], b[i])``, and
    ``transform_reduce(a, b, init=0)`` is ``init`` and the inner product, as in C++.

    Parameters
    ----------
    view : View or array, rank 1
        Of numbers or bools. `b` has at least the extent of `a`.
    init : number or None
        Joined with the others, unless it is None.
    op : function, reducer or None
        As of `reduce`; None is the sum.
    function : function
        Of an element, or of one of each View.
    space, label : optional
        As of `reduce`.

    Returns
    -------
    number
        As of `reduce`.

    Raises
    ------
    LaunchError, KernelError
        If the arguments are none of these, or functions are none that kernels can call.
    ViewError, TypeError, SpaceAccessError
        As `reduce`; also if `b` is too short.

    Notes
    -----
    One pass.

    Examples
    --------
    >>> import numpy as np
    >>> import execspace as es
    >>> x, y = np.array([1.0, 2.0, 3.0]), np.array([1.0, 0.0, 2.0])
    >>> es.algorithms.transform_reduce(x, y, space="oracle")
    7.0
    >>> es.algorithms.transform_reduce(x, 0, es.Max, es.function(lambda v: -v), space="oracle")
    0.0
    >>> f = es.function(lambda a, b: abs(a - b))
    >>> es.algorithms.transform_reduce(x, y, 0, es.Sum, f, space="oracle")
    3.0
    """
    what = "transform_reduce"
    two = bool(arguments) and (isinstance(arguments[0], View) or np.ndim(arguments[0]) > 0)
    rest = arguments[1:] if two else arguments
    if len(rest) != 3 and not (two and len(rest) < 2):
        raise LaunchError(
            f"{what}: got {1 + len(arguments)} arguments; expected (view, init, op, function), "
            f"(a, b, init, op, function) or (a, b) with or without init."
        )
    init = rest[0] if rest else 0
    op = rest[1] if len(rest) == 3 else None
    of = "two elements" if two else "an element"
    given = rest[2] if len(rest) == 3 else _product
    function = function_of(given, what, "function", of)
    if not two:
        where, (row,) = ranges(what, space, (view, "view"), records=True)
        return _total(what, where, row, None, function, init, op, label)
    where, (row, other) = ranges(
        what, space, (view, "a"), (arguments[0], "b"), records=len(rest) == 3
    )
    check_room(other, row.shape[0], what)
    return _total(what, where, row, other, function, init, op, label)


def _total(
    what: str,
    where: ExecutionSpace,
    row: View,
    other: View | None,
    function: Any,
    init: Any,
    op: Any,
    label: str | None,
) -> Any:
    reducer, join = operator_of(op, what)
    if init is not None:
        check_number(init, what, "init")
        if reducer is None and function is None and np.dtype(row.dtype).kind in "iu":
            init = _fitting(init, row, what)
    n, name = row.shape[0], label or what
    if reducer is not None:
        policy = RangePolicy(n, space=where)
        found = parallel_reduce(policy, _term, row, other, function, reducer=reducer, label=name)
        total = found.item() if isinstance(found, np.generic) else found
        return total if init is None else _with_init(reducer, init, total, what)
    if not n:
        if init is None:
            raise ViewError(
                f"{what}: View '{row.label}' is empty and there is no init; expected elements, or "
                f"a number for init."
            )
        return init
    policy, length = chunks(where, n)
    kernel = _counted_term if length == 1 else _counted_part
    return parallel_reduce(
        policy, kernel, row, other, function, join, init, reducer=Joined(join), label=name
    )


def _fitting(init: Any, view: View, what: str) -> Any:
    """An integer that a function joins with elements; raises if these are of no such type."""
    if isinstance(init, int) and not isinstance(init, bool):
        stored(init, view, what, "init")
    return init


def _with_init(reducer: Reducer, init: Any, total: Any, what: str) -> Any:
    """What a reducer joins a number with the total to, in Python's numbers."""
    a = init.item() if isinstance(init, np.generic) else init
    if isinstance(a, bool) and not isinstance(total, bool):
        a = int(a)
    allowed, expected = _JOINS_OF.get(type(reducer), (int | float | complex, "a number"))
    if not isinstance(a, allowed):
        raise LaunchError(
            f"{what}: init={brief(init)}; expected {expected}, which es.{type(reducer).__name__} "
            f"joins with elements."
        )
    joined = _PYTHON[type(reducer)](a, total)
    if isinstance(reducer, Min | Max) and isinstance(a + total, float):
        return math.nan if a != a or total != total else float(joined)
    return joined


_REAL = (int | float, "a real number")
_INTEGER = (int, "an integer")
_JOINS_OF: dict[type[Reducer], tuple[Any, str]] = {
    Min: _REAL, Max: _REAL, BAnd: _INTEGER, BOr: _INTEGER,
}  # fmt: skip
_PYTHON: dict[type[Reducer], Callable[[Any, Any], Any]] = {
    Sum: operator.add, Prod: operator.mul, Min: min, Max: max,
    BAnd: operator.and_, BOr: operator.or_,
}  # fmt: skip


# -- kernels --------------------------------------------------------------------------------------


@function
def _product(a: Any, b: Any) -> Any:
    return a * b


@function
def _made(i: Any, a: Any, b: Any, f: Any) -> Any:
    if f is None:
        value = a[i]
    elif b is None:
        value = f(a[i])
    else:
        value = f(a[i], b[i])
    return value


def _term(i: Any, a: Any, b: Any, f: Any) -> Any:
    return _made(i, a, b, f)


def _counted_term(i: Any, a: Any, b: Any, f: Any, join: Any, init: Any) -> Any:
    value = _made(i, a, b, f)
    if init is not None:
        if i == 0:
            value = join(init, value)
    return True, value


def _counted_part(i: Any, a: Any, b: Any, f: Any, join: Any, init: Any) -> Any:
    n = len(a)
    step = CHUNK // 8
    p = i * CHUNK
    value = _made(p, a, b, f)
    if p + CHUNK <= n:
        q, r, s = p + step, p + 2 * step, p + 3 * step
        t, u, v, w = p + 4 * step, p + 5 * step, p + 6 * step, p + 7 * step
        v1, v2, v3 = _made(q, a, b, f), _made(r, a, b, f), _made(s, a, b, f)
        v4, v5, v6 = _made(t, a, b, f), _made(u, a, b, f), _made(v, a, b, f)
        v7 = _made(w, a, b, f)
        for k in range(1, step):
            value = join(value, _made(p + k, a, b, f))
            v1 = join(v1, _made(q + k, a, b, f))
            v2 = join(v2, _made(r + k, a, b, f))
            v3 = join(v3, _made(s + k, a, b, f))
            v4 = join(v4, _made(t + k, a, b, f))
            v5 = join(v5, _made(u + k, a, b, f))
            v6 = join(v6, _made(v + k, a, b, f))
            v7 = join(v7, _made(w + k, a, b, f))
        value = join(join(join(value, v1), join(v2, v3)), join(join(v4, v5), join(v6, v7)))
    else:
        for k in range(p + 1, n):
            value = join(value, _made(k, a, b, f))
    if init is not None:
        if i == 0:
            value = join(init, value)
    return True, value
