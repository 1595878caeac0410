"""Which OpenCL devices there are, and which one a name such as `opencl:0.1` means."""

from __future__ import annotations

import os
from typing import Any

import pyopencl as cl

from execspace import SpaceError, SpaceUnavailableError
from execspace.base.dataclass import dataclass

from .drivers.ending import FORKED, forked, watch


@dataclass(frozen=True)
class Found:
    """A device and its place: number of the platform, number of the device in it."""

    platform: int
    number: int
    device: Any

    @property
    def place(self) -> str:
        """As users write it after "opencl:"."""
        return f"{self.platform}.{self.number}"

    @property
    def is_cpu(self) -> bool:
        """Whether kernels run on the processor that the program runs on."""
        return bool(self.device.type & cl.device_type.CPU)

    @property
    def has_float64(self) -> bool:
        """Whether it computes in float64."""
        try:
            return bool(self.device.double_fp_config)
        except cl.Error:  # a driver from before OpenCL 1.2 that does not know the question
            return False

    def has_svm(self, kind: int) -> bool:
        """Whether it has a kind of shared virtual memory, of `device_svm_capabilities`."""
        try:
            return bool(self.device.svm_capabilities & kind)
        except (cl.Error, AttributeError):  # a device of OpenCL 1
            return False

    def __str__(self) -> str:
        return f"{self.place} {self.device.name.strip()} ({self.device.platform.name.strip()})"


def all_devices() -> list[Found]:
    """Every device, platforms without any left out; none where there is no platform.

    Raises
    ------
    SpaceError
        In a forked child of a process that has used OpenCL.
    """
    if forked():
        raise SpaceError(f"Space 'opencl': {FORKED}")
    watch()
    try:
        platforms = cl.get_platforms()
    except cl.Error:  # the loader found no driver
        return []
    found = []
    for p, platform in enumerate(platforms):
        try:
            devices = platform.get_devices()
        except cl.Error:  # a driver whose device is gone
            continue
        found += [Found(p, n, d) for n, d in enumerate(devices)]
    return found


def choose(name: str | None) -> Found:
    """The device that a name means; without one a GPU, else whatever comes first.

    Raises
    ------
    SpaceError, SpaceUnavailableError
    """
    devices = all_devices()
    if not devices:
        raise SpaceUnavailableError(f"Space 'opencl': {_NO_DEVICE}")
    known = ", ".join(map(str, devices))
    if not any(f.has_float64 for f in devices):
        raise SpaceUnavailableError(f"Space 'opencl': no device has float64 (cl_khr_fp64): {known}")
    if name is None:
        gpus = [f for f in devices if f.device.type & cl.device_type.GPU]
        return next(f for f in [*gpus, *devices] if f.has_float64)
    place = name if "." in name else f"{name}.0"
    found = next((f for f in devices if f.place == place), None)
    if found is None:
        raise SpaceError(f"Space 'opencl': there is no device '{name}'; there are {known}.")
    if not found.has_float64:
        raise SpaceUnavailableError(
            f"Space 'opencl': device {found} has no float64 (cl_khr_fp64), which Python's own "
            f"numbers need; choose another of {known}."
        )
    return found


# What hides devices from drivers of GPUs: NVIDIA's, AMD's, Intel's.
_HIDING = (
    "CUDA_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "GPU_DEVICE_ORDINAL", "ZE_AFFINITY_MASK",
)  # fmt: skip


def peers() -> tuple[str, ...]:
    """Places of the device that is chosen without a name and of its like, that one first.

    Those are devices of the same platform and kind, for a GPU may be in several platforms. None
    for a processor, which all processes use anyway, nor where there is one device and the
    environment hides others: then the launcher of ranks may have divided them already.

    Raises
    ------
    SpaceError, SpaceUnavailableError
    """
    first = choose(None)
    gpu = first.device.type & cl.device_type.GPU  # its type may also say that it is the default
    if first.is_cpu and not gpu:
        return ()
    found = [
        f.place
        for f in all_devices()
        if f.platform == first.platform
        and f.has_float64
        and f.device.type & cl.device_type.GPU == gpu
        and (gpu or not f.is_cpu)
    ]
    if len(found) == 1 and any(name in os.environ for name in _HIDING):
        return ()
    return tuple(found)


_NO_DEVICE = (
    "no OpenCL device was found. Install a driver: on Debian and Ubuntu apt install "
    "pocl-opencl-icd (CPU), or in a checkout pip install -e plugins/opencl[cpu]; GPUs bring their "
    "own."
)


def driver_error(what: str, found: Found, error: Any) -> Exception:
    """The exception of execspace for one of the driver's at run time."""
    if error.code in _MEMORY_CODES:
        return MemoryError(
            f"{what}: device {found} has not enough memory or other resources ({error}). Drop "
            f"Views that are no longer needed, or make the launch smaller."
        )
    return SpaceError(
        f"{what}: the driver of device {found} reports an error ({error}). Results of work that "
        f"was under way are lost; if the device is, the program must be started again."
    )


_MEMORY_CODES = (
    cl.status_code.MEM_OBJECT_ALLOCATION_FAILURE,
    cl.status_code.OUT_OF_RESOURCES,
    cl.status_code.OUT_OF_HOST_MEMORY,
)
