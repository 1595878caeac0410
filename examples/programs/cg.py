"""Conjugate gradients for a 27-point operator in three dimensions, without a matrix.

The operator is that of the HPCG benchmark: 26 on the diagonal, and -1 for each of up to 26
neighbours. Grids have a border of zeros, so points at the edge are no special case. The scalars of
the method stay where the grids are: the host launches ahead, and reads the residual now and then
to see whether it may stop. Try:

    python examples/programs/cg.py --size 96
    EXECSPACE_DEFAULT=serial python examples/programs/cg.py --tolerance 1e-6

Method: Y. Saad, Iterative Methods for Sparse Linear Systems, SIAM, 2003, algorithm 6.18. Problem:
J. Dongarra, M. A. Heroux and P. Luszczek, HPCG Benchmark, University of Tennessee, UT-EECS-15-736.
"""

from __future__ import annotations

import argparse
import itertools
import math

import numpy as np

import execspace as es

BOX = tuple(itertools.product((-1, 0, 1), repeat=3))  # a point and its 26 neighbours
CHECK_EVERY = 10  # iterations
SMALL = {"size": 4}  # for slow spaces


@es.kernel
def apply(i, j, k, p, q):
    """q = A p, and the contribution of a point to p . q."""
    box = 0.0
    for di, dj, dk in BOX:
        box += p[i + di, j + dj, k + dk]
    q[i, j, k] = 27 * p[i, j, k] - box
    return p[i, j, k] * q[i, j, k]


@es.kernel
def advance(i, j, k, x, r, p, q, rr, pq):
    """A step along p, as long as is best; the contribution to r . r of the new residual."""
    alpha = rr[()] / pq[()]
    x[i, j, k] += alpha * p[i, j, k]
    r[i, j, k] -= alpha * q[i, j, k]
    return r[i, j, k] * r[i, j, k]


@es.kernel
def turn(i, j, k, p, r, rr, rr_before):
    """The next direction, conjugate to the ones before."""
    p[i, j, k] = r[i, j, k] + rr[()] / rr_before[()] * p[i, j, k]


def run(size: int = 48, tolerance: float = 1e-10) -> dict[str, float]:
    """Solve A x = b for `size`^3 unknowns to a relative residual of `tolerance`, and check x."""
    inside = es.MDRangePolicy((1, 1, 1), (size + 1,) * 3)
    exact = np.pad(np.random.default_rng(27).random((size,) * 3), 1)  # a border of zeros
    b = 27 * exact - sum(np.roll(exact, step, axis=(0, 1, 2)) for step in BOX)

    x, q = es.zeros(b.shape, label="x"), es.zeros(b.shape, label="q")
    r = es.zeros_like(x, label="r")
    r[1:-1, 1:-1, 1:-1] = b[1:-1, 1:-1, 1:-1]
    p = r.copy(label="p")
    bb = es.parallel_reduce(inside, lambda i, j, k: r[i, j, k] ** 2)
    rr, rr_before, pq = es.full((), bb), es.empty(()), es.empty(())  # scalars, on the space

    # The operator is 27 - T T T, where T adds up three neighbours along one axis. So its
    # eigenvalues are known, and by theorem 6.29 in Saad's book the iterations that are enough.
    low, high = (1 + 2 * math.cos(math.pi * n / (size + 1)) for n in (1, size))
    smallest, largest = 27 - low**3, 27 - low**2 * high
    root = math.sqrt(largest / smallest)
    most = math.log(2 * root / tolerance) / math.log((root + 1) / (root - 1))

    iterations, residual = 0, 1.0
    while residual > tolerance:
        assert iterations < most, f"a residual of {residual} after {iterations} iterations"
        for _ in range(CHECK_EVERY):
            es.parallel_reduce(inside, apply, p, q, out=pq)
            rr, rr_before = rr_before, rr
            es.parallel_reduce(inside, advance, x, r, p, q, rr_before, pq, out=rr)
            es.parallel_for(inside, turn, p, r, rr, rr_before)
        iterations += CHECK_EVERY
        residual = math.sqrt(rr.item() / bb)

    error = float(np.linalg.norm(x.to_numpy() - exact))
    assert error < tolerance * math.sqrt(bb) / smallest, f"an error of {error}"
    return {"iterations": iterations, "residual": residual, "error": error}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Conjugate gradients for a 27-point operator.")
    parser.add_argument("--size", type=int, default=48, help="unknowns along each axis")
    parser.add_argument("--tolerance", type=float, default=1e-10, help="relative residual")
    found = run(**vars(parser.parse_args()))
    print(f"{found['iterations']} iterations on {es.default_space().name}")
    print(f"residual {found['residual']:.2e} of the right-hand side's norm")
    print(f"error    {found['error']:.2e} (norm of the difference to the exact solution)")
