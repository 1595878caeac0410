"""Messages under way: what isend and irecv return, and forms that are used again and again."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from .errors import CommError
from .mpi import MPI
from .parcels import Parcel
from .waiting import wait

__all__ = ["Message", "PersistentRequest", "Request", "wait_all"]


class Message(NamedTuple):
    """What arrived: the rank that sent it, its tag, and how many elements it had."""

    source: int
    tag: int
    count: int  # type: ignore[assignment]  # not the method of tuples


class Request:
    """A message that was begun, and is done when `wait` has returned or `test` has said so.

    It keeps its View alive. What arrives is in the View for all that is launched on its space
    after that; until then neither may be looked at, and what is sent must not be changed.
    """

    def __init__(
        self, request: Any, parcel: Parcel, what: str, receives: bool, unit: Any,
        note: Any = None, peer: tuple[int, int] = (0, 0),
    ) -> None:  # fmt: skip
        self._request, self._parcel, self._what = request, parcel, what
        self._receives, self._unit, self._note, self._peer = receives, unit, note, peer
        self._status: Any = MPI.Status() if receives else None
        self._message: Message | None = None
        self._done = False

    @property
    def done(self) -> bool:
        """Whether `wait` or `test` has seen its end; asks nobody."""
        return self._done

    def test(self) -> bool:
        """Whether it is done; does not wait for the message. Raises as `wait`."""
        if not self._done:
            from .errors import translated

            with translated(self._what):
                if not self._request.Test(self._status):
                    return False
            self._finish()
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
        """
        if not self._done:
            try:
                wait(self._request, self._what, self._status)
            except CommError:
                if self._note is not None and self._note.is_from_one:
                    self._note.compare(*self._peer)  # what the sender has told says more
                raise
            self._finish()
        return self._message

    def _finish(self) -> None:
        self._done = True
        if self._receives:
            if self._note is not None:
                self._note.compare(self._status.Get_source(), self._status.Get_tag())
            self._message = arrived(self._parcel, self._status, self._unit, self._what)
            self._parcel.store()
        self._parcel.drop(used=self._receives)


def arrived(parcel: Parcel, status: Any, unit: Any, what: str) -> Message:
    """What a status tells; CommError if the View has more elements than the message."""
    found = Message(status.Get_source(), status.Get_tag(), status.Get_count(unit))
    if found.count != parcel.view.size:
        raise CommError(
            f"{what}: rank {found.source} sent {found.count} elements of "
            f"{parcel.view.dtype.itemsize} bytes and View '{parcel.view.label}' has "
            f"{parcel.view.size}; expected the same number at both ends."
        )
    return found


class PersistentRequest:
    """A message that is sent or received again and again, with its buffer made once.

    `start` begins it, `wait` ends it. Made by `Comm.send_init` and `Comm.recv_init`.
    """

    def __init__(
        self, request: Any, parcel: Parcel, what: str, receives: bool, unit: Any,
        before: Callable[[], Any], peer: tuple[int, int],
    ) -> None:  # fmt: skip
        self._request, self._parcel, self._what = request, parcel, what
        self._receives, self._unit, self._before, self._peer = receives, unit, before, peer
        self._status: Any = MPI.Status() if receives else None
        self._active = False
        self._note: Any = None
        self._freed = weakref.finalize(self, _free, request)  # MPI counts those that are left

    def start(self) -> PersistentRequest:
        """Begin: of what is sent, the elements are those that launches so far have stored.

        Raises
        ------
        CommError
            If it was begun before and not waited for.
        """
        if self._active:
            raise CommError(f"{self._what}: it was started and not waited for; call wait() first.")
        if self._receives:
            self._parcel.clear()
        else:
            self._parcel.fill()
        self._note = self._before()
        self._request.Start()
        self._active = True
        return self

    def wait(self) -> Message | None:
        """Wait for the message that was begun. Blocks. Raises as `Request.wait`."""
        if not self._active:
            raise CommError(f"{self._what}: nothing was started; call start() first.")
        self._active = False
        note, self._note = self._note, None
        try:
            wait(self._request, self._what, self._status)
        except CommError:
            if self._receives and note is not None:
                note.compare(*self._peer)
            raise
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
        """Give its buffer back; it cannot be started again."""
        if self._active:
            self.wait()
        self._freed()
        self._parcel.settle()
        self._parcel.drop()


def _free(request: Any) -> None:
    if not MPI.Is_finalized() and request != MPI.REQUEST_NULL:
        request.Free()


def wait_all(requests: Iterable[Request | PersistentRequest]) -> list[Message | None]:
    """Wait for several; blocks. Returns what each `wait` does, in their order."""
    return [request.wait() for request in requests]
