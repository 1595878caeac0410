"""Printer for typed Numba Python: explicit types everywhere, raw pointers, no wrap-around.

Numba widens int32, and promotes float32 with integers to float64, so each result that Numba would
widen is cast. Views are a pointer, their strides and, where used, their extents; elements are
accessed by a linear int64 offset, without a multiplication for the dimension of stride one: the
only form that LLVM vectorises for contiguous Views and for subviews alike.
"""

from __future__ import annotations

import math

from ... import ir
from ...analysis.invariants import deep_loops
from ...ir import STATUS
from ...ir.ops import OPERATIONS
from ...ir.types import BOOL, INDEX_WEAK, Pointer, Record, Scalar, ViewTy
from .atomics import numba_lines
from .base import (
    COMPARISONS,
    INFIX,
    PythonPrinter,
    extents_used,
    function_name,
    identifier,
    part_of_view,
)

_NATIVE = frozenset(("int64", "uint64", "float64", "float32", "complex128", "complex64", "bool"))

# Operations that are functions of the runtime module, for all types.
_RUNTIME = {
    "fmod": "frem", "truncdiv": "truncdiv", "truncmod": "truncmod",
    "min": "python_min", "max": "python_max", "minimum": "minimum", "maximum": "maximum",
    "fmin": "fmin", "fmax": "fmax", "reduce_sum": "reduce_sum", "reduce_prod": "reduce_prod",
    "reduce_min": "reduce_min", "reduce_max": "reduce_max", "opaque": "opaque",
} | {n: n for n in OPERATIONS if n.startswith(("keep_", "replace_"))}  # fmt: skip
_MATH = frozenset((
    "sqrt", "exp", "expm1", "log", "log10", "log1p", "sin", "cos", "tan", "asin", "acos", "atan",
    "sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "erf", "erfc", "gamma", "lgamma", "atan2",
    "hypot", "copysign",
))  # fmt: skip
_NUMPY = frozenset((
    "cbrt", "exp2", "log2", "floor", "ceil", "trunc", "rint", "isnan", "isinf", "isfinite",
    "real", "imag",
))  # fmt: skip


def type_name(t: Scalar) -> str:
    """Name of the NumPy class that casts to a type."""
    return "np.bool_" if t.name == "bool" else f"np.{t.name}"


