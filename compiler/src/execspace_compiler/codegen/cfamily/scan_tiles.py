"""The single-pass scan, for devices with forward progress of groups that have started.

A group joins the contributions of its tile, learns the join of all earlier tiles (lookback.py), and
runs the calls with prefixes. Its work-items take units that are neighbours of other work-items'
units, so that loads and stores are coalesced. There are two kinds of tiles:

Of single calls the totals go through the memory of the group, and each work-item joins consecutive
ones. Of packs (passes/scan_packing.py) a warp has consecutive rows, and its lanes find the prefixes
of a row by shuffles, once for the total of the tile and once with what is before it. Meanwhile
contributions are kept in the memory of the group, each in a place of its own work-item, for
registers are what limits the groups that a multiprocessor has in flight.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable

from ... import ir
from ...mapping.scan_packs import ALIGNED, TOTALS, WORK
from ...passes.scan_contributions import exact_start
from ...reductions.joins import cast
from .device_kernel import DeviceKernel
from .lookback import look_back, preamble
from .states import States

_MOST_ITEMS = 16  # calls of a work-item in a tile
_MOST_PACKS = 8
_PACK = 16  # bytes of the contributions of a pack, at least
_MOST_EXPRESSIONS = 1600  # longer sources take compilers too long


def scan_items(kernel: DeviceKernel, group: int) -> int:
    """Packs, or single calls, of a work-item in a tile; 0 for scans of other kinds.

    As many as fit in the memory of the group that a scan may use. Fewer for a kernel with many
    expressions, which the source repeats for each. It depends on the kernel and the size of groups
    only: all variants have the same tiles.
    """
    lowered, dialect = kernel.lowered, kernel.dialect
    scan = lowered.spec.pattern == "scan" and dialect.scans_in_one_pass
    reduction = lowered.reduction
    if not scan or kernel.team is not None or reduction is None:
        return 0
    size = sum(max(s.type.itemsize, 8) for s in reduction.states)
    functions = (lowered.body, *lowered.functions)
    expressions = sum(len(ir.walk_expressions(f.body)) for f in functions)
    width = scan_width(kernel)
    items = _MOST_ITEMS if width == 1 else _MOST_PACKS

    def needed() -> int:
        if width > 1:
            (contribution,) = reduction.contributions
            return group * items * max(_PACK, width * contribution.itemsize)
        return (group * (items + 1) + group // 32 + 1) * size

    while items > 1 and (
        needed() > dialect.scan.memory or items * width * expressions > _MOST_EXPRESSIONS
    ):
        items //= 2
    return items


def scan_width(kernel: DeviceKernel) -> int:
    """Calls of a pack; 1 without packs."""
    packings = kernel.packings
    return 1 if packings is None or packings.scan is None else packings.scan.totals.count


def scan_lines(c: States, passed: list[str], items: int, width: int, packed: bool) -> list[str]:
    """The body of the kernel. `_a._tiles` is the number of tiles that the scratch has room for.

    Flags are valid if they carry the number of this launch, `_a._epoch`, so nothing is reset
    between launches: 1 means that the total is available, 2 that the inclusive prefix is.

    A work-item has `items` units of `width` calls. If it is `packed`, a unit is a pack where all
    addresses allow it; elsewhere its calls are run one by one.
    """
    kind = c.type()
    lanes = min(c.group, c.dialect.lanes.count)
    tile: _Tile = _Calls(c, passed, items, width, lanes)
    if width > 1:
        tile = _Packs(c, passed, items, width, lanes, packed)
    return [
        *tile.memory(),
        c.printer.in_group(kind, "_warps", f"[{tile.warps}]"),
        c.printer.in_group(kind, "_prefix"),
        f"const int _lid = (int){c.dialect.item.local_id}, "
        f"_lane = _lid % {lanes}, _warp = _lid / {lanes};",
        *preamble(c),
        f"const {c.long} _base = _group * {tile.size};",
        *c.identity("_none"),
        *_exact(c),
        *tile.totals(),
        *tile.over_group(),
        *look_back(c),
        c.dialect.sync.barrier,
        *tile.final(),
        "if (_group == _groups - 1 && _lid == 0) {",
        f"    const {kind} _all = {c.merged('_prefix', '_total')};",
        *("    " + line for line in c.store_result("_all")),
        "}",
    ]


def _exact(c: States) -> list[str]:
    """Statements that make `_none` an exact neutral element for contributions."""
    start = exact_start(c.lowered) if c.given else None
    if start is None:
        return []
    return [f"_none = {c.printer.float_const(start, c.reduction.states[0].type)};"]


class _Tile(ABC):
    """Statements for the units of a work-item."""

    def __init__(self, c: States, passed: list[str], items: int, width: int, lanes: int) -> None:
        self.c, self.passed, self.items, self.width, self.lanes = c, passed, items, width, lanes
        self.kind = c.type()
        self.warps = c.group // lanes
        self.size = c.group * items * width

    @abstractmethod
    def memory(self) -> list[str]:
        """Declarations of memory of the group."""

    @abstractmethod
    def totals(self) -> list[str]:
        """Statements that set `_sum`, the join of the work-item's calls, or of its warp's."""

    @abstractmethod
    def over_group(self) -> list[str]:
        """Statements that set `_total`, the join of the tile, and `_left`, of what is before the
        work-item or its warp in it."""

    @abstractmethod
    def final(self) -> list[str]:
        """Statements of the pass with prefixes."""

    def shuffled(self, value: str, source: str) -> str:
        """The value of another lane."""
        return self.c.shuffled(value, source, self.lanes)

    def over_lanes(self, name: str) -> list[str]:
        """Statements that join a variable with that of all lower lanes."""
        source = "_lane < _w ? _lane : _lane - _w"
        return [
            f"for (int _w = 1; _w < {self.lanes}; _w *= 2) {{",
            f"    const {self.kind} _other = {self.shuffled(name, source)};",
            f"    if (_lane >= _w) {name} = {self.c.merged('_other', name)};",
            "}",
        ]

    def over_warps(self, left: list[str]) -> list[str]:
        """Statements that set `_total` to the join of all warps; `left` is what a warp does when it
        is the join of the earlier ones."""
        lines = [self.c.dialect.sync.barrier, f"{self.kind} _total = _warps[0];"]
        if self.warps == 1:
            return lines
        return [
            *lines,
            *self.c.rolled,
            f"for (int _w = 1; _w < {self.warps}; ++_w) {{",
            "    if (_w == _warp) {",
            *("        " + line for line in left),
            "    }",
            f"    _total = {self.c.merged('_total', '_warps[_w]')};",
            "}",
        ]

    def one(self, function: str, state: str, *own: str) -> str:
        """The call of a function for a single index, `_u`."""
        return self.c.walk(function, [*self.c.parts(state), *own], self.passed, ("_u", "_u + 1"))

    def one_by_one(self, first: str, function: str) -> list[str]:
        """Statements that run the calls of a unit in a loop; `_s` is the state."""
        return [
            f"{self.c.long} _u = {first};",
            f"const {self.c.long} _last = _u + {self.width}, "
            "_end = _last < _a._units ? _last : _a._units;",
            *self.c.rolled,
            f"for (; _u < _end; ++_u) _s = {self.one(function, '_s')};",
        ]

    def unrolled(self, text: Callable[[str], str]) -> list[str]:
        """A line for each unit."""
        return [text(str(n)) for n in range(self.items)]

    def loop(self, lines: list[str], pragma: list[str] | None = None) -> list[str]:
        """A loop over units; `_k` is the number of one."""
        return [
            *(self.c.rolled if pragma is None else pragma),
            f"for (int _k = 0; _k < {self.items}; ++_k) {{",
            *indented(lines),
            "}",
        ]


def indented(lines: list[str]) -> list[str]:
    """Lines in a block."""
    return [f"    {line}" for line in lines]


def if_whole(lines: list[str], rest: list[str]) -> list[str]:
    """Statements for tiles that are before the end of the range, and for others."""
    return ["if (_whole) {", *indented(lines), "} else {", *indented(rest), "}"]


class _Calls(_Tile):
    """A tile of single calls."""

    def memory(self) -> list[str]:
        # Padding after each work-item's units avoids bank conflicts.
        return [self.c.printer.in_group(self.kind, "_tile", f"[{self.c.group * (self.items + 1)}]")]

    def striped(self, k: str) -> str:
        """The place of a unit whose neighbours are other work-items'."""
        place = f"{k} * {self.c.group} + _lid"
        return f"_tile[{place} + ({place}) / {self.items}]"

    def unit(self, k: str) -> str:
        """The number of that call."""
        return f"const {self.c.long} _u = _base + {k} * {self.c.group} + _lid;"

    def totals(self) -> list[str]:
        # All loads of a full tile are in flight together, since there are no tests between them.
        def read(k: str) -> str:
            return f"{{ {self.unit(k)} _read[{k}] = {self.one('_totals', '_none')}; }}"

        whole = [f"{self.kind} _read[{self.items}];", *self.unrolled(read)]
        whole += self.unrolled(lambda k: f"{self.striped(k)} = _read[{k}];")
        total = self.one("_totals", "_none")
        rest = [
            self.unit("_k"), f"{self.kind} _s = _none;", f"if (_u < _a._units) _s = {total};",
            f"{self.striped('_k')} = _s;",
        ]  # fmt: skip
        own = f"_tile[_lid * {self.items + 1} + _k]"
        return [
            f"const bool _whole = _base + {self.size} <= _a._units;",
            *if_whole(whole, self.loop(rest)),
            self.c.dialect.sync.barrier,
            f"{self.kind} _sum = {own.replace(' + _k', '')};",
            f"for (int _k = 1; _k < {self.items}; ++_k) _sum = {self.c.merged('_sum', own)};",
        ]

    def over_group(self) -> list[str]:
        left = f"if (_lane > 0) _left = {self.c.merged('_total', '_left')};"
        return [
            *self.over_lanes("_sum"),
            f"if (_lane == {self.lanes - 1}) _warps[_warp] = _sum;",
            f"{self.kind} _left = {self.shuffled('_sum', '_lane > 0 ? _lane - 1 : 0')};",
            *self.over_warps([left, "else _left = _total;"]),
        ]

    def final(self) -> list[str]:
        c, kind = self.c, self.kind
        own = f"_tile[_lid * {self.items + 1} + _k]"
        lines = [
            f"{kind} _before = _prefix;",
            f"if (_lid > 0) _before = {c.merged('_prefix', '_left')};",
            *self.kept(),
            f"for (int _k = 0; _k < {self.items}; ++_k) {{",
            f"    const {kind} _s = {own};",
            f"    {own} = _before;",
            f"    _before = {c.merged('_before', '_s')};",
            "}",
            c.dialect.sync.barrier,
        ]

        def state(k: str) -> str:
            return f"{self.unit(k)} const {kind} _s = {self.striped(k)};"

        def given(k: str) -> str:
            types = c.reduction.states[0].type, c.reduction.contributions[0]
            call = self.one("_work", "_s", c.printer.cast(f"_own[{k}]", *types))
            return f"{{ {state(k)} if (_whole || _u < _a._units) {call}; }}"

        def single(k: str) -> str:
            return f"{{ {state(k)} {self.one('_work', '_s')}; }}"

        if c.given:
            return [*lines, *self.unrolled(given)]
        rest = [state("_k"), f"if (_u < _a._units) {self.one('_work', '_s')};"]
        return [*lines, *if_whole(self.unrolled(single), self.loop(rest))]

    def kept(self) -> list[str]:
        """Statements that take contributions from memory where states are to go."""
        if not self.c.given:
            return []
        lines = self.unrolled(lambda k: f"_own[{k}] = {self.striped(k)};")
        return [f"{self.kind} _own[{self.items}];", *lines, self.c.dialect.sync.barrier]


