"""The jobs that `contained` runs: look at all plugins, try one space, call one health check.

Run as ``python -m execspace.cli.worker REPORT JOB ...``. Each finding is a line of
JSON in the file REPORT, written before the next step, which may be the last.
"""

from __future__ import annotations

import json
import os
import sys
import time
import warnings
from collections.abc import Callable
from typing import Any, TextIO

import numpy as np

from execspace.base import config
from execspace.base.errors import ExecspaceError, LaunchError, PluginWarning
from execspace.contract.dtypes import float32, float64, int64
from execspace.contract.entries import Probe, SpaceEntry
from execspace.contract.space import ReportsThreads
from execspace.kernels.kernel import kernel
from execspace.launch.parallel import parallel_for
from execspace.launch.parallel_reduce import parallel_reduce, parallel_scan
from execspace.plugins import registry as plugins
from execspace.plugins.probing import described
from execspace.plugins.rank_devices import devices_of
from execspace.plugins.selection import space as space_named
from execspace.policies.range import RangePolicy
from execspace.views.deep_copy import deep_copy
from execspace.views.view import View

Report = Callable[..., None]


@kernel
def fill(i: Any, a: Any, x: Any, y: Any, counts: Any) -> None:
    """Write a float and an integer for each index."""
    y[i] = a * x[i] + i
    counts[i] = i % 3


@kernel
def count(i: Any, counts: Any) -> Any:
    """Contribute what `fill` wrote."""
    return counts[i]


@kernel
def offsets(i: Any, prefix: Any, final: Any, counts: Any, begin: Any) -> Any:
    """Store the sum of all before."""
    if final:
        begin[i] = prefix
    return counts[i]


