"""The seven-point Laplacian of a grid, rows of one rank at a time."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]


def rows_of(extents: tuple[int, int, int], begin: int, end: int) -> tuple[Array, Array, Array]:
    """Row map, columns and values of the rows from `begin` to `end`, columns ascending."""
    i = np.arange(begin, end, dtype=np.int64)
    place = np.unravel_index(i, extents)
    steps = (prod(extents[1:]), extents[2], 1)
    columns, there = [], []
    for d in (0, 1, 2):
        columns.append(i - steps[d])
        there.append(place[d] > 0)
    columns.append(i)
    there.append(np.ones(len(i), bool))
    for d in (2, 1, 0):
        columns.append(i + steps[d])
        there.append(place[d] < extents[d] - 1)
    inside = np.stack(there, axis=1)
    values = np.full(inside.shape, -1.0)
    values[:, 3] = 6.0
    row_map = np.concatenate([[0], np.cumsum(inside.sum(axis=1))])
    return row_map, np.stack(columns, axis=1)[inside], values[inside]
