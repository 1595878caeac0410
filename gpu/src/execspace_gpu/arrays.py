"""Launches on CuPy's arrays without Views of them, where their stream is that of the space.

Such work is in order anyway, and freed memory goes to later work of that stream only, so an array
needs neither events nor somebody who keeps it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import cupy

from execspace import ViewType
from execspace.base.errors import ExecspaceError
from execspace.contract.dtypes import dtype_of
from execspace.contract.layout import span

from .interop import view_of_cupy

if TYPE_CHECKING:
    from execspace_compiler.backend import Call

    from .device_space import DeviceSpace

_MOST = 1024  # shapes that are remembered


class ArrayInLaunch:
    """An array as generated code sees a View, for the time of a launch."""

    __slots__ = ("data_ptr", "dtype", "shape", "strides")

    mapping = None
    managed = False

    def __init__(
        self, data_ptr: int, dtype: Any, shape: tuple[int, ...], strides: tuple[int, ...]
    ) -> None:
        self.data_ptr, self.dtype, self.shape, self.strides = data_ptr, dtype, shape, strides

    @property
    def allocation(self) -> ArrayInLaunch:
        """What other Views may share; they are looked at byte by byte."""
        return self

    @property
    def size(self) -> int:
        size = 1
        for n in self.shape:
            size *= n
        return size

    @property
    def nbytes(self) -> int:
        return self.span * int(self.dtype.itemsize)

    @property
    def span(self) -> int:
        return span(self.shape, self.strides)

    @property
    def span_is_contiguous(self) -> bool:
        return self.span == self.size


def launch_of_arrays(
    space: DeviceSpace,
    wanted: list[tuple[int, ViewType]],
    name: str,
    plain: Callable[[], Call],
    usual: Call,
) -> Call:
    """A launch with arrays at the places `wanted`, of these types; NotImplemented for others.

    `plain` makes the launch that takes no notice of other streams; `usual` is that of Views.
    """
    number, stream = space.number, space.stream
    places: list[tuple[int, ViewType, Any, dict[Any, tuple[int, ...]]]] = [
        (n, type, dtype_of(type.dtype), {}) for n, type in wanted
    ]
    current = cupy.cuda.get_current_stream
    direct = None if space.parent is not None else plain()

    def view(array: Any, n: int, type: ViewType) -> Any:
        try:
            made = view_of_cupy(space, array, f"argument {n} of {name}")
        except ExecspaceError:  # which the long way tells of
            return None
        return made if made.type is type else None

    def launch(bounds: tuple[int, ...], args: tuple[Any, ...]) -> Any:
        given: list[Any] = list(args)
        in_order = direct is not None and current().ptr == stream
        for n, type, dtype, known in places:
            array = args[n]
            data = array.data
            if data.device_id != number:
                return NotImplemented
            if in_order and array.dtype is dtype:
                shape, steps = array.shape, array.strides
                strides = known.get((shape, steps))
                if strides is None:
                    made = view(array, n, type)
                    if made is None:
                        return NotImplemented
                    if len(known) >= _MOST:
                        known.clear()
                    strides = known[shape, steps] = made.strides
                address = data.ptr
                if address % dtype.itemsize == 0:
                    given[n] = ArrayInLaunch(address, dtype, shape, strides)
                    continue
            made = view(array, n, type)
            if made is None:
                return NotImplemented
            given[n] = made
            in_order = False  # it has a stream, which the launch of Views looks at
        if not in_order or direct is None:
            return _usual(space, usual, bounds, given, wanted, args, name)
        return direct(bounds, tuple(given))

    return launch


def _usual(
    space: DeviceSpace,
    usual: Call,
    bounds: tuple[int, ...],
    given: list[Any],
    wanted: list[tuple[int, ViewType]],
    args: tuple[Any, ...],
    name: str,
) -> Any:
    """The launch of Views, of all arrays."""
    for n, _ in wanted:
        if type(given[n]) is ArrayInLaunch:
            given[n] = view_of_cupy(space, args[n], f"argument {n} of {name}")
    return usual(bounds, tuple(given))
