"""Teams of several threads on one thread of a host: members are interleaved between barriers.

A body is split at collectives into regions (loop fission). Each region runs in a loop over the
members, and variables that are live across regions are kept for each member. Conditions and loops
around collectives are uniform (checks.py ensures it), so those of the first member decide.
"""

from __future__ import annotations

from dataclasses import replace

from .. import ir
from ..ir import Assign, Const, Expr, For, If, Stmt, Var, integer, op, var
from ..ir.private_arrays import MOST_PRIVATE, private_bytes
from ..ir.rewriting import delinearized, rewritten
from ..ir.types import BOOL, Record, Scalar, TupleTy, ViewTy, numbers_of
from .checks import THREADS, Divergence
from .inlining import regions, single_exit
from .ranges import Ranges
from .scratch import ALIGNMENT, Layout
from .single_thread import POOL, alone, joined

_M = var("_m_")  # the current member


class Members:
    """The statements of a team of several threads, split into regions."""

    def __init__(
        self,
        body: ir.Function,
        functions: tuple[ir.Function, ...],
        member: str,
        size: int,
        lanes: int,
        layout: Layout,
        ranges: Ranges,
    ) -> None:
        self.ranges = ranges
        self.source, self.member, self.size, self.lanes = body, member, size, lanes
        self.functions = functions
        self.layout = layout
        self.count = 0
        self.locals: dict[str, Scalar | ViewTy] = dict(body.locals)
        self.kept: dict[str, Var] = {}  # live variable -> array with an element for each member
        self.own = {n for n, p in layout.allocations.items() if p.statement.owner == "thread"}

    def run(self) -> tuple[tuple[Stmt, ...], dict[str, Scalar | ViewTy]]:
        """All statements, and the types of local variables."""
        result = self.source.result
        kinds = result.items if isinstance(result, TupleTy) else (result,) if result else ()
        results = [Var(f"_m_result{n}", k) for n, k in enumerate(kinds)]
        names = tuple(v.name for v in results)
        statements, flagged = single_exit(self.source.body, names, "_m_left")
        self.locals |= {v.name: v.type for v in results if isinstance(v.type, Scalar)}
        if flagged:
            self.locals["_m_left"] = BOOL
        divergence = Divergence(self.source, self.member, self.functions, None)
        divergence.run(statements)
        differ = {**divergence.ever, **divergence.arrays}
        uniform = {n for n in self.locals if not differ.get(n, 0) & THREADS}
        for name in _live_across_regions(statements, frozenset(names), uniform):
            type = self.locals.get(name)
            if isinstance(type, Scalar):
                kept = ViewTy(type, 1, "right", 0, False, (self.size,))
            elif isinstance(type, ViewTy) and type.shape is not None:
                shape = (self.size, *type.shape)
                kept = replace(type, rank=len(shape), unit=len(shape) - 1, shape=shape)
            else:
                continue  # a parameter, or scratch memory
            self.kept[name] = Var(f"_m_kept_{name}", kept)
            self.locals[f"_m_kept_{name}"] = kept
        out = [self.carved(n, integer(0)) for n in self.layout.allocations]
        out += self.off_the_stack()
        out += self.together(statements)
        if results:
            values = tuple(map(self.first, results))
            out.append(ir.Return(values[0] if len(values) == 1 else values))
        return tuple(out), self.locals

    def off_the_stack(self) -> list[Stmt]:
        """Move the members' variables after the scratch memory if the stack is too small."""
        kept = {name: v.type for name, v in self.kept.items() if isinstance(v.type, ViewTy)}
        if sum(map(private_bytes, kept.values())) <= MOST_PRIVATE:
            return []
        out: list[Stmt] = []
        first, second = self.layout.nbytes
        offset = 0
        for name, type in kept.items():
            assert type.shape is not None
            carved = replace(type, shape=None, static=type.shape)
            self.kept[name] = place = Var(self.kept[name].name, carved)
            self.locals[place.name] = carved
            shape = tuple(map(integer, type.shape))
            at = op("add", op("add", first, second), integer(offset))
            out.append(ir.Carve(place, shape, POOL, at))
            offset += -(-private_bytes(type) // ALIGNMENT) * ALIGNMENT
        self.layout = replace(self.layout, kept=offset)
        return out

    def carved(self, name: str, member: Expr) -> Stmt:
        """Point a View of scratch memory to its memory; per-thread ones to that of a member."""
        place = self.layout.allocations[name]
        offset = self.layout.offset(name)
        if name in self.own:
            offset = op("add", offset, op("mul", member, place.stride))
        return ir.Carve(place.statement.view, place.shape, POOL, offset, place.statement.loc)

    # -- variables of members -----------------------------------------------------------------

    def copied(self, name: str, back: bool) -> list[Stmt]:
        """Load a variable of the current member, or store it back."""
        type, kept = self.locals[name], self.kept[name]
        if isinstance(type, Scalar):
            if back:
                return [ir.Store(kept, (_M,), Var(name, type))]
            return [Assign(name, ir.Load(kept, (_M,), type))]
        assert type.shape is not None
        array = Var(name, type)
        counters = tuple(var(f"_m_at{d}") for d in range(type.rank))
        pair = (array, counters), (kept, (_M, *counters))
        (source, at), (target, to) = pair if back else pair[::-1]
        copies: tuple[Stmt, ...] = tuple(
            ir.Store(target, to, ir.Load(source, at, kind, byte=byte), byte=byte)
            for byte, kind in _numbers(type.element)
        )
        return list(self.over(type, counters, copies))

    def first(self, e: Expr) -> Expr:
        """A uniform expression, evaluated for the first member."""
        if isinstance(e, Var) and e.name == self.member:
            return integer(0)
        if isinstance(e, Var) and e.name in self.kept and isinstance(e.type, Scalar):
            return ir.Load(self.kept[e.name], (integer(0),), e.type, e.loc)
        e = ir.with_operands(e, tuple(map(self.first, ir.operands(e))))
        if isinstance(e, ir.Load) and e.view.name in self.kept:
            return replace(e, view=self.kept[e.view.name], indices=(integer(0), *e.indices))
        return e

    # -- statements of one member -------------------------------------------------------------

    def each(self, region: list[Stmt]) -> list[Stmt]:
        """A region: a loop over the members."""
        if not region:
            return []
        return self.members(self.turn(tuple(region)))

    def turn(self, region: tuple[Stmt, ...]) -> list[Stmt]:
        """Statements of the current member, with its variables."""
        used, changed = _used(region)
        own_arrays = self.in_place(region) & used
        taken = used & set(self.kept) - _set_first(list(region)) - own_arrays
        changed -= own_arrays
        before = [s for n in sorted(taken) for s in self.copied(n, back=False)]
        after = [s for n in sorted(changed & set(self.kept)) for s in self.copied(n, back=True)]
        carves = [self.carved(n, _M) for n in sorted(self.own & used)]
        body = _with_member(self.alone(region), self.member)
        body = tuple(t for s in body for t in self.direct(s, own_arrays))
        return [*carves, *before, *body, *after]

    def in_place(self, region: tuple[Stmt, ...]) -> set[str]:
        """Private arrays that members use in place, since they are not passed to functions."""
        calls = (e for e in ir.walk_expressions(region) if isinstance(e, ir.Call))
        passed = {a.name for c in calls for a in c.args if isinstance(a, Var)}
        arrays = {n for n in self.kept if isinstance(self.locals[n], ViewTy)}
        return arrays - passed

    def direct(self, s: Stmt, arrays: set[str]) -> list[Stmt]:
        """A statement with private arrays replaced by the member's part of the kept ones."""

        def expression(e: Expr) -> Expr:
            e = ir.with_operands(e, tuple(map(expression, ir.operands(e))))
            if isinstance(e, ir.Load) and e.view.name in arrays:
                return replace(e, view=self.kept[e.view.name], indices=(_M, *e.indices))
            return e

        if isinstance(s, ir.Clear) and s.array.name in arrays:
            return self.cleared(s.array.name)
        s = ir.with_expressions(s, tuple(map(expression, ir.expressions(s))))
        if isinstance(s, ir.Store | ir.Atomic) and s.view.name in arrays:
            s = replace(s, view=self.kept[s.view.name], indices=(_M, *s.indices))
        bodies = tuple(tuple(u for t in b for u in self.direct(t, arrays)) for b in ir.bodies(s))
        return [ir.with_bodies(s, bodies)]

    def cleared(self, name: str) -> list[Stmt]:
        """Clear the current member's part of a private array."""
        type = self.locals[name]
        assert isinstance(type, ViewTy)
        counters = tuple(var(f"_m_at{d}") for d in range(type.rank))
        zeros: tuple[Stmt, ...] = tuple(
            ir.Store(self.kept[name], (_M, *counters), Const(0, kind), byte=byte)
            for byte, kind in _numbers(type.element)
        )
        return list(self.over(type, counters, zeros))

    def over(
        self, type: ViewTy, counters: tuple[Var, ...], body: tuple[Stmt, ...]
    ) -> tuple[Stmt, ...]:
        """Loops over the elements of an array."""
        for counter, extent in reversed(list(zip(counters, type.shape or (), strict=True))):
            body = (For(counter.name, integer(0), integer(extent), integer(1), body),)
        return body

    def members(self, inner: list[Stmt]) -> list[Stmt]:
        """A loop over the members."""
        return [For(_M.name, integer(0), integer(self.size), integer(1), tuple(inner))]

    def alone(self, body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
        """Statements between collectives."""
        out: list[Stmt] = []
        for s in body:
            if isinstance(s, ir.Scratch):
                continue
            if isinstance(s, ir.Split) and s.level != "vector":
                out += self.share(s)
                continue
            found = alone(s, self.alone, self.ranges)
            if found is None:
                found = [ir.with_bodies(s, tuple(map(self.alone, ir.bodies(s))))]
            out += found
        return tuple(out)

    def share(self, s: ir.Split) -> list[Stmt]:
        """A member's iterations of a nested range."""
        count = self.counter()
        total, indices = delinearized(s, count)
        inner = (*indices, *self.alone(s.body))
        lanes = self.lanes if s.level == "team" else 1
        step = integer(self.size * lanes)
        if lanes == 1:
            return self.ranges.loop(s, (), count.name, _M, total, step, inner)
        block = self.counter()
        blocks = (block.name, op("mul", _M, integer(lanes)), total, step)
        last = op("min", op("add", block, integer(lanes)), total)
        return self.ranges.loop(s, [blocks], count.name, block, last, integer(1), inner)

    def counter(self) -> Var:
        """A new loop variable."""
        self.count += 1
        return var(f"_m_{self.count}")

    # -- statements of all members ------------------------------------------------------------

    def together(self, body: tuple[Stmt, ...]) -> list[Stmt]:
        """Statements of the whole team: regions, and the collectives between them."""
        out: list[Stmt] = []
        for region in regions(body):
            out += self.whole(region) if isinstance(region, ir.Stmt) else self.each(region)
        return out

    def whole(self, s: Stmt) -> list[Stmt]:
        match s:
            case ir.Barrier():
                return []
            case ir.Combine():
                return self.combined(s)
            case ir.Prefix():
                return self.prefixes(s)
            case ir.Broadcast():
                last = integer(self.size - 1)
                at = (op("min", op("max", self.first(s.rank), integer(0)), last),)
                kept = [self.kept[v.name] for v in s.values]
                taken: list[Stmt] = [
                    Assign(v.name, ir.Load(k, at, _scalar(v)))
                    for v, k in zip(s.values, kept, strict=True)
                ]
                return [*taken, *self.members([ir.Store(k, (_M,), v)
                        for v, k in zip(s.values, kept, strict=True)])]  # fmt: skip
            case ir.ScanRange():
                return self.scanned(s)
            case If():
                bodies = (tuple(self.together(s.body)), tuple(self.together(s.orelse)))
                return [If(self.first(s.test), *bodies, s.loc)]
            case For() if s.name not in self.kept:
                start, stop, step = (self.first(e) for e in (s.start, s.stop, s.step))
                inner = tuple(self.together(s.body))
                return [For(s.name, start, stop, step, inner, loc=s.loc)]
            case For():
                count = self.counter()
                set_ = ir.Store(self.kept[s.name], (_M,), count)
                inner = (*self.members([set_]), *self.together(s.body))
                start, stop, step = (self.first(e) for e in (s.start, s.stop, s.step))
                return [For(count.name, start, stop, step, inner, loc=s.loc)]
            case ir.While():
                return [ir.While(self.first(s.test), tuple(self.together(s.body)), s.loc)]
        return [s]  # break and continue

    def states(self, states: tuple[Var, ...]) -> tuple[Var, ...]:
        """Variables for joining the states of members."""
        found = tuple(Var(f"_m_all_{v.name}", _scalar(v)) for v in states)
        self.locals |= {v.name: _scalar(v) for v in found}
        return found

    def loads(self, variables: tuple[Var, ...], member: Expr) -> tuple[Expr, ...]:
        return tuple(ir.Load(self.kept[v.name], (member,), _scalar(v)) for v in variables)

    def assigned(self, variables: tuple[Var, ...], values: tuple[Var, ...]) -> list[Stmt]:
        """Set variables of the current member."""
        pairs = zip(variables, values, strict=True)
        return [ir.Store(self.kept[v.name], (_M,), e) for v, e in pairs]

    def combined(self, s: ir.Combine) -> list[Stmt]:
        held = self.states(s.states)
        first = zip(held, self.loads(s.states, integer(0)), strict=True)
        join = joined(held, held, self.loads(s.states, _M), s.merge)
        return [
            *(Assign(h.name, e) for h, e in first),
            For(_M.name, integer(1), integer(self.size), integer(1), (join,)),
            *self.members(self.assigned(s.states, held)),
        ]

    def prefixes(self, s: ir.Prefix) -> list[Stmt]:
        held = self.states(s.states)
        own = self.states(s.totals)  # the member's state
        walk: list[Stmt] = [
            Assign(k.name, e) for k, e in zip(own, self.loads(s.states, _M), strict=True)
        ]
        walk += [*self.assigned(s.states, held), joined(held, held, own, s.merge)]
        return [
            *(Assign(h.name, i) for h, i in zip(held, s.identity, strict=True)),
            *self.members(walk),
            *self.members(self.assigned(s.totals, held)),
        ]

    def scanned(self, s: ir.ScanRange) -> list[Stmt]:
        """A nested scan in the order of its indices, each run as the member that owns it."""
        held = self.states(s.states)
        start, stop = self.first(s.start), self.first(s.stop)
        first = zip(held, self.loads(s.states, integer(0)), strict=True)
        count = self.counter()
        lanes = self.lanes if s.level == "team" else 1
        turn = op("truncmod", op("sub", count, start), integer(self.size * lanes))
        walk: list[Stmt] = [
            Assign(_M.name, op("truncdiv", turn, integer(lanes))),
            ir.Store(self.kept[s.name], (_M,), count),
            *self.assigned(s.states, held),
            *self.turn(s.body),
            joined(held, held, self.loads(s.own, _M), s.merge),
        ]
        return [
            *(Assign(h.name, e) for h, e in first),
            For(count.name, start, stop, integer(1), tuple(walk), loc=s.loc),
            *self.members(self.assigned(s.states, held)),
        ]


def _scalar(v: Var) -> Scalar:
    assert isinstance(v.type, Scalar)
    return v.type.strong


def _numbers(element: Scalar | Record) -> list[tuple[Expr | None, Scalar]]:
    """Byte offset and type of each number of an element."""
    if isinstance(element, Scalar):
        return [(None, element)]
    return [(integer(byte), kind) for byte, kind in numbers_of(element)]


def _with_member(body: tuple[Stmt, ...], member: str) -> tuple[Stmt, ...]:
    def change(e: Expr) -> Expr:
        e = ir.with_operands(e, tuple(map(change, ir.operands(e))))
        return _M if isinstance(e, Var) and e.name == member else e

    return tuple(rewritten(s, change) for s in body)


def _used(body: tuple[Stmt, ...]) -> tuple[set[str], set[str]]:
    """Variables, arrays and Views that a body uses, and those that it may change."""
    used: set[str] = set()
    changed: set[str] = set()
    for s in ir.walk_statements(body):
        changed |= set(ir.names_set(s))
        if isinstance(s, ir.Store | ir.Atomic):
            changed.add(s.view.name)
        elif isinstance(s, ir.Clear):
            changed.add(s.array.name)
    for e in ir.walk_expressions(body):
        if isinstance(e, ir.Load | ir.Extent):
            used.add(e.view.name)
        elif isinstance(e, Var):
            used.add(e.name)
        elif isinstance(e, ir.Call):
            changed |= {a.name for a in e.args if isinstance(a, Var) and isinstance(a.type, ViewTy)}
    return used | changed, changed


def _live_across_regions(
    body: tuple[Stmt, ...], results: frozenset[str], uniform: set[str]
) -> set[str]:
    """Variables that are live across regions, so that members must keep them.

    Variables in `uniform` have the same values for all members. One instance serves all members,
    unless a region reads a variable that it sets: each member would then read the value set by the
    one before.
    """
    found: set[str] = set(results)
    together: set[str] = set()  # set by collectives
    changing: set[str] = set()
    seen: set[str] = set()

    def region(names: set[str], looped: bool, first: set[str]) -> None:
        nonlocal found
        found |= names & seen
        seen.update(names)
        if looped:  # variables not set first may be from the last iteration
            found |= names - first

    def walk(statements: tuple[Stmt, ...], looped: bool) -> None:
        for part in regions(statements):
            if isinstance(part, list):
                used, changed = _used(tuple(part))
                first = _set_first(part)
                region(used, looped, first)
                changing.update(changed - first)
                continue
            direct = {v.name for e in ir.expressions(part) for v in _variables(e)}
            found.update(direct, ir.names_set(part))
            if not isinstance(part, For):
                together.update(ir.names_set(part))
            if isinstance(part, ir.ScanRange):
                found.update(_used(part.body)[0])
                continue
            again = looped or isinstance(part, For | ir.While)
            for inner in ir.bodies(part):
                walk(inner, again)

    walk(body, False)
    return {n for n in found if n not in uniform or n in changing | together | results}


def _set_first(region: list[Stmt]) -> set[str]:
    """Variables that a region sets before it may read them."""
    done: set[str] = set()
    read: set[str] = set()
    for s in region:
        used, _ = _used((s,))
        if isinstance(s, Assign | ir.Unpack):
            read |= {v.name for e in ir.expressions(s) for v in _variables(e)} - done
            done |= set(ir.names_set(s)) - read
        elif isinstance(s, For | ir.Split):
            own = set(ir.names_set(s))
            inner = _set_first(list(s.body)) | own
            bounds = {v.name for e in ir.expressions(s) for v in _variables(e)}
            read |= ((used - inner) | (bounds - done)) - done
            done |= inner - read
        elif isinstance(s, ir.Clear):
            done |= {s.array.name} - read
        else:
            read |= used - done
    return done


def _variables(e: Expr) -> list[Var]:
    found = [e] if isinstance(e, Var) else []
    if isinstance(e, ir.Load | ir.Extent):
        found.append(e.view)
    for a in ir.operands(e):
        found += _variables(a)
    return found
