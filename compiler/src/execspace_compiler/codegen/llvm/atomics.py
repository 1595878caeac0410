"""Atomic operations on the bits of numbers: instructions, or compare-and-swap loops.

Loads acquire and stores release, which is free or nearly free on processors. Arithmetic is relaxed,
exchanges acquire and release.
"""

from __future__ import annotations

from ... import ir
from ...ir.types import FLOAT64, Scalar
from .emitter import Emitter
from .memory import Write
from .operations import compare, operation
from .spelling import Value, part_of, type_of

_RMW = {"add": "add", "sub": "sub", "bitand": "and", "bitor": "or", "bitxor": "xor"}
_DIRECT = frozenset(_RMW)


def atomic(e: Emitter, write: Write, s: ir.Atomic, address: str) -> Value | None:
    """Write an atomic operation on the number at an address; returns what it fetches."""
    bits = f"i{8 * s.type.itemsize}"
    size = s.type.itemsize
    if s.op == "load":
        word = e.op(f"load atomic {bits}, ptr {address} acquire, align {size}")
        return _from_bits(e, word, s.type)
    values = [write(v) for v in s.values]
    if s.op == "store":
        word = _to_bits(e, values[0], s.type)
        e.do(f"store atomic {bits} {word}, ptr {address} release, align {size}")
        return None
    if s.op == "exchange":
        word = _to_bits(e, values[0], s.type)
        return _from_bits(e, _rmw(e, "xchg", address, bits, word, "acq_rel"), s.type)
    if s.op == "compare_exchange":
        expected, desired = (_to_bits(e, v, s.type) for v in values)
        _, old = _swap(e, address, bits, expected, desired, "acq_rel acquire")
        return _from_bits(e, old, s.type)
    if s.op in _DIRECT and s.type.kind in "biu":
        word = _to_bits(e, values[0], s.type)
        before = _rmw(e, _RMW[s.op], address, bits, word, "monotonic")
        found = _from_bits(e, before, s.type)
        if s.name is None or s.fetch == "old":
            return found
        return _outcome(e, s, found, values[0])
    if s.indivisible:
        return _loop(e, s, address, values[0])
    # The parts of a complex128 are updated separately.
    assert isinstance(values[0], tuple)
    for n, value in enumerate(values[0]):
        at = e.op(f"getelementptr i8, ptr {address}, i64 {8 * n}")
        _loop(e, ir.Atomic(None, s.op, s.view, (), FLOAT64, ()), at, value)
    return None


def _outcome(e: Emitter, s: ir.Atomic, old: Value, value: Value) -> Value:
    """The value to store, from the element and the operand."""
    given = {"old": old, "value": value}

    def written(x: ir.Expr) -> Value:
        if isinstance(x, ir.Var):
            return given[x.name]
        assert isinstance(x, ir.Op)
        return operation(e, x, [written(a) for a in x.args])

    return written(ir.outcome(s.op, ir.Var("old", s.type), ir.Var("value", s.type), s.type))


def _loop(e: Emitter, s: ir.Atomic, address: str, value: Value) -> Value:
    """A compare-and-swap loop."""
    bits = f"i{8 * s.type.itemsize}"
    first = e.op(f"load atomic {bits}, ptr {address} monotonic, align {s.type.itemsize}")
    before, again, swap, after = e.block, e.label("again"), e.label("swap"), e.label("swapped")
    seen = e.name("seen")
    retried = e.name("retried")
    e.jump(again)
    e.start(again)
    e.body.append(f"  {seen} = phi {bits} [ {first}, %{before} ], [ {retried}, %{swap} ]")
    old = _from_bits(e, seen, s.type)
    new = _outcome(e, s, old, value)
    word = _to_bits(e, new, s.type)
    if s.op in ("min", "max"):  # no write if the value does not change: the cache line stays shared
        assert isinstance(old, str) and isinstance(value, str)
        e.branch(compare(e, "lt" if s.op == "min" else "gt", old, value, s.type), after, swap)
    else:
        e.jump(swap)
    e.start(swap)
    done, found = _swap(e, address, bits, seen, word, "monotonic monotonic")
    e.body.append(f"  {retried} = bitcast {bits} {found} to {bits}")  # the name in the phi
    e.branch(done, after, again)
    e.start(after)
    return new if s.fetch == "new" else old


def _rmw(e: Emitter, op: str, address: str, bits: str, word: str, order: str) -> str:
    return e.op(f"atomicrmw {op} ptr {address}, {bits} {word} {order}")


def _swap(
    e: Emitter, address: str, bits: str, expected: str, desired: str, orders: str
) -> tuple[str, str]:
    """Whether a compare-and-swap has stored, and what it found."""
    pair = e.op(f"cmpxchg ptr {address}, {bits} {expected}, {bits} {desired} {orders}")
    kind = f"{{ {bits}, i1 }}"
    found = e.op(f"extractvalue {kind} {pair}, 0")
    return e.op(f"extractvalue {kind} {pair}, 1"), found


def _to_bits(e: Emitter, value: Value, t: Scalar) -> str:
    if isinstance(value, tuple):
        real = part_of(t)
        half, whole = f"i{real.bits}", f"i{t.bits}"
        low, high = (
            e.op(f"zext {half} {e.op(f'bitcast {type_of(real)} {v} to {half}')} to {whole}")
            for v in value
        )
        return e.op(f"or {whole} {e.op(f'shl {whole} {high}, {real.bits}')}, {low}")
    if t.name == "bool":
        return e.op(f"zext i1 {value} to i8")
    return e.op(f"bitcast {type_of(t)} {value} to i{t.bits}") if t.is_float else value


def _from_bits(e: Emitter, word: str, t: Scalar) -> Value:
    if t.kind == "c":
        real, whole = part_of(t), f"i{t.bits}"
        half = f"i{real.bits}"
        high = e.op(f"lshr {whole} {word}, {real.bits}")
        numbers = []
        for v in (word, high):
            bits = e.op(f"trunc {whole} {v} to {half}")
            numbers.append(e.op(f"bitcast {half} {bits} to {type_of(real)}"))
        return numbers[0], numbers[1]
    if t.name == "bool":
        return e.op(f"trunc i8 {word} to i1")
    return e.op(f"bitcast i{t.bits} {word} to {type_of(t)}") if t.is_float else word
