"""Default tiles for GPUs: thread blocks for ranges of several dimensions.

Data, measured on an H200 (`make bench-mdrange`). There, several neighbouring calls per thread were
always faster for stencils than one call per thread. Patterns without an entry are flat: streams
and gathers, which do not profit from blocks. A plugin for other GPUs has its own table.
"""

from __future__ import annotations

from execspace import TileTable


def gpu_tiles(name: str) -> TileTable:
    """The table, with the name of a space."""
    return TileTable(
        name,
        {
            "stencil": {
                2: (64, 4), 3: (64, 4, 1), 4: (64, 4, 1, 1), 5: (64, 4, 1, 1, 1),
                6: (64, 4, 1, 1, 1, 1),
            },
            # Rows of 16 bytes a thread.
            "packed stencil": {
                2: (64, 4), 3: (32, 4, 2), 4: (32, 4, 2, 1), 5: (32, 4, 2, 1, 1),
                6: (32, 4, 2, 1, 1, 1),
            },
            "transpose": {
                2: (8, 32), 3: (8, 32, 1), 4: (8, 32, 1, 1), 5: (8, 32, 1, 1, 1),
                6: (8, 32, 1, 1, 1, 1),
            },
            "loop": {
                2: (32, 4), 3: (32, 4, 1), 4: (32, 4, 1, 1), 5: (32, 4, 1, 1, 1),
                6: (32, 4, 1, 1, 1, 1),
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
