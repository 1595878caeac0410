"""Python's parser, for several threads at once.

CPython counts the depth of a tree that it makes in one place for all threads. Where another one is
let in, as when the garbage collector runs a finalizer, it raises SystemError: "AST constructor
recursion depth mismatch", seen with 3.11.7.
"""

from __future__ import annotations

import ast

from .locks import new_rlock

_lock = new_rlock()  # reentrant for the garbage collector's sake


def parse(text: str) -> ast.Module:
    """As `ast.parse`, one thread at a time."""
    with _lock:
        return ast.parse(text)
