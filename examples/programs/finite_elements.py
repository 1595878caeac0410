"""Finite elements: -laplace(u) = f on the unit square, u = 0 on its boundary, linear triangles.

Each triangle adds its 3 by 3 matrix to the stiffness matrix, in compressed rows (CRS), by atomic
operations. Conjugate gradients solve the system; their scalars stay where the vectors are. See
Elman, Silvester and Wathen, Finite Elements and Fast Iterative Solvers, 2nd edition (2014),
chapters 1 and 2. Run it:

    python examples/programs/finite_elements.py --cells 200
"""

from __future__ import annotations

import argparse
import math

import numpy as np

import execspace as es

SMALL = {"cells": 4}


@es.function
def exact(x, y):
    """The solution that was chosen; f = -laplace(u) is 5 pi^2 times as much."""
    return math.sin(math.pi * x) * math.sin(2 * math.pi * y)


@es.function
def normal(xy, p, q):
    """Normal of the side from node p to node q, as long as the side."""
    return xy[p, 1] - xy[q, 1], xy[q, 0] - xy[p, 0]


@es.function
def area(xy, a, b, c):
    """Area of a triangle whose corners go round anticlockwise."""
    (s, t), (v, w) = normal(xy, c, a), normal(xy, a, b)
    return (s * w - t * v) / 2


@es.kernel
def assemble(t, triangles, xy, is_edge, begin, column, matrix, load):
    """Add what a triangle contributes; rows and columns of nodes on the boundary stay zero."""
    a, b, c = triangles[t, 0], triangles[t, 1], triangles[t, 2]
    size = area(xy, a, b, c)
    corners = ((a, normal(xy, b, c)), (b, normal(xy, c, a)), (c, normal(xy, a, b)))
    for i, (gx, gy) in corners:  # twice the area times the gradient of i's basis function
        if not is_edge[i]:
            f = 5 * math.pi**2 * exact(xy[i, 0], xy[i, 1])
            es.atomic_add(load, i, f * size / 3)
            for j, (hx, hy) in corners:
                if not is_edge[j]:
                    at = begin[i]
                    while column[at] != j:
                        at += 1
                    es.atomic_add(matrix, at, (gx * hx + gy * hy) / (4 * size))


@es.kernel
def multiply(i, begin, column, matrix, p, Ap):
    """A row of Ap = A p, and what it contributes to the dot product of p and Ap."""
    total = 0.0
    for at in range(begin[i], begin[i + 1]):
        total += matrix[at] * p[column[at]]
    Ap[i] = total
    return p[i] * total


@es.kernel
def descend(i, u, r, p, Ap, rr, pAp):
    """Go to the minimum along p; what is returned sums to the square of the new residual."""
    alpha = rr[()] / pAp[()]
    u[i] += alpha * p[i]
    r[i] -= alpha * Ap[i]
    return r[i] * r[i]


@es.kernel
def turn(i, r, p, new_rr, rr):
    """The next direction."""
    p[i] = r[i] + new_rr[()] / rr[()] * p[i]


@es.kernel
def error_squared(t, triangles, xy, u):
    """Integral of the squared error over a triangle, by the midpoints of its sides."""
    a, b, c = triangles[t, 0], triangles[t, 1], triangles[t, 2]
    total = 0.0
    for i, j in ((a, b), (b, c), (c, a)):
        x, y = (xy[i, 0] + xy[j, 0]) / 2, (xy[i, 1] + xy[j, 1]) / 2
        total += ((u[i] + u[j]) / 2 - exact(x, y)) ** 2
    return total * area(xy, a, b, c) / 3


def conjugate_gradients(begin: es.View, column: es.View, matrix: es.View, b: es.View) -> es.View:
    """Solve A u = b until the residual is 1e-10 of b."""
    n = b.size
    u, r, p, Ap = es.zeros_like(b), b.copy(), b.copy(), es.empty_like(b)
    rr, new_rr, pAp = es.empty(()), es.empty(()), es.empty(())
    es.parallel_reduce(n, lambda i: r[i] * r[i], out=rr)
    goal = 1e-20 * rr.item()
    while rr.item() > goal:  # the one number that the host reads
        es.parallel_reduce(n, multiply, begin, column, matrix, p, Ap, out=pAp)
        es.parallel_reduce(n, descend, u, r, p, Ap, rr, pAp, out=new_rr)
        es.parallel_for(n, turn, r, p, new_rr, rr)
        rr, new_rr = new_rr, rr
    return u


def solve(cells: int) -> float:
    """The error in the L2 norm on a distorted grid of cells by cells, two triangles in each."""
    s, t = np.meshgrid(np.linspace(0, 1, cells + 1), np.linspace(0, 1, cells + 1))
    bump = 0.1 * np.sin(np.pi * s) * np.sin(np.pi * t)
    is_edge = (s == 0) | (s == 1) | (t == 0) | (t == 1)
    node = np.arange(s.size).reshape(s.shape)
    a, b, c, d = node[:-1, :-1], node[:-1, 1:], node[1:, 1:], node[1:, :-1]
    corners = np.stack([a, b, c, a, c, d], axis=-1).reshape(-1, 3)

    # The entries of the matrix: all pairs of nodes that a triangle has, in order of the rows.
    pairs = np.unique(np.repeat(corners, 3, axis=1) * s.size + np.tile(corners, 3))
    begin = es.array(np.searchsorted(pairs, np.arange(s.size + 1) * s.size), label="begin")
    column = es.array(pairs % s.size, label="column")
    matrix, load = es.zeros(pairs.size, label="matrix"), es.zeros(s.size, label="load")

    triangles = es.array(corners, label="triangles")
    xy = es.array(np.stack([(s + bump).ravel(), (t - bump).ravel()], axis=-1), label="xy")
    es.parallel_for(
        len(triangles), assemble, triangles, xy, es.In(is_edge.ravel()), begin, column, matrix, load
    )
    u = conjugate_gradients(begin, column, matrix, load)
    return math.sqrt(es.parallel_reduce(len(triangles), error_squared, triangles, xy, u))


def run(cells: int = 64) -> dict[str, float]:
    """Solve on a grid and on one of half the spacing; the error must go with its square."""
    coarse, fine = solve(cells), solve(2 * cells)
    order = math.log2(coarse / fine)
    # The error is c h^2 (1 + O(h^2)), so its order differs from 2 by O(h^2).
    assert abs(order - 2) < 2 / cells**2
    return {"error on the coarse grid": coarse, "on the fine grid": fine, "order": order}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cells", type=int, default=64, help="cells in a row of the coarse grid")
    for name, value in run(**vars(parser.parse_args())).items():
        print(f"{name}: {value:.4g}")
