"""The space cuda on an NVIDIA GPU against what a user would pick instead, in one process.

Everybody works on the same arrays and takes turns; results are checked first. Needs CuPy; PyTorch
and Triton compete where they are installed. The file is not called cuda.py, because a module of
that name hides the package `cuda`, which CuPy imports.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import traceback
from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from time import perf_counter
from typing import Any

import execspace as es
from benchmarks.common.machine import describe
from benchmarks.cuda.arrays import Arrays
from benchmarks.cuda.sections import SECTIONS
from benchmarks.cuda.timing import Bench

PACKAGES = (
    "execspace", "execspace-compiler", "execspace-gpu", "execspace-cuda", "cupy-cuda12x",
    "cupy-cuda13x", "torch", "triton", "cuda-bindings", "nvidia-cuda-nvrtc",
)  # fmt: skip


def device_record(cupy: Any) -> dict[str, Any]:
    """Name, memory and multiprocessors of the device, versions of driver and CUDA."""
    runtime = cupy.cuda.runtime
    properties = runtime.getDeviceProperties(cupy.cuda.Device().id)
    text = ""
    with suppress(OSError):
        text = Path("/proc/driver/nvidia/version").read_text()
    driver = re.search(r"\d+\.\d+(\.\d+)?", text)
    return {
        "name": properties["name"].decode(),
        "compute_capability": f"{properties['major']}.{properties['minor']}",
        "multiprocessors": properties["multiProcessorCount"],
        "memory": properties["totalGlobalMem"],
        "driver": None if driver is None else driver[0],
        "cuda_of_driver": runtime.driverGetVersion(),
        "cuda_runtime": runtime.runtimeGetVersion(),
        "nvrtc": ".".join(map(str, cupy.cuda.nvrtc.getVersion())),
        "cupy": cupy.__version__,
    }


def packages() -> dict[str, str | None]:
    """Versions of what takes part; None is not installed."""
    found: dict[str, str | None] = {}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = None
    return found


def commit() -> str | None:
    """Commit of the source, with "-dirty" if files differ from it; None without git."""
    command = ["git", "describe", "--always", "--dirty", "--abbrev=40", "--exclude=*"]
    try:
        done = subprocess.run(
            command, cwd=Path(__file__).parent, capture_output=True, text=True, timeout=10
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() or None


def options_of(arguments: Sequence[str] | None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--space", default="cuda", help="name of the execution space (cuda)")
    parser.add_argument(
        "--size", type=int, default=22**6,
        help="float64 in an array (22^6); MDRange takes the largest sixth power in it",
    )  # fmt: skip
    parser.add_argument("--rounds", type=int, default=15, help="turns of each (15)")
    parser.add_argument(
        "--only", action="append", choices=SECTIONS, metavar="NAME",
        help=f"a section, may be repeated: {', '.join(SECTIONS)} (all)",
    )  # fmt: skip
    parser.add_argument("--json", metavar="FILE", type=Path, help="write all results to a file")
    options = parser.parse_args(arguments)
    if not 4096 <= options.size < 2**31:
        parser.error(f"--size: expected 4096 to 2^31 - 1, got {options.size}")
    if options.rounds < 1:
        parser.error(f"--rounds: expected at least 1, got {options.rounds}")
    try:
        import cupy
    except ImportError as error:
        parser.error(f"CuPy cannot be imported: {error}. Install cupy-cuda13x or cupy-cuda12x.")
    try:
        cupy.cuda.runtime.getDevice()
    except cupy.cuda.runtime.CUDARuntimeError as error:
        parser.error(f"no CUDA device: {error}")
    return options


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print, and write a file if asked to; 1 if execspace failed anywhere."""
    options = options_of(arguments)
    import cupy

    try:
        fence = es.space(options.space).fence
    except es.SpaceError as error:
        print(f"Only the others are measured: {error}\n")
        fence = cupy.cuda.runtime.deviceSynchronize
    device = device_record(cupy)
    print(f"{device['name']}, driver {device['driver']}, CuPy {device['cupy']}\n")
    of_cuda = options.space.partition(":")[0] == "cuda"
    bench, arrays = Bench(options.rounds, fence, of_cuda), Arrays(options.size, options.space)
    record: dict[str, Any] = {
        "format": 1,
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "commit": commit(),
        "machine": describe(options.space, 1, None),
        "device": device,
        "packages": packages(),
        "options": {"size": options.size, "rounds": options.rounds},
        "seconds": {},
        "failures": {},
        "results": bench.results,
    }
    for name in dict.fromkeys(options.only or SECTIONS):
        bench.section, started = name, perf_counter()
        print(f"-- {name}: {SECTIONS[name].__doc__}")
        try:
            SECTIONS[name](bench, arrays)
        except Exception as error:  # the sections to come are still worth measuring
            record["failures"][name] = traceback.format_exc()
            print(f"section {name} FAILED: {type(error).__name__}: {error}\n", flush=True)
        record["seconds"][name] = round(perf_counter() - started, 1)
        if options.json is not None:
            options.json.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
        with suppress(cupy.cuda.runtime.CUDARuntimeError):
            cupy.get_default_memory_pool().free_all_blocks()
    failed = [*record["failures"], *bench.faults]
    if failed:
        print(f"execspace or a section failed: {', '.join(failed)}")
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
