"""The alignment that 16-byte atomic operations of a host need.

An element of complex128 is changed by an instruction for 16 bytes, which traps if the address is
not a multiple of 16. NumPy guarantees only 8, so Views are checked at each launch.
"""

from __future__ import annotations

from .. import ir
from ..ir.types import ViewTy
from ..typing.lowered import Lowered
from .facts import Requirement


def aligned_views(lowered: Lowered) -> tuple[Requirement, ...]:
    """Position, name and alignment of each View that needs a larger alignment than that of its
    dtype, for an atomic operation."""
    needed: dict[str, dict[str, int]] = {}
    for function in lowered.functions:  # callees first
        found: dict[str, int] = {}
        for s in ir.walk_statements(function.body):
            if (
                isinstance(s, ir.Atomic)
                and s.indivisible
                and (s.type.kind == "c" or s.byte is not None)
            ):
                found[s.view.name] = max(found.get(s.view.name, 1), s.type.itemsize)
        for e in ir.walk_expressions(function.body):
            if not isinstance(e, ir.Call) or e.function not in needed:
                continue
            callee = next(f for f in lowered.functions if f.name == e.function)
            for p, a in zip(callee.parameters, e.args, strict=True):
                size = needed[e.function].get(p.name, 1)
                if size > 1 and isinstance(a, ir.Var) and isinstance(a.type, ViewTy):
                    found[a.name] = max(found.get(a.name, 1), size)
        needed[function.name] = found
    arguments = lowered.body.parameters[lowered.leading :]
    sizes = [needed[lowered.body.name].get(p.name, 1) for p in arguments]
    names = [p.name for p in arguments]
    for c in lowered.spec.captures:
        if c.argument is not None:
            names[c.argument] = c.name
    rows = enumerate(zip(names, sizes, strict=True))
    return tuple((n, name, size) for n, (name, size) in rows if size > 1)
