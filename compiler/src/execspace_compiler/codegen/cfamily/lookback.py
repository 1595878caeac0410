"""The single-pass scan, for devices with forward progress of groups that have started.

Each group takes the next tile of the range, publishes its total, and looks back for the join of all
earlier tiles, as in D. Merrill and M. Garland, "Single-pass Parallel Prefix Scan with Decoupled
Look-back", NVIDIA technical report NVR-2016-002. Unlike there, the order of joins does not depend
on timing, so results are bitwise reproducible: tiles are bundled, the tiles of a bundle are joined
from its first one on, and bundles likewise.
"""

from __future__ import annotations

from ...passes.scan_contributions import exact_start
from .states import States

BUNDLE = 32  # tiles
_MOST_ITEMS = 16  # units of a work-item in a tile
_MOST_EXPRESSIONS = 1600  # longer sources take compilers too long
_HEADER = 64  # bytes of the scratch memory before the groups' slots; starts with the next tile
_SLOT = 16  # bytes that a group publishes: a flag and a number, or only the flag


def items_of(state_bytes: int, group: int, expressions: int, room: int) -> int:
    """Units of a work-item in a tile: as many as fit in `room` bytes of the group's memory.

    Fewer for a kernel with many expressions, which the source repeats twice for each unit.
    """
    items = _MOST_ITEMS
    while items > 1 and (
        (group * (items + 3) + 2 * BUNDLE) * state_bytes > room
        or items * expressions > _MOST_EXPRESSIONS
    ):
        items //= 2
    return items