class NumbaPrinter(PythonPrinter):
    """Prints a module for Numba."""

    def __init__(self, module: ir.Module) -> None:
        super().__init__(module)
        self.extents = extents_used(module.functions)
        self.functions = {f.name: f for f in module.functions}
        self.body = [f for f in module.functions if not f.entry][-1]
        self.scopes: dict[str, int] = {}
        marked = frozenset(self._scopes(self.body)) if module.disjoint else frozenset()
        self.deep = deep_loops(module.functions, self.body, marked)
        # Loops that find failures are in the runtime.
        self.in_order = {
            s.call.function
            for f in module.functions
            for s in ir.walk_statements(f.body)
            if isinstance(s, ir.Failures) and id(s) in self.deep
        }

    def source(self) -> str:
        """The module's functions, each decorated for Numba."""
        lines: list[str] = []
        for f in self.module.functions:
            lines += ["", "", *self.function(f)]
        return "\n".join(lines) + "\n"

    def options(self, strict: bool = False) -> str:
        """Keyword arguments of `runtime.linked` and `runtime.stored`."""
        if strict:
            flags = "False"
        elif self.module.fastmath:
            flags = "True"
        else:
            flags = "{'contract'}" if self.module.fma else "False"
        return f"error_model='numpy', nogil=True, fastmath={flags}"

    def function(self, f: ir.Function) -> list[str]:
        parameters: list[str] = []
        prologue: list[str] = []
        self.scopes = self._scopes(f)
        for p in f.parameters:
            name = identifier(p.name)
            if isinstance(p.type, ViewTy):
                if f.entry:
                    parameters.append(part_of_view(name, "d"))
                    prologue += self._unpack(f, p)
                else:
                    parameters += self._components(f.name, p, name)
            elif isinstance(p.type, Pointer):
                parameters.append(part_of_view(name, "d"))
                if f.entry:
                    pointee = _pointee(p.type.element)
                    prologue.append(
                        f"    {name} = _r.pointer({part_of_view(name, 'd')}, {pointee})"
                    )
            else:
                parameters.append(name)
        # The body and its helpers must be inlined into the loops, or these are not vectorised.
        inline = "" if f.entry else "forceinline=True, "
        return [
            f"@_r.linked({inline}{self.options(f.strict)})",
            f"def {function_name(f.name)}({', '.join(parameters)}):",
            *prologue,
            *self._local_arrays(f),
            *(["    _r.in_order()"] if f.name in self.in_order else []),
            *self.block(f.body, 1),
        ]

    def _local_arrays(self, f: ir.Function) -> list[str]:
        out = []
        for name, t in f.locals.items():
            if isinstance(t, ViewTy) and t.shape is not None:
                size = math.prod(t.shape) * t.element.itemsize
                out.append(
                    f"    {identifier(name)} = _r.local_array({_pointee(t.element)}, {size})"
                )
        return out

    def _scopes(self, f: ir.Function) -> dict[str, int]:
        """Alias scope of each View of the kernel; helpers have none, since Views may be passed
        twice."""
        if f.entry or f is not self.body:
            return {}
        views = [
            p.name
            for p in f.parameters
            if isinstance(p.type, ViewTy) and isinstance(p.type.element, Scalar)
        ]
        return {name: n for n, name in enumerate(views)}

    def _unpack(self, f: ir.Function, p: ir.Var) -> list[str]:
        """Read a View's pointer, strides and extents from its descriptor."""
        assert isinstance(p.type, ViewTy)
        name, rank = identifier(p.name), p.type.rank
        pointee, address = _pointee(p.type.element), part_of_view(name, "d")
        out = [f"    {name} = _r.pointer(_r.peek({address}, 0), {pointee})"]
        for part in self._components(f.name, p, name)[1:]:
            d = int(part[-1])
            slot = 1 + d if part[-2] == "n" else 1 + rank + d
            out.append(f"    {part} = _r.peek({address}, {slot})")
        return out

    def _components(self, function: str, p: ir.Var, name: str) -> list[str]:
        """Names of the components of a View: pointer, strides, extents."""
        assert isinstance(p.type, ViewTy)
        if p.type.shape is not None:
            return [name]
        dims = range(p.type.rank)
        parts = [name]
        if not p.type.mapped:
            parts += [part_of_view(name, f"s{d}") for d in dims if p.type.stride(d) is None]
        if p.name in self.extents[function]:
            parts += [part_of_view(name, f"n{d}") for d in dims]
        return parts

    def call(self, e: ir.Call) -> str:
        args = self._arguments(e.function, self.functions[e.function].parameters, e.args)
        return f"{function_name(e.function)}({', '.join(args)})"

    def _arguments(
        self, callee: str, parameters: tuple[ir.Var, ...], args: tuple[ir.Expr, ...]
    ) -> list[str]:
        """Arguments of a call, with Views as their components."""
        out: list[str] = []
        for p, a in zip(parameters, args, strict=True):
            if isinstance(p.type, ViewTy):
                assert isinstance(a, ir.Var)
                out += self._components(callee, p, identifier(a.name))
            elif isinstance(p.type, Pointer):
                assert isinstance(a, ir.Var)
                out.append(part_of_view(identifier(a.name), "d"))
            else:
                out.append(self.expr(a))
        return out

    def const(self, e: ir.Const) -> str:
        t = e.type
        if t.is_float:
            text = _float_text(float(e.value))
        elif t.kind == "c":
            value = complex(e.value)
            text = f"complex({_float_text(value.real)}, {_float_text(value.imag)})"
        elif t.kind == "b":
            return repr(bool(e.value))
        else:
            value_ = int(e.value)
            text = repr(value_)
            if value_ == -(2**63):
                text = "(-9223372036854775807 - 1)"
        if t.name in ("int64", "float64", "complex128"):
            return f"({text})" if text.startswith("-") else text
        return f"{type_name(t)}({text})"

    def loop_range(self, s: ir.For) -> str:
        start, stop, step = self.expr(s.start), self.expr(s.stop), self.expr(s.step)
        if isinstance(s.step, ir.Const) and s.step.value == 1:
            return f"range({start}, {stop})"
        return f"range({start}, {stop}, {step})"

    def loop_prologue(self, s: ir.For | ir.While, depth: int) -> list[str]:
        return ["    " * depth + "_r.in_order()"] if id(s) in self.deep else []

    def independent_loop(self, s: ir.For) -> list[str]:
        # Not a Python loop: the runtime builds it with metadata for LLVM.
        (statement,) = s.body
        assert isinstance(statement, ir.Evaluate) and isinstance(statement.value, ir.Call)
        if id(s) in self.deep:
            head = f"for {identifier(s.name)} in {self.loop_range(s)}:"
            return [head, *self.loop_prologue(s, 1), *self.block(s.body, 1)]
        return [f"_r.independent_loop({self._calls(statement.value, s)})"]

    def failures(self, s: ir.Failures) -> str:
        calls = self._calls(s.call, s)
        if len(s.names) == 1:
            return f"{identifier(s.names[0])} = _r.any_failure({s.rows}, {s.bits}, {calls})"
        names = ", ".join(map(identifier, s.names))
        return f"{names} = _r.first_failure({s.rows}, {s.count}, {calls})"

    def _calls(self, call: ir.Call, s: ir.For | ir.Failures) -> str:
        """Arguments for the callee of a loop in the runtime."""
        position = next(
            n for n, a in enumerate(call.args) if isinstance(a, ir.Var) and a.name == s.name
        )
        args = call.args[:position] + call.args[position + 1 :]
        function = self.functions[call.function]
        parameters = function.parameters[:position] + function.parameters[position + 1 :]
        passed = "".join(f"{a}, " for a in self._arguments(function.name, parameters, args))
        bounds = f"{self.expr(s.start)}, {self.expr(s.stop)}"
        return f"{function_name(call.function)}, {position}, {bounds}, ({passed.rstrip()})"

    def _scope(self, view: ir.Var) -> str:
        """Arguments for alias metadata: no other View of the launch overlaps this one."""
        if not self.module.disjoint or view.name not in self.scopes:
            return ""
        return f", {self.scopes[view.name]}, {len(self.scopes)}"

    def _offset(self, view: ir.Var, indices: tuple[ir.Expr, ...]) -> str:
        assert isinstance(view.type, ViewTy)
        name = identifier(view.name)
        if view.type.mapped:
            return self.expr(indices[0])
        terms = []
        for d, i in enumerate(indices):
            known = view.type.stride(d)
            stride = part_of_view(name, f"s{d}") if known is None else str(known)
            terms.append(self.expr(i) if known == 1 else f"{self.expr(i)} * {stride}")
        return " + ".join(terms) or "0"

    def _record_place(self, e: ir.Load | ir.Store | ir.Atomic) -> str:
        """Arguments for a number within a record: pointer, offset in bytes, type."""
        assert isinstance(e.view.type, ViewTy) and e.byte is not None
        kind = e.value.type if isinstance(e, ir.Store) else e.type
        assert isinstance(kind, Scalar)
        size = e.view.type.element.itemsize
        at = f"({self._offset(e.view, e.indices)}) * {size} + {self.expr(e.byte)}"
        return f"{identifier(e.view.name)}, {at}, {_pointee(kind)}"

    def load(self, e: ir.Load) -> str:
        if e.byte is not None:
            return f"_r.load_field({self._record_place(e)})"
        place = f"{identifier(e.view.name)}, {self._offset(e.view, e.indices)}"
        scope = self._scope(e.view)
        return f"_r.load_disjoint({place}{scope})" if scope else f"_r.load({place})"

    def store(self, s: ir.Store) -> str:
        if s.byte is not None:
            return f"_r.store_field({self._record_place(s)}, {self.expr(s.value)})"
        place = f"{identifier(s.view.name)}, {self._offset(s.view, s.indices)}"
        value, scope = self.expr(s.value), self._scope(s.view)
        name = "store_disjoint" if scope else "store"
        return f"_r.{name}({place}, {value}{scope})"

    def atomic(self, s: ir.Atomic) -> list[str]:
        name = None if s.name is None else identifier(s.name)
        pointer, offset = identifier(s.view.name), self._offset(s.view, s.indices)
        if s.byte is None:
            return numba_lines(self, s, pointer, offset, name)
        number = f"_number_{s.type.name}"
        place = f"{number} = _r.number_at({self._record_place(s)})"
        return [place, *numba_lines(self, s, number, "0", name)]

    def carve(self, s: ir.Carve) -> list[str]:
        name, type = identifier(s.view.name), s.view.type
        assert isinstance(type, ViewTy)
        base = part_of_view(identifier(s.pool.name), "d")
        lines = [f"{name} = _r.pointer({base} + {self.expr(s.offset)}, {_pointee(type.element)})"]
        extents = [self.expr(e) for e in s.shape]
        lines += [f"{part_of_view(name, f'n{d}')} = {e}" for d, e in enumerate(extents)]
        for d in range(type.rank):
            if type.stride(d) is None:
                size = " * ".join(part_of_view(name, f"n{k}") for k in range(d + 1, type.rank))
                lines.append(f"{part_of_view(name, f's{d}')} = {size}")
        return lines

    def pool(self, s: ir.Pool) -> tuple[str, str]:
        place = part_of_view(identifier(s.pointer.name), "d")
        return f"{place} = _r.allocate({self.expr(s.nbytes)})", f"_r.release({place})"

    def clear(self, s: ir.Clear) -> str:
        t = s.array.type
        assert isinstance(t, ViewTy) and t.shape is not None
        size = math.prod(t.shape) * t.element.itemsize
        return f"_r.clear({identifier(s.array.name)}, {size})"

    def fail(self, s: ir.Fail) -> str:
        indices = "".join(f"{self.expr(i)}, " for i in s.indices)
        return f"_r.fail({part_of_view(STATUS, 'd')}, {self.expr(s.code)}, ({indices}))"

    def print(self, s: ir.Print) -> str:
        text, values = self.format(s, "ll")
        return f"_r.printf({text!r}, ({values}))"

    def load_at(self, e: ir.LoadAt) -> str:
        return f"_r.load({identifier(e.pointer.name)}, {self.expr(e.index)})"

    def store_at(self, s: ir.StoreAt) -> str:
        pointer = identifier(s.pointer.name)
        return f"_r.store({pointer}, {self.expr(s.index)}, {self.expr(s.value)})"

    def _wide(self, name: str, args: list[str], t: Scalar) -> str:
        """An integer operation that the runtime provides for 64 bits only."""
        wide = "uint64" if t.kind == "u" else "int64"
        sign = "u" if t.kind == "u" and name in ("floordiv", "mod", "pow") else ""
        prefix = "" if name in ("lshift", "rshift") else f"{sign}int_"
        operands = [a if t.name == wide else f"np.{wide}({a})" for a in args]
        return self._narrowed(f"_r.{prefix}{name}({', '.join(operands)})", t)

    def _narrowed(self, text: str, t: Scalar) -> str:
        """Undo Numba's widening of narrow integers."""
        return text if t.name in _NATIVE else f"{type_name(t)}({text})"

    def operation(self, e: ir.Op, args: list[str]) -> str:
        name, t = e.op, e.type
        operand = e.args[0].type
        assert isinstance(operand, Scalar)
        if name == "bounded":
            return args[0]
        if name == "cast":
            return self._cast(args[0], operand, t)
        if t.kind == "c" and name in ("mul", "truediv", "reduce_prod"):
            kind = "div" if name == "truediv" else "mul"
            return f"_r.{t.name}_{kind}({args[0]}, {args[1]})"
        if name in COMPARISONS or name in ("and", "or"):
            return f"({args[0]} {INFIX[name]} {args[1]})"
        if name in ("add", "sub", "mul") and t.name == "int64" and t.weak != INDEX_WEAK:
            return f"_r.int_{name}({args[0]}, {args[1]})"
        if name in INFIX:
            return self._narrowed(f"({args[0]} {INFIX[name]} {args[1]})", t)
        if name == "not":
            return f"(not {args[0]})"
        if name == "neg":
            return self._narrowed(f"(-{args[0]})", t)
        if name == "invert":
            return self._narrowed(f"(~{args[0]})", t)
        if name in ("floordiv", "mod") and t.is_float:
            return f"_r.{t.name}_{name}({args[0]}, {args[1]})"
        if name == "pow" and t.kind == "c":
            return f"_r.{t.name}_pow({args[0]}, {args[1]})"
        if name == "pow" and not t.is_integer:
            return self._same(f"({args[0]} ** {args[1]})", t)
        if name in ("floordiv", "mod", "pow", "lshift", "rshift"):
            return self._wide(name, args, t)
        if name == "sqrt" and t.kind == "c":
            return f"_r.{t.name}_sqrt({args[0]})"
        if name == "reduce_sum" and t.kind == "c":
            return f"({args[0]} + {args[1]})"
        if name in _RUNTIME:
            return self._narrowed(f"_r.{_RUNTIME[name]}({', '.join(args)})", t)
        if name == "abs":
            return (
                self._same(f"abs({args[0]})", t)
                if t.is_float
                else self._narrowed(f"abs({args[0]})", t)
            )
        if name == "complex":
            return f"{type_name(t)}(complex({args[0]}, {args[1]}))"
        if name == "conj":
            return f"{type_name(t)}(np.conj({args[0]}))"
        module = "np" if name in _NUMPY or operand.kind == "c" else "math"
        if name not in _NUMPY and name not in _MATH:
            raise AssertionError(f"operation {name} has no Numba spelling")
        text = f"{module}.{name}({', '.join(args)})"
        return text if t == BOOL else self._same(text, t)

    def _same(self, text: str, t: Scalar) -> str:
        """Cast, since mathematical functions of float32 may return float64."""
        return f"{type_name(t)}({text})" if t.name in ("float32", "complex64") else text

    def _cast(self, text: str, source: Scalar, t: Scalar) -> str:
        if source.strong == t.strong:
            return text
        if source.is_float and t.is_integer and t.name != "int64" and t.name != "uint64":
            text = f"np.int64({text})"  # so that values out of range wrap
        return f"{type_name(t)}({text})"


def _pointee(t: Scalar | Record) -> str:
    """Name of the Numba type of an element; records are bytes."""
    if isinstance(t, Record):
        return "_r.uint8"
    return f"_r.{'boolean' if t.name == 'bool' else t.name}"


def _float_text(value: float) -> str:
    if math.isnan(value):
        return "np.nan"
    if math.isinf(value):
        return "np.inf" if value > 0 else "(-np.inf)"
    return repr(value)
