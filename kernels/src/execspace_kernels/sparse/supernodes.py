"""Supernodes of a triangular factor, on the host: neighbouring columns with rows in common.

They are stored as dense panels, what their columns do not have all as zeros, if these are few.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

__all__ = ["Panels", "panels_of"]

_WIDEST = 64  # columns of a supernode
_ZEROS = 0.3  # share of a panel that may be zeros
_SMALL = 48  # elements of a panel, up to which zeros do not count


@dataclass(frozen=True, slots=True)
class Panels:
    """A lower triangular matrix by supernodes.

    Attributes
    ----------
    firsts : array of int64, shape (s + 1,)
        The first column of each, and the number of all.
    row_starts : array of int64, shape (s + 1,)
        Where the rows below each supernode begin in `rows`.
    rows : array of int64
        They ascend within a supernode.
    starts : array of int64, shape (s + 1,)
        Where the elements of each panel begin in `elements`.
    elements : array
        Panels of (width + rows below) x width, by rows.
    """

    firsts: Any
    row_starts: Any
    rows: Any
    starts: Any
    elements: Any

    def __len__(self) -> int:
        return len(self.firsts) - 1

    def panel(self, s: int) -> Any:
        """The elements of one."""
        width = int(self.firsts[s + 1] - self.firsts[s])
        return self.elements[self.starts[s] : self.starts[s + 1]].reshape(-1, width)

    def owners(self) -> Any:
        """The supernode of each column."""
        return np.repeat(np.arange(len(self)), np.diff(self.firsts))


def panels_of(indptr: Any, indices: Any, values: Any) -> Panels:
    """The panels of a lower triangular matrix by columns, whose rows ascend."""
    n = len(indptr) - 1
    columns = np.repeat(np.arange(n), np.diff(indptr))
    firsts = _merged(np.asarray(indptr), np.asarray(indices), _equal(indptr, indices))
    owner = np.repeat(np.arange(len(firsts) - 1), np.diff(firsts))
    of = owner[columns]
    below = indices >= firsts[of + 1]
    keys = of * np.int64(n) + indices
    kept = np.unique(keys[below])
    row_starts = np.searchsorted(kept, np.arange(len(firsts)) * np.int64(n))
    widths = np.diff(firsts)
    starts = np.concatenate([[0], np.cumsum((widths + np.diff(row_starts)) * widths)])
    place = indices - firsts[of]
    place[below] = widths[of[below]] + np.searchsorted(kept, keys[below]) - row_starts[of[below]]
    elements = np.zeros(int(starts[-1]), values.dtype)
    elements[starts[of] + place * widths[of] + columns - firsts[of]] = values
    return Panels(firsts, row_starts, kept % n if n else kept, starts, elements)


def _equal(indptr: Any, indices: Any) -> Any:
    """Where supernodes begin whose columns have all rows in common; and the number of columns."""
    n = len(indptr) - 1
    counts = np.diff(indptr).astype(np.int64)
    follows = np.zeros(n, bool)  # whether column j + 1 has the rows of column j but the first
    if n > 1:
        follows[:-1] = counts[:-1] == counts[1:] + 1
        column = np.repeat(np.arange(n), counts)
        k = np.arange(len(indices))
        looked = follows[column] & (k > np.asarray(indptr)[column])
        ahead = np.minimum(k + counts[column] - 1, len(indices) - 1)
        other = column[looked & (indices != indices[ahead])]
        follows[other] = False
    return np.concatenate([[0], np.flatnonzero(~follows) + 1]) if n else np.zeros(1, np.int64)


def _merged(indptr: Any, indices: Any, firsts: Any) -> Any:
    """The same with neighbours joined, or parted where they are too wide."""
    found = [0]
    rows = indices[:0]
    width = exact = 0
    for first, last in zip(firsts[:-1].tolist(), firsts[1:].tolist(), strict=True):
        below = indices[indptr[last - 1] + 1 : indptr[last]]
        stored = int(indptr[last] - indptr[first])
        wide = width + last - first
        if width and wide <= _WIDEST and rows.size and rows[0] < last:
            union = np.union1d(rows[rows >= last], below)
            size = wide * (wide + 1) // 2 + wide * union.size
            if size <= _SMALL or size - exact - stored <= _ZEROS * size:
                rows, width, exact = union, wide, exact + stored
                continue
        if width:
            found.append(first)
        found.extend(range(first + _WIDEST, last, _WIDEST))
        rows, width, exact = below, last - found[-1], stored
        if last - first > _WIDEST:
            width = _WIDEST  # of which parts were made: nothing joins them
    found.append(int(firsts[-1]))
    return np.array(found if firsts[-1] else [0], np.int64)
