"""``execspace run``: runs a program as ``python`` would, watched by profiling tools.

The reports come on standard error when the process ends, also if the program failed.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from inspect import signature
from typing import Any

from ..base import config
from ..base.console import table
from ..plugins.registry import tool_entries
from ..profiling import runs
from . import CommandError, UsageError, program

HELP = """Run a program, watched by profiling tools, which report when it ends.

The program gets all that follows its name: execspace run script.py --help is its own help. What
it prints, its exit code and its tracebacks are those of python script.py. Reports go to standard
error. Without --tool, and unless EXECSPACE_TOOLS names some, the tool is kernel-timer."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.allow_abbrev = False  # `program.split` knows whole options only
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
    """What is for this command, and what is for the program, with the program's name."""
    return program.split(arguments, with_value=["--tool"])


def run(arguments: argparse.Namespace) -> int:
    """List the tools, or run the program; then it ends by SystemExit, as the program did."""
    words: list[str] = arguments.rest
    if arguments.list:
        if words or arguments.tool:
            raise UsageError("--list runs nothing; leave out the program and --tool.")
        _list()
        return 0
    found = program.find("run", words)
    chosen = arguments.tool or ([] if config.get_list("TOOLS") else ["kernel-timer"])
    tool_entries()  # which attaches those of EXECSPACE_TOOLS
    if chosen:
        runs.start_for_process(chosen)
    try:
        program.run(found)
    except UsageError:
        runs.drop_for_process()  # there is no such program, so there is nothing to tell
        raise


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
