"""Launches on arrays of CuPy and PyTorch without Views of them, where their stream is the space's.

Such work is in order anyway, and freed memory goes to later work of that stream only, so an array
needs neither events nor somebody who keeps it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import cupy

from execspace import ViewType
from execspace.base.dataclass import dataclass
from execspace.base.errors import ExecspaceError
from execspace.contract.dtypes import dtype_of
from execspace.contract.layout import span

from .interop import view_of_cupy, wrap

if TYPE_CHECKING:
    from execspace_compiler.backend import Call

    from .device_space import DeviceSpace

_MOST = 1024  # forms of arrays that are remembered


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


Form = tuple[Any, Any, Any]


@dataclass(frozen=True)
class Library:
    """How arrays of a library tell of themselves, fast.

    Attributes
    ----------
    form : callable
        What their type follows from: dtype, shape and strides; None for an array with more to it.
    address : callable
    device : callable
        Number of the GPU that they are on.
    stream : callable
        The driver's handle of the library's current stream on a device.
    view : callable
        A View of an array, from the space, the array and a label.
    """

    form: Callable[[Any], Form | None]
    address: Callable[[Any], int]
    device: Callable[[Any], int]
    stream: Callable[[int], int]
    view: Callable[[Any, Any, str], Any]


_CUPY = Library(
    lambda a: (a.dtype.char, a.shape, a.strides),
    lambda a: int(a.data.ptr),
    lambda a: int(a.data.device_id),
    lambda number: int(cupy.cuda.get_current_stream().ptr),
    view_of_cupy,
)


def _form_of_tensor(a: Any) -> Form | None:
    if a.requires_grad or a.is_conj() or a.is_neg():
        return None
    return a.dtype, a.shape, a.stride()


def _library_of(kind: type) -> Library | None:
    """The library of a class of arrays; None for others than these very classes."""
    if kind is cupy.ndarray:
        return _CUPY
    torch = sys.modules.get("torch")
    if torch is None or kind is not torch.Tensor:
        return None
    raw = getattr(torch._C, "_cuda_getCurrentRawStream", None)

    def stream(number: int) -> int:
        return int(torch.cuda.current_stream(number).cuda_stream)

    return Library(_form_of_tensor, kind.data_ptr, lambda a: a.get_device(), raw or stream, wrap)


def launch_of_arrays(
    space: DeviceSpace,
    classes: tuple[type | None, ...],
    types: tuple[Any, ...],
    name: str,
    plain: Callable[[], Call],
    usual: Call,
) -> Call | None:
    """A launch with arrays of these classes, for which a kernel was compiled with these types;
    None if it takes no such arrays. It returns NotImplemented where types differ.

    `plain` makes the launch that takes no notice of other streams; `usual` is that of Views.
    """
    places: list[tuple[int, ViewType, Library, Any, dict[Any, tuple[int, ...]]]] = []
    for n, kind in enumerate(classes):
        if kind is None:
            continue
        library, type_ = _library_of(kind), types[n]
        if library is None or not isinstance(type_, ViewType):
            return None
        if type_.memory != space.foreign.name:
            return None
        places.append((n, type_, library, dtype_of(type_.dtype), {}))
    number, own = space.number, space.stream
    streams = tuple({id(p[2]): p[2].stream for p in places}.values())
    direct = None if space.parent is not None else plain()

    def view(array: Any, n: int, type_: ViewType, library: Library) -> Any:
        try:
            made = library.view(space, array, f"argument {n} of {name}")
        except ExecspaceError:  # which the long way tells of
            return None
        return made if made.type is type_ else None

    def by_views(bounds: tuple[int, ...], args: tuple[Any, ...]) -> Any:
        given: list[Any] = list(args)
        for n, type_, library, _, _ in places:
            given[n] = view(args[n], n, type_, library)
            if given[n] is None:
                return NotImplemented
        return usual(bounds, tuple(given))

    def launch(bounds: tuple[int, ...], args: tuple[Any, ...]) -> Any:
        given: list[Any] = list(args)
        for n, type_, library, dtype, known in places:
            array = args[n]
            if library.device(array) != number:
                return NotImplemented
            form = library.form(array)
            if form is None:
                return by_views(bounds, args)
            strides = known.get(form)
            if strides is None:
                made = view(array, n, type_, library)
                if made is None:
                    return NotImplemented
                if len(known) >= _MOST:
                    known.clear()
                strides = known[form] = made.strides
            address = library.address(array)
            if address % dtype.itemsize:
                return NotImplemented
            given[n] = ArrayInLaunch(address, dtype, form[1], strides)
        if direct is None:
            return by_views(bounds, args)
        for current in streams:
            if current(number) != own:
                return by_views(bounds, args)
        return direct(bounds, tuple(given))

    return launch
