"""Files of tools: checked before the program runs, and written as a whole or line by line.

Events may come while a line is being written, from other threads and from garbage collection.
"""

from __future__ import annotations

import csv
import io
import json
import os
import sys
import threading
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any, TextIO

from execspace import ToolError


def check_path(tool: str, path: str, endings: Sequence[str] = ()) -> str:
    """A path that a tool is going to write to; empty if there is none.

    Raises
    ------
    ToolError
        If its folder does not exist, or its name ends otherwise than in `endings`.
    """
    if path:
        folder = Path(path).absolute().parent
        if not folder.is_dir():
            raise ToolError(
                f"Profiling tool '{tool}': path {path!r} is in a folder that does not exist; "
                f"make {str(folder)!r} first."
            )
        if endings and not path.lower().endswith(tuple(endings)):
            raise ToolError(
                f"Profiling tool '{tool}': path {path!r}; expected a name that ends in "
                f"{' or '.join(endings)}."
            )
    return path


def write_atomically(path: str, text: str) -> None:
    """Write a file so that a reader finds the old one or the new one, never half of it."""
    beside = f"{path}.{os.getpid()}.tmp"
    try:
        with open(beside, "w", encoding="utf-8", newline="") as file:
            file.write(text)
        os.replace(beside, path)
    finally:
        Path(beside).unlink(missing_ok=True)


def write_records(path: str, records: Sequence[Any], columns: type) -> None:
    """Write dataclasses of one kind as JSON or CSV, by the ending of `path`."""
    if path.lower().endswith(".json"):
        write_atomically(path, json.dumps([asdict(r) for r in records], indent=1) + "\n")
        return
    names = [f.name for f in fields(columns)]
    rows = ([getattr(r, n) for n in names] for r in records)
    write_atomically(path, as_csv([names, *rows]))


def as_csv(rows: Iterable[Iterable[Any]]) -> str:
    """Rows as lines of CSV; None is an empty cell."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue()


class Lines:
    """Lines that go to a file, or to standard error, as they come.

    Parameters
    ----------
    path : str
        Empty: standard error.
    """

    def __init__(self, path: str) -> None:
        self._file: TextIO | None = None
        if path:  # it is open until `close`, as long as events come
            self._file = open(path, "w", buffering=1, encoding="utf-8", newline="\n")  # noqa: SIM115
        self._waiting: deque[str] = deque()
        self._lock = threading.RLock()
        self._writing = False

    def write(self, line: str) -> None:
        """Write a line; one that comes while another is written is written after it."""
        self._waiting.append(line)
        with self._lock:
            if self._writing:  # by this thread: garbage collection, which may start anywhere
                return
            self._writing = True
            try:
                while self._waiting:
                    line, goal = self._waiting.popleft(), self._file or sys.stderr
                    if goal is not None:  # standard error may be closed
                        goal.write(f"{line}\n")
            finally:
                self._writing = False

    def close(self) -> None:
        """Close the file, or flush standard error."""
        with self._lock:
            if self._file is None:
                if sys.stderr is not None:
                    sys.stderr.flush()
            else:
                self._file.close()
