"""A small matrix for each index: Cholesky, Givens, Jacobi, SU(3).

These kernels keep a matrix in a private array (`es.local`), hand rows and blocks of Views to
helpers, and get several numbers back from helpers. SOURCES.md says where the algorithms come from.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

import execspace as es
from execspace_testing import staged
from execspace_testing.sizes import needs_dtype


def spd_batch(count, n, seed):
    a = np.random.default_rng(seed).normal(size=(count, n, n))
    return a @ np.swapaxes(a, 1, 2) + n * np.eye(n)


# Batched Cholesky factorisation in place, by subscripts alone.
@es.kernel
def cholesky(m, a):
    n = a.extent(1)
    for j in range(n):
        for k in range(j):
            a[m, j, j] -= a[m, j, k] * a[m, j, k]
        a[m, j, j] = math.sqrt(a[m, j, j])
        for i in range(j + 1, n):
            for k in range(j):
                a[m, i, j] -= a[m, i, k] * a[m, j, k]
            a[m, i, j] /= a[m, j, j]
            a[m, j, i] = 0.0


def test_cholesky_factors_of_a_batch(space):
    a = spd_batch(6, 4, seed=1)
    factors = a.copy()
    with es.use_space(space):
        staged.parallel_for(len(a), cholesky, factors)
    np.testing.assert_allclose(factors, np.linalg.cholesky(a), rtol=1e-12, atol=1e-13)


# Solving with these factors: helpers that get subviews and return nothing.
def forward_substitution(low, x):
    for i in range(len(x)):
        for k in range(i):
            x[i] -= low[i, k] * x[k]
        x[i] /= low[i, i]


def backward_substitution(low, x):
    for i in range(len(x) - 1, -1, -1):
        for k in range(i + 1, len(x)):
            x[i] -= low[k, i] * x[k]
        x[i] /= low[i, i]


def test_triangular_solves_on_subviews(space):
    def solve(m, factors, rhs):
        low, x = factors[m, :, :], rhs[m, :]
        forward_substitution(low, x)
        backward_substitution(low, x)

    a = spd_batch(5, 4, seed=2)
    b = np.random.default_rng(3).normal(size=(5, 4))
    x = b.copy()
    with es.use_space(space):
        staged.parallel_for(len(a), solve, np.linalg.cholesky(a), x)
    np.testing.assert_allclose(np.einsum("mij,mj->mi", a, x), b, rtol=1e-12, atol=1e-13)


# Givens rotations (Golub and Van Loan, 5.1.9): a helper with early returns of tuples.
def givens(a, b):
    if b == 0:
        return 1.0, 0.0
    if abs(b) > abs(a):
        t = -a / b
        s = 1 / math.sqrt(1 + t * t)
        return s * t, s
    t = -b / a
    c = 1 / math.sqrt(1 + t * t)
    return c, c * t


def test_givens_rotations_triangularise_a_batch(space):
    @es.kernel
    def triangularise(m, a):
        rows, columns = a.extent(1), a.extent(2)
        for j in range(columns):
            for i in range(rows - 1, j, -1):
                c, s = givens(a[m, i - 1, j], a[m, i, j])
                for k in range(j, columns):
                    above, below = a[m, i - 1, k], a[m, i, k]
                    a[m, i - 1, k] = c * above - s * below
                    a[m, i, k] = s * above + c * below

    a = np.random.default_rng(4).normal(size=(5, 5, 3))
    a[0, 4, 0] = 0.0  # the early return
    r = a.copy()
    with es.use_space(space):
        staged.parallel_for(len(a), triangularise, r)
    np.testing.assert_allclose(np.tril(r, -1), 0, atol=1e-14)
    gram = np.swapaxes(a, 1, 2) @ a
    np.testing.assert_allclose(np.swapaxes(r, 1, 2) @ r, gram, rtol=1e-12, atol=1e-13)


# Cyclic Jacobi eigenvalues (Golub and Van Loan, 8.5) on a private copy.
def test_jacobi_eigenvalues_in_a_private_array(space):
    @es.kernel
    def jacobi_eigenvalues(m, matrices, out, sweeps):
        a = es.local((3, 3), es.float64)
        for i in range(3):
            for j in range(3):
                a[i, j] = matrices[m, i, j]
        for _ in range(sweeps):
            for p in range(2):
                for q in range(p + 1, 3):
                    if a[p, q] == 0.0:
                        continue
                    theta = (a[q, q] - a[p, p]) / (2 * a[p, q])
                    t = math.copysign(1.0, theta) / (abs(theta) + math.sqrt(theta * theta + 1))
                    c = 1 / math.sqrt(t * t + 1)
                    s = t * c
                    for k in range(3):
                        a[k, p], a[k, q] = c * a[k, p] - s * a[k, q], s * a[k, p] + c * a[k, q]
                    for k in range(3):
                        a[p, k], a[q, k] = c * a[p, k] - s * a[q, k], s * a[p, k] + c * a[q, k]
        for i in range(3):
            out[m, i] = a[i, i]

    matrices = np.random.default_rng(5).normal(size=(6, 3, 3))
    matrices += np.swapaxes(matrices, 1, 2)
    found = np.empty((6, 3))
    with es.use_space(space):
        staged.parallel_for(len(matrices), jacobi_eigenvalues, matrices, found, 6)
    expected = np.linalg.eigvalsh(matrices)
    np.testing.assert_allclose(np.sort(found), expected, rtol=1e-12, atol=1e-13)


def random_su3(*shape, seed):
    rng = np.random.default_rng(seed)
    q, r = np.linalg.qr(rng.normal(size=(*shape, 3, 3)) + 1j * rng.normal(size=(*shape, 3, 3)))
    phases = np.einsum("...ii->...i", r)
    q = q * (phases / abs(phases))[..., None, :]
    return q / np.linalg.det(q)[..., None, None] ** (1 / 3)


# Lattice QCD: the product of SU(3) matrices.
@es.kernel
def su3_multiply(site, a, b, c):
    for i in range(3):
        for j in range(3):
            z = 0j
            for k in range(3):
                z += a[site, i, k] * b[site, k, j]
            c[site, i, j] = z


@pytest.mark.parametrize(("dtype", "rtol"), [(np.complex128, 1e-14), (np.complex64, 1e-6)])
def test_products_of_su3_matrices_stay_in_the_group(space, dtype, rtol):
    needs_dtype(space, dtype)
    a, b = random_su3(2, 8, seed=6).astype(dtype)
    c = np.zeros_like(a)
    with es.use_space(space):
        staged.parallel_for(len(a), su3_multiply, a, b, c)
    np.testing.assert_allclose(c, a @ b, rtol=0, atol=4 * rtol)
    np.testing.assert_allclose(np.linalg.det(c), 1, rtol=0, atol=8 * rtol)


# The Wilson plaquette on a periodic lattice: helpers on blocks of Views, nested and private.
def test_the_plaquette_does_not_depend_on_the_gauge(space):
    needs_dtype(space, np.complex128)

    def multiply(a, b, out):
        for i in range(3):
            for j in range(3):
                out[i, j] = 0
                for k in range(3):
                    out[i, j] += a[i, k] * b[k, j]

    @es.kernel
    def plaquette(x, y, links):
        nx, ny = links.extent(0), links.extent(1)
        over = es.local((3, 3), es.complex128)
        round_about = es.local((3, 3), es.complex128)
        multiply(links[x, y, 0, :, :], links[(x + 1) % nx, y, 1, :, :], over)
        multiply(links[x, y, 1, :, :], links[x, (y + 1) % ny, 0, :, :], round_about)
        trace = 0.0
        for i in range(3):
            for j in range(3):
                trace += (over[i, j] * round_about[i, j].conjugate()).real
        return trace / 3

    shape = (4, 3)
    links = random_su3(*shape, 2, seed=7)
    g = random_su3(*shape, seed=8)
    dagger = np.conj(np.swapaxes(g, 2, 3))
    transformed = np.empty_like(links)
    transformed[:, :, 0] = g @ links[:, :, 0] @ np.roll(dagger, -1, axis=0)
    transformed[:, :, 1] = g @ links[:, :, 1] @ np.roll(dagger, -1, axis=1)
    with es.use_space(space):
        policy = es.MDRangePolicy(shape)
        cold = staged.parallel_reduce(
            policy, plaquette, np.broadcast_to(np.eye(3) + 0j, links.shape)
        )
        before = staged.parallel_reduce(policy, plaquette, links)
        after = staged.parallel_reduce(policy, plaquette, transformed)
    assert cold == pytest.approx(12, rel=1e-14)
    assert abs(before) < 11  # a random field is not the cold one
    assert after == pytest.approx(before, rel=1e-11)
