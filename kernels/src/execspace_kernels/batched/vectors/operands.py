"""What kernels of vectors are given: the memory of interleaved matrices, and distances in it."""

from __future__ import annotations

import weakref
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

import execspace as es

from ...arguments import is_device
from ..interleaved import Interleaved

__all__ = ["WHY", "Tiles", "groups", "memory", "steps", "suits", "tiles", "width_of"]

WHY = "groups of matrices lie side by side, as vectors of a host"
_WIDTHS = (2, 64)  # of vectors
_DTYPES = (np.dtype(np.float32), np.dtype(np.float64))
# Tiles of so many registers. Those of products have long rows, for B is read in the order of
# memory then, and are whole rows where these fit. Rows of others are a multiple of columns, so that
# tiles end where a triangle does.
_TILES = {
    "products": {16: (2, 8), 8: (2, 4), 4: (2, 2), 2: (2, 1)},
    "triangles": {16: (4, 4), 8: (4, 2), 4: (2, 2), 2: (2, 1)},
}


class Tiles(NamedTuple):
    """Rows and columns of a tile that is in registers, and how many are left beside whole tiles."""

    rows: int
    columns: int
    rows_left: int
    columns_left: int


def suits(space: es.ExecutionSpace, *views: es.View) -> bool:
    """Whether all matrices lie in groups of one width, of one type, in memory of the host.

    A graph that is recorded follows Views that are resized later, which memory does not.
    """
    first = views[0].mapping
    if not isinstance(first, Interleaved) or is_device(space) or es.is_recorded():
        return False
    dtype = views[0].dtype
    if dtype not in _DTYPES or not _WIDTHS[0] <= first.width <= _WIDTHS[1]:
        return False
    for view in views:
        is_other = view.mapping is not first and view.mapping != first
        if is_other or view.dtype != dtype or view.memory_space is not es.HOST or view.traits:
            return False
    return True


def width_of(view: es.View) -> int:
    """Matrices of a group."""
    mapping = view.mapping
    assert isinstance(mapping, Interleaved)
    return mapping.width


@lru_cache(maxsize=256)
def groups(batch: int, width: int, space: es.ExecutionSpace) -> es.RangePolicy:
    """A work item for each group."""
    return es.RangePolicy(-(-batch // width), space=space)


def steps(columns: int, width: int, is_transposed: bool = False) -> tuple[int, int]:
    """Distances in elements from row to row and from column to column."""
    return (width, columns * width) if is_transposed else (columns * width, width)


@lru_cache(maxsize=256)
def tiles(
    dtype: np.dtype[Any], width: int, m: int, n: int, space: es.ExecutionSpace, what: str
) -> Tiles:
    """For matrices of m x n that are computed from others: sums of a tile are in registers."""
    lanes = int(es.simd(dtype).on(space).width)
    registers = 16 if lanes * dtype.itemsize == 64 else 8  # half of those of AVX-512, and of others
    number = min(max(registers * lanes // max(width, lanes), 2), 16)
    rows, columns = _TILES[what][number]
    if what == "products" and n <= number:
        rows, columns = 1, number
    return Tiles(rows, columns, m % rows, n % columns)


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


_KNOWN: dict[int, tuple[weakref.ref[es.View], es.Allocation, es.View]] = {}


def memory(view: es.View) -> es.View:
    """The elements of a View in the order in which they lie: the same View until it is resized."""
    key = id(view)
    known = _KNOWN.get(key)
    if known is not None and known[0]() is view and known[1] is view.allocation:
        return known[2]
    array: Any = np.asarray(_Array(view))
    found = es.view_of(array, label=view.label)
    _KNOWN[key] = weakref.ref(view, lambda _: _KNOWN.pop(key, None)), view.allocation, found
    return found
