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

    def total(self, numbers: Array, join: Join) -> Array:
        """What the arrays of all ranks join to, on all ranks. Collective; blocks."""
        if self.size == 1:
            return numbers
        if self.size > self.group:
            return self._total_of_groups(numbers, join)
        if numbers.nbytes * self.size <= _FEW_BYTES:
            return join.fold(self._gathered(numbers))
        part, counts, starts = self._exchanged(numbers)
        return self._collected(join.fold(part), numbers, counts, starts)

    def prefix(self, numbers: Array, join: Join, exclusive: bool) -> Array:
        """What the arrays of the ranks up to this one join to. Collective; blocks."""
        if numbers.nbytes * self.size <= _FEW_BYTES:
            parts = self._gathered(numbers)
            last = self.rank if exclusive else self.rank + 1
            if not last:
                return np.full_like(numbers, join.identity)
            return join.fold(parts[:last])
        part, counts, starts = self._exchanged(numbers)
        found = join.prefixes(part)
        if exclusive:
            found[1:] = found[:-1].copy()
            found[0] = join.identity
        back = np.empty_like(numbers)
        mine, size = int(counts[self.rank]), numbers.itemsize
        rows = [mine * size] * self.size
        with translated("scan"):
            request = self._mpi.Ialltoallv(
                [found.view(np.uint8).reshape(-1), (rows, _starts(rows)), MPI.BYTE],
                [back.view(np.uint8), (counts * size, starts * size), MPI.BYTE],
            )
            wait(request, "scan")
        return back

    def _gathered(self, numbers: Array) -> Array:
        """The arrays of all ranks as rows."""
        rows = np.empty((self.size, numbers.size), numbers.dtype)
        with translated("allgather"):
            wait(self._mpi.Iallgather(_bytes(numbers), _bytes(rows)), "allgather")
        return rows

    def _exchanged(self, numbers: Array) -> tuple[Array, Array, Array]:
        """A part of the elements of all ranks, as rows; and the lengths and beginnings of parts."""
        n, size = numbers.size, numbers.itemsize
        bounds = np.array([n * r // self.size for r in range(self.size + 1)], np.int64)
        counts, starts = np.diff(bounds), bounds[:-1]
        mine = int(counts[self.rank])
        part = np.empty((self.size, mine), numbers.dtype)
        rows = [mine * size] * self.size
        with translated("alltoall"):
            request = self._mpi.Ialltoallv(
                [numbers.view(np.uint8), (counts * size, starts * size), MPI.BYTE],
                [part.view(np.uint8).reshape(-1), (rows, _starts(rows)), MPI.BYTE],
            )
            wait(request, "alltoall")
        return part, counts, starts

    def _collected(self, mine: Array, like: Array, counts: Array, starts: Array) -> Array:
        """The parts of all ranks as one array."""
        found, size = np.empty_like(like), like.itemsize
        with translated("allgather"):
            request = self._mpi.Iallgatherv(
                _bytes(mine), [found.view(np.uint8), (counts * size, starts * size), MPI.BYTE]
            )
            wait(request, "allgather")
        return found

    def _total_of_groups(self, numbers: Array, join: Join) -> Array:
        inner, outer = self._folds()
        found = inner.total(numbers, join)
        if outer is not None:
            found = outer.total(found, join)
        with translated("broadcast"):
            wait(inner._mpi.Ibcast(_bytes(found), 0), "broadcast")
        return found


def _bytes(numbers: Array) -> list[Any]:
    return [numbers.view(np.uint8).reshape(-1), MPI.BYTE]


def _starts(counts: list[int]) -> list[int]:
    return [sum(counts[:n]) for n in range(len(counts))]
