"""What a View is made of, before nobody may assign it any more."""

from __future__ import annotations

from array import array
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from ..contract import layout as _layout
from ..contract.argtypes import ViewType
from ..contract.dtypes import name_of
from ..contract.memory import Allocation, MemorySpace
from ..contract.space import ExecutionSpace


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
        mapping: _layout.Layout | None = None,
        fixed: tuple[int | None, ...] = (),
        traits: tuple[str, ...] = (),
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
        unit = None if mapping else _layout.unit_dimension(layout, strides)
        memory = allocation.memory_space.name
        key = layout if mapping is None else _layout.layout_key(mapping)
        rank = len(shape)
        self.type = ViewType(name_of(dtype), rank, key, unit, readonly, memory, fixed, traits)
        self._table = array("q", (pointer, *shape, *strides))
        self.descriptor = self._table.buffer_info()[0]

    @classmethod
    def _over(cls, *args: Any) -> Self:
        """A View of parts that are known, as `_set` takes them; nothing is allocated."""
        parts: Any = object.__new__(ViewParts)
        parts._set(*args)
        parts.__class__ = cls
        return parts  # type: ignore[no-any-return]

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
