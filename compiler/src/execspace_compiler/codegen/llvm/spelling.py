"""Types, constants and names in LLVM IR.

A number is an SSA value, and a complex number two: its real and its imaginary part. In memory a
bool is a byte, and a complex number its two parts in sequence.
"""

from __future__ import annotations

import math
import re
import struct

from ...ir.types import Record, Scalar, TupleTy, Vector, flat_scalars

FLOATS = {"float16": "half", "float32": "float", "float64": "double"}
_PARTS = {"complex64": Scalar("float32"), "complex128": Scalar("float64")}

_PLAIN = re.compile(r"[-a-zA-Z$._0-9]+")

Value = str | tuple[str, str]
"""A number: an SSA value or a constant; of a complex number two."""


def part_of(t: Scalar) -> Scalar:
    """Type of the parts of a complex type."""
    found = _PARTS[t.name]
    return Vector(found.name, lanes=t.lanes) if isinstance(t, Vector) else found


def parts(t: Scalar) -> tuple[Scalar, ...]:
    """Types of the SSA values of a number."""
    return (part_of(t),) * 2 if t.kind == "c" else (t,)


def type_of(t: Scalar) -> str:
    """Type of an SSA value of a real number, or of a vector."""
    if isinstance(t, Vector):
        return f"<{t.lanes} x {type_of(t.lane)}>"
    if t.name == "bool":
        return "i1"
    return FLOATS.get(t.name) or f"i{t.bits}"


def test_of(t: Scalar) -> str:
    """Type of the outcome of a comparison."""
    return f"<{t.lanes} x i1>" if isinstance(t, Vector) else "i1"


def stored(t: Scalar) -> str:
    """Type of a real number in memory."""
    return "i8" if t.name == "bool" else type_of(t)


def element(t: Scalar | Record) -> str:
    """Type of an element in memory, for addresses; a record is bytes."""
    if isinstance(t, Record):
        return "i8"
    if t.kind == "c":
        part = type_of(part_of(t))
        return f"{{ {part}, {part} }}"
    return stored(t)


def result_type(result: Scalar | TupleTy | None) -> str:
    """Type that a function returns."""
    kinds = [type_of(p) for s in flat_scalars(result) for p in parts(s)]
    if not kinds:
        return "void"
    return kinds[0] if len(kinds) == 1 else f"{{ {', '.join(kinds)} }}"


def constant(value: object, t: Scalar) -> str:
    """A real number of a type, of a vector in all lanes."""
    if isinstance(t, Vector):
        lane = f"{type_of(t.lane)} {constant(value, t.lane)}"
        return f"<{', '.join([lane] * t.lanes)}>"
    if t.name == "bool":
        return "true" if value else "false"
    if t.kind in "iu":
        number = int(value) % (1 << t.bits)  # type: ignore[call-overload]
        return str(number - (1 << t.bits) if number >> (t.bits - 1) else number)
    return float_constant(float(value), t.name)  # type: ignore[arg-type]


def float_constant(value: float, name: str) -> str:
    """A float in hexadecimal digits; those of narrower types are written as doubles."""
    if name != "float64":
        code = "<e" if name == "float16" else "<f"
        try:
            packed = struct.pack(code, value)
        except OverflowError:
            packed = struct.pack(code, math.copysign(math.inf, value))
        if name == "float16":
            return f"0xH{int.from_bytes(packed, 'little'):04X}"
        (value,) = struct.unpack(code, packed)
    bits = struct.unpack("<Q", struct.pack("<d", value))[0]
    if value != value:
        bits = 0x7FF8000000000000
    return f"0x{bits:016X}"


def local(name: str) -> str:
    """A variable or parameter of the user's, which cannot clash with generated names."""
    return _quoted("%", f"v.{name}")


def symbol(name: str) -> str:
    """A function of the module."""
    return _quoted("@", f"f.{name}")


def _quoted(sign: str, name: str) -> str:
    if _PLAIN.fullmatch(name):
        return sign + name
    return f'{sign}"{"".join(_escaped(c) for c in name)}"'


def _escaped(c: str) -> str:
    if c.isascii() and c.isprintable() and c not in '"\\':
        return c
    return "".join(f"\\{byte:02X}" for byte in c.encode())


def c_string(text: str) -> tuple[str, str]:
    """Type and value of the bytes of a string with a zero behind it."""
    data = text.encode() + b"\0"
    body = "".join(chr(b) if 32 <= b < 127 and b not in b'"\\' else f"\\{b:02X}" for b in data)
    return f"[{len(data)} x i8]", f'c"{body}"'
