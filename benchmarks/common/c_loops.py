"""C with OpenMP: text of the loops that a C programmer would write, and their compilation."""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.common.paired import C, Contestant

FLAGS = ("-O3", "-march=native", "-fopenmp", "-fPIC", "-shared")
FAST_MATH = ("-ffast-math",)
HEAD = """\
#include <limits.h>
#include <math.h>
#include <omp.h>
#include <time.h>
static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec + 1e-9 * t.tv_nsec;
}
"""


@dataclass(frozen=True)
class Function:
    """A C function ``double name(arrays, scalar, integers)``.

    `body` may use `result`, which is returned; `arrays` are named, the first `written` of them
    are written; `integers` are the names of the long arguments that come as one table; `real` is
    the type of elements.
    """

    name: str
    arrays: tuple[str, ...]
    integers: tuple[str, ...]
    body: str
    real: str = "double"
    written: int = 1

    def text(self) -> str:
        """The function, and one that times repeated calls of it."""
        written, read = self.arrays[: self.written], self.arrays[self.written :]
        parameters = ", ".join(
            [
                *(f"{self.real} *restrict {a}" for a in written),
                *(f"const {self.real} *restrict {a}" for a in read),
            ]
        )
        names = ", ".join([*self.arrays, "s", "table"])
        unpack = "".join(
            f"    const long {name} = table[{n}];\n" for n, name in enumerate(self.integers)
        )
        head = f"({parameters}, double s, const long *table)"
        timed = f"(long repetitions, double *value, {head[1:]}"
        return (
            f"__attribute__((noinline)) static double {self.name}{head} {{\n{unpack}"
            f"    double result = 0.0;\n{self.body}    return result;\n}}\n"
            f"double time_{self.name}{timed} {{\n"
            f"    const double started = now();\n"
            f"    for (long r = 0; r < repetitions; ++r) *value = {self.name}({names});\n"
            f"    return (now() - started) / repetitions;\n}}\n"
        )


def loop_order(rank: int, layout: str) -> tuple[int, ...]:
    """Dimensions from the outermost loop to the innermost, which is contiguous."""
    forward = tuple(range(rank))
    return forward if layout == "right" else forward[::-1]


def nest(order: Sequence[int], statement: str, pragma: str, border: int = 0) -> str:
    """Loops over all points but those of the border, around a statement."""
    lines = [f"#pragma omp parallel for {pragma}"]
    for depth, d in enumerate(order):
        upper = f"n{d} - {border}" if border else f"n{d}"
        loop = f"for (long i{d} = {border}; i{d} < {upper}; ++i{d})"
        lines.append("    " * (depth + 1) + loop)
    lines.append("    " * (len(order) + 1) + statement)
    return "\n".join(lines) + "\n"


def contiguous_index(rank: int, layout: str, shift: dict[int, int] | None = None) -> str:
    """Linear index of a point (shifted in some dimensions) of a contiguous array."""
    shift = shift or {}
    order = loop_order(rank, layout)
    text = ""
    for d in order:
        at = f"(i{d} {shift[d]:+d})" if d in shift else f"i{d}"
        text = f"({text}) * n{d} + {at}" if text else at
    return text


def strided_index(array: str, rank: int, layout: str) -> str:
    """Linear index of a point of an array with strides, of which the fastest is one."""
    fast = loop_order(rank, layout)[-1]
    return " + ".join(f"i{d}" if d == fast else f"i{d} * {array}_s{d}" for d in range(rank))


def collapses(rank: int) -> list[str]:
    """Pragmas worth trying: the caller keeps the faster one."""
    return [f"collapse({n})" for n in range(1, min(rank - 1, 2) + 1)] or [""]


class Compiler:
    """The system's C compiler, and a folder for what it makes."""

    def __init__(self, command: str) -> None:
        self.command = command
        self._folder = tempfile.TemporaryDirectory(prefix="execspace-bench-")
        self._made = 0

    @property
    def version(self) -> str:
        """First line of ``--version``."""
        text = subprocess.run(
            [self.command, "--version"], capture_output=True, text=True, check=False
        ).stdout
        return text.partition("\n")[0]

    def build(self, functions: Sequence[Function], flags: Sequence[str] = ()) -> ctypes.CDLL:
        """Compile and load some functions; CalledProcessError if it cannot be done.

        `flags` are further ones for the compiler. The linker does not see them: with -ffast-math
        some versions of GCC link code that makes every thread of the process flush subnormals.
        """
        self._made += 1
        source = Path(self._folder.name) / f"loops{self._made}.c"
        library = source.with_suffix(".so")
        source.write_text(HEAD + "\n".join(f.text() for f in functions))
        built = source.with_suffix(".o")
        for command in (
            [*FLAGS[:-1], *flags, "-c", str(source), "-o", str(built)],
            [*FLAGS, str(built), "-o", str(library), "-lm"],
        ):
            subprocess.run([self.command, *command], check=True, capture_output=True)
        return ctypes.CDLL(str(library))

    def contestant(
        self,
        library: ctypes.CDLL,
        function: Function,
        arrays: Sequence[np.ndarray[Any, Any]],
        scalar: float,
        integers: Sequence[int],
        detail: str = "",
        name: str = C,
    ) -> Contestant:
        """A contestant that repeats a function in C, so Python's call costs it nothing."""
        timed = library[f"time_{function.name}"]
        timed.restype = ctypes.c_double
        value = ctypes.c_double()
        table = (ctypes.c_long * len(integers))(*integers)
        fixed = (
            ctypes.byref(value),
            *(ctypes.c_void_p(a.ctypes.data) for a in arrays),
            ctypes.c_double(scalar),
            table,
        )

        def measure(repetitions: int) -> float:
            return float(timed(ctypes.c_long(repetitions), *fixed))

        def run() -> float:
            measure(1)
            return value.value

        run.keep = arrays  # type: ignore[attr-defined]
        return Contestant(name, run, measure, detail)


def find_compiler() -> tuple[Compiler | None, str]:
    """A C compiler that can build OpenMP code, or None and the reason."""
    tried = []
    for command in dict.fromkeys(filter(None, (os.environ.get("CC"), "cc", "gcc", "clang"))):
        if shutil.which(command) is None:
            continue
        compiler = Compiler(command)
        probe = Function("probe", ("a",), ("n0",), nest((0,), "a[i0] = s;", ""))
        try:
            compiler.build([probe])
        except (subprocess.CalledProcessError, OSError) as error:
            tried.append(f"'{command}' cannot build OpenMP code ({error})")
            continue
        return compiler, ""
    return None, "; ".join(tried) or "no C compiler (cc, gcc, clang) was found"
