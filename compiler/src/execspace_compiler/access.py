"""How a kernel reads Views: what decides between a flat walk of its range and one in blocks."""

from __future__ import annotations

from . import ir
from .ir import Expr
from .pipeline import Lowered
from .types import ViewTy

# Extents of a block by rank, from the fastest dimension on: measured on an H200, where no block of
# rank 4 and above was faster than the flat walk.
_BLOCKS = {2: (64, 4), 3: (64, 2, 1)}


def block_of(lowered: Lowered, order: tuple[int, ...]) -> tuple[int, ...] | None:
    """Extents of the blocks in which a GPU should go through a range; None: flat.

    Blocks pay where neighbours in a slower dimension read the same elements: a stencil. Then those
    are read by one group, and found in its fast memory. By dimension of the policy, each a power of
    two.
    """
    policy = lowered.spec.policy
    if lowered.reduction is not None or policy.tiled or policy.rank not in _BLOCKS:
        return None
    if not any(_is_stencil(lowered.body, d) for d in order[:-1]):
        return None
    extents = dict(zip(reversed(order), _BLOCKS[policy.rank], strict=True))
    return tuple(extents[d] for d in range(policy.rank))


def _is_stencil(body: ir.Function, d: int) -> bool:
    """Whether some View is read at several distances from index `d` of the policy."""
    index = body.parameters[d].name
    sets = {s.name for s in ir.walk_statements(body.body) if isinstance(s, ir.Assign | ir.For)}
    if index in sets:
        return False
    distances: dict[tuple[str, int], set[int]] = {}
    for e in ir.walk_expressions(body.body):
        if not isinstance(e, ir.Load) or not isinstance(e.view.type, ViewTy):
            continue
        for dimension, i in enumerate(e.indices):
            distance = _distance(i, index)
            if distance is not None:
                distances.setdefault((e.view.name, dimension), set()).add(distance)
    return any(len(found) > 1 for found in distances.values())


def _distance(e: Expr, index: str) -> int | None:
    """Of an expression that is an index plus or minus a constant, the constant."""
    if isinstance(e, ir.Var):
        return 0 if e.name == index else None
    if isinstance(e, ir.Op) and e.op in ("bounded", "cast") and len(e.args) == 1:
        return _distance(e.args[0], index)
    if isinstance(e, ir.Op) and e.op in ("add", "sub") and len(e.args) == 2:
        a, b = e.args
        if e.op == "add" and isinstance(a, ir.Const):
            a, b = b, a
        base = _distance(a, index)
        if base is not None and isinstance(b, ir.Const):
            return base + (int(b.value) if e.op == "add" else -int(b.value))
    return None
