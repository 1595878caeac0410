"""The serial space: one host thread. And the oracle: the same IR, run by CPython."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

from execspace import (
    Capabilities,
    ExecutionSpace,
    HostExecutionSpace,
    Kernel,
    LaunchSpec,
    Plan,
    ReductionResult,
    SpaceError,
    TeamLimits,
)
from execspace.host.space import UnsortedHostExecutionSpace


def _no_device(name: str, device: str | None) -> None:
    if device is not None:
        raise SpaceError(f"Space '{name}' has no devices to choose from, got '{name}:{device}'.")


class Serial(HostExecutionSpace):
    """Runs kernels on the calling thread, in order; a launch returns when it is done."""

    name = "serial"

    @cached_property  # the answer loads llvmlite
    def capabilities(self) -> Capabilities:  # type: ignore[override]  # it can be set, too
        from execspace_compiler.backend import host_capabilities

        return host_capabilities(dynamic_schedules=False)

    def compile(self, kernel: Kernel, spec: LaunchSpec) -> Plan:
        return self.begin_compile(kernel, spec)()

    def begin_compile(self, kernel: Kernel, spec: LaunchSpec) -> Callable[[], Plan]:
        from execspace_compiler.backend import Launcher, begin_plan

        return begin_plan(self, kernel, spec, Launcher("serial"))

    def result_of(self, kernel: Kernel, spec: LaunchSpec) -> ReductionResult:
        from execspace_compiler.backend import result_of

        return result_of(kernel, spec, self.memory_space, on_host=True)

    def team_limits(self) -> TeamLimits:
        from execspace_compiler.backend import HOST_TEAMS

        return HOST_TEAMS


class Oracle(UnsortedHostExecutionSpace):
    """Runs kernels as plain Python with NumPy scalars: the meaning of every operation.

    Checks bounds, and in teams that no barrier is missing; can be stepped through with pdb, and is
    thousands of times slower.
    """

    name = "oracle"
    capabilities = Capabilities(float16=True, vector_bytes=16)

    def compile(self, kernel: Kernel, spec: LaunchSpec) -> Plan:
        from execspace_compiler.backend import interpret

        return interpret(self, kernel, spec)

    def result_of(self, kernel: Kernel, spec: LaunchSpec) -> ReductionResult:
        from execspace_compiler.backend import result_of

        return result_of(kernel, spec, self.memory_space, on_host=True)

    def team_limits(self) -> TeamLimits:
        from execspace_compiler.backend import HOST_TEAMS

        return HOST_TEAMS


def make_serial(device: str | None) -> ExecutionSpace:
    """Factory of the `serial` entry."""
    _no_device("serial", device)
    return Serial()


def make_oracle(device: str | None) -> ExecutionSpace:
    """Factory of the `oracle` entry."""
    _no_device("oracle", device)
    return Oracle()
