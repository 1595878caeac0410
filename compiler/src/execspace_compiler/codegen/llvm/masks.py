"""Masks in variables, as processors keep them that have no registers for masks.

There a comparison of vectors gives lanes of ones or zeros, as wide as what was compared. LLVM takes
a mask that a loop carries for a vector of bits, packs it in each round and unpacks it again. So
variables hold such lanes, and masks are combined as integers.
"""

from __future__ import annotations

from ... import ir
from ...ir.types import Scalar, Vector
from .emitter import Emitter
from .memory import Write
from .vectors import splat

_LOGIC = {"bitand": "and", "bitor": "or", "bitxor": "xor"}


def is_mask(t: object) -> bool:
    """Whether a type is that of a mask."""
    return isinstance(t, Vector) and t.name == "bool"


def word_type(t: Vector, bits: int) -> str:
    """Type of a variable that holds a mask."""
    return f"<{t.lanes} x i{bits}>"


def from_word(e: Emitter, word: str, t: Vector, bits: int) -> str:
    """A mask from a variable."""
    return e.op(f"icmp slt {word_type(t, bits)} {word}, zeroinitializer")


def to_word(e: Emitter, v: str, t: Vector, bits: int) -> str:
    """A mask for a variable."""
    return e.op(f"sext <{t.lanes} x i1> {v} to {word_type(t, bits)}")


def reduced(e: Emitter, name: str, word: str, mask: ir.Var, bits: int) -> str:
    """Whether a mask holds for "any" lane, or for "all"."""
    t = mask.type
    assert isinstance(t, Vector)
    kind, sign, end = word_type(t, bits), *(("or", 0) if name == "any" else ("and", -1))
    suffix = f"v{t.lanes}i{bits}"
    function = e.module.declare(f"llvm.vector.reduce.{sign}.{suffix}", f"i{bits}", kind)
    found = e.op(f"call i{bits} {function}({kind} {word})")
    return e.op(f"icmp {'ne' if name == 'any' else 'eq'} i{bits} {found}, {end}")


def written_word(e: Emitter, write: Write, read: Write, x: ir.Expr, bits: int) -> str:
    """An expression that is a mask, for a variable; `read` gives a variable as it is held."""
    t = x.type
    assert isinstance(t, Vector)
    kind = word_type(t, bits)

    def word(y: ir.Expr) -> str:
        return written_word(e, write, read, y, bits)

    match x:
        case ir.Const():
            value = "-1" if x.value else "0"
            return f"<{', '.join([f'i{bits} {value}'] * t.lanes)}>"
        case ir.Var():
            found = read(x)
            assert isinstance(found, str)
            return found
        case ir.Op("broadcast", (test,)):
            one = e.op(f"sext i1 {write(test)} to i{bits}")
            return splat(e, one, Scalar(f"int{bits}"), Vector(f"int{bits}", lanes=t.lanes))
        case ir.Op("blend", (mask, test, ir.Const(False))):
            return e.op(f"and {kind} {word(mask)}, {word(test)}")
        case ir.Op("blend", (others, ir.Const(False), mask)):
            off = e.op(f"xor {kind} {word(others)}, splat (i{bits} -1)")
            return e.op(f"and {kind} {word(mask)}, {off}")
        case ir.Op(name, (a, b)) if name in _LOGIC and a.type == t:
            return e.op(f"{_LOGIC[name]} {kind} {word(a)}, {word(b)}")
    found = write(x)
    assert isinstance(found, str) and isinstance(x.type, Scalar)
    # Of lanes that are off a test may be anything, which is not to spread to others.
    held = e.op(f"freeze <{t.lanes} x i1> {found}")
    return to_word(e, held, t, bits)
