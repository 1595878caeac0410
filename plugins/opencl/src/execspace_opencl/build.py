"""Builds generated code with the driver of a device, through the cache on disk.

What the driver refuses is shown with the line of the user's source.
"""

from __future__ import annotations

import re
from typing import Any

import pyopencl as cl

from execspace import BackendCompileError
from execspace_compiler.backend import DeviceCode

from .programs import Built, build_program
from .space import OpenCL


def _options(space: OpenCL, code: DeviceCode) -> list[str]:
    options = ["-cl-std=CL1.2", "-w"]  # drivers print warnings of generated text otherwise
    exact = cl.device_fp_config.CORRECTLY_ROUNDED_DIVIDE_SQRT
    if space.device.single_fp_config & exact:
        options.append("-cl-fp32-correctly-rounded-divide-sqrt")
    # The option is for the whole text: it would undo what strict functions promise.
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


def figures(space: OpenCL, code: DeviceCode, kernels: list[Any]) -> dict[str, dict[str, int]]:
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
