"""What a row is: a function of which one call is timed, or the word that a library is not there.

Rows of one group do the same work. A row of execspace is set beside the other libraries' rows of
its group, which take turns with it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from benchmarks.common.optional import NotThere

DEVICES = ("cuda", "hip", "opencl")


class Row(NamedTuple):
    """A function of which one call is timed. `peer`: it is none of execspace's.

    `drain` is called after each batch, outside of the time: what a device has queued is awaited.
    `check` runs the work before anything is timed, and raises AssertionError if it is wrong. A call
    does the work `each` times; times are those of one.
    """

    name: str
    call: Callable[[], Any]
    peer: bool = False
    target: float | None = None
    drain: Callable[[], Any] | None = None
    group: str = ""
    check: Callable[[], Any] | None = None
    each: int = 1


class Missing(NamedTuple):
    """A row of another library that cannot be timed here."""

    name: str
    reason: str
    group: str = ""
    peer: bool = True


def attempt(name: str, group: str, make: Callable[[], Row]) -> Row | Missing:
    """The row that `make` makes of another library, or why there is none."""
    try:
        return make()
    except NotThere as reason:
        return Missing(name, str(reason), group)
    except Exception as error:  # the other rows are still worth measuring
        return Missing(name, f"FAILED: {type(error).__name__}: {error}", group)
