"""The C space: host memory, and a range split into one part for each thread of the host."""

from __future__ import annotations

import os
from functools import cached_property
from typing import TYPE_CHECKING

from execspace import Capabilities, HostExecutionSpace, Kernel, LaunchSpec, Plan, TeamLimits
from execspace.base import config

from .build import Toolchain

if TYPE_CHECKING:
    from execspace_compiler.backend import Traits


class CExecutionSpace(HostExecutionSpace):
    """Runs kernels on all cores; a launch returns when every thread is done.

    Views are host memory, so NumPy arrays are used as they are. After a fork the child runs
    everything on one thread, because OpenMP's team stays with the parent; the parts, and so the
    results of reductions, are the same.

    Attributes
    ----------
    toolchain : Toolchain
    threads : int
    has_team : bool
        Whether this process may start a team of threads.
    """

    name = "c"
    has_team = True

    def __init__(self) -> None:
        self.toolchain = Toolchain.find(self.name)
        self.threads = config.thread_count()
        config.check_openmp_stack()
        self.capabilities = Capabilities(float16=self.toolchain.has_float16, atomic_bytes=8)

    @property
    def concurrency(self) -> int:
        return self.threads

    def threading_runtime(self) -> str:
        """Whose OpenMP runs the threads."""
        return f"OpenMP of {self.toolchain.name}"

    def compile(self, kernel: Kernel, spec: LaunchSpec) -> Plan:
        from .launch import compile_plan

        return compile_plan(self, kernel, spec)

    @cached_property
    def traits(self) -> Traits:
        """What the source of kernels depends on."""
        from execspace_compiler.backend import C, Traits

        return Traits(f"space '{self.name}'", C, flat=False)

    def team_limits(self) -> TeamLimits:
        return self.traits.team_limits()


def _forbid_teams() -> None:
    CExecutionSpace.has_team = False


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forbid_teams)
