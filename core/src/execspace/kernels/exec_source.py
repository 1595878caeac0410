"""Source text of functions made by `exec`, `python -c` and the like, where Python keeps none.

The decorator looks at who runs the module's code: the text is a string that the caller of
`exec` holds, or an argument of the process. A text counts only if compiling it gives the very
code that is running, so a wrong one is never taken.
"""

from __future__ import annotations
import __future__

import ast
import inspect
import itertools
import linecache
import os
import sys
from collections.abc import Iterator
from functools import lru_cache
from types import CodeType, FrameType, FunctionType

from ..base.errors import KernelSyntaxError
from ..base.parsing import parse

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
    if not file.startswith("<") and os.path.exists(file):
        return
    if linecache.getlines(file, fn.__globals__):
        return
    frame: FrameType | None = sys._getframe(depth + 1)
    text = None
    while text is None and frame is not None and frame.f_code.co_filename == file:
        if frame.f_code.co_name == "<module>":
            text = _text_of(frame)
        frame = frame.f_back
    if text is None and remembered(fn) is None:
        text = running(fn)
    known = fn.__globals__.setdefault(_KEY, [])
    if text is not None and text not in known:
        known.append(text)


def running(fn: FunctionType) -> str | None:
    """The text that defines `fn`, if one of the functions that run now holds it.

    They compile it in ways of their own: IPython's %%time takes its last line off, and %timeit
    and the module timeit put it into a function.
    """
    code = fn.__code__
    if not code.co_filename.startswith("<"):
        return None
    begins = "lambda" if code.co_name == "<lambda>" else f"def {code.co_name}"
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        if (frame.f_code.co_filename, frame.f_code.co_name) == (code.co_filename, "<module>"):
            text = _text_of(frame)
            if text is not None and code in codes_in(text, code):
                return text
        for value in list(frame.f_locals.values()):
            text = value.src if type(value).__name__ == "Timer" and hasattr(value, "src") else value
            if isinstance(text, str) and begins in text and defines(text, code):
                return text
        frame = frame.f_back
    return None


def remembered(fn: FunctionType) -> str | None:
    """The text kept for the module of `fn`, if it is the one that defines `fn`."""
    for text in (*fn.__globals__.get(_KEY, ()), *_of_process(fn.__code__.co_filename)):
        if defines(text, fn.__code__):
            return str(text)
    return None


def check_given(fn: FunctionType, text: str) -> None:
    """Make sure that a text which the user gave is that of the module which defines `fn`.

    Raises
    ------
    KernelSyntaxError
    """
    if not isinstance(text, str):
        raise _not_its_source(fn, f"it is of type {type(text).__name__!r}, expected a string")
    code = fn.__code__
    try:
        found = list(_codes(_parsed(text, code.co_filename, future_flags(code))))
    except (SyntaxError, ValueError) as error:
        raise _not_its_source(fn, f"it cannot be compiled: {error}") from None
    if code not in found:
        raise _not_its_source(fn, difference(code, found[1:]))


def _not_its_source(fn: FunctionType, why: str) -> KernelSyntaxError:
    return KernelSyntaxError(
        f"@es.kernel(source=...) of '{fn.__qualname__}' is not the text that defines it: {why}. "
        f"Give the text of the whole module, as it was compiled."
    )


def future_flags(code: CodeType) -> int:
    """What `from __future__` was in force where the code was compiled, for `compile`."""
    return code.co_flags & _FUTURE


def codes_in(text: str, like: CodeType) -> list[CodeType]:
    """Code of a module and of all functions and classes in it, compiled as `like` was.

    Empty if the text cannot be compiled.
    """
    return list(_codes(_compiled(text, like)))


def defines(text: str, code: CodeType) -> bool:
    """Whether a text has a function of this code, as a module or as the body of a function."""
    return code in codes_in(text, code) or code in _codes_within(text, code)


def _codes_within(text: str, like: CodeType) -> list[CodeType]:
    """`codes_in` of a function whose body the text is, with the variables that `like` captures."""
    if not like.co_flags & inspect.CO_NESTED:
        return []
    try:
        module = parse("def _around(): pass")
        (around,) = module.body
        assert isinstance(around, ast.FunctionDef)
        around.args.args = [ast.arg(name, lineno=1, col_offset=0) for name in like.co_freevars]
        around.body = parse(text).body
        made = compile(module, like.co_filename, "exec", future_flags(like), dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError):
        return []
    return list(_codes(made))


