"""The command ``execspace``: finds the subcommand that is asked for, loads it and runs it.

Other distributions add commands through the entry-point group `"execspace.commands"`. Its value
names a module with ``HELP``, ``configure(parser)`` and ``run(arguments) -> int``. Only the
command that is asked for is imported, so a broken one is in nobody's way.
"""

from __future__ import annotations

import argparse
import os
import sys
import traceback
from collections.abc import Sequence
from difflib import get_close_matches
from importlib import import_module, metadata
from typing import Any

from ..base import config
from ..base.console import complain, give_up_output, occupy_closed_streams, write
from ..base.errors import ExecspaceError
from ..base.version import __version__
from ..plugins.probing import described

GROUP = "execspace.commands"
# Commands of this distribution, with the line that `execspace --help` shows.
OWN = {
    "info": "versions, settings, spaces and which of them is the default",
    "plugins": "installed plugins: what they registered, or why they failed",
    "tune": "what kernels were tuned to: show it, forget it",
    "doctor": "run kernels on each space, in processes of their own, and check the results",
    "run": "run a program, watched by profiling tools: where does its time go?",
    "precompile": "compile all kernels of a program at once, so that later runs find them on disk",
}
RUN_PROGRAMS = ("run", "precompile")
_ELSEWHERE = {"tune": "execspace.tuning.command"}
# Commands that may be missing: the distribution that has them, its folder in a checkout, and the
# line of help.
KNOWN = {
    "cache": (
        "execspace-compiler",
        "compiler",
        "the folder of compiled kernels: show it, clear it",
    ),
    "new-backend": (
        "execspace-testing",
        "tests/conformance",
        "write the skeleton of a package with a new space",
    ),
}
EPILOG = "execspace COMMAND --help describes a command. The exit code is 0 if all is well, 1 if"
EPILOG += " something is not, and 2 if the command line is wrong."


class CommandError(ExecspaceError):
    """A command cannot be run; the message says why, and what to do."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command line, without the name of the program; returns the exit code.

    Expected failures are a message on standard error. With EXECSPACE_STRICT=1 they have a
    traceback, too.

    Raises
    ------
    SystemExit
        For ``--help``, ``--version`` and arguments that argparse refuses.
    """
    occupy_closed_streams()
    try:
        try:
            return _dispatch(list(sys.argv[1:] if argv is None else argv))
        finally:  # so that a closed pipe is noticed here, and not when Python ends
            if sys.stdout is not None and not sys.stdout.closed:
                sys.stdout.flush()
    except KeyboardInterrupt:
        complain("interrupted")
        return 130
    except BrokenPipeError:
        give_up_output()
        return 1
    except (ExecspaceError, OSError, ValueError) as failure:
        if os.environ.get("EXECSPACE_STRICT", "").strip().lower() in config.TRUE:
            traceback.print_exc()
        complain(str(failure))
        return 2 if isinstance(failure, UsageError) else 1


class UsageError(CommandError):
    """The command line asks for something that does not exist."""


def _dispatch(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="execspace",
        usage="execspace [--help] [--version] COMMAND ...",
        description="Kokkos' programming model for Python: what is installed, and does it work?",
        epilog=EPILOG,
        add_help=False,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("-h", "--help", action="store_true", help="show this text and exit")
    parser.add_argument("--version", action="store_true", help="show the version and exit")
    own, rest = _split(argv)
    chosen = parser.parse_args(own)
    if chosen.version:
        write(f"execspace {__version__}")
        return 0
    if chosen.help or not rest:
        parser.epilog = f"commands:\n{_listing()}\n\n{EPILOG}"
        write(parser.format_help().rstrip())
        return 0 if chosen.help else 2
    name, *arguments = rest
    command = _command(name)
    sub = argparse.ArgumentParser(
        prog=f"execspace {name}",
        description=command.HELP,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    command.configure(sub)
    if name in RUN_PROGRAMS:  # whose arguments are not for argparse
        arguments, rest = command.split(arguments)
        sub.set_defaults(rest=rest)
    code = command.run(sub.parse_args(arguments))
    if not isinstance(code, int):
        raise CommandError(f"Command '{name}' returned {code!r}; expected an exit code, an int.")
    return int(code)


def _split(argv: list[str]) -> tuple[list[str], list[str]]:
    """Options before the command, and the command with what follows it."""
    for position, word in enumerate(argv):
        if not word.startswith("-"):
            return argv[:position], argv[position:]
    return argv, []


def _points() -> dict[str, list[metadata.EntryPoint]]:
    """Commands of other distributions by name; none of them is imported."""
    found: dict[str, list[metadata.EntryPoint]] = {}
    for point in metadata.entry_points(group=GROUP):
        if point.name not in OWN:
            found.setdefault(point.name, []).append(point)
    return found


def _origin(point: metadata.EntryPoint) -> str:
    return "unknown" if point.dist is None else f"{point.dist.name} {point.dist.version}"


def _listing() -> str:
    """One line for each command; those that nothing is known of are imported for theirs."""
    found = _points()
    lines = dict(OWN)
    for name, (distribution, folder, text) in KNOWN.items():
        missing = f"{text} (of {distribution}; pip install -e {folder} in a checkout)"
        lines[name] = text if name in found else missing
    for name, points in found.items():
        if name not in KNOWN:
            try:
                text = _loaded(name, points).HELP.strip().partition("\n")[0]
            except CommandError:
                text = f"(of {_origin(points[0])}; cannot be loaded)"
            lines[name] = text
    width = max(map(len, lines))
    return "\n".join(f"  {name:{width}}  {text}" for name, text in lines.items())


def _command(name: str) -> Any:
    """The module of a command.

    Raises
    ------
    UsageError
        If there is none; the message says what to install.
    CommandError
        If it cannot be loaded.
    """
    if name in OWN:
        return import_module(_ELSEWHERE.get(name, f"{__name__}.{name}"))
    found = _points()
    if name in found:
        return _loaded(name, found[name])
    if name in KNOWN:
        raise UsageError(
            f"Command '{name}' is in the distribution {KNOWN[name][0]}, which is not installed; "
            f"in a checkout of execspace, pip install -e {KNOWN[name][1]}."
        )
    known = sorted({*OWN, *KNOWN, *found})
    close = get_close_matches(name, known, n=1)
    hint = f" Did you mean '{close[0]}'?" if close else ""
    raise UsageError(f"'{name}' is not a command; commands: {', '.join(known)}.{hint}")


def _loaded(name: str, points: list[metadata.EntryPoint]) -> Any:
    if len(points) > 1:
        raise CommandError(
            f"Command '{name}' comes from {' and '.join(map(_origin, points))}; uninstall all but "
            f"one of them."
        )
    try:
        module = points[0].load()
    except KeyboardInterrupt:
        raise
    except BaseException as failure:  # whatever a third party does, sys.exit() included
        raise CommandError(
            f"Command '{name}' of {_origin(points[0])} cannot be loaded: "
            f"{described(failure).rstrip('.')}. Reinstall or uninstall that distribution."
        ) from failure
    missing = [part for part in ("configure", "run") if not callable(getattr(module, part, None))]
    missing += [] if isinstance(getattr(module, "HELP", None), str) else ["HELP"]
    if missing:
        raise CommandError(
            f"Command '{name}' of {_origin(points[0])} is not complete: {points[0].value} has no "
            f"{', '.join(missing)}; expected a module with HELP, configure(parser) and "
            f"run(arguments) -> int."
        )
    return module
