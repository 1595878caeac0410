"""Typing a scan until the type of its prefix is that of what it joins."""

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
    """What typing a scan gives when its prefix has the type of what is joined.

    What a scan contributes may depend on its prefix, whose type follows from the contributions; so
    it is typed again until the two agree. Each item of the prefix may grow a few times, one after
    the other.

    Parameters
    ----------
    guess : Type
    attempt : callable
        Types the scan with a prefix; if its second argument is true, in spite of faults, which a
        prefix of the wrong type may be the cause of.
    value_of : callable
        Type of what is joined.
    loc : Loc

    Raises
    ------
    Fault, KernelError
        Of a prefix of the right type; or because the types never agree.
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
