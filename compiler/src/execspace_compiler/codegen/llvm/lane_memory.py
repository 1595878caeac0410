"""Loads and stores of an element for each lane: contiguous, in groups, one by one, under masks.

How lanes differ is seen from the subscripts: those that are vectors are ramps, whose lanes have
equal distances, or anything.
"""

from __future__ import annotations

from execspace.base.dataclass import dataclass

from ... import ir
from ...ir.types import INT64, Record, Vector, ViewTy
from .emitter import Emitter
from .memory import ViewParts, Write
from .spelling import Value, constant, parts, stored, type_of
from .vectors import constants, splat

_FOUR = 4  # lanes of an instruction that gathers
# LLVM 22 knows that a rest of two lanes is the first one, and stores that without making it
# narrower.
_TWO = 2


@dataclass
class _Place:
    """Where the elements of lanes are, in elements: base + lane * step + each.

    Attributes
    ----------
    base : str
        Offset that all lanes have.
    step : int or str
        Distance of lanes: a constant, or a value.
    each : str
        Further offsets of lanes, a vector; empty without.
    narrow : tuple of str and Vector, optional
        Numbers, and their type, that are `each` once they have been made wider.
    """

    base: str = ""
    step: int | str = 0
    each: str = ""
    narrow: tuple[str, Vector] | None = None


def load(e: Emitter, write: Write, view: ViewParts, x: ir.Load) -> Value:
    """The elements of lanes."""
    t = x.type
    assert isinstance(t, Vector)
    mask = _mask(write, x.mask, t.lanes)
    found = []
    for part, address in _parts(e, write, view, x, t):
        memory = _Memory(e, part, address, mask, view.scope)
        v = memory.load()
        found.append(
            e.op(f"trunc {_stored(part)} {v} to {type_of(part)}") if part.name == "bool" else v
        )
    return found[0] if len(found) == 1 else (found[0], found[1])


def store(e: Emitter, write: Write, view: ViewParts, s: ir.Store) -> None:
    """Set the elements of lanes."""
    t = s.value.type
    assert isinstance(t, Vector)
    value = write(s.value)
    mask = _mask(write, s.mask, t.lanes)
    values = value if isinstance(value, tuple) else (value,)
    for v, (part, address) in zip(values, _parts(e, write, view, s, t), strict=True):
        if part.name == "bool":
            v = e.op(f"zext {type_of(part)} {v} to {_stored(part)}")
        _Memory(e, part, address, mask, view.scope).store(v)


def _mask(write: Write, mask: ir.Expr | None, lanes: int) -> str:
    if mask is None:
        return constant(True, Vector("bool", lanes=lanes))
    found = write(mask)
    assert isinstance(found, str)
    return found


def _stored(t: Vector) -> str:
    return f"<{t.lanes} x {stored(t.lane)}>"


# -- addresses ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Address:
    """Bytes: of the first lane, from lane to lane, and further ones of each lane.

    `known`: lanes next to each other at an address that is right for all lanes, on or off.
    `narrow`: as in `_Place`, and by what they are multiplied, if that is all of a further offset.
    """

    pointer: str
    step: int | str
    each: str
    aligned: bool
    known: bool = False
    narrow: tuple[str, Vector, int] | None = None


def _parts(
    e: Emitter, write: Write, view: ViewParts, s: ir.Load | ir.Store, t: Vector
) -> list[tuple[Vector, _Address]]:
    """Types and addresses of the numbers of an element: of a complex one two."""
    kinds = [k for k in parts(t) if isinstance(k, Vector)]
    place = _place(e, write, view, s)
    ty = s.view.type
    assert isinstance(ty, ViewTy)
    size = ty.element.itemsize
    width = t.itemsize // len(kinds)
    pointer = view.part(e, "p")
    byte = "0" if s.byte is None else write(s.byte)
    assert isinstance(byte, str)
    vector_byte = s.byte is not None and isinstance(s.byte.type, Vector)
    out = []
    for n, kind in enumerate(kinds):
        base = _times(e, place.base or "0", size)
        each = place.each
        if each:
            each = _vector_times(e, each, size, t.lanes)
        step = place.step * size if isinstance(place.step, int) else _times(e, place.step, size)
        if vector_byte:
            each = byte if not each else e.op(f"add {_word(t.lanes)} {each}, {byte}")
        elif byte != "0":
            base = e.op(f"add i64 {base}, {byte}")
        if n:
            base = e.op(f"add i64 {base}, {n * width}")
        known = False
        if ty.lanes > 1:  # an array of each lane
            base = _times(e, base, t.lanes)
            each = _vector_times(e, each, t.lanes, t.lanes) if each else ""
            if isinstance(step, int):
                known = step == 0 and not each
                step = step * t.lanes + width
            else:
                step = e.op(f"add i64 {_times(e, step, t.lanes)}, {width}")
        at = e.op(f"getelementptr i8, ptr {pointer}, i64 {base}")
        aligned = not isinstance(ty.element, Record) or ty.lanes > 1
        narrow = None
        if place.narrow is not None and ty.lanes == 1 and not vector_byte and step == 0:
            narrow = (*place.narrow, size)
        out.append((kind, _Address(at, step, each, aligned, known, narrow)))
    return out


