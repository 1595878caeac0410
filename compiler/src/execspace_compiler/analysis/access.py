"""Memory access patterns of a kernel, which determine the iteration order and tiles."""

from __future__ import annotations

from execspace.base.dataclass import dataclass

from .. import ir
from ..ir import Expr, Var
from ..ir.rewriting import names_set
from ..ir.types import ViewTy


@dataclass(frozen=True)
class Access:
    """A kernel's access pattern, for mappings.

    Attributes
    ----------
    pattern : str
        One of `execspace.contract.tiles.ACCESS`.
    other : int
        For a transpose, the dimension of the policy other than the fastest one that runs along
        contiguous elements of a View; otherwise -1.
    reason : str
        Why the pattern was chosen, for people.
    """

    pattern: str
    other: int = -1
    reason: str = ""


def access_of(body: ir.Function, order: tuple[int, ...]) -> Access:
    """The pattern of a kernel; `order` lists dimensions from the slowest to the fastest.

    A stencil reads a View at several offsets from the index of a slower dimension, so that
    neighbours read the same elements. A transpose accesses a View with a stride along the fastest
    dimension, while its contiguous elements are along a slower one. In a loop, calls that differ in
    one index only may read the same elements, as those of a product of matrices do, or go on for
    as long as their neighbours do.
    """
    for d in order[:-1]:
        view = _read_at_distances(body, d)
        if view:
            return Access("stencil", reason=f"neighbours along dimension {d} of '{view}' are read")
    view, other = _transposed(body, order)
    if view:
        reason = (
            f"contiguous elements of '{view}' lie along dimension {other}, not along {order[-1]}"
        )
        return Access("transpose", other, reason)
    view = _read_from_places(body, len(order))
    if view:
        return Access("gather", reason=f"places in '{view}' are read from memory")
    why = _shared_in_loops(body, len(order))
    if why:
        return Access("loop", reason=why)
    return Access("stream", reason="each call touches elements of its own")


def unit_stride_votes(body: ir.Function, rank: int) -> list[int]:
    """For each dimension of the policy, accesses whose contiguous subscript depends on it.

    A store counts 1.5 times as much as a load, since scatters cost more than gathers.
    """
    depends = _dependences(body, rank)
    votes = [0] * rank
    for view, indices, weight in _accesses(body):
        assert isinstance(view.type, ViewTy)
        if view.type.unit is not None:
            for d in _indices(indices[view.type.unit], depends):
                votes[d] += weight
    return votes


def _transposed(body: ir.Function, order: tuple[int, ...]) -> tuple[str, int]:
    """A View with a stride along the fastest dimension, and the dimension contiguous in it."""
    depends = _dependences(body, len(order))
    for view, indices, _ in _accesses(body):
        assert isinstance(view.type, ViewTy)
        unit = view.type.unit
        if unit is None:
            continue
        along = _indices(indices[unit], depends)
        others = [_indices(i, depends) for n, i in enumerate(indices) if n != unit]
        if along and order[-1] not in along and any(order[-1] in o for o in others):
            return view.name, max(along, key=order.index)
    return "", -1


def _dependences(body: ir.Function, rank: int) -> dict[str, set[int]]:
    """Variables and the dimensions of the policy whose indices they depend on."""
    depends: dict[str, set[int]] = {p.name: {d} for d, p in enumerate(body.parameters[:rank])}
    for s in ir.walk_statements(body.body):
        if isinstance(s, ir.Assign):
            depends.setdefault(s.name, set()).update(_indices(s.value, depends))
    return depends


def _accesses(body: ir.Function) -> list[tuple[Var, tuple[Expr, ...], int]]:
    """View, subscripts and weight of each access."""
    found: list[tuple[Var, tuple[Expr, ...], int]] = [
        (e.view, e.indices, 2) for e in ir.walk_expressions(body.body) if isinstance(e, ir.Load)
    ]
    return found + [
        (s.view, s.indices, 3)
        for s in ir.walk_statements(body.body)
        if isinstance(s, ir.Store | ir.Atomic)
    ]


def _indices(e: Expr, depends: dict[str, set[int]]) -> set[int]:
    if isinstance(e, Var):
        return depends.get(e.name, set())
    found: set[int] = set()
    for a in ir.operands(e):
        found |= _indices(a, depends)
    return found


def _shared_in_loops(body: ir.Function, rank: int) -> str:
    """What neighbouring calls of a kernel have in common in a loop; empty if nothing."""
    depends = _dependences(body, rank)
    for s in ir.walk_statements(body.body):
        if isinstance(s, ir.While):
            return "how long a call takes is not known, and much the same for its neighbours"
        if not isinstance(s, ir.For):
            continue
        for e in ir.walk_expressions(s.body):
            if isinstance(e, ir.Load) and isinstance(e.view.type, ViewTy):
                along = set().union(*(_indices(i, depends) for i in e.indices))
                if along and len(along) < rank and e.view.type.shape is None:
                    other = min(set(range(rank)) - along)
                    return (
                        f"calls along dimension {other} read the same elements of '{e.view.name}'"
                    )
    return ""


def _read_at_distances(body: ir.Function, d: int) -> str:
    """Name of a View that is read at several offsets from index `d`; empty if there is none."""
    index = body.parameters[d].name
    if index in names_set(body):
        return ""
    distances: dict[tuple[str, int], set[int]] = {}
    for e in ir.walk_expressions(body.body):
        if not isinstance(e, ir.Load) or not isinstance(e.view.type, ViewTy):
            continue
        for dimension, i in enumerate(e.indices):
            distance = distance_from(index, i)
            if distance is not None:
                distances.setdefault((e.view.name, dimension), set()).add(distance)
    return next((view for (view, _), found in distances.items() if len(found) > 1), "")


def distance_from(index: str, e: Expr) -> int | None:
    """The constant, if an expression is an index plus or minus a constant.

    A narrower type is not: numbers of it wrap.
    """
    if isinstance(e, Var):
        return 0 if e.name == index else None
    if isinstance(e, ir.Op) and e.op in ("bounded", "cast"):
        return distance_from(index, e.args[0]) if e.type.name == "int64" else None
    if isinstance(e, ir.Op) and e.op in ("add", "sub") and len(e.args) == 2:
        a, b = e.args
        if e.op == "add" and isinstance(a, ir.Const):
            a, b = b, a
        base = distance_from(index, a)
        if base is not None and isinstance(b, ir.Const):
            return base + (int(b.value) if e.op == "add" else -int(b.value))
    return None


def _read_from_places(body: ir.Function, rank: int) -> str:
    """Name of a View with subscripts that are loaded from a View; empty if there is none."""
    loaded: set[str] = set()

    def is_loaded(e: Expr) -> bool:
        if isinstance(e, ir.Load):
            return True
        if isinstance(e, Var):
            return e.name in loaded
        return any(is_loaded(a) for a in ir.operands(e))

    for s in ir.walk_statements(body.body):
        if isinstance(s, ir.Assign) and is_loaded(s.value):
            loaded.add(s.name)
    return next((v.name for v, indices, _ in _accesses(body) if any(map(is_loaded, indices))), "")
