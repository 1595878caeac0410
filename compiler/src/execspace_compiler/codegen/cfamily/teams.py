"""Barriers and collectives of a team in C.

On devices with shuffles, states are joined by a tree within a warp, and the results of several
warps through memory of the group. Otherwise all states go through it. The order of joins is that of
the members, so results are reproducible.
"""

from __future__ import annotations

from ... import ir
from ...ir.types import Scalar, ViewTy
from ...teams.device import LANE, RANK, SLOT, Shape
from .expressions import ExpressionPrinter
from .spelling import part_of_view

_SLOT = 16  # bytes of a number of a state in memory of the group


def team_lines(printer: ExpressionPrinter, s: ir.TeamStmt) -> list[str]:
    """C statements of a team statement."""
    if isinstance(s, ir.Carve):
        return _carve(printer, s)
    team = printer.team
    assert team is not None, s
    text = Teams(printer, team)
    match s:
        case ir.Barrier():
            return [text.barrier()]
        case ir.LaneSync():
            return [text.sync(text.lanes_mask())]
        case ir.FromFirstLane():
            first = f"{printer.dialect.lanes.own} & {~(team.lanes - 1)}"
            return text.shuffled(s.values, text.lanes_mask(), first)
        case ir.Broadcast():
            return text.broadcast(s)
        case ir.Combine():
            return text.combine(s)
        case ir.Prefix():
            return text.prefix(s)
    raise AssertionError(f"statement {type(s).__name__} has no C spelling")


def scratch_declarations(printer: ExpressionPrinter, f: ir.Function) -> list[str]:
    """Declarations of Views over scratch memory, with their strides and extents."""
    lines = []
    long, step = printer.dialect.types["int64"], printer.dialect.types[printer.stride_type.name]
    for s in ir.walk_statements(f.body):
        if isinstance(s, ir.Carve) and isinstance(s.view.type, ViewTy):
            t, name = s.view.type, printer.identifier(s.view.name)
            lines.append(f"{printer.pointer(t, name)} = 0;")
            for d in range(t.rank):
                lines.append(f"{long} {part_of_view(name, f'n{d}')} = 0;")
                if t.stride(d) is None:
                    lines.append(f"{step} {part_of_view(name, f's{d}')} = 0;")
    lines = list(dict.fromkeys(lines))
    if any(isinstance(s, ir.Combine) for s in ir.walk_statements(f.body)):
        lines.append("int _flip = 0;")
    return lines


def _carve(printer: ExpressionPrinter, s: ir.Carve) -> list[str]:
    t, name = s.view.type, printer.identifier(s.view.name)
    assert isinstance(t, ViewTy)
    pool = printer.identifier(s.pool.name)
    kind = printer.pointer(t, "").rstrip()
    lines = [f"{name} = ({kind})({pool} + {printer.expr(s.offset)});"]
    lines += [f"{part_of_view(name, f'n{d}')} = {printer.expr(e)};" for d, e in enumerate(s.shape)]
    for d in range(t.rank):
        if t.stride(d) is None:
            size = " * ".join(part_of_view(name, f"n{k}") for k in range(d + 1, t.rank))
            lines.append(f"{part_of_view(name, f's{d}')} = {size};")
    return lines


