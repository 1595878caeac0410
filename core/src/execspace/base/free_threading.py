"""What differs on an interpreter without the GIL, as of python3.13t and python3.14t.

Dicts, lists and references have locks of their own there. So a single operation of one of these
needs none, as `append`, `pop`, `setdefault` and `list(table.values())`; a loop over a table does,
with the GIL as well. What else took the GIL for a lock has one, or is in this module.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Hashable
from contextlib import suppress
from itertools import count
from typing import Any

from .locks import new_rlock

# Of the build, not of the process: an extension module may have turned the GIL on. `sysconfig`
# says it, too, and takes milliseconds to import.
FREE_THREADED = "free-threading build" in sys.version


def numbers(first: int = 0) -> Callable[[], int]:
    """A function that returns another number at each call, whichever thread calls it.

    With the GIL a step of `itertools.count` is whole. Without it two threads may get one number
    (3.13), so there is a lock.
    """
    step = count(first).__next__
    if not FREE_THREADED:
        return step
    lock = new_rlock()  # whatever is freed meanwhile may ask, too

    def locked() -> int:
        with lock:
            return step()

    return locked


def getter(table: dict[Any, Any]) -> Callable[[Hashable], Any]:
    """`table.get`, for launches.

    Without the GIL, `get` of 3.13 waits for itself where another thread has put the key in: 20 us,
    where a subscript takes 0.1 us.
    """
    if not FREE_THREADED:
        return table.get

    def get(key: Hashable) -> Any:
        try:
            return table[key]
        except KeyError:
            return None

    return get


def drop_oldest(table: dict[Any, Any]) -> None:
    """Remove the first entry of a table that other threads change: nothing, if they are at it."""
    with suppress(StopIteration, RuntimeError):  # it is empty, or was changed between two steps
        table.pop(next(iter(table)), None)
