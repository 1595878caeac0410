"""Reductions and scans on devices, written once for the C family.

A reduction is one kernel: each work-item walks its units, the group joins by a tree in a fixed
order, and the last group to finish joins the partial results of all groups, in their order. A scan
is two: the first computes the total of each group's units and turns the totals into prefixes, the
second walks the units again. On devices with forward progress of groups it is one: `lookback.py`.
Results do not depend on the order in which groups run.
"""

from __future__ import annotations

import math

from ... import ir
from ...ir.types import INDEX, Scalar, ViewTy, flat_scalars
from ...mapping.variant import Variant
from ...reductions.reduction import ARRAY
from ...teams.device import SLOT as PLACE
from ...teams.device import Shape
from .device_kernel import DeviceKernel
from .printer import CPrinter
from .scan_tiles import scan_lines, scan_width
from .states import ROWS, States

Kernel = tuple[str, list[str], list[str]]  # name, body, parameters besides the arguments
TILE = 8  # consecutive units of a work-item in one iteration of a scan
_AT_ONCE = 4  # rows that a work-item reads before it joins them
_SHORT = 2  # numbers of a row; longer ones would take long to compile


class Collectives(States):
    """Prints the kernels of one launch; see `Entries` for the parameters."""

    def __init__(
        self,
        printer: CPrinter,
        kernel: DeviceKernel,
        variant: Variant,
        outs: tuple[ir.Var, ...],
        given: bool,
        items: int,
    ) -> None:
        super().__init__(printer, kernel, variant, outs, given)
        self.kernel, self.variant = kernel, variant
        self.items, self.width = items, scan_width(kernel)
        self.tile = self.group * items * self.width

    def kernels(self, passed: list[str]) -> list[Kernel]:
        """All kernels, in the order in which they are launched."""
        packed = self.kernel.packing(self.variant) is not None
        single = self.kernel.is_single(self.variant) and not packed
        if self.lowered.reduction is None and single:
            call = self.walk("_work", [], passed, ("_unit", "_unit + 1"))
            short = self.dialect.types["uint32"]
            number = self.dialect.item.narrow_item_id or self.dialect.item.item_id
            unit = f"const {short} _unit = {number};"
            return [("es_for", [unit, f"if (_unit < ({short})_a._units) {call};"], [])]
        if self.lowered.reduction is None:
            return [("es_for", self.share_and_walk(passed), [])]
        scratch = [f"{self.dialect.memory.device}{self.dialect.types['uint8']} *_scratch"]
        if self.lowered.spec.pattern == "scan" and self.tile:
            lines = scan_lines(self, passed, self.items, self.width, packed)
            return [("es_scan", lines, [*scratch, *self._result_parameter()])]
        if self.lowered.spec.pattern == "scan":
            return [
                ("es_totals", self._totals(passed), scratch),
                ("es_scan", self._scan(passed), [*scratch, *self._result_parameter()]),
            ]
        if self.reduction.array is not None:
            return [
                ("es_rows", self._rows(passed), scratch),
                ("es_join", self._join_rows(), [*scratch, *self._result_parameter()]),
            ]
        return [("es_reduce", self._reduce(passed), [*scratch, *self._result_parameter()])]

    def share_and_walk(self, passed: list[str]) -> list[str]:
        """Statements: the units of a work-item, and their calls."""
        return [*self._share(), self.walk("_work", [], passed) + ";"]

    # -- units of work-items ----------------------------------------------------------------------

    def _share(self) -> list[str]:
        """Statements that compute the units of a work-item: `_f0`, `_f1` and `_step`."""
        d, long = self.dialect, self.long
        if self.team is not None:
            return self._teams(self.team.shape)
        if self.flat:
            return [
                f"const {long} _f0 = {d.item.item_id}, _f1 = _a._units;",
                f"const {long} _step = {d.item.groups} * {d.item.group_size};",
            ]
        return [
            f"const {long} _part = {d.item.item_id}, "
            f"_parts = {d.item.groups} * {d.item.group_size};",
            f"const {long} _f0 = _part * _a._units / _parts;",
            f"const {long} _f1 = (_part + 1) * _a._units / _parts;",
        ]

    def _teams(self, shape: Shape) -> list[str]:
        """The same for a work-item's team; work-items beyond the last team have none."""
        d, long = self.dialect, self.long
        assert self.team is not None
        if shape.chunk > 1 and not shape.stride and not self.team.grid_stride:
            return [
                f"const {long} _f0 = {d.item.group_id} * {shape.chunk}, _step = 1;",
                f"const {long} _f1 = _f0 + {shape.chunk} < _a._units ? _f0 + {shape.chunk} : "
                f"_a._units;",
            ]
        first = f"{d.item.group_id} * {shape.side_by_side} + {PLACE.name}"
        inside = f"_item < {shape.items} ? {first} : _a._units" if shape.stride else first
        return [
            f"const {long} _f0 = {inside}, _f1 = _a._units;",
            f"const {long} _step = {d.item.groups} * {shape.side_by_side};",
        ]

    # -- states -----------------------------------------------------------------------------------

    def _store_row(self, state: str, group: str) -> list[str]:
        return self.store_at(state, self._row(group))

    def _load_row(self, state: str, group: str) -> list[str]:
        return self.load_from(state, self._row(group))

    # -- groups -----------------------------------------------------------------------------------

    @property
    def _lanes(self) -> int:
        """Work-items that join by shuffles; 1 if they join in the memory of the group."""
        lanes = min(self.group, self.dialect.lanes.count)
        return lanes if self.group % lanes == 0 and lanes & (lanes - 1) == 0 else 1

    def _group_array(self) -> list[str]:
        d = self.dialect
        if self.group == 1:
            return []
        return [
            self.printer.in_group(self.type(), "_shared", f"[{self.group // self._lanes}]"),
            f"const int _lid = (int){d.item.local_id};",
        ]

    def _group_join(self, state: str) -> list[str]:
        """Join the states of a group by a tree, neighbours first; item 0 gets the result."""
        lanes = self._lanes
        if self.group == 1:
            return []
        if lanes > 1:
            warps = self.group // lanes
            lines = self._lanes_join(state, lanes)
            if warps == 1:
                return lines
            return [
                *lines,
                f"if (_lid % {lanes} == 0) _shared[_lid / {lanes}] = {state};",
                self.dialect.sync.barrier,
                f"if (_lid < {lanes}) {{",
                f"    {state} = _shared[_lid < {warps} ? _lid : 0];",
                *("    " + line for line in self._lanes_join(state, warps)),
                "}",
                self.dialect.sync.barrier,
            ]
        return [
            f"_shared[_lid] = {state};",
            f"for (int _w = 1; _w < {self.group}; _w *= 2) {{",
            f"    {self.dialect.sync.barrier}",
            f"    if (_lid % (2 * _w) == 0 && _lid + _w < {self.group})",
            f"        _shared[_lid] = {self.merged('_shared[_lid]', '_shared[_lid + _w]')};",
            "}",
            self.dialect.sync.barrier,
            f"{state} = _shared[0];",
            self.dialect.sync.barrier,
        ]

    def _lanes_join(self, state: str, count: int) -> list[str]:
        """The same for the first lanes of a warp."""
        lanes = self._lanes
        other = self.shuffled(state, f"(_lid + _w) % {lanes}", lanes)
        exists = "" if count & (count - 1) == 0 else f" && _lid + _w < {count}"
        return [
            f"for (int _w = 1; _w < {count}; _w *= 2) {{",
            f"    const {self.type()} _other = {other};",
            f"    if (_lid % (2 * _w) == 0{exists}) {state} = {self.merged(state, '_other')};",
            "}",
        ]

    def _is_last(self) -> list[str]:
        """Statements that compute whether all other groups have finished: `_last`."""
        d = self.dialect
        test = f"{self.counted()} == (int)({d.item.groups}) - 1"
        if self.group == 1:
            return [d.sync.fence, f"const int _last = {test};"]
        return [
            self.printer.in_group("int", "_last_of_group"),
            f"if (_lid == 0) {{ {self._ordered}_last_of_group = {test}; }}",
            d.sync.barrier,
            "const int _last = _last_of_group;",
        ]

    def _after_last(self) -> list[str]:
        """Statements after which the last group sees what all others have stored: others need no
        fence, which takes longer than the sum of all their rows."""
        if self.group == 1:
            return [self.dialect.sync.fence]
        if not self._ordered:
            return []
        return [f"if (_lid == 0) {{ {self._ordered}}}", self.dialect.sync.barrier]

    @property
    def _ordered(self) -> str:
        """The fence beside a count; none where counting is ordered."""
        sync = self.dialect.sync
        return "" if sync.fetch_add else f"{sync.fence_acq_rel or sync.fence} "

    def _only_first(self, lines: list[str]) -> list[str]:
        if self.group == 1:
            return lines
        return ["if (_lid == 0) {", *("    " + line for line in lines), "}"]

    def _reduce(self, passed: list[str]) -> list[str]:
        d = self.dialect
        lines = [*self._group_array(), *self._share(), *self.identity("_start")]
        call = self.walk("_work", self.parts("_start"), passed)
        lines.append(f"{self.type()} _s = {call};")
        if self.team is not None and self.group > 1:  # a team contributes once
            lines.append("if (_item != 0) {")
            values = [self.printer.const(s.identity) for s in self.reduction.states]
            pairs = zip(self.parts("_s"), values, strict=True)
            lines += [*(f"    {p} = {v};" for p, v in pairs), "}"]
        lines += self._group_join("_s")
        if not self.flat or self.group == 1:
            rows = self._only_first(self._store_row("_s", d.item.group_id))
            return [*lines, *rows, *self._is_last(), *self._total()]
        # A group alone asks memory for nothing, which would take as long as a short walk.
        shared, *counting = self._is_last()
        alone = [*self.identity("_t"), f"_t = {self.merged('_t', '_s')};"]
        return [
            *lines,
            shared,
            f"if ({d.item.groups} == 1) {{",
            *("    " + line for line in self._only_first([*alone, *self.store_result("_t")])),
            "} else {",
            *("    " + line for line in self._only_first(self._store_row("_s", d.item.group_id))),
            *("    " + line for line in (*counting, *self._total())),
            "}",
        ]

    def _total(self) -> list[str]:
        """Statements by which the last group joins the rows of all."""
        d = self.dialect
        join = self._after_last()
        join += [f"const {self.long} _groups = {d.item.groups};", *self.identity("_t")]
        first, last = "0", "_groups"
        if self.group > 1:
            join.append(f"const {self.long} _end = _groups * (_lid + 1) / {self.group};")
            first, last = f"_groups * _lid / {self.group}", "_end"
        join += [
            *self._rows_joined(first, last),
            *self._group_join("_t"),
            *self._only_first([*self.store_result("_t"), self.reset_count()]),
        ]
        return ["if (_last) {", *("    " + line for line in join), "}"]

    def _rows_joined(self, first: str, last: str) -> list[str]:
        """Statements that join rows to `_t`. Of short ones some are read at a time, for each access
        takes as long as thousands of joins."""
        kind = self.type()
        count = _AT_ONCE if self.group > 1 and len(self.reduction.states) <= _SHORT else 1
        names = [f"_other{n}" for n in range(count)]
        lines = [f"{kind} {', '.join(names)};"]
        for n, name in enumerate(names):
            load = self._load_row(name, f"_g + {n}")
            lines += [f"if (_g + {n} < {last}) {{", *("    " + line for line in load), "}"]
        for n, name in enumerate(names):
            lines.append(f"if (_g + {n} < {last}) _t = {self.merged('_t', name)};")
        return [
            *self.rolled,
            f"for ({self.long} _g = {first}; _g < {last}; _g += {count}) {{",
            *("    " + line for line in lines),
            "}",
        ]

    # -- results ----------------------------------------------------------------------------------

    def _result_parameter(self) -> list[str]:
        if self.outs:
            return []
        return [f"{self.dialect.memory.device}{self.dialect.types['uint8']} *_result"]

    # -- scans ------------------------------------------------------------------------------------

    def _group_share(self) -> list[str]:
        d = self.dialect
        return [
            f"const {self.long} _groups = {d.item.groups}, _group = {d.item.group_id};",
            f"const {self.long} _begin = _group * _a._units / _groups;",
            f"const {self.long} _end = (_group + 1) * _a._units / _groups;",
        ]

    def _totals(self, passed: list[str]) -> list[str]:
        """Total of each group's units; the last group turns them into prefixes."""
        d = self.dialect
        lines = [*self._group_array(), *self._group_share(), *self.identity("_carry")]
        if self.group == 1 or self.team is not None:
            call = self.walk("_totals", self.parts("_carry"), passed, ("_begin", "_end"))
            lines.append(f"_carry = {call};")
        else:
            lines += [
                f"for ({self.long} _base = _begin; _base < _end; _base += {self.group * TILE}) {{",
                *("    " + line for line in self._tile(passed)),
                *("    " + line for line in self._group_join("_s")),
                f"    _carry = {self.merged('_carry', '_s')};",
                "}",
            ]
        lines += self._only_first(self._store_row("_carry", d.item.group_id))
        prefixes = [
            *self.identity("_t"),
            f"for ({self.long} _g = 0; _g < _groups; ++_g) {{",
            f"    {self.type()} _own;",
            *("    " + line for line in self._load_row("_own", "_g")),
            *("    " + line for line in self._store_row("_t", "_g")),
            f"    _t = {self.merged('_t', '_own')};",
            "}",
            self.reset_count(),
        ]
        lines += [*self._is_last(), "if (_last) {"]
        prefixes = [*self._after_last(), *self._only_first(prefixes)]
        return [*lines, *("    " + line for line in prefixes), "}"]

    def _tile(self, passed: list[str]) -> list[str]:
        """Statements that join a work-item's units in a tile: `_s`, from `_u0` to `_u1`."""
        call = self.walk("_totals", self.parts("_start"), passed, ("_u0", "_u1"))
        return [
            f"const {self.long} _at = _base + _lid * {TILE};",
            f"const {self.long} _u0 = _at < _end ? _at : _end;",
            f"const {self.long} _u1 = _at + {TILE} < _end ? _at + {TILE} : _end;",
            *self.identity("_start"),
            f"{self.type()} _s = {call};",
        ]

    def _scan(self, passed: list[str]) -> list[str]:
        d = self.dialect
        lines = [*self._group_array(), *self._group_share(), f"{self.type()} _carry;"]
        lines += self._load_row("_carry", d.item.group_id)
        if self.group == 1 or self.team is not None:
            call = self.walk("_work", self.parts("_carry"), passed, ("_begin", "_end"))
            lines.append(f"_carry = {call};")
        else:
            call = self.walk("_work", self.parts("_before"), passed, ("_u0", "_u1"))
            tile = [
                *self._tile(passed),
                "_shared[_lid] = _s;",
                d.sync.barrier,
                f"for (int _w = 1; _w < {self.group}; _w *= 2) {{",
                f"    {self.type()} _sum = _shared[_lid];",
                f"    if (_lid >= _w) _sum = {self.merged('_shared[_lid - _w]', '_sum')};",
                f"    {d.sync.barrier}",
                "    _shared[_lid] = _sum;",
                f"    {d.sync.barrier}",
                "}",
                f"{self.type()} _before = _carry;",
                f"if (_lid > 0) _before = {self.merged('_carry', '_shared[_lid - 1]')};",
                f"_carry = {self.merged('_carry', f'_shared[{self.group - 1}]')};",
                d.sync.barrier,
                f"{call};",
            ]
            lines += [
                f"for ({self.long} _base = _begin; _base < _end; _base += {self.group * TILE}) {{",
                *("    " + line for line in tile),
                "}",
            ]
        store = self._only_first(self.store_result("_carry"))
        return [*lines, "if (_group == _groups - 1) {", *("    " + s for s in store), "}"]

    # -- array reductions -------------------------------------------------------------------------

    def _array_place(self, item: str, element: str) -> str:
        kind = self.printer.stored(self.reduction.states[0].type)
        size = self._array_size()
        base = f"({self.dialect.memory.device}{kind} *)(_scratch + {ROWS})"
        return f"({base})[({item}) * {size} + {element}]"

    def _array_size(self) -> int:
        assert self.reduction.array is not None
        return math.prod(self.reduction.array.shape or ())

    def _rows(self, passed: list[str]) -> list[str]:
        """Each work-item's own array, stored next to those of the others."""
        array = self.reduction.array
        assert array is not None
        size, name = self._array_size(), self.printer.identifier(ARRAY)
        identity = self.printer.const(self.reduction.states[0].identity)
        each = f"for (int _e = 0; _e < {size}; ++_e)"
        return [
            *self._share(),
            f"{self.printer.array(ARRAY, array)};",
            f"{each} {name}[_e] = {identity};",
            self.walk("_work", [name], passed) + ";",
            f"{each} {self._array_place(self.dialect.item.item_id, '_e')} = {name}[_e];",
        ]

    def _join_rows(self) -> list[str]:
        """Join each element over all work-items, in their order; elements are interleaved."""
        d, size = self.dialect, self._array_size()
        state = self.reduction.states[0]
        other = self._array_place("_k", "_e")
        if state.type.kind == "b":
            other = f"({other} != 0)"
        lines = [
            f"for ({self.long} _e = {d.item.item_id}; _e < {size};",
            f"     _e += {d.item.groups} * {d.item.group_size}) {{",
            *("    " + line for line in self.identity("_t")),
            f"    for ({self.long} _k = 0; _k < _a._items; ++_k)",
            f"        _t = {self.merged('_t', other)};",
        ]
        function = self.printer.functions["_result"]
        (t,) = flat_scalars(function.result)
        call = f"{self.printer.function_name('_result')}(_t)"
        if not self.outs:
            own = self.printer.stored(t)
            lines.append(f"    (({d.memory.device}{own} *)_result)[_e] = {call};")
            self.results = size
            return [*lines, "}"]
        (view,) = self.outs
        assert isinstance(view.type, ViewTy) and isinstance(view.type.element, Scalar)
        shape = self.reduction.array.shape if self.reduction.array is not None else None
        indices: list[ir.Expr] = []
        rest = "_e"
        for n in reversed((shape or ())[1:]):
            indices.append(ir.Var(f"({rest} % {n})", INDEX))
            rest = f"({rest} / {n})"
        indices.append(ir.Var(rest, INDEX))
        place = self.printer.offset(view, tuple(reversed(indices)))
        value = self.printer.cast(call, t, view.type.element)
        return [*lines, f"    {view.name}[{place}] = {value};", "}"]
