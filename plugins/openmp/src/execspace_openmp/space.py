"""The OpenMP space: ranges split into one part for each thread of the host.

Its instances have some of the threads each, and launch side by side.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from execspace import (
    Capabilities,
    ExecutionSpace,
    HostExecutionSpace,
    Kernel,
    LaunchSpec,
    Plan,
    ReductionResult,
    SpaceError,
    SpaceUnavailableError,
    TeamLimits,
)
from execspace.base import config
from execspace.base.locks import new_lock

from .shares import shares_of
from .threads import GOMP, find_runtime, own_pool, pin_numba_layer, start_pool

if TYPE_CHECKING:
    from execspace_compiler.backend import Launcher, Pool


class OpenMP(HostExecutionSpace):
    """Runs kernels on all cores; a launch returns when every part is done.

    Ranges too small to be worth waking a team run on the calling thread. After a fork the
    child runs everything on one thread, because the team stays with the parent; the parts, and
    so the results of reductions, are the same.

    Attributes
    ----------
    threads : int
        Its own; launches have as many parts.
    first : int
        Of an instance of `partition`: the number of its first thread among those of the space.
    """

    name = "openmp"

    def __init__(self) -> None:
        runtime = find_runtime()
        if runtime is None:
            raise SpaceUnavailableError(f"Space 'openmp': {GOMP} was not found.")
        self.runtime = runtime
        self.threads = self._all = config.thread_count()
        self.first = 0
        self._has_pool = False
        self._is_part = False
        # Of instances by their first thread and their number of threads.
        self._parts: dict[tuple[int, int], OpenMP] = {}
        self._pools: dict[tuple[int, int], Pool] = {}
        self._lock = new_lock()
        config.check_openmp_stack()
        self.layer = pin_numba_layer(self.threads) if runtime == "prange" else None
        if runtime == "libgomp":
            import llvmlite.binding

            llvmlite.binding.load_library_permanently(GOMP)
        _watch_forks()

    @cached_property  # the answer loads llvmlite
    def capabilities(self) -> Capabilities:  # type: ignore[override]  # it can be set, too
        from execspace_compiler.backend import host_capabilities

        return host_capabilities()

    @property
    def concurrency(self) -> int:
        return self.threads

    def __repr__(self) -> str:
        if not self._is_part:
            return super().__repr__()
        last = self.first + self.threads - 1
        which = f"thread {last}" if last == self.first else f"threads {self.first} to {last}"
        return f"<execution space '{self.name}', {which} of {self._all}>"

    def threading_runtime(self) -> str:
        """What runs kernels: "pool", "libgomp" or "prange", and then Numba's verified layer."""
        return self.runtime if self.layer is None else f"{self.runtime}, Numba layer {self.layer}"

    def partition(self, weights: Sequence[float]) -> list[OpenMP]:
        """Instances with threads of their own, as many as weights say: each at least one.

        The same threads are always the same instance, so that neither threads nor kernels that
        were compiled for them get more, however often a program divides the space.

        Raises
        ------
        SpaceError
            If there are more parts than threads.
        """
        if len(weights) > self.threads:
            raise SpaceError(
                f"Space '{self.name}' has {self.threads} thread{'s' * (self.threads != 1)} here, "
                f"but is to be divided into {len(weights)} parts; expected at most one part for "
                f"each thread. Ask for fewer parts"
                + (
                    ", or divide the space itself."
                    if self._is_part
                    else f", or set EXECSPACE_NUM_THREADS, which is now {self._all}, before the "
                    f"space is first used."
                )
            )
        found = []
        first = self.first
        for count in shares_of(weights, self.threads):
            found.append(self._part(first, count))
            first += count
        return found

    def _part(self, first: int, count: int) -> OpenMP:
        with self._lock:  # which parts share, as they do the dictionary
            part = self._parts.get((first, count))
            if part is None:
                part = self._copied(first=first, threads=count, _is_part=True)
                self._parts[first, count] = part
            return part

    def _launcher(self) -> Launcher:
        """Who runs the parts of launches; starts a pool where there is none yet."""
        from execspace_compiler.backend import Launcher

        if self.runtime != "pool":  # there each thread that launches has a team of its own
            return Launcher(self.runtime, self.threads)
        if not self._is_part:
            if not self._has_pool:
                start_pool(self.threads)
                self._has_pool = True
            return Launcher("pool", self.threads)
        key = self.first, self.threads
        with self._lock:
            pool = self._pools.get(key)
            if pool is None:
                pool = self._pools[key] = own_pool(*key, self._all)
        return Launcher("pool", self.threads, pool=pool)

    def compile(self, kernel: Kernel, spec: LaunchSpec) -> Plan:
        return self.begin_compile(kernel, spec)()

    def begin_compile(self, kernel: Kernel, spec: LaunchSpec) -> Callable[[], Plan]:
        from execspace_compiler.backend import begin_plan

        return begin_plan(self, kernel, spec, self._launcher())

    def result_of(self, kernel: Kernel, spec: LaunchSpec) -> ReductionResult:
        from execspace_compiler.backend import result_of

        return result_of(kernel, spec, self.memory_space, on_host=True)

    def team_limits(self) -> TeamLimits:
        from execspace_compiler.backend import HOST_TEAMS

        return HOST_TEAMS


_watching = False


def _watch_forks() -> None:
    global _watching
    if not _watching and hasattr(os, "register_at_fork"):
        from execspace_compiler.backend import forbid_teams

        os.register_at_fork(after_in_child=forbid_teams)
        _watching = True


def make_openmp(device: str | None) -> ExecutionSpace:
    """Factory of the `openmp` entry."""
    if device is not None:
        raise SpaceError(f"Space 'openmp' has no devices to choose from, got 'openmp:{device}'.")
    return OpenMP()
