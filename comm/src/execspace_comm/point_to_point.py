"""Messages from one rank to another."""

from __future__ import annotations

from typing import Any

import execspace as es

from .base import CommBase, Where, refuse_overlap
from .errors import translated
from .mpi import MPI
from .requests import Message, PersistentRequest, Request

__all__ = ["ANY_SOURCE", "ANY_TAG", "NOBODY", "PointToPoint"]

ANY_SOURCE: int = MPI.ANY_SOURCE
ANY_TAG: int = MPI.ANY_TAG
NOBODY: int = MPI.PROC_NULL


class PointToPoint(CommBase):
    """The part of `Comm` with messages between two ranks."""

    def send(self, view: es.View | Any, dest: int, *, tag: int = 0, space: Where = None) -> None:
        """Send the elements of a View to a rank. Blocks until the View may be changed.

        Parameters
        ----------
        view : View or array
            Of any space, layout, strides and dtype; read. What was launched on it before is
            waited for.
        dest : int
            The rank, or `NOBODY`: nothing is sent.
        tag : int
            Which message it is, for `recv`.
        space : str or ExecutionSpace, optional
            The space, or instance of it, in whose order the View is read; that of the View if not
            given.

        Raises
        ------
        CommError
            If there is no such rank, or MPI reports an error.
        LaunchError
            While a graph is recorded.
        """
        self.isend(view, dest, tag=tag, space=space).wait()

    def recv(
        self, view: es.View | Any, source: int, *, tag: int = 0, space: Where = None
    ) -> Message:
        """Receive the elements of a View. Blocks until the message is there.

        Parameters
        ----------
        view : View or array
            Written; of as many elements as are sent, in the order of indices, whatever the layout
            at the other end.
        source : int
            The rank, or `ANY_SOURCE`.
        tag : int
            That of `send`, or `ANY_TAG`.
        space : str or ExecutionSpace, optional
            In whose order the View is written; that of the View if not given. What is launched
            there afterwards finds the elements; the call may return before they are unpacked.

        Returns
        -------
        Message
            Whom it came from.

        Raises
        ------
        CommError
            If the message has not as many elements as the View, there is no such rank, or MPI
            reports an error.
        LaunchError
            While a graph is recorded.
        """
        request = self.irecv(view, source, tag=tag, space=space)
        try:
            found = request.wait()
        except BaseException:
            request.cancel()  # or it would take the next message
            raise
        assert found is not None
        return found

    def isend(
        self, view: es.View | Any, dest: int, *, tag: int = 0, space: Where = None
    ) -> Request:
        """Begin to send; as `send`, but the View must not be changed before `Request.wait`.

        Blocks until what was launched on the View is done, unless the View goes through a buffer
        of the device.
        """
        source = self._view(view, "isend")
        peer = self._peer(dest, "isend", "dest")
        what = f"message of View '{source.label}' from rank {self.rank} to rank {peer}"
        tag = self._tag(tag, "isend")
        unit, group = self._unit(source)
        parcel = self._parcel(source, space)
        parcel.fill()
        with translated(what):
            note = None if self._checker is None else self._checker.describe(source, peer, tag)
            request = self._mpi.Isend([parcel.memory, source.size // group, unit], peer, tag)
        self._count_message(peer, source.nbytes)
        return _Sent(request, parcel, what, (unit, group), note)

    def irecv(
        self, view: es.View | Any, source: int, *, tag: int = 0, space: Where = None
    ) -> Request:
        """Begin to receive; as `recv`, but the View must not be touched before `Request.wait`."""
        target = self._view(view, "irecv", written=True)
        peer = self._peer(source, "irecv", "source", any_source=True)
        sender = "any rank" if peer == MPI.ANY_SOURCE else f"rank {peer}"
        what = f"message for View '{target.label}' from {sender} to rank {self.rank}"
        tag = self._tag(tag, "irecv", any_tag=True)
        unit, group = self._unit(target)
        parcel = self._parcel(target, space)
        parcel.clear()
        note = None if self._checker is None else self._checker.expect(target, peer, tag)
        with translated(what):
            request = self._mpi.Irecv([parcel.memory, target.size // group, unit], peer, tag)
        if peer == MPI.PROC_NULL:
            return _Nothing(request, parcel, what)
        return Request(request, parcel, what, True, (unit, group), note, (peer, tag))

    def sendrecv(
        self,
        view: es.View | Any,
        dest: int,
        out: es.View | Any,
        source: int,
        *,
        tag: int = 0,
        space: Where = None,
    ) -> Message | None:
        """Send one View and receive another at the same time, which no order of ranks can block.

        Parameters are those of `send`, and of `recv` with `out` for its View, which share no
        memory. Blocks.
        """
        given, target = self._view(view, "sendrecv"), self._view(out, "sendrecv", written=True)
        refuse_overlap("sendrecv", given, target)
        # Before the receive is posted, which might get its message until it is cancelled.
        self._peer(dest, "sendrecv", "dest")
        self._tag(tag, "sendrecv")
        request = self.irecv(target, source, tag=tag, space=space)
        try:
            sent = self.isend(given, dest, tag=tag, space=space)
            found = request.wait()
        except BaseException:
            request.cancel()
            raise
        sent.wait()
        return found

    def send_init(
        self, view: es.View | Any, dest: int, *, tag: int = 0, space: Where = None
    ) -> PersistentRequest:
        """Prepare to send the same View again and again; nothing is sent before `start`."""
        source = self._view(view, "send_init")
        peer = self._peer(dest, "send_init", "dest")
        what = f"message of View '{source.label}' from rank {self.rank} to rank {peer}"
        tag = self._tag(tag, "send_init")
        unit, group = self._unit(source)
        parcel = self._carrier.parcel(source, es.space(space) if isinstance(space, str) else space)
        with translated(what):
            request = self._mpi.Send_init([parcel.memory, source.size // group, unit], peer, tag)

        def before() -> Any:
            self._count_message(peer, source.nbytes)
            self._count_staged(parcel)
            return None if self._checker is None else self._checker.describe(source, peer, tag)

        return PersistentRequest(request, parcel, what, False, (unit, group), before, (peer, tag))

    def recv_init(
        self, view: es.View | Any, source: int, *, tag: int = 0, space: Where = None
    ) -> PersistentRequest:
        """Prepare to receive into the same View again and again; see `send_init`."""
        target = self._view(view, "recv_init", written=True)
        peer = self._peer(source, "recv_init", "source")
        what = f"message for View '{target.label}' from rank {peer} to rank {self.rank}"
        tag = self._tag(tag, "recv_init")
        unit, group = self._unit(target)
        parcel = self._carrier.parcel(target, es.space(space) if isinstance(space, str) else space)
        with translated(what):
            request = self._mpi.Recv_init([parcel.memory, target.size // group, unit], peer, tag)

        def before() -> Any:
            self._count_staged(parcel)
            return None if self._checker is None else self._checker.expect(target, peer, tag)

        receives = peer != MPI.PROC_NULL
        about = (unit, group)
        return PersistentRequest(request, parcel, what, receives, about, before, (peer, tag))


class _Sent(Request):
    """A message that is sent, with what tells of it in checked mode."""

    def __init__(self, request: Any, parcel: Any, what: str, unit: Any, note: Any) -> None:
        super().__init__(request, parcel, what, False, unit)
        self._note = note

    def _finish(self) -> None:
        super()._finish()
        if self._note is not None:
            self._note.wait()


class _Nothing(Request):
    """What is received of nobody."""

    def __init__(self, request: Any, parcel: Any, what: str) -> None:
        super().__init__(request, parcel, what, False, None)

    def _finish(self) -> None:
        self._done = True
        self._parcel.drop()
        self._message = Message(MPI.PROC_NULL, MPI.ANY_TAG, 0)
