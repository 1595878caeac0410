"""What everything around a kernel costs, in microseconds a call, beside the libraries underneath.

    python -m benchmarks.latency.run [--space NAME ...] [--only TEXT] [--json FILE]

All rows of a space take turns: a batch of calls each, then the next round. Median and least batch
are shown, and the ratio to the fastest other library that does the same. Targets are those of the
project, on an idle machine.
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
from benchmarks.common.machine import describe, device_of

from .cases import rows
from .rows import DEVICES, Missing, Row

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
    """Times of the rows of a space, and what is said of those that have none."""
    chosen = [row for row in rows(es.space(name)) if only in row.name]
    ready: list[tuple[Row, int]] = []
    without: dict[str, str] = {}
    for row in chosen:
        if isinstance(row, Missing):
            without[row.name] = row.reason
            continue
        try:
            if row.check is not None:
                row.check()
            ready.append((row, calls_of(row)))
        except Exception as error:  # the other rows are still worth measuring
            without[row.name] = f"FAILED: {type(error).__name__}: {error}"
    times: dict[str, list[float]] = {row.name: [] for row, _ in ready}
    for _ in range(rounds):
        for row, count in ready:
            times[row.name].append(1e6 * _batch(row, count) / (count * row.each))
    return [_result(name, row, [r for r, _ in ready], times, without) for row in chosen]


def _result(
    space: str, row: Row | Missing, measured: list[Row], times: dict[str, list[float]],
    without: dict[str, str],
) -> dict[str, Any]:  # fmt: skip
    """What is written of a row."""
    found: dict[str, Any] = {"space": space, "case": row.name, "peer": row.peer, "unit": "us"}
    if row.name in without:
        reason = without[row.name]
        return found | {"error" if reason.startswith("FAILED") else "not_there": reason}
    assert isinstance(row, Row)
    own = times[row.name]
    found |= {
        "median": median(own), "min": min(own), "samples": len(own), "target": row.target,
        "within_target": None if row.target is None else median(own) <= row.target,
    }  # fmt: skip
    if row.group and not row.peer:
        found["over"] = over(row, measured, times)
    return found


def over(row: Row, measured: list[Row], times: dict[str, list[float]]) -> dict[str, float]:
    """Time over that of each other library in the same group: medians of the rounds' ratios."""
    return {
        other.name: median(a / b for a, b in zip(times[row.name], times[other.name], strict=True))
        for other in measured
        if other.peer and other.group == row.group
    }


def _shown(results: list[dict[str, Any]]) -> Table:
    heads = ("space", "case", "median", "least", "target", "over the fastest peer")
    table = Table(*heads, title="Microseconds a call, or a kernel of a thousand")
    for r in results:
        if "median" not in r:
            said = "FAILED" if "error" in r else "not there"
            table.add_row(r["space"], r["case"], said, style="red" if "error" in r else "dim")
            continue
        target = "" if r["target"] is None else f"{r['target']:g}"
        style = "dim" if r["peer"] else "red" if r["within_target"] is False else ""
        numbers = f"{r['median']:.2f}", f"{r['min']:.2f}"
        name, ratio = max(r.get("over", {}).items(), key=lambda item: item[1], default=("", 0.0))
        beside = f"{ratio:.2f} x {name}" if name else ""
        table.add_row(r["space"], r["case"], *numbers, target, beside, style=style)
    return table


def main() -> int:
    """The command line; 1 if a row of execspace failed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    usable = [row.name for row in es.spaces() if row.usable and row.priority >= 0]
    usable.sort(key=DEVICES.__contains__)  # hosts first: a fence of all waits for what has started
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
        devices = {name: device_of(es.space(name)) for name in options.space or usable}
        found = {"machine": describe("", 1, None), "devices": devices, "results": results}
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump(found, file, indent=1)
    failed = [r for r in results if "error" in r]
    for r in failed:
        print(f"{r['space']}, {r['case']}: {r['error']}")
    return int(any(not r["peer"] for r in failed))


if __name__ == "__main__":
    raise SystemExit(main())
