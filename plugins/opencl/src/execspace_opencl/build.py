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
from execspace_compiler.devices import DeviceText
from execspace_compiler.diagnostics import Diagnostic
from execspace_compiler.pipeline import Lowered
from execspace_compiler.types import ViewTy

from .programs import program
from .space import OpenCLSpace


def refuse(lowered: Lowered, space: OpenCLSpace) -> None:
    """A KernelTypeError for what this device cannot do."""
    for function in lowered.functions:
        for e in [*function.parameters, *ir.walk_expressions(function.body)]:
            type = e.type.element if isinstance(e.type, ViewTy) else e.type
            if "float16" in str(type) and not space.capabilities.float16:
                loc = e.loc if e.loc.line else function.loc
                message = f"device {space.found} cannot compute with float16"
                raise _type_error(lowered, Diagnostic(loc, message, "use float32"))
        for s in ir.walk_statements(function.body):
            if isinstance(s, ir.Atomic) and s.whole and s.type.itemsize == 16:
                message = f"OpenCL has no atomic step on a whole {s.type}"
                hint = "use complex64, or atomic_add and atomic_sub, which need no whole number"
                raise _type_error(lowered, Diagnostic(s.loc, message, hint))


def _type_error(lowered: Lowered, found: Diagnostic) -> KernelTypeError:
    return KernelTypeError(f"in kernel '{lowered.kernel.name}'\n\n{found}")


def _options(space: OpenCLSpace, lowered: Lowered) -> list[str]:
    options = ["-cl-std=CL1.2", "-w"]  # drivers print warnings of generated text otherwise
    exact = cl.device_fp_config.CORRECTLY_ROUNDED_DIVIDE_SQRT
    if space.device.single_fp_config & exact:
        options.append("-cl-fp32-correctly-rounded-divide-sqrt")
    # The option is for the whole text: it would undo what strict functions promise.
    strict = any(f.strict for f in (*lowered.functions, *_joins(lowered)))
    if lowered.kernel.fastmath and not strict:
        options.append("-cl-fast-relaxed-math")
    return options


def _joins(lowered: Lowered) -> tuple[ir.Function, ...]:
    return () if lowered.reduction is None else lowered.reduction.functions


def build(space: OpenCLSpace, text: DeviceText) -> Any:
    """The program, from the cache on disk if it was built before.

    Raises
    ------
    BackendCompileError
    """
    options = _options(space, text.lowered)
    try:
        return program(space.context, space.device, text.source, options)
    except cl.Error as error:
        raise BackendCompileError(_build_error(space, text, str(error))) from error


# As Clang and most drivers write it, and as PoCL does.
_PLACE = re.compile(
    r"^\s*(?:\S*?:(\d+):\d+: (?:fatal )?error: (.*)|error: \S*?:(\d+):\d+: (.*))", re.MULTILINE
)


def _build_error(space: OpenCLSpace, text: DeviceText, log: str) -> str:
    """The driver's complaints, each with the line of the user's source that it stems from."""
    parts = [f"in kernel '{text.lowered.kernel.name}'"]
    for place in _PLACE.findall(log):
        line, message = place[:2] if place[0] else place[2:]
        number = int(line) - 1
        if not 0 <= number < len(text.lines):
            continue
        parts.append(f"{message}\n    {text.lines[number].strip()}")
        loc = text.locs[number]
        if loc is not None and loc.line:
            parts.append(f"{loc}\n{loc.excerpt()}")
    if len(parts) == 1:
        parts.append(log)
    parts.append(
        f"The driver of device {space.found} refused generated code. This is a defect of execspace "
        f"or of the driver; please report it."
    )
    return "\n".join(parts)
