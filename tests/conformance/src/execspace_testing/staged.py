"""Launches that take NumPy arrays on any space: placed in the space's memory, and brought back.

A kernel on the host works on an array itself. A device cannot reach it, so a program copies its
data to Views of the device. A test that is about something else calls `staged.parallel_for`
instead of `es.parallel_for` and its like, and need not care:

>>> from execspace_testing import staged
>>> staged.parallel_for(es.RangePolicy(3, space=space), kernel, np.zeros(3))

`place` and `fetch` are the same by hand, for Views that live longer than a launch and for those
that a kernel captures.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt

import execspace as es

Array = npt.NDArray[Any]


def reaches_host(space: es.ExecutionSpace) -> bool:
    """Whether kernels of the space work on NumPy arrays themselves."""
    return es.HOST.reachable_from(space)


def place(space: es.ExecutionSpace, array: Any, label: str = "") -> Any:
    """The values of an array in the memory of a space, as a View with the array's strides.

    On a space whose kernels reach host memory this is the array itself.
    """
    array = np.asarray(array)
    if reaches_host(space):
        return array
    view = _like(space, array, label)
    es.deep_copy(view, array)
    return view if array.flags.writeable else view.readonly()


def view_on(space: es.ExecutionSpace, values: Any, label: str = "", dtype: Any = None) -> es.View:
    """A View in the space's own memory with the values of an array, on every space."""
    array = np.asarray(values, dtype)
    made = es.View(array.shape, array.dtype, space=space, label=label)
    es.deep_copy(made, array)
    return made


def _like(space: es.ExecutionSpace, array: Array, label: str) -> es.View:
    def made(layout: Any) -> es.View:
        return es.View(array.shape, array.dtype, space=space, layout=layout, label=label)

    size = array.itemsize
    steps = [s for n, s in zip(array.shape, array.strides, strict=True) if n > 1]
    if array.flags.c_contiguous or 0 in steps or any(s % size for s in steps):
        return made("right")
    if array.flags.f_contiguous:
        return made("left")
    # What has gaps or runs backwards does so on the device as well.
    whole = made(tuple(max(abs(s) // size, 1) for s in array.strides))
    part: es.View = whole[tuple(slice(None, None, -1 if s < 0 else 1) for s in array.strides)]
    return part


def fetch(data: Any) -> Array:
    """The values of a View, wherever it lies, as a new array; blocks until they are there."""
    if isinstance(data, np.ndarray):
        es.fence()
        return data.copy()
    values = np.empty(data.shape, data.dtype)
    es.deep_copy(values, data)
    return values


def seen_from_outside(space: es.ExecutionSpace, view: es.View) -> Array:
    """Elements as they are now: a copy on a queue of its own waits for no other queue."""
    queue = space.instance()
    values = np.empty(view.shape, view.dtype)
    es.deep_copy(values, view, instance=queue)
    queue.fence()
    return values


def _space_of(args: tuple[Any, ...], options: dict[str, Any]) -> es.ExecutionSpace:
    given = options.get("space")
    policies = es.RangePolicy | es.MDRangePolicy | es.TeamPolicy
    if given is None and args and isinstance(args[0], policies):
        given = args[0].space
    if given is None:
        return es.default_space()
    return es.space(given) if isinstance(given, str) else given


def _staged(function: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(function)
    def call(*args: Any, **options: Any) -> Any:
        space = _space_of(args, options)
        if reaches_host(space):
            result = function(*args, **options)
            space.fence()
            return result
        arrays = [a for a in (*args, *options.values()) if isinstance(a, np.ndarray)]
        for a, b in combinations(arrays, 2):
            if a is not b and np.may_share_memory(a, b):
                raise NotImplementedError("arrays that overlap: place one array and take its parts")
        views = {id(a): place(space, a) for a in arrays}
        try:
            return function(
                *(views.get(id(a), a) for a in args),
                **{name: views.get(id(a), a) for name, a in options.items()},
            )
        finally:  # what a kernel stored before its assertion failed counts as well
            space.fence()
            for array in arrays:
                if array.flags.writeable:
                    es.deep_copy(array, views[id(array)])

    return call


parallel_for = _staged(es.parallel_for)
parallel_reduce = _staged(es.parallel_reduce)
parallel_scan = _staged(es.parallel_scan)
sort = _staged(es.sort)
argsort = _staged(es.argsort)
sort_by_key = _staged(es.sort_by_key)
searchsorted = _staged(es.searchsorted)
fill_random = _staged(es.fill_random)
