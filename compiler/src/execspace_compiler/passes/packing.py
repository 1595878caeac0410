"""The body of a launch whose threads run neighbouring calls, with one access for their elements.

A GPU reaches the speed of its memory if each thread moves 8 bytes with an access, and needs fewer
instructions with 16. Of narrower elements a thread takes a pack of neighbours: it loads the packs
of all Views into arrays of its own, calls the body for each element, and stores the packs that the
body has set.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field, replace

from execspace.base.dataclass import dataclass

from .. import ir
from ..analysis.cost import little_moved
from ..analysis.row_accesses import Row, RowUses, element_of, fixed_numbers, row_of
from ..ir import Expr, Stmt, Var, integer, op
from ..ir.rewriting import names_set
from ..ir.types import BOOL, INDEX, Scalar, ViewTy
from ..typing.lowered import Lowered
from .contiguous import NUMBER, ContiguousBody

ACCESS = 16  # bytes
_FAST = 8  # bytes of an element: threads access such elements one by one as fast
_LARGE = 100  # expressions of a body that is copied for each element
_LARGE_COPIES = 800  # of all copies in a block of threads, whose rows share what they read
_PLAIN = frozenset("add sub mul neg cast min max and or not eq ne lt le gt ge".split())
_PLACE = Var("_place", INDEX)


@dataclass(frozen=True)
class Edge:
    """An element near a pack: its offset from the first element, and the calls that read it."""

    offset: int
    calls: tuple[int, ...]


@dataclass(frozen=True)
class Pack:
    """The elements of a View for the calls of a thread.

    Attributes
    ----------
    view : Var
        Parameter of the body.
    indices : tuple of Expr
        Subscripts of the element of a call, in parameters of the body.
    array : Var
        The thread's own.
    loaded, stored : bool
        The walk loads them before the calls, and stores them after the calls.
    edges : tuple of Edge
        Elements before and behind the pack that calls read as well, in this order.
    beside : Var, optional
        The thread's own array of them.
    """

    view: Var
    indices: tuple[Expr, ...]
    array: Var
    loaded: bool
    stored: bool
    edges: tuple[Edge, ...] = ()
    beside: Var | None = None

    @property
    def itemsize(self) -> int:
        """Bytes of an element."""
        return element_of(self.view).itemsize


@dataclass(frozen=True)
class Packing:
    """A body for packs.

    Attributes
    ----------
    body : ir.Function
        It has additional parameters after `leading`: the place in the packs, and their arrays.
    index : str
        The parameter of the body that runs through neighbouring elements.
    count : int
        Elements of a pack, a power of two above 1.
    packs : tuple of Pack
    """

    body: ir.Function
    index: str
    count: int
    packs: tuple[Pack, ...]

    @property
    def arrays(self) -> tuple[Var, ...]:
        """Arrays of the thread, in the order of the body's parameters."""
        beside = (p.beside for p in self.packs if p.beside is not None)
        return (*(p.array for p in self.packs), *beside)

    @property
    def reorders_stores(self) -> bool:
        """Whether a pack is stored after what calls have stored elsewhere, or after another one."""
        held = [p.view.name for p in self.packs if p.stored]
        others = ir.written_views(self.body) - {a.name for a in self.arrays} - {*held}
        return bool(held) and len(held) + len(others) > 1

    @property
    def registers(self) -> int:
        """Registers of 4 bytes that hold all packs."""
        return sum((self.count + len(p.edges)) * p.itemsize for p in self.packs) // 4

    @property
    def widest(self) -> int:
        """Bytes of the widest element in packs."""
        return max(p.itemsize for p in self.packs)


@dataclass(frozen=True)
class ScanPacking:
    """The packs of a scan, whose calls have two bodies; see scan_packing.py.

    Attributes
    ----------
    totals, plain : Packing
        Of the calls for contributions, and of those with prefixes.
    given : Packing, optional
        Of those with prefixes whose body takes its contribution; see scan_contributions.py.
    """

    totals: Packing
    plain: Packing
    given: Packing | None

    def changed(self, change: Callable[[Packing | None], Packing | None]) -> ScanPacking:
        """All of them, each changed."""
        totals, plain = change(self.totals), change(self.plain)
        assert totals is not None and plain is not None
        return ScanPacking(totals, plain, change(self.given))


