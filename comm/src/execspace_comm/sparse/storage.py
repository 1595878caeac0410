"""Stored: what a rank has of a matrix, in the parts that products need, and buffers for ghosts."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

import execspace as es
from execspace_kernels import sparse
from execspace_kernels.arguments import at_once

from ..communicator import Comm
from .exchange import Exchange, Plan
from .partition import Partition
from .splitting import Rows, split

__all__ = ["Stored"]

_MOST_KEPT = 8  # buffers of exchanges, for vectors of different dtypes and numbers of columns


class Stored:
    """The part of `DistributedCrsMatrix` that products read."""

    comm: Comm
    space: es.ExecutionSpace
    rows: Partition
    columns: Partition
    shape: tuple[int, int]
    dtype: np.dtype[Any]
    ghosts: npt.NDArray[np.int64]
    overlap: bool
    _plan: Plan

    def _store(self, arrays: Rows, local: npt.NDArray[Any]) -> None:
        """Keep rows by local numbers of columns, in the parts that products need."""
        self._exchanges: dict[Any, Any] = {}
        self._partials: dict[Any, es.View] = {}
        self._whole: sparse.CrsMatrix | None = None
        self._own: sparse.CrsMatrix | None = None
        if self.overlap:
            self._split(arrays, local)
        else:
            shape = self.rows.size, self.columns.size + self.ghosts.size
            self._whole = self._crs(arrays.row_map, local, arrays.values, shape)

    def _split(self, arrays: Rows, local: npt.NDArray[Any]) -> None:
        parts, is_ghost = split(arrays.row_map, local, self.columns.size)
        self._is_ghost = np.packbits(is_ghost)  # for values that come later
        values = arrays.values
        shape = self.rows.size, self.columns.size
        self._own = self._crs(parts.own_map, parts.own_entries, values[~is_ghost], shape)
        shape = parts.rows.size, self.ghosts.size
        self._ghost = self._crs(parts.ghost_map, parts.ghost_entries, values[is_ghost], shape)
        self._ghost_rows = es.array(parts.rows, space=self.space, label="rows with ghosts")

    def _crs(
        self, row_map: Any, entries: Any, values: Any, shape: tuple[int, int]
    ) -> sparse.CrsMatrix:
        starts, columns, numbers = (
            es.array(a, space=self.space) for a in (row_map, entries, values)
        )
        return sparse.CrsMatrix(starts, columns, numbers, shape, check=False)

    @property
    def own(self) -> sparse.CrsMatrix:
        """The rows of this rank with the columns of this rank, for preconditioners that act on a
        rank alone, such as ``execspace_kernels.sparse.Jacobi(A.own)``.

        Of a matrix with ``overlap=False`` it is a copy, made when it is first asked for, which
        `update` keeps up to date. Not to be changed.
        """
        if self._own is None:
            whole = self._whole
            assert whole is not None
            arrays = [view.to_numpy() for view in (whole.row_map, whole.entries, whole.values)]
            parts, is_ghost = split(arrays[0], arrays[1], self.columns.size)
            self._is_ghost = np.packbits(is_ghost)
            shape = self.rows.size, self.columns.size
            self._own = self._crs(parts.own_map, parts.own_entries, arrays[2][~is_ghost], shape)
        return self._own

    @property
    def nnz(self) -> int:
        """Entries of this rank."""
        if self._whole is not None:
            return self._whole.nnz
        assert self._own is not None
        return self._own.nnz + self._ghost.nnz

    @property
    def neighbours(self) -> tuple[int, ...]:
        """Ranks that this one exchanges with in a product."""
        return tuple(sorted({*self._plan.incoming, *self._plan.outgoing}))

    @property
    def sends(self) -> int:
        """Elements that this rank sends for a product with one vector."""
        return self._plan.sends

    def __repr__(self) -> str:
        rows, columns = self.shape
        return (
            f"<DistributedCrsMatrix {rows} x {columns} of {self.dtype}; rank {self.comm.rank} of "
            f"{self.comm.size} has rows {self.rows.lower} to {self.rows.upper} with {self.nnz} "
            f"entries and {self.ghosts.size} ghosts>"
        )

    def _partial(self, like: es.View) -> es.View:
        """A number of a dtype, for a sum that others are added to. Kept."""
        found = self._partials.get(like.dtype)
        if found is None:
            found = es.zeros((), like.dtype, space=self.space, label="partial sum")
            self._partials[like.dtype] = found
        return found

    def _exchange(self, x: es.View) -> Exchange | None:
        """What brings the ghosts of x; None if no rank has any."""
        if self.comm.size == 1:
            return None
        key = x.dtype, x.shape[1:]
        found: Exchange | None = self._exchanges.get(key)
        if found is None:
            found = at_once(Exchange, self._plan, x.dtype, x.shape[1:])
            self._keep(key, found)
        return found

    def _exchange_in_order(self, x: es.View) -> tuple[Exchange | None, Any]:
        """The same, with the vector of own elements and ghosts."""
        if self.comm.size == 1:
            return None, None
        key = x.dtype, x.shape[1:]
        if key not in self._exchanges:
            rows = self.columns.size + self.ghosts.size
            full = es.View(
                (rows, *x.shape[1:]), x.dtype, label="x with ghosts", space=self.space,
                layout="right",
            )  # fmt: skip
            ghosts = full[self.columns.size :]
            self._keep(key, (at_once(Exchange, self._plan, x.dtype, x.shape[1:], ghosts), full))
        exchange, full = self._exchanges[key]
        return exchange, full

    def _keep(self, key: Any, made: Any) -> None:
        if len(self._exchanges) >= _MOST_KEPT:
            self._exchanges.pop(next(iter(self._exchanges)))
        self._exchanges[key] = made
