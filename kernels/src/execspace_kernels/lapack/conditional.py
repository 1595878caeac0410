"""Results that are kept only where nothing failed, without a wait for `info`."""

from __future__ import annotations

from typing import Any

import execspace as es

from ..blas.operands import cells

__all__ = ["copy_of", "keep"]


def copy_of(view: es.View, space: es.ExecutionSpace) -> es.View:
    """A matrix of its own with the same elements, in the same layout if that has a name."""
    layout = view.layout if view.layout in ("left", "right") else None
    made = es.View(view.shape, view.dtype, label=view.label, layout=layout, space=space,
                   initialize=False)  # fmt: skip
    es.deep_copy(made, view, instance=space)
    return made


def keep(
    target: es.View, found: es.View, info: es.View, space: es.ExecutionSpace, part: str = "all"
) -> None:
    """Copy what was found to the target, or to its triangle "L", if `info` is 0."""
    es.parallel_for(cells(target, space), _keep, target, found, info, part, label="lapack keep")


def _keep(i: int, j: int, target: Any, found: Any, info: Any, part: Any) -> None:
    counts = True
    if part == "L":
        counts = j <= i
    if counts and info[()] == 0:
        target[i, j] = found[i, j]
