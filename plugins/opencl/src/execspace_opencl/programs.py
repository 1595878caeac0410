"""Programs of a device, kept on disk as binaries.

Drivers with a cache of their own (PoCL) build from source each time, and find it there. pyopencl's
cache would do for the others, but a process that is killed leaves its lock behind.
"""

from __future__ import annotations

import threading
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyopencl as cl
from pyopencl.characterize import has_src_build_cache

from execspace import Kernel
from execspace_compiler.backend import DeviceCode, cache


@dataclass(frozen=True)
class Built:
    """A program of a device.

    Attributes
    ----------
    program : pyopencl.Program
    entry : Compiled, optional
        Where it is on disk; None where the driver has a cache of its own.
    """

    program: Any
    entry: cache.Compiled[Any] | None = None

    @property
    def from_disk(self) -> bool:
        """It was built before."""
        return self.entry is not None and self.entry.from_disk

    def describe_entry(self, kernel: Kernel) -> tuple[str, str]:
        """What a plan has as `cache`."""
        if self.entry is None:
            return "", "the driver keeps what it has built, and does not tell of it"
        return self.entry.describe(kernel)


def program(context: Any, device: Any, source: str, options: list[str]) -> Any:
    """Build a source for a device, or load what was built of it before; blocks.

    Raises pyopencl's RuntimeError where the driver refuses the source.
    """
    return build_program(context, device, source, options, None).program


def build_program(
    context: Any, device: Any, source: str, options: list[str], of: DeviceCode | None
) -> Built:
    """As `program`; `of` is the code whose misses are noted."""
    if has_src_build_cache(device):
        return Built(_build(cl.Program(context, source), options))
    names = (device.name, device.version, device.driver_version, device.platform.version)

    def make() -> tuple[bytes, Any]:
        built = _build(cl.Program(context, source), options)
        return built.get_info(cl.program_info.BINARIES)[0], built

    def load(binary: bytes, path: Path) -> Any:
        return _build(cl.Program(context, [device], [binary]), options)

    entry = cache.compiled(
        "opencl", (source, *options, *names), make, load,
        package="execspace_opencl",
        refused=(cl.Error,),
        launch=None if of is None else (of.lowered.kernel, of.lowered.spec),
        tools={
            "device": names[0], "driver": ", ".join(names[1:]), "options": " ".join(options),
        },
    )  # fmt: skip
    return Built(entry.loaded, entry)


# Filters of warnings are the process's. Two threads that change them at once, each to put back what
# it found, would show what is to be ignored, and may leave all warnings ignored for good.
_filtering = threading.Lock()


def _build(unbuilt: Any, options: list[str]) -> Any:
    with _filtering, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what compilers say to a text that they accept
        return unbuilt.build(options, cache_dir=False)
