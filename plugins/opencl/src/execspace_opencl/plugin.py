"""What this distribution announces to execspace. Imports nothing heavy."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from importlib.util import find_spec

from execspace import ExecutionSpace, Probe, SpaceEntry, SpaceError, hookimpl
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
        from .devices import choose

        return Probe(True, device=str(choose(None)))
    except ImportError as error:  # no loader, or one that does not fit
        return Probe(False, f"pyopencl cannot be imported ({error}); reinstall it")
    except SpaceError as error:
        return Probe(False, str(error).removeprefix("Space 'opencl': "))


def devices() -> Sequence[str]:
    """Devices among which ranks of a host are divided, as `SpaceEntry` asks."""
    from .devices import peers

    return peers()


def make_opencl(device: str | None) -> ExecutionSpace:
    """Factory of the `opencl` entry."""
    from .drivers.loader import prepare_loader

    prepare_loader()
    from .space import space_of

    return space_of(device)


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
        devices=devices,
    )
