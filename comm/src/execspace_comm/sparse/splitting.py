"""The rows of a rank, split into what multiplies own elements of a vector, and ghosts.

Ghosts are the elements that other ranks have. They are numbered in the order of their global
numbers, so those of a rank lie side by side.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

__all__ = ["Rows", "Split", "renumbered", "rows_problem", "split"]

Array = npt.NDArray[Any]
_INDICES = (np.dtype(np.int32), np.dtype(np.int64))


class Rows(NamedTuple):
    """Rows of a matrix, as arrays of the host; columns are those of all ranks."""

    row_map: Array
    entries: Array
    values: Array

    @property
    def length(self) -> int:
        """How many."""
        return int(self.row_map.size) - 1


class Split(NamedTuple):
    """Graphs of the two parts, whose entries are in the order of the rows.

    Attributes
    ----------
    own_map, own_entries : array
        Of all rows; columns count from the first own one.
    rows : array
        Those that have ghosts.
    ghost_map, ghost_entries : array
        Of these rows; columns are numbers of ghosts.
    """

    own_map: Array
    own_entries: Array
    rows: Array
    ghost_map: Array
    ghost_entries: Array


def rows_problem(rows: Rows, columns: int) -> str:
    """What is wrong with arrays that should be rows; empty if nothing is."""
    row_map, entries, values = rows
    for name, array in (("row_map", row_map), ("entries", entries)):
        if array.ndim != 1 or array.dtype not in _INDICES:
            return (
                f"{name} has {array.ndim} dimensions and dtype {array.dtype}; expected one "
                f"dimension and int32 or int64."
            )
    if not row_map.size or row_map[0] != 0 or (np.diff(row_map) < 0).any():
        return "row_map does not ascend from 0; expected where each row begins, and the end."
    if row_map[-1] != entries.size or values.shape != entries.shape:
        return (
            f"row_map ends with {row_map[-1]}, there are {entries.size} entries and values have "
            f"shape {values.shape}; expected the same number of each."
        )
    outside = np.flatnonzero((entries < 0) | (entries >= columns))
    if outside.size:
        row = int(np.searchsorted(row_map, outside[0], "right")) - 1
        return (
            f"row {row} of this rank has an entry in column {entries[outside[0]]}; expected a "
            f"global number from 0 to {columns - 1}."
        )
    return ""


def renumbered(entries: Array, lower: int, upper: int) -> tuple[Array, Array]:
    """The global numbers of ghosts, ascending; and entries by local numbers: own columns from 0,
    ghosts behind them. Of int32 where that suffices."""
    is_own = (entries >= lower) & (entries < upper)
    ghosts, numbers = np.unique(entries[~is_own], return_inverse=True)
    count = upper - lower + ghosts.size
    local = np.empty(entries.size, np.int32 if count < 2**31 else np.int64)
    local[is_own] = entries[is_own] - lower
    local[~is_own] = numbers.reshape(-1) + (upper - lower)
    return ghosts.astype(np.int64), local


def split(row_map: Array, local: Array, own: int) -> tuple[Split, npt.NDArray[np.bool_]]:
    """The two parts of rows by local numbers, of which so many are own columns; and which entries
    are those of ghosts."""
    is_ghost = local >= own
    before = np.concatenate([np.zeros(1, np.int64), np.cumsum(is_ghost)])
    ghost_map = before[row_map]  # of all rows
    rows = np.flatnonzero(np.diff(ghost_map))
    own_map = row_map - ghost_map
    kind = np.int32 if local.size < 2**31 else np.int64
    some = ghost_map[np.append(rows, ghost_map.size - 1)]
    parts = Split(
        own_map.astype(kind), local[~is_ghost], rows.astype(kind), some.astype(kind),
        local[is_ghost] - local.dtype.type(own),
    )  # fmt: skip
    return parts, is_ghost
