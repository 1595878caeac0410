"""Elements of a whole View or a part of it at once: what methods of Views copy, and how.

All of it goes through `deep_copy`, so that memory out of the host's reach takes the same
calls and tools are told.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from ..base.errors import ViewError, ViewTypeError
from ..base.storage_types import store
from ..contract import layout as _layout
from ..contract.memory import HOST
from ..events.recording import by_extents, current, refuse_elements
from .arrays import check_plain, check_range, has_protocol
from .deep_copy import as_number, check_kind, copy_by_any_way, deep_copy, share_elements
from .interop import view_of
from .like import empty_like
from .view import View
from .view_keys import ALL, example_name
from .view_refusals import cannot_store

# Kinds of elements that surely hold a number of a class, told in less time than by `check_kind`.
_TAKEN = {float: "fc", int: "iufc"}


def to_numpy(view: View) -> npt.NDArray[Any]:
    """A new array with the elements; see `View.to_numpy`."""
    refuse_elements(view, "read")
    array = np.empty(view.shape, view.dtype)
    deep_copy(array, view)
    return array


def copied(view: View, label: str | None) -> View:
    """A new View with the elements; see `View.copy`."""
    made = empty_like(view, label=label)
    deep_copy(made, view, instance=view.space)
    return made


def fill(view: View, value: Any) -> None:
    """Set every element to a number; see `View.fill`."""
    if not isinstance(value, int | float | complex | np.generic):
        raise ViewTypeError(
            f"View '{view.label}': fill takes a number, got {type(value).__name__!r}; copy "
            f"elements with {example_name(view)}[...] = ..."
        )
    deep_copy(view, value, instance=view.space)


def assign(view: View, parts: tuple[Any, ...], value: Any) -> None:
    """Store into a part of a View; see `View.__setitem__`."""
    if current() is None:
        _assign(parts, False, view=view, value=value)
        return
    if not isinstance(value, View | int | float | complex | np.generic):
        value = _source(view, value)
    by_extents("deep_copy", partial(_assign, parts, True), view=view, value=value)


def _assign(parts: tuple[Any, ...], recorded: bool, *, view: Any, value: Any) -> None:
    view = view_of(view, label="destination")
    what = f"View '{view.label}': a value"
    at_once = view.memory_space.host_accessible and not recorded
    if at_once and view.memory_space is not HOST and view.space is not None:
        view.space.fence("View[...] =")  # launches come first, as in memory out of reach
    if isinstance(value, int | float | complex | np.generic):
        number = value
        if view.dtype.kind not in _TAKEN.get(type(value), ""):
            number, kind = as_number(value)
            check_kind(kind, view, what)
        if at_once:
            _store(view, parts, number)
        else:
            deep_copy(view._subview(parts), value, instance=view.space)
        return
    source = value if isinstance(value, View) else _source(view, value)
    check_kind(source.dtype, view, what)
    if at_once and source.memory_space.host_accessible:
        array = source._array()
        _store(view, parts, array if source.mapping is None else array[source.offsets()])
        return
    part = view._subview(parts)
    if source.allocation is part.allocation and part != source and share_elements(part, source):
        source = copied(source, None)  # as if all of it were read before any is stored
    copy_by_any_way(part, _broadcast(source, part), instance=view.space)
    if view.space is not None and source.memory_space.host_accessible and not recorded:
        view.space.fence("View[...] =")  # who stores may change the source at once


def _source(view: View, value: Any) -> View:
    """What is stored as a View: lists and such are made an array of."""
    check_plain(value, f"what is stored in View '{view.label}'")
    protocols = ("__dlpack__", "__array_interface__", "__cuda_array_interface__", "__array__")
    if any(has_protocol(value, name) for name in protocols) or isinstance(value, memoryview):
        return view_of(value, label=f"what is stored in View '{view.label}'")
    try:
        array = np.asarray(value, view.dtype if view.dtype.fields is not None else None)
        if array.dtype.kind not in "biufcV":
            raise ViewTypeError("its items are no numbers")
    except (TypeError, ValueError, OverflowError) as error:
        raise cannot_store(view, value, error) from None
    check_range(array, view.dtype, f"View '{view.label}'")
    return view_of(array, label="a list")


def _store(view: View, parts: tuple[Any, ...], value: Any) -> None:
    """Store into memory that the host writes."""
    at: Any = tuple(_host_key(view, part, d) for d, part in enumerate(parts))
    if view.mapping is not None:
        at = (view.offsets()[at],)
    part = view if view.mapping is not None else view._subview(parts)
    part._array(stores=True)  # which raises where the host must not write now
    array = view.memory_space.host_array(view)
    try:
        store(array, at or ..., value, view.dtype)
    except (TypeError, ValueError, OverflowError) as error:
        raise cannot_store(view, value, error) from None


def _host_key(view: View, part: Any, d: int) -> Any:
    """An index of NumPy's for one of a View's."""
    if part is ALL:
        return slice(None)
    if isinstance(part, tuple):
        begin, count = view._pair(part, d)
        return slice(begin, begin + count)
    if isinstance(part, slice):
        view._slice(part, d)  # which raises for what is none
        return part
    return view._index(part, d)


def _broadcast(source: View, target: View) -> View:
    """A View of the shape of the target, in which elements of the source are repeated."""
    if source.shape == target.shape:
        return source
    if source.mapping is not None:
        raise ViewError(
            f"View '{target.label}': View '{source.label}' has layout '{source.layout}', which is "
            f"not repeated along a dimension; copy it into one of layout 'right' first: "
            f"es.array({example_name(source)}, layout='right')."
        )
    while source.rank > target.rank and source.shape[0] == 1:
        source = source._subview((0, *(ALL,) * (source.rank - 1)))
    missing = target.rank - source.rank
    shape = (1,) * missing + source.shape
    fits = missing >= 0 and all(n in (1, m) for n, m in zip(shape, target.shape, strict=True))
    if not fits:
        raise ViewError(
            f"View '{target.label}': what is stored has shape {source.shape}, which does not fit "
            f"into the part of shape {target.shape}."
        )
    strides = (0,) * missing + source.strides
    steps = tuple(
        0 if n == 1 else s for n, s in zip(shape, strides, strict=True)
    )  # fmt: skip
    kind = _layout.classify(target.shape, steps)
    return View._over(
        source.allocation, source.data_ptr, source.dtype, target.shape, steps, kind, True,
        source.space, None, (), (),
    )  # fmt: skip
