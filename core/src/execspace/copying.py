"""deep_copy: the only way by which elements move, so that every copy is one that was asked for."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import profiling
from .argtypes import plain_number
from .errors import SpaceAccessError, ViewError
from .layout import span
from .memory import ArrayInterface
from .parallel import fence
from .view import View, view_of


def deep_copy(dst: View | Any, src: View | Any, /) -> None:
    """Copy elements from `src` to `dst`; any pair of layouts. Blocks.

    Parameters
    ----------
    dst : View or array
        Arrays of other libraries are written in place.
    src : View, array or number
        A number fills `dst`.

    Raises
    ------
    ViewError
        If shapes differ, `dst` is read-only, or the two overlap without being the same.
    TypeError
        If elements of `src` cannot be stored in `dst` without losing their kind (a complex
        into a float, a float into an integer).

    Notes
    -----
    Fences all spaces before and after, as Kokkos' two-argument form does:
    https://kokkos.org/kokkos-core-wiki/API/core/view/deep_copy.html
    """
    target = view_of(dst, label="destination of deep_copy")
    if target.readonly:
        raise ViewError(f"deep_copy: destination View '{target.label}' is read-only.")
    fence("deep_copy: before")
    if isinstance(src, int | float | complex | np.generic):
        number = src if isinstance(src, np.generic) else plain_number(src)
        _check_kind(number.dtype if isinstance(number, np.generic) else type(number), target)
        if profiling.TOOLS:
            profiling.emit("on_copy", _where(target), "number", target.nbytes)
        try:
            target.memory_space.fill(target, number)
        except OverflowError as error:
            raise ViewError(
                f"deep_copy: {src!r} does not fit into View '{target.label}' of dtype "
                f"{target.dtype.name}."
            ) from error
    else:
        source = view_of(src, label="source of deep_copy")
        if not _same(target, source):
            _copy(target, source)
    fence("deep_copy: after")


def _where(view: View) -> str:
    return f"{view.label}@{view.memory_space.name}"


def _check_kind(kind: Any, target: View) -> None:
    weak = {int: "i", float: "f", complex: "c", bool: "b"}.get(kind)
    order = "biufc"
    source = weak or np.dtype(kind).kind
    goal = target.dtype.kind
    if order.index(source) > order.index(goal) and not (source in "iu" and goal in "iu"):
        raise TypeError(
            f"deep_copy: a value of type {np.dtype(kind).name} cannot be stored in View "
            f"'{target.label}' of dtype {target.dtype.name} without loss of kind."
        )


def _same(a: View, b: View) -> bool:
    return (a.data_ptr, a.shape, a.strides, a.dtype) == (b.data_ptr, b.shape, b.strides, b.dtype)


def _extent_of_bytes(view: View) -> tuple[int, int]:
    low = sum((n - 1) * s for n, s in zip(view.shape, view.strides, strict=True) if s < 0)
    start = view.data_ptr + low * view.dtype.itemsize
    return start, start + span(view.shape, view.strides) * view.dtype.itemsize


def _share_elements(a: View, b: View) -> bool:
    # The arrays only describe the memory, which may be out of reach; nothing is read.
    x, y = (np.asarray(ArrayInterface(view, None)) for view in (a, b))
    most: Any = 100_000  # the exact answer may take exponential time for odd strides
    try:
        return bool(np.shares_memory(x, y, max_work=most))
    except np.exceptions.TooHardError:
        return True


def _copy(target: View, source: View) -> None:
    if target.shape != source.shape:
        raise ViewError(
            f"deep_copy: destination View '{target.label}' has shape {target.shape}, source "
            f"View '{source.label}' has {source.shape}; expected the same."
        )
    _check_kind(source.dtype, target)
    if target.memory_space is not source.memory_space:
        raise SpaceAccessError(
            f"deep_copy: no copy from memory space '{source.memory_space.name}' (View "
            f"'{source.label}') to '{target.memory_space.name}' (View '{target.label}')."
        )
    if target.size:
        (a, b), (c, d) = _extent_of_bytes(target), _extent_of_bytes(source)
        if a < d and c < b and _share_elements(target, source):
            raise ViewError(
                f"deep_copy: View '{target.label}' and View '{source.label}' overlap in memory; "
                f"copy through a third View."
            )
    if profiling.TOOLS:
        profiling.emit("on_copy", _where(target), _where(source), target.nbytes)
    target.memory_space.copy(target, source)
