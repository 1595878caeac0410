"""Loads and stores of vectors: accesses of lanes that are next to each other are one access.

IR has a load or store of each lane, masked ones under a test of the lane.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from execspace.base.dataclass import dataclass

from ... import ir
from ...ir.types import Scalar, Vector, ViewTy
from .emitter import Emitter
from .memory import ViewParts, Write, place
from .spelling import stored, type_of
from .vectors import constants, packed

Views = Mapping[str, ViewParts]


@dataclass(frozen=True, slots=True)
class _Access:
    """One lane of a load or store; `mask` has the lane that must hold."""

    element: ir.Load | ir.Store
    mask: ir.Expr | None


def pack(e: Emitter, write: Write, views: Views, x: ir.Op) -> str:
    """A vector of numbers; one load if that is what they are."""
    t = x.type
    assert isinstance(t, Vector)
    if all(isinstance(a, ir.Const) for a in x.args):
        return constants([a.value for a in x.args if isinstance(a, ir.Const)], t)
    if all(isinstance(a, ir.Load) for a in x.args):
        loads = [a for a in x.args if isinstance(a, ir.Load)]
        if _are_neighbours(loads):
            return _load(e, write, views, loads[0], t)
    elif all(isinstance(a, ir.Select) for a in x.args):
        found = _masked(e, write, views, [a for a in x.args if isinstance(a, ir.Select)], t)
        if found:
            return found
    return packed(e, [_number(write, a) for a in x.args], t)


def _number(write: Write, x: ir.Expr) -> str:
    found = write(x)
    assert isinstance(found, str)
    return found


def _masked(e: Emitter, write: Write, views: Views, lanes: Sequence[ir.Select], t: Vector) -> str:
    """A masked load of neighbours; empty if they are none."""
    loads = [s.then for s in lanes if isinstance(s.then, ir.Load)]
    mask = _whole([s.test for s in lanes])
    if mask is None or len(loads) < t.lanes or not _are_neighbours(loads) or t.name == "bool":
        return ""
    rest = _whole([s.orelse for s in lanes])
    if rest is not None:
        otherwise = _number(write, rest)
    elif all(isinstance(s.orelse, ir.Const) for s in lanes):
        otherwise = constants([s.orelse.value for s in lanes if isinstance(s.orelse, ir.Const)], t)
    else:
        return ""
    return _load(e, write, views, loads[0], t, _number(write, mask), otherwise)


def _load(
    e: Emitter,
    write: Write,
    views: Views,
    first: ir.Load,
    t: Vector,
    mask: str = "",
    otherwise: str = "",
) -> str:
    view = views[first.view.name]
    address, _ = place(e, write, view, first)
    kind = _stored(t)
    if mask:
        name, bits = f"llvm.masked.load.{_suffix(t)}.p0", f"<{t.lanes} x i1>"
        function = e.module.declare(name, kind, f"ptr, i32 immarg, {bits}, {kind}")
        given = f"ptr {address}, i32 {t.itemsize}, {bits} {mask}, {kind} {otherwise}"
        return e.op(f"call {kind} {function}({given}){view.scope}")
    found = e.op(f"load {kind}, ptr {address}, align {t.itemsize}{view.scope}")
    return e.op(f"trunc {kind} {found} to {type_of(t)}") if t.name == "bool" else found


def store(e: Emitter, write: Write, views: Views, body: Sequence[ir.Stmt], at: int) -> int:
    """Write a vector that statements from one on store lane by lane; how many they are, or 0."""
    first = _stored_lane(body[at])
    if first is None:
        return 0
    v = _vector_of(first.element)
    assert v is not None and isinstance(v.type, Vector)
    t = v.type
    lanes = [a for s in body[at : at + t.lanes] if (a := _stored_lane(s)) is not None]
    if len(lanes) < t.lanes:
        return 0
    stores = [a.element for a in lanes if isinstance(a.element, ir.Store)]
    if _whole([s.value for s in stores]) != v or not _are_neighbours(stores):
        return 0
    masks = [a.mask for a in lanes if a.mask is not None]
    mask = _whole(masks) if len(masks) == t.lanes else None
    if masks and (not isinstance(mask, ir.Var) or t.name == "bool"):
        return 0
    # An index that is read from memory may change with the first store.
    inner = ir.subexpressions(*stores[0].indices)
    if any(isinstance(x, ir.Load | ir.Call) for x in inner):
        return 0
    value = _number(write, v)
    view = views[stores[0].view.name]
    address, _ = place(e, write, view, stores[0])
    kind = _stored(t)
    if mask is not None:
        bits = f"<{t.lanes} x i1>"
        parameters = f"{kind}, ptr, i32 immarg, {bits}"
        function = e.module.declare(f"llvm.masked.store.{_suffix(t)}.p0", "void", parameters)
        given = f"{kind} {value}, ptr {address}, i32 {t.itemsize}, {bits} {_number(write, mask)}"
        e.do(f"call void {function}({given}){view.scope}")
        return t.lanes
    if t.name == "bool":
        value = e.op(f"zext {type_of(t)} {value} to {kind}")
    e.do(f"store {kind} {value}, ptr {address}, align {t.itemsize}{view.scope}")
    return t.lanes


def _stored_lane(s: ir.Stmt) -> _Access | None:
    """The store of a lane, maybe under a test of a lane of a mask."""
    if isinstance(s, ir.Store):
        return None if _vector_of(s) is None else _Access(s, None)
    if isinstance(s, ir.If) and len(s.body) == 1 and not s.orelse and _lane(s.test) is not None:
        inner = s.body[0]
        if isinstance(inner, ir.Store) and _vector_of(inner) is not None:
            return _Access(inner, s.test)
    return None


def _vector_of(s: ir.Load | ir.Store) -> ir.Expr | None:
    """The variable a lane of which is stored."""
    found = None if isinstance(s, ir.Load) or s.byte is not None else _lane(s.value)
    return None if found is None or not isinstance(found[0], ir.Var) else found[0]


def _lane(x: ir.Expr) -> tuple[ir.Expr, int] | None:
    """The vector and the number of a lane."""
    if isinstance(x, ir.Op) and x.op == "lane" and isinstance(x.args[1], ir.Const):
        return x.args[0], int(x.args[1].value)
    return None


def _whole(lanes: Sequence[ir.Expr]) -> ir.Expr | None:
    """The vector of which these are all lanes, in order."""
    found = [_lane(x) for x in lanes]
    if not found or found[0] is None:
        return None
    v = found[0][0]
    t = v.type
    if not isinstance(t, Vector) or t.lanes != len(lanes):
        return None
    return v if all(f == (v, k) for k, f in enumerate(found)) else None


# -- addresses ------------------------------------------------------------------------------------


def _are_neighbours(lanes: Sequence[ir.Load | ir.Store]) -> bool:
    """Whether accesses are to one View, each to the number behind the last one."""
    view = lanes[0].view
    t = view.type
    assert isinstance(t, ViewTy)
    element = lanes[0].type if isinstance(lanes[0], ir.Load) else lanes[0].value.type
    if t.element != element or any(a.view != view or a.byte is not None for a in lanes):
        return False
    if not lanes[0].indices:
        return False
    unit = 0 if t.mapped else next((d for d in range(t.rank) if t.stride(d) == 1), None)
    if unit is None:
        return False
    start = [_terms(i) for i in lanes[0].indices]
    for k, a in enumerate(lanes[1:], 1):
        for d, i in enumerate(a.indices):
            terms, constant = _terms(i)
            if terms != start[d][0] or constant - start[d][1] != (k if d == unit else 0):
                return False
    return True


def _terms(x: ir.Expr) -> tuple[dict[ir.Expr, int], int]:
    """An index as a sum: factors of expressions, and a constant."""
    if isinstance(x, ir.Const):
        return {}, int(x.value)
    if isinstance(x, ir.Op) and x.op == "bounded":
        return _terms(x.args[0])
    if isinstance(x, ir.Op) and x.op == "add":
        (a, m), (b, n) = map(_terms, x.args)
        return {e: a.get(e, 0) + b.get(e, 0) for e in (*a, *b)}, m + n
    if isinstance(x, ir.Op) and x.op == "mul" and isinstance(x.args[1], ir.Const):
        a, m = _terms(x.args[0])
        factor = int(x.args[1].value)
        return {e: n * factor for e, n in a.items()}, m * factor
    return {x: 1}, 0


def _stored(t: Vector) -> str:
    return f"<{t.lanes} x {stored(t.lane)}>"


def _suffix(t: Scalar) -> str:
    assert isinstance(t, Vector)
    return f"v{t.lanes}{'f' if t.is_float else 'i'}{t.bits}"
