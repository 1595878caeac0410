"""Fusion."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..contract.graphs import GraphLaunch
from ..views.view import View

if TYPE_CHECKING:
    from .graph import Graph


class Fusion:
    def __init__(self, graph: Graph, temporary: Sequence[View]) -> None:
        self.graph, self.temporary = graph, tuple(temporary)
        self.lines: list[str] = []

    def fused(self, launches: list[GraphLaunch]) -> list[GraphLaunch]:
        return launches
