"""Exchange of ghosts: who sends which elements of a vector, found once; and messages that do it.

Each rank asks the owners of its ghosts for them, by one alltoallv of their numbers. From then on a
rank packs what others asked for by one launch, and sends one message to each of them; what comes is
put where it is read, without unpacking.
"""

from __future__ import annotations

from functools import partial
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

import execspace as es

from ..communicator import Comm
from ..engines import nccl_reason
from ..errors import CommError
from .partition import Partition

__all__ = ["Exchange", "Plan"]


Spans = dict[int, tuple[int, int]]  # rank -> its part of a buffer, in rows


class Plan:
    """Which elements are sent and received. Collective; blocks.

    Attributes
    ----------
    ghosts : numpy.ndarray of int64
        Global numbers of the elements that this rank gets, ascending.
    index : View
        Local numbers of those that it sends, those for the first rank first.
    incoming, outgoing : dict
        Rank -> where its elements begin and end, among ghosts and in `index`.
    engine, why : str
    """

    def __init__(
        self, columns: Partition, ghosts: npt.NDArray[np.int64], space: es.ExecutionSpace,
        engine: str,
    ) -> None:  # fmt: skip
        self.comm: Comm = columns.comm
        self.messages, self.tag = self.comm._apart()
        self.space, self.ghosts = space, ghosts
        self.engine, self.why = _engine(engine, self.comm, space)
        ends = np.searchsorted(ghosts, columns.bounds)
        counts = np.diff(ends).tolist()
        asked, coming = self.comm.alltoallv(ghosts, counts)
        self.incoming = _spans(counts)
        self.outgoing = _spans(coming)
        wanted = asked.to_numpy() - columns.lower
        kind = np.int32 if columns.size < 2**31 else np.int64
        self.index = es.array(wanted.astype(kind), space=space, label="sent")

    @property
    def sends(self) -> int:
        """Elements that are sent, those for several ranks counted for each."""
        return int(self.index.shape[0])


class Exchange:
    """Buffers and messages for vectors of one dtype and number of columns.

    Parameters
    ----------
    plan : Plan
    dtype : dtype
    columns : tuple of int
        () for a vector, or (k,).
    ghosts : View, optional
        Where ghosts go, a row for each, without gaps. A new View if not given.
    """

    def __init__(
        self, plan: Plan, dtype: np.dtype[Any], columns: tuple[int, ...],
        ghosts: es.View | None = None,
    ) -> None:  # fmt: skip
        self.plan, self._home = plan, plan.space
        # Of its own, so that launches between `start` and `finish` run at the same time.
        self._queue = plan.space.instance()
        self._apart = self._queue is not self._home

        def buffer(rows: int, label: str, memory: Any) -> es.View:
            return es.View(
                (rows, *columns), dtype, label=label, space=self._home, memory=memory,
                layout="right",
            )  # fmt: skip

        usual = self._home.memory_space
        self.ghosts = buffer(plan.ghosts.size, "ghosts", usual) if ghosts is None else ghosts
        memory = self._reached_by_messages()
        self._sent = buffer(plan.sends, "sent", memory)
        self._got = self.ghosts
        if memory is not self.ghosts.memory_space:
            self._got = buffer(plan.ghosts.size, "received", memory)
        self._row = prod(columns)
        make = _Streams if plan.engine == "nccl" else _Messages
        self._messages = make(plan, self._sent, self._got, self._queue)
        self._started = False

    def _reached_by_messages(self) -> Any:
        """The memory of buffers: that of the vectors, or one that both the space and MPI reach."""
        usual = self.ghosts.memory_space
        takes = self.plan.comm._carrier.takes_devices
        probe = es.View(1, np.uint8, space=self._home, memory=usual, initialize=False)
        if self.plan.engine == "nccl" or usual.host_accessible or takes(probe):
            return usual
        for memory in self._home.memory_spaces:
            if memory.host_accessible and "pinned" in memory.kinds:
                return memory
        return usual

    def start(self, x: es.View) -> None:
        """Begin to send own elements of x as launches so far have left them. May block for these.

        Until `finish`, x may be read and not written. In a recording each submission begins.
        """
        if self._enqueues:
            self._record(x)
        else:
            es.library_call("ghosts start", partial(self._start, x), space=self._home)

    def finish(self) -> es.View:
        """The ghosts, for launches from now on. Blocks for messages, unless NCCL carries them."""
        if not self._enqueues:
            es.library_call("ghosts finish", self._finish, space=self._home)
        return self.ghosts

    @property
    def _enqueues(self) -> bool:
        """Whether messages become nodes of a graph, which run beside others by what they use."""
        return self.plan.engine == "nccl" and es.is_recorded()

    def _record(self, x: es.View) -> None:
        self._pack(x, self._home)
        plan, messages = self.plan, self._messages
        assert isinstance(messages, _Streams)
        plan.comm.nccl(plan.space).record("ghosts", self._home, messages.post)

    def _start(self, x: es.View) -> None:
        if self._started:
            raise CommError("ghost exchange: it was started and not finished; call finish() first.")
        if self._apart:
            self._queue.wait_for(self._home)
        self._pack(x, self._queue)
        self._messages.start()
        self._started = True

    def _pack(self, x: es.View, queue: es.ExecutionSpace) -> None:
        """Launch what brings together the elements that are sent."""
        if self._sent.size:
            kernel = _pack if x.rank == 1 else _pack_rows
            extents = self._sent.shape
            every: Any = es.RangePolicy(extents[0], space=queue)
            if x.rank == 2:
                every = es.MDRangePolicy(extents, space=queue)
            es.parallel_for(every, kernel, self.plan.index, x, self._sent, label="ghosts pack")

    def _finish(self) -> None:
        self._started = False
        self._messages.finish()
        if self._got is not self.ghosts:
            es.deep_copy(self.ghosts, self._got, instance=self._queue)
        if self._apart:
            self._home.wait_for(self._queue)


