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
    folder : Path
        Of the cache on disk.
    key : str
        Of its entry there; empty where the driver has a cache of its own.
    from_disk : bool
        It was built before.
    """

    program: Any
    folder: Path
    key: str = ""
    from_disk: bool = False

    def describe_entry(self, kernel: Kernel) -> tuple[str, str]:
        """What a plan has as `cache`."""
        if not self.key:
            return "", "the driver keeps what it has built, and does not tell of it"
        return cache.describe_entry(
            self.folder, self.key, kernel, "on disk" if self.from_disk else ""
        )


def program(context: Any, device: Any, source: str, options: list[str]) -> Any:
    """Build a text for a device, or load what was built of it before; blocks.

    Raises pyopencl's RuntimeError where the driver refuses the text.
    """
    return build_program(context, device, source, options, None).program


def build_program(
    context: Any, device: Any, source: str, options: list[str], of: DeviceCode | None
) -> Built:
    """As `program`; `of` is the code whose misses are noted."""
    folder = cache.folder("opencl")
    if has_src_build_cache(device):
        return Built(_build(cl.Program(context, source), options), folder)
    names = (device.name, device.version, device.driver_version, device.platform.version)
    key = cache.key(source, *options, *names, package="execspace_opencl")
    path = folder / f"{key}.bin"
    binary = cache.read(path)
    if binary is not None:
        try:
            built = _build(cl.Program(context, [device], [binary]), options)
            return Built(built, folder, key, True)
        except cl.Error:  # the driver takes it no more
            cache.discard(path)
    built = _build(cl.Program(context, source), options)
    cache.keep(path, built.get_info(cl.program_info.BINARIES)[0])
    if of is not None:
        tools = {
            "device": names[0],
            "driver": ", ".join(names[1:]),
            "options": " ".join(options),
            "execspace": cache.made_by(),
        }
        cache.note_miss(folder, key, of.lowered.kernel, of.lowered.spec, tools)
    cache.limit_size(folder)
    return Built(built, folder, key)


# Filters of warnings are the process's. Two threads that change them at once, each to put back what
# it found, would show what is to be ignored, and may leave all warnings ignored for good.
_filtering = threading.Lock()


def _build(unbuilt: Any, options: list[str]) -> Any:
    with _filtering, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what compilers say to a text that they accept
        return unbuilt.build(options, cache_dir=False)