@dataclass(frozen=True)
class Packings:
    """The packs of a flat launch.

    `rows`: along the fastest dimension. `contiguous`: of a range of several dimensions, for Views
    that are contiguous in the order of calls. Of a scan there are several bodies.
    """

    rows: Packing | None
    contiguous: Packing | None = None
    scan: ScanPacking | None = None

    def changed(self, change: Callable[[Packing | None], Packing | None]) -> Packings:
        """All of them, each changed."""
        scan = None if self.scan is None else self.scan.changed(change)
        return Packings(change(self.rows), change(self.contiguous), scan)

    @property
    def reorder_stores(self) -> bool:
        """Whether a thread stores to several Views in another order than the kernel does."""
        scan = None if self.scan is None else self.scan.plain
        return any(p.reorders_stores for p in (self.rows, self.contiguous, scan) if p is not None)


def packings_of(
    lowered: Lowered, fastest: int, contiguous: ContiguousBody | None
) -> Packings | None:
    """The packs of a flat launch, from its fastest dimension and the body for contiguous Views."""
    spec = lowered.spec
    if spec.pattern == "scan" or spec.array_shape is not None or spec.policy.items_per_thread:
        return None
    if spec.policy.kind == "team" or spec.policy.tiled:
        return None
    # Copies of doubles are slower one by one, too, by a tenth on an H200; fills and triads not.
    reads = lowered.reduction is not None or little_moved(lowered) == ACCESS
    index = lowered.body.parameters[fastest].name
    rows = packed_body(lowered.body, lowered.leading, index, ACCESS, wide=reads)
    linear = None
    if contiguous is not None:
        body, leading = contiguous.body, lowered.leading + 1
        linear = packed_body(body, leading, NUMBER.name, ACCESS, wide=reads)
    return None if rows is None and linear is None else Packings(rows, linear)


