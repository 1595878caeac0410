"""View: a labelled, shared-ownership N-d array in some memory space.

A View is a shape, strides and a pointer into an Allocation that it shares with its
subviews. What kernels need of it is precomputed: `type` chooses the compiled plan, and
`descriptor` is the address of a small table (pointer, extents, strides) that kernels read.
"""

from __future__ import annotations

import operator
import sys
from collections.abc import Iterator, Sequence
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from ..base import config, pending
from ..base.errors import SpaceAccessError, ViewError, ViewIndexError, ViewTypeError, shown
from ..base.flags import flag
from ..base.readonly import ReadOnly, assign
from ..contract import layout as _layout
from ..contract.dtypes import as_dtype, name_of
from ..contract.memory import HOST, Allocation, MemorySpace, array_over, track
from ..contract.space import ExecutionSpace
from ..plugins.selection import memory_for
from .arrays import check_plain
from .static import static
from .view_keys import (
    ALL,
    MAX_RANK,
    TRAITS,
    All,
    extents_of,
    has_new_axis,
    numpy_has,
    part_text,
    trimmed,
)
from .view_parts import ViewParts
from .view_protocols import GivesArrays

__all__ = [
    "View",
]


class View(ReadOnly, GivesArrays, ViewParts):
    """N-dimensional array of one dtype, shared by reference, in a memory space.

    Parameters
    ----------
    shape : int or sequence of int
        Extents; rank 0 to 8. An extent given as ``es.static(3)`` is part of the View's type:
        kernels are compiled for it.
    dtype : dtype-like, default float64
        Element type; see `execspace.float64` and its siblings.
    label : str
        Name shown in errors and profiles.
    space : str or ExecutionSpace, optional
        Allocate in this space's memory; the default space if not given.
    memory : str or MemorySpace, optional
        Which of the space's memories: the name of a memory space, or a kind: "device" (the
        default), "shared", "pinned" or "host". A MemorySpace, such as `es.HOST`, is taken as it
        is.
    layout : {"right", "left"}, sequence of int, or Layout, optional
        Row- or column-major, strides in elements, or a mapping of one's own; the space's
        preference if not given (right on hosts).
    initialize : bool, default True
        Zero the elements; False leaves whatever was in memory.
    padding : bool, default False
        Begin every row at a multiple of 64 bytes. Rows are then further apart than their length.

    Raises
    ------
    DTypeError, ViewError, UnknownSpaceError, SpaceUnavailableError, SpaceError, MemoryError

    Notes
    -----
    Strides and spans count elements, not bytes, as `Kokkos::View` does
    (https://kokkos.org/kokkos-core-wiki/API/core/view/view.html). The rank is known at run time
    only, so this is `DynRankView`, too.

    Two Views are equal if they are the same part of the same memory: same pointer, extents,
    layout, strides and dtype.

    Examples
    --------
    >>> import execspace as es
    >>> A = es.View((2, 3), es.float32, label="A", layout="right")
    >>> A.shape, A.extent(1), A.strides
    ((2, 3), 3, (3, 1))
    """

    __slots__ = ()
    _fixed = frozenset(ViewParts.__slots__)
    _instead = (
        "es.resize gives a View other extents, es.subview a part of it, readonly() and "
        "with_traits() other properties, and es.View makes a new one"
    )

    def __init__(
        self,
        shape: int | static | Sequence[int | static],
        dtype: npt.DTypeLike = np.float64,
        *,
        label: str = "",
        space: str | ExecutionSpace | None = None,
        memory: str | MemorySpace | None = None,
        layout: str | Sequence[int] | _layout.Layout | None = None,
        initialize: bool = True,
        padding: bool = False,
    ) -> None:
        initialize = flag(initialize, "initialize", f"View '{label}'", ViewError)
        padding = flag(padding, "padding", f"View '{label}'", ViewError)
        extents, fixed = extents_of(shape, label)
        kind = as_dtype(dtype)
        memory_space, owner, preferred = memory_for(space, memory)
        mapping = layout if isinstance(layout, _layout.Layout) else None
        chosen = preferred if layout is None else layout
        strides, name, span = _layout.arrange(extents, kind.itemsize, chosen, padding, label)
        if max(span * kind.itemsize, 0, *extents, *strides) >= 2**62:
            raise ViewError(
                f"View '{label}': shape ({', '.join(map(shown, extents))}) exceeds the address "
                f"space."
            )
        allocation = memory_space.allocate(span * kind.itemsize, label, initialize)
        track(allocation)
        self._become(
            allocation, allocation.pointer, kind, extents, strides, name, False, owner,
            mapping, fixed,
        )  # fmt: skip

    @classmethod
    def _over(cls, *args: Any) -> View:
        parts: Any = object.__new__(ViewParts)
        parts._set(*args)
        parts.__class__ = cls
        return parts  # type: ignore[no-any-return]

    def _become(self, *args: Any) -> None:
        """Take other attributes: those of a View that is being made, or given new memory."""
        made = View._over(*args)
        for name in ViewParts.__slots__[1:]:
            assign(self, name, getattr(made, name))

    def _called(self) -> str:
        return f"View '{self.label}'"

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
        if self.mapping is not None:
            return self.mapping.span(*self.shape)
        return _layout.span(self.shape, self.strides)

    @property
    def span_is_contiguous(self) -> bool:
        """Whether the elements fill their span without gaps."""
        return self.span == self.size

    @property
    def use_count(self) -> int:
        """Number of Views that share the allocation."""
        return sys.getrefcount(self.allocation) - _unshared_count()

    @property
    def traits(self) -> tuple[str, ...]:
        """Memory traits that kernels use; see `with_traits`."""
        return self.type.traits

    @property
    def is_managed(self) -> bool:
        """Whether execspace allocated the memory; False for arrays of others (`view_of`)."""
        return self.allocation.managed

    def static_extent(self, d: int) -> int:
        """Extent of dimension `d` if it is part of the type, else 0."""
        d = self._dimension(d)
        return (self.type.static[d] or 0) if d < len(self.type.static) else 0

    def extent(self, d: int) -> int:
        """Extent of dimension `d`; 1 for `d` beyond the rank, as in Kokkos."""
        d = self._dimension(d)
        return self.shape[d] if d < len(self.shape) else 1

    def stride(self, d: int) -> int:
        """Distance in elements between neighbours in dimension `d`."""
        d = self._dimension(d)
        if d >= len(self.strides):
            raise ViewIndexError(
                f"View '{self.label}' has rank {self.rank}, and no dimension {shown(d)} with a "
                f"stride."
            )
        return self.strides[d]

    def _dimension(self, d: Any) -> int:
        """A dimension by its number; a negative one counts from the end."""
        try:
            number = operator.index(d)
        except TypeError:
            raise ViewTypeError(
                f"View '{self.label}': {d!r} is not a dimension; expected an integer."
            ) from None
        rank = len(self.shape)
        if number < -rank:
            raise ViewIndexError(
                f"View '{self.label}' has rank {rank}, and no dimension {shown(number)}."
            )
        return number + rank if number < 0 else number

    def __repr__(self) -> str:
        return (
            f"<View '{self.label}' {name_of(self.dtype)} {self.shape} "
            f"layout={self.layout} memory={self.memory_space.name}>"
        )

    def _identity(self) -> tuple[Any, ...]:
        return (self.data_ptr, self.shape, self.strides, self.layout, self.mapping, self.dtype,
                id(self.memory_space))  # fmt: skip

    def __eq__(self, other: object) -> bool:
        return isinstance(other, View) and self._identity() == other._identity()

    def __hash__(self) -> int:
        return hash((self.data_ptr, self.shape, self.strides))

    def __reduce__(self) -> Any:
        raise ViewTypeError(
            f"View '{self.label}' cannot be pickled or deep-copied: it shares memory. Pickle a "
            f"NumPy array with its values: np.asarray(A), or of memory that the host cannot read "
            f"es.deep_copy(array, A). Where it arrives, es.deep_copy it into a View made there."
        )

    def __copy__(self) -> View:
        return self._with()

    def __len__(self) -> int:
        if not self.shape:
            raise ViewTypeError(f"View '{self.label}' has rank 0 and so no length.")
        return self.shape[0]

    # -- the same memory with other properties --------------------------------------------

    def _with(self, readonly: bool | None = None, traits: tuple[str, ...] | None = None) -> View:
        return View._over(
            self.allocation, self.data_ptr, self.dtype, self.shape, self.strides, self.layout,
            self.is_readonly if readonly is None else readonly, self.space, self.mapping,
            self.type.static, self.traits if traits is None else traits,
        )  # fmt: skip

    def readonly(self) -> View:
        """The same elements, which nobody can change through this View: `View<const T>`."""
        return self._with(readonly=True)

    def with_traits(self, *traits: str) -> View:
        """The same elements with memory traits, which kernels that take this View use.

        Parameters
        ----------
        *traits : {"atomic", "restrict", "random_access"}
            "atomic": ``A[i] += x`` and its siblings are atomic. "restrict": the caller promises
            that no other View of a launch overlaps this one, so nothing is checked.
            "random_access": elements are read in no order; GPUs may read through another cache.

        Notes
        -----
        Kokkos: https://kokkos.org/kokkos-core-wiki/API/core/view/memoryTraits.html
        """
        unknown = [t for t in traits if not isinstance(t, str) or t not in TRAITS]
        if unknown:
            raise ViewError(
                f"View '{self.label}': memory trait {unknown[0]!r} does not exist; "
                f"expected {', '.join(map(repr, TRAITS))}."
            )
        return self._with(traits=tuple(t for t in TRAITS if t in {*traits, *self.traits}))

    # -- subviews -----------------------------------------------------------------------

    def _subview(self, key: tuple[Any, ...]) -> View:
        if self.mapping is not None:
            if all(part is ALL or part == slice(None) for part in key):
                return self
            raise ViewError(
                f"View '{self.label}' has layout {self.layout!r}, of which there are no subviews; "
                f"copy it into a View of layout 'right' or 'left' with es.deep_copy."
            )
        fixed: list[int | None] = []
        known = self.type.static or (None,) * len(self.shape)
        pointer, shape, strides = self.data_ptr, [], []
        size = self.dtype.itemsize
        for d, (part, n, s) in enumerate(zip(key, self.shape, self.strides, strict=True)):
            if part is ALL:
                start, count, step = 0, n, 1
            elif isinstance(part, slice):
                start, count, step = self._slice(part, d)
            elif isinstance(part, tuple):
                start, count, step = *self._pair(part, d), 1
            else:
                pointer += self._index(part, d) * s * size
                continue
            if count:
                pointer += start * s * size
            shape.append(count)
            strides.append(s * step)
            fixed.append(known[d] if count == n else None)
        extents, steps = tuple(shape), tuple(strides)
        kind = _layout.classify(extents, steps, prefer=self.layout)
        return View._over(
            self.allocation, pointer, self.dtype, extents, steps, kind,
            self.is_readonly, self.space, None, trimmed(fixed), self.traits,
        )  # fmt: skip

    def _slice(self, part: slice, d: int) -> tuple[int, int, int]:
        """First index, number of indices and step of a slice, cut to the extent as Python does."""
        n = self.shape[d]
        try:
            start, stop, step = part.indices(n)
        except (TypeError, ValueError) as error:
            raise ViewError(
                f"View '{self.label}': {part_text(part)} is not a slice of dimension {d}: {error}."
            ) from None
        count = len(range(start, stop, step))
        # A step from one index alone leads nowhere, and need not fit into a stride.
        return start, count, step if count > 1 or abs(step) <= n else 1

    def _pair(self, part: tuple[Any, ...], d: int) -> tuple[int, int]:
        try:
            begin, end = (operator.index(p) for p in part)
        except (TypeError, ValueError):
            raise ViewError(
                f"View '{self.label}': {part!r} is not a range of dimension {d}; "
                f"expected a pair of integers (begin, end)."
            ) from None
        if not 0 <= begin <= end <= self.shape[d]:
            raise ViewIndexError(
                f"View '{self.label}': range ({shown(begin)}, {shown(end)}) does not lie within "
                f"dimension {d} of extent {self.shape[d]}."
            )
        return begin, end - begin

    def _index(self, part: Any, d: int) -> int:
        try:
            i = operator.index(part)
        except TypeError:
            raise ViewError(
                f"View '{self.label}': cannot index dimension {d} with {part!r}; expected an "
                f"integer, a slice or es.ALL (es.subview also takes a pair).{numpy_has(part)}"
            ) from None
        n = self.shape[d]
        if not -n <= i < n:
            raise ViewIndexError(
                f"View '{self.label}': index {shown(i)} is out of bounds for dimension {d} of "
                f"extent {n}."
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
            hint = ", ".join([*map(part_text, parts), *[":"] * (rank - len(parts))])
            name = self.label if self.label.isidentifier() else "A"
            more = f" For a subview write {name}[{hint}]." if len(parts) < rank else ""
            raise ViewError(
                f"View '{self.label}' has rank {rank}; expected {rank} "
                f"{'index' if rank == 1 else 'indices'}, got "
                f"{len(parts)}.{more}"
            )
        return parts

    def _with_new_axes(self, key: tuple[Any, ...]) -> View:
        """The subview of a key, with a dimension of extent 1 for each None in it, as in NumPy."""
        named = [part for part in key if part is not None]
        if not named:
            key = (*key, Ellipsis)
        parts = self._key(tuple(named) or (Ellipsis,))
        part = self._subview(parts)
        if part.mapping is not None:
            raise ViewError(
                f"View '{self.label}' has layout {self.layout!r}, which takes no new dimension."
            )
        shape, strides = list(part.shape), list(part.strides)
        fixed = list(part.type.static) or [None] * len(shape)
        rest = iter(parts)
        whole: list[Any] = []
        for given in key:
            if given is Ellipsis:
                whole += (next(rest) for _ in range(len(parts) - max(len(named) - 1, 0)))
            else:
                whole.append(None if given is None else next(rest))
        d = 0
        for given in whole:
            if given is None:
                shape.insert(d, 1)
                strides.insert(d, 0)
                fixed.insert(d, None)
                d += 1
            elif isinstance(given, slice | All | tuple):
                d += 1
        if len(shape) > MAX_RANK:
            raise ViewError(f"View '{self.label}': rank {len(shape)} exceeds {MAX_RANK}.")
        extents, steps = tuple(shape), tuple(strides)
        kind = _layout.classify(extents, steps, prefer=part.layout)
        return View._over(
            part.allocation, part.data_ptr, part.dtype, extents, steps, kind, part.is_readonly,
            part.space, None, trimmed(fixed), part.traits,
        )  # fmt: skip

    # -- host access --------------------------------------------------------------------

    def _array(self, stores: bool = False) -> npt.NDArray[Any]:
        if self._host is None:
            memory = self.memory_space
            if not memory.host_accessible:
                raise SpaceAccessError(
                    f"View '{self.label}' is in memory space '{memory.name}', which the host "
                    f"cannot read; copy it first: es.create_mirror_view_and_copy(es.HOST, A)."
                )
            host = memory.host_array(self)
            if config.is_portable():  # not kept, so that the next access is checked, too
                pending.check_host_access(self, stores=stores)
            else:
                assign(self, "_host", host)
            return host
        return self._host

    def __getitem__(self, key: Any) -> Any:
        """Element (all indices integers; host-accessible memory only) or subview."""
        if has_new_axis(key):
            return self._with_new_axes(key if isinstance(key, tuple) else (key,))
        parts = self._key(key)
        for part in parts:
            if isinstance(part, slice | All | tuple):
                return self._subview(parts)
        at = tuple(self._index(p, d) for d, p in enumerate(parts))
        array = self._array()
        if self.mapping is not None:
            at = (self._offset(at),)
        if self.dtype.fields is not None:  # a record whose fields are attributes: p[i].x
            array = array.view(np.dtype((np.record, self.dtype)))
        return array[at]

    def __setitem__(self, key: Any, value: Any) -> None:
        """Store into an element or a subview, from the host."""
        if self.is_readonly:
            raise ViewError(f"View '{self.label}' is read-only.")
        if has_new_axis(key):
            self[key][...] = value
            return
        parts = self._key(key)
        at = tuple(self._host_key(p, d) for d, p in enumerate(parts))
        if self.mapping is not None:
            single = not any(isinstance(part, slice) for part in at)
            at = (self._offset(at) if single else self.offsets()[at],)
        if isinstance(value, View):
            value = np.asarray(value)
        elif not isinstance(value, np.generic | int | float | complex):
            check_plain(value, f"what is stored in View '{self.label}'")
        array = self._array(stores=True)
        try:
            array[at] = value
        except (TypeError, ValueError, OverflowError) as error:
            kind = ViewTypeError if isinstance(error, TypeError) else ViewError
            raise kind(
                f"View '{self.label}' of dtype {name_of(self.dtype)} cannot store "
                f"{type(value).__name__} there: {error}."
            ) from None

    def _host_key(self, part: Any, d: int) -> Any:
        """An index of NumPy's for one of a View's."""
        if part is ALL:
            return slice(None)
        if isinstance(part, tuple):
            begin, count = self._pair(part, d)
            return slice(begin, begin + count)
        if isinstance(part, slice):
            self._slice(part, d)  # which raises for what is none
            return part
        return self._index(part, d)

    def _offset(self, indices: tuple[int, ...]) -> int:
        assert self.mapping is not None
        return operator.index(self.mapping.offset(*indices, *self.shape))

    def offsets(self) -> npt.NDArray[np.int64]:
        """Offset in elements of every element, in the shape of the View; for mapped layouts."""
        assert self.mapping is not None
        grid = np.indices(self.shape)
        try:
            found = np.asarray(self.mapping.offset(*grid, *self.shape))
            if found.shape == self.shape and found.dtype.kind in "iu":
                return found.astype(np.int64)
        except (TypeError, ValueError):
            pass  # it has branches, so it takes one element at a time
        every = (self._offset(at) for at in np.ndindex(*self.shape))
        return np.fromiter(every, np.int64, self.size).reshape(self.shape)

    def __iter__(self) -> Iterator[Any]:
        """Elements if the rank is 1, and subviews along the first dimension if it is more."""
        if not self.shape:
            raise ViewTypeError(f"View '{self.label}' has rank 0, and nothing to iterate over.")
        if len(self.shape) > 1:
            rest = (ALL,) * (len(self.shape) - 1)
            return (self._subview((k, *rest)) for k in range(self.shape[0]))
        array = self._array()
        return iter(array if self.mapping is None else array[self.offsets()])

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
        if self.mapping is not None:
            raise ViewError(
                f"View '{self.label}' has layout {self.layout!r}, which no NumPy array has; copy "
                f"it into a View of layout 'right' or 'left' with es.deep_copy."
            )
        shared = array_over(self, self)
        if dtype is not None and np.dtype(dtype) != self.dtype:
            if copy is False:
                raise ValueError(f"View '{self.label}': a change of dtype needs a copy.")
            return shared.astype(dtype)
        return shared.copy() if copy else shared


_unshared: int | None = None


def _unshared_count() -> int:
    # How many references getrefcount sees beside those of Views depends on the interpreter,
    # so it is measured once, on a View that nothing shares.
    global _unshared
    if _unshared is None:
        array = np.zeros(1)
        address = array.__array_interface__["data"][0]
        lone = View._over(
            Allocation(address, array.nbytes, "", HOST, array, managed=False), address,
            array.dtype, (1,), (1,), "right", False, None, None,
        )  # fmt: skip
        _unshared = sys.getrefcount(lone.allocation) - 1
    return _unshared
