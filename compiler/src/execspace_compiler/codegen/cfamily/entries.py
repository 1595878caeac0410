"""Kernels of generated C source: their parameters, and the units of each work-item.

All numbers of a launch are passed in one struct by value, `_a`: bounds, the number of units, the
offset of each View, strides, extents and scalars. Views are passed as separate pointers.
"""

from __future__ import annotations

import struct
from functools import cached_property

from execspace import LaunchSpec
from execspace.base.dataclass import dataclass

from ... import ir
from ...analysis.row_accesses import element_of
from ...ir.types import Scalar, ViewTy
from ...mapping.variant import Variant
from ...passes.private_sums import elements
from ...teams.device import GROUP, LANE, OUTER, RANK, SLOT, DeviceTeam
from .collectives import Collectives, Kernel
from .device_kernel import DeviceKernel
from .printer import CPrinter

CODES = {"bool": "B", "int8": "b", "uint8": "B", "int16": "h", "uint16": "H", "int32": "i",
         "uint32": "I", "int64": "q", "uint64": "Q", "float16": "e", "float32": "f",
          "float64": "d", "complex64": "ff", "complex128": "dd"}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Field:
    """A number of the struct: what it is, and for which argument.

    `what` is "bound", "units", "items" (work-items of the first kernel), "first" (index of a
    View's first element in its buffer), "stride", "extent" or "scalar"; for a single-pass scan also
    "tiles" (for which the scratch memory has room) and "epoch" (number of the launch, from 1).
    "scale" and "shift" are the results of `mapping.scale` for the extent of a dimension.
    "number" is one of `blocks.Blocks.parameters`.
    "scratch" are the bytes of scratch memory of a team at a level.
    `argument` is the number of the bound, of the level, of the argument (of
    `LaunchSpec.arguments`, then `out`), or of that parameter;
    `dimension` is that of a stride or extent.
    """

    name: str
    type: Scalar
    what: str
    argument: int = 0
    dimension: int = 0


@dataclass(frozen=True, slots=True)
class Entry:
    """All that a host needs to launch the kernels of a source.

    Attributes
    ----------
    fields : tuple of Field
        In the order of the struct, which has no padding between them.
    format : str
        Format of Python's `struct`, padded to a multiple of eight bytes.
    buffers : tuple of int
        Arguments that are Views, then those of `out`, in the order of the kernels' pointers.
    kernels : tuple of str
        Names, in the order in which they must be launched.
    states : int
        Numbers of a reduction's state; 0 for a parallel_for.
    array : int
        Elements of an array reduction; otherwise 0.
    results : int
        Numbers that are written for the host: each in a slot of 16 bytes.
    status : bool
        The kernels take the status in which failed assertions are recorded.
    tile : int
        Units of a group in a single-pass scan, which is launched with a group for each tile, and at
        least one; otherwise 0.
    group_memory : int
        Bytes of a group's memory that team kernels use besides scratch memory.
    pool : bool
        The last pointer, after the status, is to scratch memory of the work-items: each runs whole
        teams.
    """

    fields: tuple[Field, ...]
    format: str
    buffers: tuple[int, ...]
    kernels: tuple[str, ...]
    states: int
    array: int
    results: int
    status: bool
    tile: int = 0
    group_memory: int = 0
    pool: bool = False


