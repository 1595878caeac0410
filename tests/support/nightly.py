"""Many random programs, on every pattern and space, against CPython: `make nightly`.

    python tests/support/nightly.py --oracle 100000 --compiled 5000 --jobs 2
    python tests/support/nightly.py --oracle 5000 --compiled 0 --seed 7 --minutes 2
    python tests/support/nightly.py --space opencl --space openmp=500

The programs are those of the conformance kit's campaign (execspace_testing.suite.differential),
cheap ones for the oracle and larger launches for compiled spaces, which share their number. CPython
runs each kernel as the Python function that it is, so what the compiler's front end gets wrong on
all spaces alike is seen, too. Each difference is written as a program that shows it, with as few
statements as could be found, into the folder `--found`; so is a case that never ends, or takes its
process with it. A summary with counts for each pattern and space is printed and written as JSON;
the exit status is 1 if there is any difference, or less was run than was asked for.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from collections import Counter
from pathlib import Path
from time import monotonic, sleep
from typing import Any

from nightly_workers import Answer, Job, Worker
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

CHUNK = {"oracle": 25}  # cases of a job
COMPILED_CHUNK = 4


def jobs(spaces: dict[str, int], seed: int) -> dict[str, list[Job]]:
    """Jobs for each space: more than enough cases, which are cut off when there are enough."""
    found = {}
    for name, wanted in spaces.items():
        chunk = CHUNK.get(name, COMPILED_CHUNK)
        found[name] = [(name, seed, k * chunk, chunk) for k in range(wanted // chunk + 1)]
    return found


def shares(spaces: list[str], programs: int) -> dict[str, int]:
    """How many programs each space runs, from texts such as "serial" or "serial=100"."""
    named = [text.partition("=") for text in spaces]
    found = {name: int(count) for name, _, count in named if count}
    others = [name for name, _, count in named if not count]
    share, rest = divmod(max(0, programs - sum(found.values())), max(1, len(others)))
    return found | {name: share + (n < rest) for n, name in enumerate(others)}


class Night:
    """The runs of all spaces, side by side, and what came of them."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.options = options
        self.wanted = {"oracle": options.oracle} if options.oracle else {}
        self.wanted |= shares(options.space, options.compiled)
        self.wanted = {name: count for name, count in self.wanted.items() if count}
        self.counts: dict[str, Counter[str]] = {name: Counter() for name in self.wanted}
        self.found: list[dict[str, Any]] = []
        self.started = monotonic()

    def done(self, space: str) -> int:
        """Programs run on a space."""
        return sum(self.counts[space].values())

    def late(self) -> bool:
        """Whether the time is up."""
        minutes = self.options.minutes
        return bool(minutes) and monotonic() - self.started > minutes * 60

    def run(self, console: Console) -> None:
        """Hand out jobs until there is enough of everything, or the time is up."""
        columns = (
            TextColumn("{task.description:10}"), BarColumn(), MofNCompleteColumn(),
            TimeElapsedColumn(), TextColumn("{task.fields[differences]} differences"),
        )  # fmt: skip
        waiting = jobs(self.wanted, self.options.seed)
        workers = [Worker(self.options.limit) for _ in range(self.options.jobs)]
        with Progress(*columns, console=console) as progress:
            bars = {
                name: progress.add_task(name, total=count, differences=0)
                for name, count in self.wanted.items()
            }
            while True:
                for worker in workers:
                    for answer in worker.answers():
                        self.take(answer)
                        name = answer.space
                        differences = sum(f["space"] == name for f in self.found)
                        progress.update(
                            bars[name], completed=self.done(name), differences=differences
                        )
                    if worker.job is None and (job := self._next(waiting)):
                        worker.start(job)
                if not any(worker.job for worker in workers):
                    break
                sleep(0.02)
        for worker in workers:
            worker.stop()

    def _next(self, waiting: dict[str, list[Job]]) -> Job | None:
        """A job of the space that is furthest behind, and takes it out; None at the end."""
        if self.late():
            return None
        behind = sorted(self.wanted, key=lambda name: self.done(name) / self.wanted[name])
        for name in behind:
            if self.done(name) < self.wanted[name] and waiting[name]:
                return waiting[name].pop(0)
        return None

    def take(self, answer: Answer) -> None:
        """Count what was run, and keep the differences."""
        name = answer.space
        self.counts[name].update(answer.programs)
        for number, message, program in answer.found:
            folder = Path(self.options.found)
            folder.mkdir(parents=True, exist_ok=True)
            file = folder / f"{name}_seed{self.options.seed}_case{number}.py"
            file.write_text(program, encoding="utf-8")
            first = message.partition("\n")[0]
            self.found.append({"space": name, "case": number, "said": first, "file": str(file)})

    def summary(self) -> dict[str, Any]:
        """What was run and found, for the JSON file."""
        return {
            "seed": self.options.seed,
            "seconds": round(monotonic() - self.started, 1),
            "wanted": self.wanted,
            "programs": {name: self.done(name) for name in self.wanted},
            "patterns": {name: dict(sorted(c.items())) for name, c in self.counts.items()},
            "differences": self.found,
        }


