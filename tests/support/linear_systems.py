"""Systems of equations for tests of solvers, and their solutions. SciPy must be there."""

from __future__ import annotations

import numpy as np
import scipy.sparse as scipy_sparse

METHODS = ("cg", "bicgstab", "gmres", "chebyshev")


def hermitian(n, dtype=np.float64):
    """Positive definite, with eigenvalues between 0.5 and 4.5."""
    i, j = np.arange(n - 1), np.arange(1, n)
    beside = np.full(n - 1, 1j if np.dtype(dtype).kind == "c" else -1.0)
    rows, columns = np.concatenate([i, j, np.arange(n)]), np.concatenate([j, i, np.arange(n)])
    values = np.concatenate([beside, beside.conj(), np.full(n, 2.5)]).astype(dtype)
    return scipy_sparse.csr_array((values, (rows, columns)), shape=(n, n))


def skewed(n, dtype=np.float64):
    """Convection and diffusion."""
    S = scipy_sparse.diags_array(
        [-1.6, 3.0, -0.4], offsets=[-1, 0, 1], shape=(n, n)
    ).tocsr().astype(dtype)  # fmt: skip
    if np.dtype(dtype).kind == "c":
        S.data[::3] *= 1j
        S = S + 2j * scipy_sparse.eye_array(n, dtype=dtype)
    return S.tocsr().astype(dtype)


def solved(S, b):
    return np.linalg.solve(S.toarray().astype(np.complex128), b)
