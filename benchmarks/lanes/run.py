"""Kernels in the lanes of vectors, beside their scalar form, C, ISPC and Numba.

    python -m benchmarks.lanes.run [--space serial|openmp] [--real float64|float32]
                                   [--only NAME ...] [--lanes N ...] [--json FILE] [--turns N]

Host spaces run neighbouring indices of a range in the lanes of vectors where that seems to pay.
Each kernel of `kernels.py` is timed as it is launched by default and with `lanes=1`, its scalar
form, beside the same loops in C (gcc and clang, -O3 -march=native), in ISPC's language for each
target of this processor, and compiled by Numba. All work on the same memory, on as many threads,
in turns; medians are shown, and medians of the turns' ratios. On several threads the turns of
others come after those of execspace.

Before anything is timed, results are compared with those of the scalar form. Without contraction
(`fma=False`) the default must give the same bits. With it, and in other languages, where a product
and a sum are contracted is up to the compiler, so there is a tolerance for each kernel; kernels of
integers must give the same bits everywhere.

First launches are those of fresh processes with an empty folder of compiled kernels, after other
kernels have been compiled there.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

import execspace as es
from benchmarks.common.machine import usable_cores
from benchmarks.common.report import Results, report
from benchmarks.common.turns import Contestant, Maker, over, take_turns
from benchmarks.lanes import peers
from benchmarks.lanes.cases import CASES, REALS, Case
from benchmarks.lanes.numba_form import by_numba

OURS, SCALAR, NUMBA = "execspace", "execspace, lanes=1", "Numba"
COMPILERS = ("gcc", "clang")
ROOT = Path(__file__).parents[2]
WIDTH = 150  # of tables, where the terminal is not wider

Arrays = list[np.ndarray[Any, Any]]


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print, and write a file if asked to; 1 if execspace failed or was wrong."""
    options = _options(arguments)
    space = es.space(options.space)
    threads = 1 if options.space == "serial" else usable_cores()
    console = Console(width=max(WIDTH, Console().width))
    results: Results = {}
    chosen: dict[str, Sequence[str]] = {}
    first: dict[str, dict[str, float | str]] = {}
    for name in options.only or CASES:
        case = CASES[name](options.real, space)
        makers, others = _makers(case, options, space, threads)
        # Threads of others go on looking for work when it is done, and would take cores.
        found = take_turns(makers, options.turns, peers=others, apart=threads > 1)
        results.setdefault(options.space, {})[name] = found
        chosen[name] = _chosen(case, space)
        first[name] = {
            lanes: _first_launch(name, options, lanes)
            for lanes in ("auto", "1")
            if options.processes
        }
        print(_progress(name, found), file=sys.stderr, flush=True)
    console.print(_table(f"{options.space}, {options.real}", results[options.space], first))
    _tell(results[options.space], chosen)
    return report(
        results, options.json, real=options.real, threads=threads, turns=options.turns,
        compilers=peers.versions(), first_launch_ms=first, chosen=chosen,
    )  # fmt: skip


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog="The variable ISPC names the command of ISPC, which is looked for on the PATH "
        "otherwise. Who is not installed is left out.",
    )  # fmt: skip
    add = parser.add_argument
    add("--space", choices=("serial", "openmp"), default="serial", help="(serial)")
    add("--real", choices=REALS, default=REALS[0], help="type of elements; integers are as wide")
    add("--only", metavar="NAME", nargs="+", choices=CASES, help=f"kernels: {', '.join(CASES)}")
    add("--lanes", metavar="N", type=int, nargs="+", default=[], help="further numbers of lanes")
    add("--turns", type=int, default=9, help="turns of each contestant, of some 20 ms (9)")
    add(
        "--processes", type=int, default=3,
        help="fresh processes for each first launch, whose median is shown (3); 0: none",
    )  # fmt: skip
    add("--alone", action="store_true", help="execspace in both forms, and nobody else")
    add("--json", metavar="FILE", type=Path, help="write all results to a file")
    return parser.parse_args(arguments)


def _makers(
    case: Case, options: argparse.Namespace, space: es.ExecutionSpace, threads: int
) -> tuple[Mapping[str, Maker], Sequence[str]]:
    """Who takes part, and who of them are others."""
    start = [array.copy() for array in case.arrays()]

    def restore() -> None:
        for array, values in zip(case.arrays(), start, strict=True):
            array[...] = values

    def result_of(call: Callable[[], Any]) -> Arrays:
        restore()
        call()
        space.fence()
        return [array.copy() for array in case.arrays()]

    def ours(lanes: int | None, **how: bool) -> Callable[[], Any]:
        kernel = es.kernel(case.kernel.fn, **how) if how else case.kernel
        return partial(es.parallel_for, case.policy(space, lanes), kernel, *case.arguments)

    in_lanes = {OURS: None} | {f"execspace, lanes={lanes}": lanes for lanes in options.lanes}
    expected = result_of(ours(1))
    exact = result_of(ours(1, fma=False))

    def contestant(name: str, make: Callable[[], Callable[[], Any]]) -> Contestant:
        call = make()

        def check() -> dict[str, Any]:
            if name in in_lanes:
                found = case.disagreement(result_of(ours(in_lanes[name], fma=False)), exact)
                assert found["same_to_the_bit"], f"not the bits of lanes=1 with fma=False: {found}"
            found = case.disagreement(result_of(call), expected)
            if case.integers:
                assert found["same_to_the_bit"], "wrong: not the integers of lanes=1"
            return found

        return Contestant(name, call, space.fence, check, restore)

    calls = {OURS: partial(ours, None), SCALAR: partial(ours, 1)}
    calls |= {name: partial(ours, lanes) for name, lanes in in_lanes.items() if lanes}
    others: dict[str, Callable[[], Callable[[], Any]]] = {}
    if not options.alone:
        for name in COMPILERS:
            others[name] = partial(peers.by_c, case, options.real, name, threads)
        for target in peers.ispc_targets():
            made = partial(peers.by_ispc, case, options.real, target, threads)
            others[f"ispc {target}"] = made
        others[NUMBA] = partial(by_numba, case, threads)
    makers = {name: partial(contestant, name, make) for name, make in (calls | others).items()}
    return makers, list(others)