def difference(code: CodeType, others: list[CodeType]) -> str:
    """In what a function differs from that of a text, in words: "there it ..."."""
    alike = [c for c in others if c.co_qualname == code.co_qualname]
    alike = alike or [c for c in others if c.co_name == code.co_name]
    if not alike:
        names = ", ".join(dict.fromkeys(c.co_qualname for c in others)) or "no function"
        return f"it defines {names}"
    other = min(alike, key=lambda c: abs(c.co_firstlineno - code.co_firstlineno))
    for what, mine, its in (
        ("has the parameters", _parameters(code), _parameters(other)),
        ("reads the names", ", ".join(code.co_names), ", ".join(other.co_names)),
        ("has the constants", _constants(code), _constants(other)),
        ("begins in line", code.co_firstlineno, other.co_firstlineno),
        ("ends in line", _last_line(code), _last_line(other)),
    ):
        if mine != its:
            return f"there it {what} {its or 'none'}, and in the running code {mine or 'none'}"
    return "there it has other statements than in the running code"


def _parameters(code: CodeType) -> str:
    return ", ".join(code.co_varnames[: code.co_argcount + code.co_kwonlyargcount])


def _constants(code: CodeType) -> str:
    return ", ".join(repr(c) for c in code.co_consts if not isinstance(c, CodeType | None))


def _last_line(code: CodeType) -> int:
    return max((line for _, _, line in code.co_lines() if line is not None), default=0)


@lru_cache(maxsize=32)  # a function may be defined, and so decorated, often
def _parsed(text: str, file: str, flags: int) -> CodeType:
    code: CodeType = compile(text, file, "exec", flags, dont_inherit=True)
    return code


_MANY = ("<string>", "<stdin>")  # names that many texts have
_NAMELESS = "<dynamic-code>"  # what cloudpickle calls every file, from 3.1.3 on


def _of_process(file: str) -> Iterator[str]:
    """Texts that the process itself was given: by `python -c`, or by a file as standard input."""
    if file == "<string>":
        yield from sys.orig_argv
    elif file == "<stdin>":
        try:
            size = os.fstat(0).st_size
            yield os.pread(0, size, 0).decode() if size else ""
        except (OSError, AttributeError, UnicodeDecodeError):  # a pipe, or no POSIX
            return


# Texts of functions that came in pickles, by the name of their file.
_arrived: dict[str, list[str]] = {}


def keep(file: str, text: str) -> None:
    """Remember a text of a file that came with a pickle."""
    known = _arrived.setdefault(file, [])
    if text not in known:
        known.append(text)


def arrived(fn: FunctionType) -> str | None:
    """The text that came with a pickle and defines `fn`, unless Python has the same."""
    code = fn.__code__
    file = code.co_filename
    texts: list[str] = _arrived.get(file, [])
    if texts and "".join(linecache.getlines(file, fn.__globals__)) in texts:
        return None
    if file == _NAMELESS:
        texts = list(dict.fromkeys(text for known in list(_arrived.values()) for text in known))
    for text in texts:
        if code in codes_in(text, code):
            return text
    # IPython compiles the statements of a cell one by one, which may give other instructions.
    if file == _NAMELESS:
        texts = [t for t in texts if any(_same_place(code, c) for c in codes_in(t, code))]
    return texts[0] if len(texts) == 1 and file not in _MANY else None


def _same_place(code: CodeType, other: CodeType) -> bool:
    return (code.co_qualname, code.co_firstlineno, _parameters(code)) == (
        other.co_qualname, other.co_firstlineno, _parameters(other),
    )  # fmt: skip


def text_of(fn: FunctionType) -> str | None:
    """The text of the module that defines `fn`, None if nobody has it."""
    text = arrived(fn)
    if text is None:
        text = "".join(linecache.getlines(fn.__code__.co_filename, fn.__globals__)) or None
    return remembered(fn) or running(fn) if text is None else text


def _compiled(text: str, like: CodeType) -> CodeType | None:
    try:
        return _parsed(text, like.co_filename, future_flags(like))
    except (SyntaxError, ValueError):
        return None


def _codes(code: CodeType | None) -> Iterator[CodeType]:
    if code is not None:
        yield code
        for constant in code.co_consts:
            if isinstance(constant, CodeType):
                yield from _codes(constant)


def _text_of(module: FrameType) -> str | None:
    code = module.f_code
    caller = module.f_back
    if caller is None:  # python -c, whose text `remembered` finds itself
        return None
    found = itertools.chain(_candidates(caller), _evaluated(caller))
    return next((t for t in found if _compiled(t, code) == code), None)


def _evaluated(caller: FrameType) -> Iterator[str]:
    from .exec_argument import sources_of_call  # needed where nobody holds the text

    file = caller.f_code.co_filename
    lines = linecache.getlines(file, caller.f_globals)
    for source in ["".join(lines)] if lines else _of_process(file):
        yield from sources_of_call(caller, source)


def _candidates(caller: FrameType) -> Iterator[str]:
    for held in (caller.f_locals.values(), caller.f_code.co_consts, caller.f_globals.values()):
        yield from (v for v in list(held) if isinstance(v, str) and "kernel" in v)
