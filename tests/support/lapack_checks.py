"""What LAPACK's own tests ask of factors: residuals in units of n eps, and forms of the kernels."""

from __future__ import annotations

import sys

import numpy as np
from blas_arrays import random, sizes

from execspace_kernels import arguments

LIMIT = 30.0  # LAPACK's threshold, in dchkge's input for example
FORMS = ("as it is", "blocks", "device", "device blocks", "without teams")
# What a test goes through by default: form, layout and type. Others are left to `-m ''`.
CASES = (
    ("as it is", "right", np.float64), ("device blocks", "strided", np.float64),
    ("blocks", "left", np.complex64), ("without teams", "right", np.float32),
)  # fmt: skip
MODES = {"N": lambda A: A, "T": lambda A: A.T, "H": lambda A: A.conj().T}
_BLOCKS = {
    "lu": {"_SMALL": 4, "_PANEL": 3, "_COLUMNS": 2}, "cholesky": {"_SMALL": 4, "_BLOCK": 3},
    "triangular": {"_SMALL": 4, "_BLOCK": 3}, "qr": {"_SMALL": 4, "_PANEL": 3},
}  # fmt: skip


def set_form(monkeypatch, form):
    """Smaller blocks, what devices run, or what spaces run that have no teams."""
    if "device" in form:
        monkeypatch.setattr(arguments, "MANY", 0)
    if "blocks" in form:
        for name, limits in _BLOCKS.items():
            for constant, value in limits.items():
                monkeypatch.setattr(module(name), constant, value)
    if form == "without teams":
        for name in ("operands", "jacobi"):
            monkeypatch.setattr(module(name), "has_teams", lambda space: False)


def some_sizes(space, form):
    """All small ones; fewer where a size is many launches, or others have gone through all."""
    if form == "as it is":
        return sizes(space)
    return (0, 1, 4, 5, 9) if space.name == "oracle" else (0, 1, 3, 4, 5, 8, 17)


def module(name):
    return sys.modules[f"execspace_kernels.lapack.{name}"]


def is_close(found, expected, dtype, *scales):
    """Whether ||found - expected|| < 30 n eps ||scale|| ..., in the norm of greatest columns."""
    difference = found.astype(np.complex128) - expected
    n = max(difference.shape, default=0)
    bound = LIMIT * n * np.finfo(dtype).eps
    for scale in scales or (expected,):
        bound *= _norm(scale)
    return bool(_norm(difference) <= bound)


def _norm(A):
    return np.abs(A).sum(axis=0).max(initial=0.0)


def is_orthogonal(Q, dtype):
    """Whether its columns are orthogonal and of length 1."""
    eye = np.eye(Q.shape[1])
    return is_close(Q.conj().T @ Q, eye, dtype, np.eye(max(Q.shape, default=1)))


def hermitian(n, dtype, seed=0):
    A = random((n, n), dtype, seed)
    return (A + A.conj().T).astype(dtype)


def definite(n, dtype, seed=0):
    A = random((n, n), dtype, seed)
    return (A @ A.conj().T + n * np.eye(n)).astype(dtype)


def exchanged(A, pivots, backwards=False):
    """Rows of a matrix in the order of pivots."""
    A = A.copy()
    for k in reversed(range(len(pivots))) if backwards else range(len(pivots)):
        A[[k, pivots[k]]] = A[[pivots[k], k]]
    return A
