"""Operations of typed IR as instructions: arithmetic, comparisons, conversions, functions.

Integers wrap, except those of index arithmetic, which may be assumed not to. What LLVM leaves
undefined (division by zero, shifts beyond the width) is computed as `ir.ops` says.
"""

from __future__ import annotations

from dataclasses import replace

from ... import ir
from ...ir.types import BOOL, FLOAT32, INDEX_WEAK, Scalar, Type, Vector
from .emitter import Emitter
from .halves import rounded, rounded_once, widened
from .spelling import Value, constant, part_of, parts, test_of, type_of
from .vectors import BY_LANE, each_lane, of_lanes, packed

_INTEGER = {"bitand": "and", "bitor": "or", "bitxor": "xor"}
_FLOAT = {"add": "fadd", "sub": "fsub", "mul": "fmul", "truediv": "fdiv", "fmod": "frem"}
_BIT_COUNTS = {"popcount": "ctpop", "countl_zero": "ctlz"}
_CODES = {"lt": "lt", "le": "le", "gt": "gt", "ge": "ge", "eq": "eq", "ne": "ne"}

# LLVM has these as intrinsics, with instructions or exact expansions for all hosts.
_INTRINSICS = {
    "sqrt": "sqrt", "floor": "floor", "ceil": "ceil", "trunc": "trunc", "rint": "rint",
    "copysign": "copysign", "fabs": "fabs",
}  # fmt: skip

# The order of joins is unspecified, so they may be reassociated and thus vectorised; it is fixed
# when the kernel is compiled, so results are reproducible. The sign of a zero does not matter for
# minima, but it does for sums.
_JOIN = "reassoc contract "
_ORDER = "reassoc nsz "


def operation(e: Emitter, x: ir.Op, args: list[Value]) -> Value:
    """Write an operation on operands that have been written."""
    operand = x.args[0].type
    assert isinstance(operand, Scalar)
    name, t = x.op, x.type
    if isinstance(operand, Vector) or isinstance(t, Vector):
        found = of_lanes(e, x, args)
        if found is not None:
            return found
        if isinstance(operand, Vector) and _is_by_lane(name, operand, t):
            return by_lane(e, x, args)
        by = _constant_divisor(x)
        if by is not None and isinstance(operand, Vector):
            return _divided(e, name, _real(args[0]), by, operand)
    if name in ("bounded", "opaque"):
        return args[0] if name == "bounded" else _opaque(e, _real(args[0]), t)
    if name == "cast":
        return cast(e, args[0], operand, t)
    if name == "bit_cast":
        return e.op(f"bitcast {type_of(operand)} {_real(args[0])} to {type_of(t)}")
    if name == "complex":
        a, b = (_real(v) for v in args)
        return _real(cast(e, a, operand, part_of(t))), _real(cast(e, b, operand, part_of(t)))
    if operand.kind == "c":
        from .complex_numbers import operation as of_complex  # loaded by kernels that have any

        return of_complex(e, name, args, operand)
    return _of_reals(e, name, [_real(v) for v in args], operand, t)


def _is_by_lane(name: str, s: Vector, t: Scalar) -> bool:
    """Whether an operation has no spelling for vectors."""
    if s.kind == "c":
        return name not in _COMPLEX_IN_LANES
    return "float16" in (s.name, t.name) and (name in _CHOICES or name not in _OF_BITS)


def by_lane(e: Emitter, x: ir.Op, args: list[Value]) -> Value:
    """An operation, one lane after another."""
    t = x.type
    assert isinstance(t, Vector)
    found: list[list[str]] = [[] for _ in parts(t)]
    given = tuple(
        replace(a, type=a.type.lane) if isinstance(a.type, Vector) else a for a in x.args
    )  # fmt: skip
    for k in range(t.lanes):
        row = [_lane_of(e, v, a.type, k) for v, a in zip(args, x.args, strict=True)]
        value = operation(e, replace(x, args=given, type=t.lane), row)
        for values, v in zip(found, value if isinstance(value, tuple) else (value,), strict=True):
            values.append(v)
    kinds = [p for p in parts(t) if isinstance(p, Vector)]
    done = [packed(e, values, kind) for values, kind in zip(found, kinds, strict=True)]
    return done[0] if len(done) == 1 else (done[0], done[1])


