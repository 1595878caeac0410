"""How a kernel accesses rows of neighbouring elements: its own, and those near it.

A row is what the calls along one index access of a View, if its contiguous subscript is that index,
or at a fixed distance, and the others do not depend on it.
"""

from __future__ import annotations

from dataclasses import field

from execspace.base.dataclass import dataclass

from .. import ir
from ..ir import Expr, Stmt, Var
from ..ir.rewriting import names_set
from ..ir.types import Scalar, ViewTy
from .access import distance_from


def fixed_numbers(body: ir.Function) -> frozenset[str]:
    """Numbers that are the same throughout a call."""
    numbers = frozenset(p.name for p in body.parameters if isinstance(p.type, Scalar))
    return numbers - set(names_set(body))


def element_of(view: Var) -> Scalar:
    """The type of a View's elements, which are numbers."""
    assert isinstance(view.type, ViewTy) and isinstance(view.type.element, Scalar)
    return view.type.element


Row = tuple[str, tuple[Expr, ...]]  # View, and subscripts but that of the neighbours


def row_of(
    view: Var, indices: tuple[Expr, ...], index: str, fixed: frozenset[str]
) -> tuple[Row, int] | None:
    """Which row of a View of the launch neighbouring calls access, and how far from the element of
    the call itself; None if they access no neighbours."""
    t = view.type
    if not isinstance(t, ViewTy) or t.shape is not None or t.mapped or "atomic" in t.traits:
        return None
    if not isinstance(t.element, Scalar) or t.element.kind == "c" or not indices:
        return None
    unit = 0  # the only subscript: of a higher rank it is an offset, see contiguous.py
    if len(indices) == t.rank:
        units = [d for d in range(t.rank) if t.stride(d) == 1]
        if not units:
            return None
        unit = units[0]
    distance = distance_from(index, indices[unit])
    others = (*indices[:unit], *indices[unit + 1 :])
    if distance is None or not all(is_fixed(e, fixed - {index}) for e in others):
        return None
    return (view.name, others), distance


def is_fixed(e: Expr, fixed: frozenset[str]) -> bool:
    """Whether an expression is the same throughout a call, and can be computed before it."""
    match e:
        case ir.Const():
            return True
        case Var():
            return e.name in fixed
        case ir.Op("add" | "sub" | "mul" | "cast"):
            return all(is_fixed(a, fixed) for a in e.args)
    return False


@dataclass
class RowUse:
    """How a body accesses the elements of a row.

    `always`: each call accesses its own, so that they all exist. `settled`: each stores its own.
    """

    key: Row
    view: Var
    indices: tuple[Expr, ...]
    loaded: bool = False
    stored: bool = False
    always: bool = False
    settled: bool = False


@dataclass
class RowUses:
    """How a body accesses Views."""

    index: str
    fixed: frozenset[str]
    found: dict[Row, RowUse] = field(default_factory=dict)
    elsewhere: set[str] = field(default_factory=set)  # Views that are loaded at other places
    written: set[str] = field(default_factory=set)  # Views that are, or may be, written there
    near: dict[Row, set[int]] = field(default_factory=dict)  # distances that all calls read at
    rows: set[Row] = field(default_factory=set)  # that calls access near their own place
    apart: bool = False  # calls access other elements, and not all the same
    left: bool = False  # a statement before may have left the function

    def is_alone(self, use: RowUse) -> bool:
        """Whether nothing else reads what a pack holds back, or writes what it holds."""
        name = use.view.name
        if name in self.written:
            return False
        stored = any(u.stored for u in self.found.values() if u.view.name == name)
        rows = sum(u.view.name == name for u in self.found.values())
        return not stored or (rows == 1 and name not in self.elsewhere)

    def is_common(self, view: Var, indices: tuple[Expr, ...]) -> bool:
        """Whether all calls of a row access the same element, or a thread's own."""
        assert isinstance(view.type, ViewTy)
        common = self.fixed - {self.index}
        return view.type.shape is not None or all(is_fixed(e, common) for e in indices)

    def use(
        self, view: Var, indices: tuple[Expr, ...], byte: Expr | None, read: bool = False
    ) -> RowUse | None:
        """The use of a call's own element; None for any other. `read`: by each call."""
        found = None if byte is not None else row_of(view, indices, self.index, self.fixed)
        if found is None:
            self.apart = self.apart or byte is not None or not self.is_common(view, indices)
            return None
        row, distance = found
        self.rows.add(row)
        if not distance:
            return self.found.setdefault(row, RowUse(row, view, indices))
        if read:
            self.near.setdefault(row, set()).add(distance)
        return None

    def body(self, statements: tuple[Stmt, ...], certain: bool = True) -> None:
        """What statements do; `certain`: each call runs them."""
        for s in statements:
            sure = certain and not self.left
            for e in ir.expressions(s):
                self.expression(e, sure)
            if isinstance(s, ir.Store):
                self.store(s, sure)
            elif isinstance(s, ir.Atomic):
                self.written.add(s.view.name)
                self.apart = self.apart or not self.is_common(s.view, s.indices)
            for inner in ir.bodies(s):
                self.body(inner, False)
            if isinstance(s, ir.Return | ir.Fail):
                self.left = True

    def store(self, s: ir.Store, certain: bool) -> None:
        """What a store does."""
        use = self.use(s.view, s.indices, s.byte)
        if use is None:
            self.written.add(s.view.name)
            return
        use.stored = True
        use.always |= certain
        use.settled |= certain

    def expression(self, e: Expr, certain: bool) -> None:
        """What an expression does; `certain`: each call evaluates it."""
        match e:
            case ir.Load():
                use = self.use(e.view, e.indices, e.byte, certain)
                if use is None:
                    self.elsewhere.add(e.view.name)
                else:
                    use.loaded = True
                    use.always |= certain
            case ir.Select():
                self.expression(e.test, certain)
                self.expression(e.then, False)
                self.expression(e.orelse, False)
                return
            case ir.Op("and" | "or"):
                self.expression(e.args[0], certain)
                for a in e.args[1:]:
                    self.expression(a, False)
                return
            case ir.Call():
                for a in e.args:
                    if isinstance(a, Var) and isinstance(a.type, ViewTy):
                        self.apart = self.apart or a.type.shape is None
                        self.elsewhere.add(a.name)
                        if not a.type.readonly:
                            self.written.add(a.name)
        for a in ir.operands(e):
            self.expression(a, certain)