def _place(e: Emitter, write: Write, view: ViewParts, s: ir.Load | ir.Store) -> _Place:
    ty = s.view.type
    assert isinstance(ty, ViewTy)
    found = _Place()
    for d, index in enumerate(s.indices):
        known = 1 if ty.mapped else ty.stride(d)
        stride = "" if known is not None else view.part(e, f"s{d}")
        if isinstance(index.type, Vector):
            if isinstance(index, ir.Op) and index.op == "ramp":
                first, step = index.args
                assert isinstance(step, ir.Const)
                k = int(step.value)
                _add_base(e, found, write(first), known, stride)
                if known is not None and isinstance(found.step, int):
                    found.step += k * known
                else:
                    more = str(k * known) if known is not None else e.op(f"mul i64 {stride}, {k}")
                    found.step = e.op(f"add i64 {found.step}, {more}")
                continue
            each = write(index)
            assert isinstance(each, str)
            lanes = index.type.lanes
            if len(s.indices) == 1 and known == 1:
                inner = index.args[0] if isinstance(index, ir.Op) and index.op == "cast" else index
                if isinstance(inner.type, Vector) and inner.type.kind in "iu":
                    narrow = write(inner)
                    assert isinstance(narrow, str)
                    found.narrow = narrow, inner.type
            if known is None:
                by = splat(e, stride, INT64, Vector("int64", lanes=lanes))
                each = e.op(f"mul {_word(lanes)} {each}, {by}")
            elif known != 1:
                each = _vector_times(e, each, known, lanes)
            found.each = e.op(f"add {_word(lanes)} {found.each}, {each}") if found.each else each
        else:
            _add_base(e, found, write(index), known, stride)
    return found


def _add_base(e: Emitter, found: _Place, index: Value, known: int | None, stride: str) -> None:
    assert isinstance(index, str)
    if known is None:
        index = e.op(f"mul i64 {index}, {stride}")
    elif known != 1:
        index = _times(e, index, known)
    found.base = e.op(f"add i64 {found.base}, {index}") if found.base else index


def _word(lanes: int) -> str:
    return f"<{lanes} x i64>"


def _times(e: Emitter, v: str, n: int) -> str:
    return v if n == 1 or v == "0" else e.op(f"mul i64 {v}, {n}")


def _vector_times(e: Emitter, v: str, n: int, lanes: int) -> str:
    if n == 1:
        return v
    by = constant(n, Vector("int64", lanes=lanes))
    return e.op(f"mul {_word(lanes)} {v}, {by}")


# -- accesses -------------------------------------------------------------------------------------


