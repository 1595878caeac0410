"""Ranks: how what a solver finds of its rows becomes that of all processes.

An operator may be one of many processes, each of which has some rows of vectors: it says so by a
method `join_over_ranks`. All of them run the same solver. Scalars are joined by that method, which
gives all the same bits, and what is computed of them is not contracted: so all decide alike.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar
from zlib import crc32

import numpy as np
import numpy.typing as npt

import execspace as es

from ..arguments import MANY
from ..errors import MatrixError

__all__ = ["Ranks", "attempt", "is_over_ranks", "ranks_of", "records"]

T = TypeVar("T")


class Ranks:
    """The processes of an operator, as a solver of one of them sees them.

    Attributes
    ----------
    rows : int
        Of all processes together.
    seed : int or list of int
        Of random vectors, another one for each process that says which rows it has.
    is_device : bool
        Whether one of them runs many work items at once.
    is_narrow : bool
        Whether one of them has no float64.
    is_recordable : bool
        Whether operators of all of them say that what they do over ranks can be recorded.
    """

    def __init__(
        self, join: Callable[[es.View, Any], Any], A: Any, what: str, n: int,
        space: es.ExecutionSpace, records: bool,
    ) -> None:  # fmt: skip
        self._join, self.what = join, what
        self.is_recordable = False  # what is joined here is not
        self.rows = int(self.numbers([n], es.Sum, np.int64)[0])
        flags = space.concurrency > MANY, not space.capabilities.float64, not records
        found = self.numbers([float(flag) for flag in flags], es.Max)
        self.is_device, self.is_narrow, launches = (bool(flag) for flag in found)
        self.is_recordable = not launches
        first = getattr(getattr(A, "own_rows", None), "start", 0)
        self.seed = [1, first] if first else 1

    def join(self, view: es.View, reducer: Any) -> None:
        """Make the elements of a View those of all processes."""
        if es.is_recorded() and not self.is_recordable:
            raise es.LaunchError(
                f"{self.what}: joins over ranks of A cannot be recorded; call it outside of "
                f"`with graph:`, or have them be, by es.library_call, and say so: "
                f"A.is_recordable = True."
            )
        self._join(view, reducer)

    def numbers(self, values: Any, reducer: Any, dtype: Any = np.float64) -> npt.NDArray[Any]:
        """Numbers of the host, joined. Blocks."""
        view = es.array(np.asarray(values, dtype), memory=es.HOST, label="ranks")
        self.join(view, reducer)
        return view.to_numpy()

    def attempt(self, function: Callable[[], T]) -> T:
        """What a function returns; if it raises on one process, all raise. Blocks."""
        return attempt(self._join, self.what, function)

    def all_of_them(self, can: bool) -> bool:
        """Whether all processes can do something. Blocks."""
        return not self.numbers([float(not can)], es.Max)[0]

    def check_same(self, **about: Any) -> None:
        """Raise MatrixError on all processes unless they agree. Blocks."""
        own = np.array([crc32(repr(value).encode()) for value in about.values()], np.float64)
        found = self.numbers(np.concatenate([own, -own]), es.Max)
        most, least = found[: own.size], -found[own.size :]
        for (name, value), differs in zip(about.items(), most != least, strict=True):
            if differs:
                raise MatrixError(
                    f"{self.what}: ranks do not agree on {name}, which is {value!r} here; expected "
                    f"the same on all of them."
                )

    def check_fits(self, operators: dict[str, Any], n: int) -> None:
        """Raise MatrixError on all processes where the rows of an operator are not those of b."""
        wrong = ""
        for name, A in operators.items():
            shape, own = getattr(A, "shape", None), getattr(A, "own_rows", None)
            if isinstance(shape, tuple) and shape != (self.rows, self.rows):
                wrong = (
                    f"{name} is {' x '.join(map(str, shape))}; expected {self.rows} x {self.rows}, "
                    f"for b has {self.rows} rows on all ranks together"
                )
            elif own is not None and len(own) != n:
                wrong = (
                    f"b has {n} rows here; expected {len(own)}, for {name} has rows {own.start} to "
                    f"{own.stop} here"
                )
        if not self.all_of_them(not wrong):
            elsewhere = "on another rank b has other rows than A or M has there"
            raise MatrixError(f"{self.what}: {wrong or elsewhere}.")


def attempt(join: Callable[[es.View, Any], Any], what: str, function: Callable[[], T]) -> T:
    """What a function returns; if it raises on one process, all of them raise, MatrixError where it
    does not. Blocks."""
    error: Exception | None = None
    found: Any = None
    try:
        found = function()
    except Exception as raised:
        error = raised
    failed = es.array([float(error is not None)], memory=es.HOST, label="ranks")
    join(failed, es.Max)
    if error is not None:
        raise error
    if failed[0]:
        raise MatrixError(f"{what}: another rank cannot do this; its error tells why.")
    result: T = found
    return result


def is_over_ranks(A: Any) -> bool:
    """Whether an operator has some rows of those of all processes."""
    return callable(getattr(A, "join_over_ranks", None))


def records(A: Any) -> bool:
    """Whether an operator over ranks says that all it does can be recorded."""
    return getattr(A, "is_recordable", False) is True


def ranks_of(A: Any, M: Any, what: str, n: int, space: es.ExecutionSpace) -> Ranks | None:
    """The processes of A; None where there is this one alone. Blocks.

    Raises
    ------
    MatrixError
        If M is of several processes and A is not, or on all processes if rows do not fit.
    """
    if not is_over_ranks(A):
        if is_over_ranks(M):
            raise MatrixError(
                f"{what}: M has rows of all ranks and A is a {type(A).__name__!r} of this one; "
                f"expected both over ranks, or neither."
            )
        return None
    operators = {"A": A}
    if is_over_ranks(M):
        operators["M"] = M
    ranks = Ranks(A.join_over_ranks, A, what, n, space, all(map(records, operators.values())))
    ranks.check_fits(operators, n)
    return ranks
