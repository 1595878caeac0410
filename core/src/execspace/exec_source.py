"""Source text of functions made by `exec`, `python -c` and the like, where Python keeps none.

The decorator looks at who runs the module's code: the text is a string that the caller of
`exec` holds, or an argument of the process. A text counts only if compiling it gives the very
code that is running, so a wrong one is never taken.
"""

from __future__ import annotations
import __future__

import linecache
import sys
from collections.abc import Iterator
from types import CodeType, FrameType, FunctionType

# Where a module made by exec keeps its own text: its namespace, so that both go together.
_KEY = "__execspace_source__"
_FUTURE = 0
for _name in __future__.all_feature_names:
    _FUTURE |= getattr(__future__, _name).compiler_flag


def remember(fn: FunctionType, depth: int) -> None:
    """Keep the text of the module that defines `fn`, if Python does not and it can be found.

    Parameters
    ----------
    fn : function
    depth : int
        Frames between this call and the one that decorates `fn`.
    """
    file = fn.__code__.co_filename
    if not file.startswith("<") or linecache.getlines(file, fn.__globals__):
        return
    frame: FrameType | None = sys._getframe(depth + 1)
    while frame is not None and frame.f_code.co_filename == file:
        if frame.f_code.co_name == "<module>":
            text = _text_of(frame)
            known = fn.__globals__.setdefault(_KEY, [])
            if text is not None and text not in known:
                known.append(text)
            return
        frame = frame.f_back


def remembered(fn: FunctionType) -> str | None:
    """The text kept for the module of `fn`, if it is the one that defines `fn`."""
    arguments = sys.orig_argv if fn.__code__.co_filename == "<string>" else ()
    for text in (*fn.__globals__.get(_KEY, ()), *arguments):
        if any(code == fn.__code__ for code in _codes(_compiled(text, fn.__code__))):
            return str(text)
    return None


def _compiled(text: str, like: CodeType) -> CodeType | None:
    try:
        flags = like.co_flags & _FUTURE
        code: CodeType = compile(text, like.co_filename, "exec", flags, dont_inherit=True)
    except (SyntaxError, ValueError):
        return None
    return code


def _codes(code: CodeType | None) -> Iterator[CodeType]:
    if code is not None:
        yield code
        for constant in code.co_consts:
            if isinstance(constant, CodeType):
                yield from _codes(constant)


def _text_of(module: FrameType) -> str | None:
    code = module.f_code
    return next((t for t in _candidates(module.f_back) if _compiled(t, code) == code), None)


def _candidates(caller: FrameType | None) -> Iterator[str]:
    if caller is None:  # python -c, whose text `remembered` finds itself
        return
    for held in (caller.f_locals.values(), caller.f_code.co_consts, caller.f_globals.values()):
        yield from (v for v in list(held) if isinstance(v, str) and "kernel" in v)