class _Packs(_Tile):
    """A tile of packs. `packed`: some of them are moved by one access."""

    def __init__(
        self, c: States, passed: list[str], items: int, width: int, lanes: int, packed: bool
    ) -> None:
        super().__init__(c, passed, items, width, lanes)
        self.packed = packed
        (self.contribution,) = c.reduction.contributions
        # A place for the contributions of a pack, or for their join.
        self.bytes = max(_PACK, width * self.contribution.itemsize)

    def memory(self) -> list[str]:
        nbytes = self.c.group * self.items * self.bytes
        byte = self.c.dialect.types["uint8"]
        return [self.c.printer.in_group(byte, "_memory", f"[{nbytes}]", aligned=True)]

    def place(self, k: str) -> str:
        """Address of a unit's place."""
        return f"(_memory + ({k} * {self.c.group} + _lid) * {self.bytes})"

    @property
    def pack(self) -> str:
        """The type of the contributions of a pack."""
        return self.c.printer.pack(self.contribution, self.width)

    @property
    def kept(self) -> str:
        """Statement that sets `_p` to the contributions of a pack."""
        args = self.contribution, self.width, self.place("_k"), self.group_memory
        return f"const {self.pack} _p = {self.c.printer.load_pack(*args)};"

    @property
    def group_memory(self) -> str:
        """The address space of the group, for types of pointers."""
        return self.c.dialect.memory.group

    def first(self, k: str) -> str:
        """The number of the first call of a unit: each warp has consecutive ones."""
        return f"_base + ((_warp * {self.items} + {k}) * {self.lanes} + _lane) * {self.width}"

    def of_pack(self, function: str, first: str, *states: str) -> str:
        """The call of a function for a pack."""
        args = ", ".join([first, *states, *self.passed])
        return f"{self.c.printer.function_name(function)}({args})"

    def element(self, n: int) -> str:
        """A contribution of `_p`."""
        return f"(_p.v[{n}] != 0)" if self.contribution.kind == "b" else f"_p.v[{n}]"

    def totals(self) -> list[str]:
        c, kind = self.c, self.kind
        totals = [
            f"{kind} _s = _none;",
            *self.one_by_one(self.first("_k"), "_totals"),
            f"*({self.group_memory}{kind} *){self.place('_k')} = _s;",
        ]
        lines = self.loop(totals)
        if self.packed:

            def load(k: str) -> str:
                return f"_c{k} = {self.of_pack(TOTALS, self.first(k), '_none')};"

            def keep(k: str) -> str:
                values = " ".join(f"_p.v[{n}] = _c{k}.f{n};" for n in range(self.width))
                put = c.printer.store_pack(
                    self.contribution, self.width, self.place(k), "_p", self.group_memory
                )
                return f"{{ {self.pack} _p; {values} {put} }}"

            found = c.printer.result_type(c.printer.functions[TOTALS].result)
            packs = f"{found} {', '.join(self.unrolled(lambda k: f'_c{k}'))};"
            lines = [
                f"const bool _whole = _base + {self.size} <= _a._units && "
                f"{self.of_pack(ALIGNED, '_base')};",
                *if_whole([packs, *self.unrolled(load), *self.unrolled(keep)], lines),
            ]

        def rows(whole: bool) -> list[str]:
            # Rows do not wait for each other here, and shuffles take longer than all else.
            joined = f"_sum = _k == 0 ? _row : {c.merged('_sum', '_row')};"
            return self.loop([*self.row(whole), joined], c.overlapped if whole else None)

        return [*lines, f"{kind} _sum = _none;", *self.of_tile(rows)]

    def of_tile(self, lines: Callable[[bool], list[str]]) -> list[str]:
        """Statements for packs that are moved by one access, and for others. The test is outside of
        loops: within one it would keep compilers from overlapping iterations."""
        return if_whole(lines(True), lines(False)) if self.packed else lines(False)

    def row(self, whole: bool) -> list[str]:
        """Statements that set `_s` to the join of a row's units up to the lane's, `_row` of all."""
        last = self.shuffled("_s", str(self.lanes - 1))
        return [*self.total(whole), *self.over_lanes("_s"), f"const {self.kind} _row = {last};"]

    def total(self, whole: bool) -> list[str]:
        """Statements that set `_s` to the join of a unit."""
        kind = self.kind
        if not whole:
            return [f"{kind} _s = *({self.group_memory}{kind} *){self.place('_k')};"]
        printer, state = self.c.printer, self.c.reduction.states[0].type
        partial = self.c.reduction.partial(self.width)
        elements = [ir.Var(self.element(n), self.contribution) for n in range(self.width)]
        if partial is None:
            values = [printer.expr(cast(e, state)) for e in elements]
            joins = [f"_s = {self.c.merged('_s', value)};" for value in values]
        else:
            part = f"const {printer.type(partial.type)} _part = "
            value = printer.cast(printer.opaque("_part", partial.type), partial.type, state)
            joins = [
                f"{part}{printer.expr(partial.join(elements))};",
                f"_s = {self.c.merged('_s', value)};",
            ]
        return [f"{kind} _s = _none;", self.kept, *joins]

    def over_group(self) -> list[str]:
        return [
            "if (_lane == 0) _warps[_warp] = _sum;",
            f"{self.kind} _left = _sum;",
            *self.over_warps(["_left = _total;"]),
        ]

    def final(self) -> list[str]:
        c, kind = self.c, self.kind

        def rows(whole: bool) -> list[str]:
            if whole:  # the row has its contributions at hand
                owns = [self.element(n) for n in range(self.width)] if c.given else []
                calls = [f"{self.of_pack(WORK, self.first('_k'), '_before', *owns)};"]
            else:  # beside the `_s` of a unit
                work = self.one_by_one(self.first("_k"), "_work")
                calls = ["{", *indented([f"{kind} _s = _before;", *work]), "}"]
            row = [
                *self.row(whole),
                f"const {kind} _up = {self.shuffled('_s', '_lane > 0 ? _lane - 1 : 0')};",
                f"{kind} _before = _carry;",
                f"if (_lane > 0) _before = {c.merged('_carry', '_up')};",
                *calls,
                f"_carry = {c.merged('_carry', '_row')};",
            ]
            return self.loop(row)

        return [
            f"{kind} _carry = _prefix;",
            f"if (_warp > 0) _carry = {c.merged('_prefix', '_left')};",
            *self.of_tile(rows),
        ]
