"""Printer for the oracle: plain Python over NumPy scalars, one statement a line.

The source runs under CPython, so pdb can step through it. Every value is a NumPy scalar of its type
in IR, and Views are bounds-checked accessors. A team kernel is a generator, which yields at
collectives of the team.
"""

from __future__ import annotations

import keyword
import math

from ... import ir
from ...ir import STATUS
from ...ir.types import Record, Scalar, ViewTy
from ...teams.ranges import Ranges
from ...teams.single_thread import alone
from ..lines import Line
from .atomics import atomic_lines

_INFIX = {
    "add": "+", "sub": "-", "mul": "*", "truediv": "/", "bitand": "&", "bitor": "|",
    "bitxor": "^", "lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "==", "ne": "!=",
    "and": "and", "or": "or",
}  # fmt: skip
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
    "lgamma": "lgamma", "popcount": "popcount", "countl_zero": "countl_zero", "fma": "fma",
}  # fmt: skip
_RESERVED = frozenset(("np", "int", "complex", "zip"))  # names that generated source uses

HEAD = "import numpy as np\n\nfrom execspace_compiler.oracle import runtime as _r"


def identifier(name: str) -> str:
    """A variable's name, which cannot clash with names that generated source uses itself.

    Others of those begin with an underscore, unlike users' names (frontend/names.py).
    """
    return f"_{name}" if name in _RESERVED or keyword.iskeyword(name) else name


def function_name(name: str) -> str:
    """Name of a function in generated source, which cannot clash with variables."""
    return f"_f_{name}"


def type_name(t: Scalar) -> str:
    """Name of the NumPy class that casts to a type."""
    return "np.bool_" if t.name == "bool" else f"np.{t.name}"


