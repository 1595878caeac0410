"""Matrices of the benchmark: stencils of grids, and a power law."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmarks.common.optional import cupy_on_device, library

Arrays = tuple[npt.NDArray[Any], npt.NDArray[Any], npt.NDArray[Any], tuple[int, int]]


def stencil(extents: tuple[int, ...], points: int) -> Arrays:
    """Row map, columns, values and shape of a stencil of 3^d or 2 d + 1 points; int32, float64."""
    every = list(product((-1, 0, 1), repeat=len(extents)))
    steps = every if points == len(every) else [s for s in every if sum(map(abs, s)) <= 1]
    if len(steps) != points:
        raise ValueError(f"no stencil of {points} points in {len(extents)} dimensions")
    n = int(np.prod(extents))
    where = np.indices(extents, dtype=np.int32)
    columns = np.empty((n, points), np.int32)
    there = np.empty((n, points), bool)
    for k, step in enumerate(steps):
        inside, at = np.ones(extents, bool), np.zeros(extents, np.int32)
        for grid, s, extent in zip(where, step, extents, strict=True):
            inside &= (grid + s >= 0) & (grid + s < extent)
            at = at * extent + grid + np.int32(s)
        columns[:, k], there[:, k] = at.ravel(), inside.ravel()
    row_map = np.zeros(n + 1, np.int32)
    np.cumsum(there.sum(1), out=row_map[1:])
    entries = columns[there]
    return row_map, entries, np.random.default_rng(1).random(entries.size), (n, n)


def rmat(scale: int, edges: int) -> Arrays:
    """A power law: 2^scale rows, so many edges a row before equal ones are merged.

    Chakrabarti, Zhan and Faloutsos, "R-MAT: a recursive model for graph mining", 2004, with the
    probabilities of Graph 500.
    """
    rng = np.random.default_rng(2)
    count = edges << scale
    row, column = np.zeros(count, np.int64), np.zeros(count, np.int64)
    for _ in range(scale):
        drawn = rng.random(count)
        row = 2 * row + (drawn >= 0.76)
        column = 2 * column + (((drawn >= 0.57) & (drawn < 0.76)) | (drawn >= 0.95))
    keys = np.unique(row << scale | column)
    n = 1 << scale
    row_map = np.searchsorted(keys >> scale, np.arange(n + 1)).astype(np.int32)
    entries = (keys & (n - 1)).astype(np.int32)
    return row_map, entries, rng.random(entries.size), (n, n)


def of_scipy(arrays: Arrays) -> Any:
    """The matrix for SciPy; raises what `library` does without it."""
    row_map, entries, values, shape = arrays
    return library("scipy.sparse").csr_array((values, entries, row_map), shape=shape)


def of_cupy(arrays: Arrays) -> Any:
    """The matrix for CuPy, on the device."""
    cupy, csr_matrix = cupy_on_device(), library("cupyx.scipy.sparse").csr_matrix
    row_map, entries, values, shape = arrays
    return csr_matrix(tuple(map(cupy.asarray, (values, entries, row_map))), shape=shape)
