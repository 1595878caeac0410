"""``execspace run``: runs a program as ``python`` would, watched by profiling tools.

The reports come on standard error when the process ends, also if the program failed.
"""

from __future__ import annotations

import argparse
import builtins
import importlib.machinery
import io
import os
import runpy
import sys
import traceback
from collections.abc import Sequence
from inspect import signature
from types import CodeType, ModuleType, TracebackType
from typing import Any, NoReturn

from ..base import config
from ..base.console import table
from ..plugins.registry import tool_entries
from ..profiling import runs
from . import CommandError, UsageError

HELP = """Run a program, watched by profiling tools, which report when it ends.

The program gets all that follows its name: execspace run script.py --help is its own help. What
it prints, its exit code and its tracebacks are those of python script.py. Reports go to standard
error. Without --tool, and unless EXECSPACE_TOOLS names some, the tool is kernel-timer."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.allow_abbrev = False  # `split` knows whole options only
    parser.usage = "execspace run [--tool NAME[:OPTION=VALUE]...]... [-m MODULE | SCRIPT] [ARGS...]"
    parser.usage += "\n       execspace run --list"
    parser.add_argument(
        "--tool",
        action="append",
        default=[],
        metavar="NAME[:OPTION=VALUE]...",
        help="a tool, with its options; may be given more than once",
    )
    parser.add_argument("--list", action="store_true", help="show all tools and their options")


def split(arguments: Sequence[str]) -> tuple[list[str], list[str]]:
    """What is for this command, and what is for the program, with the program's name.

    Examples
    --------
    >>> split(["--tool", "logger", "script.py", "--tool", "x"])
    (['--tool', 'logger'], ['script.py', '--tool', 'x'])
    """
    n = 0
    while n < len(arguments):
        word = arguments[n]
        if word == "--":
            return list(arguments[:n]), list(arguments[n + 1 :])
        if word == "-m" or not word.startswith("-") or word == "-":
            break
        n += 2 if word == "--tool" else 1
    return list(arguments[:n]), list(arguments[n:])


def run(arguments: argparse.Namespace) -> int:
    """List the tools, or run the program; then it ends by SystemExit, as the program did."""
    program: list[str] = arguments.rest
    if arguments.list:
        if program or arguments.tool:
            raise UsageError("--list runs nothing; leave out the program and --tool.")
        _list()
        return 0
    if not program or program == ["-m"]:
        raise UsageError("expected a script, or -m MODULE; execspace run --help shows how.")
    code = None if program[0] == "-m" else _read(program[0])
    chosen = arguments.tool or ([] if config.get_list("TOOLS") else ["kernel-timer"])
    tool_entries()  # which attaches those of EXECSPACE_TOOLS
    if chosen:
        runs.start_for_process(chosen)
    if program[0] == "-m":
        _run_module(program[1], program[2:])
    else:
        _run_script(program[0], program[1:], code)


def _list() -> None:
    entries = tool_entries()
    if not entries:
        raise CommandError("No profiling tool is installed; in a checkout, pip install -e tools.")
    rows = []
    for name, entry in sorted(entries.items()):
        options = " ".join(
            f"{p.name}={_shown(p.default)}" for p in signature(entry.factory).parameters.values()
        )
        rows.append([name, entry.summary, options])
    table(["tool", "what it shows", "options"], rows)


def _shown(default: Any) -> str:
    """A default as it is written after an option."""
    return str(int(default)) if isinstance(default, bool) else str(default)


# -- scripts --------------------------------------------------------------------------------------


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


def _run_script(path: str, arguments: list[str], code: CodeType | None) -> NoReturn:
    sys.argv = [path, *arguments]
    if code is None:
        _first_on_path(path)
        _watched(lambda: runpy.run_path(path, run_name="__main__"), path)
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
    _watched(lambda: exec(code, main.__dict__))


def _run_module(name: str, arguments: list[str]) -> NoReturn:
    sys.argv = [name, *arguments]
    _first_on_path(os.getcwd())
    _watched(lambda: runpy.run_module(name, run_name="__main__", alter_sys=True), name)


def _first_on_path(folder: str) -> None:
    """Put a folder where Python has put that of this command."""
    if not sys.flags.safe_path:
        sys.path[0] = folder


def _watched(program: Any, found_by_runpy: str = "") -> NoReturn:
    """Run the program and end as it does.

    `found_by_runpy`: the module, folder or archive that runpy has to find first.
    """
    try:
        program()
    except SystemExit:
        raise
    except BaseException as error:
        where = _of_program(error.__traceback__)
        if found_by_runpy and where is None and isinstance(error, ImportError):
            runs.drop_for_process()  # runpy did not find it, so there is nothing to tell
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
