"""Short tracebacks of execspace's errors, for IPython and notebooks; and their form for rich.

They have the user's own frames: those of execspace, and of libraries below it, are counted only.
Python's own tracebacks are what they are. With EXECSPACE_TRACEBACK=full so are IPython's.
"""

from __future__ import annotations

import importlib.util
import io
import os
import re
import sys
import sysconfig
from collections.abc import Iterable, Iterator
from traceback import FrameSummary, TracebackException, walk_tb
from typing import TYPE_CHECKING, Any

from . import config
from .frames import is_own, package_of

if TYPE_CHECKING:
    from rich.text import Text

_SHELLS = ("IPython", "ipykernel")
_MODULE = "execspace.base.errors."  # before names of errors
_PLACE = re.compile(r"^(\S.*?):(\d+):(\d+): ")  # in messages of the compiler
_EXCERPT = re.compile(r"^( *\d* \| ?)(.*)$")
_CODE_OF_FRAME = re.compile(r"^(    )(\S.*)$")
_FRAME = re.compile(r'^  File (".*?"), line (\d+), in ')
_ERROR = re.compile(r"^[\w.]+(?=: |$)")


def is_short() -> bool:
    """Whether IPython shows a short traceback: not where the user asks for another one."""
    if config.get("TRACEBACK") == "full":
        return False
    mode = getattr(getattr(_shell(), "InteractiveTB", None), "mode", "Context")
    return mode in ("Context", "Plain")  # the others are asked for with %xmode


def rendered(error: BaseException) -> list[str]:
    """Lines of the short traceback, with colours if the shell has them and rich is installed."""
    lines = shortened(error)
    colours = str(getattr(_shell(), "colors", "nocolor")).lower()
    if colours == "nocolor" or importlib.util.find_spec("rich") is None:
        return lines
    from rich.console import Console

    drawn = io.StringIO()
    console = Console(
        file=drawn, width=10_000, force_terminal=True, color_system="standard", soft_wrap=True
    )
    console.print(highlighted(lines))
    return drawn.getvalue().splitlines()


def shortened(error: BaseException) -> list[str]:
    """Lines of an error's traceback without the frames of execspace."""
    told = TracebackException.from_exception(error)
    hidden = sum(_shorten(part, of, of is error) for part, of in _chain(told, error))
    text = "".join(told.format()).rstrip("\n")
    lines = [_with_cell(line.removeprefix(_MODULE)) for line in text.split("\n")]
    if hidden:
        frames = "1 frame" if hidden == 1 else f"{hidden} frames"
        lines += ["", f"({frames} of execspace not shown; EXECSPACE_TRACEBACK=full shows all)"]
    return lines


def _chain(
    told: TracebackException, error: BaseException
) -> Iterator[tuple[TracebackException, BaseException]]:
    """An error with its causes, and what was handled when they were raised."""
    waiting: list[tuple[Any, Any]] = [(told, error)]
    while waiting:
        part, of = waiting.pop()
        if part is not None:
            yield part, of
            waiting += [(part.__cause__, of.__cause__), (part.__context__, of.__context__)]
            waiting += zip(part.exceptions or (), getattr(of, "exceptions", ()), strict=False)


def _shorten(part: TracebackException, error: BaseException, is_first: bool) -> int:
    """Take away frames; how many of execspace and below it. A first error keeps at least one."""
    kept: list[FrameSummary] = []
    hidden = 0
    within = False  # execspace, so that libraries are none that the user called
    # Where sys.tracebacklimit is set there are fewer of the former.
    for summary, (frame, _) in zip(part.stack, walk_tb(error.__traceback__), strict=False):
        if package_of(frame) in _SHELLS and not kept and not within:
            continue
        if is_own(frame):
            within = True
        elif not within or not summary.filename.startswith((*_libraries(), "<frozen ")):
            within = False
            kept.append(summary)
            continue
        hidden += 1
    if not kept and is_first:
        return 0
    for summary in kept:
        _ = summary.line  # which is looked up by the name of the file
        summary.filename = _cell(summary.filename) or summary.filename
    part.stack[:] = kept
    return hidden


def _libraries() -> list[str]:
    """Folders of Python's own modules and of those that are installed."""
    names = ("stdlib", "purelib", "platlib")
    return [os.path.join(sysconfig.get_path(name), "") for name in names]


def _shell() -> Any:
    """IPython's shell if there is one."""
    ipython = sys.modules.get("IPython")
    return None if ipython is None else ipython.get_ipython()


def _cell(filename: str) -> str:
    """What IPython calls a cell whose code has that name; empty for files."""
    name = getattr(getattr(_shell(), "compile", None), "format_code_name", None)
    found = None if name is None else name(filename)
    return "" if found is None else " ".join(found)


def _with_cell(line: str) -> str:
    """A line of a message with the name of a cell in place of that of its file."""
    place = _PLACE.match(line)
    cell = _cell(place[1]) if place else ""
    return f"{cell}{line[place.end(1) :]}" if place and cell else line


# -- rich -----------------------------------------------------------------------------------------


def message(error: BaseException) -> Text:
    """The name of an error and its message, with excerpts of source highlighted."""
    from rich.text import Text

    lines = [*f"{type(error).__name__}: {error}".split("\n"), *getattr(error, "__notes__", ())]
    found: Text = highlighted(lines)
    assert isinstance(found, Text)
    return found


def highlighted(lines: Iterable[str]) -> Text:
    """Lines of a traceback or message as a text of rich."""
    from rich.syntax import Syntax
    from rich.text import Text

    python = Syntax("", "python", theme="ansi_dark")

    def code(before: str, rest: str) -> Text:
        if rest and not rest.strip(" ^~"):
            return Text.assemble((before, "dim"), (rest, "bold red"))
        coloured = python.highlight(rest)
        coloured.rstrip()
        return Text.assemble((before, "dim"), coloured)

    drawn = []
    for line in lines:
        if excerpt := _EXCERPT.match(line) or _CODE_OF_FRAME.match(line):
            drawn.append(code(excerpt[1], excerpt[2]))
            continue
        text = Text(line)
        if frame := _FRAME.match(line):
            text.stylize("cyan", *frame.span(1))
            text.stylize("cyan", *frame.span(2))
        elif place := _PLACE.match(line):
            text.stylize("cyan", 0, place.end(3))
        elif line.startswith("hint:"):
            text.stylize("green", 0, 5)
        elif line.startswith("("):
            text.stylize("dim")
        elif error := _ERROR.match(line):
            text.stylize("bold red", 0, error.end())
        drawn.append(text)
    return Text("\n").join(drawn)