class Entries:
    """Prints the kernels of a launch.

    Parameters
    ----------
    kernel : DeviceKernel
        If it is `flat`, work-items run grid-stride loops over units; otherwise each runs one
        contiguous part. All variants have the same struct.
    variant : Variant
    outs : tuple of ViewTy
        Types of the Views of `out`.
    given : bool
        The final pass of a scan takes its contribution as a parameter.
    items : int
        Units of a work-item in a tile of a single-pass scan; see `scan_tiles.scan_items`.
    """

    def __init__(
        self,
        kernel: DeviceKernel,
        variant: Variant,
        outs: tuple[ViewTy, ...],
        given: bool = False,
        items: int = 0,
    ) -> None:
        self.kernel = kernel
        self.variant = variant
        self.team = kernel.team
        self.pool = bool(kernel.pools)
        self.lowered = kernel.lowered
        self.spec: LaunchSpec = kernel.lowered.spec
        self.outs = tuple(ir.Var(f"_out{n}", t) for n, t in enumerate(outs))
        self.given, self.items = given, items
        self.blocks = kernel.blocks
        self.fields: list[Field] = []
        self.buffers: list[int] = []
        self.kernels: list[str] = []

    def arguments(self) -> tuple[ir.Var, ...]:
        """Parameters of the body for arguments of the launch."""
        rest = self.lowered.body.parameters[self.lowered.leading :]
        return rest[: len(self.spec.arguments)]

    @cached_property
    def written(self) -> frozenset[str]:
        """Views that the kernel may store into."""
        return self.lowered.written

    @property
    def has_status(self) -> bool:
        """Whether the body takes a status."""
        rest = self.lowered.body.parameters[self.lowered.leading :]
        return len(rest) > len(self.spec.arguments)

    def print(self, printer: CPrinter) -> list[str]:
        """Lines of the struct and the kernels."""
        rank = self.spec.policy.rank
        names = [f"_lo{d}" for d in range(rank)] + [f"_hi{d}" for d in range(rank)]
        if self.spec.policy.tiled and self.blocks is None:
            names += [f"_tile{d}" for d in range(rank)]
        long = Scalar("int64")
        self.fields = [Field(n, long, "bound", k) for k, n in enumerate(names)]
        for d, (factor, shift) in self.kernel.scales:
            self.fields.append(Field(factor, Scalar("uint32"), "scale", dimension=d))
            self.fields.append(Field(shift, Scalar("uint32"), "shift", dimension=d))
            names += [factor, shift] if self.variant.narrow else []
        for k, number in enumerate(() if self.blocks is None else self.blocks.parameters):
            kind = Scalar("uint32") if number.is_narrow else long
            self.fields.append(Field(number.name, kind, "number", k))
            names += [number.name] if self.variant.narrow or not number.is_narrow else []
        if self.blocks is None:
            self.fields.append(Field("_units", long, "units"))
        levels = (0, 1) if self.team is not None else (0,) if self.pool else ()
        self.fields += [Field(f"_scratch{n}", long, "scratch", n) for n in levels]
        if self.spec.array_shape is not None:
            self.fields.append(Field("_items", long, "items"))
        collectives = Collectives(
            printer, self.kernel, self.variant, self.outs, self.given, self.items
        )
        self.tile = collectives.tile
        if self.tile:
            self.fields.append(Field("_tiles", long, "tiles"))
            self.fields.append(Field("_epoch", long, "epoch"))
        pointers: list[str] = []
        head: list[str] = []
        passed: list[str] = []
        inner = printer.functions["_work"]
        for n, p in enumerate(self.arguments()):
            passed += self._argument(printer, inner, n, p, pointers, head)
        for n, p in enumerate(self.outs):
            self._out(printer, len(self.spec.arguments) + n, p, pointers, head)
        if self.has_status:
            passed.append("_status")
            pointers.append(
                f"{printer.dialect.memory.device}{printer.dialect.types['int64']} *_status"
            )
        self.fields.sort(key=lambda f: -_size(f.type))
        members = " ".join(_member(printer, f) for f in self.fields)
        lines = [f"typedef struct {{ {members} }} _args;", ""]
        bounds = [f"_a.{n}" for n in names]
        if self.team is not None:
            bounds += [v.name for v in self.team.handles]
            head += self._handles(printer, self.team, pointers)
        elif self.pool:
            byte = f"{printer.dialect.memory.device}{printer.dialect.types['uint8']}"
            pointers.append(f"{byte} *_pool")
            item = printer.dialect.item.item_id
            head.append(f"{byte} *_scratch_own = _pool + {item} * _a._scratch0;")
            bounds.append("_scratch_own")
        kernels: list[Kernel]
        if self.blocks is not None:
            kernels = [("es_for", [self._in_blocks(printer, [*bounds, *passed])], [])]
        elif self.variant.private:
            kernels = [("es_for", self._with_copies(printer, collectives, bounds, passed), [])]
        else:
            kernels = collectives.kernels([*bounds, *passed])
        for name, body, more in kernels:
            parameters = ["const _args _a", *pointers, *more]
            syntax = printer.dialect.syntax
            group = self.variant.group
            groups = self.kernel.resident(self.variant) // group
            form = syntax.light_kernel if groups else ""
            kernel = (form or syntax.kernel).format(group=group, groups=groups)
            lines.append(f"{kernel} {name}({', '.join(parameters)}) {{")
            lines += [f"    {line}" for line in (*head, *body)]
            lines += ["}", ""]
            self.kernels.append(name)
        self.results = collectives.results
        self.joins = printer.joins
        return lines

    def _handles(self, printer: CPrinter, team: DeviceTeam, pointers: list[str]) -> list[str]:
        """Declarations of a work-item's position in its team, and of the teams' memory."""
        d, shape = printer.dialect, team.shape
        long, byte = d.types["int64"], d.types["uint8"]
        local = f"(int){d.item.local_id}"
        slot, item = ("0", local)
        if shape.stride:
            slot, item = f"{local} / {shape.stride}", f"{local} % {shape.stride}"
        lines = [
            f"const int _item = {item};",
            f"const {long} {SLOT.name} = {slot};",
            f"const {long} {RANK.name} = _item / {shape.lanes};",
            f"const {long} {LANE.name} = _item % {shape.lanes};",
        ]
        if printer.joins:
            nbytes = printer.joins * shape.side_by_side
            lines.append(printer.in_group(byte, "_join_memory", f"[{nbytes}]", aligned=True))
            own = f"_join_memory + {SLOT.name} * {printer.joins}"
            lines.append(f"{d.memory.group}{byte} *_joins = {own};")
        else:
            lines.append(f"{d.memory.group}{byte} *_joins = 0;")
        if team.uses(0):
            if d.memory.dynamic_group:
                lines.append(d.memory.dynamic_group)
            else:
                pointers.append(f"{d.memory.group}{d.memory.widest_type} *_group_memory")
            # Compilers are told the alignment of each team's memory, which scratch.py ensures.
            own = f"({d.memory.group}{byte} *)_group_memory + {SLOT.name} * (_a._scratch0 & -16)"
            lines.append(f"{d.memory.group}{byte} *{GROUP.name} = {own};")
        if team.uses(1):
            pointers.append(f"{d.memory.device}{byte} *_pool")
            number = f"({d.item.group_id} * {shape.side_by_side} + {SLOT.name})"
            lines.append(
                f"{d.memory.device}{byte} *{OUTER.name} = _pool + {number} * _a._scratch1;"
            )
        return lines

    def _in_blocks(self, printer: CPrinter, passed: list[str]) -> str:
        """The call of a walk in thread blocks."""
        d = printer.dialect
        forms = [d.item.group_id_of, d.item.local_id_of, d.item.group_size_of]
        forms += [] if self.variant.narrow else [d.item.groups_of]
        places = [form.format(axis=axis, n=n) for form in forms for n, axis in enumerate("xyz")]
        return f"{printer.function_name('_work')}({', '.join([*places, *passed])});"

    def _extents(self, n: int) -> None:
        """Fields for the extents of a View, where those that the walk takes would be."""
        type = self.arguments()[n].type
        assert isinstance(type, ViewTy)
        known = {f.name for f in self.fields}
        for d in range(type.rank):
            if (name := f"_v{n}n{d}") not in known:
                self.fields.append(Field(name, Scalar("int64"), "extent", n, d))

    def _with_copies(
        self, printer: CPrinter, collectives: Collectives, bounds: list[str], passed: list[str]
    ) -> list[str]:
        """The calls of a work-item whose group adds to copies of Views."""
        d, long = printer.dialect, printer.dialect.types["int64"]
        share = f"{d.item.local_id}, {d.item.group_size}"
        turn = f"{d.item.group_id} * {d.item.group_size}"
        lines, clear, merge = [], [], []
        own = {}
        for n in self.kernel.private:
            p = self.arguments()[n]
            assert isinstance(p.type, ViewTy)
            kind, whole = element_of(p), printer.identifier(p.name)
            copy, count = f"_own{n}", f"_count{n}"
            room = elements(kind, len(self.kernel.private))
            own[whole] = copy
            total = " * ".join(f"_a._v{n}n{k}" for k in range(p.type.rank)) or "1"
            lines.append(printer.in_group(printer.stored(kind), copy, f"[{room}]"))
            clear.append(f"const {long} {count} = {total};")
            clear.append(f"{printer.function_name(f'_clear{n}')}({share}, {count}, {copy});")
            merge.append(
                f"{printer.function_name(f'_merge{n}')}({share}, {count}, {turn}, {copy}, {whole});"
            )
        calls = collectives.share_and_walk([*bounds, *(own.get(a, a) for a in passed)])
        barrier = d.sync.barrier
        return [*lines, *clear, barrier, *calls, barrier, *merge]

    def _argument(
        self, printer: CPrinter, inner: ir.Function, n: int, p: ir.Var, pointers: list[str],
        head: list[str],
    ) -> list[str]:  # fmt: skip
        if isinstance(p.type, Scalar):
            name = f"_v{n}"
            self.fields.append(Field(name, p.type.strong, "scalar", n))
            return [f"(_a.{name} != 0)" if p.type.name == "bool" else f"_a.{name}"]
        assert isinstance(p.type, ViewTy)
        self._view(printer, n, p, pointers, head)
        passed = []
        for _, part in printer.components(inner.name, p):
            if part == printer.identifier(p.name):
                passed.append(part)
                continue
            which, d = part[-2], int(part[-1])
            what = "stride" if which == "s" else "extent"
            name = f"_v{n}{which}{d}"
            self.fields.append(Field(name, Scalar("int64"), what, n, d))
            passed.append(f"_a.{name}")
        if n in self.kernel.private or p.name in self._packed_in_blocks:
            self._extents(n)
        return passed

    @cached_property
    def _packed_in_blocks(self) -> frozenset[str]:
        """Views whose extents a variant with packs asks for, and so all variants have."""
        packing = None if self.blocks is None else self.blocks.packing
        return frozenset() if packing is None else frozenset(p.view.name for p in packing.packs)

    def _out(
        self, printer: CPrinter, n: int, p: ir.Var, pointers: list[str], head: list[str]
    ) -> None:
        assert isinstance(p.type, ViewTy)
        self._view(printer, n, p, pointers, head)
        for d in range(p.type.rank):
            if p.type.stride(d) is None:
                name = f"_v{n}s{d}"
                self.fields.append(Field(name, Scalar("int64"), "stride", n, d))
                kind = printer.dialect.types[printer.stride_type.name]
                head.append(f"const {kind} _{p.name}_s{d} = _a.{name};")

    def _view(
        self, printer: CPrinter, n: int, p: ir.Var, pointers: list[str], head: list[str]
    ) -> None:
        assert isinstance(p.type, ViewTy)
        self.buffers.append(n)
        alone = f"{printer.dialect.syntax.restrict} " if printer.module.disjoint else ""
        if self.team is not None and (p.name in self.written or n >= len(self.spec.arguments)):
            alone = ""  # compilers would cache elements that another member changes
        pointers.append(printer.pointer(p.type, f"{alone}_b{n}"))
        own = printer.pointer(p.type, printer.identifier(p.name))
        if printer.dialect.memory.addresses:
            head.append(f"{own} = _b{n};")
            return
        self.fields.append(Field(f"_v{n}", Scalar("int64"), "first", n))
        head.append(f"{own} = _b{n} + _a._v{n};")

    def entry(self) -> Entry:
        """The Entry of the printed source."""
        reduction = self.lowered.reduction
        codes = "".join(CODES[f.type.name] for f in self.fields)
        size = struct.calcsize("=" + codes)
        padding = -size % 8
        array = 0
        if self.spec.array_shape is not None:
            array = 1
            for extent in self.spec.array_shape:
                array *= extent
        return Entry(
            tuple(self.fields), f"={codes}{f'{padding}x' if padding else ''}",
            tuple(self.buffers), tuple(self.kernels),
            0 if reduction is None else len(reduction.states), array, self.results,
            self.has_status, self.tile, self._group_memory(), self.pool,
        )  # fmt: skip

    def _group_memory(self) -> int:
        if self.team is None:
            return 0
        states = () if self.lowered.reduction is None else self.lowered.reduction.states
        joined = sum(max(s.type.itemsize, 8) for s in states) * self.variant.group
        counts = 64 if states else 0
        return self.joins * self.team.shape.side_by_side + joined + counts


def _member(printer: CPrinter, field: Field) -> str:
    """Declaration in the struct; of a stride that fits in 32 bits, only the low half is used."""
    if field.what == "stride" and printer.small:
        word = printer.dialect.types["int32"]
        return f"{word} {field.name}; {word} {field.name}_high;"  # devices are little-endian
    return f"{printer.stored(field.type)} {field.name};"


def _size(t: Scalar) -> int:
    """Alignment of a field; for a complex number, that of its parts."""
    return t.itemsize // 2 if t.kind == "c" else t.itemsize
