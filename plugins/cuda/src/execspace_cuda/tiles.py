"""Blocks of threads in which the GPU goes through ranges of several dimensions: data.

Measured on an H200 (`make bench-mdrange`), where a stencil of a thread's two neighbouring calls was
always faster than one call a thread. What is not here is flat: streams, which blocks cannot help.
"""

from __future__ import annotations

from execspace import TileTable

TILES = TileTable(
    "cuda",
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
