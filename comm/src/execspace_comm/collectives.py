"""Operations of all ranks on Views: broadcast, gather, scatter, alltoall, reduce and scan."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from itertools import accumulate
from math import prod
from typing import Any

import numpy as np

import execspace as es

from .base import CommBase, Where, refuse_overlap, refuse_recording
from .errors import CommError, translated
from .folding import Folding

__all__ = ["Collectives"]


class Collectives(CommBase):
    """The part of `Comm` with operations that all ranks call in the same order."""

    def __init__(self, mpi: Any, checked: bool) -> None:
        super().__init__(mpi, checked)
        self._folding = Folding(mpi)

    def barrier(self) -> None:
        """Wait until all ranks have come here. Blocks; waits for no launch."""
        refuse_recording("barrier")
        self._begin("barrier", 0)
        with translated("barrier"):
            self._finish(self._mpi.Ibarrier(), "barrier")

    def broadcast(self, view: es.View | Any, root: int = 0, *, space: Where = None) -> None:
        """Give the elements of one rank to all. Blocks.

        Parameters
        ----------
        view : View or array
            Of the same shape and dtype on all ranks, in any space and layout; read on `root` and
            written on the others.
        root : int
        space : str or ExecutionSpace, optional
            In whose order it is read or written; that of the View if not given.
        """
        root = self._root(root, "broadcast")
        target = self._view(view, "broadcast", written=self.rank != root)
        mine = self.rank == root
        self._begin(
            "broadcast", target.nbytes if mine else 0, root=root, shape=target.shape,
            dtype=str(target.dtype),
        )  # fmt: skip
        unit, group = self._unit(target)
        parcel = self._parcel(target, space)
        parcel.fill() if mine else parcel.clear()
        with translated("broadcast"):
            request = self._mpi.Ibcast([parcel.memory, target.size // group, unit], root)
        self._finish(request, "broadcast", parcel)
        if not mine:
            parcel.store()
        parcel.drop(used=not mine)

    # -- gather and scatter ------------------------------------------------------------------------

    def gather(
        self, view: es.View | Any, out: es.View | Any = None, root: int = 0, *,
        space: Where = None,
    ) -> es.View | None:  # fmt: skip
        """Bring the Views of all ranks to one, side by side. Blocks.

        Parameters
        ----------
        view : View or array
            Of the same shape and dtype on all ranks; read.
        out : View or array, optional
            On `root`, of shape ``(size, *view.shape)``, written. A new View, in the space of
            `view`, if not given.
        root : int
        space : str or ExecutionSpace, optional

        Returns
        -------
        View or None
            `out`, or the new View; None on other ranks.
        """
        root = self._root(root, "gather")
        source = self._view(view, "gather")
        counts = [source.size] * self.size
        shape = (self.size, *source.shape)
        self._begin("gather", source.nbytes, root=root, shape=source.shape, dtype=str(source.dtype))
        return self._gathered("gather", source, out, shape, counts, root, space)

    def gatherv(
        self, view: es.View | Any, out: es.View | Any = None, root: int = 0, *,
        space: Where = None,
    ) -> es.View | None:  # fmt: skip
        """Bring Views of different lengths to one rank, one after the other. Blocks.

        Parameters
        ----------
        view : View or array
            Of the same dtype on all ranks, and the same shape but for the first dimension.
        out : View or array, optional
            On `root`, as long as all together. A new View if not given.
        root : int
        space : str or ExecutionSpace, optional
        """
        root = self._root(root, "gatherv")
        source = self._view(view, "gatherv")
        counts, shape = self._lengths(source, "gatherv", root=root)
        return self._gathered("gatherv", source, out, shape, counts, root, space)

    def allgather(
        self, view: es.View | Any, out: es.View | Any = None, *, space: Where = None
    ) -> es.View:
        """As `gather`, to all ranks. Blocks."""
        source = self._view(view, "allgather")
        self._begin("allgather", source.nbytes, shape=source.shape, dtype=str(source.dtype))
        shape, counts = (self.size, *source.shape), [source.size] * self.size
        found = self._gathered("allgather", source, out, shape, counts, None, space)
        assert found is not None
        return found

    def allgatherv(
        self, view: es.View | Any, out: es.View | Any = None, *, space: Where = None
    ) -> es.View:
        """As `gatherv`, to all ranks. Blocks."""
        source = self._view(view, "allgatherv")
        counts, shape = self._lengths(source, "allgatherv")
        found = self._gathered("allgatherv", source, out, shape, counts, None, space)
        assert found is not None
        return found

    def scatter(
        self, view: es.View | Any, out: es.View | Any, root: int = 0, *, space: Where = None
    ) -> es.View:
        """Give each rank a row of a View of one of them. Blocks.

        Parameters
        ----------
        view : View or array
            On `root`, of shape ``(size, *out.shape)``; read. None on other ranks.
        out : View or array
            Of the same shape and dtype on all ranks; written.
        root : int
        space : str or ExecutionSpace, optional
        """
        root = self._root(root, "scatter")
        target = self._view(out, "scatter", written=True)
        self._begin("scatter", 0, root=root, shape=target.shape, dtype=str(target.dtype))
        return self._scattered(
            "scatter", view, target, (self.size, *target.shape), [target.size] * self.size, root,
            space,
        )  # fmt: skip

    def scatterv(
        self, view: es.View | Any, out: es.View | Any, root: int = 0, *, space: Where = None
    ) -> es.View:
        """Give each rank as many rows of a View of one of them as its `out` has. Blocks."""
        root = self._root(root, "scatterv")
        target = self._view(out, "scatterv", written=True)
        counts, shape = self._lengths(target, "scatterv", root=root)
        return self._scattered("scatterv", view, target, shape, counts, root, space)

    def _lengths(self, view: es.View, what: str, **about: Any) -> tuple[list[int], tuple[int, ...]]:
        """How many elements each rank has, and the shape of all together."""
        if not view.shape:
            raise CommError(
                f"{what}: View '{view.label}' has rank 0, and no first dimension; expected rows."
            )
        self._begin(what, view.nbytes, shape=("*", *view.shape[1:]), dtype=str(view.dtype), **about)
        lengths = np.empty(self.size, np.int64)
        mine = np.array([view.shape[0]], np.int64)
        with translated(what):
            self._finish(self._mpi.Iallgather(mine, lengths), what)
        row = prod(view.shape[1:])
        return [int(n) * row for n in lengths], (int(lengths.sum()), *view.shape[1:])

    def _gathered(
        self, what: str, source: es.View, out: Any, shape: tuple[int, ...], counts: list[int],
        root: int | None, space: Where,
    ) -> es.View | None:  # fmt: skip
        gets = root is None or self.rank == root
        target = self._result(what, source, out, shape) if gets else None
        if target is not None:
            refuse_overlap(what, source, target)
        unit, group = self._unit(source, counts)
        sent = self._parcel(source, space)
        sent.fill()
        got = None if target is None else self._parcel(target, space)
        if got is not None:
            got.clear()
        message = [sent.memory, source.size // group, unit]
        everything = None if got is None else [got.memory, _parts(counts, group), unit]
        with translated(what):
            if root is None:
                request = self._mpi.Iallgatherv(message, everything)
            else:
                request = self._mpi.Igatherv(message, everything, root)
        self._finish(request, what, sent, got)
        if got is not None:
            got.store()
            got.drop(used=True)
        sent.drop()
        return target

    def _scattered(
        self, what: str, view: Any, target: es.View, shape: tuple[int, ...], counts: list[int],
        root: int, space: Where,
    ) -> es.View:  # fmt: skip
        sent = None
        unit, group = self._unit(target, counts)
        if self.rank == root:
            source = self._view(view, what)
            if source.shape != shape or source.dtype != target.dtype:
                raise CommError(
                    f"{what}: View '{source.label}' has shape {source.shape} and dtype "
                    f"{source.dtype}; expected {shape} and {target.dtype}."
                )
            refuse_overlap(what, source, target)
            sent = self._parcel(source, space)
            sent.fill()
        got = self._parcel(target, space)
        got.clear()
        everything = None if sent is None else [sent.memory, _parts(counts, group), unit]
        message = [got.memory, target.size // group, unit]
        with translated(what):
            request = self._mpi.Iscatterv(everything, message, root)
        self._finish(request, what, sent, got)
        got.store()
        got.drop(used=True)
        if sent is not None:
            sent.drop()
        return target

    def _result(self, what: str, like: es.View, out: Any, shape: tuple[int, ...]) -> es.View:
        """The View that is written: `out`, or a new one."""
        if out is None:
            where: Any = {"memory": like.memory_space}
            if like.space is not None:
                where["space"] = like.space
            return es.View(shape, like.dtype, label=what, initialize=False, **where)
        target = self._view(out, what, written=True)
        if target.shape != shape or target.dtype != like.dtype:
            raise CommError(
                f"{what}: out= has shape {target.shape} and dtype {target.dtype}; expected {shape} "
                f"and {like.dtype}."
            )
        return target

    # -- all to all --------------------------------------------------------------------------------

    def alltoall(
        self, view: es.View | Any, out: es.View | Any = None, *, space: Where = None
    ) -> es.View:
        """Give row `r` to rank `r`, and get row `r` from rank `r`. Blocks.

        Parameters
        ----------
        view : View or array
            Of shape ``(size, ...)``, the same on all ranks; read.
        out : View or array, optional
            Of the same shape and dtype; written. A new View if not given.
        space : str or ExecutionSpace, optional
        """
        source = self._view(view, "alltoall")
        if not source.shape or source.shape[0] != self.size:
            raise CommError(
                f"alltoall: View '{source.label}' has shape {source.shape}; expected a row for "
                f"each of {self.size} ranks."
            )
        self._begin("alltoall", source.nbytes, shape=source.shape, dtype=str(source.dtype))
        counts = [prod(source.shape[1:])] * self.size
        return self._exchanged("alltoall", source, out, source.shape, counts, counts, space)

    def alltoallv(
        self, view: es.View | Any, counts: Sequence[int], out: es.View | Any = None, *,
        space: Where = None,
    ) -> tuple[es.View, list[int]]:  # fmt: skip
        """Give each rank some rows of a View. Blocks.

        Parameters
        ----------
        view : View or array
            Read; its rows go to the ranks in their order, of the same shape on all.
        counts : sequence of int
            How many rows each rank gets.
        out : View or array, optional
            Written; as long as what comes. A new View if not given.
        space : str or ExecutionSpace, optional

        Returns
        -------
        View
            `out`, or the new one: rows of rank 0 first.
        list of int
            How many rows came from each rank.
        """
        source = self._view(view, "alltoallv")
        rows = self._counts(counts, source)
        row = prod(source.shape[1:])
        about = {"shape": ("*", *source.shape[1:]), "dtype": str(source.dtype)}
        self._begin("alltoallv", source.nbytes, **about)
        found = np.empty(self.size, np.int64)
        with translated("alltoallv"):
            self._finish(self._mpi.Ialltoall(np.array(rows, np.int64), found), "alltoallv")
        coming = [int(n) for n in found]
        shape = (sum(coming), *source.shape[1:])
        target = self._exchanged(
            "alltoallv", source, out, shape, [n * row for n in rows], [n * row for n in coming],
            space,
        )  # fmt: skip
        return target, coming

    def _counts(self, counts: Any, source: es.View) -> list[int]:
        try:
            rows = [operator.index(n) for n in counts]
        except TypeError:
            rows = []
        if len(rows) != self.size or min(rows) < 0 or sum(rows) != (*source.shape, 0)[0]:
            raise CommError(
                f"alltoallv: counts={counts!r} for View '{source.label}' of shape {source.shape}; "
                f"expected {self.size} numbers of rows, which add up to the first extent."
            )
        return rows

    def _exchanged(
        self, what: str, source: es.View, out: Any, shape: tuple[int, ...], there: list[int],
        here: list[int], space: Where,
    ) -> es.View:  # fmt: skip
        target = self._result(what, source, out, shape)
        refuse_overlap(what, source, target)
        unit, group = self._unit(source, [*there, *here])
        sent, got = self._parcel(source, space), self._parcel(target, space)
        sent.fill()
        got.clear()
        with translated(what):
            request = self._mpi.Ialltoallv(
                [sent.memory, _parts(there, group), unit], [got.memory, _parts(here, group), unit]
            )
        self._finish(request, what, sent, got)
        got.store()
        got.drop(used=True)
        sent.drop()
        return target

    # -- reductions --------------------------------------------------------------------------------

    def reduce(
        self, view: es.View | Any, out: es.View | Any = None, *, reducer: Any = es.Sum,
        root: int = 0, space: Where = None,
    ) -> es.View | None:  # fmt: skip
        """Join the Views of all ranks element by element, on one of them. Blocks.

        Parameters
        ----------
        view : View or array
            Of the same shape and dtype on all ranks; read.
        out : View or array, optional
            On `root`, of the same shape and dtype; it may be `view`. A new View if not given.
        reducer : Reducer, default es.Sum
            One that joins numbers: es.Sum, Prod, Min, Max, LAnd, LOr, BAnd, BOr or one's own.
        root : int
        space : str or ExecutionSpace, optional

        Returns
        -------
        View or None
            `out`, or the new View; None on other ranks.

        Notes
        -----
        Joined in the dtype of the View, from the first rank to the last (up to 256 of them; of
        more in groups of 256): the bits do not depend on the MPI library or on what arrives first.
        """
        root = self._root(root, "reduce")
        return self._joined("reduce", view, out, reducer, space, root)

    def allreduce(
        self, view: es.View | Any, out: es.View | Any = None, *, reducer: Any = es.Sum,
        space: Where = None,
    ) -> es.View:  # fmt: skip
        """As `reduce`, on all ranks, which get the same bits. Blocks."""
        found = self._joined("allreduce", view, out, reducer, space, None)
        assert found is not None
        return found

    def scan(
        self, view: es.View | Any, out: es.View | Any = None, *, reducer: Any = es.Sum,
        exclusive: bool = False, space: Where = None,
    ) -> es.View:  # fmt: skip
        """Join, element by element, what this rank and those before it have. Blocks.

        Parameters
        ----------
        view, out, reducer, space
            As of `allreduce`.
        exclusive : bool, default False
            Leave out this rank: the first one gets the identity.
        """
        source = self._view(view, "scan")
        join = self._folding.join(reducer, source.dtype, "scan")
        self._begin(
            "scan", source.nbytes, shape=source.shape, dtype=str(source.dtype), reducer=join.about,
            exclusive=exclusive,
        )  # fmt: skip
        if join.final is not None:
            raise CommError(f"scan: reducer {join.name} has a final, which a scan has no use for.")
        if exclusive:
            join.check_identity(source.dtype, "scan")
        numbers = self._numbers(source, space)
        found = self._folding.prefix(numbers, join, exclusive, "scan")
        return self._stored("scan", source, out, found, space)

    def _joined(
        self, what: str, view: Any, out: Any, reducer: Any, space: Where, root: int | None
    ) -> es.View | None:
        source = self._view(view, what)
        join = self._folding.join(reducer, source.dtype, what)
        self._begin(
            what, source.nbytes, shape=source.shape, dtype=str(source.dtype), reducer=join.about,
            root=root,
        )  # fmt: skip
        numbers = self._numbers(source, space)
        found = join.finished(self._folding.total(numbers, join, what))
        if root is not None and self.rank != root:
            return None
        return self._stored(what, source, out, found, space)

    def _numbers(self, source: es.View, space: Where) -> Any:
        """Elements as an array of rank 1 that is the caller's own."""
        parcel = self._parcel(source, space, host=True)
        parcel.fill()
        numbers = parcel.array.copy()
        parcel.drop()
        return numbers

    def _stored(self, what: str, source: es.View, out: Any, found: Any, space: Where) -> es.View:
        target = self._result(what, source, out, source.shape)
        parcel = self._parcel(target, space, host=True)
        parcel.clear()
        parcel.array[...] = found
        parcel.store()
        parcel.drop(used=True)
        return target


def _parts(counts: list[int], group: int) -> tuple[list[int], list[int]]:
    """Counts and beginnings of parts that follow one another, as MPI takes them."""
    fewer = counts if group == 1 else [n // group for n in counts]
    return fewer, [0, *accumulate(fewer[:-1])]
