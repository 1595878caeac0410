"""Many small matrices at once, one a thread, in private arrays: eigenvalues, and linear systems.

Eigenvalues of symmetric matrices are those of cyclic Jacobi (Golub and Van Loan, Matrix
Computations, 4th edition, 2013, section 8.5). Systems are solved by LU with partial pivoting
(section 3.4 there). Run it:

    python examples/programs/small_matrices.py --batch 100000
"""

from __future__ import annotations

import argparse
import math

import numpy as np

import execspace as es

SMALL = {"batch": 30}

SWEEPS = 6  # converges quadratically; with a fixed number all threads do the same


@es.kernel
def eigenvalues(i, matrices, values):
    """Eigenvalues of the lower triangle of a symmetric matrix, in ascending order."""
    n = matrices.extent(1)
    a = es.local((matrices.extent(1), matrices.extent(2)))  # static extents are constants
    for p in range(n):
        for q in range(p + 1):
            a[p, q] = a[q, p] = matrices[i, p, q]

    for _ in range(SWEEPS):
        for p in range(n - 1):
            for q in range(p + 1, n):
                rotate(a, p, q)

    for p in range(n):  # insertion sort
        q = p
        while q > 0 and values[i, q - 1] > a[p, p]:
            values[i, q] = values[i, q - 1]
            q -= 1
        values[i, q] = a[p, p]


@es.function
def rotate(a, p, q):
    """Make a[p, q] zero by a rotation of rows and columns p and q."""
    if a[p, q] == 0:
        return
    tau = (a[q, q] - a[p, p]) / (2 * a[p, q])
    t = math.copysign(1.0, tau) / (abs(tau) + math.sqrt(1 + tau * tau))
    c = 1 / math.sqrt(1 + t * t)
    s = t * c
    for k in range(a.extent(0)):
        a[k, p], a[k, q] = c * a[k, p] - s * a[k, q], s * a[k, p] + c * a[k, q]
    for k in range(a.extent(0)):
        a[p, k], a[q, k] = c * a[p, k] - s * a[q, k], s * a[p, k] + c * a[q, k]


@es.kernel
def solve(i, matrices, right, solutions):
    """Solve one system by LU with partial pivoting, L applied to the right-hand side at once."""
    n = matrices.extent(1)
    a = es.local((matrices.extent(1), matrices.extent(2)))
    x = es.local(matrices.extent(1))
    for p in range(n):
        x[p] = right[i, p]
        for q in range(n):
            a[p, q] = matrices[i, p, q]

    for k in range(n):
        pivot = k
        for p in range(k + 1, n):
            if abs(a[p, k]) > abs(a[pivot, k]):
                pivot = p
        x[k], x[pivot] = x[pivot], x[k]
        for q in range(k, n):
            a[k, q], a[pivot, q] = a[pivot, q], a[k, q]
        for p in range(k + 1, n):
            factor = a[p, k] / a[k, k]
            x[p] -= factor * x[k]
            for q in range(k + 1, n):
                a[p, q] -= factor * a[k, q]

    for p in range(n - 1, -1, -1):  # U x = L^-1 b
        for q in range(p + 1, n):
            x[p] -= a[p, q] * x[q]
        x[p] /= a[p, p]
    for p in range(n):
        solutions[i, p] = x[p]


def run(batch: int = 50_000, seed: int = 3) -> dict[str, float]:
    """Random matrices: 3 by 3 for eigenvalues, 6 by 6 for systems; compare with numpy.linalg."""
    three, six = es.static(3), es.static(6)  # extents that kernels are compiled for
    symmetric = es.empty((batch, three, three), label="symmetric")
    matrices = es.empty((batch, six, six), label="matrices")
    right = es.empty((batch, six), label="right")
    es.fill_random(symmetric, seed, -1.0, 1.0)
    es.fill_random(matrices, seed + 1, -1.0, 1.0)
    es.fill_random(right, seed + 2, -1.0, 1.0)

    values, solutions = es.empty((batch, three), label="values"), es.empty_like(right)
    es.parallel_for(batch, eigenvalues, symmetric, values)
    es.parallel_for(batch, solve, matrices, right, solutions)

    # Rotations are orthogonal: each eigenvalue is off by some eps times the norm, here at most 3.
    wrong = np.abs(values.to_numpy() - np.linalg.eigvalsh(symmetric.to_numpy())).max()
    assert wrong < 3 * 20 * np.finfo(float).eps

    # Higham, Accuracy and Stability of Numerical Algorithms (2002), section 9.3: the relative error
    # of both solutions is a small multiple of n eps times the condition number.
    a, b, x = matrices.to_numpy(), right.to_numpy(), solutions.to_numpy()
    expected = np.linalg.solve(a, b[:, :, None])[:, :, 0]
    difference = np.abs(x - expected).max(axis=1) / np.abs(expected).max(axis=1)
    error = difference / np.linalg.cond(a, 1)
    assert error.max() < 10 * 6 * np.finfo(float).eps
    return {"eigenvalues": float(wrong), "solutions by condition": float(error.max())}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--batch", type=int, default=50_000, help="number of matrices")
    for name, value in run(**vars(parser.parse_args())).items():
        print(f"greatest difference from numpy.linalg, {name}: {value:.1e}")
