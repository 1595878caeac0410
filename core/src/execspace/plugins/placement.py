"""Where work on Views runs, and whether a space reaches them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ..base.errors import SpaceAccessError
from ..contract.space import ExecutionSpace
from .selection import CURRENT, default_space, resolve

__all__ = ["space_for"]


def implied_space(views: Iterable[Any]) -> ExecutionSpace:
    """Where work on Views runs that names no space.

    The default space if it reaches them all, else the one space of theirs that does.
    """
    views = list(views)
    default = default_space()
    if CURRENT.get() is not None or _reaches_all(default, views):
        return default
    able = {v.space.name: v.space for v in views if v.space and _reaches_all(v.space, views)}
    return next(iter(able.values())) if len(able) == 1 else default


def space_for(*views: Any, space: str | ExecutionSpace | None = None) -> ExecutionSpace:
    """Where a launch on Views runs: for libraries that choose by it what they launch.

    Parameters
    ----------
    *views : View
    space : str or ExecutionSpace, optional
        The one that was asked for; else the default space if it reaches them all, or the one space
        of theirs that does.

    Raises
    ------
    SpaceAccessError
        If it cannot reach one of them.
    UnknownSpaceError, SpaceUnavailableError

    Examples
    --------
    >>> import execspace as es
    >>> es.space_for(es.zeros(3, space="serial"), space="serial").name
    'serial'
    """
    found = implied_space(views) if space is None else resolve(space)
    check_reached(views, found)
    return found


def check_reached(views: Iterable[Any], space: ExecutionSpace, what: str = "") -> None:
    """Raise SpaceAccessError for a View that a space cannot reach; `what` begins its message."""
    for view in views:
        if not view.memory_space.reachable_from(space):
            raise SpaceAccessError(
                f"{what}View '{view.label}' is in memory space '{view.memory_space.name}', which "
                f"space '{space.name}' cannot reach. Make a View of its elements there, "
                f"es.array(..., space='{space.name}'), and take results out of it by to_numpy()."
            )


def _reaches_all(space: ExecutionSpace, views: Iterable[Any]) -> bool:
    return all(v.memory_space.reachable_from(space) for v in views)
