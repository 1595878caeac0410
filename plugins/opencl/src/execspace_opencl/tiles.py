"""Work-groups in which a GPU goes through ranges of several dimensions: data.

Measured on an H200 (`make bench-mdrange`). What is not here is flat: streams, which groups of
several dimensions cannot help. Devices that are processors do contiguous parts instead.
"""

from __future__ import annotations

from execspace import TileTable

TILES = TileTable(
    "opencl",
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
