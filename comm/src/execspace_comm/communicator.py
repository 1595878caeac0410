"""Comm: MPI's communicators, whose messages are Views."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

import execspace as es
from execspace.base import config

from .collectives import Collectives
from .errors import CommError
from .failures import watch
from .mpi import MPI
from .point_to_point import PointToPoint
from .reductions import Reductions

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
        watch()
        self._of_spaces: dict[str, NcclComm] = {}
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
        self._begin("split", 0)
        found = self._mpi.Split(MPI.UNDEFINED if color is None else color, key)
        return None if found == MPI.COMM_NULL else Comm(found, checked=self.checked)

    def of_host(self) -> Comm:
        """The ranks of this one that share the memory of a host. Collective; blocks."""
        self._begin("of_host", 0)
        return Comm(self._mpi.Split_type(MPI.COMM_TYPE_SHARED), checked=self.checked)

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
            return world, ()
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
    """The communicator of all processes of the program; one alone without a launcher."""
    return Comm()
