"""Vectors in C, for compilers that have GCC's vector extensions: types and operations.

Operators of C act lane by lane on these. An operation is a function of its own, which is inlined;
what has no operators is written out lane by lane, as operations on numbers, which compilers join
where processors have instructions. Masks are vectors of integers, all of whose bits are set in
lanes that are on.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property

from ... import ir
from ...ir.ops import COMPARISONS
from ...ir.types import INT64, Scalar, Vector
from ..lane_bits import lane_bits
from .expressions import INFIX, ExpressionPrinter
from .prelude import PARTS, SHORT, code_of

_NAMES = "abc"  # of operands
_INFIX = frozenset(("add", "sub", "mul", "bitand", "bitor", "bitxor"))  # of C, lane by lane
_TESTED = frozenset((8, 16, 32, 64))  # bytes of masks for which the head has a test
# Test, and what is chosen if it holds and if it does not; see ops.py.
_CHOICES = {
    "min": ("b < a", "b", "a"), "max": ("b > a", "b", "a"),
    "minimum": ("(a < b) | (a != a)", "a", "b"), "maximum": ("(a > b) | (a != a)", "a", "b"),
    "fmin": ("(a <= b) | (b != b)", "a", "b"), "fmax": ("(a >= b) | (b != b)", "a", "b"),
} | {f"keep_{name}": (f"a {INFIX[name]} b", "a", "c") for name in COMPARISONS[:4]} | {
    f"replace_{name}": (f"a {INFIX[name]} b", "c", "a") for name in COMPARISONS[:4]
}  # fmt: skip
_OF_MASKS = {"min": "a & b", "minimum": "a & b", "max": "a | b", "maximum": "a | b",
             "bitand": "a & b", "bitor": "a | b", "bitxor": "a ^ b", "ne": "a ^ b",
             "eq": "~(a ^ b)", "not": "~a"}  # fmt: skip


def part_type(t: Vector) -> Vector:
    """Type of the parts of complex numbers, or of numbers themselves."""
    return replace(t, name=PARTS.get(t.name, t.name))


class Vectors:
    """Types and operations of vectors in the source of a printer."""

    def __init__(self, printer: ExpressionPrinter) -> None:
        self.printer, self.prelude = printer, printer.prelude

    @cached_property
    def mask_bits(self) -> int:
        """Bits of a lane of a mask."""
        return lane_bits(self.printer.module.functions)

    # -- types ----------------------------------------------------------------------------------

    def type(self, t: Vector) -> str:
        """Name of a type, which is defined if used; of complex numbers a struct of two vectors."""
        kind = f"int{self.mask_bits}" if t.name == "bool" else t.name
        name = f"_v{t.lanes}_{'mask' if t.name == 'bool' else SHORT[t.name]}"
        if t.kind == "c":
            part = self.type(part_type(t))
            self.prelude.structs.setdefault(name, f"typedef struct {{ {part} re, im; }} {name};")
            return name
        size = Scalar(kind).itemsize * t.lanes
        own = self.prelude.type(kind)
        text = f"typedef {own} {name} __attribute__((vector_size({size})));"
        self.prelude.structs.setdefault(name, text)
        return name

    def integers(self, t: Vector, kind: str = "int") -> str:
        """Type of integers that are as wide as numbers."""
        bits = self.mask_bits if t.name == "bool" else t.bits
        return self.type(Vector(f"{kind}{bits}", lanes=t.lanes))

    def mask(self, text: str, t: Vector) -> str:
        """A mask as integers that are as wide as the numbers of a type."""
        wide = self.integers(t)
        if t.name == "bool" or t.bits == self.mask_bits:
            return f"({wide}){text}"
        return f"__builtin_convertvector({text}, {wide})"

    # -- functions ------------------------------------------------------------------------------

    def function(self, name: str, result: str, parameters: str, body: Callable[[], str]) -> str:
        """The name of a function, which is added to the source if it is not there."""
        if name not in self.prelude.functions:
            head = f"{self.printer.dialect.syntax.function} __attribute__((always_inline))"
            text = body()  # functions that it calls come before it
            self.prelude.functions[name] = f"{head} {result} {name}({parameters}) {{ {text} }}"
        return name

    def const(self, e: ir.Const) -> str:
        """A constant in all lanes."""
        assert isinstance(e.type, Vector)
        number = self.printer.const(ir.Const(e.value, e.type.lane))
        return self.call("broadcast", [e.type.lane], e.type, [number])

    def operation(self, e: ir.Op) -> str:
        """An operation with vectors."""
        args = [self.printer.expr(a) for a in e.args]
        if e.op == "bounded":
            return args[0]
        types = [t for a in e.args if isinstance(t := a.type, Scalar)]
        return self.call(e.op, types, e.type, args, _shift(e))

    def call(
        self, op: str, types: Sequence[Scalar], t: Scalar, args: list[str], known: int | None = None
    ) -> str:
        """An operation, from the types and the text of its operands; `known`: by how many bits all
        lanes are shifted."""
        parts = [op, *map(code_of, types), code_of(t)]
        if known is not None:
            parts.append(str(known))
        if self.prelude.strict and any(s.kind == "c" for s in (*types, t)):
            parts.append("strict")
        pairs = zip(types, _NAMES, strict=False)
        given = ", ".join(f"{self.printer.type(s)} {n}" for s, n in pairs)
        name = self.function(
            "_" + "_".join(parts), self.printer.type(t), given,
            lambda: self._body(op, types, t, known),
        )  # fmt: skip
        return f"{name}({', '.join(args)})"

    def _body(self, op: str, types: Sequence[Scalar], t: Scalar, known: int | None) -> str:
        first = types[0]
        special = self._of_lanes(op, first, t)
        if special is not None:
            return special
        assert isinstance(first, Vector) and isinstance(t, Vector)
        if "c" in (first.kind, t.kind):
            found = self._of_complex(op, first, t)
        elif "bool" in (first.name, t.name):
            found = self._of_masks(op, first, t)
        elif known is not None:
            kind = first if op == "rshift" else Vector(f"uint{t.bits}", lanes=t.lanes)
            sign = "<<" if op == "lshift" else ">>"
            found = f"({self.type(t)})(({self.type(kind)})a {sign} {known})"
        else:
            found = self._of_numbers(op, first, t)
        return self.by_lane(op, types, t) if found is None else f"return {found};"

    # -- operations on lanes rather than numbers ------------------------------------------------

    def _of_lanes(self, op: str, first: Scalar, t: Scalar) -> str | None:
        """The body of an operation that is none of each lane with its like."""
        match op:
            case "broadcast":
                assert isinstance(t, Vector)
                return self._broadcast(t)
            case "ramp":
                assert isinstance(t, Vector)
                word = self.printer.dialect.types[f"uint{t.bits}"]
                row = ", ".join(f"({word})a + {k}U * ({word})b" for k in range(t.lanes))
                kind = self.type(Vector(f"uint{t.bits}", lanes=t.lanes))
                return f"return ({self.type(t)})({kind}){{{row}}};"
            case "lane":
                assert isinstance(first, Vector)
                if first.kind == "c":
                    return f"return {self.prelude.use('make', t)}(a.re[b], a.im[b]);"
                return "return a[b] != 0;" if first.name == "bool" else "return a[b];"
            case "any" | "all":
                assert isinstance(first, Vector)
                return self._some(op, first)
            case "first":
                assert isinstance(first, Vector)
                last = first.lanes - 1
                tests = "".join(f"a[{k}] ? {k} : " for k in range(last))
                return f"return {tests}{last};"
            case "blend":
                assert isinstance(t, Vector)
                return self._blend(t)
        return None

    def _broadcast(self, t: Vector) -> str:
        if t.kind == "c":
            part = part_type(t)
            pair = [self.call("broadcast", [part.lane], part, [f"a.{p}"]) for p in ("re", "im")]
            return f"return ({self.type(t)}){{{', '.join(pair)}}};"
        one = "a"
        if t.name == "bool":
            one = f"-({self.printer.dialect.types[f'int{self.mask_bits}']})a"
        return f"return ({self.type(t)}){{{', '.join([one] * t.lanes)}}};"

    def _some(self, op: str, t: Vector) -> str:
        """Whether a mask holds for any lane, or for all."""
        mask, sign = ("a", "") if op == "any" else ("~a", "!")
        size = t.lanes * self.mask_bits // 8
        if size in _TESTED:
            return f"return {sign}_some{size}((_q{size})({mask}));"
        lanes = " | ".join(f"m[{k}]" for k in range(t.lanes))
        return f"const {self.type(t)} m = {mask}; return {sign}(({lanes}) != 0);"

    def _blend(self, t: Vector) -> str:
        if t.kind == "c":
            part = part_type(t)
            types = [Vector("bool", lanes=t.lanes), part, part]
            pair = [
                self.call("blend", types, part, ["a", f"b.{p}", f"c.{p}"]) for p in ("re", "im")
            ]
            return f"return ({self.type(t)}){{{', '.join(pair)}}};"
        wide = self.integers(t)
        return (
            f"const {wide} m = {self.mask('a', t)}; "
            f"return ({self.type(t)})((({wide})b & m) | (({wide})c & ~m));"
        )

    # -- operations on numbers ------------------------------------------------------------------

    def _of_numbers(self, op: str, s: Vector, t: Vector) -> str | None:
        """An operation on integers or floats, if C has operators for it."""
        own, whole = self.type(t), t.is_integer
        if op == "cast":
            return self._cast(s, t)
        if op == "bit_cast":
            return f"({own})a"
        if op in _CHOICES:
            test, then, orelse = _CHOICES[op]
            wide = self.integers(t)
            m = f"({wide})({test})"
            return f"({own})((({wide}){then} & {m}) | (({wide}){orelse} & ~{m}))"
        if op in _INFIX or op in ("neg", "invert"):
            if op == "invert":
                return "~a"
            if not whole:
                return "-a" if op == "neg" else f"a {INFIX[op]} b"
            free = self.integers(t, "uint")
            if op == "neg":
                return f"({own})-({free})a"
            return f"({own})(({free})a {INFIX[op]} ({free})b)"
        if op == "truediv" and not whole:
            return "a / b"
        if op == "abs" and not whole:
            wide = self.integers(t)
            return f"({own})(({wide})a & ~({wide})-({own}){{{', '.join(['0'] * t.lanes)}}})"
        return None

    def _cast(self, s: Vector, t: Vector) -> str | None:
        own = self.type(t)
        if s.name == t.name:
            return "a"
        if s.is_float and t.is_integer:
            if t.name == "uint64":
                return None
            if t.bits < INT64.bits:
                long = self.type(Vector("int64", lanes=t.lanes))
                return f"__builtin_convertvector(__builtin_convertvector(a, {long}), {own})"
        return f"__builtin_convertvector(a, {own})"

    def _of_masks(self, op: str, s: Vector, t: Vector) -> str | None:
        """An operation that takes or gives masks."""
        if s.name == t.name:
            return "a" if op == "cast" else _OF_MASKS.get(op)
        if op == "cast" and s.name == "bool":
            return f"__builtin_convertvector(-a, {self.type(t)})"
        tests = {"cast": f"a != ({self.type(s)}){{0}}", "isnan": "a != a"}
        tests |= {name: f"a {INFIX[name]} b" for name in COMPARISONS}
        if op not in tests or s.name == "bool":
            return None
        own = self.type(t)
        if s.bits == self.mask_bits:
            return f"({own})({tests[op]})"
        return f"__builtin_convertvector({tests[op]}, {own})"

    def _of_complex(self, op: str, s: Vector, t: Vector) -> str | None:
        """An operation with complex numbers, part by part."""
        own = self.type(t)
        match op:
            case "add" | "sub":
                return f"({own}){{a.re {INFIX[op]} b.re, a.im {INFIX[op]} b.im}}"
            case "mul":
                return f"({own}){{a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re}}"
            case "neg":
                return f"({own}){{-a.re, -a.im}}"
            case "conj":
                return f"({own}){{a.re, -a.im}}"
            case "real" | "imag" if s.kind == "c":
                return f"a.{op[:2]}"
            case "complex":
                return f"({own}){{a, b}}"
        return None

    def by_lane(self, op: str, types: Sequence[Scalar], t: Vector) -> str:
        """The body of an operation on the numbers of one lane after another."""
        lane_types = [s.lane if isinstance(s, Vector) else s for s in types]
        given = tuple(ir.Var(n, s) for n, s in zip(_NAMES, lane_types, strict=False))
        one = ir.Op(op, given, t.lane)
        rows = []
        for k in range(t.lanes):
            args = [self._lane(s, n, k) for s, n in zip(types, _NAMES, strict=False)]
            rows.append(self.printer.operation(one, args))
        own = self.type(t)
        if t.kind == "c":
            number = self.printer.type(t.lane)
            held = " ".join(f"const {number} z{k} = {row};" for k, row in enumerate(rows))
            re, im = (", ".join(f"z{k}.{p}" for k in range(t.lanes)) for p in ("re", "im"))
            part = self.type(part_type(t))
            return f"{held} return ({own}){{({part}){{{re}}}, ({part}){{{im}}}}};"
        if t.name == "bool":
            word = self.printer.dialect.types[f"int{self.mask_bits}"]
            rows = [f"-({word})({row})" for row in rows]
        return f"return ({own}){{{', '.join(rows)}}};"

    def _lane(self, t: Scalar, name: str, k: int) -> str:
        if not isinstance(t, Vector):
            return name
        if t.kind == "c":
            return f"{self.prelude.use('make', t.lane)}({name}.re[{k}], {name}.im[{k}])"
        return f"({name}[{k}] != 0)" if t.name == "bool" else f"{name}[{k}]"


def _shift(e: ir.Op) -> int | None:
    """By how many bits all lanes are shifted, if that is known and less than they have."""
    if e.op not in ("lshift", "rshift") or not isinstance(e.type, Vector):
        return None
    by = e.args[1]
    if isinstance(by, ir.Op) and by.op == "broadcast":
        by = by.args[0]
    if isinstance(by, ir.Const) and 0 <= int(by.value) < e.type.bits:
        return int(by.value)
    return None