class _Messages:
    """By MPI, with persistent requests."""

    def __init__(self, plan: Plan, sent: es.View, got: es.View, queue: es.ExecutionSpace) -> None:
        comm, tag = plan.messages, plan.tag
        self._requests = [
            comm.recv_init(_part(got, span), rank, tag=tag, space=queue)
            for rank, span in plan.incoming.items()
        ] + [
            comm.send_init(_part(sent, span), rank, tag=tag, space=queue)
            for rank, span in plan.outgoing.items()
        ]

    def start(self) -> None:
        """Send what is packed."""
        for request in self._requests:
            request.start()

    def finish(self) -> None:
        """Wait for what comes, and until what is sent is gone."""
        for request in self._requests:
            request.wait()


class _Streams:
    """By NCCL, as one launch."""

    def __init__(self, plan: Plan, sent: es.View, got: es.View, queue: es.ExecutionSpace) -> None:
        self._queue: Any = queue
        self.post = plan.comm.nccl(plan.space).prepared(
            {rank: _part(sent, span) for rank, span in plan.outgoing.items()},
            {rank: _part(got, span) for rank, span in plan.incoming.items()},
        )

    def start(self) -> None:
        """Have messages follow the packing."""
        self.post(self._queue.stream)
        self.post.count()

    def finish(self) -> None:
        """Nothing: the queue has them in order."""


def _part(view: es.View, span: tuple[int, int]) -> es.View:
    found: es.View = view[span[0] : span[1]]
    return found


def _spans(counts: list[int]) -> Spans:
    found, at = {}, 0
    for rank, count in enumerate(counts):
        if count:
            found[rank] = at, at + count
        at += count
    return found


def _engine(asked: str, comm: Comm, space: es.ExecutionSpace) -> tuple[str, str]:
    if asked not in ("auto", "mpi", "nccl"):
        raise CommError(f"engine={asked!r}; expected 'auto', 'mpi' or 'nccl'.")
    if asked == "mpi":
        return "mpi", "it was asked for"
    reason = nccl_reason(comm, space)
    if not reason:
        return "nccl", "it was asked for" if asked == "nccl" else "each rank has a GPU of its own"
    if asked == "nccl":
        raise CommError(f"engine='nccl' cannot be used: {reason}.")
    return "mpi", reason


# -- kernels --------------------------------------------------------------------------------------


def _pack(k: int, index: Any, x: Any, sent: Any) -> None:
    sent[k] = x[index[k]]


def _pack_rows(k: int, j: int, index: Any, x: Any, sent: Any) -> None:
    sent[k, j] = x[index[k], j]
