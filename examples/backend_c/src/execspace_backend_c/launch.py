"""Launches: generated C in a shared library, whose functions run the parts of a range.

All that a kernel needs comes in one record: the struct of numbers that the printer made, then
pointers to the Views and to the memory that a launch has beside them.
"""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from execspace import HostExecutionSpace, Kernel, LaunchSpec
from execspace_compiler.backend import (
    CallBuilder,
    DeviceCode,
    DeviceLaunch,
    DevicePlan,
    Frame,
    Grid,
    Traits,
    cache,
)

from .build import Toolchain

# Below this much work, in additions, the calling thread does it: waking a team takes longer.
SERIAL_WORK = 16_000


class Launching(HostExecutionSpace):
    """What launches need of the space.

    Attributes
    ----------
    toolchain : Toolchain
    threads : int
    has_team : bool
        Whether this process may start a team of threads.
    traits : Traits
    """

    toolchain: Toolchain
    threads: int
    has_team = True
    traits: Traits


@dataclass
class CPlan(DevicePlan):
    """A compiled launch; see `execspace.Plan`."""

    device_launch: CLaunch

    @property
    def cache(self) -> tuple[str, str]:
        """Key of the entry in the cache on disk, and whether it was found."""
        return self.device_launch.usual.library.describe(self.kernel)


def compile_plan(space: Launching, kernel: Kernel, spec: LaunchSpec) -> CPlan:
    """Compile `kernel`; see `DeviceLaunch.compile`."""
    compiler = space.toolchain.name
    return CPlan.of(kernel, CLaunch.compile(space, space.traits, kernel, spec, compiler))


@dataclass
class Program:
    """The functions of a library that run kernels."""

    library: cache.Compiled[ctypes.CDLL]
    functions: list[Any]
    most_threads: int = 1

    @property
    def from_disk(self) -> bool:
        """It was compiled before."""
        return self.library.from_disk


class CCallBuilder(CallBuilder):
    """Pointers to Views lie behind the numbers in one record."""

    keeps_views = False

    def __init__(self, launch: CLaunch) -> None:
        super().__init__(launch.sources, launch.code, launch.watched)
        self.extra = launch.extra

    def pack(self, values: Sequence[str], pointers: Sequence[str]) -> list[str]:
        extra = [f"frame.extra[{name!r}].ctypes.data" for name in self.extra]
        return [f"frame.record = pack({', '.join([*values, *pointers, *extra])})"]

    def before(self) -> list[str]:
        """Whether a team of threads runs the parts."""
        work = self.cost
        if work is None:
            return ["frame.shared = space.has_team"]
        rank = self.spec.policy.rank
        items = " * ".join(f"(b{rank + d} - b{d})" for d in range(rank))
        return [f"frame.shared = space.has_team and {items} >= {SERIAL_WORK // max(work, 1)}"]

    def scope(self) -> dict[str, Any]:
        packed = struct.Struct(record_format(self.code, self.extra))
        return {**super().scope(), "pack": packed.pack, "space": self.sources.space}


class CLaunch(DeviceLaunch[Program]):
    """Libraries of a plan, and frames with memory of the host."""

    space: Launching

    @property
    def units(self) -> int:
        return self.space.threads

    def load(self, code: DeviceCode) -> Program:
        source = code.source + launcher_source(code, self.extra_of(code))
        library = self.space.toolchain.library(source, code)
        return Program(library, [_function(library.loaded, n) for n in code.entry.kernels])

    def enqueue(self, program: Program, number: int, grid: Grid, frame: Frame) -> None:
        parts = grid[0]
        program.functions[number](frame.record, parts, parts > 1 and frame.shared)

    def allocate(self, nbytes: int, zeros: int) -> Any:
        try:
            return np.zeros(nbytes, np.uint8)
        except MemoryError:
            raise MemoryError(
                f"Kernel '{self.name}': no memory for {nbytes} bytes of partial results or scratch "
                f"memory of {self.units} threads. Drop Views that are no longer needed, or set "
                f"EXECSPACE_NUM_THREADS to less."
            ) from None

    def read(self, memory: Any, nbytes: int) -> Any:
        return memory

    def wait(self) -> None:
        """Nothing to wait for: a launch returns when all threads are done."""

    def call_builder(self) -> CallBuilder:
        return CCallBuilder(self)


def _function(library: ctypes.CDLL, kernel: str) -> Any:
    """What runs a kernel: a function of a record, a number and a flag."""
    found = getattr(library, f"run_{kernel}")
    found.argtypes = (ctypes.c_char_p, ctypes.c_long, ctypes.c_int)
    found.restype = None
    return found


def record_format(code: DeviceCode, extra: Sequence[str]) -> str:
    """Of Python's `struct`: numbers, then pointers."""
    return f"{code.entry.format}{len(code.entry.buffers) + len(extra)}Q"


def launcher_source(code: DeviceCode, extra: Sequence[str]) -> str:
    """`run_` and the name of each kernel: a function of the record, the number of parts, and
    whether a team of threads runs them.

    `extra` are names of the memory beside Views; only the last kernel takes the result.
    """
    entry = code.entry
    pointers = [*(f"b{n}" for n in entry.buffers), *extra]
    members = " ".join(["_args a;", *(f"void *{p};" for p in pointers)])
    lines = [f"typedef struct {{ {members} }} _record;", ""]
    for name in entry.kernels:
        taken = [p for p in pointers if p != "result" or name == entry.kernels[-1]]
        passed = ", ".join(["r->a", *(f"r->{p}" for p in taken)])
        call = (
            f"for (long n = 0; n < parts; ++n) "
            f"{{ _part_number = n; _number_of_parts = parts; {name}({passed}); }}"
        )
        lines += [
            f"void run_{name}(const _record *r, long parts, int team) {{",
            "    if (team) {",
            "#pragma omp parallel for num_threads((int)parts) schedule(static, 1)",
            f"        {call}",
            "    } else {",
            f"        {call}",
            "    }",
            "}",
            "",
        ]
    return "\n".join(lines)
