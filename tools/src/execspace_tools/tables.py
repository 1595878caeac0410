"""Tables and numbers of reports: as wide as the terminal, with numbers that are never cut.

Tables are drawn by rich; without it they are aligned text. Reports have no colours, for they go
to files as well.
"""

from __future__ import annotations

import importlib.util
import io
import shutil
import sys
from collections.abc import Callable, Sequence
from functools import partial

from execspace.base import html
from execspace.profiling import Tool

NARROWEST = 12  # columns that a label keeps, however narrow the terminal is


def width_of_terminal() -> int:
    """Columns that a report has; 100 where there is no terminal and COLUMNS says nothing."""
    return max(60, shutil.get_terminal_size((100, 24)).columns)


def shorten(text: str, width: int, dots: str = "…") -> str:
    """A text of one line, its middle left out if it is wider than `width`.

    Examples
    --------
    >>> shorten("advance_velocity_half_step", 15)
    'advance…lf_step'
    """
    text = " ".join(text.splitlines())
    if len(text) <= width:
        return text
    left = (width - len(dots) + 1) // 2
    return text[:left] + dots + text[len(text) - width + left + len(dots) :]


def seconds(value: float | None) -> str:
    """A time with three digits; "-" if it is not known.

    Examples
    --------
    >>> seconds(0.00001234), seconds(0.0213), seconds(4.5), seconds(754.0), seconds(None)
    ('12.3 us', '21.3 ms', '4.50 s', '754 s', '-')
    """
    if value is None:
        return "-"
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if abs(value) >= 0.9995 * size or unit == "us":
            break
    return f"{_three_digits(value / size)} {unit}"


def _three_digits(value: float) -> str:
    for digits in (2, 1):
        if abs(round(value, digits)) < 10 ** (3 - digits):
            return f"{value:.{digits}f}"
    return f"{value:.0f}"


def nbytes(value: float) -> str:
    """A size.

    Examples
    --------
    >>> nbytes(80), nbytes(20480), nbytes(5 * 2**30)
    ('80 B', '20.0 KiB', '5.00 GiB')
    """
    if abs(value) < 1024:
        return f"{value:.0f} B"
    for unit in ("KiB", "MiB", "GiB"):
        value /= 1024
        if abs(value) < 1000 or unit == "GiB":
            break
    return f"{_three_digits(value)} {unit}"


def percent(part: float, whole: float) -> str:
    """A share in percent; "-" of nothing."""
    return f"{100 * part / whole:.1f} %" if whole else "-"


class Table(str):
    """A table as text; `html()` is the same one for notebooks."""

    __slots__ = ("html",)
    html: Callable[[], str]

    def __new__(cls, text: str, made: Callable[[], str]) -> Table:
        """Text of several lines, and what makes the HTML."""
        found = super().__new__(cls, text)
        found.html = made
        return found


class Report(Tool):
    """Base of tools whose report is made of lines and tables, also in notebooks."""

    def parts(self) -> list[str]:
        """Lines and tables of the report, the title first; empty ones are between its parts."""
        raise NotImplementedError

    def report(self) -> str:
        return "\n".join(self.parts()) + "\n"

    def _repr_html_(self) -> str:
        title, *rest = self.parts()
        shown = [html.paragraph(title, "head")]
        for part in filter(None, rest):
            shown.append(part.html() if isinstance(part, Table) else html.paragraph(part))
        return html.page(*shown)


def table(
    headers: Sequence[str],
    rows: Sequence[Sequence[str]],
    labels: Sequence[str],
    words: Sequence[str] = (),
    total: Sequence[str] | None = None,
) -> Table:
    """Rows below their headers, as text of several lines.

    Columns with a header in `labels` are shortened where the terminal is too narrow, in their
    middle; others are not. They, those in `words` and the first are aligned left, the rest, which
    are numbers, right. `total` is one more row, below a line.
    """
    whole = [headers, *rows, *([total] if total is not None else [])]
    widths = [max(len(row[c]) for row in whole) for c in range(len(headers))]
    free = [c for c, head in enumerate(headers) if head in labels]
    excess = sum(widths) + 2 * (len(widths) - 1) - width_of_terminal()
    for c in sorted(free, key=lambda c: -widths[c]):
        if excess > 0:
            kept = max(widths[c] - excess, min(NARROWEST, widths[c]))
            excess -= widths[c] - kept
            widths[c] = kept
    dots = "…" if _unicode() else ".."
    cells = [[shorten(x, w, dots) for x, w in zip(row, widths, strict=True)] for row in whole]
    left = {0, *free, *(c for c, head in enumerate(headers) if head in words)}
    draws = importlib.util.find_spec("rich") is not None
    text = (
        _rich(cells, left, total is not None)
        if draws
        else _plain(cells, widths, left, total is not None)
    )
    right = [c for c in range(len(headers)) if c not in left]
    return Table(text, partial(html.table, headers, rows, right=right, total=total))


# The parts of a box as rich wants them: lines below the headers and above the total only.
_LINES = "    \n    \n ── \n    \n ── \n ── \n    \n    \n"


def _rich(cells: list[list[str]], left: set[int], total: bool) -> str:
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    # As many columns as it needs: numbers are never cut, and labels are short enough already.
    text = io.StringIO()
    console = Console(file=text, width=10_000, color_system=None, force_terminal=False)
    lines = box.Box(_LINES if _unicode() else _LINES.replace("─", "-"), ascii=not _unicode())
    drawn = Table(box=lines, pad_edge=False, padding=(0, 1, 0, 0), show_edge=False)
    for c, head in enumerate(cells[0]):
        drawn.add_column(head, justify="left" if c in left else "right", no_wrap=True)
    for n, row in enumerate(cells[1:], 1):
        last = total and n == len(cells) - 2
        drawn.add_row(*map(Text, row), end_section=last)  # not markup: labels may have brackets
    console.print(drawn)
    return "\n".join(line.rstrip() for line in text.getvalue().splitlines())


def _plain(cells: list[list[str]], widths: list[int], left: set[int], total: bool) -> str:
    lines = [
        "  ".join(f"{x:<{w}}" if c in left else f"{x:>{w}}" for c, (x, w) in enumerate(pairs))
        for pairs in (list(zip(row, widths, strict=True)) for row in cells)
    ]
    rule = "-" * (sum(widths) + 2 * (len(widths) - 1))
    lines.insert(1, rule)
    if total:
        lines.insert(-1, rule)
    return "\n".join(line.rstrip() for line in lines)


def _unicode() -> bool:
    """Whether lines and ellipses can be shown wherever a report may be printed."""
    for stream in (sys.stdout, sys.stderr):
        try:
            "─…".encode(getattr(stream, "encoding", None) or "utf-8")
        except (UnicodeEncodeError, LookupError):
            return False
    return True
