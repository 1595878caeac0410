"""Views, records, local arrays and rows of scalars in memory.

A View is a pointer, its strides where its type does not give them and, where used, its extents.
Elements are accessed by a linear offset, without a multiplication for the dimension of stride one:
the only form that LLVM vectorises for contiguous Views and for subviews alike.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field
from math import prod

from execspace.base.dataclass import dataclass

from ... import ir
from ...ir.types import Scalar, ViewTy
from .emitter import Emitter
from .spelling import Value, element, part_of, parts, stored, type_of

Write = Callable[[ir.Expr], Value]
"""Writes an expression; returns its value."""


@dataclass
class ViewParts:
    """What stands for a View in a function.

    Attributes
    ----------
    values : dict
        Part ("p" the pointer, "s0" a stride, "n0" an extent) -> value.
    slots : dict
        Places on the stack of parts that change.
    scope : tuple of str, optional
        Metadata on its accesses if no other View of the launch overlaps it.
    """

    values: dict[str, str] = field(default_factory=dict)
    slots: dict[str, str] = field(default_factory=dict)
    scope: str = ""

    def part(self, e: Emitter, name: str) -> str:
        """A part, as it is now."""
        if name in self.slots:
            return e.op(f"load {'ptr' if name == 'p' else 'i64'}, ptr {self.slots[name]}")
        return self.values[name]


def parts_of(t: ViewTy, extents: bool) -> list[str]:
    """Names of the parts of a View; of a local array its pointer alone."""
    if t.shape is not None:
        return ["p"]
    dims = range(t.rank)
    found = ["p"]
    if not t.mapped:
        found += [f"s{d}" for d in dims if t.stride(d) is None]
    return found + [f"n{d}" for d in dims] if extents else found


def part_type(part: str) -> str:
    """Type of a part of a View."""
    return "ptr" if part == "p" else "i64"


def unpacked(e: Emitter, descriptor: str, t: ViewTy, extents: bool) -> ViewParts:
    """The parts of a View, from its descriptor: pointer, extents, strides."""
    found = ViewParts()
    for part in parts_of(t, extents):
        slot = 0
        if part != "p":
            slot = 1 + int(part[1:]) + (t.rank if part[0] == "s" else 0)
        at = descriptor
        if slot:
            at = e.op(f"getelementptr inbounds i64, ptr {descriptor}, i64 {slot}")
        found.values[part] = e.op(f"load {part_type(part)}, ptr {at}")
    return found


def view_scopes(e: Emitter, names: list[str]) -> dict[str, str]:
    """Alias metadata for Views that do not overlap: LLVM then needs no checks at each row."""
    domain = e.module.node('!"execspace views"')
    scopes = [e.module.node(f'!"view {n}"', domain) for n in range(len(names))]
    found = {}
    for n, name in enumerate(names):
        others = [s for k, s in enumerate(scopes) if k != n]
        found[name] = f", !alias.scope {e.module.node(scopes[n])}"
        if others:
            found[name] += f", !noalias {e.module.node(*others)}"
    return found


# -- elements ---------------------------------------------------------------------------------


def offset(
    e: Emitter, write: Write, view: ViewParts, t: ViewTy, indices: tuple[ir.Expr, ...]
) -> str:
    """Offset of an element, in elements."""
    total = ""
    for d, i in enumerate(indices):
        index = write(i)
        assert isinstance(index, str)
        known = 1 if t.mapped else t.stride(d)
        if known != 1:
            stride = view.part(e, f"s{d}") if known is None else str(known)
            index = e.op(f"mul nsw i64 {index}, {stride}")
        total = e.op(f"add nsw i64 {total}, {index}") if total else index
    return total or "0"


def place(
    e: Emitter, write: Write, view: ViewParts, s: ir.Load | ir.Store | ir.Atomic
) -> tuple[str, str]:
    """Address of a number, and the alignment clause of its accesses."""
    t = s.view.type
    assert isinstance(t, ViewTy)
    at = offset(e, write, view, t, s.indices)
    pointer = view.part(e, "p")
    if s.byte is None:
        kind = element(t.element)
        return e.op(f"getelementptr inbounds {kind}, ptr {pointer}, i64 {at}"), ""
    if t.element.itemsize > 1:
        at = e.op(f"mul i64 {at}, {t.element.itemsize}")
    byte = write(s.byte)
    at = e.op(f"add i64 {at}, {byte}")
    return e.op(f"getelementptr i8, ptr {pointer}, i64 {at}"), ", align 1"


def load(e: Emitter, address: str, t: Scalar, more: str = "") -> Value:
    """A number at an address."""
    if t.kind == "c":
        real = part_of(t)
        kind = type_of(real)
        second = e.op(f"getelementptr inbounds {kind}, ptr {address}, i64 1")
        re, im = (e.op(f"load {kind}, ptr {at}{more}") for at in (address, second))
        return re, im
    found = e.op(f"load {stored(t)}, ptr {address}{more}")
    return e.op(f"trunc i8 {found} to i1") if t.name == "bool" else found


def store(e: Emitter, address: str, t: Scalar, value: Value, more: str = "") -> None:
    """Set a number at an address."""
    if isinstance(value, tuple):
        kind = type_of(part_of(t))
        second = e.op(f"getelementptr inbounds {kind}, ptr {address}, i64 1")
        for at, v in zip((address, second), value, strict=True):
            e.do(f"store {kind} {v}, ptr {at}{more}")
        return
    if t.name == "bool":
        value = e.op(f"zext i1 {value} to i8")
    e.do(f"store {stored(t)} {value}, ptr {address}{more}")


def local_array(e: Emitter, t: ViewTy) -> ViewParts:
    """Memory on the stack of the function."""
    return ViewParts({"p": e.slot(_array_type(t), align=64)})


def _array_type(t: ViewTy) -> str:
    """Type of a local array; one of each lane has vectors, of which LLVM makes registers."""
    if t.lanes > 1 and isinstance(t.element, Scalar):
        numbers = len(parts(t.element))
        kind = stored(parts(t.element)[0])
        return f"[{max(prod(t.shape or ()) * numbers, 1)} x <{t.lanes} x {kind}>]"
    return f"[{max(array_bytes(t), 1)} x i8]"


def array_bytes(t: ViewTy) -> int:
    """Bytes of a local array."""
    return prod(t.shape or ()) * t.element.itemsize * t.lanes


def clear(e: Emitter, pointer: str, nbytes: int) -> None:
    """Set bytes to zero."""
    memset = e.module.declare("llvm.memset.p0.i64", "void", "ptr, i8, i64, i1 immarg")
    e.do(f"call void {memset}(ptr {pointer}, i8 0, i64 {nbytes}, i1 false)")


def carve(e: Emitter, write: Write, view: ViewParts, base: str, s: ir.Carve) -> None:
    """Make a View over the memory at an offset from a pointer."""
    t = s.view.type
    assert isinstance(t, ViewTy)
    at = e.op(f"getelementptr i8, ptr {base}, i64 {write(s.offset)}")
    e.do(f"store ptr {at}, ptr {view.slots['p']}")
    extents = []
    for d, x in enumerate(s.shape):
        value = write(x)
        assert isinstance(value, str)
        extents.append(value)
        e.do(f"store i64 {value}, ptr {view.slots[f'n{d}']}")
    for d in range(t.rank):
        if t.stride(d) is None:
            size = "1"
            for n in extents[d + 1 :]:
                size = n if size == "1" else e.op(f"mul i64 {size}, {n}")
            e.do(f"store i64 {size}, ptr {view.slots[f's{d}']}")