def _lane_of(e: Emitter, v: Value, t: Type, k: int) -> Value:
    if not isinstance(t, Vector):
        return v
    values = v if isinstance(v, tuple) else (v,)
    one = [
        e.op(f"extractelement {type_of(p)} {x}, i32 {k}")
        for x, p in zip(values, parts(t), strict=True)
    ]
    return one[0] if len(one) == 1 else (one[0], one[1])


def _real(v: Value) -> str:
    assert isinstance(v, str)
    return v


def _opaque(e: Emitter, v: str, t: Scalar) -> str:
    """The value, hidden from LLVM's optimiser."""
    kind = type_of(t)
    return e.op(f'call {kind} asm "", "=r,0"({kind} {v})')


def _of_reals(e: Emitter, name: str, args: list[str], s: Scalar, t: Scalar) -> str:
    if isinstance(s, Vector) and name in BY_LANE:
        return each_lane(e, args, s, t, lambda row: _of_reals(e, name, row, s.lane, s.lane))
    if s.name == "float16" and name not in _OF_BITS:
        return _of_halves(e, name, args, t)
    kind = type_of(s)
    if name in _CODES:
        return compare(e, name, args[0], args[1], s)
    if name in ("and", "bitand", "or", "bitor") and s.name == "bool":
        return e.op(f"{'and' if name in ('and', 'bitand') else 'or'} {kind} {args[0]}, {args[1]}")
    if name == "not":
        return e.op(f"xor {kind} {args[0]}, {constant(True, s)}")
    if name in _CHOICES:
        return _choose(e, name, args, s)
    if name in ("reduce_sum", "reduce_prod", "reduce_min", "reduce_max"):
        return _join(e, name, args, s)
    if name in ("isnan", "isinf", "isfinite"):
        return _kind_of_number(e, name, args[0], s)
    if name in ("real", "conj"):
        return args[0]
    if name == "imag":
        return constant(0, t)
    if s.is_float:
        if name in _FLOAT:
            return e.op(f"{_FLOAT[name]} {e.flags}{kind} {args[0]}, {args[1]}")
        if name == "neg":
            return e.op(f"fneg {e.flags}{kind} {args[0]}")
        if name == "fma":
            return intrinsic(e, "fma", args, s, "")
        if name == "abs":
            return intrinsic(e, "fabs", args, s)
        if name in _INTRINSICS:
            return intrinsic(e, _INTRINSICS[name], args, s)
        if name in ("floordiv", "mod"):
            function = e.module.library(f"{name}.f{s.bits}")
            return e.op(f"call {kind} {function}({kind} {args[0]}, {kind} {args[1]})")
        from .functions import call_library  # loaded by kernels that call any

        return call_library(e, name, args, s)
    return _of_integers(e, name, args, s)


# Of complex numbers, what is arithmetic on their parts without further thought.
_COMPLEX_IN_LANES = frozenset((
    "add", "sub", "mul", "neg", "real", "imag", "conj", "cast", "complex",
))  # fmt: skip


def _of_halves(e: Emitter, name: str, args: list[str], t: Scalar) -> str:
    """An operation on float16: in float32, rounded, and never contracted with another one."""
    flags = e.flags
    e.flags = flags if flags.startswith("fast") else ""
    given = [widened(e, v) for v in args]
    found = _of_reals(e, name, given, FLOAT32, FLOAT32 if t.is_float else t)
    e.flags = flags
    return rounded(e, found) if t.is_float else found


def intrinsic(e: Emitter, name: str, args: list[str], t: Scalar, flags: str | None = None) -> str:
    """Call an intrinsic that is overloaded for the type of its arguments."""
    kind = type_of(t)
    suffix = f"f{t.bits}" if t.is_float else f"i{t.bits}"
    if isinstance(t, Vector):
        suffix = f"v{t.lanes}{suffix}"
    function = e.module.declare(f"llvm.{name}.{suffix}", kind, ", ".join([kind] * len(args)))
    given = ", ".join(f"{kind} {a}" for a in args)
    chosen = (e.flags if flags is None else flags) if t.is_float else ""
    return e.op(f"call {chosen}{kind} {function}({given})")


