"""cuSOLVER and CuPy as SciPy and NumPy pretend them, so that calls are tested without a GPU.

Addresses, strides and the order of arguments are those of the real ones; streams are not.
"""

from __future__ import annotations

import sys
from contextlib import nullcontext
from ctypes import c_char
from types import SimpleNamespace

import numpy as np
from scipy import linalg
from scipy.linalg.lapack import get_lapack_funcs

DTYPES = {"s": np.float32, "d": np.float64, "c": np.complex64, "z": np.complex128}
OPS = {0: "N", 1: "T", 2: "C"}  # of cuBLAS


class Array(np.ndarray):
    """An array of NumPy that tells its address as one of CuPy does."""

    @property
    def data(self):
        return SimpleNamespace(ptr=self.__array_interface__["data"][0])


def vendor_on(space, monkeypatch):
    """The vendor's object of a GPU, for a space of the host."""
    from execspace_gpu import lapack

    def made(function):
        return lambda *args, **options: function(*args, **options).view(Array)

    names = (
        "empty",
        "zeros",
        "arange",
        "asfortranarray",
        "ascontiguousarray",
        "eye",
        "tri",
        "isnan",
    )
    cupy = SimpleNamespace(**{name: made(getattr(np, name)) for name in names})
    cupy.where, cupy.diagonal = np.where, np.diagonal
    cupy.isfinite, cupy.isnan = np.isfinite, made(np.isnan)
    cupy.linalg = SimpleNamespace(
        eigh=_quiet(np.linalg.eigh), eigvalsh=_quiet(np.linalg.eigvalsh), svd=_quiet(np.linalg.svd)
    )
    blas = SimpleNamespace(
        CUBLAS_OP_N=0, CUBLAS_OP_T=1, CUBLAS_OP_C=2, CUBLAS_SIDE_LEFT=0, CUBLAS_FILL_MODE_LOWER=0,
        CUBLAS_FILL_MODE_UPPER=1,
    )  # fmt: skip
    libs = SimpleNamespace(cublas=blas, cusolver=Solver())
    monkeypatch.setitem(sys.modules, "cupy_backends.cuda.libs", libs)
    monkeypatch.setitem(
        sys.modules, "cupyx.scipy.linalg", SimpleNamespace(solve_triangular=_solve_triangular)
    )
    monkeypatch.setattr(lapack, "cupy", cupy)
    monkeypatch.setattr(lapack, "cupy_array", lambda view: np.asarray(view).view(Array))
    monkeypatch.setattr(lapack, "get_cusolver_handle", lambda: 0)
    monkeypatch.setattr(lapack, "queued", lambda *args: nullcontext())
    return lapack.CupyLapack(space, "pretended cuSOLVER")


def _quiet(function):
    """Without a word of what does not converge, as CuPy under `errstate(linalg="ignore")`."""

    def call(A, **options):
        try:
            return function(A, **options)
        except np.linalg.LinAlgError:
            return function(np.nan_to_num(A), **options) * np.nan

    return call


def _solve_triangular(a, b, lower, unit_diagonal):
    """As CuPy's, which does not look for zeros on the diagonal."""
    if (np.diagonal(a) == 0).any() and not unit_diagonal:
        return np.full_like(b, np.inf)
    return linalg.solve_triangular(a, b, lower=lower, unit_diagonal=unit_diagonal)


class Solver:
    """The functions of `cupy_backends.cuda.libs.cusolver` that are called."""

    def __getattr__(self, name):
        dtype, base = np.dtype(DTYPES[name[0]]), name[1:]
        if base.endswith("_bufferSize"):
            return lambda *args: 3
        function = globals()[f"_{base.replace('un', 'or') if base[:2] == 'un' else base}"]
        return lambda handle, *args: function(dtype, *args)


def matrix_at(dtype, address, m, n, step):
    """A matrix by columns in memory."""
    length = step * (n - 1) + m
    flat = np.frombuffer((c_char * (length * dtype.itemsize)).from_address(address), dtype)
    strides = (dtype.itemsize, step * dtype.itemsize)
    return np.lib.stride_tricks.as_strided(flat, (m, n), strides)


def vector_at(address, length, dtype=np.int32):
    return matrix_at(np.dtype(dtype), address, length, 1, length)[:, 0]


def _call(name, dtype):
    if dtype.kind == "c":
        name = name.replace("or", "un", 1) if name[:2] == "or" else name
    return get_lapack_funcs(name, dtype=dtype)


def _getrf(dtype, m, n, a, lda, work, pivots, info):
    A = matrix_at(dtype, a, m, n, lda)
    A[...], found, vector_at(info, 1)[0] = _call("getrf", dtype)(A)
    vector_at(pivots, min(m, n))[...] = found + 1


def _getrs(dtype, trans, n, columns, a, lda, pivots, b, ldb, info):
    B = matrix_at(dtype, b, n, columns, ldb)
    exchanges = vector_at(pivots, n) - 1
    B[...], _ = _call("getrs", dtype)(matrix_at(dtype, a, n, n, lda), exchanges, B, trans=trans)


def _potrf(dtype, fill, n, a, lda, work, size, info):
    A = matrix_at(dtype, a, n, n, lda)
    A[...], vector_at(info, 1)[0] = _call("potrf", dtype)(A, lower=fill == 0, clean=0)


def _potrs(dtype, fill, n, columns, a, lda, b, ldb, info):
    B = matrix_at(dtype, b, n, columns, ldb)
    B[...], _ = _call("potrs", dtype)(matrix_at(dtype, a, n, n, lda), B, lower=fill == 0)


def _geqrf(dtype, m, n, a, lda, tau, work, size, info):
    A = matrix_at(dtype, a, m, n, lda)
    A[...], vector_at(tau, min(m, n), dtype)[...], _, _ = _call("geqrf", dtype)(A)


def _orgqr(dtype, m, n, k, a, lda, tau, work, size, info):
    A = matrix_at(dtype, a, m, n, lda)
    A[...], _, _ = _call("orgqr", dtype)(A, vector_at(tau, k, dtype))


def _ormqr(dtype, side, trans, m, n, k, a, lda, tau, c, ldc, work, size, info):
    C = matrix_at(dtype, c, m, n, ldc)
    args = "L", OPS[trans], matrix_at(dtype, a, m, k, lda), vector_at(tau, k, dtype), C
    C[...], _, _ = _call("ormqr", dtype)(*args, lwork=64 * max(m, n))
