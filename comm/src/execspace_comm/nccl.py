"""NCCL: collectives and messages of Views on GPUs, as launches on streams. RCCL on AMD's GPUs.

The host waits for nothing: an operation comes after what was launched on its space before, and
launches that follow find its result. CuPy has the binding.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import cupy
import numpy as np
from cupy.cuda import nccl as library

import execspace as es
from execspace.events import dispatch

from .base import CommBase
from .engines import nccl_reason
from .errors import CommError
from .nccl_handles import handle_of, release
from .parcels import in_order

__all__ = ["NcclComm", "Prepared"]

_BYTES = library.NCCL_UINT8
_TYPES = {
    "int8": library.NCCL_INT8, "uint8": library.NCCL_UINT8, "int32": library.NCCL_INT32,
    "uint32": library.NCCL_UINT32, "int64": library.NCCL_INT64, "uint64": library.NCCL_UINT64,
    "float16": library.NCCL_FLOAT16, "float32": library.NCCL_FLOAT32,
    "float64": library.NCCL_FLOAT64,
}  # fmt: skip
_PARTS = {"complex64": "float32", "complex128": "float64"}  # whose sums are those of their parts
_JOINS = {
    "sum": library.NCCL_SUM, "prod": library.NCCL_PROD, "min": library.NCCL_MIN,
    "max": library.NCCL_MAX,
}  # fmt: skip

_MOST_READY = 1024

Space = es.ExecutionSpace | None
Call = Callable[[int], None]  # of a stream


class NcclComm:
    """NCCL's communicator of the ranks of a `Comm`, on a GPU of each. Made by `Comm.nccl`.

    Views are on the GPU of this rank, of any dtype, layout and strides; those with gaps are packed
    on the GPU, and tools are told by `on_staging`. Each method takes `space`, the space or instance
    on whose stream it is launched; that of the View if not given. Nothing blocks. All can be
    recorded for a graph, which has them as nodes; `Comm.counting` counts these when the graph is
    made, and not when it is submitted.

    Raises
    ------
    CommError
        If a rank has no GPU that NCCL knows, or two share one. Collective.

    Notes
    -----
    What is joined is joined by NCCL, in an order that depends on its version and on how GPUs are
    connected, and of NaN and a number `Min` and `Max` may give either; `Comm.allreduce` has an
    order of its own. https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/
    """

    def __init__(self, comm: CommBase, space: str | es.ExecutionSpace | None = None) -> None:
        chosen = es.default_space() if space is None else space
        home: Any = es.space(chosen) if isinstance(chosen, str) else chosen
        reason = nccl_reason(comm, home)
        if reason:
            raise CommError(f"NCCL cannot be used: {reason}.")
        self.comm, self.space = comm, home
        self._device = cupy.cuda.Device(home.number)
        self._handle = handle_of(comm, self._device)
        self._nccl = self._handle.raw
        self._all_reduce, self._all_gather = self._nccl.allReduce, self._nccl.allGather
        # What was checked before -> what NCCL is given; addresses and shapes are part of the key.
        self._ready: dict[Any, tuple[Any, ...]] = {}
        self._group: list[_Recorded] | None = None  # of a `group` that is recorded

    @property
    def rank(self) -> int:
        """Of the `Comm`."""
        return self.comm.rank

    @property
    def size(self) -> int:
        """Of the `Comm`."""
        return self.comm.size

    @contextmanager
    def group(self) -> Iterator[None]:
        """Messages of a `with` block are one launch, so ranks may send and receive in any order."""
        if es.is_recorded() and self._group is None:
            yield from self._recorded_group()
            return
        library.groupStart()
        try:
            yield
        finally:
            with self._device:
                library.groupEnd()

    def send(self, view: es.View, dest: int, *, space: Space = None) -> None:
        """Send to a rank, which calls `recv`; to and from a rank at once, in a `group`."""
        where, packed = self._read(view, "send", space)
        peer = self._peer(dest)

        def call(stream: int) -> None:
            self._nccl.send(packed.data_ptr, packed.nbytes, _BYTES, peer, stream)
            self.comm._count_message(peer, packed.nbytes)

        self._launch("nccl send", where, call, (packed,), ())

    def recv(self, view: es.View, source: int, *, space: Space = None) -> None:
        """Receive into a View without gaps in the order of its indices."""
        where = self._written(view, "recv", space)
        peer = self._peer(source)

        def call(stream: int) -> None:
            self._nccl.recv(view.data_ptr, view.nbytes, _BYTES, peer, stream)

        self._launch("nccl recv", where, call, (), (view,))

    def sendrecv(
        self, view: es.View, dest: int, out: es.View, source: int, *, space: Space = None
    ) -> None:
        """Send one View and receive another, as one launch."""
        with self.group():
            self.send(view, dest, space=space)
            self.recv(out, source, space=space)

    def broadcast(self, view: es.View, root: int = 0, *, space: Space = None) -> None:
        """Give the elements of one rank to all; a View without gaps."""
        where = self._written(view, "broadcast", space)
        peer = self._peer(root)

        def call(stream: int) -> None:
            at = view.data_ptr
            self._nccl.broadcast(at, at, view.nbytes, _BYTES, peer, stream)

        self._launch("nccl broadcast", where, call, (view,), (view,))

    def allreduce(
        self, view: es.View, out: es.View | None = None, *, reducer: Any = es.Sum,
        space: Space = None,
    ) -> es.View:  # fmt: skip
        """Join Views of all ranks element by element, in place if `out` is `view`.

        Parameters
        ----------
        view : View
            Of integers of 8, 32 or 64 bits, or of floats; complex for sums.
        out : View, optional
            Of the same shape and dtype, without gaps. A new View if not given.
        reducer : {es.Sum, es.Prod, es.Min, es.Max}
        space : ExecutionSpace, optional
        """
        if out is not None and not dispatch.TOOLS:
            ready = self._ready.get((*_about(view, out), reducer, space))
            if ready is not None:
                self._all_reduce(*ready)
                return out
        kind, op, count = _typed(view, reducer)
        target = out if out is not None else es.empty_like(view, layout="right")
        where, packed = self._read(view, "allreduce", space)
        self._written(target, "allreduce", space, like=view)

        def call(stream: int) -> None:
            self._all_reduce(packed.data_ptr, target.data_ptr, count, kind, op, stream)

        self._launch("nccl allreduce", where, call, (packed,), (target,))
        if out is not None and packed is view:
            arguments = view.data_ptr, out.data_ptr, count, kind, op, where.stream
            self._keep((*_about(view, out), reducer, space), arguments)
        return target

    def reduce(
        self, view: es.View, out: es.View | None = None, *, reducer: Any = es.Sum, root: int = 0,
        space: Space = None,
    ) -> es.View | None:  # fmt: skip
        """As `allreduce`, on one rank; None on the others."""
        kind, op, count = _typed(view, reducer)
        here = self.rank == self._peer(root)
        target = out if out is not None or not here else es.empty_like(view, layout="right")
        where, packed = self._read(view, "reduce", space)
        if here and target is not None:
            self._written(target, "reduce", space, like=view)
        into = target if here and target is not None else packed

        def call(stream: int) -> None:
            self._nccl.reduce(packed.data_ptr, into.data_ptr, count, kind, op, root, stream)

        self._launch("nccl reduce", where, call, (packed,), (into,))
        return target if here else None

    def allgather(
        self, view: es.View, out: es.View | None = None, *, space: Space = None
    ) -> es.View:
        """Bring the Views of all ranks to all, as rows of a View of shape (size, *view.shape)."""
        if out is not None and not dispatch.TOOLS:
            ready = self._ready.get((*_about(view, out), space))
            if ready is not None:
                self._all_gather(*ready)
                return out
        shape = (self.size, *view.shape)
        target = out if out is not None else self._new(shape, view)
        where, packed = self._read(view, "allgather", space)
        self._written(target, "allgather", space, shape=shape, like=view)

        def call(stream: int) -> None:
            self._all_gather(packed.data_ptr, target.data_ptr, packed.nbytes, _BYTES, stream)

        self._launch("nccl allgather", where, call, (packed,), (target,))
        if out is not None and packed is view:
            arguments = view.data_ptr, out.data_ptr, view.nbytes, _BYTES, where.stream
            self._keep((*_about(view, out), space), arguments)
        return target

    def alltoall(
        self, view: es.View, out: es.View | None = None, *, space: Space = None
    ) -> es.View:
        """Give row `r` to rank `r` and get row `r` from it, as one launch."""
        if not view.shape or view.shape[0] != self.size:
            raise CommError(
                f"alltoall: View '{view.label}' has shape {view.shape}; expected a row for each of "
                f"{self.size} ranks."
            )
        target = out if out is not None else self._new(view.shape, view)
        where, packed = self._read(view, "alltoall", space)
        self._written(target, "alltoall", space, like=view)

        def call(stream: int) -> None:
            row, source, to = packed.nbytes // self.size, packed.data_ptr, target.data_ptr
            with _as_one():
                for rank in range(self.size):
                    self._nccl.send(source + rank * row, row, _BYTES, rank, stream)
                    self._nccl.recv(to + rank * row, row, _BYTES, rank, stream)

        self._launch("nccl alltoall", where, call, (packed,), (target,))
        return target

    def prepared(self, sends: Mapping[int, es.View], receives: Mapping[int, es.View]) -> Prepared:
        """Messages to and from ranks that are looked at once, of Views without gaps in any order of
        indices: each call of it is one launch on a stream."""
        for name, side in (("send", sends), ("recv", receives)):
            for rank, view in side.items():
                self._peer(rank)
                self._where(view, name, None)
                if view.mapping is not None or not view.span_is_contiguous:
                    raise CommError(
                        f"{name}: View '{view.label}' has gaps; expected one that has none."
                    )
        return Prepared(self, sends, receives)

    def record(self, name: str, space: es.ExecutionSpace, messages: Prepared) -> None:
        """Have the graph that is recorded launch messages as a node."""
        if messages.reads or messages.writes:
            self._launch(name, space, messages, messages.reads, messages.writes)

    def free(self) -> None:
        """Give up NCCL's communicator, unless another `Comm` of the same ranks has it, too.
        Collective; blocks. CommError if graphs or halos have operations of it."""
        release(self.comm, self._device, self._handle)

    # -- how it is launched ------------------------------------------------------------------------

    def _launch(
        self, name: str, where: Any, call: Call, reads: Sequence[es.View], writes: Sequence[es.View]
    ) -> None:
        """Call NCCL with the stream of a space, or have a graph do it."""
        if self._group is not None:
            self._group.append(_Recorded(where, call, tuple(reads), tuple(writes)))
        elif es.is_recorded():
            self._record(name, where, call, reads, writes)
        else:
            with self._device:
                call(where.stream)

    def _record(
        self, name: str, where: Any, call: Call, reads: Sequence[es.View], writes: Sequence[es.View]
    ) -> None:
        """Have the graph that is recorded call NCCL."""

        def called(stream: int) -> None:
            with self._device:
                call(stream)

        self._handle.captured.add(called)
        es.stream_call(name, called, space=where, reads=reads, writes=writes)

    def _recorded_group(self) -> Iterator[None]:
        """As `group`, for a graph: one node for all messages."""
        found = self._group = []
        try:
            yield
        finally:
            self._group = None
        if not found:
            return
        where = found[0].where
        for one in found:
            if one.where is not where:
                raise CommError(
                    f"group: messages on {where!r} and on {one.where!r}; expected one space."
                )

        def call(stream: int) -> None:
            with _as_one():
                for one in found:
                    one.call(stream)

        reads = [view for one in found for view in one.reads]
        writes = [view for one in found for view in one.writes]
        self._record("nccl group", where, call, reads, writes)

    # -- what NCCL is given ------------------------------------------------------------------------

    def _keep(self, key: Any, arguments: tuple[Any, ...]) -> None:
        """What was checked need not be again."""
        if len(self._ready) >= _MOST_READY:
            self._ready.clear()
        self._ready[key] = arguments

    def _new(self, shape: tuple[int, ...], like: es.View) -> es.View:
        return es.View(
            shape, like.dtype, label="nccl", space=self.space, layout="right", initialize=False
        )

    def _read(self, view: es.View, what: str, space: Space) -> tuple[Any, es.View]:
        """Where it is launched, and a View of the elements without gaps."""
        where = self._where(view, what, space)
        if view.mapping is None and in_order(view.shape, view.strides):
            return where, view
        es.profiling.emit("on_staging", view.memory_space.name, view.nbytes)
        packed = self._new(view.shape, view)
        es.deep_copy(packed, view, instance=where)
        return where, packed

    def _written(
        self, view: es.View, what: str, space: Space, *, like: es.View | None = None,
        shape: tuple[int, ...] | None = None,
    ) -> Any:  # fmt: skip
        """Where it is launched; CommError for a View that NCCL cannot write."""
        where = self._where(view, what, space)
        wanted = shape or (view.shape if like is None else like.shape)
        if view.shape != wanted or (like is not None and view.dtype != like.dtype):
            raise CommError(
                f"{what}: View '{view.label}' has shape {view.shape} and dtype {view.dtype}; "
                f"expected {wanted} and {(like or view).dtype}."
            )
        if view.is_readonly or view.mapping is not None or not in_order(view.shape, view.strides):
            raise CommError(
                f"{what}: View '{view.label}' is read-only, or its elements do not lie in the "
                f"order of their indices without gaps, and NCCL would write it; expected one of "
                f"layout='right'."
            )
        return where

    def _where(self, view: es.View, what: str, space: Space) -> Any:
        where: Any = space or view.space or self.space
        if getattr(where, "number", None) != self._device.id or (
            view.memory_space.host_accessible and "shared" not in view.memory_space.kinds
        ):
            raise CommError(
                f"{what}: View '{view.label}' is in memory '{view.memory_space.name}'; expected "
                f"one on '{self.space.name}', whose GPU this NCCL communicator is of."
            )
        return where

    def _peer(self, rank: int) -> int:
        return self.comm._peer(rank, "NCCL", "rank")

    def __repr__(self) -> str:
        return f"<NcclComm: rank {self.rank} of {self.size} on '{self.space.name}'>"


class _Recorded(NamedTuple):
    """A message of a group that is recorded."""

    where: Any
    call: Call
    reads: tuple[es.View, ...]
    writes: tuple[es.View, ...]


@contextmanager
def _as_one() -> Iterator[None]:
    """What NCCL is told in a `with` block is one launch."""
    library.groupStart()
    try:
        yield
    finally:
        library.groupEnd()


def _about(view: es.View, out: es.View) -> tuple[Any, ...]:
    """All of two Views that what NCCL is given depends on."""
    return (
        view.data_ptr, out.data_ptr, view.type, out.type, view.shape, out.shape, view.strides,
        out.strides, view.space,
    )  # fmt: skip


def _typed(view: es.View, reducer: Any) -> tuple[int, int, int]:
    """NCCL's type and operation, and how many numbers."""
    name, count = view.dtype.name, view.size
    made = reducer() if isinstance(reducer, type) else reducer
    op = _JOINS.get(getattr(made, "kind", ""))
    if name in _PARTS and op == library.NCCL_SUM:
        name, count = _PARTS[name], 2 * count
    kind = _TYPES.get(name)
    if kind is None or op is None:
        raise CommError(
            f"NCCL does not join elements of {np.dtype(view.dtype)} by {reducer!r}; expected "
            f"integers or floats, and es.Sum, es.Prod, es.Min or es.Max. Comm.allreduce joins all."
        )
    return kind, op, count


class Prepared:
    """Messages that were looked at; made by `NcclComm.prepared`."""

    def __init__(
        self, nccl: NcclComm, sends: Mapping[int, es.View], receives: Mapping[int, es.View]
    ) -> None:
        self._comm, self._nccl, self._device = nccl.comm, nccl._nccl, nccl._device
        self.reads, self.writes = list(sends.values()), list(receives.values())
        self._sends, self._receives = (
            [(view.data_ptr, view.nbytes, rank) for rank, view in side.items()]
            for side in (sends, receives)
        )

    def __call__(self, stream: int) -> None:
        """Launch all of them on a stream, as one."""
        if not self._sends and not self._receives:
            return
        with self._device, _as_one():
            for address, nbytes, rank in self._sends:
                self._nccl.send(address, nbytes, _BYTES, rank, stream)
            for address, nbytes, rank in self._receives:
                self._nccl.recv(address, nbytes, _BYTES, rank, stream)

    def count(self) -> None:
        """Count what was sent, for those who count."""
        for _, nbytes, rank in self._sends if self._comm._traffic else ():
            self._comm._count_message(rank, nbytes)
