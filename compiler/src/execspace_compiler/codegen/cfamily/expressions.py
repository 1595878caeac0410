"""Expressions of IR as C, with the names, types and Views in them.

Integer arithmetic of users is done in unsigned types, where C lets it wrap. Views are a pointer, an
index of their first element, their strides and, where used, their extents.
"""

from __future__ import annotations

import math
from functools import partial

import numpy as np

from ... import ir
from ...analysis.carried import loops_with_dependences
from ...analysis.extents import extents_used
from ...ir.ops import COMPARISONS
from ...ir.types import BOOL, INDEX_WEAK, Record, Scalar, TupleTy, ViewTy
from ...mapping.scan_packs import ALIKE
from ...teams.device import Shape
from .accesses import bytewise, is_nontemporal, whole_complex
from .dialect import Dialect, Float16Bits
from .float16_bits import bits_of, in_float32, is_float16
from .prelude import SHORT, Prelude, code_of
from .spelling import ascii_name, is_plain, part_of_view

INFIX = {
    "add": "+", "sub": "-", "mul": "*", "truediv": "/", "truncdiv": "/", "truncmod": "%",
    "bitand": "&", "bitor": "|", "bitxor": "^", "lt": "<", "le": "<=", "gt": ">", "ge": ">=",
    "eq": "==", "ne": "!=", "and": "&&", "or": "||",
}  # fmt: skip
_CHOICES = frozenset(("min", "max", "minimum", "maximum", "fmin", "fmax")) | {
    f"{how}_{comparison}" for how in ("keep", "replace") for comparison in COMPARISONS[:4]
}
_WORDS = 4, 8  # bytes of what one access loads
_JOINS = {"reduce_sum": "add", "reduce_prod": "mul", "reduce_min": "minimum",
          "reduce_max": "maximum"}  # fmt: skip


