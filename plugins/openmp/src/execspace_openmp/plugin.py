"""What this distribution announces to execspace. Imports nothing heavy."""

from __future__ import annotations

from collections.abc import Iterable
from importlib.util import find_spec

from execspace import ConfigError, Probe, SpaceEntry, hookimpl

from .space import make_openmp
from .threads import find_runtime


def probe() -> Probe:
    """Kernels are compiled by LLVM and run on an OpenMP runtime."""
    if find_spec("llvmlite") is None:
        return Probe(False, "llvmlite is not installed; pip install llvmlite")
    try:
        runtime = find_runtime()
    except ConfigError as error:
        return Probe(False, str(error))
    if runtime is None:
        return Probe(
            False,
            "no OpenMP runtime was found (libgomp.so.1); on Debian and Ubuntu: "
            "apt install libgomp1, on Fedora: dnf install libgomp",
        )
    if runtime == "prange" and find_spec("numba") is None:
        return Probe(
            False, "Numba, whose threads run kernels here, is not installed; pip install numba"
        )
    return Probe(True, device="host")


@hookimpl
def execspace_register_spaces() -> Iterable[SpaceEntry]:
    """The `openmp` space."""
    yield SpaceEntry(
        "openmp",
        factory=make_openmp,
        api_version=(0, 1),
        priority=10,
        probe=probe,
        summary="all cores of the host, compiled by LLVM",
    )
