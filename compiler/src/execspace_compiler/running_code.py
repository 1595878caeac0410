"""Whether a text is that of the code which runs.

Files are saved while programs run: the text that is found is then not that of the function, and
what is compiled of it would not be what Python does.
"""

from __future__ import annotations

import ast
import dis
from collections.abc import Iterator
from importlib.machinery import SourceFileLoader
from types import CodeType, FunctionType

from execspace.exec_source import codes_in, difference, future_flags


def unlike(fn: FunctionType, node: ast.FunctionDef | ast.Lambda, text: str) -> str | None:
    """In what a function differs from its definition in a text; None if in nothing.

    Parameters
    ----------
    fn : function
    node : ast.FunctionDef or ast.Lambda
        The definition, with the positions that it has in the text.
    text : str
        The whole of the module.
    """
    code = fn.__code__
    if code in _alone(node, code):
        return None
    others = codes_in(text, code)
    if code in others:
        return None
    mine, place = list(_steps(code)), (code.co_name, code.co_firstlineno)
    for other in others:
        if (other.co_name, other.co_firstlineno) != place:
            continue
        if list(_steps(other)) == mine:  # IPython compiles statement by statement
            return None
        # What rewrites a module as it is loaded, as pytest does for assertions, puts more into it.
        if _is_rewritten(fn) and _in_order(_meant(other), _meant(code)):
            return None
    return difference(code, others[1:])


def _alone(node: ast.FunctionDef | ast.Lambda, code: CodeType) -> list[CodeType]:
    """The code of a definition without that around it, which most do not need."""
    statement = ast.Expr(node) if isinstance(node, ast.Lambda) else node
    module = ast.Module([ast.copy_location(statement, node)], [])
    try:
        made = compile(
            module, code.co_filename, "exec", future_flags(code), dont_inherit=True
        )  # fmt: skip
    except (SyntaxError, ValueError, RecursionError):
        return []
    return [c for c in made.co_consts if isinstance(c, CodeType)]


def _is_rewritten(fn: FunctionType) -> bool:
    loader = fn.__globals__.get("__loader__")
    return loader is not None and type(loader) is not SourceFileLoader


def _steps(code: CodeType) -> Iterator[tuple[str, object]]:
    """All instructions, apart from where names and constants are kept and lines begin."""
    for step in dis.get_instructions(code):
        if isinstance(step.argval, CodeType):
            yield from _steps(step.argval)
        elif step.opname == "LOAD_CONST":
            yield step.opname, (type(step.argval), repr(step.argval))
        else:
            yield step.opname, step.argrepr


_MEANT = ("BINARY_", "COMPARE_", "CONTAINS_", "IS_", "UNARY_", "LOAD_")


def _meant(code: CodeType) -> Iterator[tuple[str, object]]:
    """Operators, names and constants in the order of their use."""
    for name, what in _steps(code):
        if name.startswith(_MEANT) and name not in ("LOAD_ASSERTION_ERROR", "LOAD_CLOSURE"):
            yield name, what


def _in_order(some: Iterator[tuple[str, object]], more: Iterator[tuple[str, object]]) -> bool:
    return all(item in more for item in some)
