"""From a Python function object to its syntax tree, which is found by position.

Position rather than name, so that lambdas, closures, factories, notebooks and decorated functions
work alike. Only the function's own block is parsed where that suffices.
"""

from __future__ import annotations

import ast
import inspect
import linecache
import os
import sys
import tokenize
from contextlib import suppress
from functools import lru_cache
from types import CodeType, FunctionType

from execspace import KernelSyntaxError
from execspace.base.dataclass import dataclass
from execspace.base.parsing import parse
from execspace.kernels.exec_source import arrived, remembered, running

from ..ir.diagnostics import Fault, Loc, syntax_fault
from .advice import unsupported
from .running_code import mismatch

FunctionNode = ast.FunctionDef | ast.Lambda


@dataclass(frozen=True, slots=True)
class Source:
    """A function with its syntax tree; line numbers are those of the file."""

    fn: FunctionType
    node: FunctionNode
    file: str


def source_of(fn: FunctionType, text: str | None = None) -> Source:
    """Find the syntax tree of a function.

    Parameters
    ----------
    fn : function
    text : str, optional
        Source of the module that defines it, if the user gave it.

    Raises
    ------
    KernelSyntaxError
        If Python does not keep the source: plain REPL before 3.13, `python -c`, bare `exec`.
    """
    try:
        return find_source(fn, text)
    except Fault as fault:
        raise KernelSyntaxError(f"in kernel '{fn.__name__}'\n\n{fault}") from None


def find_source(fn: FunctionType, text: str | None = None) -> Source:
    """As `source_of`, but raises a Fault."""
    if text is not None:
        return _in_text(fn, text)
    try:
        return _from_linecache(fn)
    except Fault:
        # linecache may still hold the old text of a reloaded module.
        linecache.checkcache(fn.__code__.co_filename)
        return _from_linecache(fn)


def _from_linecache(fn: FunctionType) -> Source:
    code = fn.__code__
    lines = linecache.getlines(code.co_filename, fn.__globals__)
    text = arrived(fn) or (None if lines else remembered(fn) or running(fn))
    if text is not None:
        return _in_text(fn, text)
    if not lines and not os.path.isfile(code.co_filename):
        raise _no_source(fn, _nowhere(code))
    return _found(fn, lines, code.co_filename)


def _in_text(fn: FunctionType, text: str) -> Source:
    lines = text.splitlines(keepends=True)
    import hashlib  # 2.5 ms, for kernels whose text was given

    name = f"<kernel {fn.__name__} {hashlib.sha256(text.encode()).hexdigest()[:8]}>"
    linecache.cache[name] = (len(text), None, lines, name)  # for excerpts in messages
    return _found(fn, lines, name)


def _found(fn: FunctionType, lines: list[str], name: str) -> Source:
    """The definition in the lines of a module, which are to be called `name`."""
    code = fn.__code__
    if code.co_name == "<lambda>":
        node: FunctionNode | None = _lambda(code, lines)
    else:
        found = _definition(code, lines)
        if isinstance(found, ast.AsyncFunctionDef):
            raise unsupported(found, Loc.of(found, name))
        node = found
    why = "it is not there" if node is None else mismatch(fn, node, "".join(lines))
    if node is None or why is not None:
        raise syntax_fault(
            _nowhere(code),
            f"the source of '{fn.__name__}' does not match the running code: {why}",
            "the file changed since it was imported; restart Python or reload the module",
        )
    return Source(fn, node, name)


def _nowhere(code: CodeType) -> Loc:
    return Loc(code.co_filename, code.co_firstlineno, 0, 0, 0)


