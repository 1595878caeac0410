"""Numba: text of the prange loops that a Numba user would write by hand, and their making."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any


def prange_function(
    arguments: str,
    order: Sequence[int],
    statement: str,
    *,
    shape_of: str,
    border: int = 0,
    before: str = "",
    result: str = "",
) -> Callable[..., Any]:
    """A function with one loop for each dimension, the outermost of them parallel.

    Parameters
    ----------
    arguments : str
        Its parameters.
    order : sequence of int
        Dimensions, outermost loop first.
    statement : str
        The innermost statement, in terms of i0, i1, ...
    shape_of : str
        The array whose shape is the range.
    border : int
        Points left out at each end.
    before, result : str
        Statement before the loops and expression returned after them.
    """
    import numba

    lines = [f"def loops({arguments}):"]
    if before:
        lines.append(f"    {before}")
    for depth, d in enumerate(order):
        kind = "prange" if depth == 0 else "range"
        n = f"{shape_of}.shape[{d}]"
        bounds = f"{border}, {n} - {border}" if border else n
        lines.append("    " * (depth + 1) + f"for i{d} in {kind}({bounds}):")
    lines.append("    " * (len(order) + 1) + statement)
    if result:
        lines.append(f"    return {result}")
    scope: dict[str, Any] = {"prange": numba.prange}
    exec("\n".join(lines), scope)
    made: Callable[..., Any] = numba.njit(parallel=True)(scope["loops"])
    return made