def scratch_bytes(tiles: int, states: int) -> int:
    """Bytes of scratch memory for up to that many tiles; they must be zero initially."""
    published = tiles + 2 * -(-tiles // BUNDLE)
    return _HEADER + published * _SLOT * (1 + states)


def scan_lines(c: States, passed: list[str], items: int) -> list[str]:
    """The body of the kernel. `_a._tiles` is the number of tiles that the scratch has room for.

    Flags are valid if they carry the number of this launch, `_a._epoch`, so nothing is reset
    between launches: 1 means that the total is available, 2 that the inclusive prefix is.
    """
    d, long, group, kind = c.dialect, c.long, c.group, c.type()
    int32, byte = d.types["int32"], d.types["uint8"]
    shared = c.printer.in_group

    def walk(function: str, state: str, own: str = "") -> str:
        states = [*c.parts(state), *([own] if own else [])]
        return c.walk(function, states, passed, ("_u", "_u + 1"))

    # Padding after each work-item's units avoids bank conflicts.
    own, gap = f"_tile[_lid * {items + 1} + _k]", f"(_k * {group} + _lid) / {items}"
    striped = f"_tile[_k * {group} + _lid + {gap}]"
    each = f"for (int _k = 0; _k < {items}; ++_k)"
    unit = f"const {long} _u = _base + _k * {group} + _lid;"

    def unrolled(text: str) -> list[str]:
        return [f"    {text.replace('_k', str(n))}" for n in range(items)]

    return [
        shared(kind, "_tile", f"[{group * (items + 1)}]"),
        shared(kind, "_sums", f"[2][{group}]"),
        shared(kind, "_prefix"),
        shared(kind, "_seen", f"[{2 * BUNDLE}]"),
        *(shared(int32, name) for name in ("_nearest", "_missing", "_absent")),
        f"const int _lid = (int){d.item.local_id};",
        f"const {long} _groups = {d.item.groups}, "
        f"_bundles = (_a._tiles + {BUNDLE - 1}) / {BUNDLE};",
        f"{d.memory.device}{byte} *const _rows = "
        f"_scratch + {_HEADER} + (_a._tiles + 2 * _bundles) * {_SLOT};",
        *_number(c),
        f"const {long} _base = _group * {group * items};",
        f"const bool _whole = _base + {group * items} <= _a._units;",
        # Loads are coalesced; then each work-item joins its own consecutive units. All loads of a
        # full tile are in flight together, since there are no tests between them.
        *c.identity("_none"),
        *_exact(c),
        "if (_whole) {",
        f"    {kind} _read[{items}];",
        *unrolled(f"{{ {unit} _read[_k] = {walk('_totals', '_none')}; }}"),
        *unrolled(f"{striped} = _read[_k];"),
        "} else {",
        *c.rolled,
        f"{each} {{",
        f"    {unit}",
        f"    {kind} _s = _none;",
        f"    if (_u < _a._units) _s = {walk('_totals', '_none')};",
        f"    {striped} = _s;",
        "}",
        "}",
        d.sync.barrier,
        f"{kind} _sum = {own.replace(' + _k', '')};",
        f"for (int _k = 1; _k < {items}; ++_k) _sum = {c.merged('_sum', own)};",
        "_sums[0][_lid] = _sum;",
        d.sync.barrier,
        "int _from = 0;",
        *c.rolled,
        f"for (int _w = 1; _w < {group}; _w *= 2) {{",
        f"    if (_lid >= _w) _sum = {c.merged('_sums[_from][_lid - _w]', '_sum')};",
        "    _from = 1 - _from;",
        "    _sums[_from][_lid] = _sum;",
        f"    {d.sync.barrier}",
        "}",
        f"const {kind} _total = _sums[_from][{group - 1}];",
        *_look_back(c),
        d.sync.barrier,
        f"const {kind} _first = _prefix;",
        f"{kind} _before = _first;",
        f"if (_lid > 0) _before = {c.merged('_first', '_sums[_from][_lid - 1]')};",
        *(
            [
                f"{kind} _own[{items}];",
                *(line.strip() for line in unrolled(f"_own[_k] = {striped};")),
                d.sync.barrier,
            ]
            if c.given
            else []
        ),
        f"{each} {{",
        f"    const {kind} _s = {own};",
        f"    {own} = _before;",
        f"    _before = {c.merged('_before', '_s')};",
        "}",
        d.sync.barrier,
        *_final(c, unrolled, each, unit, striped, walk),
        "if (_group == _groups - 1 && _lid == 0) {",
        f"    const {kind} _all = {c.merged('_first', '_total')};",
        *("    " + line for line in c.store_result("_all")),
        "}",
    ]


def _exact(c: States) -> list[str]:
    """Statements that make `_none` an exact neutral element for contributions."""
    start = exact_start(c.lowered) if c.given else None
    if start is None:
        return []
    return [f"_none = {c.printer.float_const(start, c.reduction.states[0].type)};"]


def _final(c: States, unrolled, each, unit, striped, walk) -> list[str]:  # type: ignore[no-untyped-def]
    """Statements of the pass with prefixes; stores are coalesced, too."""
    kind = c.type()
    if c.given:
        own = c.printer.cast("_own[_k]", c.reduction.states[0].type, c.reduction.contributions[0])
        call = walk("_work", "_s", own)
        text = f"{{ {unit} const {kind} _s = {striped}; if (_whole || _u < _a._units) {call}; }}"
        return [line.strip() for line in unrolled(text)]
    return [
        "if (_whole) {",
        *unrolled(f"{{ {unit} const {kind} _s = {striped}; {walk('_work', '_s')}; }}"),
        "} else {",
        *c.rolled,
        f"{each} {{",
        f"    {unit}",
        f"    const {kind} _s = {striped};",
        f"    if (_u < _a._units) {walk('_work', '_s')};",
        "}",
        "}",
    ]


def _number(c: States) -> list[str]:
    """Statements that assign a tile to the group: groups wait only for groups that have started."""
    d, long = c.dialect, c.long
    if d.scan.in_order:
        return [f"const {long} _group = {d.item.group_id};"]
    return [
        c.printer.in_group(d.types["int32"], "_number"),
        "if (_lid == 0) {",
        f"    _number = {c.counted()};",
        f"    if (_number == _groups - 1) {c.reset_count()}",
        "}",
        d.sync.barrier,
        f"const {long} _group = _number;",
    ]


class Publication:
    """Publication of states between groups, with a flag: 1 for a total, 2 for a prefix.

    A single number of up to 8 bytes and its flag are written and read in one access, if the device
    can. Other states are next to the flag, which is written after and read before them.
    """

    def __init__(self, c: States) -> None:
        self.c, self.d = c, c.dialect
        self.uint64 = self.d.types["uint64"]
        states = c.reduction.states
        self.one = bool(self.d.scan.pair_load) and len(states) == 1 and states[0].type.itemsize <= 8
        self.one = self.one and states[0].type.kind != "c"
        self.type = states[0].type
        sync = self.d.sync
        self.order = "" if sync.store_release else sync.fence_acq_rel or sync.fence

    def place(self, n: str) -> str:
        """Address of a group's slot."""
        return f"_scratch + {_HEADER} + ({n}) * {_SLOT}"

    def row(self, n: str) -> str:
        """Address of a state that is next to its flag."""
        return f"_rows + ({n}) * {len(self.c.reduction.states) * _SLOT}"

    def publish(self, state: str, n: str, flag: int) -> list[str]:
        """Statements that publish a state."""
        mark = f"({self.uint64})_a._epoch * 4 + {flag}"
        if self.one:
            bits = self._bits(state)
            return [self.d.scan.pair_store.format(p=self.place(n), a=mark, b=bits)]
        return [*self.c.store_at(state, self.row(n)), *self.flag(n, mark)]

    def flag(self, n: str, mark: str) -> list[str]:
        """Statements that set a flag with release ordering."""
        place = f"(volatile {self.d.memory.device}{self.uint64} *)({self.place(n)})"
        if self.d.sync.store_release:
            return [self.d.sync.store_release.format(p=place, v=mark)]
        return [self.order, f"(*{place}) = {mark};"]

    def look(self, n: str, name: str, test: str) -> list[str]:
        """Statements that set `name` to a flag: 0 for another launch's, 1 if the test fails."""
        kind = self.uint64
        lines = [
            f"int {name} = 1;",
            f"{kind} {name}_bits = 0;",
            f"if ({test}) {{",
            f"    {kind} _mark;",
        ]
        if self.one:
            place = self.place(n)
            lines.append(
                "    " + self.d.scan.pair_load.format(p=place, a="_mark", b=f"{name}_bits")
            )
        else:
            place = f"(volatile {self.d.memory.device}{kind} *)({self.place(n)})"
            acquire = self.d.sync.load_acquire or "*{p}"
            lines.append(f"    _mark = {acquire.format(p=place)};")
        return [*lines, f"    {name} = _mark / 4 == ({kind})_a._epoch ? (int)(_mark % 4) : 0;", "}"]

    def taken(self, n: str, name: str, target: str) -> list[str]:
        """Statements that load the state whose flag was read into `target`."""
        if self.one:
            return [f"{target} = {self._number(f'{name}_bits')};"]
        value = "_value"
        kind = self.c.type()
        return [f"{kind} {value};", *self.c.load_from(value, self.row(n)), f"{target} = {value};"]

    def _bits(self, state: str) -> str:
        if self.type.is_float:
            return f"({self.uint64}){self.d.bits[f'from {self.type.name}'].format(state)}"
        return f"({self.uint64}){state}"

    def _number(self, bits: str) -> str:
        t = self.type
        if t.is_float:
            narrow = self.d.types[f"uint{8 * t.itemsize}"]
            return self.d.bits[f"to {t.name}"].format(f"({narrow}){bits}")
        return f"({bits} != 0)" if t.kind == "b" else f"({self.c.printer.type(t)}){bits}"


def _look_back(c: States) -> list[str]:
    """Statements that set `_prefix` to the join of all earlier tiles.

    The first work-items of the group run them. Each reads one earlier tile in the bundle, and one
    earlier bundle, back to the first whose prefix is known.
    """
    d, long, kind = c.dialect, c.long, c.type()
    publication = Publication(c)
    order = [] if publication.one or not publication.order else [publication.order]
    of_bundle = "_a._tiles + _bundle"
    with_bundle = of_bundle if publication.one else "_a._tiles + _bundles + _bundle"

    def more(counter: str) -> str:
        return d.atomics["add", "int32"].format(p=f"&{counter}", v="1")

    def indented(lines: list[str], depth: int = 1) -> list[str]:
        return ["    " * depth + line for line in lines]

    def publish_prefix() -> list[str]:
        if publication.one:
            return publication.publish("_q", of_bundle, 2)
        mark = f"({publication.uint64})_a._epoch * 4 + 2"
        return [*c.store_at("_q", publication.row(with_bundle)), *publication.flag(of_bundle, mark)]

    least = d.atomics["min", "int32"].format(p="&_nearest", v="_lid")
    back = "_a._tiles + _back"
    where = back if publication.one else f"{back} + (_lid < _end ? 0 : _bundles)"
    return [
        f"if (_lid < {BUNDLE}) {{",
        f"    const int _own = (int)(_group % {BUNDLE});",
        f"    const {long} _bundle = _group / {BUNDLE}, _back = _bundle - 1 - _lid;",
        "    if (_lid == 0) {",
        *indented(publication.publish("_total", "_group", 1), 2),
        "    }",
        f"    {kind} _inside;",
        "    bool _told = _own == 0;",
        "    int _end;",
        "    while (true) {",
        "        if (_lid == 0) {",
        f"            _nearest = _bundle <= {BUNDLE} ? (int)_bundle : {BUNDLE + 1};",
        "            _missing = 0;",
        "            _absent = 0;",
        "        }",
        *indented(publication.look("_group - 1 - _lid", "_tile_flag", "_lid < _own && !_told"), 2),
        *indented(publication.look(back, "_bundle_flag", "_back >= 0"), 2),
        f"        {d.scan.barrier}",
        f"        if (_bundle_flag == 2) {least};",
        f"        if (_tile_flag == 0) {more('_missing')};",
        f"        {d.scan.barrier}",
        "        _end = _nearest;",
        f"        if (_bundle_flag == 0 && _lid < _end) {more('_absent')};",
        f"        {d.scan.barrier}",
        "        const bool _inner = _missing == 0;",
        f"        const bool _outer = _absent == 0 && _end <= {BUNDLE};",
        f"        {d.scan.barrier}",
        "        if (!_told && _inner) {",
        *indented(order, 3),
        "            if (_lid < _own) {",
        *indented(publication.taken("_group - 1 - _lid", "_tile_flag", "_seen[_lid]"), 4),
        "            }",
        *c.rolled,
        f"            for (int _w = 1; _w < {BUNDLE}; _w *= 2) {{",
        f"                {d.scan.barrier}",
        "                if (_lid % (2 * _w) == 0 && _lid + _w < _own)",
        f"                    _seen[_lid] = {c.merged('_seen[_lid + _w]', '_seen[_lid]')};",
        "            }",
        "            if (_lid == 0) {",
        "                _inside = _seen[0];",
        # Publish the total of a bundle before its prefix is known.
        f"                if (_own == {BUNDLE - 1}) {{",
        f"                    const {kind} _b = {c.merged('_inside', '_total')};",
        *indented(publication.publish("_b", of_bundle, 1), 5),
        "                }",
        "            }",
        "            _told = true;",
        "        }",
        "        if (_told && _outer) {",
        *indented(order, 3),
        "            if (_back >= 0 && _lid <= _end) {",
        *indented(publication.taken(where, "_bundle_flag", f"_seen[{BUNDLE} + _lid]"), 4),
        "            }",
        "            break;",
        "        }",
        "    }",
        f"    {d.scan.barrier}",
        "    if (_lid == 0) {",
        *indented(c.identity("_p"), 2),
        f"        if (_end < _bundle) _p = _seen[{BUNDLE} + _end];",
        *c.rolled,
        "        for (int _k = _end - 1; _k >= 0; --_k)",
        f"            _p = {c.merged('_p', f'_seen[{BUNDLE} + _k]')};",
        "        _prefix = _p;",
        f"        if (_own > 0) _prefix = {c.merged('_p', '_inside')};",
        f"        if (_own == {BUNDLE - 1}) {{",
        f"            const {kind} _b = {c.merged('_inside', '_total')};",
        f"            const {kind} _q = {c.merged('_p', '_b')};",
        *indented(publish_prefix(), 3),
        "        }",
        "    }",
        "}",
    ]
