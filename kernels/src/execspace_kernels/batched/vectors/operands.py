"""What kernels of vectors are given: the memory of interleaved matrices, and distances in it."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

import execspace as es

from ...arguments import is_device
from ..interleaved import Interleaved

__all__ = ["WHY", "Tiles", "groups", "memory", "steps", "suits", "tiles", "width_of"]

WHY = "groups of matrices lie side by side, as vectors of a host"
_WIDTHS = (2, 64)  # of vectors
_DTYPES = (np.dtype(np.float32), np.dtype(np.float64))


class Tiles(NamedTuple):
    """Rows and columns of a tile that is in registers, and how many are left beside whole tiles."""

    rows: int
    columns: int
    rows_left: int
    columns_left: int


def suits(space: es.ExecutionSpace, *views: es.View) -> bool:
    """Whether all matrices lie in groups of one width, of one type, in memory of the host."""
    first = views[0].mapping
    if not isinstance(first, Interleaved) or is_device(space):
        return False
    dtype = views[0].dtype
    return (
        _WIDTHS[0] <= first.width <= _WIDTHS[1]
        and dtype in _DTYPES
        and all(v.mapping == first and v.dtype == dtype for v in views)
        and all(v.memory_space is es.HOST and not v.traits for v in views)
    )


def width_of(view: es.View) -> int:
    """Matrices of a group."""
    mapping = view.mapping
    assert isinstance(mapping, Interleaved)
    return mapping.width


def groups(view: es.View, space: es.ExecutionSpace) -> es.RangePolicy:
    """A work item for each group."""
    return es.RangePolicy(-(-view.shape[0] // width_of(view)), space=space)


def steps(view: es.View, is_transposed: bool = False) -> tuple[int, int]:
    """Distances in elements from row to row and from column to column."""
    width = width_of(view)
    row, column = view.shape[2] * width, width
    return (column, row) if is_transposed else (row, column)


def tiles(view: es.View, m: int, n: int, space: es.ExecutionSpace) -> Tiles:
    """For matrices of m x n that are computed from others: sums of a tile are in registers."""
    registers = width_of(view) // _native(view.dtype, space)
    rows, columns = (4, 2) if registers < 2 else (2, 2) if registers < 4 else (2, 1)
    return Tiles(rows, columns, m % rows, n % columns)


@lru_cache(maxsize=64)
def _native(dtype: np.dtype[Any], space: es.ExecutionSpace) -> int:
    """Lanes of a register."""
    return int(es.simd(dtype).on(space).width)


class _Array:
    """The memory of a View as an array, for `es.view_of`; keeps it, but not the View."""

    def __init__(self, view: es.View) -> None:
        self.allocation = view.allocation
        self.__array_interface__ = {
            "version": 3,
            "shape": (view.span,),
            "typestr": view.dtype.str,
            "data": (view.data_ptr, False),  # whoever writes has asked the View
        }


_KNOWN: WeakKeyDictionary[es.View, es.View] = WeakKeyDictionary()


def memory(view: es.View) -> es.View:
    """The elements of a View in the order in which they lie, as long as it lives the same View."""
    found = _KNOWN.get(view)
    if found is None:
        array: Any = np.asarray(_Array(view))
        found = _KNOWN[view] = es.view_of(array, label=view.label)
    return found
