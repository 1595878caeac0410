"""What a space may do with graphs: replay many launches at the price of few.

A graph is a list of launches that depend on earlier ones. Core records it, and replays it launch by
launch where a space has nothing better.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol, runtime_checkable

from ..base.dataclass import dataclass
from .space import Plan

__all__ = [
    "GraphLaunch",
    "SupportsGraphs",
]


@dataclass(frozen=True, slots=True)
class GraphLaunch:
    """A launch of a graph.

    Attributes
    ----------
    plan : Plan
        Of the space, as its `compile` made it.
    bounds, args : tuple
        As `Plan.launch` takes them. Results go to Views: nothing is returned.
    after : tuple of int
        Numbers of the launches that must be done before it begins, all smaller than its own.
    """

    plan: Plan
    bounds: tuple[int, ...]
    args: tuple[Any, ...]
    after: tuple[int, ...]


@runtime_checkable
class SupportsGraphs(Protocol):
    """A space with graphs of its own; elsewhere core launches one after another."""

    def can_replay(self, plan: Plan) -> bool:
        """Whether launches of a plan can be in a graph; must. Those that print or assert, and so
        block, usually cannot: core launches them between two graphs."""

    def instantiate(
        self, launches: Sequence[GraphLaunch], earlier: Callable[[], None] | None
    ) -> Callable[[], None]:
        """Make launches ready to be replayed, and launch nothing; must.

        What it returns enqueues all of them on the space, any number of times, in order with what
        was launched there; it need not block, and keeps Views alive while it lives and until
        what it has enqueued is done. `earlier` is what this method made of the same launches with
        other bounds or arguments: it may be changed and returned, or left alone.
        """