def show(summary: dict[str, Any], console: Console) -> None:
    """Print a summary."""
    patterns = sorted({p for counts in summary["patterns"].values() for p in counts})
    table = Table("space", *patterns, "programs", "differences")
    for name, counts in summary["patterns"].items():
        differences = sum(d["space"] == name for d in summary["differences"])
        numbers = [str(counts.get(p, 0)) for p in patterns]
        table.add_row(name, *numbers, str(summary["programs"][name]), str(differences))
    console.print(table)
    for difference in summary["differences"]:
        console.print(f"{difference['file']}: {difference['said']}", soft_wrap=True, markup=False)


def main() -> int:
    """Run it; the exit status."""
    parser = argparse.ArgumentParser(description="Random programs against CPython.")
    parser.add_argument("--oracle", type=int, default=100_000, help="programs on the oracle")
    parser.add_argument("--compiled", type=int, default=5_000,
                        help="programs on compiled spaces, in all")  # fmt: skip
    parser.add_argument("--space", action="append", metavar="NAME[=PROGRAMS]",
                        help="a compiled space, and how many programs it runs; several may be "
                             "given, and those without a number share what is left")  # fmt: skip
    parser.add_argument("--seed", type=int, default=1, help="another seed, other programs")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes")
    parser.add_argument("--minutes", type=float, default=0, help="stop after so many minutes")
    parser.add_argument("--limit", type=float, default=300,
                        help="seconds without an answer after which a case counts as a difference "
                             "and its process is ended")  # fmt: skip
    parser.add_argument("--found", default="nightly-found", help="folder of the differences")
    parser.add_argument("--json", default="", help="file of the summary")
    options = parser.parse_args()
    if not options.space:
        import execspace as es

        usable = {row.name for row in es.spaces() if row.usable}
        options.space = [name for name in ("serial", "openmp", "opencl") if name in usable]
    console = Console()
    with tempfile.TemporaryDirectory(prefix="execspace-nightly-", ignore_cleanup_errors=True) as t:
        os.environ["EXECSPACE_CACHE_DIR"] = t
        os.environ["OMP_WAIT_POLICY"] = "passive"
        night = Night(options)
        night.run(console)
    summary = night.summary()
    show(summary, console)
    if options.json:
        Path(options.json).write_text(json.dumps(summary, indent=2) + "\n", encoding="utf-8")
    short = [n for n, count in night.wanted.items() if night.done(n) < count]
    for name in short:
        console.print(f"{name}: {night.done(name)} of {night.wanted[name]} programs were run")
    total = sum(summary["programs"].values())
    console.print(f"{total} programs, {len(night.found)} differences, {summary['seconds']} s")
    return int(bool(night.found or short))


if __name__ == "__main__":
    sys.exit(main())
