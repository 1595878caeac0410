"""Comm: MPI's communicators, whose messages are Views."""

from __future__ import annotations

import operator
from functools import cache
from typing import TYPE_CHECKING, Any

import execspace as es
from execspace.base import config

from .base import refuse_recording
from .collectives import Collectives
from .errors import CommError, translated
from .failures import watch
from .mpi import MPI
from .point_to_point import PointToPoint
from .reductions import Reductions
from .waiting import told_by_all

if TYPE_CHECKING:
    from .nccl import NcclComm

__all__ = ["Comm", "world"]


class Comm(PointToPoint, Collectives, Reductions):
    """Processes that send each other Views; an MPI communicator with other methods.

    Parameters
    ----------
    mpi : mpi4py.MPI.Comm, optional
        Whose processes take part; all of the program if not given. It is used as it is, so
        messages may be exchanged with code that uses mpi4py, C or Fortran on the same one.
    checked : bool, optional
        Ranks tell each other what they call, and a mistake raises with the ranks that differ. It
        takes about as many messages again. As EXECSPACE_CHECK=comm says if not given. All ranks
        must agree on it.

    Raises
    ------
    CommError
        If `mpi` is no communicator of processes.

    Notes
    -----
    Messages have the elements of Views in the order of their indices, so layouts and memories may
    differ at the two ends. Collective operations are called by all ranks in the same order.

    Where MPI can address the memory and elements lie in that order, it gets the address of the
    View. Otherwise they go through a staging buffer, of which tools are told. `execspace doctor`
    says whether MPI takes addresses of devices.

    MPI: https://www.mpi-forum.org/docs/. Kokkos Comm: https://kokkos.org/kokkos-comm/

    Examples
    --------
    >>> import execspace as es
    >>> import execspace_comm as escomm
    >>> comm = escomm.world()
    >>> total = comm.allreduce(es.ones(3, space="serial"))
    >>> total.to_numpy().tolist() == [comm.size] * 3
    True
    """

    def __init__(self, mpi: Any = None, *, checked: bool | None = None) -> None:
        found = MPI.COMM_WORLD if mpi is None else mpi
        if not isinstance(found, MPI.Intracomm) or found == MPI.COMM_NULL:
            raise CommError(
                f"Comm({mpi!r}): expected a communicator of mpi4py, such as "
                f"mpi4py.MPI.COMM_WORLD; escomm.world() is that of all processes."
            )
        self._of_spaces: dict[str, NcclComm] = {}
        self._is_own = False  # made here, and not by the user
        self._parts: dict[Any, Comm] = {}  # what is made of it for algorithms, and kept
        self._apart_made: Comm | None = None
        self._apart_tags = 0
        self._halos = 0  # that were made
        super().__init__(found, "comm" in config.checks() if checked is None else bool(checked))

    def split(self, color: int | None, key: int = 0) -> Comm | None:
        """Communicators of the ranks that give the same colour. Collective; blocks.

        Parameters
        ----------
        color : int or None
            Which of them this rank is in; None for none of them.
        key : int
            Ranks are in the order of keys, then in that of this communicator.
        """
        refuse_recording("split")
        try:
            chosen = MPI.UNDEFINED if color is None else operator.index(color)
            place = operator.index(key)
        except TypeError:
            raise CommError(f"split: {color!r}, {key!r}; expected numbers, or None.") from None
        if color is not None and chosen < 0:
            raise CommError(f"split: color={color!r}; expected a number from 0, or None.")
        self._begin("split", 0)
        with translated("split"):
            found = self._mpi.Split(chosen, place)
        return None if found == MPI.COMM_NULL else self._made(found)

    def of_host(self) -> Comm:
        """The ranks of this one that share the memory of a host. Collective; blocks."""
        refuse_recording("of_host")
        self._begin("of_host", 0)
        with translated("of_host"):
            return self._made(self._mpi.Split_type(MPI.COMM_TYPE_SHARED))

    def free(self) -> None:
        """Give up what MPI has for this communicator. Collective; blocks.

        One that `split` or `of_host` made is gone then; of one that the user has made with mpi4py,
        or that of all processes, only what was made beside it. MPI libraries have room for some
        2000 communicators, so programs that make many free them.
        """
        for nccl in self._of_spaces.values():
            nccl.free()
        self._of_spaces.clear()
        self._folding.free()
        for part in self._parts.values():
            part.free()
        self._parts.clear()
        if self._apart_made is not None:
            self._apart_made.free()
            self._apart_made = None
        if self._checker is not None:
            self._checker.free()
            self._checker = None
        if self._is_own:
            self._mpi.Free()

    def _made(self, mpi: Any) -> Comm:
        found = Comm(mpi, checked=self.checked)
        found._is_own = True
        return found

    def _apart(self) -> tuple[Comm, int]:
        """The same ranks for messages of the library, which no message of the program's meets,
        and a tag that nothing else there has. Collective; blocks the first time."""
        if self._apart_made is None:
            with translated("Comm"):
                made = self._made(self._mpi.Dup())
            made._carrier, made._traffic = self._carrier, self._traffic
            self._apart_made = made
        self._apart_tags = self._apart_tags % self._last_tag + 1
        return self._apart_made, self._apart_tags

    def _told_by_all(self, value: Any, what: str) -> list[Any]:
        """What each rank tells, pickled. Collective; blocks."""
        return told_by_all(self._mpi, value, what)

    def nccl(self, space: str | es.ExecutionSpace | None = None) -> NcclComm:
        """NCCL's communicator of these ranks, on the GPU of a space; made once for each space.

        Collective; blocks. `CommError` where a rank has no such GPU, or two share one.
        """
        from .nccl import NcclComm

        chosen = es.default_space() if space is None else space
        home = es.space(chosen) if isinstance(chosen, str) else chosen
        if home.name not in self._of_spaces:
            self._of_spaces[home.name] = NcclComm(self, home)
        return self._of_spaces[home.name]

    def abort(self, message: str = "") -> None:
        """End the program on all ranks at once, with status 1 and a message of this rank."""
        from .failures import end

        end(f"rank {self.rank}: {message or 'abort()'}")

    def __reduce__(self) -> Any:
        if self._mpi == MPI.COMM_WORLD:
            return _restored, (self.checked,)
        raise TypeError(f"{self!r} cannot be pickled: it is of this program's processes.")

    def __repr__(self) -> str:
        return f"<Comm: rank {self.rank} of {self.size}>"

    def __getattr__(self, name: str) -> Any:
        meant = _ALSO.get(name)
        if meant is not None:
            raise AttributeError(f"Comm has no {name!r}; expected {meant!r}.")
        raise AttributeError(
            f"Comm has no {name!r}; {name!r} of mpi4py's communicator is comm.mpi.{name}."
            if hasattr(MPI.Comm, name)
            else f"Comm has no {name!r}."
        )


