"""Programs that a command runs: found, and run as ``python`` would.

What follows the program's name is the program's own.
"""

from __future__ import annotations

import builtins
import importlib.machinery
import io
import os
import runpy
import sys
import traceback
from collections.abc import Callable, Sequence
from types import CodeType, ModuleType, TracebackType
from typing import NamedTuple, NoReturn

from . import UsageError


def split(arguments: Sequence[str], with_value: Sequence[str]) -> tuple[list[str], list[str]]:
    """What is for a command, and what is for the program, with the program's name.

    `with_value`: options of the command that have a value behind them.

    Examples
    --------
    >>> split(["--tool", "logger", "script.py", "--tool", "x"], ["--tool"])
    (['--tool', 'logger'], ['script.py', '--tool', 'x'])
    """
    n = 0
    while n < len(arguments):
        word = arguments[n]
        if word == "--":
            return list(arguments[:n]), list(arguments[n + 1 :])
        if word == "-m" or not word.startswith("-") or word == "-":
            break
        n += 2 if word in with_value else 1
    return list(arguments[:n]), list(arguments[n:])


class OutOfTime(BaseException):
    """Raised in a program whose time is over; no error of its own, so that it does not catch it."""


class Program(NamedTuple):
    """A program, with its arguments.

    Attributes
    ----------
    name : str
        A path, or the name of a module.
    arguments : list of str
    is_module : bool
    code : code or None
        None: `runpy` finds it.
    """

    name: str
    arguments: list[str]
    is_module: bool
    code: CodeType | None


def find(command: str, words: Sequence[str]) -> Program:
    """The program that a command line names.

    Raises
    ------
    UsageError
        If it names none, or a script that cannot be read.
    SystemExit
        If its text is not Python, which is shown as by ``python``.
    """
    if not words or list(words) == ["-m"]:
        raise UsageError(f"expected a script, or -m MODULE; execspace {command} --help shows how.")
    if words[0] == "-m":
        return Program(words[1], list(words[2:]), True, None)
    return Program(words[0], list(words[1:]), False, _read(words[0]))


def run(program: Program) -> NoReturn:
    """Run a program in this process, as ``__main__``, and end as it does.

    Raises
    ------
    SystemExit
        Whatever the program does; what it did not catch is shown as by ``python``.
    UsageError
        If `runpy` does not find it.
    """
    sys.argv = [program.name, *program.arguments]
    if program.is_module:
        _run_module(program.name)
    else:
        _run_script(program.name, program.code)


def _read(path: str) -> CodeType | None:
    """The code of a script; None for a folder or an archive, which are left to `runpy`.

    Raises
    ------
    UsageError
        If there is no such file.
    """
    if os.path.isdir(path):
        return None
    try:
        with io.open_code(os.path.abspath(path)) as file:
            source = file.read()
    except OSError as error:
        raise UsageError(f"{path!r} cannot be read: {error.strerror}.") from None
    if b"\0" in source:  # no text: an archive, or compiled
        return None
    try:
        return compile(source, os.path.abspath(path), "exec", dont_inherit=True)
    except (SyntaxError, ValueError) as error:
        _fail(error.with_traceback(None))


def _run_script(path: str, code: CodeType | None) -> NoReturn:
    if code is None:
        _first_on_path(path)
        _ended(lambda: runpy.run_path(path, run_name="__main__"), path)
    _first_on_path(os.path.dirname(os.path.realpath(path)))
    main = ModuleType("__main__")
    name = os.path.abspath(path)
    main.__dict__.update(
        __file__=name,
        __builtins__=builtins,
        __cached__=None,
        __loader__=importlib.machinery.SourceFileLoader("__main__", name),
    )
    sys.modules["__main__"] = main  # and it stays: what runs at exit belongs to the program, too
    _ended(lambda: exec(code, main.__dict__))


def _run_module(name: str) -> NoReturn:
    _first_on_path(os.getcwd())
    _ended(lambda: runpy.run_module(name, run_name="__main__", alter_sys=True), name)


def _first_on_path(folder: str) -> None:
    """Put a folder where Python has put that of this command."""
    if not sys.flags.safe_path:
        sys.path[0] = folder


def _ended(program: Callable[[], object], found_by_runpy: str = "") -> NoReturn:
    """Run a program and end as it does.

    `found_by_runpy`: the module, folder or archive that runpy has to find first.
    """
    try:
        program()
    except (SystemExit, OutOfTime):
        raise
    except BaseException as error:
        where = _of_program(error.__traceback__)
        if found_by_runpy and where is None and isinstance(error, ImportError):
            raise UsageError(f"{error}.") from None
        _fail(error.with_traceback(where))
    raise SystemExit(0)


def _of_program(where: TracebackType | None) -> TracebackType | None:
    """A traceback from the program's own first line on."""
    ours = (__file__, runpy.__file__, "<frozen runpy>")
    while where is not None and where.tb_frame.f_code.co_filename in ours:
        where = where.tb_next
    return where


def _fail(error: BaseException) -> NoReturn:
    """Show an error that the program did not catch, as Python would, and end."""
    try:
        sys.excepthook(type(error), error, error.__traceback__)
    except Exception:
        traceback.print_exc()
    raise SystemExit(130 if isinstance(error, KeyboardInterrupt) else 1)
