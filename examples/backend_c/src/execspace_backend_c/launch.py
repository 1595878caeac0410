"""From a kernel to a plan: text, a library compiled from it, and the function that launches it."""

from __future__ import annotations

import ctypes
import re
import struct
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from threading import Lock
from typing import Any, NoReturn

import numpy as np
from execspace import (
    BackendCompileError,
    Kernel,
    KernelTypeError,
    LaunchSpec,
    profiling,
)
from execspace.launch.arguments import check_shape
from execspace.reducers.base import flattened
from execspace.views.deep_copy import may_overlap
from execspace_compiler import ir, lower_kernel
from execspace_compiler.analysis.overlap import pairs_to_check, written_pairs
from execspace_compiler.ir.diagnostics import Diagnostic
from execspace_compiler.ir.types import ViewTy
from execspace_compiler.launch.describe import tell_host_teams, tell_rows
from execspace_compiler.launch.device_text import DeviceText, device_text
from execspace_compiler.launch.failures import failure
from execspace_compiler.launch.plan import TellsOfKernel
from execspace_compiler.passes.pipeline import check_limits
from execspace_compiler.reductions.results import check_out, result_maker
from execspace_compiler.teams.host_teams import HostTeam, host_team
from execspace_compiler.teams.single_thread import POOL
from execspace_compiler.teams.sizes import HostTeamSizes
from execspace_compiler.typing.lowered import Lowered

from .caller import caller_text, result_format
from .dialect import C
from .launcher import FUNCTION, launcher_text, record_format
from .space import CExecutionSpace
from .toolchain import FAST, CompileError, Library

_Call = Callable[[tuple[int, ...], tuple[Any, ...]], Any]


@dataclass
class CPlan(HostTeamSizes, TellsOfKernel):
    """A compiled launch; see `execspace.Plan`."""

    space: CExecutionSpace
    kernel: Kernel
    spec: LaunchSpec
    lowered: Lowered
    launch: _Call
    text: str
    library: Library

    @property
    def source(self) -> str:
        """The generated text."""
        return self.text

    @property
    def cache(self) -> tuple[str, str]:
        """Key of the entry in the cache on disk, and whether it was found."""
        return self.library.told(self.kernel)

    def mapping(self, bounds: tuple[int, ...]) -> list[str]:
        """How it goes through a range."""
        if self.spec.policy.kind == "team":
            return tell_host_teams(self.lowered, self.team_sizes())
        return tell_rows(self.lowered)


def compile_plan(space: CExecutionSpace, kernel: Kernel, spec: LaunchSpec) -> CPlan:
    """Compile `kernel`; blocks.

    Raises
    ------
    KernelSyntaxError, KernelTypeError
        For faults in the kernel, and for types that the compiler does not have.
    BackendCompileError
        If the compiler refuses the generated text: a defect of execspace, or of the compiler.
    """
    started = time.perf_counter()
    lowered = lower_kernel(kernel, spec)
    _refuse(lowered, space)
    if lowered.reduction is not None:
        check_out(kernel.name, spec, lowered.reduction.result)
    launch = _Launch(space, lowered)
    if profiling.TOOLS:
        seconds = time.perf_counter() - started
        profiling.emit("on_compile", kernel.name, space.name, seconds, launch.library.from_disk)
    return CPlan(space, kernel, spec, lowered, launch.caller(), launch.source, launch.library)


def _refuse(lowered: Lowered, space: CExecutionSpace) -> None:
    """A KernelTypeError for what the compiler or the processor cannot do."""
    for function in lowered.functions:
        if not space.capabilities.float16:
            for e in (*function.parameters, *ir.walk_expressions(function.body)):
                element = e.type.element if isinstance(e.type, ViewTy) else e.type
                if "float16" in str(element):
                    loc = e.loc if e.loc.line else function.loc
                    message = f"{space.toolchain.name} has no type for float16"
                    _type_error(lowered, Diagnostic(loc, message, "use float32"))
        for s in ir.walk_statements(function.body):
            if isinstance(s, ir.Atomic) and s.whole and s.type.itemsize > 8:
                message = f"space '{space.name}' has no atomic step on a whole {s.type}"
                hint = "use complex64, or atomic_add and atomic_sub, which need no whole number"
                _type_error(lowered, Diagnostic(s.loc, message, hint))


def _type_error(lowered: Lowered, found: Diagnostic) -> NoReturn:
    raise KernelTypeError(f"in kernel '{lowered.kernel.name}'\n\n{found}")


