"""What the two Python-syntax printers share: statements, and the spelling of operators.

Subclasses print constants, conversions, loads, stores and functions.
"""

from __future__ import annotations

import keyword
from abc import ABC, abstractmethod

from ... import ir
from ...ir.diagnostics import Loc

INFIX = {
    "add": "+", "sub": "-", "mul": "*", "truediv": "/", "bitand": "&", "bitor": "|",
    "bitxor": "^", "lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "==", "ne": "!=",
    "and": "and", "or": "or",
}  # fmt: skip
COMPARISONS = frozenset(("lt", "le", "gt", "ge", "eq", "ne"))
_RESERVED = frozenset(("range", "abs", "np", "math", "numba"))


def identifier(name: str) -> str:
    """A variable's name, which cannot clash with names that generated source uses itself.

    Those begin with an underscore, unlike users' names (frontend/names.py).
    """
    return f"_{name}" if name in _RESERVED or keyword.iskeyword(name) else name


def part_of_view(name: str, part: str) -> str:
    """Variable for a View's address, a stride or an extent."""
    return f"_{name}_{part}"


def function_name(name: str) -> str:
    """Name of a function in generated source, which cannot clash with variables."""
    return f"_f_{name}"


def extents_used(functions: tuple[ir.Function, ...]) -> dict[str, frozenset[str]]:
    """For each function, the View parameters whose extents it needs, directly or in a call."""
    known = {f.name: f for f in functions}
    used: dict[str, frozenset[str]] = {}
    for f in functions:  # callees first
        names = set()
        for e in ir.walk_expressions(f.body):
            if isinstance(e, ir.Extent):
                names.add(e.view.name)
            elif isinstance(e, ir.Call):
                for p, a in zip(known[e.function].parameters, e.args, strict=True):
                    if p.name in used[e.function] and isinstance(a, ir.Var):
                        names.add(a.name)
        used[f.name] = frozenset(names)
    return used


class Line(str):
    """A line of generated source, with the location in the user's source that it comes from."""

    __slots__ = ("loc",)
    loc: Loc

    def __new__(cls, text: str, loc: Loc) -> Line:
        line = super().__new__(cls, text)
        line.loc = loc
        return line


