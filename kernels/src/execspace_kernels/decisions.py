"""Which algorithm a function took, and why: for `explain`, and in the handles of functions."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from typing import Any, NamedTuple

from .errors import MatrixError

__all__ = ["Decision", "Explanation", "decided", "explain", "is_explained", "only"]


class Decision(NamedTuple):  # each call makes one: a dataclass takes twice as long
    """That a function took an algorithm.

    Attributes
    ----------
    function, algorithm : str
        Such as "spmv" and "stream".
    why : str
        What made it take this one: a sentence's end, such as "rows are short".
    """

    function: str
    algorithm: str
    why: str

    def __str__(self) -> str:
        return f"{self.function}: {self.algorithm}, for {self.why}"


class Explanation:
    """What a call did.

    Attributes
    ----------
    decisions : tuple of Decision
        In the order in which they were taken, those of functions that it called included.
    result : object
        What the call returned.
    """

    def __init__(self, decisions: tuple[Decision, ...], result: Any) -> None:
        self.decisions, self.result = decisions, result

    def __str__(self) -> str:
        told = "\n".join(map(str, self.decisions))
        return told or "nothing was decided: no function that was called has several algorithms"

    __repr__ = __str__


_LISTS: ContextVar[tuple[list[Decision], ...]] = ContextVar("_LISTS", default=())


def decided(function: str, algorithm: str, why: str) -> Decision:
    """Say what was decided to those who listen; functions with algorithms call it."""
    decision = Decision(function, algorithm, why)
    for found in _LISTS.get():
        found.append(decision)
    return decision


def only(function: str, algorithm: str) -> None:
    """Say what a function does that has no other algorithm."""
    decided(function, algorithm, "it has no other algorithm")


def is_explained() -> bool:
    """Whether someone listens, so that a call says what it decided when it came before."""
    return bool(_LISTS.get())


def explain(function: Callable[..., Any], /, *args: Any, **options: Any) -> Explanation:
    """Call a function of this package, and tell which algorithms it took, and why.

    Parameters
    ----------
    function : callable
        `sparse.spmv`, for example; or one of your own that calls such functions.
    *args, **options
        Its arguments. It is run: what it writes is written.

    Returns
    -------
    Explanation
        Print it; `result` is what the function returned.

    Raises
    ------
    MatrixError
        If `function` cannot be called. What the function raises goes through.

    Notes
    -----
    Blocks where the function does.
    """
    if not callable(function):
        raise MatrixError(f"explain: {function!r} cannot be called; expected a function.")
    found: list[Decision] = []
    token = _LISTS.set((*_LISTS.get(), found))
    try:
        result = function(*args, **options)
    finally:
        _LISTS.reset(token)
    return Explanation(tuple(found), result)
