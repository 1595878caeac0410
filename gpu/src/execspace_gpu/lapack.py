"""cuSOLVER, or rocSOLVER, through CuPy, beside BLAS: for `execspace_kernels.lapack`.

Matrices by columns are taken as they are, with a gap between columns or without; of others copies
are made on the device, whose results are copied back. Nothing waits: `info` stays on the device.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import cupy
import numpy as np
from cupy.cuda.device import get_cusolver_handle
from cupy_backends.cuda.api import runtime

from .dense import CupyLinear
from .dense_matrices import fill_mode, operation
from .interop import cupy_array
from .sorting import queued

_VALUES = tuple(np.dtype(t) for t in (np.float32, np.float64, np.complex64, np.complex128))
_FUNCTIONS = (
    "getrf", "getrs", "gesv", "potrf", "potrs", "posv", "trtri", "geqrf", "ormqr", "orgqr", "eigh",
    "svd",
)  # fmt: skip
_NOT_ON_HIP = ("potrs", "posv")  # CuPy has no routine of rocSOLVER behind these
_MOST = 2**31 - 1  # rows, columns and strides that cuSOLVER counts


# Rows and columns up to which launches of ours were measured to be faster, on an H200.
_SMALL = {
    "getrf": 32, "gesv": 32, "potrf": 32, "posv": 32, "trtri": 32, "geqrf": 8, "eigh": 8, "svd": 64,
}  # fmt: skip


class CupyLapack(CupyLinear):
    """Sparse and dense routines of a GPU's vendor for a space, factors and decompositions too."""

    def refusal(self, function: str, *args: Any) -> str | None:
        """Why it cannot do this; None if it can."""
        if function not in _FUNCTIONS:
            return super().refusal(function, *args)
        if runtime.is_hip and function in _NOT_ON_HIP:
            return f"CuPy has no {function} on HIP"
        for view in args:
            if not hasattr(view, "memory_space"):
                continue
            if not view.size:
                return "there are no elements"
            if view.rank == 2 and view.dtype not in _VALUES:
                return f"numbers are of {view.dtype}; expected float32, float64 or complex ones"
            if max(view.shape, default=0) > _MOST or max(map(abs, view.strides), default=0) > _MOST:
                return "there are more rows or columns than an int32 counts"
        return None

    def is_preferred(self, function: str, *args: Any) -> bool:
        """On CUDA, of more than a few rows and columns; nobody has measured HIP."""
        if function in _FUNCTIONS:
            return not runtime.is_hip and max(args[0].shape) > _SMALL.get(function, 0)
        return super().is_preferred(function, *args)

    def getrf(self, A: Any, pivots: Any, info: Any) -> None:
        """A = P L U."""
        with queued(self.space, A, pivots, info), _by_columns(A) as matrix:
            cupy_array(pivots)[...] = _factored(matrix, cupy_array(info)) - 1

    def getrs(self, A: Any, pivots: Any, B: Any, mode: str) -> None:
        """B = op(P L U)^-1 B."""
        with queued(self.space, A, pivots, B), _by_columns(B) as target:
            exchanges = (cupy_array(pivots) + 1).astype(np.int32)
            _solved(_columns_of(cupy_array(A)), exchanges, target, mode)

    def gesv(self, A: Any, B: Any, pivots: Any, info: Any) -> None:
        """B = A^-1 B, and the factors of A."""
        with queued(self.space, A, B, pivots, info), _by_columns(A) as matrix:
            exchanges = _factored(matrix, cupy_array(info))
            cupy_array(pivots)[...] = exchanges - 1
            found, target = cupy_array(B).copy(order="F"), cupy_array(B)
            _solved(matrix, exchanges, found, "N")
            target[...] = cupy.where(cupy_array(info) == 0, found, target)

    def potrf(self, A: Any, info: Any, uplo: str) -> None:
        """Cholesky's factor of a triangle; by rows it is the other one of the transpose."""
        with queued(self.space, A, info):
            _factored_triangle(cupy_array(A), cupy_array(info), uplo)

    def potrs(self, A: Any, B: Any, uplo: str) -> None:
        """B = A^-1 B."""
        with queued(self.space, A, B), _by_columns(B) as target:
            _solved_triangle(_columns_of(cupy_array(A)), target, uplo)

    def posv(self, A: Any, B: Any, info: Any, uplo: str) -> None:
        """B = A^-1 B, and the factor of A."""
        with queued(self.space, A, B, info):
            _factored_triangle(cupy_array(A), cupy_array(info), uplo)
            found, target = cupy_array(B).copy(order="F"), cupy_array(B)
            _solved_triangle(_columns_of(cupy_array(A)), found, uplo)
            target[...] = cupy.where(cupy_array(info) == 0, found, target)

    def trtri(self, A: Any, info: Any, uplo: str, unit: bool) -> None:
        """The inverse of a triangle, by a solve."""
        from cupyx.scipy.linalg import solve_triangular

        with queued(self.space, A, info):
            matrix, failed = cupy_array(A), cupy_array(info)
            n = matrix.shape[0]
            numbers = cupy.arange(1, n + 1, dtype=np.int32)
            zeros = cupy.diagonal(matrix) == 0
            first = cupy.where(zeros, numbers, n + 1).min()
            failed[...] = 0 if unit else cupy.where(first > n, 0, first)
            own = cupy.asfortranarray(matrix)
            eye = cupy.asfortranarray(cupy.eye(n, dtype=matrix.dtype))
            found = solve_triangular(own, eye, lower=uplo == "L", unit_diagonal=unit)
            counts = cupy.tri(n, k=-1 if unit else 0, dtype=bool)
            counts = counts if uplo == "L" else counts.T
            matrix[...] = cupy.where(counts & (failed == 0), found, matrix)

    def geqrf(self, A: Any, tau: Any) -> None:
        """A = Q R."""
        with queued(self.space, A, tau), _by_columns(A) as matrix:
            own = _place_of(matrix)
            factors = cupy.empty(min(matrix.shape), matrix.dtype)
            handle, at = get_cusolver_handle(), factors.data.ptr
            size = _routine("geqrf_bufferSize", matrix)(handle, *matrix.shape, *own)
            work, done = _work(size, matrix)
            _routine("geqrf", matrix)(
                handle, *matrix.shape, *own, at, work.data.ptr, size, done.data.ptr
            )
            cupy_array(tau)[...] = factors

    def ormqr(self, A: Any, tau: Any, B: Any, mode: str) -> None:
        """B = op(Q) B."""
        from cupy_backends.cuda.libs import cublas

        with queued(self.space, A, tau, B), _by_columns(B) as target:
            reflectors = _columns_of(cupy_array(A))
            factors = cupy.ascontiguousarray(cupy_array(tau))
            is_complex = target.dtype.kind == "c"
            name = "unmqr" if is_complex else "ormqr"
            turned = cublas.CUBLAS_OP_C if is_complex else cublas.CUBLAS_OP_T
            args = (
                get_cusolver_handle(), cublas.CUBLAS_SIDE_LEFT,
                cublas.CUBLAS_OP_N if mode == "N" else turned, *target.shape, factors.size,
                *_place_of(reflectors), factors.data.ptr, *_place_of(target),
            )  # fmt: skip
            size = _routine(f"{name}_bufferSize", target)(*args)
            work, done = _work(size, target)
            _routine(name, target)(*args, work.data.ptr, size, done.data.ptr)

    def orgqr(self, A: Any, tau: Any, Q: Any) -> None:
        """The first columns of Q."""
        with queued(self.space, A, tau, Q), _by_columns(Q) as target:
            factors = cupy.ascontiguousarray(cupy_array(tau))
            k = factors.size
            target[:, :k] = cupy_array(A)[:, :k]
            target[:, k:] = 0
            name = "ungqr" if target.dtype.kind == "c" else "orgqr"
            args = (
                get_cusolver_handle(), *target.shape, k, *_place_of(target), factors.data.ptr
            )  # fmt: skip
            size = _routine(f"{name}_bufferSize", target)(*args)
            work, done = _work(size, target)
            _routine(name, target)(*args, work.data.ptr, size, done.data.ptr)

    def eigh(self, A: Any, w: Any, V: Any, uplo: str) -> None:
        """Eigenvalues and eigenvectors; NaN where they do not converge."""
        from cupyx import errstate

        outputs = (w,) if V is None else (w, V)
        with queued(self.space, A, *outputs), errstate(linalg="ignore"):
            if V is None:
                found: Any = (cupy.linalg.eigvalsh(cupy_array(A), UPLO=uplo),)
            else:
                found = cupy.linalg.eigh(cupy_array(A), UPLO=uplo)
            _store(outputs, found, found[0])

    def svd(self, A: Any, U: Any, s: Any, Vh: Any) -> None:
        """Singular values and vectors; NaN where they do not converge."""
        from cupyx import errstate

        outputs = (s,) if U is None else (U, s, Vh)
        with queued(self.space, A, *outputs), errstate(linalg="ignore"):
            if U is None:
                found: Any = (cupy.linalg.svd(cupy_array(A), compute_uv=False),)
            else:
                is_full = U.shape[1] * Vh.shape[0] > min(A.shape) ** 2
                found = cupy.linalg.svd(cupy_array(A), full_matrices=is_full)
            _store(outputs, found, found[0 if U is None else 1])


