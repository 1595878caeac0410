"""The limit on the memory of a kernel's private arrays.

They are on the stack of the thread that runs the call. Stack sizes differ between spaces, and an
overflow ends the process; so one limit holds on all spaces.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from .. import ir
from .diagnostics import NOWHERE, Diagnostic, Loc
from .types import ViewTy

MOST_PRIVATE = 1 << 16  # bytes


def private_bytes(type: ViewTy) -> int:
    """Bytes of a private array."""
    return math.prod(type.shape or (0,)) * type.element.itemsize


def private_total(functions: Sequence[ir.Function]) -> int:
    """Bytes of all private arrays in a call of the last function; see `excess`."""
    return _counted(functions)[0]


def excess(functions: Sequence[ir.Function]) -> Diagnostic | None:
    """The diagnostic of a kernel whose private arrays take more than `MOST_PRIVATE`, else None.

    Parameters
    ----------
    functions : sequence of ir.Function
        Callees first, the kernel last. Arrays of a helper are counted at each of its call sites,
        since compilers inline it there.
    """
    total, nbytes, loc = _counted(functions)
    if total <= MOST_PRIVATE:
        return None
    message = f"es.local makes an array of {nbytes:,} bytes here"
    if total > nbytes:
        message += f", and all private arrays of a call of the kernel take {total:,}"
        message += ", those of functions once for each place that calls them"
    return Diagnostic(
        loc,
        f"{message}; there is room for {MOST_PRIVATE:,} bytes",
        "make them smaller, give a dtype of fewer bytes, or use rows of a View, one for each index "
        "(or for each thread, with es.UniqueToken)",
    )


def _counted(functions: Sequence[ir.Function]) -> tuple[int, int, Loc]:
    """Bytes of all arrays of a call, those of the largest one, and where that is created."""
    totals: dict[str, int] = {}
    largest: dict[str, tuple[int, Loc]] = {}  # array of a function, its callees' included
    for f in functions:
        arrays = {
            s.array.name: (private_bytes(s.array.type), s.loc)
            for s in ir.walk_statements(f.body)
            if isinstance(s, ir.Clear) and isinstance(s.array.type, ViewTy)
        }
        calls = [e.function for e in ir.walk_expressions(f.body) if isinstance(e, ir.Call)]
        calls = [name for name in calls if name in totals]
        totals[f.name] = sum(n for n, _ in arrays.values()) + sum(totals[name] for name in calls)
        found = [*arrays.values(), *(largest[name] for name in calls if name in largest)]
        if found:
            largest[f.name] = max(found, key=lambda pair: pair[0])
    last = functions[-1].name
    return totals[last], *largest.get(last, (0, NOWHERE))
