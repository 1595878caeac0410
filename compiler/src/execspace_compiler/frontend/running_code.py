"""Whether a text is that of the code which runs.

Files are saved while programs run: the text that is found is then not that of the function, and
what is compiled of it would not be what Python does.
"""

from __future__ import annotations

import ast
import dis
from collections import Counter, defaultdict
from collections.abc import Iterator
from importlib.machinery import SourceFileLoader
from types import CodeType, FunctionType

from execspace.kernels.exec_source import codes_in, defines, difference, future_flags


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
        if _is_rewritten(fn) and _has_more(_by_lines(code, node), _by_lines(other, node), node):
            return None
    if code.co_filename.startswith("<") and defines(text, code):  # timeit puts it into a function
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


def _steps(code: CodeType) -> Iterator[tuple[str, object]]:
    """All instructions, apart from where names and constants are kept and lines begin."""
    for step in dis.get_instructions(code):
        if isinstance(step.argval, CodeType):
            yield from _steps(step.argval)
        elif step.opname == "LOAD_CONST":
            yield step.opname, (type(step.argval), repr(step.argval))
        else:
            yield step.opname, step.argrepr


# -- modules that were rewritten as they were loaded, as pytest does for assertions ---------------


def _is_rewritten(fn: FunctionType) -> bool:
    loader = fn.__globals__.get("__loader__")
    return loader is not None and type(loader) is not SourceFileLoader


_Item = tuple[str, object]
_Lines = dict[int | None, list[_Item]]
_CONSTANT = "CONSTANT"
_NOTHING: _Item = (_CONSTANT, (type(None), "None"))  # that which is returned at the end
_OPERATORS = ("BINARY_", "COMPARE_", "CONTAINS_", "IS_", "UNARY_")


def _by_lines(code: CodeType, node: ast.AST) -> _Lines:
    """Operators, names and constants of each line; those of an assertion are in its first."""
    asserts = [a for a in ast.walk(node) if isinstance(a, ast.Assert)]
    lines: _Lines = defaultdict(list)
    for step in dis.get_instructions(code):
        at = None if step.positions is None else step.positions.lineno
        inside = (a.lineno for a in asserts if at and a.lineno <= at <= (a.end_lineno or 0))
        if isinstance(step.argval, CodeType):
            for key, items in _by_lines(step.argval, node).items():
                lines[key] += items
        elif items := list(_items(step)):
            lines[next(inside, at)] += items
    return lines


def _items(step: dis.Instruction) -> Iterator[_Item]:
    """What an instruction loads or computes; releases of Python name instructions differently."""
    name, value = step.opname, step.argval
    if name.startswith(("LOAD_CONST", "LOAD_SMALL_INT", "RETURN_CONST")):
        yield _CONSTANT, (type(value), repr(value))
    elif "LOAD_FAST" in name and isinstance(value, tuple):  # two at once, or one after a store
        yield from (("LOAD", v) for v in (value[1:] if name.startswith("STORE") else value))
    elif name.startswith("LOAD_") and isinstance(value, str) and name not in _OF_PYTHON:
        yield "LOAD", value
    elif name.startswith(_OPERATORS):
        yield name, step.argrepr


_OF_PYTHON = ("LOAD_ASSERTION_ERROR", "LOAD_CLOSURE", "LOAD_COMMON_CONSTANT")


def _has_more(running: _Lines, text: _Lines, node: ast.AST) -> bool:
    """Whether every line has what the text has there, in any order, and no other line anything."""
    folded = {a.lineno for a in ast.walk(node) if isinstance(a, ast.Assert) and _folds(a)}
    return set(running) <= set(text) and all(
        Counter(i for i in items if not (i == _NOTHING or (line in folded and i[0] == _CONSTANT)))
        <= Counter(running.get(line, ()))
        for line, items in text.items()
    )


def _folds(statement: ast.Assert) -> bool:
    """Whether Python computes a constant of it, which it does not where it was rewritten."""
    return any(
        isinstance(e, ast.UnaryOp | ast.BinOp)
        and all(isinstance(o, ast.Constant | ast.UnaryOp | ast.BinOp) for o in _operands(e))
        for e in ast.walk(statement)
    )


def _operands(e: ast.UnaryOp | ast.BinOp) -> tuple[ast.expr, ...]:
    return (e.operand,) if isinstance(e, ast.UnaryOp) else (e.left, e.right)
