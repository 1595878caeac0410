"""The model of with_pool.py, with_dask.py and with_ray.py: two substances that react and diffuse.

Gray and Scott's: U is fed, V turns U into more V and decays. The field is periodic, and an array of
shape (2, rows, columns). Whole fields, blocks of one and strips of one take the same kernel. What
travels between processes is NumPy arrays; Views stay in the process that made them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

import execspace as es

Array = np.ndarray[Any, np.dtype[np.float64]]

SPREADS = 0.16, 0.08  # U and V
FEED, KILL = 0.037, 0.06  # the default: a labyrinth


@es.kernel(fma=False)  # rounds as NumPy does
def react(i, j, old, new, feed, kill):
    """One step of a cell. Beyond an edge is the edge on the other side."""
    rows, columns = old.extent(1), old.extent(2)
    u, v = old[0, i, j], old[1, i, j]
    above = i - 1 if i > 0 else rows - 1
    below = i + 1 if i < rows - 1 else 0
    left = j - 1 if j > 0 else columns - 1
    right = j + 1 if j < columns - 1 else 0
    u_around = old[0, above, j] + old[0, below, j] + old[0, i, left] + old[0, i, right]
    v_around = old[1, above, j] + old[1, below, j] + old[1, i, left] + old[1, i, right]
    made = u * v * v
    new[0, i, j] = u + (SPREADS[0] * (u_around - 4.0 * u) - made + feed * (1.0 - u))
    new[1, i, j] = v + (SPREADS[1] * (v_around - 4.0 * v) + made - (feed + kill) * v)


def advance(cells: Array, steps: int, feed: float = FEED, kill: float = KILL) -> Array:
    """A task: what becomes of a field, or of a block, in so many steps.

    Of a block the outermost cells are wrong after one step, because the cells beyond them are not
    there, and with each step so is one cell more. Who passes a rim of `steps` cells around a block
    cuts it off afterwards.
    """
    old = es.array(cells, label="old")
    new = es.empty_like(old, label="new")
    policy = es.MDRangePolicy(cells.shape[1:])
    for _ in range(steps):
        es.parallel_for(policy, react, old, new, feed, kill)
        old, new = new, old
    return old.to_numpy()  # waits for the launches


class Strip:
    """Rows of a field, for actors: its Views live as long as the actor, in the actor's process."""

    def __init__(self, cells: Array, rim: int, feed: float = FEED, kill: float = KILL) -> None:
        self.rim, self.rates = rim, (feed, kill)
        two, rows, columns = cells.shape
        self.old = es.zeros((two, rows + 2 * rim, columns), label="old")
        self.new = es.zeros_like(self.old, label="new")
        self.old[:, rim : rim + rows] = cells
        self.policy = es.MDRangePolicy(self.old.shape[1:])

    def edges(self) -> tuple[Array, Array]:
        """The first and the last rows, as many as the rims of the neighbours have."""
        n = self.rim
        return self.old[:, n : 2 * n].to_numpy(), self.old[:, -2 * n : -n].to_numpy()

    def advance(self, steps: int, above: Array, below: Array) -> None:
        """Take the edges of the neighbours, and go at most as many steps as rims have rows."""
        n = self.rim
        self.old[:, :n] = es.array(above)  # a copy, since what arrives need not be aligned
        self.old[:, -n:] = es.array(below)
        for _ in range(steps):
            es.parallel_for(self.policy, react, self.old, self.new, *self.rates)
            self.old, self.new = self.new, self.old

    def cells(self) -> Array:
        """All rows without the rims."""
        return self.old[:, self.rim : -self.rim].to_numpy()


def started(rows: int, columns: int, seed: int = 1) -> Array:
    """A field of U with squares of V in it."""
    random = np.random.default_rng(seed)
    cells = np.zeros((2, rows, columns))
    cells[0] = 1.0
    side = max(2, min(rows, columns) // 16)
    for _ in range(max(4, rows * columns // 1500)):
        row, column = random.integers(rows), random.integers(columns)
        square = np.ix_(
            np.arange(row, row + side) % rows, np.arange(column, column + side) % columns
        )
        cells[0][square], cells[1][square] = 0.5, 0.25
    cells += 0.01 * random.random(cells.shape)
    return cells


def by_numpy(cells: Array, steps: int, feed: float = FEED, kill: float = KILL) -> Array:
    """What `advance` is judged by: the same steps of a whole field in NumPy."""

    def around(x: Array) -> Array:  # in the order of the kernel
        return np.roll(x, 1, 0) + np.roll(x, -1, 0) + np.roll(x, 1, 1) + np.roll(x, -1, 1)

    for _ in range(steps):
        u, v = cells
        made = u * v * v
        cells = np.stack(
            (
                u + (SPREADS[0] * (around(u) - 4.0 * u) - made + feed * (1.0 - u)),
                v + (SPREADS[1] * (around(v) - 4.0 * v) + made - (feed + kill) * v),
            )
        )
    return cells


def rounds(steps: int, each: int) -> Iterator[int]:
    """So many steps in parts of `each`, and what is left."""
    while steps > 0:
        yield min(steps, each)
        steps -= each
