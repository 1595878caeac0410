"""Locks that a forked child finds open; events of devices, which no child can use, have others.

A child has the thread that forked and no other. A lock that another thread held at that moment
would be held for good there, and the first launch that needs it would wait for ever. What such
locks guard stays whole where its work is broken off, as Ctrl-C may do at any time.

Others may be told of a fork first, and what they make may start the garbage collector, whose
finalisers would wait for such locks. So it rests until they are open.
"""

from __future__ import annotations

import gc
import os
from threading import Lock, RLock
from typing import Any
from weakref import WeakSet

_made: WeakSet[Any] = WeakSet()
_forking, _collects = 0, False  # threads that fork, and whether garbage was collected before


def new_lock() -> Lock:
    """A `threading.Lock` that is open in a forked child."""
    made = Lock()
    _made.add(made)
    return made


def new_rlock() -> RLock:
    """A `threading.RLock` that is open in a forked child."""
    made = RLock()
    _made.add(made)
    return made


def open_in_children(lock: Any) -> None:
    """Treat a lock that somebody else has made as those of this module."""
    _made.add(lock)


def _before() -> None:
    global _forking, _collects
    if not _forking:
        _collects = gc.isenabled()
    _forking += 1
    gc.disable()


def _after_in_parent() -> None:
    global _forking
    _forking = max(0, _forking - 1)
    if not _forking and _collects:
        gc.enable()


def _open() -> None:
    global _forking
    for made in _made:
        if not (hasattr(made, "_is_owned") and made._is_owned()):  # by the thread that forked
            made._at_fork_reinit()
    _forking = 0
    if _collects:
        gc.enable()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before, after_in_parent=_after_in_parent, after_in_child=_open)
