"""Plans of host spaces, from the cache or compiled.

A launch is one module: the kernel, helpers, loops, and an entry that Python calls as a built-in
function. Its machine code is in the cache with the facts that launches need, so a later process
loads both, and little of the compiler.
"""

from __future__ import annotations

import platform
import re
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import execspace
from execspace import ExecutionSpace, Kernel, LaunchSpec, SpaceError, profiling
from execspace.base import config
from execspace.base.dataclass import dataclass
from execspace.base.interrupts import held
from execspace.base.locks import new_lock

from ..cache import disk
from ..cache.fingerprint import fingerprint
from ..teams.host_limits import team_limits
from ..teams.scratch_sizes import Sizes
from . import machine
from .beside import beside
from .calls import aligned_call, entry_of, on_numba, reporting, with_scratch
from .facts import Facts, decoded
from .fork import checked_call
from .launcher import Launcher
from .plan import HostPlan
from .pool import ENTRY

if TYPE_CHECKING:
    from .building import Outside
    from .launch_source import Source

_lock = new_lock()
_front_end = new_lock()  # apart, so that threads with work for LLVM do not wait for it
_compiling: dict[str, threading.Lock] = {}  # by name of an entry
_loaded: set[str] = set()  # names of entries that this process has loaded


@dataclass
class _Overlapping:
    """The plan for Views that overlap, compiled at the first such launch."""

    space: ExecutionSpace
    kernel: Kernel
    spec: LaunchSpec
    launcher: Launcher
    plan: HostPlan | None = None

    def __call__(self, bounds: tuple[int, ...], args: tuple[Any, ...]) -> Any:
        if self.plan is None:
            self.plan = compile_plan(
                self.space, self.kernel, self.spec, self.launcher, may_overlap=True
            )
        return self.plan.launch(bounds, args[: len(self.spec.arguments) + len(self.spec.out)])


@dataclass(frozen=True)
class _Entry:
    """An entry of the cache."""

    path: Path
    facts: Facts
    code: bytes
    from_disk: bool = True


def compile_plan(
    space: ExecutionSpace,
    kernel: Kernel,
    spec: LaunchSpec,
    launcher: Launcher,
    may_overlap: bool = False,
) -> HostPlan:
    """Compile `kernel` for the host, or load it from the cache.

    A kernel that writes to Views is compiled for Views that do not overlap in memory. Its entry
    checks them at each launch; if they do, a second plan is compiled that allows it
    (`may_overlap`).

    Raises
    ------
    KernelSyntaxError, KernelTypeError
        For faults in the kernel.
    SpaceError
        If the threads of `launcher` were not started.
    BackendCompileError
        If LLVM refuses the generated module: a defect of execspace.
    """
    return begin_plan(space, kernel, spec, launcher, may_overlap)()


def begin_plan(
    space: ExecutionSpace,
    kernel: Kernel,
    spec: LaunchSpec,
    launcher: Launcher,
    may_overlap: bool = False,
) -> Callable[[], HostPlan]:
    """The first step of `compile_plan`, which reads the program; returns the rest.

    The rest is LLVM's work for the most part, without the GIL. It may be done in another thread,
    and while the program binds names anew. Errors are as of `compile_plan`: those of the kernel
    are raised here, BackendCompileError by the rest.
    """
    started = time.perf_counter()
    _refuse_without_threads(space, launcher)
    package, versions = type(space).__module__.partition(".")[0], _versions()
    print_ = fingerprint(kernel, spec)
    launch: tuple[str, ...] = ()
    if print_ is not None:
        limits = team_limits(space) if spec.policy.kind == "team" else ""
        masks, lanes = machine.has_cheap_masks(), config.lanes()
        launch = print_, f"{launcher} {may_overlap} {masks} {limits} {lanes}"
    names = _Names(disk.folder("host"), package, versions, launch)
    outside: Outside = {}  # kernels with such calls have no record
    entry = _recalled(names.record) if names.may_be_there else None
    code: _Entry | Callable[[], _Entry]
    if entry is not None:
        code = entry
    else:
        with held():
            from .building import built  # much of the compiler

        with _front_end:
            facts, source, outside = built(space, kernel, spec, launcher, may_overlap)
        code = partial(_compiled, kernel, facts, source, names)
    begun = time.perf_counter() - started
    return partial(_finished, space, kernel, spec, launcher, may_overlap, code, outside, begun)


def _finished(
    space: ExecutionSpace,
    kernel: Kernel,
    spec: LaunchSpec,
    launcher: Launcher,
    may_overlap: bool,
    code: _Entry | Callable[[], _Entry],
    outside: Outside,
    begun: float,
) -> HostPlan:
    """The second step: machine code in memory, and the plan around it.

    `begun`: seconds of the first step. It may have been over for long when this one begins.
    """
    started = time.perf_counter()
    entry = code if isinstance(code, _Entry) else code()
    with _lock:
        loaded = entry.path.stem in _loaded
        _loaded.add(entry.path.stem)
    if not entry.from_disk:
        from ..cache.history import record_miss

        tools = _tools(space, launcher, may_overlap)
        record_miss(entry.path.parent, entry.path.stem, kernel, spec, tools)
    facts = entry.facts
    overlapping = _Overlapping(space, kernel, spec, launcher) if facts.disjoint else None
    call = entry_of(kernel.name, spec, facts, entry.code, overlapping, outside, launcher.pool)
    if launcher.fork is not None:
        call = checked_call(call, kernel.name, launcher.fork)
    elif launcher.name == "prange":
        call = on_numba(call)
    if facts.aligned:
        call = aligned_call(call, kernel.name, facts.aligned)
    if facts.prints or facts.assertions:
        call = reporting(call, kernel.name, facts, spec.policy.rank)
    if facts.scratch is not None:
        text, kept = facts.scratch
        call = with_scratch(
            call, Sizes(kernel.name, text, kept, team_limits(space).scratch, space.name)
        )
    if profiling.TOOLS:
        seconds = begun + time.perf_counter() - started
        profiling.emit("on_compile", kernel.name, space.name, seconds, entry.from_disk)
    reads_views = bool(facts.aligned or facts.scratch is not None or spec.array_shape)
    return HostPlan(
        space, kernel, spec, call, launcher, facts.disjoint, entry.path, entry.from_disk, loaded,
        reads_views,
    )  # fmt: skip


