"""How the groups of a single-pass scan learn the join of all earlier tiles; see scan_tiles.py.

Each group takes the next tile of the range, publishes its total, and looks back for those of
earlier tiles, as in D. Merrill and M. Garland, "Single-pass Parallel Prefix Scan with Decoupled
Look-back", NVIDIA technical report NVR-2016-002. Unlike there, the order of joins does not depend
on timing, so results are bitwise reproducible: tiles are bundled, the tiles of a bundle are joined
from its first one on, and bundles likewise.
"""

from __future__ import annotations

from .states import States

BUNDLE = 32  # tiles
_AT_ONCE = 8  # bundles
_PAUSE = 1600  # nanoseconds; on an H100 scans are 2 to 5 % faster than without
_HEADER = 64  # bytes of the scratch memory before the groups' slots; starts with the next tile
_SLOT = 16  # bytes that a group publishes: a flag and a number, or only the flag


def scratch_bytes(tiles: int, states: int) -> int:
    """Bytes of scratch memory for up to that many tiles; they must be zero initially."""
    published = tiles + 2 * -(-tiles // BUNDLE)
    return _HEADER + published * _SLOT * (1 + states)


def preamble(c: States) -> list[str]:
    """Statements that find the places of states in the scratch memory, and the group's tile."""
    d, long = c.dialect, c.long
    byte = d.types["uint8"]
    return [
        f"const {long} _groups = {d.item.groups}, "
        f"_bundles = (_a._tiles + {BUNDLE - 1}) / {BUNDLE};",
        f"{d.memory.device}{byte} *const _rows = "
        f"_scratch + {_HEADER} + (_a._tiles + 2 * _bundles) * {_SLOT};",
        *_number(c),
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


def _pause(c: States) -> list[str]:
    """Statements that let earlier tiles go ahead, of scans that are as long as their memory takes.

    Groups that ask again and again take bandwidth from those that they wait for.
    """
    if not c.dialect.scan.pause:
        return []
    return [f"    if (_bundles > {BUNDLE}) {{ {c.dialect.scan.pause.format(ns=_PAUSE)} }}"]


def look_back(c: States) -> list[str]:
    """Statements that set `_prefix` to the join of all earlier tiles.

    The first work-items of the group run them, as lanes of one warp. Each reads one earlier tile in
    the bundle, and one earlier bundle, back to the first whose prefix is known.
    """
    d, long, kind = c.dialect, c.long, c.type()
    publication = Publication(c)
    order = [] if publication.one or not publication.order else [publication.order]
    of_bundle = "_a._tiles + _bundle"
    with_bundle = of_bundle if publication.one else "_a._tiles + _bundles + _bundle"
    one = f"1{d.suffixes['uint64']}"
    mask = f"0x{(1 << BUNDLE) - 1:x}{d.suffixes['uint64']}"

    def indented(lines: list[str], depth: int = 1) -> list[str]:
        return ["    " * depth + line for line in lines]

    def publish_prefix() -> list[str]:
        if publication.one:
            return publication.publish("_q", of_bundle, 2)
        mark = f"({publication.uint64})_a._epoch * 4 + 2"
        return [*c.store_at("_q", publication.row(with_bundle)), *publication.flag(of_bundle, mark)]

    def ballot(test: str) -> str:
        return d.lanes.ballot.format(mask=mask, test=test)

    def other(value: str, source: str) -> str:
        return c.shuffled(value, source, BUNDLE)

    back = "_a._tiles + _back"
    where = back if publication.one else f"{back} + (_lid < _end ? 0 : _bundles)"
    return [
        f"if (_lid < {BUNDLE}) {{",
        f"    const int _own = (int)(_group % {BUNDLE});",
        f"    const {long} _bundle = _group / {BUNDLE}, _back = _bundle - 1 - _lid;",
        "    if (_lid == 0) {",
        *indented(publication.publish("_total", "_group", 1), 2),
        "    }",
        f"    {kind} _inside = _total, _outside = _total, _whole_bundle = _total;",
        "    bool _told = _own == 0;",
        "    int _end;",
        *_pause(c),
        "    while (true) {",
        *indented(publication.look("_group - 1 - _lid", "_tile_flag", "_lid < _own && !_told"), 2),
        *indented(publication.look(back, "_bundle_flag", "_back >= 0"), 2),
        f"        const bool _inner = {ballot('_tile_flag == 0')} == 0;",
        f"        const {publication.uint64} _known = {ballot('_bundle_flag == 2')};",
        f"        const {publication.uint64} _absent = {ballot('_bundle_flag == 0')};",
        f"        _end = _bundle <= {BUNDLE} ? (int)_bundle : {BUNDLE + 1};",
        f"        if (_known != 0) _end = {d.lanes.first.format(bits='_known')};",
        f"        const bool _outer = _end <= {BUNDLE} && (_absent & (({one} << _end) - 1)) == 0;",
        "        if (!_told && _inner) {",
        *indented(order, 3),
        "            if (_lid < _own) {",
        *indented(publication.taken("_group - 1 - _lid", "_tile_flag", "_inside"), 4),
        "            }",
        *c.rolled,
        f"            for (int _w = 1; _w < {BUNDLE}; _w *= 2) {{",
        f"                const {kind} _o = {other('_inside', f'(_lid + _w) % {BUNDLE}')};",
        "                if (_lid % (2 * _w) == 0 && _lid + _w < _own)",
        f"                    _inside = {c.merged('_o', '_inside')};",
        "            }",
        # Publish the total of a bundle before its prefix is known.
        f"            if (_lid == 0 && _own == {BUNDLE - 1}) {{",
        f"                _whole_bundle = {c.merged('_inside', '_total')};",
        *indented(publication.publish("_whole_bundle", of_bundle, 1), 4),
        "            }",
        "            _told = true;",
        "        }",
        "        if (_told && _outer) {",
        *indented(order, 3),
        "            if (_back >= 0 && _lid <= _end) {",
        *indented(publication.taken(where, "_bundle_flag", "_outside"), 4),
        "            }",
        "            break;",
        "        }",
        "    }",
        *indented(c.identity("_p")),
        f"    const {kind} _o = {other('_outside', f'_end % {BUNDLE}')};",
        "    if (_end < _bundle) _p = _o;",
        # From the farthest bundle on, some of them at once: shuffles do not wait for joins.
        *c.rolled,
        f"    for (int _k = {BUNDLE - _AT_ONCE}; _k >= 0; _k -= {_AT_ONCE}) {{",
        "        if (_k >= _end) continue;",
        *(
            f"        const {kind} _o{n} = {other('_outside', f'_k + {n}')};"
            for n in reversed(range(_AT_ONCE))
        ),
        *(
            f"        if (_k + {n} < _end) _p = {c.merged('_p', f'_o{n}')};"
            for n in reversed(range(_AT_ONCE))
        ),
        "    }",
        "    if (_lid == 0) {",
        "        _prefix = _p;",
        f"        if (_own > 0) _prefix = {c.merged('_p', '_inside')};",
        f"        if (_own == {BUNDLE - 1}) {{",
        f"            const {kind} _q = {c.merged('_p', '_whole_bundle')};",
        *indented(publish_prefix(), 3),
        "        }",
        "    }",
        "}",
    ]
