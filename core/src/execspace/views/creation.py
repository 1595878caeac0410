"""New Views with elements in them, by the names and with the arguments of NumPy's functions.

Sequences and ranges are computed by NumPy, once, on the host, so that each space has the same bits;
what fills a View with one number runs where the View is.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, overload

import numpy as np
import numpy.typing as npt

from ..base.brief import brief
from ..base.errors import ViewError, ViewTypeError
from ..base.flags import flag
from ..base.storage_types import as_stored, format_of, has_integers_only
from ..contract.argtypes import plain_number
from ..contract.dtypes import as_dtype
from ..contract.layout import Layout
from ..contract.memory import HOST, MemorySpace
from ..contract.space import ExecutionSpace
from ..events.recording import at_once
from ..plugins.selection import default_space, resolve
from .arrays import check_extremes, check_plain, check_range
from .deep_copy import check_kind, copy_by_any_way
from .interop import view_of
from .mirrors import shape_of
from .static import static
from .typed import ScalarT
from .view import View

__all__ = [
    "arange",
    "array",
    "asarray",
    "empty",
    "full",
    "linspace",
    "ones",
    "zeros",
]

Shape = int | static | Sequence[int | static]
Space = str | ExecutionSpace | None
Memory = str | MemorySpace | None
Layouts = str | Sequence[int] | Layout | None
# Sources that have no memory of their own, of which NumPy makes an array first.
_MADE_BY_NUMPY = (list, tuple, range, int, float, complex, np.generic)
Typed = type[ScalarT] | np.dtype[ScalarT]


@overload
def array(
    source: View[ScalarT] | npt.NDArray[ScalarT], dtype: None = None, *, space: Space = None,
    memory: Memory = None, layout: Layouts = None, label: str | None = None,
) -> View[ScalarT]: ...  # fmt: skip
@overload
def array(
    source: Any, dtype: Typed[ScalarT], *, space: Space = None, memory: Memory = None,
    layout: Layouts = None, label: str | None = None,
) -> View[ScalarT]: ...  # fmt: skip
@overload
def array(
    source: Any, dtype: npt.DTypeLike | None = None, *, space: Space = None,
    memory: Memory = None, layout: Layouts = None, label: str | None = None,
) -> View[Any]: ...  # fmt: skip
def array(
    source: Any,
    dtype: Any = None,
    *,
    space: Space = None,
    memory: Memory = None,
    layout: Layouts = None,
    label: str | None = None,
) -> View[Any]:
    """A new View with the elements of an array, a View or nested lists: always a copy. Blocks.

    Parameters
    ----------
    source : View, array, sequence or number
        Arrays are those that `view_of` takes; of sequences NumPy makes one.
    dtype : dtype-like, optional
        Element type; that of the source if not given. Kinds are kept: a float does not become an
        integer.
    space, memory, layout
        Where the View is, and in which order, as for `View`; by default the default space's
        choice, whatever the order of the source.
    label : str, optional
        That of a View if not given, else none.

    Raises
    ------
    ViewTypeError, DTypeError, ViewError
        If the source is none of these, means more than its elements (see `view_of`), or has
        elements that no View of that type holds, such as 300 in a list for int8.

    Examples
    --------
    >>> import execspace as es
    >>> es.array([[1.0, 2.0], [3.0, 4.0]], label="m").to_numpy()
    array([[1., 2.],
           [3., 4.]])
    """
    elements = _elements(source, "array", None if dtype is None else as_dtype(dtype))
    kind = elements.dtype if dtype is None else as_dtype(dtype)
    named = source.label if isinstance(source, View) and label is None else label or ""
    shape = shape_of(elements) if isinstance(source, View) else elements.shape
    made = View(
        shape, kind, space=space, memory=memory, layout=layout, label=named, initialize=False
    )
    check_kind(elements.dtype, made, "array: a value")
    with at_once():
        copy_by_any_way(made, elements)
    return made


@overload
def asarray(
    source: View[ScalarT] | npt.NDArray[ScalarT], dtype: None = None, *, space: Space = None,
    label: str | None = None,
) -> View[ScalarT]: ...  # fmt: skip
@overload
def asarray(
    source: Any, dtype: Typed[ScalarT], *, space: Space = None, label: str | None = None
) -> View[ScalarT]: ...
@overload
def asarray(
    source: Any, dtype: npt.DTypeLike | None = None, *, space: Space = None,
    label: str | None = None,
) -> View[Any]: ...  # fmt: skip
def asarray(
    source: Any, dtype: Any = None, *, space: Space = None, label: str | None = None
) -> View[Any]:
    """A View of an array that a space reaches: over its own memory where possible, else a copy.

    Parameters
    ----------
    source, dtype, label
        As for `array`.
    space : str or ExecutionSpace, optional
        Which space is to reach it; the default space if not given.

    Notes
    -----
    Nothing is copied if the space reaches the memory and the dtype is the same: then what kernels
    store is stored in the source. On another space it is not. `array` always copies,
    and `InOut` brings results back. Blocks if it copies.
    """
    kind = None if dtype is None else as_dtype(dtype)
    where = default_space() if space is None else resolve(space)
    if not isinstance(source, _MADE_BY_NUMPY):
        view = view_of(source, label=label or "")
        same = kind is None or kind == view.dtype
        if same and view.memory_space.reachable_from(where):
            return view
    return array(source, kind, space=where, label=label)


def _elements(source: Any, who: str, kind: np.dtype[Any] | None) -> View[Any]:
    """Whatever has elements, as a View; sequences and numbers by way of NumPy."""
    if not isinstance(source, _MADE_BY_NUMPY):
        check_plain(source, who)
        if isinstance(source, np.ndarray):  # what is copied may lie in any way
            native = source.dtype.newbyteorder("=")
            if source.dtype != native or not source.flags.aligned:
                source = source.astype(native)
        return view_of(source, label=f"source of {who}")
    if isinstance(source, int | float | complex) and not isinstance(source, np.generic):
        source = plain_number(source)
    try:
        records = kind if kind is not None and kind.fields is not None else None
        found = np.asarray(source, records)
    except (ValueError, TypeError, OverflowError) as error:
        raise ViewTypeError(f"{who}: NumPy makes no array of it: {error}.") from error
    if not found.size and kind is not None:
        found = found.astype(kind)  # of an empty list NumPy knows no kind
    if kind is not None and found.dtype.kind in "fO" and found.dtype != kind:
        found = _with_large_integers(source, found, kind, who)
    check_plain(found, who)
    if kind is not None:
        check_range(found, kind, who)
    return view_of(found, label=f"source of {who}")


def _with_large_integers(
    source: Any, found: npt.NDArray[Any], kind: np.dtype[Any], who: str
) -> npt.NDArray[Any]:
    """What NumPy has made a float or an object of, since no integer type has all of it: exactly."""
    stored = format_of(kind) is not None
    if not (stored or kind.kind in "iu" or found.dtype == object):
        return found
    given = np.asarray(source, object)
    if not has_integers_only(given):
        return found
    if stored:
        return np.asarray(as_stored(given, kind))
    if kind.kind not in "iu":
        return given.astype(np.float64)
    check_extremes((given.min(), given.max()), kind, who)
    return given.astype(kind)


@overload
def zeros(
    shape: Shape, dtype: Typed[ScalarT], *, space: Space = None, memory: Memory = None,
    layout: Layouts = None, label: str = "",
) -> View[ScalarT]: ...  # fmt: skip
@overload
def zeros(
    shape: Shape, *, space: Space = None, memory: Memory = None, layout: Layouts = None,
    label: str = "",
) -> View[np.float64]: ...  # fmt: skip
@overload
def zeros(
    shape: Shape, dtype: npt.DTypeLike, *, space: Space = None, memory: Memory = None,
    layout: Layouts = None, label: str = "",
) -> View[Any]: ...  # fmt: skip
def zeros(
    shape: Shape, dtype: Any = np.float64, *, space: Space = None, memory: Memory = None,
    layout: Layouts = None, label: str = "",
) -> View[Any]:  # fmt: skip
    """A new View of zeros; parameters and errors are those of `View`."""
    return View(shape, dtype, space=space, memory=memory, layout=layout, label=label)


@overload
def empty(
    shape: Shape, dtype: Typed[ScalarT], *, space: Space = None, memory: Memory = None,
    layout: Layouts = None, label: str = "",
) -> View[ScalarT]: ...  # fmt: skip
@overload
def empty(
    shape: Shape, *, space: Space = None, memory: Memory = None, layout: Layouts = None,
    label: str = "",
) -> View[np.float64]: ...  # fmt: skip
@overload
def empty(
    shape: Shape, dtype: npt.DTypeLike, *, space: Space = None, memory: Memory = None,
    layout: Layouts = None, label: str = "",
) -> View[Any]: ...  # fmt: skip
def empty(
    shape: Shape, dtype: Any = np.float64, *, space: Space = None, memory: Memory = None,
    layout: Layouts = None, label: str = "",
) -> View[Any]:  # fmt: skip
    """A new View whose elements are whatever was in memory, as ``View(initialize=False)``."""
    return View(
        shape, dtype, space=space, memory=memory, layout=layout, label=label, initialize=False
    )


@overload
def ones(
    shape: Shape, dtype: Typed[ScalarT], *, space: Space = None, memory: Memory = None,
    layout: Layouts = None, label: str = "",
) -> View[ScalarT]: ...  # fmt: skip
@overload
def ones(
    shape: Shape, *, space: Space = None, memory: Memory = None, layout: Layouts = None,
    label: str = "",
) -> View[np.float64]: ...  # fmt: skip
@overload
def ones(
    shape: Shape, dtype: npt.DTypeLike, *, space: Space = None, memory: Memory = None,
    layout: Layouts = None, label: str = "",
) -> View[Any]: ...  # fmt: skip
def ones(
    shape: Shape, dtype: Any = np.float64, *, space: Space = None, memory: Memory = None,
    layout: Layouts = None, label: str = "",
) -> View[Any]:  # fmt: skip
    """A new View of ones; see `full`."""
    one = np.ones((), as_dtype(dtype))[()]
    return full(shape, one, dtype, space=space, memory=memory, layout=layout, label=label)


@overload
def full(
    shape: Shape, value: Any, dtype: Typed[ScalarT], *, space: Space = None,
    memory: Memory = None, layout: Layouts = None, label: str = "",
) -> View[ScalarT]: ...  # fmt: skip
@overload
def full(
    shape: Shape, value: Any, dtype: npt.DTypeLike | None = None, *, space: Space = None,
    memory: Memory = None, layout: Layouts = None, label: str = "",
) -> View[Any]: ...  # fmt: skip
def full(
    shape: Shape, value: Any, dtype: Any = None, *, space: Space = None, memory: Memory = None,
    layout: Layouts = None, label: str = "",
) -> View[Any]:  # fmt: skip
    """A new View in which each element is a number.

    Parameters
    ----------
    shape, space, memory, layout, label
        As for `View`.
    value : number
    dtype : dtype-like, optional
        Element type; that of NumPy for the number if not given: int64 for 1, float64 for 1.0.

    Notes
    -----
    In order with launches on the space, as `View.fill` is; in memory that the host reaches it is
    done when this returns.
    """
    if not isinstance(value, int | float | complex | np.generic):
        raise ViewTypeError(
            f"full: expected a number to fill with, got {type(value).__name__!r}; elements of an "
            f"array are copied by es.array."
        )
    number = value if isinstance(value, np.generic) else plain_number(value)
    kind = np.asarray(number).dtype if dtype is None else dtype
    made = empty(shape, kind, space=space, memory=memory, layout=layout, label=label)
    filled(made, value)
    return made


def filled(made: View[Any], value: Any) -> None:
    """Fill a new View, which the host may read at once if it reaches the memory."""
    with at_once():
        made.fill(value)
        memory = made.memory_space
        if memory is not HOST and memory.host_accessible and made.space is not None:
            made.space.fence("es.full")


def arange(
    start: Any,
    stop: Any = None,
    step: Any = 1,
    dtype: npt.DTypeLike | None = None,
    *,
    space: Space = None,
    memory: Memory = None,
    label: str = "",
) -> View[Any]:
    """A new View of evenly spaced numbers from `start` to below `stop`, as `numpy.arange`.

    Parameters
    ----------
    start, stop, step : number
        One number alone is `stop`; then `start` is 0.
    dtype, space, memory, label
        As for `array`; by default int64 for integers and float64 for floats.

    Notes
    -----
    https://numpy.org/doc/stable/reference/generated/numpy.arange.html. Blocks.
    """
    kind: Any = None if dtype is None else as_dtype(dtype)
    first, end = (0, start) if stop is None else (start, stop)
    try:
        found = np.arange(first, end, step, dtype=_computed_in(kind))
    except (ValueError, TypeError, ZeroDivisionError, OverflowError) as error:
        raise ViewError(
            f"arange: no numbers from {brief(first)} to {brief(end)} in steps of {brief(step)}: "
            f"{error}."
        ) from error
    return array(found, kind, space=space, memory=memory, label=label)


def linspace(
    start: Any,
    stop: Any,
    num: int = 50,
    endpoint: bool = True,
    dtype: npt.DTypeLike | None = None,
    *,
    space: Space = None,
    memory: Memory = None,
    label: str = "",
) -> View[Any]:
    """A new View of `num` evenly spaced numbers from `start` to `stop`, as `numpy.linspace`.

    Parameters
    ----------
    start, stop : number
    num : int, default 50
    endpoint : bool, default True
        Whether `stop` is the last of them.
    dtype, space, memory, label
        As for `array`; float64, or complex128, if not given.

    Notes
    -----
    https://numpy.org/doc/stable/reference/generated/numpy.linspace.html. Blocks.
    """
    with_stop = flag(endpoint, "endpoint", "linspace", ViewError)
    kind: Any = None if dtype is None else as_dtype(dtype)
    try:
        found = np.linspace(start, stop, num, with_stop, dtype=_computed_in(kind))
    except (ValueError, TypeError, OverflowError) as error:
        raise ViewError(
            f"linspace: no {brief(num)} numbers from {brief(start)} to {brief(stop)}: {error}."
        ) from error
    return array(found, kind, space=space, memory=memory, label=label)


def _computed_in(kind: Any) -> Any:
    """The dtype in which NumPy computes elements; those of storage types are rounded at the end."""
    return np.float64 if kind is not None and format_of(kind) is not None else kind
