"""Multi-dimensional ranges against kernels written by hand, on CUDA, OpenCL and host spaces.

`make bench-mdrange` runs this. Operations, shapes and sizes are those of Kokkos' own benchmarks of
MDRangePolicy, and Kokkos' published figures are shown beside. Results are checked before anything
is timed. Spaces on one device take turns with each other in one process.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from time import perf_counter
from typing import Any

import execspace as es
from benchmarks.common.c_loops import Compiler, find_compiler
from benchmarks.common.machine import describe
from benchmarks.cuda.run import commit, packages
from benchmarks.mdrange.cases import DEVICE, GROUPS, HOST, QUICK, Case, Sizes, cases_on_same_views
from benchmarks.mdrange.counters import count
from benchmarks.mdrange.figure import draw, print_tables
from benchmarks.mdrange.kokkos import A100, H200
from benchmarks.mdrange.places import HAND, Place, place_of
from benchmarks.mdrange.timing import Bench, Effort, Measured, label

SPACES = ("cuda", "opencl", "openmp")


def options_of(arguments: Sequence[str] | None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument(
        "--space", action="append", metavar="NAME",
        help=f"a space, may be repeated (all that can be used of {', '.join(SPACES)})",
    )  # fmt: skip
    parser.add_argument(
        "--only", action="append", default=[], metavar="NAME",
        help=f"a group ({', '.join(GROUPS)}), or the cases of a group whose name contains a text: "
        f"'stream:triad rank 3'; may be repeated (all)",
    )  # fmt: skip
    parser.add_argument(
        "--edge", action="append", type=int, metavar="N",
        help="N of the streams' arrays of N^6 elements, may be repeated (22 and 24; on a "
        "processor 12 and 16)",
    )  # fmt: skip
    parser.add_argument("--rounds", type=int, help="turns of each (9)")
    parser.add_argument(
        "--placements", type=int, default=3,
        help="places in memory among which the turns of stencils and transposes on a device are "
        "shared out (3)",
    )  # fmt: skip
    parser.add_argument("--quick", action="store_true", help="small arrays, few and short turns")
    parser.add_argument(
        "--counters", action="store_true",
        help="also registers, occupancy and memory throughput on CUDA, from Nsight Compute",
    )  # fmt: skip
    parser.add_argument("--json", metavar="FILE", type=Path, help="write all results to a file")
    parser.add_argument(
        "--png", metavar="FILE", type=Path, help="draw a figure (beside the JSON file)"
    )
    options = parser.parse_args(arguments)
    for only in options.only:
        if only.partition(":")[0] not in GROUPS:
            parser.error(f"--only {only}: expected one of {', '.join(GROUPS)}")
    for n in options.edge or ():
        if not 3 <= n <= 35:  # 35^6 < 2^31, to which the kernels by hand count
            parser.error(f"--edge: expected 3 to 35, got {n}")
    if options.rounds is not None and options.rounds < 1:
        parser.error(f"--rounds: expected at least 1, got {options.rounds}")
    if options.placements < 1:
        parser.error(f"--placements: expected at least 1, got {options.placements}")
    options.rounds = options.rounds or (3 if options.quick else 9)
    for file in (options.json, options.png):
        if file is not None and not file.parent.is_dir():
            parser.error(f"{file}: its folder does not exist")
    if options.png is None and options.json is not None:
        options.png = options.json.with_suffix(".png")
    return options


def places_of(options: argparse.Namespace, failures: dict[str, str]) -> list[Place]:
    """Spaces to measure; those that were named and do not start are failures."""
    usable = {row.name: row for row in es.spaces()}
    names = list(dict.fromkeys(options.space or ()))
    for name in SPACES if options.space is None else ():
        if name in usable and usable[name].usable:
            names.append(name)
        else:
            why = usable[name].reason if name in usable else "its plugin is not installed"
            print(f"Not measured: {name}, {why}")

    @cache
    def compiler() -> Compiler | None:
        found, why_not = find_compiler()
        if found is None:
            print(f"Comparisons with C are skipped: {why_not}.")
        return found

    found = []
    for name in names:
        try:
            found.append(place_of(name, compiler))
        except Exception as error:  # the other spaces are still worth measuring
            failures[name] = f"{type(error).__name__}: {error}"
            print(f"Space {name} FAILED: {failures[name]}")
    return found


def taking_turns(places: Iterable[Place]) -> list[list[Place]]:
    """Spaces by device. Those of the host wait for work by spinning, so each is on its own."""
    groups: dict[str, list[Place]] = {}
    for place in places:
        groups.setdefault(f"host: {place.name}" if place.is_host else place.device, []).append(
            place
        )
    return list(groups.values())


def sizes_of(options: argparse.Namespace, group: Sequence[Place]) -> Sizes:
    """Sizes for a device, or for the host."""
    sizes = QUICK if options.quick else HOST if group[0].is_host else DEVICE
    return sizes if options.edge is None else replace(sizes, edges=tuple(options.edge))


class Run:
    """One run: its record, which is written whenever some cases are done."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.options = options
        self.bench = Bench(Effort(options.rounds, *((2e-3, 1e-3) if options.quick else ())))
        self.places = places_of(options, self.bench.failures)
        self.record: dict[str, Any] = {
            "format": 1,
            "date": datetime.now(UTC).isoformat(timespec="seconds"),
            "commit": commit(),
            "machine": describe(
                ", ".join(p.name for p in self.places),
                max((p.space.concurrency for p in self.places if p.is_host), default=1),
                next((c for p in self.places if (c := getattr(p, "compiler", None))), None),
            ),
            "device": {place.name: place.record() for place in self.places},
            "packages": packages() | _more_packages(),
            "options": {
                "spaces": [place.name for place in self.places], "only": options.only,
                "edges": options.edge, "rounds": options.rounds, "quick": options.quick,
                "placements": options.placements,
            },
            "kokkos": {"kokkos_h200": H200, "kokkos_a100_ms": A100},
            "seconds": {},
            "results": {},
            "failures": self.bench.failures,
        }  # fmt: skip

    def write(self) -> None:
        if self.options.json is not None:
            text = json.dumps(_rounded(self.record), indent=1) + "\n"
            self.options.json.write_text(text, encoding="utf-8")

    def group(self, places: list[Place]) -> None:
        """All cases on the spaces of one device."""
        name = "+".join(place.name for place in places)
        results = self.record["results"][name] = {}
        seconds: dict[str, float] = {}
        self.record["seconds"][name] = seconds
        sets = list(cases_on_same_views(sizes_of(self.options, places), self.options.only))
        total, done = sum(map(len, sets)), 0
        for cases in sets:
            started = perf_counter()
            found = {case.name: Measured(case) for case in cases}
            placements = self._placements(places, cases)
            apart: list[es.View] = []  # so that the next arrays lie elsewhere
            for n in range(placements):
                self._on_views(places, cases, found, -(-self.options.rounds // placements))
                if n + 1 < placements:
                    size = 1_000_003 * (2 * n + 1)
                    apart += [es.View(size, space=place.space, label="apart") for place in places]
            del apart
            for case in cases:
                done += 1
                results[case.name] = found[case.name].record([p.name for p in places])
                _progress(f"[{done:3}/{total}] {_line(found[case.name], places)}")
            took = seconds.get(cases[0].group, 0.0) + perf_counter() - started
            seconds[cases[0].group] = round(took, 1)
            self.write()

    def _placements(self, places: Sequence[Place], cases: Sequence[Case]) -> int:
        """In how many places in memory cases are measured.

        What a kernel that reads an element several times takes depends on where its arrays lie.
        """
        on_host = any(place.is_host for place in places)
        moved = cases[0].group in ("stencil", "transpose") and not on_host
        return min(self.options.placements, self.options.rounds) if moved else 1

    def _on_views(
        self, places: list[Place], cases: Sequence[Case], found: dict[str, Measured], rounds: int
    ) -> None:
        """Cases on Views of their own, in all spaces at once if there is room."""
        views: dict[str, list[es.View]] = {}
        for place in list(places):
            try:
                views[place.name] = place.views(cases)
            except MemoryError as error:
                views.clear()
                for each in places:
                    each.free()
                if len(places) == 1:
                    for case in cases:
                        self.bench.failures[f"{place.name}: {case.name}"] = str(error)
                    _progress(f"{place.name} FAILED: {error}")
                    return
                _progress(f"{cases[0].name}: memory is short, so one space after the other")
                for each in places:
                    self._on_views([each], cases, found, rounds)
                for measured in found.values():
                    measured.apart = True
                return
            except Exception as error:  # of no use any more; the others go on
                self.bench.failures[place.name] = f"{type(error).__name__}: {error}"
                _progress(f"Space {place.name} FAILED: {self.bench.failures[place.name]}")
                places.remove(place)
        for case in cases:
            try:
                self.bench.measure(found[case.name], places, views, rounds)
            except Exception as error:  # where a launch fails between others, all turns are lost
                who = ", ".join(views)
                self.bench.failures[f"{who}: {case.name}"] = f"{type(error).__name__}: {error}"
        views.clear()
        for place in places:
            place.free()

    def counters(self) -> None:
        """Registers and occupancy, where CUDA is measured."""
        cuda = next((p for p in self.places if p.name.partition(":")[0] == "cuda"), None)
        if cuda is None:
            self.record["counters"] = {"not_there": "the space cuda is not measured"}
        else:
            _progress("Nsight Compute: counters")
            self.record["counters"] = count(cuda.name, self.options.quick, self.options.edge)
        self.write()


def _line(found: Measured, places: Sequence[Place]) -> str:
    """How a case went: times over those of the best kernel by hand."""
    parts = []
    for place in places:
        notes = found.notes.get(place.name, {})
        ratio = found.over(place.name, label(place.name, HAND))
        if "error" in notes:
            parts.append(f"{place.name} FAILED: {notes['error'].partition(chr(10))[0]}")
        elif ratio is not None:
            parts.append(f"{place.name} {ratio:.2f} x hand-written")
    return f"{found.case.name}: {', '.join(parts) or 'not compared'}"


def _progress(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def _more_packages() -> dict[str, str | None]:
    found: dict[str, str | None] = {}
    for name in ("execspace-opencl", "pyopencl"):
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = None
    return found


def _rounded(value: Any) -> Any:
    """Six digits, so that a file of hundreds of cases can be committed."""
    if isinstance(value, float):
        return float(f"{value:.6g}")
    if isinstance(value, dict):
        return {key: _rounded(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_rounded(part) for part in value]
    return value


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print, draw and write; 1 if a space failed or a result of it was wrong."""
    options = options_of(arguments)
    run = Run(options)
    for group in taking_turns(run.places):
        run.group(group)
    if options.counters:
        run.counters()
    run.write()
    print_tables(run.record)
    if options.png is not None and any(run.record["results"].values()):
        draw(run.record, options.png)
        print(f"Figure: {options.png}")
    failures = run.bench.failures
    for what, error in failures.items():
        print(f"FAILED: {what}: {error}")
    return 1 if failures or not run.places else 0


if __name__ == "__main__":
    raise SystemExit(main())
