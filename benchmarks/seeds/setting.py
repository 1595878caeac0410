"""What the benchmarks of this folder share: their options, Views, code by hand, and what is told.

Contestants of a case take turns in one process (`benchmarks.common.turns`); ratios are medians of
the turns' ratios. Results are checked before anything is timed.
"""

from __future__ import annotations

import argparse
import ctypes
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

import execspace as es
from benchmarks.common.optional import NotThere, cupy_on_device
from benchmarks.common.own_memory import own_memory
from benchmarks.common.report import Results, report
from benchmarks.common.turns import Contestant, Maker, over, take_turns
from benchmarks.cuda.run import commit, device_record, packages
from execspace.views.interop import view_over

HERE = Path(__file__).parent
OURS, CUDA, C, NUMPY, CUPY = "execspace", "CUDA C++", "C", "NumPy", "CuPy"
LIBRARIES = (NUMPY, CUPY)
# Sums, maxima and minima of C may be reordered, as those of execspace are.
C_FLAGS = (
    "-O3", "-march=native", "-fopenmp", "-fno-math-errno", "-ffinite-math-only",
    "-fno-signed-zeros", "-fPIC", "-shared",
)  # fmt: skip
TRIALS = 3
WARMUP = 10e-3  # seconds before each turn on hosts

Call = Callable[[], Any]


@dataclass(frozen=True)
class Setting:
    """A space, and how much of it is measured.

    Attributes
    ----------
    space : ExecutionSpace
    kind : str
        "cuda", "opencl" or "host"; what is written by hand depends on it.
    quick : bool
        Small arrays and two turns, which try the benchmark.
    rounds : int
        Turns of each contestant.
    only : tuple of str
        Words, one of which the names of cases must contain; all cases if there is none.
    """

    space: Any
    kind: str
    quick: bool
    rounds: int
    only: tuple[str, ...]

    def wants(self, case: str) -> bool:
        """Whether a case was asked for."""
        return not self.only or any(word in case for word in self.only)

    def view(self, shape: Any, dtype: Any = es.float64, label: str = "x") -> es.View:
        """A View of layout right in the space's own memory, whose elements are not set."""
        return es.View(
            shape, dtype, space=self.space, memory=own_memory(self.space), layout="right",
            initialize=False, label=label,
        )  # fmt: skip

    def copied(self, array: Any, label: str = "x") -> es.View:
        """A View with the elements of an array."""
        made = self.view(array.shape, array.dtype, label)
        es.deep_copy(made, np.ascontiguousarray(array))
        return made


def options_parser(description: str | None) -> argparse.ArgumentParser:
    """The options that all commands of this folder have."""
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--space", default="serial", help="execution space (serial)")
    parser.add_argument("--record", metavar="FILE", type=Path, help="write all results there, JSON")
    parser.add_argument("--quick", action="store_true", help="small arrays and two turns")
    parser.add_argument("--turns", type=int, default=7, help="turns of each contestant (7)")
    parser.add_argument(
        "--only", metavar="WORD", action="append", default=[], help="cases with this in their name"
    )
    return parser


def setting_of(parser: argparse.ArgumentParser, arguments: Sequence[str] | None) -> Any:
    """The setting and all options of a command line."""
    options = parser.parse_args(arguments)
    if options.turns < 1:
        parser.error(f"--turns: expected at least 1, got {options.turns}")
    if options.record is not None and not options.record.absolute().parent.is_dir():
        parser.error(f"--record: there is no folder {options.record.absolute().parent}")
    space = es.space(options.space)
    base = str(space.name).partition(":")[0]
    kind = base if base in ("cuda", "opencl") else "host"
    rounds = 2 if options.quick else options.turns
    return Setting(space, kind, options.quick, rounds, tuple(options.only)), options


def flat_of(view: es.View) -> es.View:
    """All elements of a contiguous View in the order of memory."""
    return over_memory(view, (view.size,), "right")