# What other libraries call it.
_ALSO = {
    "receive": "recv", "bcast": "broadcast", "Send": "send", "Recv": "recv", "Isend": "isend",
    "Irecv": "irecv", "Bcast": "broadcast", "Reduce": "reduce", "Allreduce": "allreduce",
    "all_reduce": "allreduce", "all_gather": "allgather", "Gather": "gather",
    "Allgather": "allgather", "Gatherv": "gatherv", "Allgatherv": "allgatherv",
    "Alltoall": "alltoall", "Alltoallv": "alltoallv", "Scan": "scan", "exscan": "scan",
    "Exscan": "scan", "Get_rank": "rank", "Get_size": "size", "Barrier": "barrier",
    "ibroadcast": "broadcast", "ireceive": "irecv",
}  # fmt: skip


@cache
def world() -> Comm:
    """The communicator of all processes of the program; one alone without a launcher.

    Of programs that are checked, the first call is collective.
    """
    return Comm()


def comm_of(mpi: Any) -> Comm:
    """The `Comm` of what is given: itself, all ranks for None, or the one made before of a
    communicator of mpi4py, which keeps it."""
    if mpi is None or isinstance(mpi, Comm):
        return mpi or world()
    if isinstance(mpi, MPI.Intracomm) and mpi != MPI.COMM_NULL:
        if mpi == MPI.COMM_WORLD:
            return world()
        key = _keyval()
        kept = mpi.Get_attr(key)
        found = kept if isinstance(kept, Comm) else Comm(mpi)
        if found is not kept:
            mpi.Set_attr(key, found)
        return found
    return Comm(mpi)  # which says what is wrong


@cache
def _keyval() -> int:
    return int(MPI.Comm.Create_keyval())


def _restored(checked: bool) -> Comm:
    found = world()
    return found if found.checked == checked else Comm(checked=checked)


watch()
