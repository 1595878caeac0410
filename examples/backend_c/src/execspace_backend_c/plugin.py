"""What this distribution announces to execspace. Imports nothing heavy."""

from __future__ import annotations

from collections.abc import Iterable

from execspace import ExecutionSpace, Probe, SpaceEntry, SpaceError, hookimpl

from .build import find_command


def probe() -> Probe:
    """Kernels are compiled by the system's C compiler, or by the one that CC names."""
    command = find_command()
    return Probe(isinstance(command, list), "" if isinstance(command, list) else command)


def make_space(device: str | None) -> ExecutionSpace:
    """Factory of the `c` entry."""
    from .space import CExecutionSpace

    if device is not None:
        name = CExecutionSpace.name
        raise SpaceError(f"Space '{name}' has no devices to choose from, got '{name}:{device}'.")
    return CExecutionSpace()


@hookimpl
def execspace_register_spaces() -> Iterable[SpaceEntry]:
    """The `c` space."""
    yield SpaceEntry(
        "c",
        factory=make_space,
        api_version=(0, 1),
        priority=-10,  # used only where it is named
        probe=probe,
        summary="all cores of the host through OpenMP, compiled by a C compiler",
    )
