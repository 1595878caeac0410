"""Time execspace against C/OpenMP, hand-written Numba and NumPy, in pairs, and print ratios.

`make bench` runs this. All contestants use the same memory and the same number of threads
and take turns in one process; each result is checked against NumPy before it is timed.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from benchmarks.common.paired import Case
    from benchmarks.host.launch import Measurement
    from benchmarks.host.session import Session

GROUPS = (
    "triad", "stencil", "subview", "functions", "reduction", "scan", "schedule", "teams", "launch",
    "import", "cached", "compile",
)  # fmt: skip
THREAD_VARIABLES = (
    "OMP_NUM_THREADS", "NUMBA_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS",
    "EXECSPACE_NUM_THREADS",
)  # fmt: skip


def options() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="smaller arrays and fewer turns")
    parser.add_argument(
        "--only", metavar="NAME", action="append", default=[],
        help=f"run a group ({', '.join(GROUPS)}), or the cases of a group whose name contains a "
        f"text: 'triad:rank 3'; may be given several times",
    )  # fmt: skip
    parser.add_argument("--json", metavar="FILE", type=Path, help="write all results to a file")
    parser.add_argument("--space", default="openmp", help="host space to measure (openmp)")
    parser.add_argument(
        "--memory", metavar="KIND", help="kind of memory of the Views, such as 'shared'"
    )
    parser.add_argument(
        "--warmup", metavar="MS", type=float, default=0.0,
        help="milliseconds of work before each turn (0): threads of the last contestant stop "
        "spinning, where the next one has threads of its own; turns then last as long",
    )  # fmt: skip
    parser.add_argument("--threads", type=int, help="threads for everybody (all usable cores)")
    parser.add_argument(
        "--seconds", type=float, default=6.0, help="the turns of a case end after so long (6)"
    )
    parser.add_argument("--alone", action="store_true", help="time execspace, and nobody else")
    found = parser.parse_args()
    for only in found.only:
        if only.partition(":")[0] not in GROUPS:
            parser.error(f"--only {only}: expected one of {', '.join(GROUPS)}")
    return found


def main() -> int:
    """Run what was asked for; 1 if a contestant computes something wrong."""
    chosen = options()
    from benchmarks.common.machine import describe, usable_cores

    # All runtimes read these when they are loaded, so they are set before any import.
    threads = 1 if chosen.space == "serial" else chosen.threads
    threads = threads or int(os.environ.get("OMP_NUM_THREADS", 0)) or usable_cores()
    os.environ.update(dict.fromkeys(THREAD_VARIABLES, str(threads)))

    import execspace as es
    from benchmarks.common.c_loops import find_compiler
    from benchmarks.common.paired import OURS, Comparison, Effort, compare
    from benchmarks.host.report import print_report, progress_line, write_json
    from benchmarks.host.session import Session

    if not es.View(1, space=chosen.space, memory=chosen.memory).memory_space.host_accessible:
        print(f"C cannot reach Views of '{chosen.space}'; these benchmarks compare host code.")
        return 2
    compiler, why_not = find_compiler()
    if compiler is None:
        print(f"Comparisons with C are skipped: {why_not}.")
    session = Session(chosen.space, chosen.quick, compiler, chosen.memory)
    warmup = chosen.warmup / 1000
    turns, seconds = (31, min(chosen.seconds, 2.0)) if chosen.quick else (101, chosen.seconds)
    effort = Effort(turns, max(4e-4, warmup), seconds, warmup)
    date = datetime.now(UTC).isoformat(timespec="seconds")
    comparisons: list[Comparison] = []
    measured: list[Measurement] = []
    wrong = []
    for make in _cases(session, chosen.only):
        case = make()
        if not _wanted(case.group, case.name, chosen.only):
            continue
        if chosen.alone:
            case.contestants = [c for c in case.contestants if c.name.startswith(OURS)]
        try:
            comparisons.append(compare(case, effort))
        except AssertionError as error:
            wrong.append(f"{case.group}: {case.name}")
            print(f"WRONG RESULT in {wrong[-1]}: {error}", flush=True)
            continue
        print(progress_line(comparisons[-1]), file=sys.stderr, flush=True)
    for measurement in _measurements(session, chosen.only):
        measured.append(measurement)
        print(progress_line(measurement), file=sys.stderr, flush=True)
    machine = describe(chosen.space, threads, compiler)
    print_report(machine, comparisons, measured)
    if chosen.json is not None:
        asked: dict[str, Any] = {
            "quick": chosen.quick, "only": chosen.only, "memory": chosen.memory,
            "warmup_ms": chosen.warmup, "alone": chosen.alone,
        }  # fmt: skip
        write_json(chosen.json, date, machine, asked, comparisons, measured)
    if wrong:
        print(f"WRONG RESULTS: {'; '.join(wrong)}")
    return 1 if wrong else 0


def _wanted(group: str, name: str, only: list[str]) -> bool:
    """Whether a case was asked for; everything is, if nothing was named."""
    if not only:
        return True
    parts = [text.partition(":") for text in only]
    return any(g == group and text.strip() in name for g, _, text in parts)


def _cases(session: Session, only: list[str]) -> Iterator[Callable[[], Case]]:
    from benchmarks.host.functions import function_cases
    from benchmarks.host.reducers import reducer_cases
    from benchmarks.host.reduction import reduction_cases
    from benchmarks.host.scan import scan_cases
    from benchmarks.host.schedule import schedule_cases
    from benchmarks.host.stencil import stencil_cases
    from benchmarks.host.subviews import subview_cases
    from benchmarks.host.triad import triad_cases
    from benchmarks.teams.cases import team_cases

    makers = (
        ("triad", triad_cases),
        ("stencil", stencil_cases),
        ("subview", subview_cases),
        ("functions", function_cases),
        ("reduction", reduction_cases),
        ("reduction", reducer_cases),
        ("scan", scan_cases),
        ("schedule", schedule_cases),
        ("teams", team_cases),
    )
    for group, cases in makers:
        if not only or any(text.partition(":")[0] == group for text in only):
            yield from cases(session)


def _measurements(session: Session, only: list[str]) -> Iterator[Measurement]:
    from benchmarks.host.launch import launch_cost
    from benchmarks.host.startup import cached_kernel, compile_time, import_cost

    makers = {
        "launch": launch_cost,
        "import": import_cost,
        "cached": cached_kernel,
        "compile": compile_time,
    }
    for group, measurements in makers.items():
        if not only or any(text.partition(":")[0] == group for text in only):
            yield from measurements(session)


if __name__ == "__main__":
    sys.exit(main())
