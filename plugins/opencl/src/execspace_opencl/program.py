"""Programs of a device: built by its driver and kept on disk; their kernels and arguments.

Drivers with a cache of their own (PoCL) build from source each time, and find it there. pyopencl's
cache would do for the others, but a process that is killed leaves its lock behind. What a driver
refuses is shown with the line of the user's source.
"""

from __future__ import annotations

import re
import threading
import warnings
from pathlib import Path
from typing import Any
from weakref import ref

import pyopencl as cl
from pyopencl.characterize import has_src_build_cache

from execspace import BackendCompileError, Kernel, LaunchSpec
from execspace_compiler.backend import DeviceCode, cache

from .device import Device
from .drivers.ending import remember_object

_STACK = 1 << 21  # bytes of private arrays that a thread of a CPU has room for


class Program:
    """Kernels of one source, and the arguments that they have.

    Attributes
    ----------
    code : DeviceCode
    compiled : Compiled
        The driver's program, and its entry in the cache on disk.
    kernels : list of pyopencl.Kernel
    resource_usage : dict
        See `usage_of`.
    key, frame : object
        What kernel 0 has for its arguments, where generated code has said so; and the frame, which
        has others.
    most_threads : int
        Work-items that a group may have: few where a kernel needs many registers.
    """

    def __init__(self, device: Device, code: DeviceCode) -> None:
        self.code = code
        self.compiled = _built(device, code)
        remember_object(self)
        names = code.entry.kernels
        self.kernels = [getattr(self.compiled.loaded, name) for name in names]
        usages = [usage_of(kernel, device.handle) for kernel in self.kernels]
        self.resource_usage = dict(zip(names, usages, strict=True))
        self.records: list[bytes | None] = [None for _ in names]
        # Weak, for a plan must not keep the memory of Views that the program has dropped.
        self.last: list[list[Any]] = [[] for _ in names]
        self.key: Any = None
        self.frame: Any = None
        self.most_threads = min(usage["threads"] for usage in usages)
        if device.flat and device.found.is_cpu:  # a thread keeps what all of a group's items have
            room = _STACK // max(1, code.private_bytes)
            self.most_threads = min(self.most_threads, 1 << max(0, room.bit_length() - 1))

    @property
    def from_disk(self) -> bool:
        """It was built before."""
        return self.compiled.from_disk

    def enqueue(self, queue: Any, n: int, record: bytes, rest: list[Any], size: Any) -> None:
        """Set the arguments that changed since the last launch, and enqueue."""
        kernel, last = self.kernels[n], self.last[n]
        self.key = None
        if not last:
            last += [_never] * len(rest)
        if record != self.records[n]:
            # The public set_arg tries other meanings of bytes first, which takes 20 us.
            kernel._set_arg_buf(0, record)
            self.records[n] = record
        for position, value in enumerate(rest):
            if last[position]() is not value:
                kernel.set_arg(position + 1, value)
                last[position] = ref(value)
        cl.enqueue_nd_range_kernel(queue, kernel, *size)


def _never() -> None:
    """Stands for a weak reference to an argument that was never set."""


def usage_of(kernel: Any, device: Any) -> dict[str, int]:
    """What the driver says of a kernel, by the names that other GPUs have: bytes of "local"
    (OpenCL's private) memory of a work-item and of "shared" (OpenCL's local) memory of a group,
    most "threads" of a group, and what their number should be a "multiple" of."""
    info = cl.kernel_work_group_info
    asked = {
        "local": info.PRIVATE_MEM_SIZE,
        "shared": info.LOCAL_MEM_SIZE,
        "threads": info.WORK_GROUP_SIZE,
        "multiple": info.PREFERRED_WORK_GROUP_SIZE_MULTIPLE,
    }
    return {what: int(kernel.get_work_group_info(n, device)) for what, n in asked.items()}


def _built(device: Device, code: DeviceCode) -> cache.Compiled[Any]:
    """The program of generated code; BackendCompileError if the driver refuses it."""
    launch = code.lowered.kernel, code.lowered.spec
    try:
        return build(device, code.source, _options(device, code), launch)
    except cl.Error as error:
        log = str(error)
        who = f"The driver of device {device.found}"
        raise BackendCompileError(code.complaint(_faults(log), log, who)) from error


_STEP = 8  # registers that a work-item gets at once
_MOST = 255  # that it may have


def _options(device: Device, code: DeviceCode) -> list[str]:
    options = ["-cl-std=CL1.2", "-w"]  # drivers print warnings of generated source otherwise
    exact = cl.device_fp_config.CORRECTLY_ROUNDED_DIVIDE_SQRT
    if device.handle.single_fp_config & exact:
        options.append("-cl-fp32-correctly-rounded-divide-sqrt")
    # The option is for the whole source: it would undo what strict functions promise.
    if code.lowered.kernel.fastmath and not code.strict:
        options.append("-cl-fast-relaxed-math")
    # The language has no qualifier of a kernel for it, as CUDA has.
    if code.resident and "cl_nv_compiler_options" in device.handle.extensions.split():
        registers = min(int(device.handle.registers_per_block_nv) // code.resident, _MOST)
        options.append(f"-cl-nv-maxrregcount={registers // _STEP * _STEP}")
    return options


# As Clang and most drivers write it, and as PoCL does.
_PLACE = re.compile(
    r"^\s*(?:\S*?:(\d+):\d+: (?:fatal )?error: (.*)|error: \S*?:(\d+):\d+: (.*))", re.MULTILINE
)


def _faults(log: str) -> list[tuple[int, str]]:
    """Line and message of each complaint."""
    found = (place[:2] if place[0] else place[2:] for place in _PLACE.findall(log))
    return [(int(line), message) for line, message in found]


def build(
    device: Device, source: str, options: list[str], launch: tuple[Kernel, LaunchSpec] | None = None
) -> cache.Compiled[Any]:
    """The program of a source, from the cache on disk if it was built before; blocks.

    `launch` is what it is for, of which a miss is noted. Raises pyopencl's RuntimeError where the
    driver refuses the source.
    """
    context, handle = device.context, device.handle
    if has_src_build_cache(handle):
        return cache.Compiled(_build(cl.Program(context, source), options), None, False)
    names = (handle.name, handle.version, handle.driver_version, handle.platform.version)

    def make() -> tuple[bytes, Any]:
        built = _build(cl.Program(context, source), options)
        return built.get_info(cl.program_info.BINARIES)[0], built

    def load(binary: bytes, path: Path) -> Any:
        return _build(cl.Program(context, [handle], [binary]), options)

    return cache.compiled(
        "opencl", (source, *options, *names), make, load,
        package="execspace_opencl",
        refused=(cl.Error,),
        launch=launch,
        tools={
            "device": names[0], "driver": ", ".join(names[1:]), "options": " ".join(options),
        },
    )  # fmt: skip


# Filters of warnings are the process's. Two threads that change them at once, each to put back what
# it found, would show what is to be ignored, and may leave all warnings ignored for good.
_filtering = threading.Lock()


def _build(unbuilt: Any, options: list[str]) -> Any:
    with _filtering, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what compilers say to a text that they accept
        return unbuilt.build(options, cache_dir=False)
