"""What graphs and fused launches gain: a chain of streams, a solver, and kernels that overlap.

    python -m benchmarks.graphs.run [--space NAME ...] [--only SECTION ...] [--json FILE]

Results are compared before anything is timed; contestants take turns, medians are shown.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

import execspace as es
from benchmarks.common.machine import describe, device_of

from . import overlap, solver, stream

SECTIONS = ("stream", "solver", "overlap")
GPUS = ("cuda", "hip")
DEVICES = (*GPUS, "opencl")
SIZE = {"device": 2**27, "host": 2**25}
GRIDS = (64, 256)
SMALL_GRID = 100  # points of an edge up to which there are many iterations
# Iterations of a turn: some milliseconds on a GPU, and not more than seconds on a host.
ITERATIONS = {"device": (200, 20), "host": (50, 5)}
QUICK = {"size": 2**14, "grid": [8], "iterations": 5, "rounds": 3}


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print, and write a file if asked to; 1 if execspace failed or was wrong."""
    options = options_of(arguments)
    results: dict[str, dict[str, Any]] = {}
    for name in options.space:
        found = results[name] = {}
        for case, measure in cases(name, options):
            found[case] = measure()
            Console().print(shown(f"{name} on {device_of(es.space(name))}: {case}", found[case]))
    if options.json is not None:
        record = {
            "format": 1,
            "date": datetime.now(UTC).isoformat(timespec="seconds"),
            "machine": describe(", ".join(options.space), 0, None),
            "devices": {name: device_of(es.space(name)) for name in options.space},
            "options": {"rounds": options.rounds, "quick": options.quick},
            "results": results,
        }
        options.json.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    failures = list(_failures(results))
    for where, error, _ in failures:
        print(f"{where}: {error}")
    return int(any(not peer for *_, peer in failures))


def options_of(arguments: Sequence[str] | None) -> argparse.Namespace:
    """The options of the command line."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    usable = [row.name for row in es.spaces() if row.usable and row.priority >= 0]
    usable.sort(key=DEVICES.__contains__)  # hosts first: devices have threads of their own
    add = parser.add_argument
    add("--space", action="append", help=f"a space to measure ({usable})")
    add("--only", action="append", choices=SECTIONS, help="a section; all if not given")
    add("--size", type=int, help="doubles in an array of stream (2^27 on a GPU, else 2^25)")
    add("--grid", type=int, action="append", help="points of an edge of solver (64 and 256)")
    add("--iterations", type=int, help="iterations of solver in a turn")
    add("--rounds", type=int, help="turns of each (15)")
    add("--quick", action="store_true", help="small sizes, to see whether it runs")
    add("--json", metavar="FILE", type=Path, help="write all results to a file")
    options = parser.parse_args(arguments)
    for name, value in (QUICK if options.quick else {"grid": GRIDS, "rounds": 15}).items():
        if getattr(options, name) is None:
            setattr(options, name, value)
    least = {"size": 1, "iterations": 1, "rounds": 1}
    for name, value in least.items():
        given = getattr(options, name)
        if given is not None and given < value:
            parser.error(f"--{name} {given}: expected {value} or more")
    if min(options.grid) < 2:
        parser.error(f"--grid {min(options.grid)}: expected 2 or more")
    if options.json is not None and not options.json.absolute().parent.is_dir():
        parser.error(f"--json {options.json}: there is no such folder")
    options.space = options.space or usable
    return options


def cases(name: str, options: argparse.Namespace) -> list[tuple[str, Callable[[], dict[str, Any]]]]:
    """Names of the cases of a space, and what measures them."""
    space = es.space(name)
    where = "device" if name.partition(":")[0] in GPUS or _is_gpu(space) else "host"
    only = options.only or SECTIONS
    found: list[tuple[str, Callable[[], dict[str, Any]]]] = []
    if "stream" in only:
        size = options.size or SIZE[where]
        found.append(
            (f"stream, {size} doubles", partial(stream.measure, space, size, options.rounds))
        )
    if "solver" in only:
        for n in options.grid:
            count = options.iterations or ITERATIONS[where][n > SMALL_GRID]
            measure = partial(solver.measure, space, n, count, options.rounds)
            found.append((f"solver, {n}^3 points", measure))
    if "overlap" in only:
        found.append(("overlap", partial(overlap.measure, space, options.rounds)))
    return found


def _is_gpu(space: Any) -> bool:
    """Whether a device of OpenCL is another one than the host."""
    return es.HOST not in space.memory_spaces


# -- tables ----------------------------------------------------------------------------------------

COLUMNS: dict[str, tuple[str, str]] = {  # of the file -> head, format
    "ms": ("ms", "{:.4g}"),
    "least_ms": ("least", "{:.4g}"),
    "GB/s": ("GB/s", "{:.1f}"),
    "over_launches": ("over launches", "{:.3f}"),
    "speed_over_triad": ("speed over triad", "{:.3f}"),
    "over_one_after_the_other": ("over one after the other", "{:.3f}"),
    "residual": ("residual", "{:.6g}"),
    "difference": ("difference", "{:.1g}"),
}


def shown(title: str, found: dict[str, Any]) -> Table:
    """A table of one case."""
    contestants = found["contestants"]
    used = [key for key in COLUMNS if any(own.get(key) is not None for own in contestants.values())]
    over = any(own.get("over") for own in contestants.values())
    heads = ["", *(COLUMNS[key][0] for key in used), *(["over the fastest peer"] if over else [])]
    table = Table(*heads, title=title, title_justify="left")
    for name, own in contestants.items():
        if "ms" not in own:
            style = "red" if "error" in own else "dim"
            table.add_row(name, "FAILED" if "error" in own else "not there", style=style)
            continue
        cells = ["" if own.get(key) is None else COLUMNS[key][1].format(own[key]) for key in used]
        ratios = own.get("over") or {}
        peer = max(ratios, key=ratios.__getitem__, default="")
        cells += [f"{ratios[peer]:.3f} x {peer}" if peer else ""] if over else []
        table.add_row(name, *cells, style="dim" if own["peer"] else "")
    return table


def _failures(results: dict[str, dict[str, Any]]) -> list[tuple[str, str, bool]]:
    """Where something failed, how, and whether it was another library."""
    return [
        (f"{space}, {case}, {name}", own["error"], own["peer"])
        for space, found in results.items()
        for case, one in found.items()
        for name, own in one["contestants"].items()
        if "error" in own
    ]


if __name__ == "__main__":
    raise SystemExit(main())
