"""Hardware counters of kernels on CUDA, from Nsight Compute: `ncu` runs probe.py.

Which kernel a row is about is known from the order of launches, for names repeat.
"""

from __future__ import annotations

import csv
import io
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmarks.mdrange.cases import DEVICE, QUICK, Case, Sizes, cases_on_same_views
from benchmarks.mdrange.kokkos import COUNTED_ON_A100

ROOT = Path(__file__).parents[2]
METRICS = {
    "registers": "launch__registers_per_thread",
    "occupancy_%": "sm__warps_active.avg.pct_of_peak_sustained_active",
    "throughput_%": "dram__throughput.avg.pct_of_peak_sustained_elapsed",
    "ms": "gpu__time_duration.sum",
}
MILLISECONDS = {
    "ns": 1e-6, "nsecond": 1e-6, "us": 1e-3, "usecond": 1e-3, "ms": 1.0, "msecond": 1.0,
    "s": 1e3, "second": 1e3,
}  # fmt: skip
LIMIT = 300.0  # seconds for the whole of ncu


def probed(quick: bool, edges: Sequence[int] | None) -> list[Case]:
    """The cases that are launched once each, in this order; all of layout right."""
    sizes: Sizes = QUICK if quick else DEVICE
    largest = replace(sizes, edges=(max(edges or sizes.edges),))
    only = ("stream:triad", "stencil", "transpose")
    cases = (case for cases in cases_on_same_views(largest, only) for case in cases)
    return [case for case in cases if case.layout == "right"]


def command(ncu: str, space: str, quick: bool, edges: Sequence[int] | None) -> list[str]:
    """What is run. Clocks are left as they are in a normal run."""
    probe = ["-m", "benchmarks.mdrange.probe", "--space", space]
    return [
        ncu, "--csv", "--metrics", ",".join(METRICS.values()), "--profile-from-start", "off",
        "--clock-control", "none", sys.executable, *probe, *(["--quick"] if quick else []),
        *(part for n in edges or () for part in ("--edge", str(n))),
    ]  # fmt: skip


def parse(text: str) -> list[dict[str, Any]]:
    """What ncu prints with --csv: one record for each launch, in their order.

    The table has a row for each metric of each launch. What comes before its header, such as lines
    of the program and ncu's own, which begin with ``==``, is left out.

    Raises
    ------
    ValueError
        If there is no table, a metric is missing or no number, or a unit of time is not known.
    """
    lines = text.splitlines()
    start = next((n for n, line in enumerate(lines) if line.startswith('"ID",')), None)
    if start is None:
        raise ValueError("no table in the output")
    table = "\n".join(line for line in lines[start:] if line.startswith('"'))
    names = {metric: name for name, metric in METRICS.items()}
    launches: dict[str, dict[str, Any]] = {}
    for row in csv.DictReader(io.StringIO(table)):
        found = launches.setdefault(
            row["ID"],
            {"kernel": row["Kernel Name"], "block": row["Block Size"], "grid": row["Grid Size"]},
        )
        name = names.get(row["Metric Name"])
        if name is None:
            continue
        try:
            value = float(row["Metric Value"].replace(",", ""))
        except ValueError:
            raise ValueError(
                f"{row['Metric Name']} of {row['Kernel Name']} is {row['Metric Value']!r}"
            ) from None
        if name == "ms":
            if row["Metric Unit"] not in MILLISECONDS:
                raise ValueError(f"a time in {row['Metric Unit']!r}")
            value *= MILLISECONDS[row["Metric Unit"]]
        found[name] = int(value) if name == "registers" else value
    for launch in launches.values():
        missing = [METRICS[name] for name in METRICS if name not in launch]
        if missing:
            raise ValueError(f"{launch['kernel']} has no {', '.join(missing)}")
    return list(launches.values())


def count(space: str, quick: bool, edges: Sequence[int] | None) -> dict[str, Any]:
    """Counters by the name of the case, or "not_there": why there are none. Blocks."""
    ncu = shutil.which("ncu")
    if ncu is None:
        return {"not_there": "Nsight Compute (ncu) is not on PATH"}
    try:
        done = subprocess.run(
            command(ncu, space, quick, edges),
            cwd=ROOT,
            capture_output=True,
            text=True,
            timeout=LIMIT,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return {"not_there": f"ncu: {error}"}
    told = [line for line in (done.stdout + done.stderr).splitlines() if line.strip()]
    if done.returncode != 0:
        errors = [line for line in told if line.startswith("==ERROR==")]
        return {"not_there": f"ncu: {(errors or told or ['no message'])[-1]}"}
    cases = probed(quick, edges)
    try:
        launches = parse(done.stdout)
    except ValueError as error:
        errors = [line for line in told if line.startswith(("==ERROR==", "==WARNING=="))]
        return {"not_there": f"ncu: {error}. {errors[-1] if errors else ''}".rstrip()}
    if len(launches) != len(cases):
        return {"not_there": f"ncu has seen {len(launches)} kernels of {len(cases)} launches"}
    rows: dict[str, dict[str, Any]] = {}
    for case, launch in zip(cases, launches, strict=True):
        rows[case.name] = launch
        # Of streams Kokkos' talk has the operation "add", which moves as much as a triad.
        kind = "add" if case.group == "stream" else case.operation
        published = COUNTED_ON_A100.get((kind, case.rank))
        if published is not None:
            launch["kokkos_a100"] = {
                "registers": published.registers,
                "occupancy_%": published.occupancy,
                "throughput_%": published.throughput,
            }
    return {"launches": rows}
