"""The C space: host memory, and a range split into one part for each thread of the host."""

from __future__ import annotations

import os

from execspace import Capabilities, Kernel, LaunchSpec, Plan, TeamLimits
from execspace.base import config
from execspace_compiler.backend import C, Traits

from .build import Toolchain
from .launch import Launching, compile_plan


class CExecutionSpace(Launching):
    """Runs kernels on all cores; a launch returns when every thread is done.

    Views are host memory, so NumPy arrays are used as they are. After a fork the child runs
    everything on one thread, because OpenMP's team stays with the parent; the parts, and so the
    results of reductions, are the same.
    """

    name = "c"

    def __init__(self) -> None:
        self.toolchain = Toolchain.find(self.name)
        self.threads = config.thread_count()
        config.check_openmp_stack()
        self.traits = Traits(f"space '{self.name}'", C, flat=False, vectors=self.toolchain.vectors)
        self.capabilities = Capabilities(float16=self.toolchain.has_float16, atomic_bytes=8)

    @property
    def concurrency(self) -> int:
        return self.threads

    def threading_runtime(self) -> str:
        """Whose OpenMP runs the threads."""
        return f"OpenMP of {self.toolchain.name}"

    def compile(self, kernel: Kernel, spec: LaunchSpec) -> Plan:
        return compile_plan(self, kernel, spec)

    def team_limits(self) -> TeamLimits:
        return self.traits.team_limits()


def _forbid_teams() -> None:
    CExecutionSpace.has_team = False


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forbid_teams)