class _Launch:
    """The libraries of a plan: the usual one, and one for Views that overlap."""

    def __init__(self, space: CExecutionSpace, lowered: Lowered) -> None:
        policy = lowered.spec.policy
        self.team: HostTeam | None = None
        self.pools: tuple[ir.Var, ...] = ()
        if policy.kind == "team":  # each thread does whole teams
            self.team = host_team(lowered, policy.team_size or 1, policy.vector_length or 1)
            lowered = self.team.lowered
            self.pools = (POOL,) if self.team.layout else ()
        self.space, self.lowered = space, lowered
        self.spec, self.name = lowered.spec, lowered.kernel.name
        self.lock = Lock()
        self.other: Any = None
        self.text, self.usual, self.library = self._library(bool(written_pairs(lowered)))

    def _library(self, disjoint: bool) -> tuple[DeviceText, Any, Library]:
        """Text, its function that runs the parts, and the library that it is in."""
        text = device_text(
            self.lowered, C, flat=False, group=1, disjoint=disjoint, pools=self.pools
        )
        stores_result = self.lowered.reduction is not None and not self.spec.out
        source = text.source + launcher_text(text.entry, stores_result, self.lowered.prints)
        options = _options(self.lowered)
        try:
            library = self.space.toolchain.library(source, options, self.lowered)
        except CompileError as error:
            raise BackendCompileError(_explained(text, self.space, str(error))) from error
        self.source = source
        function = getattr(library.loaded, FUNCTION)
        function.argtypes = (ctypes.c_char_p, ctypes.c_void_p)
        function.restype = ctypes.c_int
        return text, function, library

    def overlapping(self) -> Any:
        """The function for Views that overlap, compiled when it is first needed."""
        with self.lock:
            if self.other is None:
                _, self.other, _ = self._library(disjoint=False)
            return self.other

    def caller(self) -> _Call:
        """The hot path, with all that is known of the launch written out."""
        lowered, spec, entry = self.lowered, self.spec, self.text.entry
        arguments = lowered.body.parameters[lowered.leading :]
        pairs = [(arguments.index(a), arguments.index(b)) for a, b in pairs_to_check(lowered)]
        dtypes: list[str] = []
        if lowered.reduction is not None and not spec.out:
            dtypes = [np.dtype(name).name for name in flattened(lowered.reduction.result)]
        scope: dict[str, Any] = {
            "launch": self, "usual": self.usual, "space": self.space, "name": self.name,
            "threads": self.space.threads, "pack": struct.Struct(record_format(entry)).pack,
            "wrong": struct.error, "may_overlap": may_overlap, "limits": lowered.limits,
            "refuse": partial(check_limits, self.name), "refuse_shape": check_shape,
            "int64": ctypes.c_int64, "address": ctypes.addressof, "failed": self._failed,
            "flush": _flush, "no_memory": _no_memory, "empty": np.empty,
            "buffer": ctypes.create_string_buffer,
            "scratch": self.team and self.team.sizes(self.space.name),
        }  # fmt: skip
        if dtypes and spec.array_shape is None:
            scope["unpack"] = struct.Struct(result_format(dtypes)).unpack
            scope["make"] = self._maker(dtypes)
        exec(caller_text(lowered, entry, self.text.order, dtypes, pairs), scope)
        found: _Call = scope["call"]
        return found

    def _maker(self, dtypes: list[str]) -> Callable[[tuple[Any, ...]], Any]:
        """From the parts of a result's numbers to what the user gets."""
        assert self.lowered.reduction is not None
        make = result_maker(self.spec, self.lowered.reduction.result)
        single = len(dtypes) == 1
        complex_ones = [name.startswith("complex") for name in dtypes]

        def made(parts: tuple[Any, ...]) -> Any:
            numbers = parts
            if any(complex_ones):
                rest = iter(parts)
                numbers = tuple(
                    complex(next(rest), next(rest)) if c else next(rest) for c in complex_ones
                )
            number = numbers[0] if single else numbers
            return number if make is None else make(number)

        return made

    def _failed(self, status: Any) -> NoReturn:
        _, code, *indices = status
        raise failure(self.name, self.lowered.assertions, code, indices)


def _flush() -> None:
    """Text of Python comes before that of the kernel."""
    sys.stdout.flush()


def _no_memory(kernel: str, parts: int) -> NoReturn:
    raise MemoryError(
        f"Kernel '{kernel}': no memory for the partial results of {parts} threads. Drop Views that "
        f"are no longer needed, or set EXECSPACE_NUM_THREADS to less."
    )


def _options(lowered: Lowered) -> tuple[str, ...]:
    """What the kernel's own options ask of the compiler.

    They are for the whole text, so they must not undo what strict functions promise.
    """
    joins = () if lowered.reduction is None else lowered.reduction.functions
    strict = any(f.strict for f in (*lowered.functions, *joins))
    contract = "fast" if lowered.kernel.fma and not strict else "off"
    fast = FAST if lowered.kernel.fastmath and not strict else ()
    return (f"-ffp-contract={contract}", *fast)


_PLACE = re.compile(r"^<stdin>:(\d+):\d+: (?:fatal )?error: (.*)", re.MULTILINE)


def _explained(text: DeviceText, space: CExecutionSpace, log: str) -> str:
    """The compiler's complaints, each with the line of the user's source that it stems from."""
    out = [f"in kernel '{text.lowered.kernel.name}'"]
    for line, message in _PLACE.findall(log):
        number = int(line) - 1
        if number >= len(text.lines):
            continue
        out.append(f"{message}\n    {text.lines[number].strip()}")
        loc = text.locs[number]
        if loc is not None and loc.line:
            out.append(f"{loc}\n{loc.excerpt()}")
    if len(out) == 1:
        out.append(log.strip())
    out.append(
        f"{space.toolchain.name} refused generated code. Where the message is about a missing "
        f"library or option, set CC to another compiler; else it is a defect, please report it."
    )
    return "\n".join(out)