# -- comparisons and choices ------------------------------------------------------------------


def compare(e: Emitter, name: str, a: str, b: str, t: Scalar) -> str:
    """A comparison; false (ne: true) with a NaN."""
    if t.name == "float16":
        return compare(e, name, widened(e, a), widened(e, b), FLOAT32)
    kind = type_of(t)
    if t.is_float:
        code = "une" if name == "ne" else f"o{name}"
        return e.op(f"fcmp {e.flags}{code} {kind} {a}, {b}")
    sign = "" if name in ("eq", "ne") else "s" if t.kind == "i" else "u"
    return e.op(f"icmp {sign}{name} {kind} {a}, {b}")


def choose(e: Emitter, test: str, a: str, b: str, t: Scalar) -> str:
    """`a if test else b`, both of which are computed."""
    kind = type_of(t)
    flags = e.flags if t.is_float and e.flags.startswith("fast") else ""
    return e.op(f"select {flags}{test_of(t)} {test}, {kind} {a}, {kind} {b}")


# Operation -> comparison of the operands, whether the second is chosen if it holds; and which
# operand counts as chosen, too, if it (or the other) is a NaN.
_CHOICES: dict[str, tuple[str, str, str]] = {
    "min": ("lt", "ba", ""), "max": ("gt", "ba", ""),
    "minimum": ("lt", "ab", "a"), "maximum": ("gt", "ab", "a"),
    "fmin": ("le", "ab", "b"), "fmax": ("ge", "ab", "b"),
}  # fmt: skip
_CHOICES |= {
    f"{what}_{name}": (name, "vk", what)
    for what in ("keep", "replace")
    for name in ("lt", "le", "gt", "ge")
}
# What gives an operand, or changes its sign only: of float16, as it is.
_OF_BITS = frozenset(("neg", "abs", "copysign", "real", "conj", "imag", *_CHOICES))


def _choose(e: Emitter, name: str, args: list[str], t: Scalar) -> str:
    comparison, order, nan = _CHOICES[name]
    if order == "vk":  # v, k, c
        v, k, c = args
        test = compare(e, comparison, v, k, t)
        return choose(e, test, *((v, c) if nan == "keep" else (c, v)), t)
    a, b = args
    if order == "ba":  # Python's: b if b < a else a
        return choose(e, compare(e, comparison, b, a, t), b, a, t)
    test = compare(e, comparison, a, b, t)
    if nan and t.is_float:
        isnan = _is_nan(e, a if nan == "a" else b, t, e.flags)
        test = e.op(f"or {test_of(t)} {test}, {isnan}")
    return choose(e, test, a, b, t)


def _join(e: Emitter, name: str, args: list[str], t: Scalar) -> str:
    """The join of a reduction."""
    kind, what = type_of(t), name.removeprefix("reduce_")
    if what in ("sum", "prod"):
        sign = "add" if what == "sum" else "mul"
        if not t.is_float:
            return e.op(f"{sign} {kind} {args[0]}, {args[1]}")
        flags = e.flags if e.flags.startswith("fast") else _JOIN
        return e.op(f"f{sign} {flags}{kind} {args[0]}, {args[1]}")
    if t.is_float:  # NaN propagates; LLVM vectorises this intrinsic, unlike a comparison
        return intrinsic(e, "minimum" if what == "min" else "maximum", args, t, _ORDER)
    test = compare(e, "lt" if what == "min" else "gt", args[1], args[0], t)
    return choose(e, test, args[1], args[0], t)


def _is_nan(e: Emitter, v: str, t: Scalar, flags: str = "") -> str:
    if t.name == "float16":
        v, t = widened(e, v), FLOAT32
    return e.op(f"fcmp {flags}uno {type_of(t)} {v}, {v}")


