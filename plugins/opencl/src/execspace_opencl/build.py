"""Builds generated text with the driver of a device, through the cache on disk.

What a device cannot do is refused before that, and what the driver refuses is told with the
line of the user's source.
"""

from __future__ import annotations

import re
from typing import Any

import pyopencl as cl

from execspace import BackendCompileError, KernelTypeError
from execspace_compiler import ir
from execspace_compiler.ir.diagnostics import Diagnostic
from execspace_compiler.ir.types import ViewTy
from execspace_compiler.launch.device_text import DeviceText
from execspace_compiler.passes.pipeline import refuse_whole_steps
from execspace_compiler.typing.lowered import Lowered

from .programs import Built, build_program
from .space import OpenCL


def refuse(lowered: Lowered, space: OpenCL) -> None:
    """A KernelTypeError for what this device cannot do."""
    for function in lowered.functions:
        for e in [*function.parameters, *ir.walk_expressions(function.body)]:
            type = e.type.element if isinstance(e.type, ViewTy) else e.type
            if "float16" in str(type) and not space.capabilities.float16:
                loc = e.loc if e.loc.line else function.loc
                message = f"device {space.found} cannot compute with float16"
                found = Diagnostic(loc, message, "use float32")
                raise KernelTypeError(f"in kernel '{lowered.kernel.name}'\n\n{found}")
    refuse_whole_steps(lowered, "OpenCL")


def _options(space: OpenCL, text: DeviceText) -> list[str]:
    options = ["-cl-std=CL1.2", "-w"]  # drivers print warnings of generated text otherwise
    exact = cl.device_fp_config.CORRECTLY_ROUNDED_DIVIDE_SQRT
    if space.device.single_fp_config & exact:
        options.append("-cl-fp32-correctly-rounded-divide-sqrt")
    # The option is for the whole text: it would undo what strict functions promise.
    if text.lowered.kernel.fastmath and not text.strict:
        options.append("-cl-fast-relaxed-math")
    return options


def build(space: OpenCL, text: DeviceText) -> Built:
    """The program, from the cache on disk if it was built before.

    Raises
    ------
    BackendCompileError
    """
    options = _options(space, text)
    try:
        return build_program(space.context, space.device, text.source, options, text.lowered)
    except cl.Error as error:
        log = str(error)
        who = f"The driver of device {space.found}"
        raise BackendCompileError(text.complaint(_faults(log), log, who)) from error


def figures(space: OpenCL, text: DeviceText, kernels: list[Any]) -> dict[str, dict[str, int]]:
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
        for name, k in zip(text.entry.kernels, kernels, strict=True)
    }


# As Clang and most drivers write it, and as PoCL does.
_PLACE = re.compile(
    r"^\s*(?:\S*?:(\d+):\d+: (?:fatal )?error: (.*)|error: \S*?:(\d+):\d+: (.*))", re.MULTILINE
)


def _faults(log: str) -> list[tuple[int, str]]:
    """Line and message of each complaint."""
    found = (place[:2] if place[0] else place[2:] for place in _PLACE.findall(log))
    return [(int(line), message) for line, message in found]
