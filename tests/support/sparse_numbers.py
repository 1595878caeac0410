"""Types and numbers that tests of sparse matrices go through, and when results are equal."""

from __future__ import annotations

import numpy as np

DTYPES = (np.float32, np.float64, np.complex64, np.complex128)


def numbers(shape, dtype=np.float64, seed=0):
    rng = np.random.default_rng(seed)
    found = rng.standard_normal(shape)
    if np.dtype(dtype).kind == "c":
        found = found + 1j * rng.standard_normal(shape)
    return found.astype(dtype)


def are_close(found, expected, single, double, scaled=True):
    """Within a tolerance of a type, of the largest element where it is scaled."""
    tolerance = single if found.dtype in (np.float32, np.complex64) else double
    largest = np.abs(expected).max(initial=1) if scaled else 1
    return np.allclose(found, expected, rtol=tolerance, atol=tolerance * largest)


def dominant(matrix, dtype=np.float64):
    """A square part of a matrix of SciPy with a diagonal so large that sweeps converge."""
    from scipy import sparse

    n = min(matrix.shape)
    S = sparse.csr_array(matrix[:n, :n])
    S.data[:] = np.random.default_rng(n).uniform(-1, 1, S.nnz)
    most = np.abs(S).sum(axis=1).max(initial=1) + 1
    S = sparse.csr_array(S + most * sparse.eye_array(n, format="csr")).astype(dtype)
    S.sort_indices()
    if np.dtype(dtype).kind == "c":
        S.data *= np.exp(0.5j * np.arange(S.nnz) / max(S.nnz, 1)).astype(dtype)
    return S
