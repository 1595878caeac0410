"""Conway's Game of Life on a board whose edges meet.

A live cell with two or three live neighbours lives on, and a dead one with three comes alive; all
cells change at once (M. Gardner, Scientific American 223, 1970, p. 120). Two boards take turns: one
is read while the other is written. A random board is compared with NumPy's, and a glider must
travel around the board and come back to where it began.

    python examples/programs/life.py --size 1000 --generations 500
"""

from __future__ import annotations

import argparse

import numpy as np
import numpy.typing as npt

import execspace as es

SMALL = {"size": 10, "generations": 5}

GLIDER = np.array([[0, 1, 0], [0, 0, 1], [1, 1, 1]], bool)


@es.kernel
def live(i, j, old, new):
    """Whether a cell is alive in the next generation."""
    rows, columns = old.extent(0), old.extent(1)
    total = 0  # of the cell and its neighbours
    for di in (-1, 0, 1):
        for dj in (-1, 0, 1):
            total += old[(i + di) % rows, (j + dj) % columns]
    new[i, j] = total == 3 or (total == 4 and old[i, j])


@es.kernel
def population(i, j, board):
    """Add up the cells that are alive."""
    return board[i, j]


def evolve(board: es.View[np.bool_], generations: int) -> es.View[np.bool_]:
    """The board after so many generations."""
    old, new = board.copy(), es.empty_like(board)
    cells = es.MDRangePolicy(board.shape)
    for _ in range(generations):
        es.parallel_for(cells, live, old, new)
        old, new = new, old
    return old


def by_numpy(board: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
    """The next generation by NumPy, which shifts the whole board in nine directions."""
    shifts = [(di, dj) for di in (-1, 0, 1) for dj in (-1, 0, 1)]
    total = sum(np.roll(board.astype(np.int8), shift, (0, 1)) for shift in shifts)
    return (total == 3) | (board & (total == 4))


def run(size: int = 256, generations: int = 100, seed: int = 1) -> dict[str, float]:
    """Follow a random board of `size` by `size` cells, and a glider on one of 8 by 8."""
    board = es.empty((size, size), es.bool_, label="board")
    es.fill_random(board, seed, 0, 2)
    last = evolve(board, generations)

    expected = board.to_numpy()
    for _ in range(generations):
        expected = by_numpy(expected)
    assert (last.to_numpy() == expected).all()
    cells = es.MDRangePolicy(board.shape)
    begin = es.parallel_reduce(cells, population, board)
    alive = es.parallel_reduce(cells, population, last)
    assert alive == np.count_nonzero(expected)

    # A glider moves by one cell down and to the right in four generations.
    glider = es.zeros((8, 8), es.bool_, label="glider")
    glider[:3, :3] = GLIDER
    assert (evolve(glider, 4).to_numpy() == np.roll(glider.to_numpy(), (1, 1), (0, 1))).all()
    assert (evolve(glider, 4 * 8).to_numpy() == glider.to_numpy()).all()
    return {"cells": board.size, "alive at first": begin, "alive": alive}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Conway's Game of Life.")
    parser.add_argument("--size", type=int, default=256, help="cells along each side")
    parser.add_argument("--generations", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1, help="of the random board")
    found = run(**vars(parser.parse_args()))
    print(f"{found['cells']} cells on {es.default_space().name}")
    print(f"alive at first: {found['alive at first']}, at last: {found['alive']}")
