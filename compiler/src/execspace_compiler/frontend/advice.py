"""Python constructs that kernels do not support: what they are called, and alternatives."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from ..ir.diagnostics import Fault, Loc, syntax_fault

_LOOP = "use a for loop over range"
_NUMBERS = "kernels know numbers, tuples and Views only"
_IMPORT = "import at the top of the module"
_ASYNC = "kernels are not asynchronous functions"
_GENERATOR = "kernels are no generators"
_OUTPUT = "write results into a View instead"
_ERRORS = "use assert, or write an error code into a View and test it on the host"

ADVICE: dict[type[ast.AST], tuple[str, str]] = {
    ast.ListComp: ("a list comprehension", _LOOP),
    ast.SetComp: ("a set comprehension", _LOOP),
    ast.DictComp: ("a dict comprehension", _LOOP),
    ast.GeneratorExp: ("a generator expression", _LOOP),
    ast.List: ("a list", "use a tuple, es.local for a private array, or a View for data"),
    ast.Dict: ("a dict", _NUMBERS),
    ast.Set: ("a set", _NUMBERS),
    ast.Try: ("try", "kernels raise no exceptions; test the condition beforehand"),
    ast.TryStar: ("try", "kernels raise no exceptions; test the condition beforehand"),
    ast.Raise: ("raise", _ERRORS),
    ast.With: ("with", "manage resources on the host, around the launch"),
    ast.Import: ("import", _IMPORT),
    ast.ImportFrom: ("import", _IMPORT),
    ast.ClassDef: ("a class definition", "define classes outside of kernels"),
    ast.AsyncFunctionDef: ("an async function", _ASYNC),
    ast.Yield: ("yield", _GENERATOR),
    ast.YieldFrom: ("yield from", _GENERATOR),
    ast.Await: ("await", _ASYNC),
    ast.AsyncFor: ("async for", _ASYNC),
    ast.AsyncWith: ("async with", _ASYNC),
    ast.Global: ("global", _OUTPUT),
    ast.Nonlocal: ("nonlocal", "return the new value from the nested function"),
    ast.Delete: ("del", "variables of a kernel need no deletion"),
    ast.JoinedStr: ("an f-string", "kernels cannot format text; es.printf prints numbers"),
    ast.Starred: ("* unpacking", "name each item"),
    ast.Match: ("match", "use if and elif"),
    ast.MatMult: ("the operator @", "write the sums out as loops"),
}


def unsupported(node: ast.AST, loc: Loc) -> Fault:
    """The fault for a construct that kernels do not have."""
    what, hint = ADVICE.get(type(node), (f"Python's {type(node).__name__}", _NUMBERS))
    return syntax_fault(loc, f"{what} is not supported in a kernel", hint)


def did_you_mean(name: str, known: set[str]) -> str:
    """A hint for a name that is not defined."""
    close = similar(name, known)
    return close or "define it before the launch"


def similar(name: str, known: Iterable[str]) -> str:
    """A hint with similarly spelled names; empty if there are none."""
    from difflib import get_close_matches  # where something is wrong

    close = get_close_matches(name, [k for k in known if not k.startswith("__")], n=1)
    return f"did you mean '{close[0]}'?" if close else ""
