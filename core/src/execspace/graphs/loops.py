"""Loops and conditions of graphs: nodes that have nodes, run by the host."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field
from typing import TYPE_CHECKING, Any

import numpy as np

from ..base.brief import brief
from ..base.dataclass import dataclass
from ..base.errors import LaunchError
from ..contract.space import ExecutionSpace
from ..views.deep_copy import deep_copy
from ..views.view import View

if TYPE_CHECKING:
    from .steps import Step


@dataclass
class Loop:
    """Nodes that run `count` times, or while, or if, the element of `flag` is not zero."""

    kind: str
    count: int = 0
    flag: Any = None
    steps: list[Step] = field(default_factory=list)

    def around(self, body: Callable[[], None], space: ExecutionSpace) -> Callable[[], None]:
        """What runs the body as often as it shall."""
        if self.kind == "repeat":
            turns = range(self.count)

            def repeat() -> None:
                for _ in turns:
                    body()

            return repeat
        flag, found = self.flag, np.empty((), self.flag.dtype)

        def holds() -> bool:
            deep_copy(found, flag, instance=space)
            space.fence("condition of a graph")
            return bool(found[()])

        if self.kind == "if":
            return lambda: body() if holds() else None

        def while_() -> None:
            while holds():
                body()

        return while_


def checked_flag(graph: object, what: str, flag: Any) -> View:
    """A View of one number or bool; LaunchError for anything else."""
    if not isinstance(flag, View) or flag.rank != 0 or flag.dtype.kind not in "biuf":
        raise LaunchError(
            f"{graph}: {what}({brief(flag)}); expected a View of one number, "
            f"es.View((), es.int32), which kernels of the graph set."
        )
    return flag