def over_memory(view: es.View, shape: tuple[int, ...], layout: str) -> es.View:
    """Another View over the memory of a contiguous one; it may be stored to as that may."""
    item = view.dtype.itemsize
    extents = shape if layout == "left" else shape[::-1]
    strides = [item * int(np.prod(extents[:d], dtype=np.int64)) for d in range(len(shape))]
    return view_over(
        view.label, view.data_ptr, view.dtype, shape,
        tuple(strides if layout == "left" else strides[::-1]), False, view.memory_space,
        view.allocation.owner, view.space,
    )  # fmt: skip


def on_host(view: es.View) -> np.ndarray[Any, Any]:
    """The elements, after all work on them."""
    return np.asarray(es.create_mirror_view_and_copy(es.HOST, view))


# -- code by hand ----------------------------------------------------------------------------------


@cache
def c_compiler() -> tuple[str, str]:
    """A C compiler, and the first line of its version; NotThere if there is none."""
    for command in filter(None, (os.environ.get("CC"), "cc", "gcc", "clang")):
        if shutil.which(command) is not None:
            done = subprocess.run(
                [command, "--version"], capture_output=True, text=True, check=True
            )
            return command, done.stdout.partition("\n")[0]
    raise NotThere("no C compiler (cc, gcc, clang) was found")


