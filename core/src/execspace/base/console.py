"""What commands print: lines, tables and times. The only file of the command line that prints.

On a terminal, tables are rich's if that is installed; elsewhere they are plain aligned text,
which never breaks a cell, so that other programs can read it.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib.util
import json
import os
import sys
from collections.abc import Mapping, Sequence
from typing import Any


def write(text: str = "") -> None:
    """Print a line, at once: reports come while work goes on. Nowhere if there is no output."""
    if sys.stdout is not None:
        sys.stdout.write(f"{text}\n")
        sys.stdout.flush()


def complain(text: str) -> None:
    """Print an error of the command line to standard error, if somebody reads that."""
    if sys.stderr is not None:
        with contextlib.suppress(BrokenPipeError):
            sys.stderr.write(f"execspace: {text}\n")
            sys.stderr.flush()


def occupy_closed_streams() -> None:
    """Open the null device in place of standard streams that are closed.

    Else the next file that is opened gets such a number, and what compiled code prints goes there.
    """
    for number in (0, 1, 2):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest number that is free: this one


def give_up_output() -> None:
    """Send what is still to be printed nowhere: the reader, such as `head`, has seen enough."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def write_json(document: Any) -> None:
    """Print one JSON document, in ASCII: no terminal's encoding can spoil it."""
    write(json.dumps(document, indent=2))


def table(headers: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print rows below their headers; a column that is "" in all rows is left out."""
    if not rows:
        return
    kept = [c for c in range(len(headers)) if any(row[c] for row in rows)]
    heads = [headers[c] for c in kept]
    cells = [[row[c] for c in kept] for row in rows]
    on_terminal = sys.stdout is not None and sys.stdout.isatty()
    if on_terminal and importlib.util.find_spec("rich") is not None:
        _rich(heads, cells)
    else:
        _plain(heads, cells)


def _rich(heads: list[str], cells: list[list[str]]) -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    made = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for head in heads:
        made.add_column(head, overflow="fold")  # never cut: names are copied from here
    for row in cells:
        made.add_row(*map(Text, row))  # not markup: a reason may contain brackets
    Console(file=sys.stdout).print(made)


def _plain(heads: list[str], cells: list[list[str]]) -> None:
    for line in aligned(heads, cells):
        write(line)


def aligned(heads: Sequence[str], cells: Sequence[Sequence[str]]) -> list[str]:
    """Lines of a table in plain text; cells are on one line each."""
    lines = [heads, *([one_line(cell) for cell in row] for row in cells)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return [
        "  ".join(f"{cell:{n}}" for cell, n in zip(line, widths, strict=True)).rstrip()
        for line in lines
    ]


def one_line(text: str) -> str:
    """A text with its line ends made blanks."""
    return " ".join(text.split())


def seconds(value: float) -> str:
    """A time in the unit that suits it.

    Examples
    --------
    >>> seconds(0.0000012), seconds(0.0213), seconds(4.5)
    ('1.2 us', '21 ms', '4.5 s')
    """
    for unit, size in (("s", 1.0), ("ms", 1e-3)):
        if value >= size:
            return (
                f"{value / size:.2g} {unit}" if value < 100 * size else f"{value / size:.0f} {unit}"
            )
    return f"{value * 1e6:.2g} us" if value < 1e-4 else f"{value * 1e6:.0f} us"


def version(pair: Sequence[int]) -> str:
    """(0, 1) as "0.1"."""
    return ".".join(map(str, pair))


def add_actions(
    parser: argparse.ArgumentParser, actions: Mapping[str, str]
) -> dict[str, argparse.ArgumentParser]:
    """Declare what a command can do, by name with a line of help; all take ``--json``."""
    text = "print one JSON document instead"
    parser.add_argument("--json", action="store_true", help=text)
    parsers = parser.add_subparsers(dest="action", metavar="ACTION")
    found = {}
    for name, about in actions.items():
        found[name] = parsers.add_parser(
            name, help=about, description=f"{about[0].upper()}{about[1:]}."
        )
        found[name].add_argument(
            "--json", action="store_true", default=argparse.SUPPRESS, help=text
        )
    return found