def _no_source(fn: FunctionType, nowhere: Loc) -> Fault:
    """Why there is no source, which depends on where the function comes from."""
    missing = f"the source of this function is not available: '{fn.__name__}'"
    if not fn.__code__.co_filename.startswith("<"):
        return syntax_fault(
            nowhere,
            f"{missing} was compiled from {fn.__code__.co_filename}, which is not there",
            "keep the source beside what Python compiled of it",
        )
    if fn.__code__.co_filename != "<stdin>":
        return syntax_fault(
            nowhere,
            f"{missing} was typed at the plain prompt or made by exec, of which Python keeps none",
            "decorate it with @es.kernel in the text that exec runs and keep that text in a "
            "variable, give the text as @es.kernel(source=text), or put the kernel into a file, a "
            "notebook cell or IPython",
        )
    if hasattr(sys, "ps1"):
        return syntax_fault(
            nowhere,
            f"{missing} was typed at the plain prompt, of which Python keeps none before 3.13",
            "put the kernel into a file and import it, or use IPython or a notebook",
        )
    return syntax_fault(
        nowhere,
        f"{missing} is part of a program read from standard input, of which Python keeps none",
        "put the program into a file and run that, or pass it as python -c",
    )


def _definition(code: CodeType, lines: list[str]) -> ast.FunctionDef | ast.AsyncFunctionDef | None:
    first = code.co_firstlineno - 1
    tree = _block(lines, first)
    if tree is None:
        return None
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name == code.co_name:
            start = min([node.lineno, *(d.lineno for d in node.decorator_list)])
            if start == code.co_firstlineno:
                return node
    return None


# Lines that may look like a block's end and are none: decorators, and such in strings and brackets.
_TRIES = 16


def _block(lines: list[str], first: int) -> ast.Module | None:
    """The tree of the block that begins in a line, with the line numbers of the file.

    It ends before the first line that is not further to the right, and what is cut off within a
    string, a bracket or after a decorator is no Python. `inspect.getblock` looks at each token
    instead, and compiles an expression of 2 to 4 ms for it.
    """
    tried, margin = 0, _column(lines[first]) if first < len(lines) else 0
    for end in range(first + 1, len(lines) + 1):
        if end < len(lines) and _column(lines[end]) > margin:
            continue
        tree = _parsed_block(lines[first:end], first)
        if tree is not None:
            return tree
        tried += 1
        if tried == _TRIES:
            break
    with suppress(tokenize.TokenError, SyntaxError):  # it is no Python any more
        return _parsed_block(inspect.getblock(lines[first:]), first)
    return None


def _column(line: str) -> float:
    """Where a line begins; nowhere if it has no code."""
    code = line.lstrip()
    return float("inf") if code[:1] in ("", "#") else len(line[: -len(code)].expandtabs())


def _parsed_block(block: list[str], first: int) -> ast.Module | None:
    indented = bool(block) and block[0][:1] in " \t"
    # A wrapper keeps columns as they are in the file, where dedenting would shift them.
    text = "if True:\n" + "".join(block) if indented else "".join(block)
    try:
        tree = parse(text)
    except SyntaxError:
        return None
    ast.increment_lineno(tree, first - (1 if indented else 0))
    return tree


@lru_cache(maxsize=32)
def _parse(text: str) -> ast.Module | None:
    try:
        return parse(text)
    except SyntaxError:
        return None


def _lambda(code: CodeType, lines: list[str]) -> ast.Lambda | None:
    tree = _parse("".join(lines))
    if tree is None:
        return None
    at = [(p[0], p[2]) for p in code.co_positions() if p[0] and p[2] is not None]
    first = min((p for p in at if p != (code.co_firstlineno, 0)), default=None)
    best: ast.Lambda | None = None
    for node in ast.walk(tree):
        if not isinstance(node, ast.Lambda) or node.lineno != code.co_firstlineno:
            continue
        body = node.body
        start = (body.lineno, body.col_offset)
        end = (body.end_lineno or 0, body.end_col_offset or 0)
        inside = first is None or start <= first < end
        # Of nested lambdas, the innermost one around the code is the right one.
        if inside and (best is None or start >= (best.body.lineno, best.body.col_offset)):
            best = node
    return best