def survey(report: Report, *unprobed: str) -> None:
    """Load all plugins and probe all spaces, except those that are not to be probed."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = plugins.load(lambda name: report("loading", plugin=name))
    rows = []
    for info in found.plugins.values():
        versions = {tuple(found.spaces[name].api_version) for name in info.spaces}
        rows.append(
            {
                "name": info.name,
                "distribution": info.distribution,
                "version": info.version,
                "module": info.module,
                "api_versions": sorted(map(list, versions)),
                "spaces": info.spaces,
                "reducers": info.reducers,
                "tiles": info.tiles,
                "tools": info.tools,
                "health_checks": info.checks,
                "error": None if info.error is None else described(info.error),
            }
        )
    others = [w for w in caught if not issubclass(w.category, PluginWarning)]
    others += [w for w in caught if "EXECSPACE_PLUGINS names" in str(w.message)]
    settings = [
        {"name": f"EXECSPACE_{v.name}", "default": v.default, "meaning": v.text}
        for v in config.VARIABLES.values()
    ]
    texts = [str(warning.message) for warning in others]
    report("loaded", plugins=rows, settings=settings, warnings=texts)
    for entry in sorted(found.spaces.values(), key=lambda e: (-e.priority, e.name)):
        report("probing", space=entry.name)
        answer = Probe(False) if entry.name in unprobed else plugins.probe(entry)
        owner = found.owner("spaces", entry.name)
        devices, trouble = _devices(entry) if answer.usable else ([], "")
        report(
            "space",
            name=entry.name,
            usable=bool(answer.usable),
            device=str(answer.device),
            distribution=owner.distribution,
            version=owner.version,
            api_version=list(entry.api_version),
            priority=int(entry.priority),
            reason=trouble or str(answer.reason),
            devices=devices,
            summary=entry.summary,
            plugin=owner.name,
        )
    report("end")


def _devices(entry: SpaceEntry) -> tuple[list[str], str]:
    """Among which devices ranks of this host are divided, if there are any, or why not."""
    rank = config.local_rank()
    if rank is None or rank.is_alone:
        return [], ""
    try:
        return list(devices_of(entry)), ""
    except ExecspaceError as failure:
        return [], str(failure)


def examine(report: Report, name: str) -> None:
    """Start a space, launch each pattern twice and compare with numbers known in advance."""
    report("step", step="start")
    begun = time.perf_counter()
    space = space_named(name)
    real = float64 if space.capabilities.float64 else float32  # part of the start: may load more
    taken = time.perf_counter() - begun
    memory = space.memory_space.name
    threads = str(space.threading_runtime()) if isinstance(space, ReportsThreads) else None
    concurrency = int(space.concurrency)
    report("started", seconds=taken, memory=memory, concurrency=concurrency, threads=threads)
    n = 1000 if space.concurrency == 1 else 100_000
    policy = RangePolicy(n, space=space)
    x, y = (View(n, real, label=label, space=space) for label in "xy")
    counts = View(n, int64, label="counts", space=space)
    begin = View(n, int64, label="begin", space=space)
    known = np.arange(n) % 3
    prefixes = np.cumsum(known) - known

    def elements(view: View) -> Any:
        host = np.empty(n, view.dtype)
        deep_copy(host, view)
        return host

    def write() -> list[tuple[str, Any, Any]]:
        parallel_for(policy, fill, 2.0, x, y, counts, label="doctor")
        return []

    def written() -> list[tuple[str, Any, Any]]:
        return [("y", elements(y), 1.0 + np.arange(n)), ("counts", elements(counts), known)]

    def reduce() -> list[tuple[str, Any, Any]]:
        return [("the sum", parallel_reduce(policy, count, counts), known.sum())]

    def scan() -> list[tuple[str, Any, Any]]:
        return [("the total", parallel_scan(policy, offsets, counts, begin), known.sum())]

    def scanned() -> list[tuple[str, Any, Any]]:
        return [("begin", elements(begin), prefixes)]

    deep_copy(x, 0.5)
    for step, launch, look in (
        ("parallel_for", write, written),
        ("parallel_reduce", reduce, list),
        ("parallel_scan", scan, scanned),
    ):
        report("step", step=step)
        times, values = [], []
        try:
            for _ in range(2):
                begun = time.perf_counter()
                values += launch()
                space.fence("doctor")
                times.append(time.perf_counter() - begun)
            wrong = [text for found in (*values, *look()) if (text := _difference(*found))]
        except LaunchError as refusal:
            report("result", step=step, status="refused", reason=str(refusal))
            continue
        status = "failed" if wrong else "ok"
        report("result", step=step, status=status, reason="; ".join(wrong), seconds=times)
    report("end")


def _difference(name: str, found: Any, expected: Any) -> str:
    """Where two arrays or numbers differ; "" if they do not."""
    found, expected = np.asarray(found), np.asarray(expected)
    if found.shape != expected.shape:
        return f"{name} has shape {found.shape}, expected {expected.shape}"
    wrong = np.argwhere(found != expected)
    if not len(wrong):
        return ""
    at = tuple(map(int, wrong[0]))
    place = f"[{', '.join(map(str, at))}]" if at else ""
    return f"{name}{place} is {found[at]}, expected {expected[at]}"


def check(report: Report, plugin: str, name: str) -> None:
    """Call a health check."""
    entry = plugins.load().checks[name]
    report("step", step="check")
    answer = entry.check()
    if not isinstance(answer, Probe):
        answer = Probe(False, f"it returned {answer!r}, expected execspace.Probe")
    report("checked", ok=bool(answer.usable), reason=str(answer.reason))


def main(path: str, job: str, *arguments: str) -> None:
    """Run a job; what it raises is reported as well."""
    with open(path, "a", encoding="ascii") as file:
        try:
            JOBS[job](_writer(file), *arguments)
        except Exception as failure:
            expected = isinstance(failure, ExecspaceError | ValueError)
            text = str(failure) if expected else described(failure)
            _writer(file)("raised", reason=text)
    if job == "survey":
        os._exit(0)  # all is known; probes that hang must not hold up the exit


def _writer(file: TextIO) -> Report:
    def report(event: str, /, **findings: Any) -> None:
        file.write(json.dumps({"event": event, **findings}, default=str) + "\n")
        file.flush()

    return report


JOBS: dict[str, Callable[..., None]] = {"survey": survey, "examine": examine, "check": check}

if __name__ == "__main__":
    main(*sys.argv[1:])