def _kind_of_number(e: Emitter, name: str, v: str, t: Scalar) -> str:
    if not t.is_float:
        return "true" if name == "isfinite" else "false"
    if name == "isnan":
        return _is_nan(e, v, t)
    kind = type_of(t)
    size = intrinsic(e, "fabs", [v], t, "")
    code = "oeq" if name == "isinf" else "one"
    return e.op(f"fcmp {code} {kind} {size}, {constant(float('inf'), t)}")


# -- integers ---------------------------------------------------------------------------------


def _of_integers(e: Emitter, name: str, args: list[str], t: Scalar) -> str:
    kind = type_of(t)
    if name in ("add", "sub", "mul"):
        nsw = "nsw " if t.weak == INDEX_WEAK else ""
        return e.op(f"{name} {nsw}{kind} {args[0]}, {args[1]}")
    if name in _INTEGER:
        return e.op(f"{_INTEGER[name]} {kind} {args[0]}, {args[1]}")
    unsigned = t.kind == "u" or t == BOOL
    if name in ("truncdiv", "truncmod"):
        sign = "u" if unsigned else "s"
        return e.op(f"{sign}{'div' if name == 'truncdiv' else 'rem'} {kind} {args[0]}, {args[1]}")
    if name == "neg":
        nsw = "nsw " if t.weak == INDEX_WEAK else ""
        return e.op(f"sub {nsw}{kind} {constant(0, t)}, {args[0]}")
    if name == "invert":
        return e.op(f"xor {kind} {args[0]}, {constant(-1, t)}")
    if name == "abs":
        if unsigned:
            return args[0]
        suffix = f"v{t.lanes}i{t.bits}" if isinstance(t, Vector) else kind
        function = e.module.declare(f"llvm.abs.{suffix}", kind, f"{kind}, i1 immarg")
        return e.op(f"call {kind} {function}({kind} {args[0]}, i1 false)")
    if name in _BIT_COUNTS:
        suffix = f"v{t.lanes}i{t.bits}" if isinstance(t, Vector) else kind
        flag = name == "countl_zero"  # a zero has a result as well
        more = ", i1 immarg" if flag else ""
        function = e.module.declare(f"llvm.{_BIT_COUNTS[name]}.{suffix}", kind, kind + more)
        return e.op(f"call {kind} {function}({kind} {args[0]}{', i1 false' if flag else ''})")
    if name in ("lshift", "rshift"):
        return _shift(e, name, args, t)
    if name in ("floordiv", "mod"):
        wide = max(t.bits, 32)
        a, b = (_resized(e, v, t, wide) for v in args)
        function = e.module.library(f"{'u' if unsigned else ''}{name}.i{wide}")
        return _narrowed(e, e.op(f"call i{wide} {function}(i{wide} {a}, i{wide} {b})"), wide, t)
    if name == "pow":
        a, b = (_resized(e, v, t, 64) for v in args)
        function = e.module.library(f"pow.{'u' if unsigned else 'i'}64")
        return _narrowed(e, e.op(f"call i64 {function}(i64 {a}, i64 {b})"), 64, t)
    raise AssertionError(f"operation {name} has no spelling in LLVM IR for {t}")


def _constant_divisor(x: ir.Op) -> int | None:
    """The number that all lanes divide by and round down, if it is known and in no need of care."""
    if x.op not in ("floordiv", "mod") or x.type.kind not in "iu":
        return None
    by = x.args[1]
    if isinstance(by, ir.Op) and by.op == "broadcast":
        (by,) = by.args
    if not isinstance(by, ir.Const) or int(by.value) in (0, -1):
        return None
    return int(by.value)


def _divided(e: Emitter, name: str, a: str, by: int, t: Vector) -> str:
    """A vector divided by a constant, rounded down; or what is left of it."""
    kind, c = type_of(t), constant(by, t)
    if by > 0 and not by & (by - 1):
        if name == "mod":
            return e.op(f"and {kind} {a}, {constant(by - 1, t)}")
        places = constant(by.bit_length() - 1, t)
        return e.op(f"{'ashr' if t.kind == 'i' else 'lshr'} {kind} {a}, {places}")
    if t.kind == "u":
        return e.op(f"{'udiv' if name == 'floordiv' else 'urem'} {kind} {a}, {c}")
    quotient = e.op(f"sdiv {kind} {a}, {c}")
    rest = e.op(f"sub {kind} {a}, {e.op(f'mul {kind} {quotient}, {c}')}")
    code = "slt" if by > 0 else "sgt"  # of what is left if that has the wrong sign
    wrong = e.op(f"icmp {code} {kind} {rest}, {constant(0, t)}")
    if name == "mod":
        return e.op(f"add {kind} {rest}, {choose(e, wrong, c, constant(0, t), t)}")
    return e.op(f"add {kind} {quotient}, {choose(e, wrong, constant(-1, t), constant(0, t), t)}")