def packing_of_blocks(lowered: Lowered, fastest: int) -> Packing | None:
    """The packs of threads in blocks, which share rows; None unless all rows fill packs.

    Elements of 8 bytes are left alone: blocks read them as fast one by one.
    """
    index = lowered.body.parameters[fastest].name
    for access in (ACCESS, ACCESS // 2):
        found = packed_body(
            lowered.body, lowered.leading, index, access, most=_LARGE_COPIES, whole=True
        )
        if found is not None and found.widest < _FAST:
            return found
    return None


def widest_element(body: ir.Function, index: str) -> int:
    """Bytes of the widest element that a call of its own has."""
    uses = RowUses(index, fixed_numbers(body))
    uses.body(body.body)
    return max((element_of(u.view).itemsize for u in uses.found.values()), default=0)


def packed_body(
    body: ir.Function,
    leading: int,
    index: str,
    access: int,
    widest: int = 0,
    *,
    most: int = 0,
    whole: bool = False,
    wide: bool = True,
) -> Packing | None:
    """The body for packs; None if no View is accessed in a way that allows them.

    Parameters
    ----------
    body : ir.Function
    leading : int
        Number of its parameters before those for the arguments.
    index : str
        The parameter that runs through neighbouring elements.
    access : int
        Bytes of an access.
    widest : int
        Bytes of the widest element, if another body has a wider one than this.
    most : int
        Expressions of all copies of the body; 0: any number of copies of a small one.
    wide : bool
        Also where all packs are of elements that threads access as fast one by one.
    whole : bool
        None, too, if calls access any element that is their own or near it and in no pack.
    """
    assigned = set(names_set(body))
    loops = any(isinstance(s, ir.For | ir.While) for s in ir.walk_statements(body.body))
    size = len(ir.walk_expressions(body.body))
    if loops or index in assigned or (size > _LARGE and not most):
        return None
    fixed = fixed_numbers(body)
    uses = RowUses(index, fixed)
    uses.body(body.body)
    chosen = [u for u in uses.found.values() if u.always and uses.is_alone(u)]
    # Elements without packs are accessed one by one, and should be near each other for threads.
    widest = max(widest, *(element_of(u.view).itemsize for u in uses.found.values()), 0)
    if not wide and all(element_of(u.view).itemsize >= _FAST for u in chosen):
        return None
    if not chosen or widest >= access or (most and size * (access // widest) > most):
        return None
    if whole and (uses.apart or uses.rows != {u.key for u in chosen}):
        return None
    count = access // widest
    packs = {}
    for n, u in enumerate(chosen):
        own = ViewTy(element_of(u.view), 1, "right", 0, False, (count,))
        array = Var(f"_pack{n}_{u.view.name}", own)
        edges = _edges(uses.near.get(u.key, set()), count) if whole and u.loaded else ()
        beside = ViewTy(element_of(u.view), 1, "right", 0, False, (len(edges),))
        packs[u.key] = Pack(
            u.view, u.indices, array, u.loaded, u.settled, edges,
            Var(f"_beside{n}_{u.view.name}", beside) if edges else None,
        )  # fmt: skip
    change = _Change(index, fixed, count, packs)
    made = Packing(body, index, count, tuple(packs.values()))
    parameters = (*body.parameters[:leading], _PLACE, *made.arrays, *body.parameters[leading:])
    changed = change.body(body.body)
    packed = replace(
        body, name=f"{body.name}_packed", parameters=parameters, body=changed,
        locals={**body.locals, **change.kept},
    )  # fmt: skip
    return replace(made, body=packed)


def _edges(distances: set[int], count: int) -> tuple[Edge, ...]:
    """The elements that calls read at distances from their own, and that are in no pack."""
    found: dict[int, list[int]] = {}
    for call in range(count):
        for d in distances:
            if not 0 <= call + d < count:
                found.setdefault(call + d, []).append(call)
    return tuple(Edge(offset, tuple(sorted(found[offset]))) for offset in sorted(found))


def is_plain(body: ir.Function) -> bool:
    """Whether a body does no more than add, multiply, compare and convert."""
    expressions = ir.walk_expressions(body.body)
    return all(e.op in _PLAIN for e in expressions if isinstance(e, ir.Op)) and not any(
        isinstance(e, ir.Call) for e in expressions
    )


@dataclass(frozen=True)
class _Change:
    """Replaces elements of Views by those of packs."""

    index: str
    fixed: frozenset[str]
    count: int
    packs: dict[Row, Pack]
    kept: dict[str, Scalar] = field(default_factory=dict)  # variables that it adds

    def keep(self, e: Expr, out: list[Stmt]) -> Var:
        """A variable with the value of an expression, which is computed once."""
        assert isinstance(e.type, Scalar)
        name = f"_kept{len(self.kept)}"
        self.kept[name] = e.type.strong
        out.append(ir.Assign(name, e))
        return Var(name, e.type.strong)

    def body(self, statements: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
        """Statements with elements of packs."""
        found: list[Stmt] = []
        for s in statements:
            s = ir.with_expressions(s, tuple(map(self.expression, ir.expressions(s))))
            s = ir.with_bodies(s, tuple(map(self.body, ir.bodies(s))))
            pack = None
            if isinstance(s, ir.Store) and s.byte is None:
                pack, _ = self.pack(s.view, s.indices)
                # In both: the second would read the pack after the first has changed it.
                if pack is not None and not pack.stored and _loads(s.value):
                    s = replace(s, value=self.keep(s.value, found))
                if pack is not None:
                    found.append(replace(s, view=pack.array, indices=(_PLACE,)))
            if pack is None or not pack.stored:
                found.append(s)
        return tuple(found)

    def pack(self, view: Var, indices: tuple[Expr, ...]) -> tuple[Pack | None, int]:
        """The pack that may hold an element, and the element's distance."""
        row = row_of(view, indices, self.index, self.fixed)
        return (None, 0) if row is None else (self.packs.get(row[0]), row[1])

    def expression(self, e: Expr) -> Expr:
        """The expression with elements of packs."""
        e = ir.with_operands(e, tuple(map(self.expression, ir.operands(e))))
        if not isinstance(e, ir.Load) or e.byte is not None:
            return e
        pack, distance = self.pack(e.view, e.indices)
        if pack is None:
            return e
        if not distance:
            return replace(e, view=pack.array, indices=(_PLACE,))
        # Compilers know the place, so that nothing is left of the choices.
        at = op("add", _PLACE, integer(distance))
        outside: Expr = e
        for n, edge in enumerate(pack.edges):
            if edge.offset - distance in edge.calls and pack.beside is not None:
                here = ir.Op("eq", (_PLACE, integer(edge.offset - distance)), BOOL)
                beside = replace(e, view=pack.beside, indices=(integer(n),))
                outside = ir.Select(here, beside, outside, e.type)
        inside = ir.Op("lt", (at, integer(self.count)), BOOL)
        if distance < 0:
            inside = ir.Op("ge", (at, integer(0)), BOOL)
        return ir.Select(inside, replace(e, view=pack.array, indices=(at,)), outside, e.type)


def _loads(e: Expr) -> bool:
    """Whether an expression reads elements."""
    return isinstance(e, ir.Load) or any(map(_loads, ir.operands(e)))


def with_variables(e: Expr, names: Callable[[str], Expr | None]) -> Expr:
    """A subscript with other variables."""
    if isinstance(e, Var):
        return names(e.name) or e
    return ir.with_operands(e, tuple(with_variables(a, names) for a in ir.operands(e)))
