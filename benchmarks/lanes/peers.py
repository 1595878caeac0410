"""The same loops in C and in ISPC's language, compiled when they are first asked for.

Compilers of C are gcc and clang, where they are there; ISPC is the command that the variable ISPC
names, or `ispc` on the PATH. On several threads C has OpenMP's static schedule, and ISPC's loops
are called for a part of the range in each of as many threads.
"""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import execspace as es
from benchmarks.common.optional import NotThere
from benchmarks.lanes.cases import Case

C_FLAGS = ("-O3", "-march=native", "-fno-math-errno")
ISPC_FLAGS = ("-O3", "--arch=x86-64", "--pic")
ISPC_TARGETS = {
    "avx2": ("avx2-i64x4", "avx2-i32x8", "avx2-i32x16"),
    "avx512f": ("avx512skx-x8", "avx512skx-x16"),
}
HERE = Path(__file__).parent
_FOLDER = tempfile.TemporaryDirectory(prefix="execspace-bench-")
_TYPES = {
    "float64": ("-DREAL=double", "-DBITS=64"),
    "float32": ("-DREAL=float", "-DBITS=32"),
}

Call = Callable[[], Any]


@cache
def compilers() -> dict[str, str]:
    """Commands of C compilers, by gcc and clang."""
    found = {}
    numbered = [f"clang-{n}" for n in range(40, 13, -1)]
    for name, commands in {"gcc": ["gcc"], "clang": ["clang", *numbered]}.items():
        command = next(filter(shutil.which, commands), None)
        if command is not None:
            found[name] = command
    return found


@cache
def ispc() -> str | None:
    """The command of ISPC, if there is one."""
    return shutil.which(os.environ.get("ISPC") or "ispc")


@cache
def ispc_targets() -> tuple[str, ...]:
    """Targets of ISPC that this processor can run: those of its widest vectors first."""
    info = Path("/proc/cpuinfo")
    flags = set(info.read_text().split()) if info.exists() else set()
    return tuple(t for kind, some in ISPC_TARGETS.items() if kind in flags for t in some)


def versions() -> dict[str, str]:
    """What each compiler says of itself, and how it is called."""
    commands = {name: (command, C_FLAGS) for name, command in compilers().items()}
    if (command := ispc()) is not None:
        commands["ispc"] = (command, ISPC_FLAGS)
    return {
        name: f"{_run([command, '--version']).partition(chr(10))[0]}, {' '.join(flags)}"
        for name, (command, flags) in commands.items()
    }


def by_c(case: Case, real: str, name: str, threads: int) -> Call:
    """A call of a loop that gcc or clang has compiled; NotThere without it."""
    if name not in compilers():
        raise NotThere(f"{name} is not on the PATH")
    return _call(case, real, _c_library(compilers()[name], real, threads > 1))


def by_ispc(case: Case, real: str, target: str, threads: int) -> Call:
    """A call of a loop that ISPC has compiled; NotThere without it."""
    if ispc() is None:
        raise NotThere("ispc is not on the PATH, and the variable ISPC is not set")
    library = _ispc_library(target, real)
    if threads == 1:
        return _call(case, real, library)
    begin, end = case.lower[0], case.upper[0]
    bounds = np.linspace(begin, end, threads + 1).astype(int)
    parts = [_call(case, real, library, *map(int, bounds[n : n + 2])) for n in range(threads)]
    pool = _pool(threads - 1)

    def call() -> None:
        others = [pool.submit(part) for part in parts[1:]]
        parts[0]()
        for other in others:
            other.result()

    return call


def _call(
    case: Case, real: str, library: ctypes.CDLL, begin: int | None = None, end: int | None = None
) -> Call:
    function = library[f"{case.name}_loop"]
    function.restype = None
    number = ctypes.c_double if real == "float64" else ctypes.c_float
    begin = case.lower[0] if begin is None else begin
    end = case.upper[0] if end is None else end
    given: list[Any] = [ctypes.c_int(n) for n in (begin, end, *case.extents)]
    for argument in case.arguments:
        if isinstance(argument, es.View):
            given.append(ctypes.c_void_p(np.asarray(argument).ctypes.data))
        elif isinstance(argument, float):
            given.append(number(argument))
        else:
            given.append(ctypes.c_int(argument))

    def call() -> None:
        function(*given)

    return call


@cache
def _c_library(command: str, real: str, threads: bool) -> ctypes.CDLL:
    target = Path(_FOLDER.name) / f"{Path(command).name}-{real}-{threads}.so"
    openmp = ["-fopenmp"] if threads else ["-Wno-unknown-pragmas"]
    flags = [*C_FLAGS, *openmp, *_TYPES[real], f"-DUINT=uint{real[-2:]}_t", "-fPIC", "-shared"]
    _run([command, *flags, str(HERE / "kernels.c"), "-o", str(target), "-lm"])
    return ctypes.CDLL(str(target))


@cache
def _ispc_library(target: str, real: str) -> ctypes.CDLL:
    linker = next(iter(compilers().values()), None)
    if linker is None:
        raise NotThere("there is no compiler of C to link what ISPC makes")
    built = Path(_FOLDER.name) / f"{target}-{real}.o"
    flags = [*ISPC_FLAGS, "--woff", f"--target={target}", *_TYPES[real], f"-DUINT=uint{real[-2:]}"]
    _run([str(ispc()), *flags, str(HERE / "kernels.ispc"), "-o", str(built)])
    library = built.with_suffix(".so")
    _run([linker, "-shared", str(built), "-o", str(library), "-lm"])
    return ctypes.CDLL(str(library))


@cache
def _pool(threads: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(threads)


def _run(command: Sequence[str]) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise NotThere(f"{command[0]} failed: {done.stderr.strip()[:500]}")
    return done.stdout