def _chosen(case: Case, space: es.ExecutionSpace) -> Sequence[str]:
    """What execspace says of the form that it has chosen."""
    return tuple(es.explain(case.policy(space), case.kernel, *case.arguments).vectorisation)


def _first_launch(name: str, options: argparse.Namespace, lanes: str) -> float | str:
    """Milliseconds, or why there are none."""
    found = []
    for _ in range(options.processes):
        with tempfile.TemporaryDirectory(prefix="execspace-bench-") as folder:
            done = subprocess.run(
                [sys.executable, "-m", "benchmarks.lanes.first", name, options.space,
                 options.real, lanes],
                capture_output=True, text=True, check=False, cwd=ROOT,
                env={**os.environ, "EXECSPACE_CACHE_DIR": folder},
            )  # fmt: skip
        if done.returncode:
            return done.stderr.strip().rpartition("\n")[2]
        found.append(float(done.stdout))
    return median(found)


def _fastest(found: dict[str, dict[str, Any]], names: Sequence[str]) -> str | None:
    timed = [name for name in names if "ms" in found.get(name, {})]
    return min(timed, key=lambda name: found[name]["ms"], default=None)


def _ispc(found: dict[str, dict[str, Any]]) -> str | None:
    return _fastest(found, [name for name in found if name.startswith("ispc ")])


def _table(
    title: str, results: dict[str, dict[str, dict[str, Any]]], first: dict[str, dict[str, Any]]
) -> Table:
    table = Table(
        "kernel", "execspace", "lanes=1", *COMPILERS, "ispc", "target", NUMBA,
        "/ lanes=1", "/ C", "/ ispc", "first", "lanes=1",
        title=f"{title}: median ms of a launch, execspace over others, ms of first launches",
    )  # fmt: skip
    for column in table.columns:
        column.no_wrap = True
        column.justify = "right" if column is not table.columns[0] else "left"
    for name, found in results.items():
        c, by_ispc = _fastest(found, COMPILERS), _ispc(found)
        target = (by_ispc or "").removeprefix("ispc ")
        row = [_ms(found, who) for who in (OURS, SCALAR, *COMPILERS, by_ispc)]
        ratios = [_ratio(found, who) for who in (SCALAR, c, by_ispc)]
        launches = [first[name].get(lanes, "") for lanes in ("auto", "1")]
        table.add_row(
            name, *row, target, _ms(found, NUMBA), *ratios,
            *(f"{t:.0f}" if isinstance(t, float) else t and "FAILED" for t in launches),
        )  # fmt: skip
    return table


def _ms(found: dict[str, dict[str, Any]], who: str | None) -> str:
    outcome = found.get(who or "", {})
    return f"{outcome['ms']:.3f}" if "ms" in outcome else "FAILED" if "error" in outcome else "-"


def _ratio(found: dict[str, dict[str, Any]], who: str | None) -> str:
    ratio = over(found, OURS, who) if who else None
    return "" if ratio is None else f"{ratio:.2f}"


def _progress(name: str, found: dict[str, dict[str, Any]]) -> str:
    times = (f"{who} {outcome['ms']:.3f}" for who, outcome in found.items() if "ms" in outcome)
    return f"{name}: {', '.join(times)} ms"


def _tell(
    results: dict[str, dict[str, dict[str, Any]]], chosen: Mapping[str, Sequence[str]]
) -> None:
    """What the default chose, how results differ, and who failed."""
    for name, lines in chosen.items():
        about = [line for line in lines if "lanes" in line.partition(":")[0]] or lines
        if about:
            print(f"{name}: {about[0]}")
    reasons = set()
    for name, found in results.items():
        compared = {who: o for who, o in found.items() if "same_to_the_bit" in o and who != SCALAR}
        off = [o for o in compared.values() if not o["same_to_the_bit"]]
        same = [who for who, o in compared.items() if o["same_to_the_bit"]]
        line = f"{name}: the bits of lanes=1: {', '.join(same) or 'nobody'}"
        if off:
            units, share = (
                max(o[key] for o in off) for key in ("units_of_rounding", "share_beyond")
            )
            line += f"; others up to {units:.3g} units of rounding, {100 * share:.2g} % beyond"
        print(line)
        for who, outcome in found.items():
            if "not_there" in outcome:
                reasons.add(f"not there: {who}: {outcome['not_there']}")
            if "error" in outcome and outcome["peer"]:
                print(f"{name}, {who}: FAILED: {outcome['error']}")
    for reason in sorted(reasons):
        print(reason)


if __name__ == "__main__":
    raise SystemExit(main())
