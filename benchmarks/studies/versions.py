"""Every case of `make bench` with two versions of execspace, each in an environment of its own.

    python -m benchmarks.studies.versions --before ../old/.venv/bin/python
        [--space serial] [--rounds 4] [--quick] [--only GROUP] [--json FILE]

The benchmarks are those of this tree; what they measure is what each interpreter has installed.
Nobody else takes part: threads of other contestants wait by spinning, and whose threads a version
has to share the cores with must not decide. Versions take turns group by group, A B B A, in
processes of their own. Told are, for each case, the medians over the rounds and the median of the
ratios of neighbouring turns.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.common.machine import describe, usable_cores

GROUPS = ("triad", "stencil", "subview", "functions", "reduction", "scan", "teams", "launch")
# Kernels are compiled once for each version, so neither its first round nor its cache decides.
CACHE_VARIABLE = "EXECSPACE_CACHE_DIR"
ROOT = Path(__file__).resolve().parents[2]

Times = dict[str, list[float]]


def one_turn(python: str, cache: str, group: str, asked: argparse.Namespace) -> dict[str, float]:
    """Median seconds, or the unit of a measurement, of each case of a group in a new process."""
    with tempfile.TemporaryDirectory() as folder:
        written = Path(folder) / "turn.json"
        command = [python, "-m", "benchmarks.host.run", "--alone", "--space", asked.space]
        command += ["--only", group, "--json", str(written), *["--quick"] * asked.quick]
        command += ["--seconds", str(asked.seconds)]
        environment = {**os.environ, CACHE_VARIABLE: cache, "PYTHONPATH": ""}
        ran = subprocess.run(
            command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False
        )
        if not written.exists():
            last = (ran.stderr.strip() or "no message").splitlines()[-1]
            print(f"{group} does not run with {python}: {last}", file=sys.stderr)
            return {}
        found = json.loads(written.read_text())
    times = {
        f"{row['group']}: {row['case']}": row["seconds"]["execspace"]["median"]
        for row in found["comparisons"]
    }
    for row in found["measurements"]:
        times[f"{row['group']}: {row['case']} [{row['unit']}]"] = row["median"]
    return times


def compare(asked: argparse.Namespace) -> tuple[dict[str, Times], Times]:
    """Times of both versions, and their ratios, for each case."""
    pythons = {"before": asked.before, "after": asked.after}
    times: dict[str, Times] = {name: {} for name in pythons}
    ratios: Times = {}
    with tempfile.TemporaryDirectory() as caches:
        for group in asked.only or GROUPS:
            for turn in range(asked.rounds):
                order = ("before", "after") if turn % 2 == 0 else ("after", "before")
                pair = {
                    name: one_turn(pythons[name], f"{caches}/{name}", group, asked)
                    for name in order
                }
                for name, cases in pair.items():
                    for case, seconds in cases.items():
                        times[name].setdefault(case, []).append(seconds)
                for case in pair["before"].keys() & pair["after"].keys():
                    ratio = pair["after"][case] / pair["before"][case]
                    ratios.setdefault(case, []).append(ratio)
                print(f"{group}: round {turn + 1} of {asked.rounds}", file=sys.stderr, flush=True)
    return times, ratios


def table(times: dict[str, Times], ratios: Times) -> list[dict[str, Any]]:
    """One row a case."""
    return [
        {
            "case": case,
            "before": {"median": median(times["before"][case]), "min": min(times["before"][case])},
            "after": {"median": median(times["after"][case]), "min": min(times["after"][case])},
            "after_over_before": {
                "median": median(ratios[case]), "min": min(ratios[case]), "max": max(ratios[case]),
                "of_best_times": min(times["after"][case]) / min(times["before"][case]),
            },
        }
        for case in times["after"]
        if case in ratios
    ]  # fmt: skip


def main(arguments: Sequence[str] | None = None) -> int:
    """Compare and print; 1 if there was nothing to compare."""
    parser = argparse.ArgumentParser(
        description=__doc__.partition("\n")[0], formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--before", required=True, help="interpreter that has the older version")
    parser.add_argument("--after", default=sys.executable, help="that of the newer (this one)")
    parser.add_argument("--space", default="openmp", help="host space to measure (openmp)")
    parser.add_argument("--rounds", type=int, default=4, help="processes of each version (4)")
    parser.add_argument("--seconds", type=float, default=1.0, help="as in host.run (1)")
    parser.add_argument("--quick", action="store_true", help="smaller arrays and fewer turns")
    parser.add_argument("--only", metavar="GROUP[:TEXT]", action="append", help="as in host.run")
    parser.add_argument("--json", metavar="FILE", type=Path, help="write all results to a file")
    asked = parser.parse_args(arguments)
    times, ratios = compare(asked)
    rows = table(times, ratios)
    for row in rows:
        before, after, ratio = (row[k] for k in ("before", "after", "after_over_before"))
        print(
            f"{row['case']:58} {before['median']:11.4g} {after['median']:11.4g} "
            f"{ratio['median']:6.3f} ({ratio['min']:.3f} to {ratio['max']:.3f})"
        )
    if not rows:
        print("No case ran with both versions.")
        return 1
    overall = median(row["after_over_before"]["median"] for row in rows)
    print(f"median of {len(rows)} ratios: {overall:.3f}")
    if asked.json is not None:
        threads = 1 if asked.space == "serial" else usable_cores()
        report = {
            "date": datetime.now(UTC).isoformat(timespec="seconds"),
            "machine": describe(asked.space, threads, None),
            "rounds": asked.rounds,
            "quick": asked.quick,
            "seconds": asked.seconds,
            "rows": rows,
        }
        asked.json.write_text(json.dumps(report, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
