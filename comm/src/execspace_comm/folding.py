"""Joins over ranks in an order that is fixed: by gathering, for MPI's own joins have none.

Of few bytes all ranks gather all contributions and join them alike. Of many each rank joins a part
of the elements, which moves as much as the best algorithms of MPI libraries do (Rabenseifner,
"Optimization of collective reduction operations", 2004). More than 256 ranks join in groups, whose
results are joined in turn.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from .datatypes import datatype_of
from .errors import translated
from .joins import Join, join_of
from .mpi import MPI
from .waiting import wait

__all__ = ["Folding"]

Array = npt.NDArray[Any]

GROUP = 256  # ranks that gather from each other
_FEW_BYTES = 1 << 16  # of all contributions together, up to which all ranks gather them


class Folding:
    """Joins over the ranks of a communicator."""

    def __init__(self, mpi: Any, group: int = GROUP) -> None:
        self._mpi, self.group = mpi, group
        self.rank: int = mpi.Get_rank()
        self.size: int = mpi.Get_size()
        self._inner: Folding | None = None  # this rank's group
        self._outer: Folding | None = None  # the first ranks of groups; None on others

    def groups(self) -> tuple[Any, Any]:
        """MPI's communicators of this rank's group, and of the first ranks of groups, None on
        others. Collective the first time."""
        inner, outer = self._folds()
        return inner._mpi, None if outer is None else outer._mpi

    def _folds(self) -> tuple[Folding, Folding | None]:
        if self._inner is None:
            group, place = divmod(self.rank, self.group)
            self._inner = Folding(self._mpi.Split(group, self.rank), self.group)
            first = self._mpi.Split(0 if place == 0 else MPI.UNDEFINED, self.rank)
            self._outer = Folding(first, self.group) if place == 0 else None
        return self._inner, self._outer

    @staticmethod
    def join(reducer: Any, dtype: np.dtype[Any], what: str) -> Join:
        """What joins elements of a dtype."""
        return join_of(reducer, dtype, what)

    def total(self, numbers: Array, join: Join, what: str) -> Array:
        """What the arrays of all ranks join to, on all ranks. Collective; blocks."""
        if self.size == 1:
            return join.first(numbers)
        if self.size > self.group:
            return self._total_of_groups(numbers, join, what)
        if numbers.nbytes * self.size <= _FEW_BYTES:
            return join.fold(self._gathered(numbers, what))
        part, counts, starts = self._exchanged(numbers, what)
        return self._collected(join.fold(part), numbers, counts, starts, what)

    def prefix(self, numbers: Array, join: Join, exclusive: bool, what: str) -> Array:
        """What the arrays of the ranks up to this one join to. Collective; blocks."""
        if numbers.nbytes * self.size <= _FEW_BYTES:
            parts = self._gathered(numbers, what)
            last = self.rank if exclusive else self.rank + 1
            if not last:
                return np.full_like(numbers, join.identity)
            return join.fold(parts[:last])
        part, counts, starts = self._exchanged(numbers, what)
        found = join.prefixes(part)
        if exclusive:
            found[1:] = found[:-1].copy()
            found[0] = join.identity
        back = np.empty_like(numbers)
        rows, begins, unit = self._rows(int(counts[self.rank]), numbers.itemsize)
        with translated(what):
            request = self._mpi.Ialltoallv(
                [_raw(found), (rows, begins), unit], [_raw(back), (counts, starts), unit]
            )
        wait(request, what)
        return back

    def _rows(self, length: int, size: int) -> tuple[Any, Any, Any]:
        """Counts and beginnings of as many elements for each rank, and their datatype."""
        counts = np.full(self.size, length, np.int64)
        return counts, length * np.arange(self.size), datatype_of(size)

    def _gathered(self, numbers: Array, what: str) -> Array:
        """The arrays of all ranks as rows."""
        rows = np.empty((self.size, numbers.size), numbers.dtype)
        with translated(what):
            request = self._mpi.Iallgather(_bytes(numbers), _bytes(rows))
        wait(request, what)
        return rows

    def _exchanged(self, numbers: Array, what: str) -> tuple[Array, Array, Array]:
        """A part of the elements of all ranks, as rows; and the lengths and beginnings of parts."""
        n = numbers.size
        bounds = np.array([n * r // self.size for r in range(self.size + 1)], np.int64)
        counts, starts = np.diff(bounds), bounds[:-1]
        mine = int(counts[self.rank])
        part = np.empty((self.size, mine), numbers.dtype)
        rows, begins, unit = self._rows(mine, numbers.itemsize)
        with translated(what):
            request = self._mpi.Ialltoallv(
                [_raw(numbers), (counts, starts), unit], [_raw(part), (rows, begins), unit]
            )
        wait(request, what)
        return part, counts, starts

    def _collected(
        self, mine: Array, like: Array, counts: Array, starts: Array, what: str
    ) -> Array:
        """The parts of all ranks as one array."""
        found, unit = np.empty_like(like), datatype_of(like.itemsize)
        with translated(what):
            request = self._mpi.Iallgatherv(
                [_raw(mine), mine.size, unit], [_raw(found), (counts, starts), unit]
            )
        wait(request, what)
        return found

    def _total_of_groups(self, numbers: Array, join: Join, what: str) -> Array:
        inner, outer = self._folds()
        found = inner.total(numbers, join, what)
        if outer is not None:
            found = outer.total(found, join, what)
        with translated(what):
            request = inner._mpi.Ibcast([_raw(found), found.size, datatype_of(found.itemsize)], 0)
        wait(request, what)
        return found

    def free(self) -> None:
        """Give up the communicators of groups. Collective."""
        for part in (self._inner, self._outer):
            if part is not None:
                part._mpi.Free()
        self._inner = self._outer = None


def _raw(numbers: Array) -> Array:
    return numbers.view(np.uint8).reshape(-1)


def _bytes(numbers: Array) -> list[Any]:
    return [_raw(numbers), MPI.BYTE]
