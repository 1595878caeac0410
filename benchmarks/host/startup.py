"""What a fresh process pays: importing, a kernel from the disk cache, a kernel compiled anew."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.host.launch import Measurement
from benchmarks.host.session import Session

ROOT = Path(__file__).parents[2]
PROBE = "benchmarks.host.startup_probe"

# Bytecode of all modules is kept here, so that no probe but the first one compiles Python.
_BYTECODE = tempfile.TemporaryDirectory(prefix="execspace-bench-")


def _probe(*arguments: str, cache: str | None = None) -> dict[str, Any]:
    """Times from one fresh process; CalledProcessError if it fails."""
    environment = dict(os.environ, PYTHONPYCACHEPREFIX=_BYTECODE.name)
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    if cache is not None:
        environment["EXECSPACE_CACHE_DIR"] = cache
    done = subprocess.run(
        [sys.executable, "-m", PROBE, *arguments],
        cwd=ROOT,
        env=environment,
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    )
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def _milliseconds(
    group: str, name: str, seconds: Sequence[float], target: float | None = None
) -> Measurement:
    t = [1e3 * s for s in seconds]
    return Measurement(group, name, "ms", median(t), min(t), len(t), target)


def import_cost(session: Session) -> Iterator[Measurement]:
    """`import execspace` after `import numpy`, each time in a fresh process."""
    found = [_probe("import") for _ in range(16)][1:]
    yield _milliseconds("import", "numpy", [f["numpy"] for f in found])
    text = "execspace beyond numpy"
    yield _milliseconds("import", text, [f["execspace"] for f in found], 60.0)


def cached_kernel(session: Session) -> Iterator[Measurement]:
    """First launch of a kernel that an earlier process compiled."""
    processes = 5 if session.quick else 11
    for space in _host_spaces(session):
        with tempfile.TemporaryDirectory(prefix="execspace-bench-") as folder:
            for _ in range(2):
                _probe("execspace", space, cache=folder)
            found = [_probe("execspace", space, cache=folder) for _ in range(processes)]
        if not all(f["from_disk"] for f in found):
            raise AssertionError("a cached kernel was compiled again")
        start = [f["start"] for f in found]
        first, second = [f["first"] for f in found], [f["second"] for f in found]
        yield _milliseconds("cached", f"{space}: start of the space", start)
        yield _milliseconds("cached", f"{space}: first launch of the process", first)
        yield _milliseconds("cached", f"{space}: first launch of another kernel", second, 10.0)


def compile_time(session: Session) -> Iterator[Measurement]:
    """First launch of a kernel that no process has compiled, and Numba's prange loops."""
    spaces = _host_spaces(session)
    found: dict[str, list[dict[str, Any]]] = {name: [] for name in (*spaces, "Numba prange")}
    _probe("numba")
    for _ in range(3 if session.quick else 5):
        for space in spaces:
            with tempfile.TemporaryDirectory(prefix="execspace-bench-") as folder:
                found[space].append(_probe("execspace", space, cache=folder))
        found["Numba prange"].append(_probe("numba"))
    for name, times in found.items():
        label = name if name.startswith("Numba") else f"execspace {name}"
        text = f"{label}: first launch of the process"
        yield _milliseconds("compile", text, [t["first"] for t in times])
        text = f"{label}: first launch of another kernel"
        yield _milliseconds("compile", text, [t["second"] for t in times])


def _host_spaces(session: Session) -> list[str]:
    return list(dict.fromkeys(("serial", session.space)))
