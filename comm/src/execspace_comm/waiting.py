"""Waiting for MPI by polling: Ctrl-C ends it, and ranks that share cores let each other run.

A blocking call of MPI returns to Python only when it is done, and most libraries spin in it, which
takes the core from the rank that is waited for where there are more ranks than cores. What MPI
still reads or writes when a wait is interrupted, or a request dropped, is kept until it is done.
"""

from __future__ import annotations

import os
import pickle
import time
from typing import Any

import numpy as np
import numpy.typing as npt

from .errors import translated
from .mpi import MPI

__all__ = ["keep", "numbers_of_all", "pause", "poll", "tend", "told_by_all", "wait"]

_SPINS = 400  # tests at once, some 200 us: what a message within a host takes
_YIELDS = 2000  # tests after which the core is offered to others; then it sleeps
_NAP = 2e-4

_yield = getattr(os, "sched_yield", lambda: time.sleep(0))
_kept: list[tuple[Any, Any, bool]] = []


def wait(request: Any, what: str, status: Any = None, kept: Any = None) -> None:
    """Return when a request is done.

    Parameters
    ----------
    request : mpi4py.MPI.Request
    what : str
        What is done, for messages.
    status : mpi4py.MPI.Status, optional
    kept : object
        What MPI reads or writes, if the request does not keep it: after an interrupt it lives on
        until MPI is done with it.

    Raises
    ------
    CommError
        If MPI reports an error.
    """
    try:
        poll(request, what, status)
    except BaseException:
        keep(request, kept)
        raise


def poll(request: Any, what: str, status: Any = None) -> None:
    """As `wait`, of a request that its owner keeps."""
    tests = 0
    with translated(what):
        while not request.Test(status):
            pause(tests)
            tests += 1


def pause(tests: int) -> None:
    """Between two tests: nothing at first, then the core is offered to others."""
    if tests > _YIELDS:
        time.sleep(_NAP)
    elif tests > _SPINS:
        _yield()


def keep(request: Any, kept: Any, persistent: bool = False) -> None:
    """Keep a request, and what MPI reads or writes for it, until it is done."""
    if request != MPI.REQUEST_NULL:
        _kept.append((request, kept, persistent))


def tend() -> None:
    """Let go of what is kept and done."""
    if _kept:
        _kept[:] = [entry for entry in _kept if not _is_done(*entry)]


def _is_done(request: Any, kept: Any, persistent: bool) -> bool:
    try:
        if not request.Test():
            return False
        if persistent:
            request.Free()
    except MPI.Exception:
        pass  # it is nobody's any more
    for parcel in kept or ():
        parcel.drop()
    return True


def told_by_all(mpi: Any, value: Any, what: str) -> list[Any]:
    """What each rank of a communicator tells, pickled. Collective; blocks, and can be
    interrupted, where mpi4py's own would spin."""
    size = mpi.Get_size()
    if size == 1:
        return [value]
    text = np.frombuffer(pickle.dumps(value), np.uint8)
    sizes = numbers_of_all(mpi, text.size, what)[:, 0]
    starts = np.cumsum(sizes) - sizes
    found = np.empty(int(sizes.sum()), np.uint8)
    with translated(what):
        request = mpi.Iallgatherv([text, MPI.BYTE], [found, (sizes, starts), MPI.BYTE])
    wait(request, what)
    return [pickle.loads(part.tobytes()) for part in np.split(found, starts[1:])]


def numbers_of_all(mpi: Any, mine: Any, what: str) -> npt.NDArray[np.int64]:
    """Integers of all ranks of a communicator, a row for each. Collective; blocks."""
    row = np.atleast_1d(np.asarray(mine, np.int64))
    found = np.empty((mpi.Get_size(), row.size), np.int64)
    with translated(what):
        request = mpi.Iallgather(row, found)
    wait(request, what)
    return found
