"""Support functions of generated C source: printed into it where it uses them.

Each is a template over a type. Names begin with an underscore and end in the type's short name,
unlike users' names.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from ...ir.types import Scalar, Vector
from .dialect import Dialect

SHORT = {
    "bool": "b", "int8": "i8", "uint8": "u8", "int16": "i16", "uint16": "u16", "int32": "i32",
    "uint32": "u32", "int64": "i64", "uint64": "u64", "float16": "f16", "float32": "f32",
    "float64": "f64", "complex64": "c64", "complex128": "c128",
}  # fmt: skip

PARTS = {"complex64": "float32", "complex128": "float64"}

# $T the type, $U the unsigned integer of its width, $P of a complex type its parts, $N the short
# name, $Q that of the parts; $W the width in bits; $to(a) an integer as one of the type, $neg(a)
# its negative, which wraps; {name} another function of the same type.
_SIGNED = {
    "floordiv": """$T _floordiv_$N($T a, $T b) {
    if (b == 0) return 0;
    if (b == -1) return $neg(a);
    $T q = a / b;
    if ((a ^ b) < 0 && q * b != a) q -= 1;
    return q;
}""",
    "mod": """$T _mod_$N($T a, $T b) {
    if (b == 0 || b == -1) return 0;
    $T r = a % b;
    if (r != 0 && (r ^ b) < 0) r += b;
    return r;
}""",
    "short_floordiv": """$T _short_floordiv_$N($T a, $T b) {
    const $T d = b == 0 ? 1 : b, q = a / d;
    return b == 0 ? 0 : q - ((a ^ d) < 0 && q * d != a);
}""",
    "short_mod": """$T _short_mod_$N($T a, $T b) {
    const $T d = b == 0 ? 1 : b, r = a % d;
    return r + (r != 0 && (r ^ d) < 0 ? d : 0);
}""",
    "pow": """$T _pow_$N($T a, $T b) {
    if (b < 0) {
        if (a == 1) return 1;
        if (a == -1) return (b & 1) ? -1 : 1;
        return 0;
    }
    $U result = 1, base = ($U)a;
    while (b != 0) {
        if (b & 1) result = ($U)(1U * result * base);
        base = ($U)(1U * base * base);
        b >>= 1;
    }
    return $to(result);
}""",
    "lshift": """$T _lshift_$N($T a, $T b) {
    return b >= 0 && b < $W ? ($T)($U)(($U)a * 1U << b) : 0;
}""",
    "rshift": """$T _rshift_$N($T a, $T b) {
    return b >= 0 && b < $W ? ($T)(a >> b) : (a < 0 ? -1 : 0);
}""",
    "abs": "$T _abs_$N($T a) { return a < 0 ? $neg(a) : a; }",
}
_UNSIGNED = {
    "floordiv": "$T _floordiv_$N($T a, $T b) { return b == 0 ? 0 : a / b; }",
    "mod": "$T _mod_$N($T a, $T b) { return b == 0 ? 0 : a % b; }",
    "pow": """$T _pow_$N($T a, $T b) {
    $T result = 1;
    while (b != 0) {
        if (b & 1) result = ($T)(1U * result * a);
        a = ($T)(1U * a * a);
        b >>= 1;
    }
    return result;
}""",
    "lshift": "$T _lshift_$N($T a, $T b) { return b < $W ? ($T)(a * 1U << b) : 0; }",
    "rshift": "$T _rshift_$N($T a, $T b) { return b < $W ? ($T)(a >> b) : 0; }",
    "abs": "$T _abs_$N($T a) { return a; }",
    "popcount": "$T _popcount_$N($T a) { return ($T)$popcount; }",
    "countl_zero": "$T _countl_zero_$N($T a) { return ($T)($leading_zeros - $S); }",
}
# Of languages that have no functions for these.
_BY_BIT = {
    "popcount": """$T _popcount_$N($T a) {
    $T n = 0;
    for (; a != 0; a = ($T)(a & (a - 1U))) n = ($T)(n + 1U);
    return n;
}""",
    "countl_zero": """$T _countl_zero_$N($T a) {
    $T n = $W;
    for (; a != 0; a = ($T)(a >> 1)) n = ($T)(n - 1U);
    return n;
}""",
}
_REAL = {
    "floordiv": """$T _floordiv_$N($T a, $T b) {
    if (b == 0) return a / b;
    $T m = $fmod(a, b);
    $T q = (a - m) / b;
    if (m != 0 && (b < 0) != (m < 0)) q -= 1;
    if (q == 0) return $copysign(($T)0, a / b);
    $T whole = $floor(q);
    if (q - whole > ($T)0.5) whole += 1;
    return whole;
}""",
    "mod": """$T _mod_$N($T a, $T b) {
    $T m = $fmod(a, b);
    if (b == 0) return m;
    if (m == 0) return $copysign(($T)0, b);
    if ((b < 0) != (m < 0)) m += b;
    return m;
}""",
}
_ORDERED = {
    "min": "$T _min_$N($T a, $T b) { return $c(b) < $v(a) ? b : a; }",
    "max": "$T _max_$N($T a, $T b) { return $c(b) > $v(a) ? b : a; }",
    "minimum": "$T _minimum_$N($T a, $T b) { return $c(a) < $v(b) || $v(a) != $v(a) ? a : b; }",
    "maximum": "$T _maximum_$N($T a, $T b) { return $c(a) > $v(b) || $v(a) != $v(a) ? a : b; }",
    "fmin": "$T _fmin_$N($T a, $T b) { return $c(a) <= $v(b) || $v(b) != $v(b) ? a : b; }",
    "fmax": "$T _fmax_$N($T a, $T b) { return $c(a) >= $v(b) || $v(b) != $v(b) ? a : b; }",
}
# Joins of reductions, whose results are not compared in the kernel, so that nothing need be hidden.
_ORDERED |= {
    f"join_{name}": f"$T _join_{name}_$N($T a, $T b) {{ return (int)b {sign} (int)a ? b : a; }}"
    for name, sign in (("min", "<"), ("max", ">"))
}
for _name, _sign in (("lt", "<"), ("le", "<="), ("gt", ">"), ("ge", ">=")):
    _ORDERED |= {
        f"keep_{_name}": (
            f"$T _keep_{_name}_$N($T v, $T k, $T c) {{ return $v(v) {_sign} $v(k) ? v : c; }}"
        ),
        f"replace_{_name}": (
            f"$T _replace_{_name}_$N($T v, $T k, $T c) {{ return $v(v) {_sign} $v(k) ? c : v; }}"
        ),
    }
_COMPLEX = {
    "make": "$T _make_$N($P re, $P im) { $T z; z.re = re; z.im = im; return z; }",
    "add": "$T _add_$N($T a, $T b) { return {make}(a.re + b.re, a.im + b.im); }",
    "sub": "$T _sub_$N($T a, $T b) { return {make}(a.re - b.re, a.im - b.im); }",
    "mul": """$T _mul_$N($T a, $T b) {
    return {make}(a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re);
}""",
    "truediv": """$T _truediv_$N($T a, $T b) {
    const $P size_re = $fabs(b.re), size_im = $fabs(b.im);
    if (size_re >= size_im) {
        if (size_re == 0 && size_im == 0) return {make}(a.re / size_re, a.im / size_re);
        const $P ratio = b.im / b.re;
        const $P scale = 1 / (b.re + b.im * ratio);
        return {make}((a.re + a.im * ratio) * scale, (a.im - a.re * ratio) * scale);
    }
    const $P ratio = b.re / b.im;
    const $P scale = 1 / (b.im + b.re * ratio);
    return {make}((a.re * ratio + a.im) * scale, (a.im * ratio - a.re) * scale);
}""",
    "neg": "$T _neg_$N($T a) { return {make}(-a.re, -a.im); }",
    "conj": "$T _conj_$N($T a) { return {make}(a.re, -a.im); }",
    "eq": "bool _eq_$N($T a, $T b) { return a.re == b.re && a.im == b.im; }",
    "ne": "bool _ne_$N($T a, $T b) { return a.re != b.re || a.im != b.im; }",
    "abs": "$P _abs_$N($T a) { return $hypot(a.re, a.im); }",
    "isnan": "bool _isnan_$N($T a) { return a.re != a.re || a.im != a.im; }",
    "isinf": "bool _isinf_$N($T a) { return $isinf(a.re) || $isinf(a.im); }",
    "isfinite": "bool _isfinite_$N($T a) { return $isfinite(a.re) && $isfinite(a.im); }",
    "sqrt": """$T _sqrt_$N($T z) {
    $P a = z.re, b = z.im;
    if (a == 0 && b == 0) return {make}(0, b);
    if ($isinf(b)) return {make}($fabs(b), b);
    if (a != a) return {make}(a, a);
    if ($isinf(a)) {
        const $P rest = b - b;
        if (a < 0) return {make}($fabs(rest), $copysign(a, b));
        return {make}(a, $copysign(rest, b));
    }
    const bool large = $fabs(a) > $huge || $fabs(b) > $huge;
    if (large) { a *= ($P)0.25; b *= ($P)0.25; }
    const $P t = $sqrt(($P)0.5 * ($fabs(a) + $hypot(a, b)));
    $P re = t, im = b / (2 * t);
    if (a < 0) { re = $fabs(b) / (2 * t); im = $copysign(t, b); }
    if (large) { re *= 2; im *= 2; }
    return {make}(re, im);
}""",
    "exp": """$T _exp_$N($T z) {
    const $P e = $exp(z.re);
    if (z.im == 0) return {make}(e, z.im);
    if ($isinf(z.re) && !$isfinite(z.im)) {
        if (z.re < 0) return {make}(0, $copysign(($P)0, z.im));
        return {make}(e, z.im - z.im);
    }
    return {make}(e * $cos(z.im), e * $sin(z.im));
}""",
    "log": "$T _log_$N($T z) { return {make}($log($hypot(z.re, z.im)), $atan2(z.im, z.re)); }",
    "sinh": """$T _sinh_$N($T z) {
    if (z.im == 0) return {make}($sinh(z.re), z.im);
    return {make}($sinh(z.re) * $cos(z.im), $cosh(z.re) * $sin(z.im));
}""",
    "cosh": """$T _cosh_$N($T z) {
    if (z.im == 0) return {make}($cosh(z.re), $sinh(z.re) * z.im);
    return {make}($cosh(z.re) * $cos(z.im), $sinh(z.re) * $sin(z.im));
}""",
    "tanh": """$T _tanh_$N($T z) {
    if ($fabs(z.re) > 22) {
        const $P e = $exp(-2 * $fabs(z.re));
        return {make}($copysign(($P)1, z.re), 4 * $sin(z.im) * $cos(z.im) * e);
    }
    const $P t = $tan(z.im), beta = 1 + t * t, s = $sinh(z.re);
    const $P rho = $sqrt(1 + s * s);
    if ($isinf(t)) return {make}(rho / s, 1 / t);
    const $P scale = 1 + beta * s * s;
    return {make}(beta * rho * s / scale, t / scale);
}""",
    "sin": """$T _sin_$N($T z) {
    const $T w = {sinh}({make}(-z.im, z.re));
    return {make}(w.im, -w.re);
}""",
    "cos": "$T _cos_$N($T z) { return {cosh}({make}(-z.im, z.re)); }",
    "tan": """$T _tan_$N($T z) {
    const $T w = {tanh}({make}(-z.im, z.re));
    return {make}(w.im, -w.re);
}""",
    "pow": """$T _pow_$N($T a, $T b) {
    if (b.re == 0 && b.im == 0) return {make}(1, 0);
    if (a.re == 0 && a.im == 0) {
        if (b.re > 0) return {make}(0, 0);
        return {make}($nan, $nan);
    }
    if (b.im == 0 && b.re == $floor(b.re) && b.re > -100 && b.re < 100) {
        $T result = {make}(1, 0), power = a;
        long n = (long)(b.re < 0 ? -b.re : b.re);
        for (long mask = 1; n >= mask; mask <<= 1) {
            if (n & mask) result = {mul}(result, power);
            power = {mul}(power, power);
        }
        return b.re < 0 ? {truediv}({make}(1, 0), result) : result;
    }
    return {exp}({mul}(b, {log}(a)));
}""",
}

_CALLED = (
    "fmod", "copysign", "floor", "fabs", "hypot", "isinf", "isfinite", "sqrt", "exp", "log",
    "atan2", "sinh", "cosh", "tanh", "tan", "sin", "cos",
)  # fmt: skip

# Functions of complex numbers without sums of products; others have a strict variant.
_NEVER_CONTRACTED = frozenset(
    ("make", "add", "sub", "neg", "conj", "eq", "ne", "abs", "isnan", "isinf", "isfinite", "log")
)


def code_of(t: Scalar) -> str:
    """A type in the name of a function or struct, of vectors with the number of lanes."""
    return f"{t.lanes}{SHORT[t.name]}" if isinstance(t, Vector) else SHORT[t.name]


def complex_type(type: str) -> str:
    """Name of the struct of a complex type."""
    return f"_{SHORT[type]}"


class Prelude:
    """Collects the functions that a source uses, each once, callees first."""

    def __init__(self, dialect: Dialect) -> None:
        self.dialect = dialect
        self.structs: dict[str, str] = {}
        self.functions: dict[str, str] = {}
        self.float16 = False  # whether the source uses this type
        self.strict = False  # whether the current function must not be contracted

    def type(self, t: str) -> str:
        """Name of a type in the source; structs of complex numbers are defined if used."""
        if t in PARTS:
            name = complex_type(t)
            part = self.dialect.types[PARTS[t]]
            self.structs.setdefault(name, f"typedef struct {{ {part} re, im; }} {name};")
            return name
        self.float16 |= t == "float16"
        return self.dialect.types[t]

    def pack(self, t: Scalar, stored: str, count: int) -> str:
        """Name of a struct of neighbouring elements, which is read and written by one access."""
        name = f"_pack_{SHORT[t.name]}_{count}"
        size = t.itemsize * count
        text = f"typedef struct __attribute__((aligned({size}))) {{ {stored} v[{count}]; }} {name};"
        whole = self.vector(t, count)
        if whole:
            text = f"typedef union {{ {whole} whole; {stored} v[{count}]; }} {name};"
        self.structs.setdefault(name, text)
        return name

    def vector(self, t: Scalar, count: int) -> str:
        """Type of the vector by which a pack is moved; empty if there is none."""
        memory = self.dialect.memory
        if t.itemsize == 1:
            return memory.byte_vector.format(count=count)
        return memory.vectors.get(t.itemsize * count, "")

    def math(self, name: str, t: str) -> str:
        """Name of a mathematical function of a floating type."""
        if t == "float32" and name in self.dialect.workarounds.sign_bits:
            own, more = self.dialect.types[t], ", float y" if name == "copysign" else ""
            statement = self.dialect.workarounds.sign_bits[name]
            text = f"{own} _{name}_bits({own} x{more}) {{ {statement} return x; }}"
            self.functions[f"_{name}_bits"] = f"{self.dialect.syntax.function} {text}"
            return f"_{name}_bits"
        found = self.dialect.math.functions[name]
        predicate = name in ("isnan", "isinf", "isfinite")
        return found if t != "float32" or predicate else self.dialect.math.float32.format(found)

    def hidden(self, text: str, t: str) -> str:
        """A value that is hidden from the optimiser."""
        name = f"_hidden_{SHORT[t]}"
        if name not in self.functions:
            own, statement = self.type(t), self.dialect.workarounds.hidden[t]
            body = f"{own} {name}({own} x) {{ {statement} return x; }}"
            self.functions[name] = f"{self.dialect.syntax.function} {body}"
        return f"{name}({text})"

    def barred(self, text: str, t: str, part: object = None) -> str:
        """A float of which the compiler knows nothing in a part, or which it must compute."""
        pragmas = self.dialect.pragmas
        statement = (pragmas.kept if part is None else pragmas.barrier).get(t)
        if statement is None:
            return text
        name = f"_kept_{SHORT[t]}" if part is None else f"_part{part}_{SHORT[t]}"
        own = self.type(t)
        statement = statement.replace("{text}", f"/* part {part} */")
        body = f"{own} {name}({own} x) {{ {statement} return x; }}"
        self.functions[name] = f"{self.dialect.syntax.function} {body}"
        return f"{name}({text})"

    def converted(self, text: str, t: str) -> str:
        """An integer converted to another type; `text` is parenthesised."""
        if t == "int16" and self.dialect.workarounds.hidden:
            text = self._hidden_int32(text)
        return f"({self.type(t)}){text}"

    def compared(self, text: str, type: Scalar) -> str:
        """An operand of a comparison; `text` is parenthesised."""
        if not type.is_integer or type.bits >= 32 or not self.dialect.workarounds.hidden:
            return self.value(text, type)
        return self._hidden_int32(text)

    def value(self, text: str, type: Scalar) -> str:
        """A number that can be compared; `text` is parenthesised."""
        wide = self.dialect.float16 if type.name == "float16" else None
        return text if wide is None else wide.value.format(text)

    def _hidden_int32(self, text: str) -> str:
        return self.hidden(f"({self.dialect.types['int32']}){text}", "int32")

    def negated(self, text: str, type: Scalar) -> str:
        """The negative of an integer, with wrap-around; `text` is parenthesised."""
        if type.bits <= 32 and self.dialect.workarounds.negative:
            own = self.dialect.types["int32"]
            body = f"{own} _negative({own} x) {{ {self.dialect.workarounds.negative} return x; }}"
            self.functions["_negative"] = f"{self.dialect.syntax.function} {body}"
            return self.converted(f"_negative(({own}){text})", type.name)
        wide = self.dialect.types["uint64" if type.bits == 64 else "uint32"]
        text = f"(({wide})0 - ({wide}){text})"
        if type.name not in self.dialect.workarounds.hidden:
            return self.converted(text, type.name)
        return self.hidden(f"({self.type(type.name)}){text}", type.name)

    def use(self, name: str, type: Scalar) -> str:
        """Name of a function of this file, which is added to the source."""
        t = type.name
        strict = self.strict and type.kind == "c" and name not in _NEVER_CONTRACTED
        full = f"_{name}_{SHORT[t]}{'_strict' if strict else ''}"
        if full not in self.functions:
            table: Mapping[str, str] = _ORDERED
            if name not in _ORDERED:
                table = {"i": _SIGNED, "u": _UNSIGNED, "f": _REAL, "c": _COMPLEX}[type.kind]
            if name in _BY_BIT and not self.dialect.math.popcount:
                table = _BY_BIT
            text = self._expanded(table[name], t, type)
            if strict:
                text = text.replace(f"_{name}_{SHORT[t]}(", f"{full}(", 1)
                begin, _, rest = text.partition("{")
                pragma = self.dialect.pragmas.no_contraction_here
                text = f"{begin}{{\n{pragma}\n{rest.removeprefix(chr(10))}"
            self.functions[full] = f"{self.dialect.syntax.function} {text}"
        return full

    def _expanded(self, template: str, t: str, type: Scalar) -> str:
        text = template
        for other in ("make", "mul", "truediv", "exp", "log", "sinh", "cosh", "tanh"):
            if f"{{{other}}}" in text:
                text = text.replace(f"{{{other}}}", self.use(other, type))
        part = PARTS.get(t, t)
        for name in _CALLED:
            own = self.math("abs" if name == "fabs" else name, part)
            text = text.replace(f"${name}(", f"{own}(")
        huge = {"float64": "0x1p+1021", "float32": "0x1p+125f"}.get(part, "")
        text = text.replace("$huge", huge).replace("$nan", self.nan(part))
        math, size = self.dialect.math, max(type.bits, 32)
        for word, forms in (("$popcount", math.popcount), ("$leading_zeros", math.leading_zeros)):
            if word in text:
                text = text.replace(word, forms[size].format("a"))
        text = text.replace("$S", str(size - type.bits))
        unsigned = self.dialect.types.get(f"uint{type.bits}", "")
        text = re.sub(r"\$to\((.*?)\);", lambda found: f"{self.converted(found[1], t)};", text)
        text = re.sub(r"\$c\((\w)\)", lambda found: self.compared(found[1], type), text)
        text = re.sub(r"\$v\((\w)\)", lambda found: self.value(found[1], type), text)
        if "$neg(a)" in text:
            text = text.replace("$neg(a)", self.negated("a", type))
        text = text.replace("$T", self.type(t)).replace("$U", unsigned)
        text = text.replace("$W", str(type.bits))
        return text.replace("$P", self.dialect.types[part]).replace("$N", SHORT[t])

    def nan(self, part: str) -> str:
        """A NaN of a floating type."""
        pattern = {"float64": "0x7ff8000000000000", "float32": "0x7fc00000", "float16": "0x7e00"}
        return self.dialect.bits[part].format(pattern[part]) if part in pattern else ""

    def source(self) -> str:
        """All definitions that were used."""
        return "\n".join([*self.structs.values(), *self.functions.values()])
