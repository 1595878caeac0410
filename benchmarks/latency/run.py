"""What everything around a kernel costs, in microseconds a call, beside the libraries underneath.

    python -m benchmarks.latency.run [--space NAME ...] [--only TEXT] [--json FILE]

All rows of a space take turns: a batch of calls each, then the next round. Median and least batch
are shown. Targets are those of the project, on an idle machine.
"""

from __future__ import annotations

import argparse
import json
from statistics import median
from time import perf_counter
from typing import Any

from rich.console import Console
from rich.table import Table

import execspace as es
from benchmarks.common.machine import describe

from .cases import Row, rows

BATCH = 2e-3  # seconds


def calls_of(row: Row) -> int:
    """Calls of a batch: as many as take some milliseconds."""
    for _ in range(3):
        row.call()
    calls = 1
    while True:
        took = _batch(row, calls)
        if took >= BATCH / 2 or calls >= 10_000:
            return calls
        calls = min(10_000, max(2 * calls, int(calls * BATCH / max(took, 1e-7))))


def _batch(row: Row, calls: int) -> float:
    call = row.call
    begun = perf_counter()
    for _ in range(calls):
        call()
    took = perf_counter() - begun
    if row.drain is not None:
        row.drain()
    return took


def measure(name: str, only: str, rounds: int) -> list[dict[str, Any]]:
    """Times of the rows of a space."""
    chosen = [row for row in rows(es.space(name)) if only in row.name]
    calls = [calls_of(row) for row in chosen]
    times: list[list[float]] = [[] for _ in chosen]
    for _ in range(rounds):
        for row, count, found in zip(chosen, calls, times, strict=True):
            found.append(1e6 * _batch(row, count) / count)
    return [
        {
            "space": name, "case": row.name, "peer": row.peer, "unit": "us",
            "median": median(found), "min": min(found), "samples": len(found),
            "target": row.target,
            "within_target": None if row.target is None else median(found) <= row.target,
        }
        for row, found in zip(chosen, times, strict=True)
    ]  # fmt: skip


def _shown(results: list[dict[str, Any]]) -> Table:
    table = Table("space", "case", "median", "least", "target", title="Microseconds a call")
    for r in results:
        target = "" if r["target"] is None else f"{r['target']:g}"
        style = "dim" if r["peer"] else "red" if r["within_target"] is False else ""
        numbers = f"{r['median']:.2f}", f"{r['min']:.2f}"
        table.add_row(r["space"], r["case"], *numbers, target, style=style)
    return table


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    usable = [row.name for row in es.spaces() if row.usable and row.priority >= 0]
    parser.add_argument("--space", action="append", help=f"a space to measure ({usable})")
    parser.add_argument("--only", default="", help="rows whose name contains this text")
    parser.add_argument("--rounds", type=int, default=31, help="batches of each row (31)")
    parser.add_argument("--json", help="write all results to a file")
    options = parser.parse_args()
    results: list[dict[str, Any]] = []
    for name in options.space or usable:
        results += measure(name, options.only, options.rounds)
    Console().print(_shown(results))
    if options.json:
        found = {"machine": describe("", 1, None), "results": results}
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump(found, file, indent=1)


if __name__ == "__main__":
    main()