class OraclePrinter:
    """Prints a module for CPython."""

    def __init__(self, module: ir.Module) -> None:
        self.module = module

    def source(self) -> str:
        """All functions of the module."""
        lines = [HEAD]
        for f in self.module.functions:
            if f.external is None:
                lines += ["", "", *self.function(f)]
        return "\n".join(lines) + "\n"

    def function(self, f: ir.Function) -> list[str]:
        """Lines of a function definition."""
        names = ", ".join(identifier(p.name) for p in f.parameters)
        head = f"def {function_name(f.name)}({names}):"
        return [Line(head, f.loc), *self.block(f.body, 1)]

    # -- statements -----------------------------------------------------------------------------

    def block(self, body: tuple[ir.Stmt, ...], depth: int) -> list[str]:
        """Lines of a body."""
        pad = "    " * depth
        out: list[str] = []
        for s in body:
            match s:
                case ir.If():
                    out.append(Line(f"{pad}if {self.expr(s.test)}:", s.loc))
                    out += self.block(s.body, depth + 1)
                    if s.orelse:
                        out.append(Line(f"{pad}else:", s.loc))
                        out += self.block(s.orelse, depth + 1)
                case ir.For():
                    head = f"for {identifier(s.name)} in {self.loop_range(s)}:"
                    out += [Line(pad + head, s.loc), *self.block(s.body, depth + 1)]
                case ir.While():
                    out.append(Line(f"{pad}while {self.expr(s.test)}:", s.loc))
                    out += self.block(s.body, depth + 1)
                case ir.Atomic():
                    out += [Line(pad + line, s.loc) for line in self.atomic(s)]
                case _:
                    out.append(Line(pad + self.simple(s), s.loc))
        return out or [f"{pad}pass"]

    def simple(self, s: ir.Stmt) -> str:
        """A statement that is one line."""
        match s:
            case ir.Assign():
                return f"{identifier(s.name)} = {self.expr(s.value)}"
            case ir.Unpack():
                return f"{', '.join(map(identifier, s.names))} = {self.expr(s.value)}"
            case ir.Store():
                return self.store(s)
            case ir.Clear():
                return self.clear(s)
            case ir.Fail():
                return self.fail(s)
            case ir.Print():
                return self.print(s)
            case ir.Evaluate():
                return self.expr(s.value)
            case ir.Break():
                return "break"
            case ir.Continue():
                return "continue"
            case ir.Return():
                values = s.value if isinstance(s.value, tuple) else (s.value,)
                return f"return {', '.join(self.expr(v) for v in values if v is not None)}".rstrip()
        raise AssertionError(f"statement {type(s).__name__} is of no kernel before its passes")

    def loop_range(self, s: ir.For) -> str:
        """The iterable of a for loop."""
        return f"_r.int_range({self.expr(s.start)}, {self.expr(s.stop)}, {self.expr(s.step)})"

    def store(self, s: ir.Store) -> str:
        """Assignment to an element of a View."""
        view = self.accessed(s.view)
        value = self.expr(s.value)
        if s.byte is not None:
            return f"{view}.set_field(({self._indices(s.indices)}), {self.expr(s.byte)}, {value})"
        return f"{view}[{self._indices(s.indices)}] = {value}"

    def atomic(self, s: ir.Atomic) -> list[str]:
        """Lines of an atomic operation."""
        name = None if s.name is None else identifier(s.name)
        key = f"({self._indices(s.indices)})"
        return atomic_lines(self.expr, s, identifier(s.view.name), key, type_name(s.type), name)

    def clear(self, s: ir.Clear) -> str:
        """Set a local array to zero."""
        t = s.array.type
        assert isinstance(t, ViewTy) and t.shape is not None
        if isinstance(t.element, Record):
            element = f"({t.element.itemsize}, )"  # a record is its bytes
            return f"{identifier(s.array.name)} = _r.local_records({t.shape}, {element})"
        return f"{identifier(s.array.name)} = _r.local({t.shape}, {type_name(t.element)})"

    def fail(self, s: ir.Fail) -> str:
        """Report a failed assertion."""
        indices = "".join(f"int({self.expr(i)}), " for i in s.indices)
        return f"{STATUS}.fail(int({self.expr(s.code)}), ({indices}))"

    def print(self, s: ir.Print) -> str:
        """Write text to standard output."""
        text, values = "", ""
        for part in s.parts:
            if isinstance(part, str):
                text += part.replace("%", "%%")
            else:
                conversion, e = part
                text += conversion
                values += f"{self.expr(e)}, "
        return f"_r.printf({text!r}, ({values.rstrip()}))"

    # -- expressions ----------------------------------------------------------------------------

    def expr(self, e: ir.Expr) -> str:
        """Source of an expression, parenthesised if needed."""
        match e:
            case ir.Const():
                return self.const(e)
            case ir.Var():
                return identifier(e.name)
            case ir.Op():
                return self.operation(e, [self.expr(a) for a in e.args])
            case ir.Select():
                test, then, orelse = self.expr(e.test), self.expr(e.then), self.expr(e.orelse)
                return f"({then} if {test} else {orelse})"
            case ir.Load():
                return self.load(e)
            case ir.Extent():
                return f"{identifier(e.view.name)}.extent({e.dimension})"
            case ir.Beyond():
                return "0"  # any lock will do, where nobody waits for one
            case ir.Call():
                arguments = ", ".join(self.expr(a) for a in e.args)
                return f"{function_name(e.function)}({arguments})"
        raise AssertionError(f"{type(e).__name__} is in no kernel before its passes")

    def const(self, e: ir.Const) -> str:
        """A constant of its type."""
        if e.type.is_float:
            return f"{type_name(e.type)}({_float_text(float(e.value))})"
        if e.type.kind == "c":  # repr would lose the sign of a zero part
            z = complex(e.value)
            parts = f"{_float_text(z.real)}, {_float_text(z.imag)}"
            return f"{type_name(e.type)}(complex({parts}))"
        return f"{type_name(e.type)}({e.value!r})"

    def load(self, e: ir.Load) -> str:
        """An element of a View."""
        view = self.accessed(e.view)
        if e.byte is not None:
            place = f"({self._indices(e.indices)}), {self.expr(e.byte)}, {type_name(e.type)}"
            return f"{view}.field({place})"
        return f"{view}[{self._indices(e.indices)}]"

    def accessed(self, view: ir.Var) -> str:
        """What a load or store addresses a View by."""
        return identifier(view.name)

    def _indices(self, indices: tuple[ir.Expr, ...]) -> str:
        return "".join(f"{self.expr(i)}, " for i in indices) or "()"

    def operation(self, e: ir.Op, args: list[str]) -> str:
        """An operation, from the source of its operands."""
        name, t = e.op, e.type
        if name == "cast":
            return f"_r.cast({args[0]}, {type_name(t)})"
        if name == "bit_cast":
            return f"_r.bit_cast({args[0]}, {type_name(t)})"
        if name in ("stored", "kept"):
            return args[0]
        if name == "bounded":
            return f"_r.bounded({args[0]}, {args[1]})"
        if t.kind == "c" and name == "sqrt":
            return f"_r.complex_sqrt({args[0]})"
        if t.kind == "c" and name in ("mul", "truediv"):
            return f"_r.complex_{'mul' if name == 'mul' else 'div'}({args[0]}, {args[1]})"
        if name in _INFIX:
            return f"({args[0]} {_INFIX[name]} {args[1]})"
        if name == "not":
            return f"(not {args[0]})"
        if name == "pow" and t.is_integer:
            return f"_r.int_pow({args[0]}, {args[1]})"
        if name == "pow" and t.kind == "f":
            return f"_r.float_pow({args[0]}, {args[1]})"
        if name == "complex":
            return f"{type_name(t)}(complex({args[0]}, {args[1]}))"
        if name in _RUNTIME:
            return f"_r.{_RUNTIME[name]}({', '.join(args)})"
        return f"np.{_NUMPY_NAMES.get(name, name)}({', '.join(args)})"


_TEAM = "_team"  # parameter of a team kernel: oracle_teams.Team


