"""The OpenMP space: ranges split into one part for each thread of the host."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import cached_property

from execspace import (
    Capabilities,
    ExecutionSpace,
    HostExecutionSpace,
    Kernel,
    LaunchSpec,
    Plan,
    SpaceError,
    SpaceUnavailableError,
    TeamLimits,
)
from execspace.base import config

from .threads import GOMP, find_runtime, pin_numba_layer, start_pool


class OpenMP(HostExecutionSpace):
    """Runs kernels on all cores; a launch returns when every part is done.

    Ranges too small to be worth waking a team run on the calling thread. After a fork the
    child runs everything on one thread, because the team stays with the parent; the parts, and
    so the results of reductions, are the same.
    """

    name = "openmp"

    def __init__(self) -> None:
        runtime = find_runtime()
        if runtime is None:
            raise SpaceUnavailableError(f"Space 'openmp': {GOMP} was not found.")
        self.runtime = runtime
        self.threads = config.thread_count()
        self._has_pool = False
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

    def threading_runtime(self) -> str:
        """What runs kernels: "pool", "libgomp" or "prange", and then Numba's verified layer."""
        return self.runtime if self.layer is None else f"{self.runtime}, Numba layer {self.layer}"

    def compile(self, kernel: Kernel, spec: LaunchSpec) -> Plan:
        return self.begin_compile(kernel, spec)()

    def begin_compile(self, kernel: Kernel, spec: LaunchSpec) -> Callable[[], Plan]:
        from execspace_compiler.backend import Launcher, begin_plan

        if self.runtime == "pool" and not self._has_pool:
            start_pool(self.threads)
            self._has_pool = True
        return begin_plan(self, kernel, spec, Launcher(self.runtime, self.threads))

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
