"""Complex arithmetic on pairs of real numbers, and the C library's complex functions.

Functions of complex64 are computed in complex128 and rounded: C's calling conventions for pairs of
floats differ between processors.
"""

from __future__ import annotations

from ...ir.ops import COMPLEX_FUNCTIONS
from ...ir.types import Scalar
from .emitter import Emitter
from .functions import call_library
from .spelling import Value, constant, part_of, type_of

_PAIR = "{ double, double }"
_FLOAT64 = Scalar("float64")


def operation(e: Emitter, name: str, args: list[Value], t: Scalar) -> Value:
    """Write an operation on operands of type `t`."""
    pairs = [a for a in args if isinstance(a, tuple)]
    real, kind = part_of(t), type_of(part_of(t))
    a = pairs[0]
    match name:
        case "real":
            return a[0]
        case "imag":
            return a[1]
        case "conj":
            return a[0], e.op(f"fneg {kind} {a[1]}")
        case "neg":
            return e.op(f"fneg {e.flags}{kind} {a[0]}"), e.op(f"fneg {e.flags}{kind} {a[1]}")
        case "add" | "sub" | "reduce_sum":
            sign = "fsub" if name == "sub" else "fadd"
            re, im = (e.op(f"{sign} {e.flags}{kind} {x}, {y}") for x, y in zip(*pairs, strict=True))
            return re, im
        case "mul" | "reduce_prod":
            return _product(e, a, pairs[1], kind)
        case "truediv":
            return _quotient(e, a, pairs[1], real)
        case "eq" | "ne":
            code, joined = ("oeq", "and") if name == "eq" else ("une", "or")
            tests = [e.op(f"fcmp {code} {kind} {x}, {y}") for x, y in zip(*pairs, strict=True)]
            return e.op(f"{joined} i1 {tests[0]}, {tests[1]}")
        case "abs":
            return call_library(e, "hypot", list(a), real)
        case "isnan" | "isinf" | "isfinite":
            return _kind_of_number(e, name, a, real)
        case "sqrt":
            function = e.module.library(f"csqrt.f{real.bits}")
            pair = e.op(f"call {{ {kind}, {kind} }} {function}({kind} {a[0]}, {kind} {a[1]})")
            re, im = e.fields(pair, [kind] * 2)
            return re, im
        case "pow":
            return _power(e, a, pairs[1], real)
    if name in COMPLEX_FUNCTIONS:
        return _library(e, f"c{name}", [a], real)
    raise AssertionError(f"operation {name} has no spelling in LLVM IR for {t}")


def _product(e: Emitter, a: tuple[str, str], b: tuple[str, str], kind: str) -> Value:
    # Written out, so that multiply-add applies; infinities are not recovered as in C99.
    def times(x: str, y: str) -> str:
        return e.op(f"fmul {e.flags}{kind} {x}, {y}")

    re = e.op(f"fsub {e.flags}{kind} {times(a[0], b[0])}, {times(a[1], b[1])}")
    im = e.op(f"fadd {e.flags}{kind} {times(a[0], b[1])}, {times(a[1], b[0])}")
    return re, im


def _quotient(e: Emitter, a: tuple[str, str], b: tuple[str, str], real: Scalar) -> Value:
    """Smith's method (Comm. ACM 5, 1962, algorithm 116), as in NumPy, without branches."""
    kind = type_of(real)

    def op(name: str, x: str, y: str) -> str:
        return e.op(f"{name} {e.flags}{kind} {x}, {y}")

    def size(x: str) -> str:
        fabs = e.module.declare(f"llvm.fabs.f{real.bits}", kind, kind)
        return e.op(f"call {kind} {fabs}({kind} {x})")

    def choose(x: str, y: str) -> str:
        return e.op(f"select i1 {first}, {kind} {x}, {kind} {y}")

    size_re, size_im = size(b[0]), size(b[1])
    first = e.op(f"fcmp oge {kind} {size_re}, {size_im}")
    large, small = choose(b[0], b[1]), choose(b[1], b[0])
    x, y = choose(a[0], a[1]), choose(a[1], a[0])
    one, zero = constant(1, real), constant(0, real)
    ratio = op("fdiv", small, large)
    scale = op("fdiv", one, op("fadd", large, op("fmul", small, ratio)))
    re = op("fmul", op("fadd", x, op("fmul", y, ratio)), scale)
    turned = op("fmul", x, ratio)
    im = op("fmul", choose(op("fsub", y, turned), op("fsub", turned, y)), scale)
    # By zero: each part is divided by it.
    nothing = e.op(f"fcmp oeq {kind} {size_re}, {zero}")
    nothing = e.op(f"and i1 {first}, {nothing}")
    infinite = constant(float("inf"), real)
    parts = [e.op(f"fmul {kind} {v}, {infinite}") for v in a]
    return (
        e.op(f"select i1 {nothing}, {kind} {parts[0]}, {kind} {re}"),
        e.op(f"select i1 {nothing}, {kind} {parts[1]}, {kind} {im}"),
    )


def _kind_of_number(e: Emitter, name: str, a: tuple[str, str], real: Scalar) -> str:
    kind = type_of(real)
    if name == "isnan":
        return e.op(f"fcmp uno {kind} {a[0]}, {a[1]}")
    fabs = e.module.declare(f"llvm.fabs.f{real.bits}", kind, kind)
    code, joined = ("oeq", "or") if name == "isinf" else ("one", "and")
    tests = []
    for v in a:
        size = e.op(f"call {kind} {fabs}({kind} {v})")
        tests.append(e.op(f"fcmp {code} {kind} {size}, {constant(float('inf'), real)}"))
    return e.op(f"{joined} i1 {tests[0]}, {tests[1]}")


def _power(e: Emitter, a: tuple[str, str], b: tuple[str, str], real: Scalar) -> Value:
    # The C library returns NaN for 0j ** (1 + 1j); Python and NumPy return zero.
    kind, zero = type_of(real), constant(0, real)
    tests = [e.op(f"fcmp oeq {kind} {v}, {zero}") for v in a]
    tests.append(e.op(f"fcmp ogt {kind} {b[0]}, {zero}"))
    nothing = e.op(f"and i1 {e.op(f'and i1 {tests[0]}, {tests[1]}')}, {tests[2]}")
    found = _library(e, "cpow", [a, b], real)
    re, im = (e.op(f"select i1 {nothing}, {kind} {zero}, {kind} {v}") for v in found)
    return re, im


def _library(e: Emitter, name: str, args: list[tuple[str, str]], real: Scalar) -> tuple[str, str]:
    """A function of complex.h, which takes and returns pairs of doubles in registers."""
    flat = [v for a in args for v in a]
    if real != _FLOAT64:
        flat = [e.op(f"fpext float {v} to double") for v in flat]
    kinds = ", ".join(["double"] * len(flat))
    symbol = e.module.declare(name, _PAIR, kinds, "memory(none) nounwind willreturn nosync nofree")
    pair = e.op(f"call {_PAIR} {symbol}({', '.join(f'double {v}' for v in flat)})")
    re, im = e.fields(pair, ["double"] * 2)
    if real != _FLOAT64:
        re, im = (e.op(f"fptrunc double {v} to float") for v in (re, im))
    return re, im
