"""The exception of communication, and what translates those of MPI."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import execspace as es

__all__ = ["CommError"]


class CommError(es.ExecspaceError, RuntimeError):
    """Ranks do not agree, a rank does not exist, or MPI refused a message."""


@contextmanager
def translated(what: str) -> Iterator[None]:
    """Errors of MPI as CommError, with what was done."""
    from .mpi import MPI

    try:
        yield
    except MPI.Exception as error:
        kind = error.Get_error_class()
        text = str(error).partition("\n")[0].rstrip(".")
        if kind == MPI.ERR_TRUNCATE:
            text += "; a message has more elements than the View that was to get it"
        raise CommError(f"{what}: {text}.") from error
