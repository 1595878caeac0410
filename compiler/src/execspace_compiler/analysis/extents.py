"""Which Views' extents a function needs: others are no parameters of generated functions."""

from __future__ import annotations

from collections.abc import Collection

from .. import ir


def extents_used(
    functions: tuple[ir.Function, ...], alike: Collection[str] = ()
) -> dict[str, frozenset[str]]:
    """For each function, the View parameters whose extents it needs, directly or in a call.

    Those that are `alike` are called with the same arguments, so what one needs all get.
    """
    known = {f.name: f for f in functions}
    used: dict[str, frozenset[str]] = {}
    for f in functions:  # callees first
        names = set()
        for e in ir.walk_expressions(f.body):
            if isinstance(e, ir.Extent):
                names.add(e.view.name)
            elif isinstance(e, ir.Call):
                for p, a in zip(known[e.function].parameters, e.args, strict=True):
                    if p.name in used[e.function] and isinstance(a, ir.Var):
                        names.add(a.name)
        used[f.name] = frozenset(names)
    same = used.keys() & set(alike)
    together = frozenset[str]().union(*(used[name] for name in same))
    return used | dict.fromkeys(same, together)
