"""What this distribution announces to execspace. Imports nothing heavy."""

from __future__ import annotations

from collections.abc import Iterable
from importlib.util import find_spec

from execspace import Probe, SpaceEntry, hookimpl

from .space import make_oracle, make_serial


def probe() -> Probe:
    """Serial kernels are compiled by LLVM."""
    if find_spec("llvmlite") is None:
        return Probe(False, "llvmlite is not installed; pip install llvmlite")
    return Probe(True, device="host")


@hookimpl
def execspace_register_spaces() -> Iterable[SpaceEntry]:
    """The `serial` space, and `oracle`, which is never chosen unasked."""
    yield SpaceEntry(
        "serial",
        factory=make_serial,
        api_version=(0, 1),
        priority=0,
        probe=probe,
        summary="one host thread, compiled by LLVM",
    )
    yield SpaceEntry(
        "oracle",
        factory=make_oracle,
        api_version=(0, 1),
        priority=-1,
        probe=lambda: Probe(True, device="host"),
        summary="plain Python with NumPy scalars and bounds checks; slow, for debugging",
    )
