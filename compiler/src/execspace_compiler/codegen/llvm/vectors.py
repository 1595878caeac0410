"""Vectors of `es.simd` as vectors of LLVM: lanes, halves, masks, and calls lane by lane.

Arithmetic of vectors is that of numbers with another type, see operations.py.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from ... import ir
from ...ir.types import Scalar, Vector
from .emitter import Emitter
from .spelling import Value, constant, part_of, type_of

_OPERATIONS = frozenset((
    "broadcast", "ramp", "lane", "blend", "low", "high", "any", "all", "count", "first",
))  # fmt: skip
# What processors have no instructions for, or not for vectors.
BY_LANE = frozenset(("floordiv", "mod", "pow"))


def of_lanes(e: Emitter, x: ir.Op, args: Sequence[Value]) -> Value | None:
    """An operation on lanes rather than their numbers; None for all others."""
    if x.op not in _OPERATIONS:
        return None
    if any(isinstance(v, tuple) for v in args):
        return _of_complex(e, x, args)
    values = [v for v in args if isinstance(v, str)]
    operand = x.args[0].type
    assert isinstance(operand, Scalar)
    if x.op == "broadcast":
        assert isinstance(x.type, Vector)
        return splat(e, values[0], operand, x.type)
    if x.op == "ramp":
        assert isinstance(x.type, Vector) and isinstance(x.args[1], ir.Const)
        step = int(x.args[1].value)
        along = constants([k * step for k in range(x.type.lanes)], x.type)
        return e.op(f"add {type_of(x.type)} {splat(e, values[0], operand, x.type)}, {along}")
    assert isinstance(operand, Vector)
    kind = type_of(operand)
    if x.op == "lane":
        return e.op(f"extractelement {kind} {values[0]}, i64 {values[1]}")
    if x.op in ("low", "high"):
        half = operand.lanes // 2
        return part(e, values[0], operand, half if x.op == "high" else 0, half)
    if x.op == "blend":
        t = type_of(x.type)
        return e.op(f"select {kind} {values[0]}, {t} {values[1]}, {t} {values[2]}")
    word = f"i{operand.lanes}"
    bits = e.op(f"bitcast {kind} {values[0]} to {word}")
    if x.op == "count":
        count = e.module.declare(f"llvm.ctpop.{word}", word, word)
        found = e.op(f"call {word} {count}({word} {bits})")
        return found if operand.lanes == 64 else e.op(f"zext {word} {found} to i64")
    if x.op == "first":
        wide = bits if operand.lanes == 64 else e.op(f"zext {word} {bits} to i64")
        zeros = e.module.declare("llvm.cttz.i64", "i64", "i64, i1 immarg")
        return e.op(f"call i64 {zeros}(i64 {wide}, i1 false)")
    if x.op == "any":
        return e.op(f"icmp ne {word} {bits}, 0")
    return e.op(f"icmp eq {word} {bits}, -1")


def _of_complex(e: Emitter, x: ir.Op, args: Sequence[Value]) -> Value:
    """Of complex numbers, whose parts are vectors of their own."""
    found = []
    for n in range(2):
        row = [v[n] if isinstance(v, tuple) else v for v in args]
        given = tuple(
            replace(a, type=part_of(a.type))  # type: ignore[arg-type]
            if isinstance(v, tuple)
            else a
            for a, v in zip(x.args, args, strict=True)
        )  # fmt: skip
        part = of_lanes(e, replace(x, args=given, type=part_of(x.type)), row)
        assert isinstance(part, str)
        found.append(part)
    return found[0], found[1]


def splat(e: Emitter, v: str, t: Scalar, to: Vector) -> str:
    """A number in all lanes."""
    kind = type_of(to)
    first = e.op(f"insertelement {kind} poison, {type_of(t)} {v}, i32 0")
    zeros = f"<{to.lanes} x i32> zeroinitializer"
    return e.op(f"shufflevector {kind} {first}, {kind} poison, {zeros}")


def part(e: Emitter, v: str, t: Vector, first: int, count: int) -> str:
    """Lanes next to each other."""
    chosen = ", ".join(f"i32 {first + k}" for k in range(count))
    kind = type_of(t)
    return e.op(f"shufflevector {kind} {v}, {kind} poison, <{count} x i32> <{chosen}>")


def joined(e: Emitter, a: str, b: str, t: Vector) -> str:
    """The lanes of two vectors of type `t`."""
    chosen = ", ".join(f"i32 {k}" for k in range(2 * t.lanes))
    kind = type_of(t)
    return e.op(f"shufflevector {kind} {a}, {kind} {b}, <{2 * t.lanes} x i32> <{chosen}>")


def packed(e: Emitter, numbers: Sequence[str], t: Vector) -> str:
    """A vector of numbers."""
    found, kind, lane = "poison", type_of(t), type_of(t.lane)
    for k, v in enumerate(numbers):
        found = e.op(f"insertelement {kind} {found}, {lane} {v}, i32 {k}")
    return found


def constants(values: Sequence[object], t: Vector) -> str:
    """A vector of constants."""
    lane = type_of(t.lane)
    return f"<{', '.join(f'{lane} {constant(v, t.lane)}' for v in values)}>"


def each_lane(
    e: Emitter, args: Sequence[str], s: Vector, t: Scalar, compute: Callable[[list[str]], str]
) -> str:
    """What `compute` makes of each lane."""
    assert isinstance(t, Vector)
    kind = type_of(s)
    found = []
    for k in range(s.lanes):
        found.append(compute([e.op(f"extractelement {kind} {v}, i32 {k}") for v in args]))
    return packed(e, found, t)
