"""The walk of a device's work-item through packs of neighbouring calls: see passes/packing.py.

Whether the addresses of all Views allow packs is found out by each work-item. Calls at the ends of
the range, or of its rows, that fill no pack are run one by one.

Which calls are those of a work-item, and their order, does not depend on addresses in a reduction,
so that its result does not. In a parallel_for, the first pack begins before the range, or the row,
where its address then is a multiple of its size.
"""

from __future__ import annotations

from .. import ir
from ..analysis.row_accesses import element_of
from ..ir import Assign, Expr, For, If, Stmt, Var, While, integer, op, var
from ..ir.types import BOOL, INDEX, INT64, Scalar, ViewTy
from ..passes.packing import Packing, with_variables
from .loops import Chunk

_TWICE = 8  # elements of packs of which a reduction reads two at a time
_EVEN = Var("_even", BOOL)
_FIRST, _HEAD = var("_first"), var("_head")


def pack_walk(chunk: Chunk, kind: Scalar, packing: Packing, single: bool) -> list[Stmt]:
    """Statements of the walk.

    Parameters
    ----------
    chunk : Chunk
    kind : Scalar
        Type in which indices are computed.
    packing : Packing
    single : bool
        There are as many work-items as packs in a range, so that each has one at most.
    """
    packs = _Packs(chunk, packing, kind, single)
    if chunk.calls.numbered or chunk.policy.rank == 1:
        return packs.of_range()
    return packs.of_rows()


class PackCalls:
    """The calls of one pack."""

    def __init__(self, chunk: Chunk, packing: Packing) -> None:
        self.chunk, self.packing = chunk, packing
        for array in packing.arrays:
            assert isinstance(array.type, ViewTy)
            chunk.locals[array.name] = array.type

    def places(self, at: Expr) -> list[tuple[Expr, ...]]:
        """Subscripts of the packs whose first call has an index."""
        rank = self.chunk.policy.rank
        names = {p.name: f"_i{d}" for d, p in enumerate(self.chunk.body.parameters[:rank])}

        def variable(name: str) -> Expr | None:
            if name == self.packing.index:
                return at
            return var(names[name]) if name in names else None

        return [tuple(with_variables(e, variable) for e in p.indices) for p in self.packing.packs]

    def beyond(self, at: Expr) -> list[Expr]:
        """By how much the address of each pack whose first call has an index is not aligned."""
        pairs = zip(self.packing.packs, self.places(at), strict=True)
        return [ir.Beyond(p.view, place, self.packing.count) for p, place in pairs]

    def loads(self, at: Expr) -> list[Stmt]:
        """Load the packs whose first call has an index."""
        pairs = zip(self.packing.packs, self.places(at), strict=True)
        return [ir.Packed(p.array, p.view, i, False, self.reads_once) for p, i in pairs if p.loaded]

    @property
    def reads_once(self) -> bool:
        """Whether the launch only reads, and no element twice: then caches need not keep any.

        On an H200 such reductions are 1.5 to 2.5 % faster for it, and what stores is slower.
        """
        calls, views = self.chunk.calls, [p.view.name for p in self.packing.packs]
        only_reads = calls.reduction is not None and not ir.written_views(calls.body)
        return only_reads and len(set(views)) == len(views)

    def edges(self, at: Expr) -> list[tuple[tuple[int, ...], Stmt]]:
        """Loads of the elements near packs whose first call has an index, and which calls need
        them."""
        found: list[tuple[tuple[int, ...], Stmt]] = []
        for k, p in enumerate(self.packing.packs):
            for n, edge in enumerate(p.edges):
                assert p.beside is not None
                place = self.places(op("add", at, integer(edge.offset)))[k]
                value = ir.Load(p.view, place, element_of(p.view))
                load = ir.Store(p.beside, (integer(n),), value)
                found.append((edge.calls, load))
        return found

    def stores(self, at: Expr) -> list[Stmt]:
        """Store the packs whose first call has an index."""
        pairs = zip(self.packing.packs, self.places(at), strict=True)
        return [ir.Packed(p.array, p.view, i, True) for p, i in pairs if p.stored]

    def aligned(self) -> Expr:
        """Whether all rows begin at multiples of a pack, which no work-item needs to find out
        for itself: it follows from the first elements of Views and from strides."""
        found: Expr = ir.Const(True, BOOL)
        for view in dict.fromkeys(p.view for p in self.packing.packs):
            assert isinstance(view.type, ViewTy)
            rank, unit = view.type.rank, view.type.unit
            steps = [tuple(integer(int(k == d)) for k in range(rank)) for d in range(rank)]
            origin = tuple(integer(0) for _ in range(rank))
            for place in (origin, *(s for d, s in enumerate(steps) if d != unit)):
                beyond = ir.Beyond(view, place, self.packing.count)
                even = ir.Op("eq", (beyond, integer(0)), BOOL)
                found = ir.Op("and", (found, even), BOOL)
        return found

    def exist(self, at: Expr) -> Expr:
        """Whether all elements of the loaded packs whose first call has an index are in Views."""
        found: Expr = ir.Const(True, BOOL)
        for p, place in zip(self.packing.packs, self.places(at), strict=True):
            if not p.loaded:
                continue
            assert isinstance(p.view.type, ViewTy)
            unit = p.view.type.unit
            assert unit is not None
            end = op("add", place[unit], integer(self.packing.count))
            inside = (
                ir.Op("ge", (place[unit], integer(0)), BOOL),
                ir.Op("le", (end, ir.Extent(p.view, unit)), BOOL),
            )
            found = ir.Op("and", (found, ir.Op("and", inside, BOOL)), BOOL)
        return found

    def store(self, n: int, at: Expr) -> list[Stmt]:
        """Store the elements of a call, which has an index, from the packs."""
        pairs = zip(self.packing.packs, self.places(at), strict=True)
        return [
            ir.Store(p.view, i, ir.Load(p.array, (integer(n),), element_of(p.array)))
            for p, i in pairs
            if p.stored
        ]

    def call(self, n: int) -> list[Stmt]:
        """A call on packs."""
        arrays = self.packing.arrays
        last = n == self.packing.count - 1
        reduction, body = self.chunk.reduction, self.packing.body
        partial = None if reduction is None else reduction.partial(self.packing.count)
        if reduction is None or partial is None:
            return self.chunk.call(body, (integer(n), *arrays))
        own = ir.Call(
            body.name, self.chunk.passed((integer(n), *arrays)), reduction.contributions[0]
        )
        part = Var("_part", partial.type)
        self.chunk.locals[part.name] = partial.type
        joined = Assign(part.name, partial.join([part, own] if n else [own]))
        total = ir.Op("opaque", (part,), partial.type)
        return [joined, *(reduction.join_number(total) if last else [])]


