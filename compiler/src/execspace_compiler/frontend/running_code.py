"""Checks that source text matches the code objects that run.

Files are saved while programs run: the source that is found may then be newer than the function,
and a kernel compiled from it would not do what Python does.
"""

from __future__ import annotations

import ast
import dis
from collections import Counter, defaultdict
from collections.abc import Iterator
from importlib.machinery import SourceFileLoader
from types import CodeType, FunctionType

from execspace.kernels.exec_source import codes_in, defines, difference, future_flags


def mismatch(fn: FunctionType, node: ast.FunctionDef | ast.Lambda, text: str) -> str | None:
    """How a function differs from its definition in source text, or None if it does not.

    Parameters
    ----------
    fn : function
    node : ast.FunctionDef or ast.Lambda
        The definition, with its positions in the text.
    text : str
        Source of the whole module.
    """
    code = fn.__code__
    if code in _alone(node, code):
        return None
    others = codes_in(text, code)
    if code in others:
        return None
    mine, place = list(_instructions(code)), (code.co_name, code.co_firstlineno)
    for other in others:
        if (other.co_name, other.co_firstlineno) != place:
            continue
        if list(_instructions(other)) == mine:  # IPython compiles statement by statement
            return None
        if _is_rewritten(fn) and _has_more(_by_lines(code, node), _by_lines(other, node), node):
            return None
    if code.co_filename.startswith("<") and defines(text, code):  # timeit puts it into a function
        return None
    return difference(code, others[1:])


def _alone(node: ast.FunctionDef | ast.Lambda, code: CodeType) -> list[CodeType]:
    """The code of a definition compiled alone; most do not depend on the code around them."""
    statement = ast.Expr(node) if isinstance(node, ast.Lambda) else node
    module = ast.Module([ast.copy_location(statement, node)], [])
    try:
        made = compile(
            module, code.co_filename, "exec", future_flags(code), dont_inherit=True
        )  # fmt: skip
    except (SyntaxError, ValueError, RecursionError):
        return []
    return [c for c in made.co_consts if isinstance(c, CodeType)]


def _instructions(code: CodeType) -> Iterator[tuple[str, object]]:
    """All instructions, with names and constants by value and without line numbers."""
    for instruction in dis.get_instructions(code):
        if isinstance(instruction.argval, CodeType):
            yield from _instructions(instruction.argval)
        elif instruction.opname == "LOAD_CONST":
            yield instruction.opname, (type(instruction.argval), repr(instruction.argval))
        else:
            yield instruction.opname, instruction.argrepr


# -- modules that were rewritten as they were loaded, as pytest does for assertions ---------------


def _is_rewritten(fn: FunctionType) -> bool:
    loader = fn.__globals__.get("__loader__")
    return loader is not None and type(loader) is not SourceFileLoader


_Item = tuple[str, object]
_Lines = dict[int | None, list[_Item]]
_CONSTANT = "CONSTANT"
_NOTHING: _Item = (_CONSTANT, (type(None), "None"))  # the implicit result
_OPERATORS = ("BINARY_", "COMPARE_", "CONTAINS_", "IS_", "UNARY_")


def _by_lines(code: CodeType, node: ast.AST) -> _Lines:
    """Operators, names and constants of each line; an assertion's are in its first line."""
    asserts = [a for a in ast.walk(node) if isinstance(a, ast.Assert)]
    lines: _Lines = defaultdict(list)
    for instruction in dis.get_instructions(code):
        at = None if instruction.positions is None else instruction.positions.lineno
        inside = (a.lineno for a in asserts if at and a.lineno <= at <= (a.end_lineno or 0))
        if isinstance(instruction.argval, CodeType):
            for key, items in _by_lines(instruction.argval, node).items():
                lines[key] += items
        elif items := list(_items(instruction)):
            lines[next(inside, at)] += items
    return lines


def _items(instruction: dis.Instruction) -> Iterator[_Item]:
    """What an instruction loads or computes; Python versions name instructions differently."""
    name, value = instruction.opname, instruction.argval
    if name.startswith(("LOAD_CONST", "LOAD_SMALL_INT", "RETURN_CONST")):
        yield _CONSTANT, (type(value), repr(value))
    elif "LOAD_FAST" in name and isinstance(value, tuple):  # two at once, or one after a store
        yield from (("LOAD", v) for v in (value[1:] if name.startswith("STORE") else value))
    elif name.startswith("LOAD_") and isinstance(value, str) and name not in _OF_PYTHON:
        yield "LOAD", value
    elif name.startswith(_OPERATORS):
        # Since 3.13 a comparison that a branch follows is "bool(<)", and pytest stores each.
        yield name, instruction.argrepr.removeprefix("bool(").removesuffix(")")


_OF_PYTHON = ("LOAD_ASSERTION_ERROR", "LOAD_CLOSURE", "LOAD_COMMON_CONSTANT")


def _has_more(running: _Lines, text: _Lines, node: ast.AST) -> bool:
    """Whether each line has all that the text has there, in any order, and other lines nothing."""
    folded = {a.lineno for a in ast.walk(node) if isinstance(a, ast.Assert) and _folds(a)}
    return set(running) <= set(text) and all(
        Counter(i for i in items if not (i == _NOTHING or (line in folded and i[0] == _CONSTANT)))
        <= Counter(running.get(line, ()))
        for line, items in text.items()
    )


def _folds(statement: ast.Assert) -> bool:
    """Whether Python folds constants in an assertion, which it does not in a rewritten one."""
    return any(
        isinstance(e, ast.UnaryOp | ast.BinOp)
        and all(isinstance(o, ast.Constant | ast.UnaryOp | ast.BinOp) for o in _operands(e))
        for e in ast.walk(statement)
    )


def _operands(e: ast.UnaryOp | ast.BinOp) -> tuple[ast.expr, ...]:
    return (e.operand,) if isinstance(e, ast.UnaryOp) else (e.left, e.right)
