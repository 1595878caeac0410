"""Builds generated code with the driver of a device, and keeps the binaries on disk.

Drivers with a cache of their own (PoCL) build from source each time, and find it there. pyopencl's
cache would do for the others, but a process that is killed leaves its lock behind. What a driver
refuses is shown with the line of the user's source.
"""

from __future__ import annotations

import re
import threading
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyopencl as cl
from pyopencl.characterize import has_src_build_cache

from execspace import BackendCompileError, Kernel
from execspace_compiler.backend import DeviceCode, cache

if TYPE_CHECKING:
    from .space import OpenCL


def _options(space: OpenCL, code: DeviceCode) -> list[str]:
    options = ["-cl-std=CL1.2", "-w"]  # drivers print warnings of generated source otherwise
    exact = cl.device_fp_config.CORRECTLY_ROUNDED_DIVIDE_SQRT
    if space.device.single_fp_config & exact:
        options.append("-cl-fp32-correctly-rounded-divide-sqrt")
    # The option is for the whole source: it would undo what strict functions promise.
    if code.lowered.kernel.fastmath and not code.strict:
        options.append("-cl-fast-relaxed-math")
    return options


def build(space: OpenCL, code: DeviceCode) -> Built:
    """The program, from the cache on disk if it was built before.

    Raises
    ------
    BackendCompileError
    """
    options = _options(space, code)
    try:
        return build_program(space.context, space.device, code.source, options, code)
    except cl.Error as error:
        log = str(error)
        who = f"The driver of device {space.found}"
        raise BackendCompileError(code.complaint(_faults(log), log, who)) from error


def resource_usage(
    space: OpenCL, code: DeviceCode, kernels: list[Any]
) -> dict[str, dict[str, int]]:
    """What the driver says of each kernel, by the names that other GPUs have: bytes of "local"
    (OpenCL's private) memory of a work-item and of "shared" (OpenCL's local) memory of a group,
    most "threads" of a group, and what their number should be a "multiple" of."""
    info = cl.kernel_work_group_info
    asked = {
        "local": info.PRIVATE_MEM_SIZE,
        "shared": info.LOCAL_MEM_SIZE,
        "threads": info.WORK_GROUP_SIZE,
        "multiple": info.PREFERRED_WORK_GROUP_SIZE_MULTIPLE,
    }
    return {
        name: {what: int(k.get_work_group_info(n, space.device)) for what, n in asked.items()}
        for name, k in zip(code.entry.kernels, kernels, strict=True)
    }


# As Clang and most drivers write it, and as PoCL does.
_PLACE = re.compile(
    r"^\s*(?:\S*?:(\d+):\d+: (?:fatal )?error: (.*)|error: \S*?:(\d+):\d+: (.*))", re.MULTILINE
)


def _faults(log: str) -> list[tuple[int, str]]:
    """Line and message of each complaint."""
    found = (place[:2] if place[0] else place[2:] for place in _PLACE.findall(log))
    return [(int(line), message) for line, message in found]


# -- programs --------------------------------------------------------------------------------------


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
