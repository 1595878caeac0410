"""CuPy's binding of the driver, pretended: launches run to their end at once, on the host."""

from __future__ import annotations

from pretended import graphs, launching
from pretended.machine import CUDADriverError

__all__ = ["CUDADriverError", "funcGetAttribute", "funcSetAttribute", "launchKernel"]


def launchKernel(
    f: int, grid_dim_x: int, grid_dim_y: int, grid_dim_z: int, block_dim_x: int, block_dim_y: int,
    block_dim_z: int, shared_mem_bytes: int, stream: int, kernel_params: int, extra: int,
) -> None:  # fmt: skip
    """`kernel_params` is the address of a table of addresses."""
    grid, group = (grid_dim_x, grid_dim_y, grid_dim_z), (block_dim_x, block_dim_y, block_dim_z)

    def run() -> None:
        launching.launch(f, grid, group, shared_mem_bytes, kernel_params)

    # What a graph launches keeps its parameters, for each launch of one has a frame of its own.
    if not graphs.captured(stream, run):
        run()


def funcGetAttribute(attribute: int, f: int) -> int:
    return launching.attribute(attribute, f)


def funcSetAttribute(f: int, attribute: int, value: int) -> None:
    """A stub in CuPy for ROCm, which always fails."""
    raise CUDADriverError(999)


def get_build_version() -> int:
    return 70051831
