"""Tiles for GPUs: the blocks of threads in which they go through ranges of several dimensions.

Data, measured on an H200 (`make bench-mdrange`). There a stencil of a thread's neighbouring calls
was always faster than one call a thread. What is not here is flat: streams, which blocks cannot
help. A plugin for other GPUs has a table of its own.
"""

from __future__ import annotations

from execspace import TileTable


def gpu_tiles(name: str) -> TileTable:
    """The table, under the name of a space."""
    return TileTable(
        name,
        {
            "stencil": {
                2: (64, 4), 3: (64, 4, 1), 4: (64, 4, 1, 1), 5: (64, 4, 1, 1, 1),
                6: (64, 4, 1, 1, 1, 1),
            },
            "transpose": {
                2: (8, 32), 3: (8, 32, 1), 4: (8, 32, 1, 1), 5: (8, 32, 1, 1, 1),
                6: (8, 32, 1, 1, 1, 1),
            },
        },
        {
            "stencil": {
                2: (1, 4), 3: (1, 1, 2), 4: (1, 1, 2, 1), 5: (1, 1, 2, 1, 1), 6: (1, 1, 2, 1, 1, 1),
            },
            "transpose": {
                2: (1, 2), 3: (1, 2, 1), 4: (1, 2, 1, 1), 5: (1, 2, 1, 1, 1), 6: (1, 2, 1, 1, 1, 1),
            },
        },
        summary="measured on an H200",
    )  # fmt: skip
