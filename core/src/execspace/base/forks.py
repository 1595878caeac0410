"""Forks wait for what a child could not go on with: imports that another thread has begun.

Python locks a module while it is imported. A child that is forked meanwhile finds it locked for
good, and hangs where it needs it. So a fork waits until no other thread compiles or starts a space,
and those that would begin wait for the fork.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Condition, get_ident

_LONGEST = 5.0  # seconds; a thread may itself wait for the one that forks

_gate = Condition()
_inside: dict[int, int] = {}  # thread -> how deep it is within such work
_forking = 0


@contextmanager
def forks_wait() -> Iterator[None]:
    """Forks of other threads wait for the end of the block, for at most some seconds."""
    me = get_ident()
    with _gate:
        if me not in _inside:
            _gate.wait_for(lambda: not _forking, _LONGEST)
        _inside[me] = _inside.get(me, 0) + 1
    try:
        yield
    finally:
        with _gate:
            left = _inside.pop(me, 1) - 1
            if left:
                _inside[me] = left
            _gate.notify_all()


def _before() -> None:
    global _forking
    me = get_ident()
    with _gate:
        _forking += 1
        _gate.wait_for(lambda: not _inside.keys() - {me}, _LONGEST)


def _after_in_parent() -> None:
    global _forking
    with _gate:
        _forking = max(0, _forking - 1)
        _gate.notify_all()


def _after_in_child() -> None:
    global _gate, _forking
    me = get_ident()
    depth = _inside.get(me, 0)
    _gate, _forking = Condition(), 0
    _inside.clear()
    if depth:
        _inside[me] = depth


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_before, after_in_parent=_after_in_parent, after_in_child=_after_in_child
    )
