"""Checked mode: ranks tell each other what they call, so that a mistake is an error and no hang.

EXECSPACE_CHECK=comm, or ``checked=True`` of a communicator. Before an operation of all ranks each
says which it is, for what shape and dtype; before a message the sender says what is in it. Both go
over a communicator of their own.
"""

from __future__ import annotations

import time
from typing import Any

import execspace as es

from .errors import CommError
from .mpi import MPI
from .waiting import keep, pause, told_by_all, wait

__all__ = ["Checker", "Expected"]

_PATIENCE = 0.5  # seconds after which nothing better is told


class Checker:
    """Compares what ranks call."""

    def __init__(self, comm: Any) -> None:
        self._comm = comm.Dup()
        self.rank = self._comm.Get_rank()
        # What has been told of messages and not yet compared, by sender and tag.
        self._told: dict[tuple[int, int], list[Any]] = {}

    def collective(self, name: str, **about: Any) -> None:
        """Raise CommError on all ranks, with the ranks that differ, unless all call the same."""
        mine = (name, tuple(about.items()))
        first = told_by_all(self._comm, mine, name)
        for rank, other in enumerate(first):
            if other != first[0]:
                raise CommError(
                    f"{name}: ranks do not agree. Rank 0 calls {_text(first[0])}; rank {rank} "
                    f"calls {_text(other)}. This is rank {self.rank}."
                )

    def free(self) -> None:
        """Give up the communicator. Collective."""
        self._comm.Free()

    def describe(self, view: es.View, dest: int, tag: int) -> Any:
        """Tell a rank what comes; the request keeps the text."""
        if dest == MPI.PROC_NULL:
            return None
        return Told(self._comm.isend((view.shape, _dtype(view), view.label[:200]), dest, tag))

    def expect(self, view: es.View, source: int, tag: int) -> Expected | None:
        """What will be told of a message that a View is to get."""
        if source == MPI.PROC_NULL:
            return None
        return Expected(self, view, source != MPI.ANY_SOURCE and tag != MPI.ANY_TAG)

    def fit(self, view: es.View, source: int, tag: int) -> None:
        """Raise CommError if nothing that a rank has told of its messages fits a View. Blocks
        until it has told something."""
        waiting = self._told.setdefault((source, tag), [])
        tests, begin = 0, time.monotonic()
        while True:
            while self._comm.Iprobe(source, tag):
                waiting.append(self._comm.recv(source=source, tag=tag))
            for n, (shape, dtype, _) in enumerate(waiting):
                if shape == view.shape and dtype == _dtype(view):
                    del waiting[n]  # of those that are alike it does not matter which it was
                    return
            # What is told of a message may be later than the message, and than what is told of
            # one after it which another receive waits for.
            if waiting and time.monotonic() - begin > _PATIENCE:
                break
            tests += 1
            pause(tests)
        shape, dtype, label = waiting.pop(0)
        raise CommError(
            f"rank {source} sends View '{label}' of shape {shape} and dtype {dtype} to rank "
            f"{self.rank}, which receives it in View '{view.label}' of shape {view.shape} and "
            f"dtype {view.dtype}; expected the same at both ends."
        )


class Told:
    """What is told of a message, which is kept until it has been."""

    def __init__(self, request: Any) -> None:
        self._request = request

    def wait(self) -> None:
        """Until it has been. Blocks."""
        wait(self._request, "checked mode")

    def __del__(self) -> None:
        if not MPI.Is_finalized():
            keep(self._request, None)


class Expected:
    """What will be told of a message."""

    def __init__(self, checker: Checker, view: es.View, is_from_one: bool) -> None:
        self._checker, self._view = checker, view
        self.is_from_one = is_from_one

    def compare(self, source: int, tag: int) -> None:
        """Raise CommError if what a rank has told does not fit the View. Blocks until it has."""
        self._checker.fit(self._view, source, tag)


def _dtype(view: es.View) -> str:
    return str(view.dtype)[:2000]


def _text(call: Any) -> str:
    name, about = call
    return f"{name}({', '.join(f'{key}={value}' for key, value in about)})"
