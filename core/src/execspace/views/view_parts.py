"""What a View is made of, before nobody may assign it any more."""

from __future__ import annotations

import sys
from functools import cache
from struct import Struct
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from ..base.array_interface import address_of
from ..base.readonly import MAY_CHANGE_CLASS, with_class
from ..contract import layout as _layout
from ..contract.argtypes import ViewType
from ..contract.dtypes import name_of
from ..contract.memory import HOST, Allocation, MemorySpace
from ..contract.space import ExecutionSpace
from .view_keys import MAX_RANK

# The tables that kernels read, by rank: pointer, extents, strides. The bytes of a `bytes` lie after
# its header, and before the zero at its end.
PACK = tuple(Struct(f"{1 + 2 * rank}q").pack for rank in range(MAX_RANK + 1))
HEADER = bytes.__basicsize__ - 1
_new = object.__new__


def type_of(
    dtype: np.dtype[Any],
    strides: tuple[int, ...],
    layout: str,
    readonly: bool,
    memory: str,
    mapping: _layout.Layout | None = None,
    fixed: tuple[int | None, ...] = (),
    traits: tuple[str, ...] = (),
) -> ViewType:
    """The type of a View of these parts; `memory` is the name of the memory space."""
    unit = None if mapping else _layout.unit_dimension(layout, strides)
    key = layout if mapping is None else _layout.layout_key(mapping)
    return ViewType(name_of(dtype), len(strides), key, unit, readonly, memory, fixed, traits)


class ViewParts:
    """The attributes of a View, and what assigns them. `View` itself lets nobody assign them.

    A View is filled in as a `ViewParts` and then becomes a View: launches wrap arrays, and a check
    at each of these assignments would cost as much as all the rest of it.
    """

    __slots__ = (
        "__weakref__", "_host", "_table", "allocation", "data_ptr", "descriptor", "dtype",
        "is_readonly", "layout", "mapping", "shape", "space", "strides", "type",
    )  # fmt: skip

    allocation: Allocation
    data_ptr: int
    descriptor: int
    dtype: np.dtype[Any]
    layout: str
    mapping: _layout.Layout | None
    is_readonly: bool
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    space: ExecutionSpace | None
    type: ViewType

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
        mapping: _layout.Layout | None,
        type: ViewType,
    ) -> None:
        self.allocation = allocation
        self.data_ptr = pointer
        self.dtype = dtype
        self.shape = shape
        self.strides = strides
        self.layout = layout
        self.mapping = mapping
        self.is_readonly = readonly
        self.space = space
        self._host: npt.NDArray[Any] | None = None
        self.type = type
        self._table = table = PACK[len(shape)](pointer, *shape, *strides)
        self.descriptor = id(table) + HEADER

    def _like(
        self,
        pointer: int,
        shape: tuple[int, ...],
        strides: tuple[int, ...],
        layout: str,
        type: ViewType,
    ) -> Self:
        """A View of other elements of this one's memory, both without a mapping.

        Repeats `_set`, for a call would cost a fifth of a subview.
        """
        made: Any = _new(ViewParts)
        made.allocation = self.allocation
        made.data_ptr = pointer
        made.dtype = self.dtype
        made.shape = shape
        made.strides = strides
        made.layout = layout
        made.mapping = None
        made.is_readonly = self.is_readonly
        made.space = self.space
        made._host = None
        made.type = type
        made._table = table = PACK[len(shape)](pointer, *shape, *strides)
        made.descriptor = id(table) + HEADER
        if MAY_CHANGE_CLASS:
            made.__class__ = self.__class__
            return made  # type: ignore[no-any-return]
        return with_class(made, self.__class__)  # type: ignore[no-any-return]

    @classmethod
    def _over(
        cls,
        allocation: Allocation,
        pointer: int,
        dtype: np.dtype[Any],
        shape: tuple[int, ...],
        strides: tuple[int, ...],
        layout: str,
        readonly: bool,
        space: ExecutionSpace | None,
        mapping: _layout.Layout | None = None,
        fixed: tuple[int | None, ...] = (),
        traits: tuple[str, ...] = (),
    ) -> Self:
        """A View of parts that are known; nothing is allocated."""
        memory = allocation.memory_space.name
        type = type_of(dtype, strides, layout, readonly, memory, mapping, fixed, traits)
        return cls._of_type(
            allocation, pointer, dtype, shape, strides, layout, readonly, space, mapping, type
        )

    @classmethod
    def _of_type(cls, *args: Any) -> Self:
        """A View of the parts that `_set` takes."""
        parts: Any = object.__new__(ViewParts)
        parts._set(*args)
        if MAY_CHANGE_CLASS:
            parts.__class__ = cls
            return parts  # type: ignore[no-any-return]
        return with_class(parts, cls)  # type: ignore[no-any-return]

    @property
    def label(self) -> str:
        """Name given at allocation; subviews share it."""
        return self.allocation.label

    @property
    def memory_space(self) -> MemorySpace:
        """The memory space that holds the elements."""
        return self.allocation.memory_space

    @property
    def traits(self) -> tuple[str, ...]:
        """Memory traits that kernels use; see `with_traits`."""
        return self.type.traits


@cache
def unshared_count() -> int:
    """References to an allocation that `sys.getrefcount` sees beside those of Views.

    It depends on the interpreter, so it is measured, on a View that nothing shares.
    """
    array = np.zeros(1)
    address = address_of(array)
    lone = ViewParts._over(
        Allocation(address, array.nbytes, "", HOST, array, managed=False), address,
        array.dtype, (1,), (1,), "right", False, None, None,
    )  # fmt: skip
    return sys.getrefcount(lone.allocation) - 1
