"""Four kernels from bound by memory to bound by arithmetic, for the roofline of a space.

    execspace run --tool roofline:plot=roofline.png examples/roofline.py --space openmp

A triad and a heat equation move much and compute little; a product of matrices and bodies that
attract each other read the same numbers again and again.
"""

from __future__ import annotations

import argparse
import math

import numpy as np

import execspace as es


@es.kernel
def triad(i, a, x, y, z):
    """The least work for its bytes."""
    z[i] = x[i] + a * y[i]


@es.kernel
def heat(i, j, old, new):
    """One explicit step of the heat equation."""
    around = old[i - 1, j] + old[i + 1, j] + old[i, j - 1] + old[i, j + 1]
    new[i, j] = old[i, j] + 0.1 * (around - 4 * old[i, j])


@es.kernel
def product(i, j, a, b, c):
    """An element of a product of matrices, read from memory anew each time."""
    total = 0.0
    for k in range(a.extent(1)):
        total += a[i, k] * b[k, j]
    c[i, j] = total


@es.kernel
def attract(i, x, y, m, fx, fy, softening):
    """The force of all bodies on one."""
    ax = ay = 0.0
    for j in range(x.extent(0)):
        dx, dy = x[j] - x[i], y[j] - y[i]
        near = dx * dx + dy * dy + softening
        pull = m[j] / (near * math.sqrt(near))
        ax += pull * dx
        ay += pull * dy
    fx[i] = m[i] * ax
    fy[i] = m[i] * ay


def main() -> None:
    """Launch each kernel a few times and check the forces."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--space", help="default: the best usable one")
    parser.add_argument("--size", type=float, default=1.0, help="of all arrays (default: 1)")
    parser.add_argument("--repeat", type=int, default=10, help="launches of each kernel")
    options = parser.parse_args()
    space = es.default_space() if options.space is None else es.space(options.space)
    n = int(16_000_000 * options.size)
    edge = int(math.sqrt(n))
    rank = int(1000 * options.size ** (1 / 3))
    bodies = int(20_000 * math.sqrt(options.size))
    rng = np.random.default_rng(1)

    def filled(*shape: int) -> es.View:
        view = es.View(shape, space=space)
        es.deep_copy(view, rng.random(shape))
        return view

    with es.use_space(space):
        x, y, z = filled(n), filled(n), es.View(n)
        old, new = filled(edge, edge), es.View((edge, edge))
        a, b, c = filled(rank, rank), filled(rank, rank), es.View((rank, rank))
        px, py, mass = filled(bodies), filled(bodies), filled(bodies)
        fx, fy = es.View(bodies), es.View(bodies)
        for _ in range(options.repeat):
            es.parallel_for(n, triad, 2.0, x, y, z)
            es.parallel_for(es.MDRangePolicy((1, 1), (edge - 1, edge - 1)), heat, old, new)
            es.parallel_for(es.MDRangePolicy((rank, rank)), product, a, b, c)
            es.parallel_for(bodies, attract, px, py, mass, fx, fy, 1e-3)
        total = es.parallel_reduce(bodies, lambda i: fx[i] + fy[i], label="total force")
    scale = float(np.abs(np.asarray(es.create_mirror_view_and_copy(es.HOST, fx))).sum())
    print(f"forces add up to {abs(total) / scale:.1e} of their sizes: each has its opposite")


if __name__ == "__main__":
    main()
