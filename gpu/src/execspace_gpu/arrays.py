"""Launches on arrays of CuPy and PyTorch without Views of them, where their stream is the space's.

Such work is in order anyway, and freed memory goes to later work of that stream only, so an array
needs neither events nor somebody who keeps it.
"""

from __future__ import annotations

import sys
import weakref
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import cupy

from execspace import ViewType
from execspace.base.dataclass import dataclass
from execspace.base.errors import ExecspaceError
from execspace.base.free_threading import getter
from execspace.contract.dtypes import dtype_of
from execspace.contract.layout import span

from .interop import view_of_cupy, wrap

if TYPE_CHECKING:
    from execspace_compiler.backend import Call

    from .device_space import DeviceSpace

_MOST = 1024  # arrays that are remembered, of each argument
Form = tuple[Any, Any, Any]  # dtype, shape and strides, as a library has them


class ArrayInLaunch:
    """An array as generated code sees a View, for the time of a launch.

    `form` is what its library said of it.
    """

    __slots__ = ("data_ptr", "dtype", "form", "shape", "strides")

    mapping = None
    managed = False

    def __init__(self, data_ptr: int, dtype: Any, form: Form, strides: tuple[int, ...]) -> None:
        self.data_ptr, self.dtype, self.form, self.strides = data_ptr, dtype, form, strides
        self.shape: tuple[int, ...] = form[1]

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


@dataclass(frozen=True)
class Library:
    """How arrays of a library tell of themselves, fast: expressions of an array `a`.

    Attributes
    ----------
    address : str
    form : str
        A `Form`.
    more : str
        Whether there is more to the array than that.
    stays : bool
        All but its shape stays what it is for as long as an array is there.
    device : callable
        Number of the GPU that an array is on.
    stream : callable
        The driver's handle of the library's current stream on a device.
    view : callable
        A View of an array, from the space, the array and a label.
    """

    address: str
    form: str
    more: str
    stays: bool
    device: Callable[[Any], int]
    stream: Callable[[int], int]
    view: Callable[[Any, Any, str], Any]


_CUPY = Library(
    "a.data.ptr",
    "(a.dtype, a.shape, a.strides)",
    "",
    True,
    lambda a: int(a.data.device_id),
    lambda number: int(cupy.cuda.get_current_stream().ptr),
    view_of_cupy,
)


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

    return Library(
        "a.data_ptr()",
        "(a.dtype, a.shape, a.stride())",
        "a.requires_grad or a.is_conj() or a.is_neg()",
        False,
        lambda a: a.get_device(),
        raw or stream,
        wrap,
    )


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
    places: list[_Place] = []
    for n, kind in enumerate(classes):
        if kind is None:
            continue
        library, type_ = _library_of(kind), types[n]
        if library is None or not isinstance(type_, ViewType):
            return None
        if type_.memory != space.foreign.name:
            return None
        places.append(_Place(space, n, type_, library, f"argument {n} of {name}"))

    def by_views(bounds: tuple[int, ...], args: tuple[Any, ...]) -> Any:
        given: list[Any] = list(args)
        for place in places:
            given[place.number] = place.view(args[place.number])
            if given[place.number] is None:
                return NotImplemented
        return usual(bounds, tuple(given))

    if space.parent is not None:
        return by_views
    streams = {id(p.library): p.library.stream for p in places}
    names = [f"m{n}" if kind is not None else f"args[{n}]" for n, kind in enumerate(classes)]
    lines = ["def launch(bounds, args):"]
    for k, place in enumerate(places):
        n, library = place.number, place.library
        found = [
            *[f"if {library.more}: return by_views(bounds, args)"] * bool(library.more),
            f"address, form = {library.address}, {library.form}",
            f"m{n} = known{k}(address)",
            f"if m{n} is None or m{n}.form != form:",
            f"    m{n} = new{k}(a, int(address), form)",
            f"    if m{n} is None: return NotImplemented",
            *[f"else: again{k}(a, m{n})"] * library.stays,
        ]
        lines.append(f"    a = args[{n}]")
        if library.stays:
            lines += [
                f"    m{n} = seen{k}(id(a))",
                f"    if m{n} is None or m{n}.shape != a.shape:",
            ]
        lines += [f"{'        ' if library.stays else '    '}{line}" for line in found]
    lines += [
        *(f"    if stream{k}({space.number}) != {space.stream}: return by_views(bounds, args)"
          for k in range(len(streams))),
        f"    return direct(bounds, ({', '.join(names)},))",
    ]  # fmt: skip
    scope: dict[str, Any] = {"by_views": by_views, "direct": plain()}
    scope |= {f"stream{k}": stream for k, stream in enumerate(streams.values())}
    scope |= {f"known{k}": getter(place.arrays) for k, place in enumerate(places)}
    scope |= {f"new{k}": place.new for k, place in enumerate(places)}
    scope |= {f"seen{k}": getter(place.seen) for k, place in enumerate(places)}
    scope |= {f"again{k}": place.again for k, place in enumerate(places)}
    exec(compile("\n".join(lines), "<execspace arrays>", "exec"), scope)
    return scope["launch"]  # type: ignore[no-any-return]


class _Place:
    """An argument that is an array, and those that were given for it.

    Attributes
    ----------
    number : int
        Of the argument.
    arrays : dict
        By their address.
    seen : dict
        By their identity, those that came twice, until they are gone.
    """

    def __init__(
        self, space: DeviceSpace, number: int, type: ViewType, library: Library, label: str
    ) -> None:
        self.space, self.number, self.type = space, number, type
        self.library, self.label = library, label
        self.dtype = dtype_of(type.dtype)
        self.arrays: dict[int, ArrayInLaunch] = {}
        self.seen: dict[int, ArrayInLaunch] = {}
        self._strides: dict[Form, tuple[int, ...]] = {}  # in elements
        self._references: dict[int, weakref.ref[Any]] = {}

    def view(self, array: Any) -> Any:
        """A View of an array; None if the kernel was not compiled for such a one."""
        try:
            made = self.library.view(self.space, array, self.label)
        except ExecspaceError:  # which the long way tells of
            return None
        return made if made.type is self.type else None

    def new(self, array: Any, address: int, form: Form) -> ArrayInLaunch | None:
        """An array that was not given before; None as for `view`."""
        if self.library.device(array) != self.space.number or address % self.dtype.itemsize:
            return None
        strides = self._strides.get(form)
        if strides is None:
            made = self.view(array)
            if made is None:
                return None
            if len(self._strides) >= _MOST:
                self._strides.clear()
            strides = self._strides[form] = made.strides
        found = ArrayInLaunch(address, self.dtype, form, strides)
        if len(self.arrays) >= _MOST:
            self.arrays.clear()
        self.arrays[address] = found
        return found

    def again(self, array: Any, known: ArrayInLaunch) -> None:
        """Note an array that lies where one was before; maybe the same, which will come again."""
        number = id(array)
        if number not in self._references:
            if len(self._references) >= _MOST:
                self.seen.clear()
                self._references.clear()
            self._references[number] = weakref.ref(array, partial(self._gone, number))
        self.seen[number] = known

    def _gone(self, number: int, reference: weakref.ref[Any]) -> None:
        if self._references.get(number) is reference:
            del self._references[number]
            self.seen.pop(number, None)
