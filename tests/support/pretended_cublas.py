"""cuBLAS as NumPy pretends it, so that calls are tested without a GPU.

Addresses, distances and the order of arguments are those of CuPy's bindings; streams are not.
"""

from __future__ import annotations

import sys
from contextlib import nullcontext
from types import SimpleNamespace

import numpy as np
from pretended_cusolver import DTYPES, Array, matrix_at, vector_at

OPS = {0: lambda X: X, 1: lambda X: X.T, 2: lambda X: X.conj().T}
CONSTANTS = {
    "OP_N": 0, "OP_T": 1, "OP_C": 2, "SIDE_LEFT": 0, "SIDE_RIGHT": 1, "FILL_MODE_LOWER": 0,
    "FILL_MODE_UPPER": 1, "DIAG_NON_UNIT": 0, "DIAG_UNIT": 1, "POINTER_MODE_HOST": 0,
}  # fmt: skip


def linear_vendor_on(space, monkeypatch):
    """The vendor's object of a GPU, for a space of the host."""
    from execspace_gpu import dense, dense_matrices

    device = SimpleNamespace(get_cublas_handle=lambda: 0)
    monkeypatch.setitem(sys.modules, "cupy.cuda", SimpleNamespace(device=device))
    monkeypatch.setitem(sys.modules, "cupy_backends.cuda.libs", SimpleNamespace(cublas=Blas()))
    for module in (dense, dense_matrices):
        monkeypatch.setattr(module, "queued", lambda *args: nullcontext())
    monkeypatch.setattr(dense, "cupy_array", lambda view: np.asarray(view).view(Array))
    dense_matrices._constant.cache_clear()
    return dense.CupyLinear(space, "pretended cuBLAS")


class Blas:
    """The functions of `cupy_backends.cuda.libs.cublas` that are called."""

    def __getattr__(self, name):
        if name.startswith("CUBLAS_"):
            return CONSTANTS[name.removeprefix("CUBLAS_")]
        dtype, function = np.dtype(DTYPES[name[0]]), globals()[f"_{name[1:]}"]
        return lambda handle, *args: function(dtype, *args)

    def getPointerMode(self, handle):
        return 1

    def setPointerMode(self, handle, mode):
        pass


def _number(address, dtype):
    return vector_at(address, 1, dtype)[0]


def _strided(dtype, address, length, step):
    return matrix_at(dtype, address, 1, length, step)[0]


def _gemm(dtype, of_a, of_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc):
    A = matrix_at(dtype, a, *((m, k) if of_a == 0 else (k, m)), lda)
    B = matrix_at(dtype, b, *((k, n) if of_b == 0 else (n, k)), ldb)
    C = matrix_at(dtype, c, m, n, ldc)
    old = 0 if _number(beta, dtype) == 0 else _number(beta, dtype) * C
    C[...] = _number(alpha, dtype) * (OPS[of_a](A) @ OPS[of_b](B)) + old


def _syrk(dtype, fill, of, n, k, alpha, a, lda, beta, c, ldc):
    A = OPS[of](matrix_at(dtype, a, *((n, k) if of == 0 else (k, n)), lda))
    C = matrix_at(dtype, c, n, n, ldc)
    inside = (np.tril if fill == 0 else np.triu)(np.ones((n, n))) > 0
    old = 0 if _number(beta, dtype) == 0 else _number(beta, dtype) * C
    C[...] = np.where(inside, _number(alpha, dtype) * (A @ A.T) + old, C)


def _trsm(dtype, side, fill, of, diag, m, n, alpha, a, lda, b, ldb):
    rows = m if side == 0 else n
    T = (np.tril if fill == 0 else np.triu)(matrix_at(dtype, a, rows, rows, lda))
    if diag == 1:
        T = T - np.diag(np.diag(T)) + np.eye(rows)
    T, B = OPS[of](T), matrix_at(dtype, b, m, n, ldb)
    right = _number(alpha, dtype) * B
    B[...] = np.linalg.solve(T, right) if side == 0 else np.linalg.solve(T.T, right.T).T


def _gemv(dtype, of, m, n, alpha, a, lda, x, incx, beta, y, incy):
    A = OPS[of](matrix_at(dtype, a, m, n, lda))
    target = _strided(dtype, y, A.shape[0], incy)
    old = 0 if _number(beta, dtype) == 0 else _number(beta, dtype) * target
    target[...] = _number(alpha, dtype) * (A @ _strided(dtype, x, A.shape[1], incx)) + old


def _ger(dtype, m, n, alpha, x, incx, y, incy, a, lda, of=lambda v: v):
    first, second = _strided(dtype, x, m, incx), of(_strided(dtype, y, n, incy))
    matrix_at(dtype, a, m, n, lda)[...] += _number(alpha, dtype) * np.outer(first, second)


_geru = _ger


def _gerc(*args):
    _ger(*args, of=np.conj)
