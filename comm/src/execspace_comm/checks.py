"""Checked mode: ranks tell each other what they call, so that a mistake is an error and no hang.

EXECSPACE_CHECK=comm, or ``checked=True`` of a communicator. Before an operation of all ranks each
says which it is, for what shape and dtype; before a message the sender says what is in it. Both go
over a communicator of their own.
"""

from __future__ import annotations

from typing import Any

import execspace as es

from .errors import CommError
from .mpi import MPI

__all__ = ["Checker", "Expected"]

_LONGEST = 1 << 14  # bytes of what is told of a message


class Checker:
    """Compares what ranks call."""

    def __init__(self, comm: Any) -> None:
        self._comm = comm.Dup()
        self.rank = self._comm.Get_rank()

    def collective(self, name: str, **about: Any) -> None:
        """Raise CommError on all ranks, with the ranks that differ, unless all call the same."""
        mine = (name, tuple(about.items()))
        first = self._comm.allgather(mine)
        for rank, other in enumerate(first):
            if other != first[0]:
                raise CommError(
                    f"{name}: ranks do not agree. Rank 0 calls {_text(first[0])}; rank {rank} "
                    f"calls {_text(other)}. This is rank {self.rank}."
                )

    def describe(self, view: es.View, dest: int, tag: int) -> Any:
        """Tell a rank what comes; the request keeps the text."""
        if dest == MPI.PROC_NULL:
            return None
        note = (view.shape, str(view.dtype)[:2000], view.label[:200])
        return self._comm.isend(note, dest, tag)

    def fit(self, view: es.View, source: int, told: Any) -> None:
        """Raise CommError if what a rank has told does not fit a View."""
        shape, dtype, label = told
        if shape != view.shape or dtype != str(view.dtype)[:2000]:
            raise CommError(
                f"rank {source} sends View '{label}' of shape {shape} and dtype {dtype} to rank "
                f"{self.rank}, which receives it in View '{view.label}' of shape {view.shape} and "
                f"dtype {view.dtype}; expected the same at both ends."
            )

    def expect(self, view: es.View, source: int, tag: int) -> Expected | None:
        """What will be told of a message that a View is to get; posted with the message's own
        receive, so that both meet in the same order."""
        if source == MPI.PROC_NULL:
            return None
        request = None
        if source != MPI.ANY_SOURCE and tag != MPI.ANY_TAG:
            request = self._comm.irecv(_LONGEST, source, tag)
        return Expected(self, view, request)


class Expected:
    """A note that is under way."""

    def __init__(self, checker: Checker, view: es.View, request: Any) -> None:
        self._checker, self._view, self._request = checker, view, request

    def compare(self, source: int, tag: int) -> None:
        """Raise CommError if what a rank has told does not fit the View. Blocks until it has."""
        if self._request is None:
            told = self._checker._comm.recv(source=source, tag=tag)
        else:
            told = self._request.wait()
        self._checker.fit(self._view, source, told)

    @property
    def is_from_one(self) -> bool:
        """Whether it is known who tells it."""
        return self._request is not None


def _text(call: Any) -> str:
    name, about = call
    return f"{name}({', '.join(f'{key}={value}' for key, value in about)})"
