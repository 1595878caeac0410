"""All that shows that a space works on a device, by one command; what came back is a JSON file.

    python tests/on_device.py --space cuda --json benchmarks/results/mine.json

The conformance kit, the tests of the space's plugin, the programs of the documentation and the
examples, CUDA's checker of memory and races over the collective kernels where it is installed, and
the benchmarks. Each part has a time limit, and one
that fails does not keep the others from running. The exit status says whether all went well.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path
from time import perf_counter
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
BENCHMARKS = {"cuda": "benchmarks.cuda.run", "opencl": "benchmarks.studies.opencl"}
PLUGINS = {name: f"plugins/{name}/tests" for name in ("cuda", "hip", "opencl")}
# The plugin of benchmarks, where there is one, warns of xdist, and warnings are errors here.
FAULTY = 9  # exit status of the checker if it finds a fault
PYTEST = ["-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:benchmark"]


def parts(space: str, workers: int, scratch: Path) -> dict[str, tuple[list[str], int]]:
    """Command line of each part, and the exit status that it shall have."""
    python = sys.executable
    base = space.partition(":")[0]
    parallel = ["-n", str(workers)] if workers > 1 else []
    kit = ["--pyargs", "execspace_testing.suite", "--space", space]
    found = {"conformance": ([python, *PYTEST, *parallel, *kit], 0)}
    if base in PLUGINS:
        found["plugin"] = [python, *PYTEST, *parallel, "-rfEs", str(ROOT / PLUGINS[base])], 0
    documented = [python, str(ROOT / "tests" / "support" / "docs_on_device.py"), "--space", space]
    found["documentation"] = documented, 0
    kernels = [python, str(ROOT / "tests" / "support" / "collective_kernels.py"), "--space", space]
    found["collective kernels"] = kernels, 0
    checker = shutil.which("compute-sanitizer")
    if base in ("cuda", "hip_on_nvidia") and checker is not None:
        check = [checker, "--error-exitcode", str(FAULTY), "--tool"]
        for tool in ("memcheck", "racecheck"):
            found[f"compute-sanitizer {tool}"] = [*check, tool, *kernels], 0
        # A checker that sees nothing would not see this either.
        planted = [*check, "memcheck", *kernels, "--planted"]
        found["compute-sanitizer, planted fault"] = planted, FAULTY
    if base in BENCHMARKS:
        module = ["-m", BENCHMARKS[base]]
        found["benchmarks"] = [python, *module, "--json", str(scratch / "bench.json")], 0
    return found


def run(command: list[str], expected: int, limit: float, folder: Path) -> dict[str, Any]:
    """Run a part; its outcome."""
    started = perf_counter()
    try:
        path = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
        done = subprocess.run(
            command, cwd=folder, timeout=limit, text=True, errors="replace",
            env={**os.environ, "PYTHONPATH": path},
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False,
        )  # fmt: skip
        status, output = done.returncode, done.stdout
    except subprocess.TimeoutExpired as late:
        status, output = None, str(late.stdout or "")
    kept = [line for line in output.splitlines() if line.strip()]
    return {
        "passed": status == expected,
        "exit_status": status,
        "seconds": round(perf_counter() - started, 1),
        "summary": _summary(kept),
    }


def _summary(lines: list[str]) -> list[str]:
    """What matters of a part's output: levels, faults, and how it ended."""
    told = re.compile(
        r"^(FAILED|ERROR|SKIPPED|=+ (ERROR|RACECHECK)|Space '| +\d+ +(pass|fail))"
        r"|passed|failed|are right"
    )
    found = [line for line in lines if told.search(line)]
    kept = (found or lines[-8:])[:120]
    return [re.sub(r"\S*/(?=(plugins|tests|core|compiler)/)", "", line)[:200] for line in kept]


def commit() -> str | None:
    """The commit that is checked out, and whether anything was changed since."""
    try:
        told = subprocess.run(
            ["git", "-C", str(ROOT), "describe", "--always", "--dirty", "--abbrev=12"],
            capture_output=True, text=True, check=True,
        )  # fmt: skip
    except (OSError, subprocess.CalledProcessError):
        return None
    return told.stdout.strip()


def main() -> int:
    """Run the parts and write the file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--space", required=True, help="such as cuda or opencl:0.1")
    parser.add_argument("--json", type=Path, required=True, help="file to write")
    parser.add_argument("--only", action="append", help="a part by its name; may be repeated")
    parser.add_argument("--workers", type=int, default=min(12, os.cpu_count() or 1))
    parser.add_argument("--limit", type=float, default=600.0, help="seconds for each part")
    parser.add_argument("--commit", default=None, help="if this is not a checkout of git")
    options = parser.parse_args()
    sys.path.insert(0, str(ROOT))
    from benchmarks.common.machine import describe

    import execspace as es

    row = next((s for s in es.spaces() if s.name == options.space.partition(":")[0]), None)
    if row is None or not row.usable:
        parser.error(f"space '{options.space}' cannot be used: {row.reason if row else 'unknown'}")
    result: dict[str, Any] = {
        "format": 1,
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "commit": options.commit or commit(),
        "machine": describe(options.space, 1, None),
        "parts": {},
    }
    with tempfile.TemporaryDirectory() as name:
        scratch = Path(name)
        for what, (command, expected) in parts(options.space, options.workers, scratch).items():
            if options.only and what not in options.only:
                continue
            print(f"{what} ...", flush=True)
            outcome = result["parts"][what] = run(command, expected, options.limit, scratch)
            print("\n".join(["    " + line for line in outcome["summary"]]), flush=True)
            print(f"    {'passed' if outcome['passed'] else 'FAILED'}, {outcome['seconds']} s")
            measured = scratch / "bench.json"
            if what == "benchmarks" and measured.exists():
                result["benchmarks"] = json.loads(measured.read_text(encoding="utf-8"))
            options.json.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    return int(not all(p["passed"] for p in result["parts"].values()))


if __name__ == "__main__":
    sys.exit(main())
