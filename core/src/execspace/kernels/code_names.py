"""What Python's code objects say of a function: the names that it reads, and all of it as text."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from types import CodeType


@lru_cache(maxsize=4096)
def loaded_names(
    code: CodeType, roots: frozenset[str] = frozenset()
) -> tuple[tuple[str, ...], ...]:
    """Dotted names that a code object reads from enclosing scopes, in order.

    `roots` are parameters that count as such names, because they are bound beforehand.
    """
    return tuple(_loads(code, frozenset(code.co_freevars) | roots, roots))


def _loads(
    code: CodeType, free: frozenset[str], roots: frozenset[str]
) -> Iterator[tuple[str, ...]]:
    # Disassembling takes a fifth of the time to load a kernel from the cache.
    if code.co_names or free or roots:
        yield from _own_loads(code, free, roots)
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            inner = free & frozenset(constant.co_freevars)
            yield from _loads(constant, inner, roots & inner)


def _own_loads(
    code: CodeType, free: frozenset[str], roots: frozenset[str]
) -> Iterator[tuple[str, ...]]:
    import dis

    path: list[str] = []
    for op in dis.get_instructions(code):
        if path and op.opname in ("LOAD_ATTR", "LOAD_METHOD"):
            path.append(op.argval)
            continue
        if path and op.opname in ("CACHE", "PRECALL", "PUSH_NULL"):
            continue
        if path:
            yield tuple(path)
            path = []
        outer = op.opname in ("LOAD_GLOBAL", "LOAD_NAME")
        cell = op.opname.startswith("LOAD_") and "DEREF" in op.opname
        if outer or (cell and op.argval in free):
            path = [op.argval]
        elif "LOAD_FAST" in op.opname:
            # From Python 3.13 on one instruction may load two variables.
            names = op.argval if isinstance(op.argval, tuple) else (op.argval,)
            for name in names:
                if path:
                    yield tuple(path)
                path = [name] if name in roots else []


def code_text(code: CodeType) -> str:
    """All of a function's code but its place in the source."""
    constants = [code_text(c) if isinstance(c, CodeType) else repr(c) for c in code.co_consts]
    names = (code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars)
    head = f"{code.co_name} {code.co_argcount} {code.co_kwonlyargcount} {code.co_flags}"
    return f"{head} {code.co_code.hex()} {constants} {names}"
