"""View: a labelled, shared-ownership N-d array in some memory space.

A View is a shape, strides and a pointer into an Allocation that it shares with its
subviews. What kernels need of it is precomputed: `type` chooses the compiled plan, and
`descriptor` is the address of a small table (pointer, extents, strides) that kernels read.
"""

from __future__ import annotations

import operator
import sys
from array import array
from collections.abc import Iterator, Sequence
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from . import layout as _layout
from .argtypes import ViewType
from .dtypes import as_dtype, name_of
from .errors import SpaceAccessError, ViewError, ViewIndexError
from .memory import Allocation, ArrayInterface, MemorySpace, track
from .selection import memory_for

if TYPE_CHECKING:
    from .space import ExecutionSpace

MAX_RANK = 8


class _All:
    """`es.ALL`: the whole of a dimension, in subviews."""

    def __repr__(self) -> str:
        return "execspace.ALL"


ALL = _All()


class View:
    """N-dimensional array of one dtype, shared by reference, in a memory space.

    Parameters
    ----------
    shape : int or sequence of int
        Extents; rank 0 to 8.
    dtype : dtype-like, default float64
        Element type; see `execspace.float64` and its siblings.
    label : str
        Name shown in errors and profiles.
    space : str or ExecutionSpace, optional
        Allocate in this space's memory; the default space if not given.
    layout : {"right", "left"}, optional
        Row- or column-major; the space's preference if not given (right on hosts).
    initialize : bool, default True
        Zero the elements; False leaves whatever was in memory.

    Raises
    ------
    DTypeError, ViewError, UnknownSpaceError, SpaceUnavailableError, MemoryError

    Notes
    -----
    Strides and spans count elements, not bytes, as `Kokkos::View` does
    (https://kokkos.org/kokkos-core-wiki/API/core/view/view.html).

    Examples
    --------
    >>> import execspace as es
    >>> A = es.View((2, 3), es.float32, label="A")
    >>> A.shape, A.extent(1), A.layout
    ((2, 3), 3, 'right')
    """

    __slots__ = (
        "__weakref__", "_host", "_table", "allocation", "data_ptr", "descriptor", "dtype",
        "layout", "readonly", "shape", "space", "strides", "type",
    )  # fmt: skip

    allocation: Allocation
    data_ptr: int
    descriptor: int
    dtype: np.dtype[Any]
    layout: str
    readonly: bool
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    space: ExecutionSpace | None
    type: ViewType

    def __init__(
        self,
        shape: int | Sequence[int],
        dtype: npt.DTypeLike = np.float64,
        *,
        label: str = "",
        space: str | ExecutionSpace | None = None,
        layout: str | None = None,
        initialize: bool = True,
    ) -> None:
        extents = _extents(shape, label)
        kind = as_dtype(dtype)
        memory, owner, preferred = memory_for(space)
        if layout is None:
            layout = preferred
        elif layout not in (_layout.LEFT, _layout.RIGHT):
            raise ViewError(
                f"View '{label}': layout {layout!r} cannot be allocated; expected 'left' or "
                f"'right' (strided Views come from subviews and es.view_of)."
            )
        strides = (_layout.left_strides if layout == "left" else _layout.right_strides)(extents)
        nbytes = prod(extents) * kind.itemsize
        allocation = memory.allocate(nbytes, label, initialize)
        track(allocation)
        self._set(allocation, allocation.pointer, kind, extents, strides, layout, False, owner)

    def _set(
        self,
        allocation: Allocation,
        pointer: int,
        dtype: np.dtype[Any],
        shape: tuple[int, ...],
        strides: tuple[int, ...],
        layout: str,
        readonly: bool,
        space: ExecutionSpace | None,
    ) -> None:
        self.allocation = allocation
        self.data_ptr = pointer
        self.dtype = dtype
        self.shape = shape
        self.strides = strides
        self.layout = layout
        self.readonly = readonly
        self.space = space
        self._host: npt.NDArray[Any] | None = None
        unit = _layout.unit_dimension(layout, strides)
        memory = allocation.memory_space.name
        self.type = ViewType(name_of(dtype), len(shape), layout, unit, readonly, memory)
        self._table = array("q", (pointer, *shape, *strides))
        self.descriptor = self._table.buffer_info()[0]

    @classmethod
    def _over(cls, *args: Any) -> View:
        view = object.__new__(cls)
        view._set(*args)
        return view

    # -- what it is ---------------------------------------------------------------------

    @property
    def label(self) -> str:
        """Name given at allocation; subviews share it."""
        return self.allocation.label

    @property
    def memory_space(self) -> MemorySpace:
        """The memory space that holds the elements."""
        return self.allocation.memory_space

    @property
    def rank(self) -> int:
        """Number of dimensions."""
        return len(self.shape)

    ndim = rank

    @property
    def size(self) -> int:
        """Number of elements: the product of the extents."""
        return prod(self.shape)

    @property
    def nbytes(self) -> int:
        """Bytes of all elements, gaps between them not counted."""
        return self.size * self.dtype.itemsize

    @property
    def span(self) -> int:
        """Elements between the first and the last reachable one, gaps included."""
        return _layout.span(self.shape, self.strides)

    @property
    def span_is_contiguous(self) -> bool:
        """Whether the elements fill their span without gaps."""
        return self.span == self.size

    @property
    def use_count(self) -> int:
        """Number of Views that share the allocation."""
        return sys.getrefcount(self.allocation) - _unshared_count()

    def extent(self, d: int) -> int:
        """Extent of dimension `d`; 1 for `d` beyond the rank, as in Kokkos."""
        return self.shape[d] if d < len(self.shape) else 1

    def stride(self, d: int) -> int:
        """Distance in elements between neighbours in dimension `d`."""
        return self.strides[d]

    def __repr__(self) -> str:
        return (
            f"<View '{self.label}' {name_of(self.dtype)} {self.shape} "
            f"layout={self.layout} memory={self.memory_space.name}>"
        )

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError(f"View '{self.label}' has rank 0 and so no length.")
        return self.shape[0]

    # -- subviews -----------------------------------------------------------------------

    def _subview(self, key: tuple[Any, ...]) -> View:
        pointer, shape, strides = self.data_ptr, [], []
        size = self.dtype.itemsize
        for d, (part, n, s) in enumerate(zip(key, self.shape, self.strides, strict=True)):
            if part is ALL:
                start, count, step = 0, n, 1
            elif isinstance(part, slice):
                start, stop, step = part.indices(n)
                count = len(range(start, stop, step))
            elif isinstance(part, tuple):
                start, count, step = *self._pair(part, d), 1
            else:
                pointer += self._index(part, d) * s * size
                continue
            if count:
                pointer += start * s * size
            shape.append(count)
            strides.append(s * step)
        kind = _layout.classify(shape, strides, prefer=self.layout)
        return View._over(
            self.allocation, pointer, self.dtype, tuple(shape), tuple(strides), kind,
            self.readonly, self.space,
        )  # fmt: skip

    def _pair(self, part: tuple[Any, ...], d: int) -> tuple[int, int]:
        try:
            begin, end = (operator.index(p) for p in part)
        except (TypeError, ValueError):
            raise ViewError(
                f"View '{self.label}': {part!r} is no range of dimension {d}; "
                f"expected a pair of integers (begin, end)."
            ) from None
        if not 0 <= begin <= end <= self.shape[d]:
            raise ViewIndexError(
                f"View '{self.label}': range ({begin}, {end}) does not lie within dimension "
                f"{d} of extent {self.shape[d]}."
            )
        return begin, end - begin

    def _index(self, part: Any, d: int) -> int:
        try:
            i = operator.index(part)
        except TypeError:
            raise ViewError(
                f"View '{self.label}': cannot index dimension {d} with {part!r}; expected an "
                f"integer, a slice or es.ALL (es.subview also takes a pair)."
            ) from None
        n = self.shape[d]
        if not -n <= i < n:
            raise ViewIndexError(
                f"View '{self.label}': index {i} is out of bounds for dimension {d} of extent {n}."
            )
        return i + n if i < 0 else i

    def _key(self, key: Any) -> tuple[Any, ...]:
        parts = key if isinstance(key, tuple) else (key,)
        rank = len(self.shape)
        dots = [d for d, part in enumerate(parts) if part is Ellipsis]
        if len(dots) == 1 and len(parts) - 1 <= rank:
            fill = (ALL,) * (rank - len(parts) + 1)
            parts = parts[: dots[0]] + fill + parts[dots[0] + 1 :]
        if len(parts) != rank:
            hint = ", ".join([*map(_part_text, parts), *[":"] * (rank - len(parts))])
            name = self.label if self.label.isidentifier() else "A"
            more = f" For a subview write {name}[{hint}]." if len(parts) < rank else ""
            raise ViewError(
                f"View '{self.label}' has rank {rank}; expected {rank} "
                f"{'index' if rank == 1 else 'indices'}, got "
                f"{len(parts)}.{more}"
            )
        return parts

    # -- host access --------------------------------------------------------------------

    def _array(self) -> npt.NDArray[Any]:
        if self._host is None:
            memory = self.memory_space
            if not memory.host_accessible:
                raise SpaceAccessError(
                    f"View '{self.label}' is in memory space '{memory.name}', which the host "
                    f"cannot read; copy it with es.deep_copy into a View of space='serial'."
                )
            self._host = memory.host_array(self)
        return self._host

    def __getitem__(self, key: Any) -> Any:
        """Element (all indices integers; host-accessible memory only) or subview."""
        parts = self._key(key)
        for part in parts:
            if isinstance(part, slice | _All | tuple):
                return self._subview(parts)
        at = tuple(self._index(p, d) for d, p in enumerate(parts))
        array = self._array()
        if self.dtype.fields is not None:  # a record whose fields are attributes: p[i].x
            array = array.view(np.dtype((np.record, self.dtype)))
        return array[at]

    def __setitem__(self, key: Any, value: Any) -> None:
        """Store into an element or a subview, from the host."""
        if self.readonly:
            raise ViewError(f"View '{self.label}' is read-only.")
        parts = self._key(key)
        at = tuple(
            slice(None) if p is ALL else p if isinstance(p, slice) else self._index(p, d)
            for d, p in enumerate(parts)
        )
        self._array()[at] = np.asarray(value) if isinstance(value, View) else value

    def __iter__(self) -> Iterator[Any]:
        if len(self.shape) != 1:
            raise ViewError(f"View '{self.label}' has rank {self.rank}; only rank 1 iterates.")
        return iter(self._array())

    def __array__(
        self, dtype: npt.DTypeLike | None = None, copy: bool | None = None
    ) -> npt.NDArray[Any]:
        """NumPy array over the same memory; never a hidden copy.

        Raises
        ------
        SpaceAccessError
            If the host cannot read the memory.
        """
        self._array()
        shared = np.asarray(ArrayInterface(self, self))
        if dtype is not None and np.dtype(dtype) != self.dtype:
            if copy is False:
                raise ValueError(f"View '{self.label}': a change of dtype needs a copy.")
            return shared.astype(dtype)
        return shared.copy() if copy else shared


