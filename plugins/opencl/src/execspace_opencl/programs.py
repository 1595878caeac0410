"""Programs of a device, kept on disk as binaries.

Drivers with a cache of their own (PoCL) build from source each time, and find it there. pyopencl's
cache would do for the others, but a process that is killed leaves its lock behind.
"""

from __future__ import annotations

import warnings
from typing import Any

import pyopencl as cl
from pyopencl.characterize import has_src_build_cache

from execspace_compiler import cache


def program(context: Any, device: Any, source: str, options: list[str]) -> Any:
    """Build a text for a device, or load what was built of it before; blocks.

    Raises pyopencl's RuntimeError where the driver refuses the text.
    """
    folder = cache.folder("opencl")
    if has_src_build_cache(device):
        return _build(cl.Program(context, source), options)
    names = (device.name, device.version, device.driver_version, device.platform.version)
    path = folder / f"{cache.key(source, *options, *names)}.bin"
    try:
        binary = path.read_bytes()
        return _build(cl.Program(context, [device], [binary]), options)
    except (OSError, cl.Error):  # not there, or a driver that takes it no more
        built = _build(cl.Program(context, source), options)
    cache.write(path, built.get_info(cl.program_info.BINARIES)[0])
    cache.limit_size(folder)
    return built


def _build(unbuilt: Any, options: list[str]) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what compilers say to a text that they accept
        return unbuilt.build(options, cache_dir=False)