class Teams:
    """Collectives of teams that are mapped to groups of work-items by `shape`."""

    def __init__(self, printer: ExpressionPrinter, shape: Shape) -> None:
        self.printer, self.shape, self.d = printer, shape, printer.dialect
        self.width = self.d.lanes.count
        self.in_lanes = shape.items <= self.width and self.width > 1

    # -- ranks and masks ----------------------------------------------------------------------

    def number(self, level: str) -> str:
        """Number of a work-item in its team; for the level "thread", that of its thread."""
        if level == "thread":
            return f"(int){RANK.name}"
        return f"(int)({RANK.name} * {self.shape.lanes} + {LANE.name})"

    def item(self) -> str:
        """Number of a work-item in its team."""
        return self.number("team")

    def _bits(self, n: int) -> str:
        suffix = self.d.suffixes["uint32" if self.width <= 32 else "uint64"]
        return f"0x{(1 << n) - 1:x}{suffix}"

    def lanes_mask(self) -> str:
        """Mask of this thread's lanes."""
        n = self.shape.lanes
        if n >= self.width:
            return self._bits(self.width)
        return f"({self._bits(n)} << ({self.d.lanes.own} & {~(n - 1)}))"

    def team_mask(self) -> str:
        """Mask of this team's work-items, which are in one warp."""
        if not self.shape.stride or self.shape.stride >= self.width:
            return self._bits(self.shape.items)
        return (
            f"({self._bits(self.shape.items)} << ({self.d.lanes.own} & {~(self.shape.stride - 1)}))"
        )

    def warp_mask(self) -> str:
        """Mask of the team's work-items in this warp; the last warp may have fewer."""
        rest = self.shape.items % self.width
        if not rest:
            return self._bits(self.width)
        last = self.shape.items - rest
        return f"({self.item()} < {last} ? {self._bits(self.width)} : {self._bits(rest)})"

    # -- synchronisation ----------------------------------------------------------------------

    def sync(self, mask: str) -> str:
        """Statement: synchronise the lanes of a mask."""
        return self.d.lanes.sync.format(mask=mask)

    def barrier(self) -> str:
        """Statement: a barrier of the team."""
        if self.in_lanes:
            return self.sync(self.team_mask())
        if self.shape.stride:
            n = f"(int){SLOT.name} + 1"
            return self.d.lanes.barrier.format(n=n, count=self.shape.stride)
        return self.d.sync.barrier

    # -- values -------------------------------------------------------------------------------

    def shuffled(self, values: tuple[ir.Var, ...], mask: str, source: str) -> list[str]:
        """Statements that set variables to their values in another lane."""
        names = [self.printer.identifier(v.name) for v in values]
        return [f"{n} = {self.value(mask, n, source)};" for n in names]

    def value(self, mask: str, value: str, source: str) -> str:
        """Expression: a variable's value in another lane."""
        return self.d.lanes.shuffle.format(mask=mask, value=value, source=source)

    def reserve(self, nbytes: int) -> None:
        """Record the bytes of the group's memory that a team needs for collectives."""
        self.printer.joins = max(self.printer.joins, -(-nbytes // _SLOT) * _SLOT)

    def row(self, kind: str, offset: str = "0") -> str:
        """Pointer to values of a type in that memory."""
        return f"({self.d.memory.group}{kind} *)(_joins + {offset})"

    def broadcast(self, s: ir.Broadcast) -> list[str]:
        rank = self.printer.expr(s.rank)
        if self.in_lanes:
            lanes = self.shape.lanes
            source = f"{self.d.lanes.own} + (int)(({rank} - {RANK.name}) * {lanes} - {LANE.name})"
            mask = self.team_mask()
            return [self.sync(mask), *self.shuffled(s.values, mask, source), self.sync(mask)]
        lines = [self.barrier()]
        for n, v in enumerate(s.values):
            assert isinstance(v.type, Scalar)
            kind, name = self.printer.type(v.type), self.printer.identifier(v.name)
            place = f"*({self.row(kind, str(n * _SLOT))})"
            lines.append(f"if ({RANK.name} == {rank} && {LANE.name} == 0) {place} = {name};")
        self.reserve(len(s.values) * _SLOT)
        lines.append(self.barrier())
        for n, v in enumerate(s.values):
            assert isinstance(v.type, Scalar)
            place = f"*({self.row(self.printer.type(v.type), str(n * _SLOT))})"
            lines.append(f"{self.printer.identifier(v.name)} = {place};")
        return [*lines, self.barrier()]

    # -- states -------------------------------------------------------------------------------

    def kind(self, merge: str) -> str:
        """Type of a state."""
        return self.printer.result_type(self.printer.functions[merge].result)

    def size(self, states: tuple[ir.Var, ...]) -> int:
        """Upper bound of the bytes of a state."""
        sizes = [max(v.type.itemsize, 4) for v in states if isinstance(v.type, Scalar)]
        return sizes[0] if len(sizes) == 1 else -(-sum(max(n, 8) for n in sizes) // 8) * 8

    def parts(self, state: str, count: int) -> list[str]:
        return [state] if count == 1 else [f"{state}.f{n}" for n in range(count)]

    def merged(self, merge: str, count: int, a: str, b: str) -> str:
        args = ", ".join([*self.parts(a, count), *self.parts(b, count)])
        return f"{self.printer.function_name(merge)}({args})"

    def packed(self, variables: tuple[ir.Var, ...], state: str, back: bool = False) -> list[str]:
        """Statements that pack variables into a state, or unpack it."""
        parts = self.parts(state, len(variables))
        names = [self.printer.identifier(v.name) for v in variables]
        pairs = zip(names, parts, strict=True) if back else zip(parts, names, strict=True)
        return [f"{a} = {b};" for a, b in pairs]

    def taken(self, s: ir.Combine | ir.Prefix, name: str, mask: str, source: str) -> str:
        """Statement that declares a state, that of another lane."""
        sizes = [v.type.itemsize for v in s.states if isinstance(v.type, Scalar)]
        end, align = 0, max(min(n, 8) for n in sizes)
        for n in sizes:
            end = -(-end // min(n, 8)) * min(n, 8) + n
        words = -(-end // align) * align / 4
        value = self.value(mask, "_s", source)
        if len(sizes) > 1 and sum(-(-n // 4) for n in sizes) < words:  # it has padding
            each = (self.value(mask, part, source) for part in self.parts("_s", len(sizes)))
            value = f"{{{', '.join(each)}}}"
        return f"const {self.kind(s.merge)} {name} = {value};"

    def combine(self, s: ir.Combine) -> list[str]:
        count, kind = len(s.states), self.kind(s.merge)
        lines = [f"{{ {kind} _s;", *self.packed(s.states, "_s")]
        if s.level == "vector":
            lines += self.in_warp(s, 1, self.shape.lanes, self.lanes_mask(), LANE.name)
        elif self.in_lanes:
            lines.append(self.sync(self.team_mask()))
            unit = self.shape.lanes if s.level == "thread" else 1
            lines += self.in_warp(s, unit, self.shape.items, self.team_mask(), self.item())
        elif self.width > 1:
            lines += self.by_warps(s, count, kind)
        else:
            lines += self.by_memory(s, count, kind)
        return [*lines, *self.packed(s.states, "_s", back=True), "}"]

    def in_warp(self, s: ir.Combine, unit: int, items: int, mask: str, item: str) -> list[str]:
        """Join states of a warp; all get the result."""
        form = self.of_lanes(s, unit)
        if form and items == self.width:  # parts of a warp would go one after the other
            return [f"_s = {form.format(mask=mask, value='_s')};"]
        if items & (items - 1):
            first = self.taken(s, "_o", mask, f"{self.d.lanes.own} - {item}")
            return [*self.tree(s, unit, items, mask, item, str(items)), f"{{ {first} _s = _o; }}"]
        # A butterfly, where all must find the same: the state of the lower lane comes first.
        lines = []
        count, kind = len(s.states), self.kind(s.merge)
        w = unit
        while w < items:
            lines.append(f"{{ {self.taken(s, '_o', mask, f'{self.d.lanes.own} ^ {w}')}")
            if s.is_symmetric:
                lines.append(f"_s = {self.merged(s.merge, count, '_s', '_o')}; }}")
            else:
                lines += [
                    f"const bool _later = ({self.d.lanes.own} & {w}) != 0;",
                    f"const {kind} _a = _later ? _o : _s, _b = _later ? _s : _o;",
                    f"_s = {self.merged(s.merge, count, '_a', '_b')}; }}",
                ]
            w *= 2
        return lines

    def of_lanes(self, s: ir.Combine, unit: int) -> str:
        """The form of a function that joins the states of all lanes; empty if there is none."""
        if s.operation is None or len(s.states) > 1 or (s.operation == "sum" and unit > 1):
            return ""
        t = s.states[0].type
        return self.d.lanes.reduce.get((s.operation, t.name), "") if isinstance(t, Scalar) else ""

    def tree(
        self, s: ir.Combine, unit: int, items: int, mask: str, item: str, end: str
    ) -> list[str]:
        """Join states of a warp that begin before `end`, distances doubling, into the first one."""
        lines = []
        w = unit
        while w < items:
            other = self.taken(s, "_o", mask, f"({self.d.lanes.own} + {w}) & {self.width - 1}")
            joined = self.merged(s.merge, len(s.states), "_s", "_o")
            lines.append(f"{{ {other} if ({item} + {w} < {end}) _s = {joined}; }}")
            w *= 2
        return lines

    def by_warps(self, s: ir.Combine, count: int, kind: str) -> list[str]:
        """Join within warps, then the results of warps through memory: one barrier.

        The rows alternate (double buffering), so that values are not overwritten while being read.
        """
        warps = -(-self.shape.items // self.width)
        every = [c for f in self.printer.module.functions for c in ir.walk_statements(f.body)]
        sizes = [self.size(c.states) for c in every if isinstance(c, ir.Combine)]
        half = -(-warps * max(sizes) // _SLOT) * _SLOT  # the same for states of all sizes
        self.reserve(2 * half)
        unit = self.shape.lanes if s.level == "thread" else 1
        rest = self.shape.items % self.width
        item = self.d.lanes.own
        lines = []
        form = self.of_lanes(s, unit)
        if form:
            lines.append(f"_s = {form.format(mask=self.warp_mask(), value='_s')};")
        elif rest:
            last = self.shape.items - rest
            lines.append(f"const int _n = {self.item()} < {last} ? {self.width} : {rest};")
        if not form:
            end = "_n" if rest else str(self.width)
            lines += self.tree(s, unit, self.width, self.warp_mask(), item, end)
        row = self.row(kind, f"_flip * {half}")
        # A team with its own stride begins at a multiple of the width.
        lines += [
            f"{self.d.memory.group}{kind} *_row = {row}; _flip ^= 1;",
            f"if ({item} == 0) _row[{self.item()} / {self.width}] = _s;",
            self.barrier(),
            "_s = _row[0];",
            f"for (int _k = 1; _k < {warps}; ++_k) "
            f"{{ const {kind} _o = _row[_k]; _s = {self.merged(s.merge, count, '_s', '_o')}; }}",
        ]
        return lines

    def by_memory(self, s: ir.Combine, count: int, kind: str) -> list[str]:
        """Join through memory of the group only, if threads have one lane."""
        n = self.shape.items
        self.reserve(n * self.size(s.states))
        own, other = "_row[_q]", "_row[_q + _w]"
        return [
            f"const int _q = {self.item()};",
            f"{self.d.memory.group}{kind} *_row = {self.row(kind)};",
            self.barrier(),
            "_row[_q] = _s;",
            f"for (int _w = 1; _w < {n}; _w *= 2) {{",
            f"    {self.barrier()}",
            f"    if (_q % (2 * _w) == 0 && _q + _w < {n}) {{",
            f"        const {kind} _a = {own}, _b = {other};",
            f"        _row[_q] = {self.merged(s.merge, count, '_a', '_b')};",
            "    }",
            "}",
            self.barrier(),
            "_s = _row[0];",
            self.barrier(),
        ]

    def prefix(self, s: ir.Prefix) -> list[str]:
        count, kind = len(s.states), self.kind(s.merge)
        identity = [self.printer.const(i) for i in s.identity]
        lines = [f"{{ {kind} _s, _i;", *self.packed(s.states, "_s")]
        lines += [f"{p} = {v};" for p, v in zip(self.parts("_i", count), identity, strict=True)]
        if s.level == "vector":
            n = self.shape.lanes
            lines += self.within_warp(s, 1, n, self.lanes_mask(), f"(int){LANE.name}")
        elif self.in_lanes:
            unit = self.shape.lanes if s.level == "thread" else 1
            mask = self.team_mask()
            lines.append(self.sync(mask))
            lines += self.within_warp(s, unit, self.shape.items, mask, self.item())
        else:
            lines += self.prefix_by_memory(s, kind)
        return [*lines, *self.packed(s.states, "_s", back=True), "}"]

    def within_warp(self, s: ir.Prefix, unit: int, items: int, mask: str, item: str) -> list[str]:
        count = len(s.states)
        lines = [f"const int _q = {item};"]
        w = unit
        while w < items:
            other = self.taken(s, "_o", mask, f"({self.d.lanes.own} - {w}) & {self.width - 1}")
            joined = self.merged(s.merge, count, "_o", "_s")
            lines.append(f"{{ {other} if (_q >= {w}) _s = {joined}; }}")
            w *= 2
        total = self.taken(s, "_t", mask, f"{self.d.lanes.own} - _q + {items - 1}")
        before = self.taken(s, "_o", mask, f"({self.d.lanes.own} - {unit}) & {self.width - 1}")
        return [
            *lines,
            f"{{ {total}",
            *self.packed(s.totals, "_t", back=True),
            "}",
            f"{{ {before} _s = _o; }}",
            f"if (_q < {unit}) _s = _i;",
        ]

    def prefix_by_memory(self, s: ir.Prefix, kind: str) -> list[str]:
        n = self.shape.size if s.level == "thread" else self.shape.items
        self.reserve(n * self.size(s.states))
        joined = self.merged(s.merge, len(s.states), "_o", "_s")
        # Lanes of a thread have the same state; stores by all of them would be a race.
        one = f"if ({LANE.name} == 0) " if s.level == "thread" and self.shape.lanes > 1 else ""
        return [
            f"const int _q = {self.number(s.level)};",
            f"{self.d.memory.group}{kind} *_row = {self.row(kind)};",
            self.barrier(),
            f"{one}_row[_q] = _s;",
            f"for (int _w = 1; _w < {n}; _w *= 2) {{",
            f"    {self.barrier()}",
            f"    if (_q >= _w) {{ const {kind} _o = _row[_q - _w]; _s = {joined}; }}",
            f"    {self.barrier()}",
            f"    {one}_row[_q] = _s;",
            "}",
            self.barrier(),
            f"{{ const {kind} _t = _row[{n - 1}];",
            *self.packed(s.totals, "_t", back=True),
            "}",
            "_s = _i;",
            "if (_q > 0) _s = _row[_q - 1];",
            self.barrier(),
        ]
