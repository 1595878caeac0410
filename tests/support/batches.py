"""Batches of small matrices, and what NumPy makes of them."""

import numpy as np

import execspace as es
from execspace_kernels import batched

BATCH = 5
LAYOUTS = ("right", "left", batched.Interleaved(4))


def numbers(seed, *shape, dtype=np.float64):
    """Random numbers, complex ones for complex dtypes."""
    rng = np.random.default_rng(seed)
    found = rng.standard_normal(shape)
    if np.dtype(dtype).kind == "c":
        found = found + 1j * rng.standard_normal(shape)
    return found.astype(dtype)


def view(values, space, layout="right"):
    """A View in a layout, with values in it."""
    made = es.View(values.shape, values.dtype, layout=layout, space=space)
    es.deep_copy(made, np.ascontiguousarray(values))
    return made


def fetch(source):
    """The elements of a View of any layout, as an array."""
    found = np.zeros(source.shape, source.dtype)
    es.deep_copy(found, source)
    return found


def op(A, mode):
    """op(A) of each matrix."""
    turned = np.swapaxes(A, -1, -2) if mode in "TH" else A
    return turned.conj() if mode in "CH" else turned


def triangle(A, uplo, diag="N"):
    """A triangle of each matrix; ones on the diagonal with diag "U"."""
    found = np.tril(A) if uplo == "L" else np.triu(A)
    if diag == "U":
        n = A.shape[-1]
        found = found * (1 - np.eye(n)) + np.eye(n)
    return found


def solvable(seed, n, dtype=np.float64):
    """Matrices whose triangles are well conditioned."""
    A = numbers(seed, BATCH, n, n, dtype=dtype)
    return (0.3 / max(n, 1) * A + 3 * np.eye(n)).astype(dtype)


def solved(A, B, side):
    """A^-1 B, or B A^-1."""
    if side == "L":
        return np.linalg.solve(A, B)
    return np.swapaxes(np.linalg.solve(np.swapaxes(A, 1, 2), np.swapaxes(B, 1, 2)), 1, 2)


def close(found, expected):
    """Whether results agree to what their precision allows for such small matrices."""
    kinds = (np.asarray(a).dtype for a in (found, expected))
    eps = max(float(np.finfo(kind).eps) for kind in kinds if kind.kind in "fc")
    scale = max(1.0, float(np.abs(expected).max(initial=0.0)))
    return bool(np.abs(found - expected).max(initial=0.0) <= 500 * eps * scale)
