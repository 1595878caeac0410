"""What this distribution announces to execspace. Imports nothing heavy."""

from __future__ import annotations

from collections.abc import Iterable
from importlib.util import find_spec

from execspace import ExecutionSpace, Probe, SpaceEntry, hookimpl
from execspace.base import config

config.declare(
    config.Variable(
        "OPENCL_MAPPING",
        None,
        "flat or chunked: one call of a kernel for each work-item, or a contiguous part of the "
        "range; default: flat on GPUs, chunked on CPUs",
    )
)
config.declare(
    config.Variable(
        "OPENCL_MEMORY",
        None,
        "device: on a CPU, too, Views are in buffers of the device and memory of the host is out "
        "of reach, as on a GPU; host: it is taken in place, the default on CPUs",
    )
)


def probe() -> Probe:
    """Kernels are compiled by the driver of an OpenCL device."""
    if find_spec("pyopencl") is None:
        return Probe(False, "pyopencl is not installed; pip install pyopencl")
    from .drivers.loader import prepare_loader

    try:
        prepare_loader()
        from .devices import NO_DEVICE, all_devices, choose, has_float64
        from .drivers.ending import FORKED, forked
    except ImportError as error:  # no loader, or one that does not fit
        return Probe(False, f"pyopencl cannot be imported ({error}); reinstall it")
    if forked():
        return Probe(False, FORKED)
    devices = all_devices()
    if not devices:
        return Probe(False, NO_DEVICE)
    if not any(has_float64(f.device) for f in devices):
        names = ", ".join(map(str, devices))
        return Probe(False, f"no device has float64 (cl_khr_fp64): {names}")
    return Probe(True, device=str(choose(None)))


def make_opencl(device: str | None) -> ExecutionSpace:
    """Factory of the `opencl` entry."""
    from .drivers.loader import prepare_loader

    prepare_loader()
    from .space import OpenCL

    return OpenCL(device)


@hookimpl
def execspace_register_spaces() -> Iterable[SpaceEntry]:
    """The `opencl` space; devices are named "opencl:PLATFORM.DEVICE"."""
    yield SpaceEntry(
        "opencl",
        factory=make_opencl,
        api_version=(0, 1),
        priority=5,
        probe=probe,
        summary="a device with an OpenCL driver: GPU or CPU",
    )
