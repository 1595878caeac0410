"""What algorithms over ranks take: a View of each rank, or a Field, and on which ranks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

import execspace as es

from . import waiting
from .communicator import Comm, comm_of
from .errors import CommError
from .field import Field

__all__ = ["Part", "agreed", "attempt", "numbers_of_all", "part_of", "ranks_of", "told_by_all"]


T = TypeVar("T")


class Part(NamedTuple):
    """This rank's elements of what all ranks have together."""

    view: es.View
    comm: Comm
    field: Field | None


def ranks_of(comm: Any) -> Comm:
    """The ranks that are meant: all of the program if none are given."""
    return comm_of(comm)


def part_of(value: Any, comm: Any, what: str) -> Part:
    """The own elements of a Field, or a View; and the ranks that have the others.

    Raises
    ------
    CommError
        If it is neither, or `comm` is none, or is given beside a Field, which has one.
    """
    if isinstance(value, Field):
        own = value.decomposition.comm
        if comm is not None and comm is not own:
            raise CommError(
                f"{what}: comm={comm!r} beside field '{value.label}', which is on {own!r}; leave "
                f"comm= out."
            )
        return Part(value.own, own, value)
    found = ranks_of(comm)
    return Part(found._view(value, what), found, None)


def agreed(comm: Comm, what: str, problem: str, about: dict[str, str], length: int) -> list[int]:
    """The lengths on all ranks; the same CommError on all if one cannot do what all must.

    Parameters
    ----------
    comm : Comm
    what : str
        What is done, for messages.
    problem : str
        Why this rank cannot; empty if it can.
    about : dict
        What must be the same on all ranks.
    length : int
        How many elements this rank has.
    """
    if comm.size == 1:
        if problem:
            raise CommError(f"{what}: {problem}")
        return [length]
    found = told_by_all(comm, (problem, about, length), what)
    for rank, (trouble, _, _) in enumerate(found):
        if trouble:
            raise CommError(f"{what}, on rank {rank}: {trouble}")
    for rank, (_, other, _) in enumerate(found):
        for name, mine in other.items():
            if mine != found[0][1].get(name):
                raise CommError(
                    f"{what}: ranks do not agree. On rank 0 {name} is {found[0][1].get(name)}, on "
                    f"rank {rank} {mine}; expected the same on all."
                )
    return [n for _, _, n in found]


def attempt(
    comm: Comm, what: str, do: Callable[[], T], about: Callable[[T], dict[str, str]] | None = None
) -> T:
    """What a function of this rank returns, which communicates nothing.

    `about`: of what it returns, what must be the same on all ranks.

    Raises
    ------
    CommError
        On all ranks, with the same message, if it raises on one of them, or they do not agree.
    """
    found: Any = None
    error: Exception | None = None
    try:
        found = do()
    except Exception as raised:  # on which other ranks wait
        error = raised
    try:
        same = {} if about is None or error is not None else about(found)
        agreed(comm, what, "" if error is None else described(error), same, 0)
    except CommError as together:
        raise together from error
    return found  # type: ignore[no-any-return]


def described(error: Exception) -> str:
    """An error in a line; of those that are no CommError, with the kind."""
    text = str(error)
    return text if isinstance(error, CommError) else f"{type(error).__name__}: {text}"


def told_by_all(comm: Comm, value: Any, what: str) -> list[Any]:
    """What each rank tells, pickled. Collective; blocks."""
    return comm._told_by_all(value, what)


def numbers_of_all(comm: Comm, mine: Any, what: str) -> npt.NDArray[np.int64]:
    """Integers of all ranks, a row for each. Collective; blocks."""
    return waiting.numbers_of_all(comm.mpi, mine, what)