@dataclass(frozen=True)
class _Names:
    """Names of entries, which begin with the code of execspace: it takes long to read, the first
    time in a process."""

    folder: Path
    package: str
    versions: tuple[str, ...]
    launch: tuple[str, ...]  # empty if launches like this one are not recorded

    def path(self, ending: str, *parts: str) -> Path:
        """The path of an entry."""
        name = disk.key(*self.versions, *parts, package=self.package)
        return self.folder / f"{name}.{ending}"

    @cached_property
    def record(self) -> Path | None:
        """The path of the launch's record."""
        return self.path("launch", *self.launch) if self.launch else None

    @property
    def may_be_there(self) -> bool:
        """Whether there is any machine code, so that it pays to look one up."""
        return disk.holds_entries(self.folder, ".code")

    def read_code(self) -> None:
        """Read the code of execspace, if nobody has yet."""
        disk.code(self.package)


def _compiled(kernel: Kernel, facts: Facts, source: Source, names: _Names) -> _Entry:
    """The entry of a module, compiled unless it is there; LLVM runs without the GIL.

    If nothing can be there, the code of execspace is read meanwhile.
    """
    from .building import object_code

    linked = (v for u in source.linked for v in (u.defined, u.unvectorised))
    parts = source.text, facts.encoded().decode(), *linked
    with _once(disk.digest(*parts)):  # other threads compile other modules meanwhile
        code = None
        if not names.may_be_there:
            with beside(names.read_code):
                code = object_code(kernel, source)
        path = names.path("code", *parts)
        entry = _read(path) if code is None else None
        if entry is None:
            code = object_code(kernel, source) if code is None else code
            entry = _Entry(path, facts, code, from_disk=False)
            disk.keep(path, facts.encoded() + entry.code)
    if names.record is not None:
        disk.keep(names.record, path.stem)
    disk.limit_size(names.folder)
    return entry


@contextmanager
def _once(name: str) -> Iterator[None]:
    """While an entry is compiled, threads that need the same one wait."""
    with _lock:
        lock = _compiling.setdefault(name, new_lock())
    try:
        with lock:
            yield
    finally:
        with _lock:
            _compiling.pop(name, None)


def _versions() -> tuple[str, ...]:
    """Dependences of machine code besides the launch and execspace's own code."""
    python = f"{platform.python_version()}{sys.abiflags}"
    return (execspace.__version__, np.__version__, python, *machine.versions())


def _tools(space: ExecutionSpace, launcher: Launcher, may_overlap: bool) -> dict[str, str]:
    """Dependences of machine code besides the kernel and its launch, for people."""
    llvm, processor, name, features = machine.versions()
    if config.get("CPU") and features:  # those of this processor belong to its name
        name = f"{name},{features}"
    return {
        "space": space.name,
        "threads": f"{launcher.name} in {launcher.parts} parts",
        "Views": "may overlap" if may_overlap else "do not overlap",
        "llvmlite": llvm,
        "NumPy": np.__version__,
        "Python": platform.python_version(),
        "execspace": disk.compiler_version(),
        "processor": f"{processor} {name}",
    }


# -- the cache --------------------------------------------------------------------------------

_RECORD = re.compile(r"[0-9a-f]{40}")


def _recalled(record: Path | None) -> _Entry | None:
    """The entry that an earlier process recorded for a launch, if it is still there."""
    name = None if record is None else disk.read_text(record)
    if record is None or name is None or not _RECORD.fullmatch(name):
        return None
    return _read(record.with_name(f"{name}.code"))


def _read(path: Path) -> _Entry | None:
    content = disk.read(path)
    if content is None:
        return None
    line, _, code = content.partition(b"\n")
    try:
        facts = decoded(line)
    except (ValueError, TypeError):  # nothing that `Facts.encoded` wrote
        return None
    if facts.libraries and not machine.has_libraries(facts.libraries):
        return None
    return _Entry(path, facts, code)


# What machine code calls by name, and what provides it.
_PROVIDERS = {
    "pool": (ENTRY, "execspace_compiler.backend.start({parts})"),
    "libgomp": (
        "GOMP_parallel",
        'llvmlite.binding.load_library_permanently("libgomp.so.1")',
    ),
}


def _refuse_without_threads(space: ExecutionSpace, launcher: Launcher) -> None:
    symbol, call = _PROVIDERS.get(launcher.name, (None, ""))
    if symbol is not None and launcher.pool is None and not machine.address_of(symbol):
        raise SpaceError(
            f"Space '{space.name}' compiles for Launcher({launcher.name!r}, {launcher.parts}), but "
            f"this process has no {symbol}, which launches call; the space must call "
            f"{call.format(parts=launcher.parts)} once, before its first compile_plan."
        )