class TeamPrinter(OraclePrinter):
    """Prints the module of a team kernel.

    Attributes
    ----------
    sites : list of TeamStmt
        Statements of the kernel, to which the source refers by number.
    """

    def __init__(self, module: ir.Module, body: ir.Function) -> None:
        super().__init__(module)
        self.body = body
        self.sites: list[ir.TeamStmt] = []

    def function(self, f: ir.Function) -> list[str]:
        if f.name != self.body.name:
            return super().function(f)
        self.sites = []
        names = ", ".join([_TEAM, *(identifier(p.name) for p in f.parameters)])
        head = f"def {function_name(f.name)}({names}):"
        return [Line(head, f.loc), *self.block(f.body, 1)]

    def accessed(self, view: ir.Var) -> str:
        """A View; under a lock by accesses that do not race with others under it."""
        assert isinstance(view.type, ViewTy)
        return identifier(view.name) + (".atomic" if "locked" in view.type.traits else "")

    def atomic(self, s: ir.Atomic) -> list[str]:
        view = f"{identifier(s.view.name)}.atomic"
        key = f"({self._indices(s.indices)})"
        if s.op == "store":  # it does not read the element, which may be uninitialised
            value = f"{type_name(s.type)}({self.expr(s.values[0])})"
            if s.byte is not None:
                return [f"{view}.set_field({key}, {self.expr(s.byte)}, {value})"]
            return [f"{view}[{key}] = {value}"]
        name = None if s.name is None else identifier(s.name)
        return atomic_lines(self.expr, s, view, key, type_name(s.type), name)

    def block(self, body: tuple[ir.Stmt, ...], depth: int) -> list[str]:
        out: list[str] = []
        for s in body:
            if isinstance(s, ir.TeamStmt):
                out += self.of_team(s, depth)
            else:
                out += super().block((s,), depth)
        return out or super().block((), depth)

    def of_team(self, s: ir.TeamStmt, depth: int) -> list[str]:
        """Lines of a team statement."""
        if isinstance(s, ir.Split | ir.Combine | ir.ScanRange) and s.level == "vector":
            plain = alone(
                s, lambda body: body, Ranges()
            )  # a thread runs the iterations of its lanes
            assert plain is not None
            return self.block(tuple(plain), depth) if plain else []
        pad = "    " * depth
        site = len(self.sites)
        self.sites.append(s)

        def line(text: str) -> str:
            return Line(pad + text, s.loc)

        match s:
            case ir.Barrier():
                return [line(f"yield {site}, ()")]
            case ir.Combine():
                states = _row(s.states)
                return [line(f"{states} = yield {site}, {states}")]
            case ir.Prefix():
                return [line(f"{_row((*s.states, *s.totals))} = yield {site}, {_row(s.states)}")]
            case ir.Broadcast():
                values = _row(s.values)
                return [line(f"{values} = yield {site}, {values}, {self.expr(s.rank)}")]
            case ir.Scratch():
                shape = self._indices(s.shape)
                return [line(f"{identifier(s.view.name)} = {_TEAM}.scratch({site}, ({shape}))")]
            case ir.Split():
                names = ", ".join(map(identifier, s.names))
                bounds = f"({self._indices(s.starts)}), ({self._indices(s.stops)})"
                head = line(f"for {names} in {_TEAM}.share({s.level!r}, {bounds}):")
                return [head, *self.block(s.body, depth + 1)]
            case ir.ScanRange():
                return self.scan(s, site, depth)
        raise AssertionError(f"no statement of kernels: {s}")

    def scan(self, s: ir.ScanRange, site: int, depth: int) -> list[str]:
        """Lines of a scan by several threads, one tile of iterations after another."""
        name, states, own = identifier(s.name), _row(s.states), _row(s.own)
        bounds = f"{self.expr(s.start)}, {self.expr(s.stop)}"
        first = zip(s.states, s.identity, strict=True)  # the prefix is not known in the probe

        def lines(more: int, *texts: str) -> list[str]:
            return [Line("    " * (depth + more) + text, s.loc) for text in texts]

        return [
            *lines(0, f"_state = {states}"),
            *lines(0, f"for _tile in {_TEAM}.tiles({s.level!r}, {bounds}):"),
            *lines(1, "_own = []", f"for {name} in _tile:"),
            *lines(2, *(f"{identifier(v.name)} = {self.const(c)}" for v, c in first)),
            *self.block(s.probe, depth + 2),
            *lines(2, f"_own.append({own})"),
            *lines(1, f"_before, _state = yield {site}, _state, _tile, _own"),
            *lines(1, f"for {name}, {states}, _probed in zip(_tile, _before, _own):"),
            *self.block(s.body, depth + 2),
            *lines(2, f"{_TEAM}.agree({site}, {name}, _probed, {own})"),
            *lines(0, f"{states} = _state"),
        ]


def _row(variables: tuple[ir.Var, ...]) -> str:
    """A tuple of variables, also as the target of an assignment."""
    return f"({''.join(f'{identifier(v.name)}, ' for v in variables).rstrip()})"


def _float_text(value: float) -> str:
    if math.isnan(value):
        return "np.nan"
    if math.isinf(value):
        return "np.inf" if value > 0 else "(-np.inf)"
    return repr(value)
