"""A bar for a search that takes a while, on a terminal; by rich where that is installed."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

Tell = Callable[[int, int, str], None]


@contextmanager
def progress_bar(title: str, wanted: bool | None) -> Iterator[Tell]:
    """``report(done, total, text)`` for the time of a block.

    `wanted`: None shows it where standard error is a terminal.
    """
    error = sys.stderr  # None where the program has closed it
    if wanted is False or error is None or (wanted is None and not error.isatty()):
        yield lambda done, total, text: None
        return
    try:
        from rich.console import Console
        from rich.progress import (
            BarColumn,
            MofNCompleteColumn,
            Progress,
            TextColumn,
            TimeElapsedColumn,
        )
    except ImportError:
        yield from _lines(title)
        return
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=20),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.fields[text]}", markup=False),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(title, total=1, text="")
        yield lambda done, total, text: bar.update(task, completed=done, total=total, text=text)


def _lines(title: str) -> Iterator[Tell]:
    width = 0

    def report(done: int, total: int, text: str) -> None:
        nonlocal width
        line = f"{title} {done}/{total} {text}"[:100]
        sys.stderr.write("\r" + line.ljust(width))
        sys.stderr.flush()
        width = len(line)

    yield report
    sys.stderr.write("\r" + " " * width + "\r")
