"""Which spaces have nothing to wait for, ever; `fence` leaves them out, and so do copies."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

ExecutionSpace = Any  # which are made with this package

_Synchronize = TypeVar("_Synchronize", bound=Callable[..., None])
_idle: set[Callable[..., None]] = set()


def waits_for_nothing(synchronize: _Synchronize) -> _Synchronize:
    """Mark a `synchronize` that has nothing to wait for, ever: `fence` need not call it."""
    _idle.add(synchronize)
    return synchronize


def never_waits(space: ExecutionSpace) -> bool:
    """Whether a fence of a space waits for nothing: its `synchronize` is one marked so."""
    return type(space).synchronize in _idle and "synchronize" not in space.__dict__
