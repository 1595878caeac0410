"""Tables on the terminal, with rich where it is installed, and the JSON file."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.common.paired import C_FROM_PYTHON, OURS, C, Comparison
from benchmarks.host.launch import Measurement

FORMAT = 1
OTHERS = (C, C_FROM_PYTHON, "Numba", "NumPy")


def progress_line(row: Comparison | Measurement) -> str:
    """One line that says how a case went."""
    if isinstance(row, Measurement):
        return f"{row.group:9} {row.name}: {row.median:.2f} {row.unit}"
    ratios = ", ".join(f"{row.median_ratio(o):.2f} x {o}" for o in row.others)
    return f"{row.group:9} {row.name}: time is {ratios}"


def print_report(
    machine: dict[str, Any], comparisons: Sequence[Comparison], measured: Sequence[Measurement]
) -> None:
    """Print all results."""
    print()
    print(f"{machine['cpu']}, {machine['threads']} threads on space '{machine['space']}'")
    print(f"C: {machine['c_compiler'] or 'skipped'} {machine['c_flags'] or ''}")
    if comparisons:
        head = ["case", "time", *(f"over {o}" for o in OTHERS), "best/best C", "target", ""]
        rows = [_comparison_row(c) for c in comparisons]
        title = "Time of execspace over time of others: median of pairs (least). Below 1 is faster."
        _table(title, head, rows)
    if measured:
        head = ["case", "median", "least", "target", ""]
        rows = [
            [
                f"{m.group}: {m.name}", f"{m.median:.2f} {m.unit}", f"{m.min:.2f} {m.unit}",
                "" if m.target is None else f"{m.target:g} {m.unit}", _mark(m.within_target),
            ]
            for m in measured
        ]  # fmt: skip
        _table("Times that stand for themselves", head, rows)
    print(_verdict([*comparisons, *measured]))


def _comparison_row(c: Comparison) -> list[str]:
    cells = [f"{c.group}: {c.name}", _time(median(c.seconds[OURS]))]
    for other in OTHERS:
        if other in c.seconds:
            cells.append(f"{c.median_ratio(other):.2f} ({min(c.ratios(other)):.2f})")
        else:
            cells.append("-")
    best = f"{min(c.seconds[OURS]) / min(c.seconds[C]):.2f}" if C in c.seconds else "-"
    verdict = "disturbed" if c.target and c.unsettled else _mark(c.within_target)
    return [*cells, best, "" if c.target is None else f"{c.target:.2f}", verdict]


def _time(seconds: float) -> str:
    return f"{seconds * 1e6:.1f} us" if seconds < 1e-3 else f"{seconds * 1e3:.2f} ms"


def _mark(within: bool | None) -> str:
    return "" if within is None else "ok" if within else "MISSED"


def _verdict(rows: Sequence[Comparison | Measurement]) -> str:
    judged = [r for r in rows if r.within_target is not None]
    missed = [f"{r.group}: {r.name}" for r in judged if not r.within_target]
    text = f"{len(judged) - len(missed)} of {len(judged)} targets met."
    return text if not missed else f"{text} Missed: {'; '.join(missed)}."


def _table(title: str, head: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    try:
        from rich.console import Console
        from rich.table import Table
    except ImportError:
        _plain_table(title, head, rows)
        return
    console = Console()
    if console.width < 110 and not console.is_terminal:
        console.width = 150
    table = Table(title=title, title_justify="left")
    for n, name in enumerate(head):
        table.add_column(name, justify="left" if n == 0 else "right", no_wrap=n == 0)
    for row in rows:
        table.add_row(*row, style="bold red" if row[-1] == "MISSED" else None)
    console.print(table)


def _plain_table(title: str, head: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    widths = [max(len(r[n]) for r in (head, *rows)) for n in range(len(head))]
    print(f"\n{title}")
    for row in (head, *rows):
        cells = [c.ljust(w) if n == 0 else c.rjust(w) for n, (c, w) in enumerate(zip(row, widths))]  # noqa: B905
        print("  ".join(cells).rstrip())


def write_json(
    path: Path,
    date: str,
    machine: dict[str, Any],
    options: dict[str, Any],
    comparisons: Sequence[Comparison],
    measured: Sequence[Measurement],
) -> None:
    """Write everything to a file that can be committed."""
    content = {
        "format": FORMAT,
        "date": date,
        "machine": machine,
        "options": options,
        "comparisons": [c.record() for c in comparisons],
        "measurements": [m.record() for m in measured],
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(_rounded(content), indent=1) + "\n")


def _rounded(value: Any) -> Any:
    if isinstance(value, float):
        return float(f"{value:.4g}")
    if isinstance(value, dict):
        return {k: _rounded(v) for k, v in value.items()}
    if isinstance(value, list):
        return [_rounded(v) for v in value]
    return value
