"""What all parts of a communicator share: MPI's communicator, parcels, checks and counts."""

from __future__ import annotations

import operator
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import execspace as es
from execspace.views.deep_copy import may_overlap, share_elements

from .awareness import takes
from .checks import Checker
from .datatypes import grouped
from .errors import CommError
from .mpi import MPI
from .parcels import Carrier, Parcel
from .traffic import Traffic
from .waiting import tend, wait

__all__ = ["CommBase", "overlap", "refuse_overlap", "refuse_recording"]

Where = str | es.ExecutionSpace | None


class CommBase:
    """The state of a communicator; `Comm` has what users call."""

    def __init__(self, mpi: Any, checked: bool) -> None:
        self._mpi = mpi
        self._rank: int = mpi.Get_rank()
        self._size: int = mpi.Get_size()
        self._carrier = Carrier(takes)
        self._checker = Checker(mpi) if checked and self._size > 1 else None
        self._traffic: list[Traffic] = []
        most = mpi.Get_attr(MPI.TAG_UB)
        self._last_tag: int = 2**15 - 1 if most is None else int(most)

    @property
    def mpi(self) -> Any:
        """MPI's communicator, as mpi4py has it."""
        return self._mpi

    @property
    def rank(self) -> int:
        """Number of this process, from 0."""
        return self._rank

    @property
    def size(self) -> int:
        """Number of processes."""
        return self._size

    @property
    def checked(self) -> bool:
        """Whether ranks tell each other what they call, so that mistakes are found."""
        return self._checker is not None

    @contextmanager
    def counting(self) -> Iterator[Traffic]:
        """Count what this rank sends within a `with` block.

        Examples
        --------
        >>> import execspace as es
        >>> import execspace_comm as escomm
        >>> comm = escomm.world()
        >>> with comm.counting() as traffic:
        ...     _ = comm.allreduce(es.ones(4, space="serial"))
        >>> traffic.collectives["allreduce"]
        1
        """
        traffic = Traffic()
        self._traffic.append(traffic)
        try:
            yield traffic
        finally:
            # In place: a communicator of the library's own counts in the same list.
            self._traffic[:] = [kept for kept in self._traffic if kept is not traffic]

    def trim(self) -> None:
        """Give up staging buffers, and what requests that were dropped have kept, where no message
        uses it any more. Blocks while copies from buffers run."""
        tend()
        self._carrier.staging.trim()

    # -- for the parts -----------------------------------------------------------------------------

    def _count_message(self, dest: int, nbytes: int) -> None:
        for traffic in self._traffic:
            if dest not in (MPI.PROC_NULL, self._rank):
                traffic.sent(dest, nbytes)

    def _begin(self, name: str, nbytes: int, **about: Any) -> None:
        """What comes before an operation of all ranks."""
        if self._checker is not None:
            self._checker.collective(name, **about)
        for traffic in self._traffic:
            traffic.joined(name, nbytes)

    def _parcel(self, view: es.View, space: Where, host: bool = False) -> Parcel:
        tend()
        where = es.space(space) if isinstance(space, str) else space
        parcel = self._carrier.parcel(view, where, host)
        self._count_staged(parcel)
        return parcel

    def _count_staged(self, parcel: Parcel) -> None:
        if parcel.buffer is not None:
            for traffic in self._traffic:
                traffic.staged += parcel.view.nbytes

    def _view(self, value: Any, what: str, *, written: bool = False) -> es.View:
        """A View of what is given; CommError for what is none, or is written and read-only."""
        refuse_recording(what)
        try:
            view = value if type(value) is es.View else es.view_of(value)
        except es.ViewTypeError as error:
            raise CommError(f"{what}: {error} Expected a View, or an array.") from None
        if written and view.is_readonly:
            raise CommError(f"{what}: View '{view.label}' is read-only and would be written.")
        return view

    def _peer(
        self, rank: Any, what: str, name: str, any_source: bool = False, nobody: bool = True
    ) -> int:
        """A rank that is meant; CommError if there is none."""
        try:
            found = operator.index(rank)
        except TypeError:
            found = -99
        if 0 <= found < self._size or (nobody and found == MPI.PROC_NULL):
            return found
        if any_source and found == MPI.ANY_SOURCE:
            return found
        raise CommError(
            f"{what}: {name}={rank!r} is not a rank of this communicator; expected a number from 0 "
            f"to {self._size - 1}."
        )

    def _root(self, rank: Any, what: str) -> int:
        return self._peer(rank, what, "root", nobody=False)

    def _tag(self, tag: Any, what: str, any_tag: bool = False) -> int:
        """A tag; CommError for what is none."""
        try:
            found = operator.index(tag)
        except TypeError:
            found = -99
        if 0 <= found <= self._last_tag or (any_tag and found == MPI.ANY_TAG):
            return found
        raise CommError(
            f"{what}: tag={tag!r} is none; expected a number from 0 to {self._last_tag}."
        )

    def _finish(self, request: Any, what: str, *parcels: Parcel | None) -> None:
        """Wait; what MPI uses lives on if that is interrupted."""
        wait(request, what, kept=tuple(parcel for parcel in parcels if parcel is not None))

    @staticmethod
    def _unit(view: es.View, counts: Sequence[int] | None = None) -> tuple[Any, int]:
        """MPI's datatype, and by what counts of elements are divided."""
        return grouped(view.dtype.itemsize, (view.size,) if counts is None else counts)


def overlap(a: es.View, b: es.View) -> bool:
    """Whether two Views have elements in common."""
    return a.memory_space is b.memory_space and may_overlap(a, b) and share_elements(a, b)


def refuse_overlap(what: str, a: es.View, b: es.View) -> None:
    """CommError if two Views share memory, of which MPI would read one and write the other."""
    if overlap(a, b):
        raise CommError(
            f"{what}: View '{a.label}', which is read, and View '{b.label}', which is written, "
            f"share memory; expected two that do not."
        )


def refuse_recording(what: str) -> None:
    """Raise LaunchError while a graph is recorded: a message cannot be replayed."""
    if es.is_recorded():
        raise es.LaunchError(
            f"{what}: a graph is recorded, and messages cannot be; end the recording before it."
        )