class _Memory:
    """Accesses of the numbers of lanes at an address.

    Lanes that are off read nothing of the program's, and write nothing. Where a processor has no
    cheap masks they access a number of their own on the stack, which takes no branch.
    """

    def __init__(self, e: Emitter, t: Vector, at: _Address, mask: str, scope: str) -> None:
        self.e, self.t, self.at, self.mask, self.scope = e, t, at, mask, scope
        self.kind, self.bits = _stored(t), f"<{t.lanes} x i1>"
        self.everyone = mask == constant(True, Vector("bool", lanes=t.lanes))
        self.width = t.itemsize  # of one number
        self.align = t.itemsize if at.aligned else 1
        self.features = e.module.targeted.features

    @property
    def contiguous(self) -> bool:
        return self.at.step == self.width and not self.at.each

    def load(self) -> str:
        e = self.e
        if self.at.known:
            return e.op(f"load {self.kind}, ptr {self.at.pointer}, align {self.align}")
        if not self.contiguous:
            return self.gather()
        if self.everyone:
            at = f"{self.at.pointer}, align {self.align}{self.scope}"
            return e.op(f"load {self.kind}, ptr {at}")
        if self._has_masks(stores=False):
            suffix = _suffix(self.t)
            function = e.module.declare(
                f"llvm.masked.load.{suffix}.p0", self.kind,
                f"ptr, i32 immarg, {self.bits}, {self.kind}",
            )  # fmt: skip
            given = f"ptr {self.at.pointer}, i32 {self.align}, {self.bits} {self.mask}"
            zero = f"{self.kind} zeroinitializer"
            return e.op(f"call {self.kind} {function}({given}, {zero}){self.scope}")
        whole, some, after = (e.label(w) for w in ("whole", "some", "loaded"))
        e.branch(self._all(), whole, some)
        e.start(whole)
        line = f"load {self.kind}, ptr {self.at.pointer}, align {self.align}{self.scope}"
        a = e.op(line)
        e.jump(after)
        e.start(some)
        b = self.gather()
        end = e.block
        e.jump(after)
        e.start(after)
        return e.phi(self.kind, (a, whole), (b, end))

    def store(self, v: str) -> None:
        e = self.e
        if self.at.known:
            kind = self.kind
            old = e.op(f"load {kind}, ptr {self.at.pointer}, align {self.align}")
            new = e.op(f"select {self.bits} {self.mask}, {kind} {v}, {kind} {old}")
            e.do(f"store {kind} {new}, ptr {self.at.pointer}, align {self.align}")
            return
        if not self.contiguous:
            self.scatter(v)
            return
        if self.everyone:
            at = f"{self.at.pointer}, align {self.align}{self.scope}"
            e.do(f"store {self.kind} {v}, ptr {at}")
            return
        if self._has_masks(stores=True):
            function = e.module.declare(
                f"llvm.masked.store.{_suffix(self.t)}.p0", "void",
                f"{self.kind}, ptr, i32 immarg, {self.bits}",
            )  # fmt: skip
            given = f"{self.kind} {v}, ptr {self.at.pointer}, i32 {self.align}"
            e.do(f"call void {function}({given}, {self.bits} {self.mask}){self.scope}")
            return
        whole, some, after = (e.label(w) for w in ("whole", "some", "stored"))
        e.branch(self._all(), whole, some)
        e.start(whole)
        e.do(f"store {self.kind} {v}, ptr {self.at.pointer}, align {self.align}{self.scope}")
        e.jump(after)
        e.start(some)
        self.scatter(v)
        e.jump(after)
        e.start(after)

    def _has_masks(self, stores: bool) -> bool:
        """Whether masked accesses of these numbers are instructions that take little time."""
        if stores and self.t.lanes == _TWO:
            return False
        if {"avx512f", "avx512vl"} <= self.features:
            return self.width >= 4 or "avx512bw" in self.features
        return not stores and self.width >= 4 and "avx2" in self.features

    def _all(self) -> str:
        word = f"i{self.t.lanes}"
        bits = self.e.op(f"bitcast {self.bits} {self.mask} to {word}")
        return self.e.op(f"icmp eq {word} {bits}, -1")

    def _gathers(self) -> bool:
        """Whether there are instructions that access the elements of lanes under a mask."""
        return {"avx512f", "avx512vl"} <= self.features and self.width in (4, 8)

    def offsets(self) -> str:
        """Bytes from the pointer to the numbers of all lanes, on or off."""
        e, lanes = self.e, self.t.lanes
        word = _word(lanes)
        offsets = self.at.each
        t = Vector("int64", lanes=lanes)
        if self.at.step != 0:
            if isinstance(self.at.step, int):
                along = constants([k * self.at.step for k in range(lanes)], t)
            else:
                numbers = constants(range(lanes), t)
                along = e.op(f"mul {word} {splat(e, self.at.step, INT64, t)}, {numbers}")
            offsets = e.op(f"add {word} {offsets}, {along}") if offsets else along
        return offsets or constant(0, t)

    def addresses(self) -> str:
        """Addresses of all lanes, on or off."""
        word = _word(self.t.lanes)
        return self.e.op(f"getelementptr i8, ptr {self.at.pointer}, {word} {self.offsets()}")

    def pointers(self) -> str:
        """Addresses of all lanes; of those that are off, one of their own."""
        e, lanes, found = self.e, self.t.lanes, self.addresses()
        kind = f"<{lanes} x ptr>"
        own = e.slot("i128", align=16)
        first = e.op(f"insertelement {kind} poison, ptr {own}, i32 0")
        zeros = f"<{lanes} x i32> zeroinitializer"
        owns = e.op(f"shufflevector {kind} {first}, {kind} poison, {zeros}")
        return e.op(f"select {self.bits} {self.mask}, {kind} {found}, {kind} {owns}")

    def _each(self) -> list[str]:
        pointers, kind = self.pointers(), f"<{self.t.lanes} x ptr>"
        lanes = range(self.t.lanes)
        return [self.e.op(f"extractelement {kind} {pointers}, i32 {k}") for k in lanes]

    def gather(self) -> str:
        e, one, found = self.e, stored(self.t.lane), "poison"
        if self._gathers():
            lanes, suffix = self.t.lanes, _suffix(self.t)
            function = e.module.declare(
                f"llvm.masked.gather.{suffix}.v{lanes}p0", self.kind,
                f"<{lanes} x ptr>, i32 immarg, {self.bits}, {self.kind}",
            )  # fmt: skip
            given = f"<{lanes} x ptr> {self.addresses()}, i32 {self.align}"
            rest = f"{self.bits} {self.mask}, {self.kind} zeroinitializer"
            return e.op(f"call {self.kind} {function}({given}, {rest}){self.scope}")
        if "avx2" in self.features and self.width in (4, 8) and self.t.lanes >= _FOUR:
            if self.at.narrow is None:
                return self.gather_fours()
            whole, some, after = (e.label(w) for w in ("whole", "some", "gathered"))
            e.branch(self._all(), whole, some)
            e.start(whole)
            a = self.gather_whole(*self.at.narrow)
            e.jump(after)
            e.start(some)
            b = self.gather_fours()
            e.jump(after)
            e.start(after)
            return e.phi(self.kind, (a, whole), (b, some))
        for k, p in enumerate(self._each()):
            v = e.op(f"load {one}, ptr {p}, align {self.align}")
            found = e.op(f"insertelement {self.kind} {found}, {one} {v}, i32 {k}")
        return found

    def gather_whole(self, numbers: str, t: Vector, size: int) -> str:
        """The elements of lanes that are all on, by loads: where subscripts are in memory, too,
        those need not become a vector."""
        e, one, found = self.e, stored(self.t.lane), "poison"
        for k in range(self.t.lanes):
            n = e.op(f"extractelement {type_of(t)} {numbers}, i32 {k}")
            if t.bits < 64:
                n = e.op(f"{'sext' if t.kind == 'i' else 'zext'} {type_of(t.lane)} {n} to i64")
            p = e.op(f"getelementptr [{size} x i8], ptr {self.at.pointer}, i64 {n}")
            v = e.op(f"load {one}, ptr {p}, align {self.align}{self.scope}")
            found = e.op(f"insertelement {self.kind} {found}, {one} {v}, i32 {k}")
        return found

    def gather_fours(self) -> str:
        """As `gather`, by instructions for four lanes each."""
        e, lanes = self.e, self.t.lanes
        letter = {True: ("ps", "pd"), False: ("d", "q")}[self.t.is_float][self.width // 8]
        one = stored(self.t.lane)
        kind, mask = f"<4 x {one}>", f"<4 x i{8 * self.width}>"
        function = e.module.declare(
            f"llvm.x86.avx2.gather.q.{letter}.256",
            kind,
            f"{kind}, ptr, <4 x i64>, {kind}, i8 immarg",
        )
        offsets = self.offsets()
        found = []
        for first in range(0, lanes, _FOUR):
            which = ", ".join(f"i32 {first + k}" for k in range(_FOUR))
            at, on = offsets, self.mask
            if lanes > _FOUR:
                at, on = (
                    e.op(f"shufflevector {t} {v}, {t} poison, <4 x i32> <{which}>")
                    for t, v in ((_word(lanes), offsets), (self.bits, self.mask))
                )
            wide = e.op(f"sext <4 x i1> {on} to {mask}")
            signs = e.op(f"bitcast {mask} {wide} to {kind}") if self.t.is_float else wide
            given = f"{kind} zeroinitializer, ptr {self.at.pointer}, <4 x i64> {at}"
            found.append(e.op(f"call {kind} {function}({given}, {kind} {signs}, i8 1){self.scope}"))
        while len(found) > 1:
            n = _FOUR * (lanes // _FOUR // len(found))
            every = ", ".join(f"i32 {k}" for k in range(2 * n))
            t = f"<{n} x {one}>"
            found = [
                e.op(f"shufflevector {t} {a}, {t} {b}, <{2 * n} x i32> <{every}>")
                for a, b in zip(found[::2], found[1::2], strict=True)
            ]
        return found[0]

    def scatter(self, v: str) -> None:
        e, one = self.e, stored(self.t.lane)
        if self._gathers():
            lanes, suffix = self.t.lanes, _suffix(self.t)
            function = e.module.declare(
                f"llvm.masked.scatter.{suffix}.v{lanes}p0", "void",
                f"{self.kind}, <{lanes} x ptr>, i32 immarg, {self.bits}",
            )  # fmt: skip
            given = f"{self.kind} {v}, <{lanes} x ptr> {self.addresses()}, i32 {self.align}"
            e.do(f"call void {function}({given}, {self.bits} {self.mask}){self.scope}")
            return
        for k, p in enumerate(self._each()):
            lane = e.op(f"extractelement {self.kind} {v}, i32 {k}")
            e.do(f"store {one} {lane}, ptr {p}, align {self.align}")


def _suffix(t: Vector) -> str:
    bits = 8 if t.name == "bool" else t.bits
    return f"v{t.lanes}{'f' if t.is_float else 'i'}{bits}"