class PythonPrinter(ABC):
    """Prints the functions of a module in Python syntax."""

    def __init__(self, module: ir.Module) -> None:
        self.module = module

    @abstractmethod
    def function(self, f: ir.Function) -> list[str]:
        """Lines of a function definition."""

    @abstractmethod
    def const(self, e: ir.Const) -> str:
        """A constant of its type."""

    @abstractmethod
    def operation(self, e: ir.Op, args: list[str]) -> str:
        """An operation, from the source of its operands."""

    @abstractmethod
    def load(self, e: ir.Load) -> str:
        """An element of a View."""

    @abstractmethod
    def store(self, s: ir.Store) -> str:
        """Assignment to an element of a View."""

    @abstractmethod
    def call(self, e: ir.Call) -> str:
        """Call of a function of the module."""

    @abstractmethod
    def atomic(self, s: ir.Atomic) -> list[str]:
        """Lines of an atomic operation."""

    @abstractmethod
    def clear(self, s: ir.Clear) -> str:
        """Set a local array to zero."""

    @abstractmethod
    def fail(self, s: ir.Fail) -> str:
        """Report a failed assertion."""

    @abstractmethod
    def print(self, s: ir.Print) -> str:
        """Write text to standard output."""

    def format(self, s: ir.Print, length: str) -> tuple[str, str]:
        """Format and arguments of a printf; `length` is the modifier of integers."""
        text, values = "", ""
        for part in s.parts:
            if isinstance(part, str):
                text += part.replace("%", "%%")
            else:
                conversion, e = part
                modifier = "" if conversion[-1] in "eEfFgGc" else length
                text += conversion[:-1] + modifier + conversion[-1]
                values += f"{self.expr(e)}, "
        return text, values.rstrip()

    @abstractmethod
    def loop_range(self, s: ir.For) -> str:
        """The iterable of a for loop."""

    def loop_prologue(self, s: ir.For | ir.While, depth: int) -> list[str]:
        """Lines at the start of each iteration of a loop."""
        return []

    def independent_loop(self, s: ir.For) -> list[str]:
        """A loop whose iterations may run concurrently."""
        raise NotImplementedError

    def failures(self, s: ir.Failures) -> str:
        """A loop that returns what failed in it."""
        raise NotImplementedError

    def extent(self, e: ir.Extent) -> str:
        """An extent of a View."""
        return part_of_view(identifier(e.view.name), f"n{e.dimension}")

    def carve(self, s: ir.Carve) -> list[str]:
        """Lines that create a View over memory."""
        raise NotImplementedError

    def pool(self, s: ir.Pool) -> tuple[str, str]:
        """Lines that allocate memory, and that free it."""
        raise NotImplementedError

    def load_at(self, e: ir.LoadAt) -> str:
        """An entry of a row of scalars."""
        raise NotImplementedError

    def store_at(self, s: ir.StoreAt) -> str:
        """Assignment to an entry of a row of scalars."""
        raise NotImplementedError

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
            case ir.LoadAt():
                return self.load_at(e)
            case ir.Extent():
                return self.extent(e)
            case ir.Call():
                return self.call(e)

    def block(self, body: tuple[ir.Stmt, ...], depth: int) -> list[str]:
        """Lines of a body."""
        pad = "    " * depth
        out: list[str] = []
        for s in body:
            match s:
                case ir.Assign():
                    out.append(Line(f"{pad}{identifier(s.name)} = {self.expr(s.value)}", s.loc))
                case ir.Unpack():
                    names = ", ".join(map(identifier, s.names))
                    out.append(Line(f"{pad}{names} = {self.expr(s.value)}", s.loc))
                case ir.Store():
                    out.append(Line(pad + self.store(s), s.loc))
                case ir.Atomic():
                    out += [Line(pad + line, s.loc) for line in self.atomic(s)]
                case ir.Clear():
                    out.append(Line(pad + self.clear(s), s.loc))
                case ir.Fail():
                    out.append(Line(pad + self.fail(s), s.loc))
                case ir.Print():
                    out.append(Line(pad + self.print(s), s.loc))
                case ir.StoreAt():
                    out.append(Line(pad + self.store_at(s), s.loc))
                case ir.Evaluate():
                    out.append(Line(pad + self.expr(s.value), s.loc))
                case ir.If():
                    out.append(Line(f"{pad}if {self.expr(s.test)}:", s.loc))
                    out += self.block(s.body, depth + 1)
                    if s.orelse:
                        out.append(Line(f"{pad}else:", s.loc))
                        out += self.block(s.orelse, depth + 1)
                case ir.Failures():
                    out.append(pad + self.failures(s))
                case ir.For() if s.independent:
                    out += [pad + line for line in self.independent_loop(s)]
                case ir.For():
                    out.append(
                        Line(f"{pad}for {identifier(s.name)} in {self.loop_range(s)}:", s.loc)
                    )
                    out += [*self.loop_prologue(s, depth + 1), *self.block(s.body, depth + 1)]
                case ir.Carve():
                    out += [Line(pad + line, s.loc) for line in self.carve(s)]
                case ir.Pool():
                    take, give_back = self.pool(s)
                    out += [pad + take, *self.block(s.body, depth), pad + give_back]
                case ir.While():
                    out.append(Line(f"{pad}while {self.expr(s.test)}:", s.loc))
                    out += [*self.loop_prologue(s, depth + 1), *self.block(s.body, depth + 1)]
                case ir.Break():
                    out.append(Line(f"{pad}break", s.loc))
                case ir.Continue():
                    out.append(Line(f"{pad}continue", s.loc))
                case ir.Return():
                    values = s.value if isinstance(s.value, tuple) else (s.value,)
                    text = ", ".join(self.expr(v) for v in values if v is not None)
                    out.append(Line(f"{pad}return {text}".rstrip(), s.loc))
        return out or [f"{pad}pass"]