class _Packs(PackCalls):
    """Builds the walk; see `pack_walk`."""

    def __init__(self, chunk: Chunk, packing: Packing, kind: Scalar, single: bool) -> None:
        super().__init__(chunk, packing)
        self.kind, self.single = kind, single
        self.count = integer(packing.count)
        self.reduces = chunk.reduction is not None
        chunk.locals |= {"_p": INT64, "_even": BOOL}

    def of_range(self) -> list[Stmt]:
        """The walk through a range whose calls are neighbours by their number."""
        chunk = self.chunk
        start = integer(0) if chunk.calls.numbered else var("_lo0")
        last = op("add", op("add", var("_f1"), _HEAD), integer(self.packing.count - 1))
        one: list[Stmt] = chunk.at(self.kind, chunk.call())
        whole = self.loads(op("add", start, _FIRST))
        for n in range(self.packing.count):
            whole.append(chunk.set("_u", op("add", _FIRST, integer(n))))
            whole += chunk.at(self.kind, self.call(n))
        whole += self.stores(op("add", start, _FIRST))
        part = For("_u", *self.part(var("_f1")), integer(1), tuple(one), rare=True)
        before = [*self.heads(start), chunk.set("_packs", op("truncdiv", last, self.count))]
        if self.reduces:
            return [*before, *self.whole_before_part(whole, part)]
        packs = [self.first(var("_p")), *self.pack(whole, part, var("_f1"))]
        walk: Stmt = For("_p", var("_f0"), var("_packs"), var("_step"), tuple(packs))
        if self.single:
            inside = ir.Op("lt", (var("_f0"), var("_packs")), BOOL)
            walk = If(inside, (chunk.set("_p", var("_f0")), *packs))
        alone = For("_u", var("_f0"), var("_f1"), var("_step"), tuple(one))
        return [*before, If(_EVEN, (walk,), (alone,))]

    def of_rows(self) -> list[Stmt]:
        """The walk through a range of several dimensions, with packs along the fastest one."""
        chunk, order, kind = self.chunk, self.chunk.order, self.kind
        fast, slow = order[-1], order[:-1]
        extent = op("sub", var(f"_hi{fast}"), var(f"_lo{fast}"))
        # The packs of a row, of which the first one may begin before it.
        most = op("add", extent, integer(2 * self.packing.count - 2))
        per_row = Var("_per_row", kind)
        chunk.locals["_per_row"] = kind.strong
        total: Expr = var("_per_row")
        for d in slow:
            total = op("mul", total, op("sub", var(f"_hi{d}"), var(f"_lo{d}")))
        walk: list[Stmt] = []
        number = self.number(var("_p"))
        row = self.kept(walk, "_row", op("truncdiv", number, per_row))
        place = self.kept(walk, "_place", op("sub", number, op("mul", row, per_row)))
        for d in reversed(slow):
            at, rest = row, row
            if d != slow[0]:
                many = Var(f"_n{d}", kind)
                rest = self.kept(walk, f"_rest{d}", op("truncdiv", row, many))
                at = op("sub", row, op("mul", rest, many))
            walk.append(chunk.set(f"_i{d}", chunk.index(d, at, kind)))
            row = rest
        start = var(f"_lo{fast}")
        index = f"_i{fast}"
        whole = self.loads(op("add", start, _FIRST))
        for n in range(self.packing.count):
            whole.append(chunk.set(index, op("add", op("add", start, _FIRST), integer(n))))
            whole += self.call(n)
        whole += self.stores(op("add", start, _FIRST))
        low, high = (op("add", start, e) for e in self.part(extent))
        part = For(index, low, high, integer(1), tuple(chunk.call()), rare=True)
        wide = place if kind == INDEX else ir.Op("cast", (place,), INDEX)
        walk += [*self.heads(start), self.first(wide), *self.pack(whole, part, extent)]
        # There may be more packs than work-items: of short rows few are whole.
        loop = For("_p", var("_f0"), var("_total"), var("_step"), tuple(walk))
        return [
            Assign("_per_row", self.number(op("truncdiv", most, self.count))),
            chunk.set("_total", total), loop,
        ]  # fmt: skip

    def whole_before_part(self, whole: list[Stmt], part: Stmt) -> list[Stmt]:
        """The walk of a reduction, whose packs begin with the range, in several loops: that of
        whole packs tests nothing, so that many loads are in flight."""
        chunk = self.chunk
        moved = op("truncdiv", var("_f1"), self.count)
        following = op("add", var("_p"), var("_step"))

        def walk(last: Expr, end: str, body: list[Stmt], packs: int = 1) -> Stmt:
            inside = ir.Op("lt", (last, var(end)), BOOL)
            one = (self.first(var("_p")), *body, chunk.set("_p", following))
            return While(inside, one * packs, rolled=True)

        return [
            chunk.set("_whole", ir.Select(_EVEN, moved, integer(0), INDEX)),
            chunk.set("_p", var("_f0")),
            *([walk(following, "_whole", whole, 2)] * (self.packing.count <= _TWICE)),
            walk(var("_p"), "_whole", whole),
            walk(var("_p"), "_packs", [part]),
        ]

    # -- numbers ----------------------------------------------------------------------------------

    def number(self, e: Expr) -> Expr:
        """An integer in the type of the walk."""
        return e if self.kind == INDEX else ir.Op("cast", (e,), self.kind)

    def kept(self, out: list[Stmt], name: str, value: Expr) -> Expr:
        """A variable with a value."""
        self.chunk.locals[name] = self.kind.strong
        out.append(Assign(name, value))
        return Var(name, self.kind)

    # -- packs ------------------------------------------------------------------------------------

    def heads(self, start: Expr) -> list[Stmt]:
        """Set `_head`, by how much the first pack begins before a start, and `_even`, whether
        packs are aligned in all Views."""
        beyond = self.beyond(start)
        head, *rest = [integer(0), *beyond] if self.reduces else beyond
        even: Expr = ir.Const(True, BOOL)
        for b in rest:
            even = ir.Op("and", (even, ir.Op("eq", (b, _HEAD), BOOL)), BOOL)
        return [self.chunk.set("_head", head), Assign("_even", even)]

    def first(self, number: Expr) -> Stmt:
        """Set `_first`, the offset of the first call of a pack from the start."""
        return self.chunk.set("_first", op("sub", op("mul", number, self.count), _HEAD))

    def pack(self, whole: list[Stmt], part: Stmt, end: Expr) -> list[Stmt]:
        """The calls of a pack: of a whole one before `end`, or those that there are."""
        inside = ir.Op(
            "and",
            (
                ir.Op("ge", (_FIRST, integer(0)), BOOL),
                ir.Op("le", (op("add", _FIRST, self.count), end), BOOL),
            ),
            BOOL,
        )
        return [If(ir.Op("and", (_EVEN, inside), BOOL), tuple(whole), (part,))]

    def part(self, end: Expr) -> tuple[Expr, Expr]:
        """First and last offset of the calls of a pack that are before `end`."""
        last = op("add", _FIRST, self.count)
        return op("max", _FIRST, integer(0)), op("min", last, end)
