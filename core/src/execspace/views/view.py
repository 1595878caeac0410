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
from typing import TYPE_CHECKING, Any, overload

import numpy as np
import numpy.typing as npt

from ..base import config, pending, ports
from ..base.brief import brief
from ..base.errors import ViewError, ViewIndexError, ViewTypeError, shown
from ..base.flags import flag
from ..base.readonly import MAY_CHANGE_CLASS, ReadOnly, assign
from ..base.storage_types import FORMATS, store
from ..contract import layout as _layout
from ..contract.dtypes import with_attributes
from ..contract.memory import MemorySpace, array_over, track
from ..contract.space import ExecutionSpace
from ..events import dispatch
from ..events.recording import refuse_elements
from ..plugins.selection import memory_for
from .planned import known_plan, plan_of
from .static import static
from .typed import ScalarT, Typed
from .view_keys import ALL, TRAITS, All, example_name, has_new_axis, is_part
from .view_parts import HEADER, PACK, ViewParts, unshared_count
from .view_protocols import GivesArrays
from .view_refusals import NoArithmetic, cannot_store, check_comparable, out_of_reach
from .view_subscripts import Subscripts

__all__ = [
    "View",
]


class View(ReadOnly, NoArithmetic, GivesArrays, Subscripts, Typed[ScalarT]):
    """N-dimensional array of one dtype, shared by reference, in a memory space.

    In annotations ``View[np.float64]`` is a View of that element type.

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

    if TYPE_CHECKING:
        dtype: np.dtype[ScalarT]

    @overload
    def __init__(
        self, shape: int | static | Sequence[int | static], *, label: str = ...,
        space: str | ExecutionSpace | None = ..., memory: str | MemorySpace | None = ...,
        layout: str | Sequence[int] | _layout.Layout | None = ..., initialize: bool = ...,
        padding: bool = ...,
    ) -> None: ...  # fmt: skip
    @overload
    def __init__(
        self, shape: int | static | Sequence[int | static],
        dtype: type[ScalarT] | np.dtype[ScalarT], *, label: str = ...,
        space: str | ExecutionSpace | None = ..., memory: str | MemorySpace | None = ...,
        layout: str | Sequence[int] | _layout.Layout | None = ..., initialize: bool = ...,
        padding: bool = ...,
    ) -> None: ...  # fmt: skip
    @overload
    def __init__(
        self: View[Any], shape: int | static | Sequence[int | static],
        dtype: npt.DTypeLike = ..., *, label: str = ..., space: str | ExecutionSpace | None = ...,
        memory: str | MemorySpace | None = ...,
        layout: str | Sequence[int] | _layout.Layout | None = ..., initialize: bool = ...,
        padding: bool = ...,
    ) -> None: ...  # fmt: skip
    def __init__(
        self,
        shape: int | static | Sequence[int | static],
        dtype: Any = np.float64,
        *,
        label: str = "",
        space: str | ExecutionSpace | None = None,
        memory: str | MemorySpace | None = None,
        layout: str | Sequence[int] | _layout.Layout | None = None,
        initialize: bool = True,
        padding: bool = False,
    ) -> None:
        if initialize is not True and initialize is not False:
            initialize = flag(initialize, "initialize", f"View '{label}'", ViewError)
        memory_space, owner, preferred = memory_for(space, memory)
        plan = known_plan(shape, dtype, memory_space.name, layout, preferred, padding)
        if plan is None:
            plan = plan_of(shape, dtype, memory_space.name, layout, preferred, padding, label)
        kind, extents, strides, name, nbytes, mapping, type_ = plan
        allocation = memory_space.allocate(nbytes, label, initialize)
        track(allocation)
        if type(self) is not View or not MAY_CHANGE_CLASS:
            pointer = allocation.pointer
            self._become(
                View._of_type(
                    allocation, pointer, kind, extents, strides, name, False, owner, mapping, type_
                )
            )
            return
        assign(self, "__class__", ViewParts)  # whose attributes may be assigned
        parts: Any = self
        # Repeats `_set`, for a call would cost a fifth of it.
        parts.allocation = allocation
        parts.data_ptr = pointer = allocation.pointer
        parts.dtype = kind
        parts.shape = extents
        parts.strides = strides
        parts.layout = name
        parts.mapping = mapping
        parts.is_readonly = False
        parts.space = owner
        parts._host = None
        parts.type = type_
        parts._table = table = PACK[len(extents)](pointer, *extents, *strides)
        parts.descriptor = id(table) + HEADER
        parts.__class__ = View

    def _become(self, other: View) -> None:
        """Take the attributes of another View: memory of its own, where this one gets new one."""
        for name in ViewParts.__slots__[1:]:
            assign(self, name, getattr(other, name))

    def _called(self) -> str:
        return f"View '{self.label}'"

    # -- what it is ---------------------------------------------------------------------

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
        return sys.getrefcount(self.allocation) - unshared_count()

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

    def __repr__(self) -> str:
        from . import showing  # not before something is shown

        return showing.text_of(self)

    def _repr_html_(self) -> str:
        from . import showing

        return showing.html_of(self)

    def _identity(self) -> tuple[Any, ...]:
        return (self.data_ptr, self.shape, self.strides, self.layout, self.mapping, self.dtype,
                id(self.memory_space))  # fmt: skip

    def __eq__(self, other: object) -> bool:
        if isinstance(other, View):
            return self._identity() == other._identity()
        check_comparable(self, other)
        return False

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
        *traits : {"atomic", "restrict", "nontemporal", "random_access"}
            "atomic": ``A[i] += x`` and its siblings are atomic. "restrict": the caller promises
            that no other View of a launch overlaps this one, so nothing is checked. "nontemporal":
            a launch reads each element once, so caches may keep others. "random_access": elements
            are read in no order; GPUs may read through another cache.

        Notes
        -----
        Kokkos: https://kokkos.org/kokkos-core-wiki/API/core/view/memoryTraits.html
        """
        unknown = [t for t in traits if not isinstance(t, str) or t not in TRAITS]
        if unknown:
            raise ViewError(
                f"View '{self.label}': memory trait {brief(unknown[0])} does not exist; "
                f"expected {', '.join(map(repr, TRAITS))}."
            )
        return self._with(traits=tuple(t for t in TRAITS if t in {*traits, *self.traits}))

    # -- host access --------------------------------------------------------------------

    def _array(self, stores: bool = False, at: tuple[int, ...] | None = None) -> npt.NDArray[Any]:
        """The elements for the host, which is to touch all of them or the one `at` these indices.

        `stores`: it writes.
        """
        if self._host is None:
            memory = self.memory_space
            if not memory.host_accessible:
                raise out_of_reach(self, stores)
            host = memory.host_array(self)
            if config.is_portable():  # not kept, so that the next access is checked, too
                one = at is not None and self.mapping is None
                touched = self._subview(tuple((i, i + 1) for i in at or ())) if one else self
                pending.check_host_access(touched, stores=stores)
            else:
                assign(self, "_host", host)
            return host
        return self._host

    def __getitem__(self, key: Any) -> Any:
        """Element (all indices integers; host-accessible memory only) or subview."""
        if self.mapping is None:  # what most subscripts are
            if type(key) is slice and len(self.shape) == 1:
                return self._row(key)
            if type(key) is tuple and len(key) == len(self.shape):
                if len(key) == 2:  # a row or a column
                    if type(key[1]) is slice:
                        if type(key[0]) is int and (line := self._line(*key, 1)) is not None:
                            return line
                    elif type(key[0]) is slice and type(key[1]) is int:
                        if (line := self._line(key[1], key[0], 0)) is not None:
                            return line
                if is_part(key):
                    return self._cut(key)
        if has_new_axis(key):
            return self._with_new_axes(key if isinstance(key, tuple) else (key,))
        parts = self._key(key)
        for part in parts:
            if isinstance(part, slice | All | tuple):
                return self._subview(parts)
        at = tuple(self._index(p, d) for d, p in enumerate(parts))
        if dispatch.TOOLS:
            refuse_elements(self, "read")
        array = self._array(at=at)
        if self.mapping is not None:
            at = (self._offset(at),)
        if self.dtype.fields is not None:  # a record whose fields are attributes: p[i].x
            array = array.view(with_attributes(self.dtype))
        found = array[at]
        return np.float32(found) if self.type.dtype in FORMATS else found

    def __setitem__(self, key: Any, value: Any) -> None:
        """Store into an element, from the host; or into a part of the View, whatever its memory.

        What goes into a part is a number, a View, an array or a list, which is broadcast as
        NumPy does. See `deep_copy` for the kinds of elements. In memory that the host does not
        reach this is in order with launches on the View's space, and it blocks where what is
        stored is memory of the host. In memory that it shares with the space, that is waited for
        first. Memory of the host is written at once.

        Raises
        ------
        SpaceAccessError
            For an element of memory that the host cannot write.
        ViewError, ViewIndexError, ViewTypeError, DTypeError
        """
        if self.is_readonly:
            raise ViewError(f"View '{self.label}' is read-only.")
        if has_new_axis(key):
            self[key][...] = value
            return
        parts = self._key(key)
        named = key if isinstance(key, tuple) else (key,)
        dots = any(part is Ellipsis for part in named)  # A[i, ...] is a part of one element
        if dots or any(isinstance(p, slice | All | tuple) for p in parts):
            ports.assign(self, parts, value)
            return
        at = tuple(self._index(p, d) for d, p in enumerate(parts))
        if isinstance(value, View):
            raise ViewTypeError(
                f"View '{self.label}': an element takes a number, not View '{value.label}'; store "
                f"its value, {example_name(value, 'B')}.item()."
            )
        if dispatch.TOOLS:
            refuse_elements(self, "stored")
        array = self._array(stores=True, at=at)
        if self.mapping is not None:
            at = (self._offset(at),)
        try:
            store(array, at, value, self.dtype)
        except (TypeError, ValueError, OverflowError) as error:
            raise cannot_store(self, value, error) from None

    # -- elements in and out ------------------------------------------------------------

    def to_numpy(self) -> npt.NDArray[ScalarT]:
        """A new NumPy array with the elements, from any memory. Blocks.

        The array is the caller's own, in row-major order: what is stored in it does not reach the
        View. `numpy.asarray` shares memory instead, where the host reaches it.
        """
        array: npt.NDArray[ScalarT] = ports.to_numpy(self)
        return array

    def item(self) -> Any:
        """The element of a View that has only one, as a Python number. Blocks.

        Of a record a tuple. Raises ViewError if there are more elements, or none.
        """
        if self.size != 1:
            raise ViewError(
                f"View '{self.label}' has {self.size} elements, and item() is for one; take a "
                f"part, or all of them with to_numpy()."
            )
        return self.to_numpy().item()

    def to(self, where: str | ExecutionSpace | MemorySpace, /) -> View[ScalarT]:
        """The View itself if it can be reached from there, else a copy that can. Blocks.

        Parameters
        ----------
        where : str, ExecutionSpace or MemorySpace
            A space, or `es.HOST`. `create_mirror_view_and_copy` is the same for arrays.
        """
        view: View[ScalarT] = ports.mirrored(where, self)
        return view

    def copy(self, *, label: str | None = None) -> View[ScalarT]:
        """A new View of the same elements, in the same memory space and layout.

        In order with launches on the View's space, as `deep_copy` with ``instance=`` is. Its
        label is that of the View if none is given; it can be written, and has no traits.
        """
        view: View[ScalarT] = ports.copied(self, label)
        return view

    def fill(self, value: Any, /) -> None:
        """Set every element to a number, in order with launches on the View's space.

        Raises
        ------
        ViewError, DTypeError
            If the View is read-only, or the number loses its kind or does not fit.
        """
        ports.fill(self, value)

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
        found = array if self.mapping is None else array[self.offsets()]
        return iter(found.astype(np.float32) if self.type.dtype in FORMATS else found)

    def __array__(
        self, dtype: npt.DTypeLike | None = None, copy: bool | None = None
    ) -> npt.NDArray[Any]:
        """NumPy array over the same memory; never a hidden copy.

        Raises
        ------
        SpaceAccessError
            If the host cannot read the memory.
        """
        if dispatch.TOOLS:
            refuse_elements(self, "read")
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
