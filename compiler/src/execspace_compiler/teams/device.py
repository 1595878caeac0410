"""Lowering of team kernels for devices: members are work-items of a group, lanes are neighbours.

Nested ranges become strided loops. Code outside ranges over lanes runs redundantly on all lanes of
a thread, but only the first one writes to memory. So the result does not depend on the number of
lanes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from execspace.base.dataclass import dataclass

from .. import ir
from ..ir import Assign, Const, Expr, For, If, Stmt, Var, integer, op, var
from ..ir.diagnostics import Loc, type_fault
from ..ir.rewriting import delinearized, rewritten
from ..ir.types import BOOL, INDEX, INT64, Pointer, Scalar, TupleTy, ViewTy
from ..reductions.reduction import Reduction
from ..typing.lowered import Lowered
from ..typing.module import changed_arguments, reports
from ..typing.values import TEAM_PARTS
from .failures import without_failed_members
from .scratch import Layout, scratch_layout, scratch_sizes
from .scratch_sizes import Sizes
from .single_thread import joined

_BYTE = Scalar("uint8")
RANK, LANE, SLOT = var("_team_rank"), var("_lane"), var("_slot")
JOINS = Var("_joins", Pointer(_BYTE, group=True))  # of collectives
GROUP = Var("_group", Pointer(_BYTE, group=True))  # scratch memory of level 0
OUTER = Var("_outer", Pointer(_BYTE))  # and of level 1


@dataclass(frozen=True)
class Shape:
    """How teams are mapped to groups of work-items.

    Attributes
    ----------
    size, lanes : int
        Threads of a team, and lanes of a thread.
    chunk : int
        Teams of a group.
    stride : int
        Work-items from one team of a group to the next; 0 if a group runs them sequentially.
    serial_lanes : int
        Lanes that a thread runs sequentially, on a device without lanes; `lanes` is then 1.
    """

    size: int
    lanes: int
    chunk: int = 1
    stride: int = 0
    serial_lanes: int = 1

    @property
    def items(self) -> int:
        """Work-items of a team."""
        return self.size * self.lanes

    @property
    def side_by_side(self) -> int:
        """Teams that a group runs concurrently."""
        return self.chunk if self.stride else 1

    @property
    def group(self) -> int:
        """Work-items of a group."""
        return self.stride * self.chunk if self.stride else self.items


def shape_of(size: int, lanes: int, chunk: int, width: int, parts: bool, most: int) -> Shape:
    """Mapping of teams of these sizes to groups.

    Parameters
    ----------
    chunk : int
        Teams per group that the policy asks for; 0 if it does not.
    width : int
        Width of a subgroup (warp); 1 if there are no shuffles.
    parts : bool
        Parts of a group that are multiples of `width` have their own barriers.
    most : int
        Work-items of the largest group.
    """
    if width == 1:
        return Shape(size, 1, chunk or 1, serial_lanes=lanes)
    items = size * lanes
    stride = 1 << (items - 1).bit_length() if items < width else -(-items // width) * width
    fits = items <= width or (parts and items % width == 0)
    if not chunk:
        chunk = max(1, 128 // stride) if fits and items <= width else 1
        chunk = min(chunk, max(1, most // stride))
    barriers = 15 if items > width else chunk
    if chunk > 1 and fits and stride * chunk <= most and chunk <= barriers:
        return Shape(size, lanes, chunk, stride)
    return Shape(size, lanes, chunk)


@dataclass(frozen=True)
class DeviceTeam:
    """A team kernel for work-items.

    Attributes
    ----------
    lowered : Lowered
        Its body takes the league rank, the league size and `handles`; then the kernel's
        parameters.
    shape : Shape
    layout : Layout
    league : str
        Parameter of the league size.
    handles : tuple of Var
        The position of the work-item, and pointers to memory.
    """

    lowered: Lowered
    shape: Shape
    layout: Layout
    league: str
    handles: tuple[Var, ...]

    def uses(self, level: int) -> bool:
        """Whether it has scratch memory of a level."""
        return any(p.statement.level == level for p in self.layout.allocations.values())

    @property
    def grid_stride(self) -> bool:
        """Whether the number of groups is limited, so that they run a grid-stride loop."""
        return self.lowered.reduction is not None or self.uses(1)

    @property
    def sequential(self) -> bool:
        """Whether a group runs several teams sequentially."""
        return self.grid_stride or (self.shape.chunk > 1 and not self.shape.stride)

    def sizes(self, space: str, limits: tuple[int, int]) -> Sizes:
        """The check of a launch's scratch memory."""
        parameters = self.lowered.body.parameters[self.lowered.leading :]
        name = self.lowered.kernel.name
        return scratch_sizes(name, self.layout, parameters, self.league, limits, space)

    def groups(self, league: int, most: int) -> int:
        """Groups of a launch, at most `most` if `grid_stride`."""
        if self.grid_stride:
            return max(1, min(-(-league // self.shape.side_by_side), most))
        return -(-league // self.shape.chunk)


def device_team(lowered: Lowered, shape: Shape) -> DeviceTeam:
    """The kernel for teams that are mapped to groups by `shape`.

    Raises
    ------
    Fault
        For code that cannot run once for several lanes.
    """
    lowered = without_failed_members(lowered)
    source = lowered.body
    head = source.parameters[: len(TEAM_PARTS)]
    source = _with_constants(source, {head[3].name: integer(shape.size), head[2].name: RANK})
    arguments = (head[1], *source.parameters[lowered.leading :])
    layout = scratch_layout(source, arguments, integer(shape.size))
    levels = {p.statement.level for p in layout.allocations.values()}
    memory = [pool for level, pool in enumerate((GROUP, OUTER)) if level in levels]
    handles = (RANK, LANE, SLOT, JOINS, *memory)
    made = _Device(shape, layout, lowered.functions[:-1], source.locals)
    statements = made.block(source.body, in_lanes=False)
    parameters = (*head[:2], *handles, *source.parameters[len(TEAM_PARTS) :])
    locals_ = source.locals | made.locals
    body = replace(source, parameters=parameters, body=statements, locals=locals_)
    leading = lowered.leading - len(TEAM_PARTS) + 2 + len(handles)
    functions = (*lowered.functions[:-1], body)
    made_lowered = replace(lowered, functions=functions, leading=leading)
    return DeviceTeam(made_lowered, shape, layout, head[1].name, handles)


def _with_constants(body: ir.Function, values: dict[str, Expr]) -> ir.Function:
    def change(e: Expr) -> Expr:
        e = ir.with_operands(e, tuple(map(change, ir.operands(e))))
        return values.get(e.name, e) if isinstance(e, Var) else e

    return replace(body, body=tuple(rewritten(s, change) for s in body.body))


def team_work(team: DeviceTeam, name: str, final: bool | None) -> ir.Function:
    """A loop over the teams `_f0`, `_f0 + _step` ... below `_f1`; see `work_function`.

    For a reduction, the state is a parameter and the result.
    """
    lowered = team.lowered
    body, reduction = lowered.body, lowered.reduction
    arguments = body.parameters[lowered.leading :]
    leading: list[Expr] = [var("_u"), var("_hi0"), *team.handles]
    if final is not None and reduction is not None:
        leading += [*reduction.prefix(), Const(final, BOOL)]
    kind = body.result if isinstance(body.result, Scalar) else INT64
    call = ir.Call(body.name, (*leading, *(Var(p.name, p.type) for p in arguments)), kind)
    walk: list[Stmt] = [ir.Evaluate(call)] if reduction is None else reduction.accumulate(call)
    if team.sequential and team.shape.items > 1:
        walk.insert(0, ir.Barrier())  # memory of the last team is in use until all have finished
    types: dict[str, Scalar | ViewTy] = {"_u": INT64}
    states: tuple[Var, ...] = ()
    result: Scalar | TupleTy | None = None
    statements: list[Stmt] = [For("_u", var("_f0"), var("_f1"), var("_step"), tuple(walk))]
    if not team.sequential:  # drivers handle barriers better without a loop
        once: list[Stmt] = [Assign("_u", var("_f0")), *walk]
        statements = [If(op("lt", var("_f0"), var("_f1")), tuple(once))]
    if reduction is not None:
        states = tuple(s.var for s in reduction.states)
        types |= _others(reduction, states)
        kinds = tuple(s.type for s in reduction.states)
        result = kinds[0] if len(kinds) == 1 else TupleTy(kinds)
        statements.append(ir.Return(states[0] if len(states) == 1 else states))
    head = (var("_f0"), var("_f1"), var("_step"), *states, var("_lo0"), var("_hi0"))
    parameters = (*head, *team.handles, *arguments)
    return ir.Function(name, parameters, result, types, tuple(statements))


def _others(reduction: Reduction, states: tuple[Var, ...]) -> dict[str, Scalar]:
    named = {s.name for s in states}
    return {n: t for n, t in reduction.locals().items() if n not in named}


class _Device:
    """Lowers the statements of a team to those of each work-item."""

    def __init__(
        self,
        shape: Shape,
        layout: Layout,
        functions: Sequence[ir.Function],
        types: dict[str, Scalar | ViewTy],
    ) -> None:
        self.shape, self.layout, self.types = shape, layout, types
        self.locals: dict[str, Scalar | ViewTy] = {}
        self.count = 0
        self.changed: dict[str, frozenset[int]] = {}  # arguments that a helper stores to
        self.reporting: set[str] = set()  # helpers that print or fail
        for f in functions:
            self.changed[f.name] = changed_arguments(f, self.changed)
            if reports(f, self.reporting):
                self.reporting.add(f.name)

    def level(self, level: str) -> str:
        """The level with several members; empty if there is only one."""
        several = {"thread": self.shape.size > 1, "vector": self.shape.lanes > 1}
        if level != "team":
            return level if several[level] else ""
        both = [w for w, many in several.items() if many]
        return "team" if len(both) == 2 else both[0] if both else ""

    def member(self, level: str) -> tuple[Expr, int]:
        """Rank of a member in a level, and their number."""
        lanes = self.shape.lanes
        match self.level(level):
            case "thread":
                return RANK, self.shape.size
            case "vector":
                return LANE, lanes
            case "team":
                return op("add", op("mul", RANK, integer(lanes)), LANE), self.shape.items
        return integer(0), 1

    def temporary(self, type: Scalar) -> Var:
        self.count += 1
        made = Var(f"_d_{self.count}", type)
        self.locals[made.name] = type
        return made

    def block(self, body: tuple[Stmt, ...], in_lanes: bool) -> tuple[Stmt, ...]:
        out: list[Stmt] = []
        alike = self.shape.lanes > 1 and not in_lanes
        effects: list[Stmt] = []
        for s in body:
            if alike and self.changes_memory(s):
                if effects and not isinstance(s, ir.Store):
                    out += self.in_first_lane(effects)
                    effects = []
                effects.append(s)
                if not isinstance(s, ir.Store):
                    out += self.in_first_lane(effects)
                    effects = []
                continue
            if effects:
                out += self.in_first_lane(effects)
                effects = []
            out += self.statement(s, in_lanes)
        return (*out, *(self.in_first_lane(effects) if effects else ()))

    # -- lanes --------------------------------------------------------------------------------

    def changes_memory(self, s: Stmt) -> bool:
        """Whether a statement must run on one lane only."""
        if isinstance(s, ir.Store | ir.Atomic):
            return is_shared(s.view)
        if isinstance(s, ir.Print | ir.Fail):
            return True
        if not isinstance(s, Assign | ir.Unpack | ir.Evaluate):
            return False
        calls = [e for e in ir.walk_expressions((s,)) if isinstance(e, ir.Call)]
        changed = [c.args[n] for c in calls for n in self.changed[c.function]]
        shared = [is_shared(a) for a in changed if isinstance(a, Var)]
        told = any(c.function in self.reporting for c in calls)
        if not all(shared) and (any(shared) or told):
            raise type_fault(
                s.loc,
                f"'{calls[0].function}' changes a private array, and does more than that, but the "
                f"{self.shape.lanes} lanes of a thread each have the array",
                "use team.thread_scratch in place of es.local, or vector_length=1",
            )
        return told or any(shared)

    def in_first_lane(self, effects: list[Stmt]) -> list[Stmt]:
        """Statements of the first lane only, after all lanes have read their operands."""
        first = op("eq", LANE, integer(0))
        names = [n for s in effects for n in ir.names_set(s)]
        values = tuple(self.variable(s, n) for s in effects for n in ir.names_set(s))
        given: list[Stmt] = [ir.FromFirstLane(values)] if names else []
        return [ir.LaneSync(), If(first, tuple(effects)), *given, ir.LaneSync()]

    def variable(self, s: Stmt, name: str) -> Var:
        match s:
            case Assign():
                type = s.value.type
            case ir.Atomic():
                type = s.type
            case _:
                type = self.types[name]
        assert isinstance(type, Scalar)
        return Var(name, type.strong)

    # -- statements ---------------------------------------------------------------------------

    def statement(self, s: Stmt, in_lanes: bool) -> list[Stmt]:
        match s:
            case ir.Barrier():
                return [s] if self.shape.size > 1 else self.sync()
            case ir.Broadcast():
                return [s] if self.shape.size > 1 else []
            case ir.Combine() | ir.Prefix():
                level = self.level(s.level)
                if level:
                    return [replace(s, level=level)]
                return self.prefix_of_one(s) if isinstance(s, ir.Prefix) else []
            case ir.Scratch():
                return [self.carved(s)]
            case ir.Split():
                return self.split(s, in_lanes)
            case ir.ScanRange():
                return self.scan(s, in_lanes)
        bodies = tuple(self.block(b, in_lanes) for b in ir.bodies(s))
        return [ir.with_bodies(s, bodies)]

    def sync(self) -> list[Stmt]:
        return [ir.LaneSync()] if self.shape.lanes > 1 else []

    def prefix_of_one(self, s: ir.Prefix) -> list[Stmt]:
        pairs = zip(s.totals, s.states, strict=True)
        kept: list[Stmt] = [Assign(t.name, v) for t, v in pairs]
        return kept + [Assign(v.name, i) for v, i in zip(s.states, s.identity, strict=True)]

    def carved(self, s: ir.Scratch) -> Stmt:
        place = self.layout.allocations[s.view.name]
        offset = place.offset
        if place.statement.owner == "thread":
            offset = op("add", offset, op("mul", RANK, place.stride))
        return ir.Carve(s.view, place.shape, OUTER if s.level else GROUP, offset, s.loc)

    def split(self, s: ir.Split, in_lanes: bool) -> list[Stmt]:
        level = self.level(s.level)
        over_lanes = level in ("vector", "team") and self.shape.lanes > 1
        body = self.block(s.body, in_lanes or over_lanes)
        member, count = self.member(s.level)
        if self.in_turn(s.level):
            return [self.in_serial(s, member, count, body)]
        step = integer(count)
        if len(s.names) == 1:
            first = op("add", s.starts[0], member) if count > 1 else s.starts[0]
            loop: Stmt = For(s.names[0], first, s.stops[0], step, body, loc=s.loc)
        else:
            loop = self.flat(s, member, step, body)
        return [loop, *(self.sync() if over_lanes and self.shared_in(s.body) else ())]

    def in_turn(self, level: str) -> bool:
        """Whether a thread runs several neighbouring iterations, those of its lanes."""
        return level == "team" and self.level(level) != "" and self.shape.serial_lanes > 1

    def in_serial(self, s: ir.Split, member: Expr, count: int, body: tuple[Stmt, ...]) -> Stmt:
        """A loop in which each thread runs the iterations of its lanes."""
        serial_lanes = self.shape.serial_lanes
        number = self.temporary(INT64)
        total, indices = delinearized(s, Var(number.name, INDEX))
        block = Var(self.temporary(INT64).name, INDEX)
        lane = self.lane_loop(number.name, block, total, (*indices, *body), s.loc)
        first, step = op("mul", member, integer(serial_lanes)), integer(count * serial_lanes)
        return For(block.name, first, total, step, (lane,), loc=s.loc)

    def lane_loop(
        self, name: str, first: Expr, stop: Expr, body: tuple[Stmt, ...], loc: Loc
    ) -> Stmt:
        """A loop with an iteration for each lane of a thread, from `first`."""
        last = op("min", op("add", first, integer(self.shape.serial_lanes)), stop)
        return For(name, first, last, integer(1), body, loc=loc)

    def shared_in(self, body: tuple[Stmt, ...]) -> bool:
        return any(map(self.changes_memory, ir.walk_statements(body)))

    def flat(self, s: ir.Split, member: Expr, step: Expr, body: tuple[Stmt, ...]) -> Stmt:
        """One loop over several collapsed indices."""
        count = self.temporary(INT64)
        total, indices = delinearized(s, Var(count.name, INDEX))
        return For(count.name, member, total, step, (*indices, *body), loc=s.loc)

    def scan(self, s: ir.ScanRange, in_lanes: bool) -> list[Stmt]:
        """A loop with an iteration for each member, whose contributions are computed first."""
        level = self.level(s.level)
        if not level:
            inner = (*self.block(s.body, in_lanes), joined(s.states, s.states, s.own, s.merge))
            return [For(s.name, s.start, s.stop, integer(1), inner, loc=s.loc)]
        over_lanes = level in ("vector", "team") and self.shape.lanes > 1
        member, count = self.member(s.level)
        base = Var(self.temporary(INT64).name, INDEX)
        kinds = [v.type.strong for v in s.states if isinstance(v.type, Scalar)]
        carry = tuple(self.temporary(t) for t in kinds)
        before = tuple(self.temporary(t) for t in kinds)
        totals = tuple(self.temporary(t) for t in kinds)
        inside = op("lt", var(s.name), s.stop)

        def copy(to: tuple[Var, ...], source: Sequence[Expr]) -> list[Stmt]:
            return [Assign(a.name, b) for a, b in zip(to, source, strict=True)]

        probe = self.block(s.probe, in_lanes or over_lanes)
        body = self.block(s.body, in_lanes or over_lanes)
        if self.in_turn(s.level):
            sums = tuple(self.temporary(t) for t in kinds)
            first = op("add", base, op("mul", member, integer(self.shape.serial_lanes)))
            found = (*copy(s.states, carry), *probe, joined(sums, sums, s.own, s.merge))
            done = (*body, joined(s.states, s.states, s.own, s.merge))
            walk: list[Stmt] = [
                *copy(sums, s.identity),
                self.lane_loop(s.name, first, s.stop, found, s.loc),
                *copy(before, sums),
                ir.Prefix(level, before, totals, s.identity, s.merge, s.loc),
                joined(s.states, carry, before, s.merge),
                self.lane_loop(s.name, first, s.stop, done, s.loc),
                joined(carry, carry, totals, s.merge),
            ]
            step = integer(count * self.shape.serial_lanes)
            loop = For(base.name, s.start, s.stop, step, tuple(walk), loc=s.loc)
            return [*copy(carry, s.states), loop, *copy(s.states, carry), ir.Barrier(s.loc)]
        walk = [
            Assign(s.name, op("add", base, member)),
            *copy(s.own, s.identity),
            If(inside, (*copy(s.states, carry), *probe), loc=s.loc),
            *copy(before, s.own),
            ir.Prefix(level, before, totals, s.identity, s.merge, s.loc),
            joined(s.states, carry, before, s.merge),
            If(inside, body, loc=s.loc),
            joined(carry, carry, totals, s.merge),
        ]
        loop = For(base.name, s.start, s.stop, integer(count), tuple(walk), loc=s.loc)
        out: list[Stmt] = [*copy(carry, s.states), loop, *copy(s.states, carry)]
        if level != "vector":
            return [*out, ir.Barrier(s.loc)]
        return [*out, *(self.sync() if self.shared_in(s.body) else ())]


def _is_view(v: Var) -> bool:
    return isinstance(v.type, ViewTy)


def is_shared(v: Var) -> bool:
    """Whether it is in memory that lanes share."""
    return isinstance(v.type, ViewTy) and v.type.shape is None