def subview(view: View, *parts: Any) -> View:
    """Part of a View that shares its memory.

    Parameters
    ----------
    view : View
    *parts : int, (begin, end), slice or es.ALL
        One for each dimension; an integer drops its dimension.

    Examples
    --------
    >>> import execspace as es
    >>> A = es.View((4, 5, 6))
    >>> es.subview(A, es.ALL, 3, (2, 5)).shape
    (4, 3)
    """
    return view._subview(view._key(parts))


def view_of(source: Any, *, label: str = "") -> View:
    """Wrap an array of another library without a copy.

    Parameters
    ----------
    source : View, numpy.ndarray, or an object with DLPack (CPU), ``__array_interface__``
        or the buffer protocol
        The View keeps it alive.
    label : str

    Raises
    ------
    TypeError
        If `source` is none of these.
    ViewError
        If its elements are not aligned, not in native byte order, or of too high a rank.
    """
    if isinstance(source, View):
        return source
    data = source
    if not isinstance(data, np.ndarray):
        try:
            if hasattr(data, "__array_interface__"):
                data = np.asarray(data)
            elif hasattr(data, "__dlpack__"):
                data = np.from_dlpack(data)
            else:
                data = np.asarray(memoryview(data))
        except (TypeError, BufferError, RuntimeError) as error:
            raise TypeError(
                f"Cannot make a View of {type(source).__name__!r}: {error}. Expected a NumPy "
                f"array, a CPU DLPack tensor, or an object with the buffer protocol."
            ) from None
    from .memory import HOST

    kind = as_dtype(data.dtype)
    size = kind.itemsize
    if (
        data.dtype != kind
        or data.ctypes.data % kind.alignment
        or any(s % size for s in data.strides)
    ):
        raise ViewError(
            f"Cannot make a View '{label}' of an array of dtype {data.dtype.str} with strides "
            f"{data.strides}: elements must be aligned and in native byte order. Copy it first."
        )
    if data.ndim > MAX_RANK:
        raise ViewError(f"View '{label}': rank {data.ndim} exceeds {MAX_RANK}.")
    strides = tuple(s // size for s in data.strides)
    allocation = Allocation(data.ctypes.data, data.nbytes, label, HOST, data, managed=False)
    kind_of = _layout.classify(data.shape, strides)
    readonly = not data.flags.writeable
    return View._over(
        allocation, allocation.pointer, kind, data.shape, strides, kind_of, readonly, None
    )


def _part_text(part: Any) -> str:
    """An index as a user would write it."""
    if isinstance(part, slice):
        ends = ["" if e is None else str(e) for e in (part.start, part.stop, part.step)]
        return ":".join(ends if part.step is not None else ends[:2])
    return ":" if part is ALL else "..." if part is Ellipsis else str(part)


def _extents(shape: int | Sequence[int], label: str) -> tuple[int, ...]:
    try:
        parts = (operator.index(shape),)  # type: ignore[arg-type]
    except TypeError:
        parts = shape  # type: ignore[assignment]
    try:
        extents = tuple(operator.index(n) for n in parts)
    except TypeError:
        raise ViewError(
            f"View '{label}': shape {shape!r} is not valid; expected an integer or a sequence "
            f"of integers."
        ) from None
    if any(n < 0 for n in extents):
        raise ViewError(f"View '{label}': shape {extents} has a negative extent.")
    if len(extents) > MAX_RANK:
        raise ViewError(f"View '{label}': rank {len(extents)} exceeds {MAX_RANK}.")
    if prod(extents) >= 2**62:
        raise ViewError(f"View '{label}': shape {extents} exceeds the address space.")
    return extents


_unshared: int | None = None


def _unshared_count() -> int:
    # How many references getrefcount sees beside those of Views depends on the interpreter,
    # so it is measured once, on a View that nothing shares.
    global _unshared
    if _unshared is None:
        lone = view_of(np.zeros(1))
        _unshared = 0
        _unshared = lone.use_count - 1
    return _unshared
