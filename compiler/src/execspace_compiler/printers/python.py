"""What the two Python-syntax printers share: statements, and the spelling of operators.

Subclasses say how constants, conversions, loads, stores and functions are written.
"""

from __future__ import annotations

import keyword
from abc import ABC, abstractmethod

from .. import ir
from ..types import Scalar, ViewTy

INFIX = {
    "add": "+", "sub": "-", "mul": "*", "truediv": "/", "bitand": "&", "bitor": "|",
    "bitxor": "^", "lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "==", "ne": "!=",
    "and": "and", "or": "or",
}  # fmt: skip
COMPARISONS = frozenset(("lt", "le", "gt", "ge", "eq", "ne"))
_RESERVED = frozenset(("range", "abs", "np", "math", "numba", "_r"))


def identifier(name: str) -> str:
    """A user's variable name, kept apart from names that generated text uses itself."""
    return f"{name}_v" if name in _RESERVED or keyword.iskeyword(name) else name


def function_name(name: str) -> str:
    """Name of a function in generated text; no variable can have it."""
    return f"_f_{name}"


def extents_used(functions: tuple[ir.Function, ...]) -> dict[str, frozenset[str]]:
    """Per function the View parameters whose extents it needs, directly or in a call."""
    known = {f.name: f for f in functions}
    used: dict[str, frozenset[str]] = {}
    for f in functions:  # callees come first
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
        """An operation, given the text of its operands."""

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
    def loop_range(self, s: ir.For) -> str:
        """What a for loop iterates over."""

    def independent_loop(self, s: ir.For) -> list[str]:
        """A loop whose iterations may run at once."""
        raise NotImplementedError

    def extent(self, e: ir.Extent) -> str:
        """An extent of a View."""
        return f"{identifier(e.view.name)}_n{e.dimension}"

    def load_at(self, e: ir.LoadAt) -> str:
        """An entry of a row of scalars."""
        raise NotImplementedError

    def store_at(self, s: ir.StoreAt) -> str:
        """Assignment to an entry of a row of scalars."""
        raise NotImplementedError

    def expr(self, e: ir.Expr) -> str:
        """Text of an expression; safe to stand anywhere."""
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
                    out.append(f"{pad}{identifier(s.name)} = {self.expr(s.value)}")
                case ir.Store():
                    out.append(pad + self.store(s))
                case ir.StoreAt():
                    out.append(pad + self.store_at(s))
                case ir.Evaluate():
                    out.append(pad + self.expr(s.value))
                case ir.If():
                    out.append(f"{pad}if {self.expr(s.test)}:")
                    out += self.block(s.body, depth + 1)
                    if s.orelse:
                        out.append(f"{pad}else:")
                        out += self.block(s.orelse, depth + 1)
                case ir.For() if s.independent:
                    out += [pad + line for line in self.independent_loop(s)]
                case ir.For():
                    out.append(f"{pad}for {identifier(s.name)} in {self.loop_range(s)}:")
                    out += self.block(s.body, depth + 1)
                case ir.While():
                    out.append(f"{pad}while {self.expr(s.test)}:")
                    out += self.block(s.body, depth + 1)
                case ir.Break():
                    out.append(f"{pad}break")
                case ir.Continue():
                    out.append(f"{pad}continue")
                case ir.Return():
                    value = "" if s.value is None else f" {self.expr(s.value)}"
                    out.append(f"{pad}return{value}")
        return out or [f"{pad}pass"]


def element(view: ir.Var) -> Scalar:
    """Element type of a View variable."""
    assert isinstance(view.type, ViewTy)
    return view.type.element
