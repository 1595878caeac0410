"""Which Views of a launch must not overlap in memory for its kernel to be compiled as if none did.

Compilers vectorise and reorder only where they know that a store changes no other View. Launchers
look at the Views each time; where they overlap a second text is compiled that allows it.
"""

from __future__ import annotations

from . import ir
from .pipeline import Lowered
from .types import ViewTy


def written_pairs(lowered: Lowered) -> list[tuple[ir.Var, ir.Var]]:
    """Pairs of Views of a parallel_for of which one is written: they must not overlap."""
    if lowered.reduction is not None:
        return []
    written = ir.written_views(lowered.body)
    views = [p for p in lowered.body.parameters if isinstance(p.type, ViewTy)]
    return [
        (a, b)
        for n, a in enumerate(views)
        for b in views[n + 1 :]
        if a.name in written or b.name in written
    ]


def pairs_to_check(lowered: Lowered) -> list[tuple[ir.Var, ir.Var]]:
    """Those pairs of which nobody has promised, by the trait "restrict", that they do not."""
    return [
        (a, b)
        for a, b in written_pairs(lowered)
        if not any(isinstance(v.type, ViewTy) and "restrict" in v.type.traits for v in (a, b))
    ]
