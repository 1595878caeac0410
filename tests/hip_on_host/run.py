"""Runs pytest with HIP kernels on the host: on a pretended CuPy for ROCm, under a sanitizer or not.

    python tests/hip_on_host/run.py --sanitizer thread -- plugins/hip/tests -q

The exit status is that of pytest where tests failed, 66 where they passed and a sanitizer reported
something all the same, and 3 where a mutation found nothing to change in any text.
"""

from __future__ import annotations

import argparse
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter

from environment import REPORTED, command, environment, reports

NOTHING_MUTATED = 3
_SHOWN = 10  # reports


def main() -> int:
    """Start pytest, and sum up."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--arch", default="gfx942", help="such as gfx90a, or gfx1100 (waves of 32)")
    parser.add_argument("--sanitizer", default="", choices=("", "thread", "address"))
    parser.add_argument("--mutation", default="", help="barrier, atomic, wave32 or bounds")
    parser.add_argument("--mutation-at", type=int, default=0, help="which barrier or bound")
    parser.add_argument("--order", default="forward", help="forward, reverse or shuffle:SEED")
    parser.add_argument("--resident", type=int, default=1, help="groups that run at a time")
    parser.add_argument("--texts", type=Path, help="folder for the texts of kernels")
    parser.add_argument("--log", type=Path, help="folder for reports; default: one that is removed")
    parser.add_argument("rest", nargs="*", metavar="-- ARGUMENT", help="arguments of pytest")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="hip-on-host-run-") as name:
        folder = (options.log or Path(name)).resolve()
        folder.mkdir(parents=True, exist_ok=True)
        for old in folder.glob("report*"):
            old.unlink()
        mutated = Path(name, "mutated")
        mutated.mkdir()
        own = environment(folder, options.arch, options.sanitizer, options.mutation) | {
            "HIP_ON_HOST_MUTATION_AT": str(options.mutation_at),
            "HIP_ON_HOST_MUTATION_LENIENT": "1",  # texts without such a place stay as they are
            "HIP_ON_HOST_MUTATED": str(mutated),
            "HIP_ON_HOST_ORDER": options.order,
            "HIP_ON_HOST_RESIDENT": str(options.resident),
            "EXECSPACE_CACHE_DIR": str(Path(name, "cache")),
        }
        if options.texts:
            own["HIP_ON_HOST_TEXTS"] = str(options.texts.resolve())
        started = perf_counter()
        line = command([sys.executable, "-m", "pytest", *options.rest], options.sanitizer)
        with subprocess.Popen(line, env=own) as process:
            signal.signal(signal.SIGTERM, lambda *_: process.terminate())
            status = process.wait()
        found, changed = reports(folder), len(list(mutated.iterdir()))
    print(
        f"hip on the host: {options.arch}, sanitizer {options.sanitizer or 'none'}, order "
        f"{options.order}: pytest's exit status {status}, {len(found)} files of reports, "
        f"{perf_counter() - started:.1f} s"
    )
    for text in found[:_SHOWN]:
        print(text[:4000])
    if options.mutation:
        print(f"mutation '{options.mutation}' changed {changed} texts")
        if not changed:
            return NOTHING_MUTATED
    return status or (REPORTED if found else 0)


if __name__ == "__main__":
    sys.exit(main())