class ExpressionPrinter:
    """Prints expressions of a module's functions in a dialect."""

    def __init__(
        self, module: ir.Module, dialect: Dialect, small: bool = False, team: Shape | None = None,
        once: bool = False,
    ) -> None:  # fmt: skip
        self.module = module
        self.team = team  # mapping of teams to groups of work-items, if any
        self.joins = 0  # bytes of the group's memory that a team needs for collectives
        self.small = small  # offsets in Views fit in 32 bits
        self.dialect = dialect
        self.prelude = Prelude(dialect)
        self.functions = {f.name: f for f in module.functions}
        self.extents = extents_used(module.functions, ALIKE)
        self.once = once  # Views with the trait "nontemporal" are loaded so
        in_order = dialect.pragmas.loop_in_order
        self.dependent = loops_with_dependences(module.functions) if in_order else frozenset()
        self.tuples: dict[str, str] = {}
        self.temporaries = 0

    # -- names and types ------------------------------------------------------------------------

    def temporary(self, what: str) -> str:
        """An unused name."""
        self.temporaries += 1
        return f"_{what}{self.temporaries}"

    def identifier(self, name: str) -> str:
        """A variable's name: ASCII, and not reserved in the language.

        Changed names get a prefix that neither users' names nor the compiler's have.
        """
        if not is_plain(name):
            return f"_u_{ascii_name(name)}"
        taken = name in self.dialect.reserved.names or self.dialect.reserved.form.fullmatch(name)
        return f"_u_{name}" if taken else name

    def function_name(self, name: str) -> str:
        """Name of a function, which cannot clash with variables and functions of the language."""
        # Parts of Views and variables have no such suffix; the compiler's begin with "_".
        return f"{ascii_name(name)}_f_" if name[0] == "_" else f"_{ascii_name(name)}_f"

    def type(self, t: Scalar) -> str:
        """Type of values."""
        return self.prelude.type(t.name)

    def stored(self, t: Scalar) -> str:
        """Type of elements in memory: bools are bytes."""
        return self.prelude.type("uint8" if t == BOOL else t.name)

    def result_type(self, t: Scalar | TupleTy | None) -> str:
        """Result type of a function; several numbers are a struct."""
        if t is None:
            return "void"
        if isinstance(t, Scalar):
            return self.type(t)
        scalars = [i for i in t.items if isinstance(i, Scalar)]
        name = "_t_" + "_".join(map(code_of, scalars))
        if name not in self.tuples:
            fields = " ".join(f"{self.type(s)} f{n};" for n, s in enumerate(scalars))
            self.tuples[name] = f"typedef struct {{ {fields} }} {name};"
        return name

    def pointer(self, t: ViewTy, name: str) -> str:
        """Declaration of the pointer to a View's elements, or to those of a local array."""
        if isinstance(t.element, Record):
            element = self.dialect.types["uint8"]
        else:
            element = self.stored(t.element)
        space = self.space(t)
        const = "const " if t.readonly else ""
        return f"{space}{const}{element} *{name}"

    def space(self, t: ViewTy) -> str:
        """Address space of pointers to a View's elements."""
        if t.shape is not None:
            return ""
        return self.dialect.memory.group if "group" in t.traits else self.dialect.memory.device

    # -- Views ----------------------------------------------------------------------------------

    def components(self, function: str, p: ir.Var) -> list[tuple[str, str]]:
        """Declaration and name of each part of a View: pointer, first element, strides, extents."""
        assert isinstance(p.type, ViewTy)
        name = self.identifier(p.name)
        found = [(self.pointer(p.type, name), name)]
        if p.type.shape is not None:
            return found
        long, step = self.dialect.types["int64"], self.dialect.types[self.stride_type.name]
        dims = range(p.type.rank)
        if not p.type.mapped:
            strides = [part_of_view(name, f"s{d}") for d in dims if p.type.stride(d) is None]
            found += [(f"const {step} {n}", n) for n in strides]
        if p.name in self.extents[function]:
            extents = [part_of_view(name, f"n{d}") for d in dims]
            found += [(f"const {long} {n}", n) for n in extents]
        return found

    @property
    def stride_type(self) -> Scalar:
        """Type of strides: with 64 bits, compilers would compute all offsets in 64."""
        return Scalar("int32" if self.small else "int64")

    def offset(self, view: ir.Var, indices: tuple[ir.Expr, ...]) -> str:
        """Index of an element from the View's first one."""
        assert isinstance(view.type, ViewTy)
        name = self.identifier(view.name)
        if view.type.mapped or len(indices) < view.type.rank:  # the index is the offset
            return self.expr(indices[0])
        # No sum of some of the terms exceeds 31 bits if the element exists. In signed numbers,
        # which do not wrap, compilers increment addresses in loops.
        word = self.dialect.types["int32"]
        narrow = self.small and has_long_offset(view.type)
        terms = []
        for d, i in enumerate(indices):
            known = view.type.stride(d)
            stride = part_of_view(name, f"s{d}") if known is None else str(known)
            index = self.expr(i)
            if narrow:
                index = f"({word}){index}"
            terms.append(index if known == 1 else f"{index} * {stride}")
        text = " + ".join(terms) or "0"
        return text

    def field(self, e: ir.Load | ir.Store | ir.Atomic, t: Scalar) -> str:
        """Pointer to a number within a record."""
        assert isinstance(e.view.type, ViewTy) and e.byte is not None
        size = e.view.type.element.itemsize
        name = self.identifier(e.view.name)
        element = f"({self.offset(e.view, e.indices)})"
        if self.small:
            element = f"({self.dialect.types['int64']}){element}"
        kind = f"{self.space(e.view.type)}{'const ' if isinstance(e, ir.Load) else ''}"
        if isinstance(e.view.type.element, Scalar):  # part of a complex number
            name = f"({kind}char *){name}"
        place = f"{name} + {element} * {size} + {self.expr(e.byte)}"
        return f"({kind}{self.stored(t)} *)({place})"

    def aligned(self, e: ir.Load | ir.Store) -> bool:
        """Whether a number within a record is aligned."""
        assert isinstance(e.view.type, ViewTy) and e.byte is not None
        t = e.type if isinstance(e, ir.Load) else e.value.type
        assert isinstance(t, Scalar)
        size = t.itemsize // 2 if t.kind == "c" else t.itemsize
        constant = isinstance(e.byte, ir.Const) and e.byte.value % size == 0
        return constant and e.view.type.element.itemsize % size == 0

    def is_whole(self, view: ir.Var) -> bool:
        """Whether both parts of its complex elements are read and written by one access."""
        t = view.type
        assert isinstance(t, ViewTy)
        is_complex = isinstance(t.element, Scalar) and t.element.kind == "c"
        in_device = t.shape is None and "group" not in t.traits
        return is_complex and in_device and self.dialect.memory.whole_complex

    def is_once(self, view: ir.Var) -> bool:
        """Whether elements of a View are loaded so that caches need not keep them."""
        return self.once and is_nontemporal(view)

    # -- expressions ----------------------------------------------------------------------------

    def expr(self, e: ir.Expr) -> str:
        """Source of an expression, parenthesised if needed."""
        match e:
            case ir.Const():
                text, t = self.const(e), e.type
                hide = t.is_float and e.value == 0 and t.name in self.dialect.workarounds.hidden
                return self.prelude.hidden(text, t.name) if hide else text
            case ir.Var():
                return self.identifier(e.name)
            case ir.Op():
                return self.operation(e, [self.operand(e.op, a) for a in e.args])
            case ir.Select():
                return f"({self.expr(e.test)} ? {self.expr(e.then)} : {self.expr(e.orelse)})"
            case ir.Load():
                return self.load(e)
            case ir.LoadAt():
                return f"{self.identifier(e.pointer.name)}[{self.expr(e.index)}]"
            case ir.Beyond():
                assert isinstance(e.view.type, ViewTy)
                size = e.view.type.element.itemsize
                place = f"{self.identifier(e.view.name)} + ({self.offset(e.view, e.indices)})"
                if not isinstance(e.view.type.element, Scalar):  # whose pointers count bytes
                    place += f" * {size}"
                word = self.dialect.types["uint64"]
                return f"(int)(({word})({place}) / {size}U % {e.count}U)"
            case ir.Extent():
                return part_of_view(self.identifier(e.view.name), f"n{e.dimension}")
            case ir.Call():
                return self.call(e)

    def operand(self, operation: str, e: ir.Expr) -> str:
        """Source of an operand; only operations that select an operand may return a constant."""
        choice = operation in _CHOICES or operation == "cast"
        return self.const(e) if isinstance(e, ir.Const) and not choice else self.expr(e)

    def const(self, e: ir.Const) -> str:
        """A constant of its type."""
        t = e.type
        if t.kind == "b":
            return "true" if e.value else "false"
        if t.kind == "c":
            part = Scalar("float32" if t.name == "complex64" else "float64")
            z = complex(e.value)
            parts = ", ".join(self.const(ir.Const(v, part)) for v in (z.real, z.imag))
            return f"{self.prelude.use('make', t)}({parts})"
        if t.is_float:
            return self.float_const(float(e.value), t)
        value = int(e.value)
        suffix = self.dialect.suffixes.get(t.name, "")
        least = -(1 << (t.bits - 1))
        if t.kind == "i" and value == least and t.bits >= 32:
            return f"({least + 1}{suffix} - 1)"
        text = f"{value}{suffix}"
        if t.bits < 32:
            text = f"({self.type(t)}){text}" if value >= 0 else f"({self.type(t)})({text})"
            return f"({text})"
        return f"({text})" if value < 0 else text

    def float_const(self, value: float, t: Scalar) -> str:
        """A floating constant, exact."""
        with np.errstate(over="ignore"):  # rounded once; C converts to float16 by float32
            value = float(np.dtype(t.name).type(value))
        if t.name == "float16" and self.dialect.float16 is not None:
            return self.dialect.bits["float16"].format(bits_of(value))
        if math.isnan(value):
            return self.prelude.nan(t.name)
        if math.isinf(value):
            pattern = {"float64": "0x7ff0000000000000", "float32": "0x7f800000"}.get(t.name)
            text = self.dialect.bits[t.name].format(pattern or "0x7c00")
            return text if value > 0 else f"(-{text})"
        if value == int(value) and abs(value) < 1e15:
            text = f"{value:.1f}"
        else:
            text = value.hex()
        text += {"float32": "f", "float16": "h"}.get(t.name, "")
        if t.name == "float16":
            text = f"({self.type(t)}){text.removesuffix('h')}f"
        return f"({text})" if text[0] in "-(" else text

    def load(self, e: ir.Load) -> str:
        """An element of a View."""
        if e.byte is not None:
            pointer = self.field(e, e.type)
            text = f"*{pointer}"
            if not self.aligned(e):
                assert isinstance(e.view.type, ViewTy)
                load = bytewise(self.prelude, "load", e.type, self.space(e.view.type))
                text = f"{load}({pointer})"
        else:
            text = f"{self.identifier(e.view.name)}[{self.offset(e.view, e.indices)}]"
            once = self.is_once(e.view)
            if self.is_whole(e.view):
                load = "load_once" if once else "load"
                text = f"{whole_complex(self.prelude, load, e.type)}(&{text})"
            elif once and e.type.itemsize in _WORDS:
                form, size = self.dialect.memory.nontemporal_number, e.type.itemsize
                text = form.format(type=self.type(e.type), bytes=size, p=f"&{text}")
        return f"({text} != 0)" if e.type == BOOL else f"({text})" if text[0] == "*" else text

    def call(self, e: ir.Call) -> str:
        """Call of a function of the module."""
        args = self.arguments(e.function, self.functions[e.function].parameters, e.args)
        return f"{self.function_name(e.function)}({', '.join(args)})"

    def arguments(
        self, callee: str, parameters: tuple[ir.Var, ...], args: tuple[ir.Expr, ...]
    ) -> list[str]:
        """Arguments of a call, with Views as their components."""
        out: list[str] = []
        for p, a in zip(parameters, args, strict=True):
            if isinstance(p.type, ViewTy):
                assert isinstance(a, ir.Var)
                mine, own = self.identifier(p.name), self.identifier(a.name)
                for _, part in self.components(callee, p):
                    out.append(own if part == mine else part_of_view(own, part.split("_")[-1]))
            else:
                out.append(self.expr(a))
        return out

    def operation(self, e: ir.Op, args: list[str]) -> str:
        """An operation, from the source of its operands."""
        name, t = e.op, e.type
        operand = e.args[0].type
        assert isinstance(operand, Scalar)
        if name == "bounded":
            return args[0]
        if name == "stored":
            number = e.args[1]
            assert isinstance(number, ir.Const)
            return self.prelude.barred(args[0], t.name, number.value)
        if name == "kept":
            return self.prelude.barred(args[0], t.name)
        if name == "cast":
            return self.cast(args[0], operand, t)
        if name == "bit_cast":
            form = f"from {operand.name}" if operand.is_float else f"to {t.name}"
            return f"({self.dialect.bits[form].format(args[0])})"
        if name == "opaque":  # or compilers would compute in the wider type that it is cast to
            return self.opaque(args[0], t)
        if name == "scaled":
            rest, factor, shift = args
            high = self.dialect.math.mul_hi.format(a=f"(2U * {rest})", b=factor)
            return f"({high} >> {shift})"
        if name in ("reduce_min", "reduce_max") and t.is_integer and t.bits < 32:
            join = name.replace("reduce", "join")
            return f"{self.prelude.use(join, t.strong)}({', '.join(args)})"
        name = _JOINS.get(name, name)
        if name in ("not",):
            return f"(!{args[0]})"
        if name in ("and", "or"):
            return f"({args[0]} {INFIX[name]} {args[1]})"
        if operand.kind == "c" and name not in ("real", "imag"):
            return f"{self.prelude.use(name, operand)}({', '.join(args)})"
        if name in ("real", "imag"):
            part = "re" if name == "real" else "im"
            if operand.kind == "c":
                return f"{args[0]}.{part}"
            return args[0] if name == "real" else self.const(ir.Const(0, t.strong))
        if name == "conj":
            return args[0]
        if name == "copysign" and t.name == "float16":  # which keeps the sign of a NaN
            magnitude, other = (self.dialect.bits["from float16"].format(a) for a in args)
            word = self.dialect.types["uint16"]
            return self.dialect.bits["to float16"].format(
                f"({word})(({magnitude} & 0x7fff) | ({other} & 0x8000))"
            )
        if self.dialect.float16 is not None and "float16" in (operand.name, t.name):
            return self.float16_operation(ir.Op(name, e.args, t), args, self.dialect.float16)
        if name == "complex":
            return f"{self.prelude.use('make', t)}({', '.join(args)})"
        if name in COMPARISONS[:4]:
            n = int(isinstance(e.args[0], ir.Const))
            args[n] = self.prelude.compared(args[n], operand)
        if name in COMPARISONS:
            return f"({args[0]} {INFIX[name]} {args[1]})"
        if t == BOOL and name in ("bitand", "bitor", "bitxor", "minimum", "maximum", "min", "max"):
            sign = {"minimum": "&", "min": "&", "maximum": "|", "max": "|"}.get(name)
            return f"(bool)({args[0]} {sign or INFIX[name]} {args[1]})"
        if t.is_integer:
            if self.dialect.workarounds.hidden and (negated := _negated(e)) is not None:
                name, args = "neg", [self.operand("neg", negated)]
            return self.integer_operation(name, t, args)
        if name in ("add", "sub", "mul", "truediv"):
            return self.rounded(f"({args[0]} {INFIX[name]} {args[1]})", t)
        if name == "neg":
            return f"(-{args[0]})"
        if name in ("floordiv", "mod") and t.name == "float16":  # several operations, as in NumPy
            single = Scalar("float32")
            args = [f"({self.type(single)}){a}" for a in args]
            return self.rounded(f"{self.prelude.use(name, single)}({', '.join(args)})", t)
        if name in ("floordiv", "mod", *_CHOICES):
            return f"{self.prelude.use(name, t.strong)}({', '.join(args)})"
        if name in ("isnan", "isinf", "isfinite"):
            if not operand.is_float:
                return "true" if name == "isfinite" else "false"
            return f"({self.prelude.math(name, operand.name)}({args[0]}) != 0)"
        return self.rounded(f"{self.prelude.math(name, t.name)}({', '.join(args)})", t)

    def float16_operation(self, e: ir.Op, args: list[str], forms: Float16Bits) -> str:
        """An operation on numbers that are their bits, or one that gives such a number."""
        self.prelude.float16 = True
        if e.op in _CHOICES:
            return f"{self.prelude.use(e.op, e.type.strong)}({', '.join(args)})"
        if e.op == "neg":
            return f"(({self.dialect.types['uint16']})({args[0]} ^ 0x8000))"
        wide = in_float32(e)
        values = list(args)
        for n, (narrow, operand) in enumerate(zip(e.args, wide.args, strict=True)):
            if is_float16(narrow):
                values[n] = forms.value.format(args[n])
            if isinstance(operand, ir.Const):
                values[n] = self.const(operand)
        text = self.operation(wide, values)
        return forms.nearest.format(text) if is_float16(e) else text

    def rounded(self, text: str, t: Scalar) -> str:
        """A result in the precision of its type."""
        return f"({self.type(t)}){text}" if t.name == "float16" else text

    def integer_operation(self, name: str, t: Scalar, args: list[str]) -> str:
        """An operation on integers, which wraps."""
        plain = t.weak == INDEX_WEAK  # index arithmetic, which is assumed not to overflow
        to = partial(self.prelude.converted, t=t.name)
        if name in ("truncdiv", "truncmod", "bitand", "bitor", "bitxor"):
            text = f"({args[0]} {INFIX[name]} {args[1]})"
            return text if t.bits >= 32 else f"({to(text)})"
        if name in ("add", "sub", "mul"):
            if plain or (t.kind == "u" and t.bits >= 32):
                return f"({args[0]} {INFIX[name]} {args[1]})"
            wide = self.dialect.types["uint64" if t.bits == 64 else "uint32"]
            return f"({to(f'(({wide}){args[0]} {INFIX[name]} ({wide}){args[1]})')})"
        if name == "neg":
            if plain and not (t.bits == 32 and self.dialect.workarounds.negative):
                return f"(-{args[0]})"
            return f"({self.prelude.negated(args[0], t)})"
        if name == "invert":
            return f"({to(f'~{args[0]}')})"
        return f"{self.prelude.use(name, t.strong)}({', '.join(args)})"

    def opaque(self, text: str, t: Scalar) -> str:
        """An integer of 32 bits about which optimisers know nothing, where there are such forms."""
        if "int32" not in self.dialect.workarounds.hidden:
            return text
        hidden = self.prelude.hidden(f"({self.dialect.types['int32']})({text})", "int32")
        return hidden if t.name == "int32" else f"({self.type(t)}){hidden}"

    def cast(self, text: str, source: Scalar, t: Scalar) -> str:
        """A conversion, as by NumPy's astype."""
        if source.strong == t.strong:
            return text
        forms = self.dialect.float16
        if forms is not None and "float16" in (source.name, t.name):
            self.prelude.float16 = True  # also where no variable has this type
        if forms is not None and source.name == "float16":
            text, source = forms.value.format(text), Scalar("float32")
        if forms is not None and t.name == "float16":
            single = source.name == "float32"
            return (forms.nearest if single else forms.nearest_once).format(text)
        if t == BOOL:
            zero = self.const(ir.Const(0, source.strong))
            if source.kind == "c":
                return f"{self.prelude.use('ne', source)}({text}, {zero})"
            return f"({text} != {zero})"
        if t.kind == "c":
            part = Scalar("float32" if t.name == "complex64" else "float64")
            if source.kind == "c":
                kind, name = self.type(part), f"_to_{SHORT[t.name]}"
                if name not in self.prelude.functions:
                    own, other = self.type(t), self.type(source)
                    made = f"{self.prelude.use('make', t)}(({kind})z.re, ({kind})z.im)"
                    self.prelude.functions[name] = (
                        f"{self.dialect.syntax.function} "
                        f"{own} {name}({other} z) {{ return {made}; }}"
                    )
                return f"{name}({text})"
            zero = self.const(ir.Const(0, part))
            return f"{self.prelude.use('make', t)}(({self.type(part)}){text}, {zero})"
        if source.is_float and t.is_integer and t.bits < 64:
            whole = f"({self.dialect.types['int64']}){text}"
            return f"({self.prelude.converted(whole, t.name)})"
        if source.is_integer and source.bits >= 16:
            return f"({self.prelude.converted(text, t.name)})"
        return f"(({self.type(t)}){text})"


def _negated(e: ir.Op) -> ir.Expr | None:
    """The negated operand, if an operation is a negation in another form."""
    for a, other in ((e.args[0], e.args[-1]), (e.args[-1], e.args[0])):
        number = a.value if isinstance(a, ir.Const) else None
        if e.op == "mul" and number == -1:
            return other
        if e.op == "add" and number == 1 and isinstance(other, ir.Op) and other.op == "invert":
            return other.args[0]
        if e.op == "sub" and number == 0 and a is e.args[0]:
            return other
    return None


def has_long_offset(t: ViewTy) -> bool:
    """Whether offsets of elements need more arithmetic than an index."""
    return t.shape is None and not t.mapped and (t.rank > 1 or t.stride(0) != 1) and t.rank > 0
