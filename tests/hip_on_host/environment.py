"""The environment of a process in which HIP kernels run on the host, and the reports of it."""

from __future__ import annotations

import os
import shutil
import subprocess
from functools import cache
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
REPORTED = 66  # exit status of a process in which ThreadSanitizer reported anything
_LIBRARIES = {"": (), "thread": ("libtsan.so",), "address": ("libasan.so", "libubsan.so")}


@cache
def _library(name: str) -> str:
    """Where the compiler has a library."""
    command = [os.environ.get("CXX") or "g++", f"-print-file-name={name}"]
    told = subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    if not Path(told).is_absolute():
        raise RuntimeError(
            f"{command[0]} has no {name}; install the sanitizers of GCC, such as Debian's "
            f"package libgcc-12-dev."
        )
    return str(Path(told).resolve())


def environment(folder: Path, arch: str, sanitizer: str, mutation: str = "") -> dict[str, str]:
    """Variables of a process; what it writes, reports among them, goes into `folder`."""
    log = str(folder / "report")
    both = f"log_path={log}:exitcode={REPORTED}"
    search = [str(FOLDER), *filter(None, [os.environ.get("PYTHONPATH")])]
    found = {
        "PYTHONPATH": os.pathsep.join(search),
        "ROCM_HOME": str(FOLDER),
        "EXECSPACE_CACHE_DIR": str(folder / "cache"),
        "HIP_ON_HOST_ARCH": arch,
        "HIP_ON_HOST_SANITIZER": sanitizer,
        "HIP_ON_HOST_LOG": log,
        "HIP_ON_HOST_MUTATION": mutation,
        # Interpreter and libraries are not instrumented: what they do is no race and no fault
        # here.
        "TSAN_OPTIONS": f"{both}:ignore_noninstrumented_modules=1:atexit_sleep_ms=0:"
        "suppress_equal_addresses=0",
        "ASAN_OPTIONS": f"{both}:halt_on_error=0:detect_leaks=0:allocator_may_return_null=1:"
        "use_sigaltstack=0",
        # UBSan's library sets the path of AddressSanitizer's when it first reports anything.
        "UBSAN_OPTIONS": f"log_path={log}-late:print_stacktrace=1:halt_on_error=0",
    }
    if sanitizer:
        # The library of C++ must be there when a sanitizer looks for its functions.
        names = [*_LIBRARIES[sanitizer], "libstdc++.so.6"]
        found["LD_PRELOAD"] = " ".join(map(_library, names))
    if sanitizer == "address":
        found["PYTHONMALLOC"] = "malloc"  # so that bounds of Python's memory are known
        found["EXECSPACE_POOLS"] = "0"  # and those of Views
    for name in ("TSAN_OPTIONS", "ASAN_OPTIONS", "UBSAN_OPTIONS"):  # such as suppressions
        found[name] = ":".join(filter(None, [found[name], os.environ.get(name)]))
    return {**os.environ, **found}


@cache
def _fixed_addresses() -> tuple[str, ...]:
    """What starts a process whose addresses are not random; nothing where that is forbidden."""
    start = ("setarch", "-R")
    if shutil.which(start[0]) is None:
        return ()
    done = subprocess.run([*start, "true"], capture_output=True, check=False)
    return () if done.returncode else start


def command(arguments: list[str], sanitizer: str) -> list[str]:
    """A command line; ThreadSanitizer fails on some kernels where addresses are random."""
    return [*_fixed_addresses(), *arguments] if sanitizer == "thread" else arguments


def reports(folder: Path) -> list[str]:
    """What sanitizers wrote, of all processes."""
    return [p.read_text(errors="replace") for p in sorted(folder.glob("report*"))]
