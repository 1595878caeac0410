"""Printer for the oracle: plain Python over NumPy scalars, one statement a line.

The text runs under CPython, so pdb steps through it. Every value is a NumPy scalar of the
type that the IR says, and Views are checked accessors.
"""

from __future__ import annotations

from .. import ir
from ..infer import STATUS
from ..types import Record, Scalar, ViewTy
from .atomics import oracle_lines
from .numba import _float_text, type_name
from .python import INFIX, Line, PythonPrinter, function_name, identifier

_NUMPY_NAMES = {
    "asin": "arcsin", "acos": "arccos", "atan": "arctan", "asinh": "arcsinh",
    "acosh": "arccosh", "atanh": "arctanh", "atan2": "arctan2", "abs": "abs", "pow": "power",
    "truncdiv": "floor_divide", "truncmod": "remainder", "floordiv": "floor_divide",
    "mod": "remainder", "lshift": "left_shift", "rshift": "right_shift", "neg": "negative",
    "invert": "invert", "reduce_sum": "add", "reduce_prod": "multiply", "reduce_min": "minimum",
    "reduce_max": "maximum",
}  # fmt: skip
_RUNTIME = {
    "minimum": "minimum", "maximum": "maximum", "fmin": "fmin", "fmax": "fmax",
    "min": "python_min", "max": "python_max", "erf": "erf", "erfc": "erfc", "gamma": "gamma",
    "lgamma": "lgamma",
}  # fmt: skip


HEAD = "import numpy as np\n\nfrom execspace_compiler import oracle as _r"


class OraclePrinter(PythonPrinter):
    """Prints a module for CPython."""

    def text(self) -> str:
        """All functions of the module."""
        lines = [HEAD]
        for f in self.module.functions:
            lines += ["", "", *self.function(f)]
        return "\n".join(lines) + "\n"

    def function(self, f: ir.Function) -> list[str]:
        names = ", ".join(identifier(p.name) for p in f.parameters)
        head = f"def {function_name(f.name)}({names}):"
        return [Line(head, f.loc), *self.block(f.body, 1)]

    def const(self, e: ir.Const) -> str:
        if e.type.is_float:
            return f"{type_name(e.type)}({_float_text(float(e.value))})"
        if e.type.kind == "c":  # repr would lose the sign of a zero part
            z = complex(e.value)
            parts = f"{_float_text(z.real)}, {_float_text(z.imag)}"
            return f"{type_name(e.type)}(complex({parts}))"
        return f"{type_name(e.type)}({e.value!r})"

    def extent(self, e: ir.Extent) -> str:
        return f"{identifier(e.view.name)}.extent({e.dimension})"

    def load(self, e: ir.Load) -> str:
        view = identifier(e.view.name)
        if e.byte is not None:
            place = f"({self._indices(e.indices)}), {self.expr(e.byte)}, {type_name(e.type)}"
            return f"{view}.field({place})"
        return f"{view}[{self._indices(e.indices)}]"

    def store(self, s: ir.Store) -> str:
        view = identifier(s.view.name)
        value = self.expr(s.value)
        if s.byte is not None:
            return f"{view}.set_field(({self._indices(s.indices)}), {self.expr(s.byte)}, {value})"
        return f"{view}[{self._indices(s.indices)}] = {value}"

    def atomic(self, s: ir.Atomic) -> list[str]:
        name = None if s.name is None else identifier(s.name)
        key = f"({self._indices(s.indices)})"
        return oracle_lines(self, s, identifier(s.view.name), key, type_name(s.type), name)

    def clear(self, s: ir.Clear) -> str:
        t = s.array.type
        assert isinstance(t, ViewTy) and t.shape is not None
        if isinstance(t.element, Record):
            element = f"({t.element.itemsize}, )"  # a record is its bytes
            return f"{identifier(s.array.name)} = _r.local_records({t.shape}, {element})"
        return f"{identifier(s.array.name)} = _r.local({t.shape}, {type_name(t.element)})"

    def fail(self, s: ir.Fail) -> str:
        indices = "".join(f"int({self.expr(i)}), " for i in s.indices)
        return f"{STATUS}.fail(int({self.expr(s.code)}), ({indices}))"

    def print(self, s: ir.Print) -> str:
        text, values = self.format(s, "")
        return f"_r.printf({text!r}, ({values}))"

    def _indices(self, indices: tuple[ir.Expr, ...]) -> str:
        return "".join(f"{self.expr(i)}, " for i in indices) or "()"

    def call(self, e: ir.Call) -> str:
        return f"{function_name(e.function)}({', '.join(self.expr(a) for a in e.args)})"

    def loop_range(self, s: ir.For) -> str:
        return f"_r.int_range({self.expr(s.start)}, {self.expr(s.stop)}, {self.expr(s.step)})"

    def operation(self, e: ir.Op, args: list[str]) -> str:
        name, t = e.op, e.type
        operand = e.args[0].type
        assert isinstance(operand, Scalar)
        if name == "cast":
            return f"_r.cast({args[0]}, {type_name(t)})"
        if name == "bounded":
            return f"_r.bounded({args[0]}, {args[1]})"
        if t.kind == "c" and name == "sqrt":
            return f"_r.complex_sqrt({args[0]})"
        if t.kind == "c" and name in ("mul", "truediv"):
            return f"_r.complex_{'mul' if name == 'mul' else 'div'}({args[0]}, {args[1]})"
        if name in ("and", "or"):
            return f"({args[0]} {INFIX[name]} {args[1]})"
        if name in INFIX:
            return f"({args[0]} {INFIX[name]} {args[1]})"
        if name == "not":
            return f"(not {args[0]})"
        if name == "pow" and t.is_integer:
            return f"_r.int_pow({args[0]}, {args[1]})"
        if name == "complex":
            return f"{type_name(t)}(complex({args[0]}, {args[1]}))"
        if name in _RUNTIME:
            return f"_r.{_RUNTIME[name]}({', '.join(args)})"
        return f"np.{_NUMPY_NAMES.get(name, name)}({', '.join(args)})"
