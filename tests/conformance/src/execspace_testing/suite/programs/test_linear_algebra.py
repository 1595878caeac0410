"""Dense, sparse and batched linear algebra: vectors, matrices, CG, small factorisations.

Each kernel is checked against NumPy's dense algebra, or against numbers that are exact.
SOURCES.md says where the algorithms come from.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

import execspace as es
from execspace_testing import staged


# BabelStream: copy, mul, add, triad and dot, repeated.
@es.kernel
def stream_copy(i, a, c):
    c[i] = a[i]


@es.kernel
def stream_mul(i, scalar, b, c):
    b[i] = scalar * c[i]


@es.kernel
def stream_add(i, a, b, c):
    c[i] = a[i] + b[i]


@es.kernel
def stream_triad(i, scalar, a, b, c):
    a[i] = b[i] + scalar * c[i]


def test_babelstream_gives_the_values_of_the_scalar_recurrence(space):
    n, scalar, repeats = 200, 0.4, 4
    a, b, c = np.full(n, 0.1), np.full(n, 0.2), np.zeros(n)
    gold_a, gold_b, gold_c = 0.1, 0.2, 0.0
    with es.use_space(space):
        for _ in range(repeats):
            staged.parallel_for(n, stream_copy, a, c)
            staged.parallel_for(n, stream_mul, scalar, b, c)
            staged.parallel_for(n, stream_add, a, b, c)
            staged.parallel_for(n, stream_triad, scalar, a, b, c)
            gold_c = gold_a
            gold_b = scalar * gold_c
            gold_c = gold_a + gold_b
            gold_a = gold_b + scalar * gold_c
        x, y = staged.place(space, a), staged.place(space, b)
        dot = staged.parallel_reduce(n, lambda i: x[i] * y[i])
    for values, gold in ((a, gold_a), (b, gold_b), (c, gold_c)):
        np.testing.assert_allclose(values, gold, rtol=1e-14)
    assert dot == pytest.approx(gold_a * gold_b * n, rel=1e-13)


# Parallel Research Kernels: nstream, in float32 with a weak scalar.
def test_nstream_is_exact_in_whole_numbers_and_stays_float32(space):
    def nstream(i, target, left, right, scale):
        target[i] += left[i] + scale * right[i]

    n, repeats = 100, 5
    a, b, c = np.zeros(n, np.float32), np.full(n, 2, np.float32), np.full(n, 2, np.float32)
    with es.use_space(space):
        for _ in range(repeats):
            staged.parallel_for(n, nstream, a, b, c, 3.0)
        x = staged.place(space, a)
        checksum = staged.parallel_reduce(n, lambda i: abs(x[i]))
    assert checksum == n * repeats * (2 + 3 * 2)


# PolyBench / NPBench: gemm.
@es.kernel
def gemm(i, j, alpha, beta, a, b, c):
    total = 0.0
    for k in range(a.shape[1]):
        total += a[i, k] * b[k, j]
    c[i, j] = alpha * total + beta * c[i, j]


@pytest.mark.parametrize("layout", ["right", "left"])
def test_gemm_is_exact_in_whole_numbers(space, layout):
    rng = np.random.default_rng(1)
    a, b, c = (rng.integers(-9, 9, shape).astype(float) for shape in ((7, 5), (5, 6), (7, 6)))
    expected = 2 * a @ b - 3 * c
    with es.use_space(space):
        A, B, C = (es.View(x.shape, layout=layout) for x in (a, b, c))
        for view, array in ((A, a), (B, b), (C, c)):
            es.deep_copy(view, array)
        staged.parallel_for(es.MDRangePolicy(C.shape), gemm, 2, -3, A, B, C)
    np.testing.assert_array_equal(staged.fetch(C), expected)


# PolyBench / NPBench: syrk updates the lower triangle only. Early return.
@es.kernel
def syrk(i, j, alpha, beta, a, c):
    if j > i:
        return
    c[i, j] *= beta
    for k in range(a.extent(1)):
        c[i, j] += alpha * a[i, k] * a[j, k]


def test_syrk_updates_the_lower_triangle_and_nothing_else(space):
    rng = np.random.default_rng(2)
    a, c = rng.normal(size=(8, 5)), rng.normal(size=(8, 8))
    full = 1.5 * a @ a.T + 1.2 * c
    expected = np.where(np.tri(8, dtype=bool), full, c)
    with es.use_space(space):
        staged.parallel_for(es.MDRangePolicy(c.shape), syrk, 1.5, 1.2, a, c)
    np.testing.assert_allclose(c, expected, rtol=1e-13, atol=1e-14)
    np.testing.assert_array_equal(np.triu(c, 1), np.triu(expected, 1))


# PolyBench / NPBench: atax, y = A^T (A x), as a product by rows and one by columns.
def test_atax_is_the_product_with_the_normal_matrix(space):
    def row_times(i, a, x, out):
        out[i] = 0
        for j in range(a.extent(1)):
            out[i] += a[i, j] * x[j]

    def column_times(j, a, x, out):
        total = 0.0
        for i in range(len(a)):
            total += a[i, j] * x[i]
        out[j] = total

    rng = np.random.default_rng(3)
    a, x = rng.normal(size=(20, 12)), rng.normal(size=12)
    ax, y = np.empty(20), np.empty(12)
    with es.use_space(space):
        staged.parallel_for(20, row_times, a, x, ax)
        staged.parallel_for(12, column_times, a, ax, y)
    np.testing.assert_allclose(y, a.T @ (a @ x), rtol=1e-12)


# JACC.jl and many others: conjugate gradients on a CSR matrix with int32 indices.
@es.kernel
def csr_matvec(row, start, columns, values, x, y):
    total = 0.0
    for k in range(start[row], start[row + 1]):
        total += values[k] * x[columns[k]]
    y[row] = total


def csr(dense):
    rows, columns = np.nonzero(dense)
    start = np.searchsorted(rows, np.arange(len(dense) + 1)).astype(np.int32)
    return start, columns.astype(np.int32), dense[rows, columns]


def test_conjugate_gradients_solve_the_poisson_equation(space):
    line = 2 * np.eye(6) - np.eye(6, k=1) - np.eye(6, k=-1)
    dense = np.kron(line, np.eye(6)) + np.kron(np.eye(6), line)
    n = len(dense)
    start, columns, values = csr(dense)
    rhs = np.random.default_rng(4).normal(size=n)
    x, r, p, ap = np.zeros(n), rhs.copy(), rhs.copy(), np.zeros(n)

    def dot(i, u, v):
        return u[i] * v[i]

    def axpy(i, a, u, v):
        v[i] += a * u[i]

    def new_direction(i, beta, residual, direction):
        direction[i] = residual[i] + beta * direction[i]

    with es.use_space(space):
        rr = staged.parallel_reduce(n, dot, r, r)
        iterations = 0
        while rr > 1e-24 and iterations < n:
            staged.parallel_for(n, csr_matvec, start, columns, values, p, ap)
            alpha = rr / staged.parallel_reduce(n, dot, p, ap)
            staged.parallel_for(n, axpy, alpha, p, x)
            staged.parallel_for(n, axpy, -alpha, ap, r)
            rr, old = staged.parallel_reduce(n, dot, r, r), rr
            staged.parallel_for(n, new_direction, rr / old, r, p)
            iterations += 1
    assert iterations < n  # exact arithmetic needs as many as there are distinct eigenvalues
    np.testing.assert_allclose(x, np.linalg.solve(dense, rhs), rtol=1e-10, atol=1e-12)


# HPCG: the 27-point operator, matrix-free. Chained comparisons and continue.
@es.kernel
def apply_27_points(i, j, k, x, y):
    nx, ny, nz = x.shape
    total = 27.0 * x[i, j, k]
    for a in range(i - 1, i + 2):
        if not 0 <= a < nx:
            continue
        for b in range(j - 1, j + 2):
            if not 0 <= b < ny:
                continue
            for c in range(k - 1, k + 2):
                if c < 0 or c >= nz:
                    continue
                total -= x[a, b, c]
    y[i, j, k] = total


def test_27_point_operator_counts_missing_neighbours(space):
    shape = (4, 3, 5)
    x, y = np.ones(shape), np.zeros(shape)
    with es.use_space(space):
        staged.parallel_for(es.MDRangePolicy(shape), apply_27_points, x, y)
    there = [np.array([3 - (p in (0, n - 1)) for p in range(n)]) for n in shape]
    np.testing.assert_array_equal(y, 27.0 - np.einsum("i,j,k->ijk", *there))


# The Thomas algorithm for many tridiagonal systems, one per index. A loop that counts down.
@es.kernel
def thomas(s, lower, diagonal, upper, x, factor):
    n = diagonal.extent(1)
    factor[s, 0] = upper[s, 0] / diagonal[s, 0]
    x[s, 0] /= diagonal[s, 0]
    for k in range(1, n):
        pivot = diagonal[s, k] - lower[s, k] * factor[s, k - 1]
        factor[s, k] = upper[s, k] / pivot
        x[s, k] = (x[s, k] - lower[s, k] * x[s, k - 1]) / pivot
    for k in range(n - 2, -1, -1):
        x[s, k] -= factor[s, k] * x[s, k + 1]


def test_thomas_solves_a_batch_of_tridiagonal_systems(space):
    rng = np.random.default_rng(5)
    systems, n = 6, 9
    lower, upper = rng.normal(size=(2, systems, n))
    diagonal = 4 + np.abs(rng.normal(size=(systems, n)))
    lower[:, 0] = upper[:, -1] = 0
    rhs = rng.normal(size=(systems, n))
    x = rhs.copy()
    with es.use_space(space):
        staged.parallel_for(systems, thomas, lower, diagonal, upper, x, np.empty_like(x))
    for s in range(systems):
        dense = np.diag(diagonal[s]) + np.diag(lower[s, 1:], -1) + np.diag(upper[s, :-1], 1)
        np.testing.assert_allclose(dense @ x[s], rhs[s], rtol=1e-12, atol=1e-13)


# Eigenvalues of symmetric 3x3 matrices in closed form (O. K. Smith, CACM 4, 1961).
@es.kernel
def eigenvalues_3x3(m, a, out):
    off = a[m, 0, 1] ** 2 + a[m, 0, 2] ** 2 + a[m, 1, 2] ** 2
    d0, d1, d2 = a[m, 0, 0], a[m, 1, 1], a[m, 2, 2]
    mean = (d0 + d1 + d2) / 3
    scale = math.sqrt(((d0 - mean) ** 2 + (d1 - mean) ** 2 + (d2 - mean) ** 2 + 2 * off) / 6)
    if scale == 0:
        out[m, 0] = out[m, 1] = out[m, 2] = mean
        return
    b00, b11, b22 = (d0 - mean) / scale, (d1 - mean) / scale, (d2 - mean) / scale
    b01, b02, b12 = a[m, 0, 1] / scale, a[m, 0, 2] / scale, a[m, 1, 2] / scale
    half_det = (
        b00 * (b11 * b22 - b12 * b12)
        - b01 * (b01 * b22 - b12 * b02)
        + b02 * (b01 * b12 - b11 * b02)
    ) / 2
    angle = math.acos(max(-1.0, min(1.0, half_det))) / 3
    greatest = mean + 2 * scale * math.cos(angle)
    least = mean + 2 * scale * math.cos(angle + 2 * math.pi / 3)
    out[m, 0], out[m, 1], out[m, 2] = least, 3 * mean - greatest - least, greatest


def test_eigenvalues_of_3x3_matrices_in_closed_form(space):
    a = np.random.default_rng(6).normal(size=(40, 3, 3))
    a += np.swapaxes(a, 1, 2)
    a[0] = 5 * np.eye(3)
    found = np.empty((40, 3))
    with es.use_space(space):
        staged.parallel_for(40, eigenvalues_3x3, a, found)
    np.testing.assert_allclose(found, np.linalg.eigvalsh(a), rtol=1e-9, atol=1e-9)
    assert found[0].tolist() == [5.0, 5.0, 5.0]