@cache
def c_library(name: str) -> ctypes.CDLL:
    """A C file of this folder, compiled with OpenMP; NotThere without a compiler."""
    command, _ = c_compiler()
    with tempfile.TemporaryDirectory(prefix="execspace-bench-") as folder:
        made = Path(folder) / f"{name}.so"
        files = [str(HERE / f"{name}.c"), "-o", str(made), "-lm"]
        done = subprocess.run([command, *C_FLAGS, *files], capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(f"{command} does not compile {name}.c:\n{done.stderr}")
        return ctypes.CDLL(str(made))


@cache
def cuda_module(name: str, *defines: str) -> Any:
    """A .cu file of this folder, compiled by NVRTC through CuPy."""
    cupy = cupy_on_device()
    code = (HERE / f"{name}.cu").read_text(encoding="utf-8")
    options = ("-std=c++17", *(f"-D{one}" for one in defines))
    return cupy.RawModule(code=code, options=options)


def address(array: np.ndarray[Any, Any] | es.View) -> ctypes.c_void_p:
    """The memory of an array, or of a View that C reaches."""
    pointer = array.data_ptr if isinstance(array, es.View) else array.ctypes.data
    return ctypes.c_void_p(pointer)


def device_array(view: es.View) -> Any:
    """The memory of a View of `cuda` as an array of CuPy."""
    array = cupy_on_device().asarray(view)
    assert array.data.ptr == view.data_ptr, "the array is a copy of the View"
    return array


def synchronize() -> None:
    """Wait for CuPy's stream."""
    cupy_on_device().cuda.get_current_stream().synchronize()


def fastest(calls: Mapping[str, Call], wait: Call) -> str:
    """The name of the fastest of several ways, each of which is tried a few times."""
    best: dict[str, float] = {}
    for name, call in calls.items():
        call(), wait()
        for _ in range(TRIALS):
            started = perf_counter()
            for _ in range(5):
                call()
            wait()
            taken = perf_counter() - started
            best[name] = min(taken, best.get(name, taken))
    return min(best, key=lambda name: best[name])


# -- measuring and telling -------------------------------------------------------------------------


def _warm(maker: Maker) -> Maker:
    """Each turn begins with work that does not count, while threads of others cease to spin."""

    def make() -> Contestant:
        made = maker()

        def before() -> None:
            end = perf_counter() + WARMUP
            made.call()
            while perf_counter() < end:
                made.call()

        return made._replace(before=before)

    return make


class Bench:
    """Results of all cases, by name; `own` is who is compared with all others."""

    def __init__(self, setting: Setting) -> None:
        self.setting, self.started, self.load = setting, perf_counter(), os.getloadavg()
        self.cases: dict[str, dict[str, dict[str, Any]]] = {}

    def measure(
        self,
        case: str,
        makers: Mapping[str, Maker],
        nbytes: float | None = None,
        own: str = OURS,
        rounds: int | None = None,
    ) -> None:
        """Check and time all contestants of a case; a line of progress goes to stderr.

        `nbytes` is what a call must move, for GB/s. Ratios are those of `own` over each other one.
        """
        setting = self.setting
        if not setting.wants(case):
            return
        if setting.kind != "cuda" and not setting.quick:
            makers = {name: _warm(maker) for name, maker in makers.items()}
        libraries = [name for name in makers if name in LIBRARIES]
        found = take_turns(
            makers, rounds or setting.rounds, 1 if setting.quick else None, libraries,
            apart=NUMPY in libraries,
        )  # fmt: skip
        for one in found.values():
            if nbytes is not None and "ms" in one:
                one["GB/s"] = round(nbytes / one["ms"] / 1e6, 2)
        ratios = {name: over(found, own, name) for name in found if name != own}
        found[own]["over"] = {name: round(r, 3) for name, r in ratios.items() if r is not None}
        own_least = found[own].get("least_ms")
        found[own]["over_least"] = {  # of the fastest turns: steadier on a busy machine
            name: round(own_least / one["least_ms"], 3)
            for name, one in found.items()
            if name != own and own_least is not None and "least_ms" in one
        }
        self.cases[case] = found
        told = ", ".join(f"{name} {_told(one)}" for name, one in found.items())
        print(
            f"[{perf_counter() - self.started:5.0f} s] {case}: {told}", file=sys.stderr, flush=True
        )

    def finish(self, record: Path | None, title: str, **about: Any) -> int:
        """Print tables, write the record; 1 if execspace or code by hand failed or was wrong."""
        for names, cases in _alike(self.cases).items():
            table = Table(
                title=f"{title}: ms, GB/s, and {names[0]} over others", title_justify="left"
            )
            for heading in ("", *names):
                table.add_column(heading, justify="right")
            for case in cases:
                table.add_row(case, *(_cell(self.cases[case], name) for name in names))
            Console(width=max(150, Console().width)).print(table)
        name, kind = str(self.setting.space.name), self.setting.kind
        if kind == "cuda":
            about |= {"device": device_record(cupy_on_device()), "packages": packages()}
        if kind == "host":
            with suppress(NotThere):
                about["c"] = {"compiler": c_compiler()[1], "flags": " ".join(C_FLAGS)}
        results: Results = {name: self.cases}
        return report(
            results, record, commit=commit(), threads=threads_of(self.setting),
            turns=self.setting.rounds, quick=self.setting.quick,
            seconds=round(perf_counter() - self.started, 1), load_before_and_after=(
                self.load, os.getloadavg()
            ), **about,
        )  # fmt: skip


def threads_of(setting: Setting) -> int:
    """Threads of a space of the host, as many as C gets."""
    return int(setting.space.concurrency) if setting.kind == "host" else 0


def _told(one: Mapping[str, Any]) -> str:
    if "ms" in one:
        return f"{one['ms']:.4g} ms"
    return f"FAILED ({one['error']})" if "error" in one else f"not there ({one['not_there']})"


def _alike(cases: Iterable[str] | Mapping[str, Any]) -> dict[tuple[str, ...], list[str]]:
    """Cases by their contestants."""
    found: dict[tuple[str, ...], list[str]] = {}
    for case in cases:
        found.setdefault(tuple(cases[case]), []).append(case)  # type: ignore[index]
    return found


def _cell(found: Mapping[str, Any], name: str) -> str:
    one = found[name]
    if "ms" not in one:
        return "failed" if "error" in one else "-"
    told = f"{one['ms']:.4g}" + (f", {one['GB/s']:.4g}" if "GB/s" in one else "")
    ratios: Collection[str] = ()
    for other in found.values():
        if name in other.get("over", ()):
            ratios = [f" ({other['over'][name]:.2f})"]
    return told + "".join(ratios)
