"""A triad on all cores of a machine that others use as well: execspace, C with OpenMP and Numba.

    python -m benchmarks.studies.busy [--others 6] [--rounds 20] [--json FILE]

Each contestant is a process of its own, because a process has one libgomp and one setting of it.
"openmp" runs on the pool of threads that it has on Linux, "openmp, libgomp" on the threads of C.
They take turns: in each round each one makes some launches, first on the machine as it is, then
beside processes that compute without end. Told are medians over the rounds, the medians of the
ratios to C with OpenMP in the same round, and the least times, which are those of an idle machine
if there were idle moments.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from benchmarks.common.c_loops import find_compiler
from benchmarks.common.machine import describe, priority
from execspace.base import config

SIZES = {"triad, 200,000 doubles": 200_000, "triad, 5,000 doubles": 5_000}
LAUNCHES = 10

WORKER = """
import os, sys, time
import numpy as np

kind, library, sizes = sys.argv[1], sys.argv[2], [int(n) for n in sys.argv[3:]]
calls = []
for n in sizes:
    if kind.startswith("execspace"):
        import execspace as es

        @es.kernel
        def triad(i, a, x, y, z):
            z[i] = a * x[i] + y[i]

        policy = es.RangePolicy(0, n, space="serial" if "serial" in kind else "openmp")
        views = [es.View(n, space=policy.space or "serial") for _ in range(3)]
        calls.append(lambda p=policy, v=views: es.parallel_for(p, triad, 2.0, *v))
    elif kind == "C":
        import ctypes

        function = ctypes.CDLL(library).triad
        arrays = [np.zeros(n) for _ in range(3)]
        given = [ctypes.c_void_p(a.ctypes.data) for a in arrays]
        calls.append(lambda f=function, g=given, n=n, a=arrays: f(
            ctypes.c_long(n), ctypes.c_double(2.0), *g))
    else:
        import numba

        @numba.njit(parallel=True)
        def triad(a, x, y, z):
            for i in numba.prange(x.shape[0]):
                z[i] = a * x[i] + y[i]

        arrays = [np.zeros(n) for _ in range(3)]
        calls.append(lambda f=triad, v=arrays: f(2.0, *v))
for call in calls:
    call()
print("ready", flush=True)
for line in sys.stdin:
    which, launches, gap = line.split()
    call, seconds = calls[int(which)], []
    for _ in range(int(launches)):
        if float(gap):
            time.sleep(float(gap))
        start = time.perf_counter()
        call()
        seconds.append(time.perf_counter() - start)
    print(sum(seconds) / len(seconds), flush=True)
"""

TRIAD = """
void triad(long n, double a, const double *x, const double *y, double *z) {
    #pragma omp parallel for
    for (long i = 0; i < n; ++i) z[i] = a * x[i] + y[i];
}
"""

# Name -> what the worker is, and its environment.
LIBGOMP = {"EXECSPACE_OPENMP_RUNTIME": "libgomp"}
CONTESTANTS: dict[str, tuple[str, dict[str, str]]] = {
    "C with OpenMP": ("C", {}),
    "Numba, prange": ("numba", {"NUMBA_THREADING_LAYER": "omp"}),
    "openmp": ("execspace openmp", {}),
    "openmp, never spinning": ("execspace openmp", {"OMP_WAIT_POLICY": "passive"}),
    "openmp, libgomp": ("execspace openmp", LIBGOMP),
    "openmp, libgomp, its own spinning": (
        "execspace openmp", {**LIBGOMP, "GOMP_SPINCOUNT": "300000"}
    ),
    "openmp, libgomp, never spinning": (
        "execspace openmp", {**LIBGOMP, "OMP_WAIT_POLICY": "passive"}
    ),
    "serial": ("execspace serial", {}),
}  # fmt: skip


def started(name: str, worker: Path, library: Path) -> subprocess.Popen[str]:
    """A contestant's process, ready."""
    kind, more = CONTESTANTS[name]
    taken_away = ("GOMP_SPINCOUNT", "OMP_WAIT_POLICY", "EXECSPACE_OPENMP_RUNTIME")
    environment = {k: v for k, v in os.environ.items() if k not in taken_away} | more
    process = subprocess.Popen(
        [sys.executable, str(worker), kind, str(library), *map(str, SIZES.values())],
        env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    return process


def asked(process: subprocess.Popen[str], which: int, launches: int, gap: float) -> float:
    """Microseconds of a launch, on average over some."""
    assert process.stdin is not None and process.stdout is not None
    process.stdin.write(f"{which} {launches} {gap}\n")
    process.stdin.flush()
    return float(process.stdout.readline()) * 1e6


def rounds(workers: dict[str, subprocess.Popen[str]], number: int) -> dict[str, Any]:
    """Case -> contestant -> median of microseconds, and of the ratio to C in the same round."""
    found: dict[str, Any] = {}
    cases = [(name, n, 0.0) for n, name in enumerate(SIZES)]
    cases.append(("triad, 200,000 doubles, 2 ms after the last one", 0, 0.002))
    for case, which, gap in cases:
        times: dict[str, list[float]] = {name: [] for name in workers}
        for n in range(number):
            names = list(workers)
            for name in names[n % len(names) :] + names[: n % len(names)]:
                times[name].append(asked(workers[name], which, LAUNCHES, gap))
        found[case] = {
            name: {
                "us": round(statistics.median(us), 1),
                "least us": round(min(us), 1),
                "most us": round(max(us), 1),
                "over C": round(
                    statistics.median(
                        a / b for a, b in zip(us, times["C with OpenMP"], strict=True)
                    ), 3,
                ),
            }
            for name, us in times.items()
        }  # fmt: skip
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--others", type=int, default=6, help="processes that compute beside it")
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--json", type=Path, help="write the results there")
    args = parser.parse_args()
    result: dict[str, Any] = {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": describe("openmp", config.thread_count(), find_compiler()[0]),
        "priority": priority(),
        "others": args.others,
        "rounds": args.rounds,
    }
    with tempfile.TemporaryDirectory() as folder:
        source, library = Path(folder, "triad.c"), Path(folder, "triad.so")
        source.write_text(TRIAD)
        flags = ["-O3", "-march=native", "-fopenmp", "-fPIC", "-shared"]
        subprocess.run(["gcc", *flags, str(source), "-o", str(library)], check=True)
        worker = Path(folder, "worker.py")
        worker.write_text(WORKER)
        workers = {name: started(name, worker, library) for name in CONTESTANTS}
        others: list[subprocess.Popen[bytes]] = []
        try:
            for state, number in (("as it is", 0), ("busy", args.others)):
                others += [
                    subprocess.Popen([sys.executable, "-c", "while True: pass"])
                    for _ in range(number)
                ]
                result[f"load before, {state}"] = os.getloadavg()[0]
                result[state] = rounds(workers, args.rounds)
                for case, row in result[state].items():
                    print(f"{state}: {case}")
                    for name, r in row.items():
                        least = f"least {r['least us']:9.1f}"
                        print(f"  {name:34} {r['us']:9.1f} us, {least}, {r['over C']:7.3f} of C")
        finally:
            for process in (*others, *workers.values()):
                process.kill()
    if args.json:
        args.json.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
