"""Messages under way: what isend and irecv return, and forms that are used again and again."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from .base import refuse_recording
from .errors import CommError, translated
from .mpi import MPI
from .parcels import Parcel
from .waiting import keep, poll

__all__ = ["Message", "PersistentRequest", "Request", "wait_all"]


class Message(NamedTuple):
    """What arrived: the rank that sent it, its tag, and how many elements it had."""

    source: int
    tag: int
    count: int  # type: ignore[assignment]  # not the method of tuples


class Request:
    """A message that was begun, and is done when `wait` has returned or `test` has said so.

    It keeps its View alive. What arrives is in the View for all that is launched on its space
    after that; until then neither may be looked at, and what is sent must not be changed. Of a
    request that is dropped, what is sent is sent, and what is received is given up, as by `cancel`.
    """

    _done = True  # until it is made

    def __init__(
        self, request: Any, parcel: Parcel, what: str, receives: bool, unit: Any,
        note: Any = None, peer: tuple[int, int] = (0, 0),
    ) -> None:  # fmt: skip
        self._request, self._parcel, self._what = request, parcel, what
        self._receives, self._unit, self._note, self._peer = receives, unit, note, peer
        self._status: Any = MPI.Status() if receives else None
        self._message: Message | None = None
        self._error: CommError | None = None
        self._done = False

    @property
    def done(self) -> bool:
        """Whether `wait` or `test` has seen its end; asks nobody."""
        return self._done

    def test(self) -> bool:
        """Whether it is done; does not wait for the message. Raises as `wait`."""
        if not self._done:
            refuse_recording(self._what)
            try:
                with translated(self._what):
                    if not self._request.Test(self._status):
                        return False
            except CommError as error:
                self._failed(error)
            self._finish()
        self._again()
        return True

    def wait(self) -> Message | None:
        """Wait for the message. Blocks.

        Returns
        -------
        Message or None
            Of what was received.

        Raises
        ------
        CommError
            If the message has not as many elements as the View, or MPI reports an error.
        LaunchError
            While a graph is recorded; it can be waited for after that.
        """
        if not self._done:
            refuse_recording(self._what)
            try:
                poll(self._request, self._what, self._status)
            except CommError as error:
                self._failed(error)
            self._finish()
        self._again()
        return self._message

    def cancel(self) -> bool:
        """Give up a receive: True if its message is for others now, False if it had come, and is
        lost. Blocks for neither."""
        if not self._done and self._receives:
            status = MPI.Status()
            with translated(self._what):
                _given_up(self._request, status)
            self._done = True
            self._parcel.drop()
            return bool(status.Is_cancelled())
        return False

    def _again(self) -> None:
        if self._error is not None:
            raise self._error

    def _failed(self, error: CommError) -> None:
        """Raise what the sender has told if that says more than MPI's error."""
        self._done, self._error = True, error
        self._parcel.drop()
        if self._note is not None and self._receives and self._note.is_from_one:
            try:
                self._note.compare(*self._peer)
            except CommError as told:
                self._error = told
        self._again()

    def _finish(self) -> None:
        self._done = True
        if self._receives:
            try:
                if self._note is not None:
                    self._note.compare(self._status.Get_source(), self._status.Get_tag())
                self._message = arrived(self._parcel, self._status, self._unit, self._what)
            except CommError as error:
                self._error = error
                self._parcel.drop()
                raise
            self._parcel.store()
        self._parcel.drop(used=self._receives)

    def __del__(self) -> None:
        if self._done or MPI.Is_finalized():
            return
        if self._receives:
            _given_up(self._request)
            self._parcel.drop()
        else:
            keep(self._request, (self._parcel,))


def _given_up(request: Any, status: Any = None) -> None:
    """Have MPI forget a receive; if its message is there already, it is lost. Local."""
    request.Cancel()
    request.Wait(status)


def arrived(parcel: Parcel, status: Any, unit: Any, what: str) -> Message:
    """What a status tells; CommError if the View has more elements than the message."""
    view, (datatype, group) = parcel.view, unit
    count = status.Get_count(datatype)
    whole = count != MPI.UNDEFINED
    found = Message(status.Get_source(), status.Get_tag(), count * group if whole else 0)
    if not whole or found.count != view.size:
        sent = (
            f"{found.count} elements of {view.dtype.itemsize} bytes"
            if whole
            else f"{status.Get_count(MPI.BYTE)} bytes, no whole number of elements"
        )
        raise CommError(
            f"{what}: rank {found.source} sent {sent} and View '{view.label}' has {view.size} "
            f"of {view.dtype.itemsize} bytes; expected the same number at both ends."
        )
    return found


class PersistentRequest:
    """A message that is sent or received again and again, with its buffer made once.

    `start` begins it, `wait` ends it. Made by `Comm.send_init` and `Comm.recv_init`.
    """

    _freed = True  # until it is made

    def __init__(
        self, request: Any, parcel: Parcel, what: str, receives: bool, unit: Any,
        before: Callable[[], Any], peer: tuple[int, int],
    ) -> None:  # fmt: skip
        self._request, self._parcel, self._what = request, parcel, what
        self._receives, self._unit, self._before, self._peer = receives, unit, before, peer
        self._status: Any = MPI.Status() if receives else None
        self._active = self._freed = False
        self._note: Any = None

    def start(self) -> PersistentRequest:
        """Begin: of what is sent, the elements are those that launches so far have stored.

        Raises
        ------
        CommError
            If it was begun before and not waited for, or freed.
        LaunchError
            While a graph is recorded.
        """
        if self._freed:
            raise CommError(f"{self._what}: it was freed; make another one.")
        if self._active:
            raise CommError(f"{self._what}: it was started and not waited for; call wait() first.")
        refuse_recording(self._what)
        if self._receives:
            self._parcel.clear()
        else:
            self._parcel.fill()
        with translated(self._what):
            self._note = self._before()
            self._request.Start()
        self._active = True
        return self

    def wait(self) -> Message | None:
        """Wait for the message that was begun. Blocks. Raises as `Request.wait`."""
        if not self._active:
            raise CommError(f"{self._what}: nothing was started; call start() first.")
        refuse_recording(self._what)
        try:
            poll(self._request, self._what, self._status)
        except CommError:
            self._active = False
            if self._receives and self._note is not None:
                self._note.compare(*self._peer)
            raise
        self._active = False
        note, self._note = self._note, None
        if not self._receives:
            if note is not None:
                note.wait()
            return None
        if note is not None:
            note.compare(*self._peer)
        found = arrived(self._parcel, self._status, self._unit, self._what)
        self._parcel.settle()  # the last copy out of the buffer is done
        self._parcel.store()
        return found

    def free(self) -> None:
        """Give its buffer back; it cannot be started again. Waits for it if it was started."""
        if self._freed:
            return
        if self._active:
            self.wait()
        self._freed = True
        self._request.Free()
        self._parcel.settle()
        self._parcel.drop()

    def __del__(self) -> None:
        if self._freed or MPI.Is_finalized():
            return
        if self._active and not self._receives:
            keep(self._request, (self._parcel,), persistent=True)
            return
        if self._active:
            _given_up(self._request)
        self._request.Free()  # MPI counts those that are left


def wait_all(requests: Iterable[Request | PersistentRequest]) -> list[Message | None]:
    """Wait for several; blocks. Returns what each `wait` does, in their order.

    Raises
    ------
    CommError
        The first one of those that failed, when all are done.
    """
    found: list[Message | None] = []
    first: CommError | None = None
    for request in requests:
        try:
            found.append(request.wait())
        except CommError as error:
            first = first or error
    if first is not None:
        raise first
    return found
