"""How a call of a kernel addresses Views: by its own indices, so that no other call meets it there.

Two kernels may be fused if what one stores the other reads, or stores, at the same place.
"""

from __future__ import annotations

from execspace import ViewType

from .. import ir
from ..ir import Expr, Var
from ..ir.rewriting import names_set
from ..typing.lowered import Lowered

Subscripts = dict[int, tuple[int | None, ...]]


def subscripts_of(lowered: Lowered) -> Subscripts | None:
    """As `execspace.Plan.subscripts`."""
    spec = lowered.spec
    fusible = spec.policy.kind != "team" and spec.pattern != "scan" and spec.array_shape is None
    if not fusible or lowered.prints or lowered.assertions:
        return None
    if any(f.external is not None for f in lowered.functions):  # which may do anything
        return None
    body, rank = lowered.body, spec.policy.rank
    indices = {p.name: n for n, p in enumerate(body.parameters[:rank])}
    if indices.keys() & set(names_set(body)):
        return None
    arguments = body.parameters[lowered.leading : lowered.leading + len(spec.arguments)]
    views = {
        p.name: n
        for n, (p, a) in enumerate(zip(arguments, spec.arguments, strict=True))
        if isinstance(a, ViewType)
    }
    found: dict[int, tuple[int | None, ...] | None] = {}

    def access(view: Var, at: tuple[Expr, ...]) -> None:
        number = views.get(view.name)
        if number is None:
            return
        own = tuple(_index(e, indices) for e in at)
        known = found.setdefault(number, own)
        if known is not None and known != own:  # what differs is no index
            pairs = zip(known, own, strict=True)
            found[number] = tuple(a if a == b else None for a, b in pairs)

    for e in ir.walk_expressions(body.body):
        if isinstance(e, ir.Load):
            access(e.view, e.indices)
        elif isinstance(e, ir.Call):
            for a in e.args:
                if isinstance(a, Var) and a.name in views:  # a helper may do anything with it
                    found[views[a.name]] = None
    for s in ir.walk_statements(body.body):
        if isinstance(s, ir.Store | ir.Atomic):
            access(s.view, s.indices)
    result: Subscripts = {}
    for number, own in found.items():
        result[number] = () if own is None else own
    return result


def _index(e: Expr, indices: dict[str, int]) -> int | None:
    """The number of the index that a subscript is."""
    if isinstance(e, ir.Op) and e.op in ("bounded", "cast"):
        return _index(e.args[0], indices) if e.type.name == "int64" else None
    return indices.get(e.name) if isinstance(e, Var) else None
