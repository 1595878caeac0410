"""What the numbers were measured on: processor, threads, versions, compiler."""

from __future__ import annotations

import os
import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from benchmarks.common.c_loops import FLAGS, Compiler

PACKAGES = (
    "execspace", "execspace-compiler", "execspace-serial", "execspace-openmp",
    "numpy", "numba", "llvmlite",
)  # fmt: skip


def usable_cores() -> int:
    """Cores that this process may run on."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def priority() -> str:
    """How this process competes with others for the cores."""
    names = {getattr(os, name, None): name for name in ("SCHED_FIFO", "SCHED_RR")}
    name = names.get(os.sched_getscheduler(0)) if hasattr(os, "sched_getscheduler") else None
    return name or f"nice {os.nice(0)}"


def describe(space: str, threads: int, compiler: Compiler | None) -> dict[str, Any]:
    """Facts that a reader needs to judge the numbers."""
    return {
        "cpu": _cpu(),
        "usable_cores": usable_cores(),
        "caches": _caches(),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "packages": {name: _version(name) for name in PACKAGES},
        "c_compiler": None if compiler is None else compiler.version,
        "c_flags": None if compiler is None else " ".join(FLAGS[:3]),
        "space": space,
        "threads": threads,
    }


def _cpu() -> str:
    info = Path("/proc/cpuinfo")
    if info.exists():
        for line in info.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def _caches() -> dict[str, str]:
    found = {}
    for index in sorted(Path("/sys/devices/system/cpu/cpu0/cache").glob("index*")):
        try:
            level, kind, size = (
                (index / name).read_text().strip() for name in ("level", "type", "size")
            )
        except OSError:
            continue
        found[f"L{level} {kind.lower()}"] = size
    return found


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def device_of(space: Any) -> str:
    """The name of what a space runs on."""
    kind = space.name.partition(":")[0]
    if kind == "opencl":
        return str(space.device.handle.name).strip()
    if kind in ("cuda", "hip"):
        import cupy

        found = cupy.cuda.runtime.getDeviceProperties(space.number)
        return str(found["name"].decode())
    return _cpu()
