"""Source text of functions made by `exec`, `python -c` and the like, where Python keeps none.

The decorator looks at who runs the module's code: the text is a string that the caller of
`exec` holds, or an argument of the process. A text counts only if compiling it gives the very
code that is running, so a wrong one is never taken.
"""

from __future__ import annotations

import linecache
import sys
from collections.abc import Iterator
from types import CodeType, FrameType, FunctionType


def remember(fn: FunctionType, depth: int) -> str | None:
    """Text of the module that defines `fn`; None where Python itself can find it, or nobody can.

    Parameters
    ----------
    fn : function
    depth : int
        Frames between this call and the one that decorates `fn`.
    """
    file = fn.__code__.co_filename
    if not file.startswith("<") or linecache.getlines(file, fn.__globals__):
        return None
    frame: FrameType | None = sys._getframe(depth + 1)
    while frame is not None and frame.f_code.co_filename == file:
        if frame.f_code.co_name == "<module>":
            return _text_of(frame)
        frame = frame.f_back
    return None


def _text_of(module: FrameType) -> str | None:
    for text in _candidates(module.f_back):
        try:
            code = compile(text, module.f_code.co_filename, "exec", dont_inherit=True)
        except (SyntaxError, ValueError):
            continue
        if _same(code, module.f_code):
            return text
    return None


def _same(a: CodeType, b: CodeType) -> bool:
    """Whether two code objects are equal but for flags of `from __future__`."""
    return a == b or (
        a.co_code == b.co_code and a.co_names == b.co_names and len(a.co_consts) == len(b.co_consts)
    )


def _candidates(caller: FrameType | None) -> Iterator[str]:
    arguments = getattr(sys, "orig_argv", [])
    if caller is None:
        yield from (text for text in arguments if "\n" in text or "kernel" in text)
        return
    for held in (caller.f_locals.values(), caller.f_code.co_consts, caller.f_globals.values()):
        yield from (v for v in list(held) if isinstance(v, str) and "kernel" in v)