def _shift(e: Emitter, name: str, args: list[str], t: Scalar) -> str:
    kind, (a, b) = type_of(t), args
    within = e.op(f"icmp ult {kind} {b}, {constant(t.bits, t)}")
    if name == "rshift" and t.kind == "i":
        places = choose(e, within, b, constant(t.bits - 1, t), t)
        return e.op(f"ashr {kind} {a}, {places}")
    zero = constant(0, t)
    places = choose(e, within, b, zero, t)
    shifted = e.op(f"{'shl' if name == 'lshift' else 'lshr'} {kind} {a}, {places}")
    return choose(e, within, shifted, zero, t)


def _resized(e: Emitter, v: str, t: Scalar, bits: int) -> str:
    if t.bits == bits and t != BOOL:
        return v
    extend = "sext" if t.kind == "i" else "zext"
    return e.op(f"{extend} {type_of(t)} {v} to i{bits}")


def _narrowed(e: Emitter, v: str, bits: int, t: Scalar) -> str:
    return v if t.bits == bits else e.op(f"trunc i{bits} {v} to {type_of(t)}")


# -- conversions ------------------------------------------------------------------------------


def cast(e: Emitter, value: Value, source: Scalar, t: Scalar) -> Value:
    """A conversion, as by NumPy's astype."""
    if source.strong == t.strong:
        return value
    if source.kind == "c":
        assert isinstance(value, tuple)
        real = part_of(source)
        if t.name == "bool":
            tests = [compare(e, "ne", v, constant(0, real), real) for v in value]
            return e.op(f"or {type_of(t)} {tests[0]}, {tests[1]}")
        if t.kind == "c":
            return _convert(e, value[0], real, part_of(t)), _convert(e, value[1], real, part_of(t))
        return _convert(e, value[0], real, t)
    assert isinstance(value, str)
    if t.kind == "c":
        return _convert(e, value, source, part_of(t)), constant(0, part_of(t))
    return _convert(e, value, source, t)


def _convert(e: Emitter, v: str, source: Scalar, t: Scalar) -> str:
    if source.strong == t.strong:
        return v
    if source.name == "float16":
        return _convert(e, widened(e, v), FLOAT32, t)
    if t.name == "float16":
        if source.name == "float64":
            return rounded_once(e, v)
        # Integers that are not exact in float32 are beyond float16.
        return rounded(e, _convert(e, v, source, FLOAT32))
    a, b = type_of(source), type_of(t)
    if t.name == "bool":
        return compare(e, "ne", v, constant(0, source), source)
    if source.is_float and t.is_float:
        return e.op(f"{'fpext' if t.bits > source.bits else 'fptrunc'} {a} {v} to {b}")
    if source.is_float:
        if t.bits < 64:  # values out of range wrap
            wide = type_of(Vector("int64", lanes=t.lanes)) if isinstance(t, Vector) else "i64"
            return e.op(f"trunc {wide} {e.op(f'fptosi {a} {v} to {wide}')} to {b}")
        return e.op(f"fpto{'ui' if t.kind == 'u' else 'si'} {a} {v} to {b}")
    signed = source.kind == "i"
    if t.is_float:
        return e.op(f"{'si' if signed else 'ui'}tofp {a} {v} to {b}")
    if source.name != "bool" and source.bits >= t.bits:
        return v if source.bits == t.bits else e.op(f"trunc {a} {v} to {b}")
    return e.op(f"{'sext' if signed else 'zext'} {a} {v} to {b}")