# -- arrays of CuPy, on its current stream ---------------------------------------------------------


def _routine(name: str, array: Any) -> Any:
    """cuSOLVER's function for the numbers of an array."""
    from cupy_backends.cuda.libs import cusolver

    letter = {"f": "s", "d": "d", "F": "c", "D": "z"}[array.dtype.char]
    return getattr(cusolver, letter + name)


def _work(size: int, array: Any) -> tuple[Any, Any]:
    """Memory for its work, and for the info that nobody asks for."""
    return cupy.empty(max(size, 1), array.dtype), cupy.zeros(1, np.int32)


def _has_columns(array: Any) -> bool:
    """Whether elements of a column lie side by side, and columns one after the other."""
    down, across = (step // array.itemsize for step in array.strides)
    m, n = array.shape
    return bool((m == 1 or down == 1) and (n == 1 or across >= m))


def _place_of(array: Any) -> tuple[int, int]:
    """Where a matrix by columns begins, and the step from column to column."""
    m, n = array.shape
    return array.data.ptr, max(array.strides[1] // array.itemsize, m) if n > 1 else m


def _columns_of(array: Any) -> Any:
    """The matrix itself if it lies by columns, else a copy."""
    return array if _has_columns(array) else cupy.asfortranarray(array)


@contextmanager
def _by_columns(view: Any) -> Iterator[Any]:
    """The matrix of a View if it lies by columns, else a copy that is copied back."""
    target = cupy_array(view)
    matrix = _columns_of(target)
    yield matrix
    if matrix is not target:
        target[...] = matrix


def _store(outputs: tuple[Any, ...], found: tuple[Any, ...], values: Any) -> None:
    """What was found, NaN instead if there is NaN among its values."""
    is_done = cupy.isfinite(values).all()
    for target, part in zip(outputs, found, strict=True):
        cupy_array(target)[...] = cupy.where(is_done, part, np.nan)


def _factored(matrix: Any, info: Any) -> Any:
    """LU factors in place; the pivots, counted from 1 on.

    cuSOLVER takes NaN for zero, and its factors look like those of another matrix. If there is any,
    the last pivot is NaN, which makes NaN of all that is solved with it.
    """
    handle, own = get_cusolver_handle(), _place_of(matrix)
    has_nan = cupy.isnan(matrix).any()
    exchanges = cupy.empty(min(matrix.shape), np.int32)
    size = _routine("getrf_bufferSize", matrix)(handle, *matrix.shape, *own)
    work, done = _work(size, matrix)
    _routine("getrf", matrix)(
        handle, *matrix.shape, *own, work.data.ptr, exchanges.data.ptr, done.data.ptr
    )
    info[...] = done[0]
    last = matrix[min(matrix.shape) - 1 :, min(matrix.shape) - 1 :][:1, :1]
    last[...] = cupy.where(has_nan, np.nan, last)
    return exchanges


def _solved(matrix: Any, exchanges: Any, target: Any, mode: str) -> None:
    _, done = _work(1, matrix)
    _routine("getrs", matrix)(
        get_cusolver_handle(), operation(mode), *target.shape, *_place_of(matrix),
        exchanges.data.ptr, *_place_of(target), done.data.ptr,
    )  # fmt: skip


def _factored_triangle(array: Any, info: Any, uplo: str) -> None:
    if not _has_columns(array) and _has_columns(array.T):
        array, uplo = array.T, "U" if uplo == "L" else "L"
    matrix = _columns_of(array)
    fill, n = fill_mode(uplo), matrix.shape[0]
    handle, own = get_cusolver_handle(), _place_of(matrix)
    size = _routine("potrf_bufferSize", matrix)(handle, fill, n, *own)
    work, done = _work(size, matrix)
    _routine("potrf", matrix)(handle, fill, n, *own, work.data.ptr, size, done.data.ptr)
    info[...] = done[0]
    if matrix is not array:
        array[...] = matrix


def _solved_triangle(matrix: Any, target: Any, uplo: str) -> None:
    _, done = _work(1, matrix)
    _routine("potrs", matrix)(
        get_cusolver_handle(), fill_mode(uplo), *target.shape, *_place_of(matrix),
        *_place_of(target), done.data.ptr,
    )  # fmt: skip
