"""Typing of scans, repeated until the types of the prefix and the joined value agree."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from execspace import KernelError

from ..ir.diagnostics import Fault, Loc, type_fault
from ..ir.types import Type, flat_scalars

_Found = TypeVar("_Found")


def with_settled_prefix(
    guess: Type,
    attempt: Callable[[Type, bool], _Found],
    value_of: Callable[[_Found], Type],
    loc: Loc,
) -> _Found:
    """Type a scan until its prefix has the type of the joined value; returns the last attempt.

    Contributions of a scan may depend on its prefix, whose type follows from the contributions; so
    it is typed again until the two agree. Each item of the prefix may be widened a few times.

    Parameters
    ----------
    guess : Type
    attempt : callable
        Types the scan with a prefix; if its second argument is true, despite faults, which a
        prefix of the wrong type may cause.
    value_of : callable
        Type of the joined value.
    loc : Loc

    Raises
    ------
    Fault, KernelError
        Faults with a prefix of the right type; or the types never agree.
    """
    prefix, left = guess, 8
    while left:
        try:
            found = attempt(prefix, False)
            value = value_of(found)
        except (Fault, KernelError):
            try:
                value = value_of(attempt(prefix, True))
            except (Fault, KernelError):
                value = prefix
            if value == prefix:
                raise
        if value == prefix:
            return found
        left = 4 * len(flat_scalars(value)) + 8 if prefix is guess else left - 1
        prefix = value
    raise type_fault(
        loc,
        "the type of what this scan returns depends on that of its prefix and never settles",
        "convert what is returned, for example with es.float64(...)",
    )
