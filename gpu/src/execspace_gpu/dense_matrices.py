"""BLAS 3 of cuBLAS, or hipBLAS, through CuPy's bindings: for `execspace_kernels.blas`.

Matrices come by columns, so the functions of `cupy.cublas`, which copy what is part of a larger
matrix, are not needed. CuPy binds no trmm and no herk.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from execspace import View

from .sorting import queued

__all__ = ["MATRIX_FUNCTIONS", "CupyMatrices", "fill_mode", "matrix", "operation"]

MATRIX_FUNCTIONS = ("gemm", "herk", "syrk", "trsm")
_LETTERS = {"float32": "s", "float64": "d", "complex64": "c", "complex128": "z"}
_MOST = 2**31 - 1  # of the integers of cuBLAS
_WITH_TENSOR_CORES = (np.dtype(np.float64), np.dtype(np.complex128))
# Measured for products of tall matrices: bytes, and elements of C, of A^T A and of A^T B.
_SHORT, _MANY_OF_ONE, _MANY_OF_TWO = 1 << 25, 512, 128


class CupyMatrices:
    """Products and solves of matrices by columns."""

    space: Any

    def matrix_refusal(self, function: str, *args: Any) -> str | None:
        """Why it cannot do this; None if it can."""
        views = [arg for arg in args if isinstance(arg, View)]
        if any(max(*view.shape, *view.strides) > _MOST for view in views):
            return "there are 2**31 rows or more"
        if function == "herk" and views[0].dtype.kind == "c":
            return "CuPy has no herk of complex numbers"
        return None

    def gemm(
        self, A: Any, mode_a: str, B: Any, mode_b: str, C: Any, alpha: Any, beta: Any
    ) -> None:  # fmt: skip
        """C = beta C + alpha op(A) op(B)."""
        k = A.shape[1 if mode_a == "N" else 0]
        trans = (operation(mode_a), operation(mode_b))
        self.call("gemm", (A, B, C), lambda alpha, beta: (
            *trans, *C.shape, k, alpha, *matrix(A), *matrix(B), beta, *matrix(C)
        ), alpha, beta)  # fmt: skip

    def syrk(self, A: Any, mode: str, C: Any, uplo: str, alpha: Any, beta: Any) -> None:
        """C = beta C + alpha A A^T, or A^T A, of a triangle."""
        n, k = A.shape if mode == "N" else A.shape[::-1]
        options = (fill_mode(uplo), operation("N" if mode == "N" else "T"))
        self.call("syrk", (A, C), lambda alpha, beta: (
            *options, n, k, alpha, *matrix(A), beta, *matrix(C)
        ), alpha, beta)  # fmt: skip

    herk = syrk  # of real numbers

    dot_gemm = gemm

    def prefers_tall(self, A: Any, mode_a: str, B: Any, mode_b: str, C: Any) -> bool:
        """Whether its product of a few tall columns is faster: with tensor cores for float64, for
        one column, and where a second launch takes longer than the rest."""
        if A.nbytes + B.nbytes < _SHORT or min(C.shape) == 1:
            return True
        is_one = A.data_ptr == B.data_ptr and C.shape[0] == C.shape[1]
        many = _MANY_OF_ONE if is_one else _MANY_OF_TWO
        return bool(A.dtype in _WITH_TENSOR_CORES and C.size >= many)

    def trsm(
        self, A: Any, side: str, uplo: str, mode: str, B: Any, unit: bool, alpha: Any
    ) -> None:  # fmt: skip
        """B = X with op(A) X = alpha B, or X op(A) = alpha B; B may be one column."""
        options = (_side(side), fill_mode(uplo), operation(mode), _diagonal(unit))
        self.call("trsm", (A, B), lambda alpha: (
            *options, *(*B.shape, 1)[:2], alpha, *matrix(A), *matrix(B)
        ), alpha)  # fmt: skip

    def call(
        self, name: str, views: tuple[Any, ...], arguments: Callable[..., Any], *factors: Any
    ) -> None:
        """A routine; it reads factors before it returns."""
        from cupy.cuda import device
        from cupy_backends.cuda.libs import cublas

        dtype = views[0].dtype
        numbers = [np.array(factor, dtype) for factor in factors]
        routine = getattr(cublas, _LETTERS[dtype.name] + name)
        with queued(self.space, *views):
            handle = device.get_cublas_handle()
            mode = cublas.getPointerMode(handle)
            cublas.setPointerMode(handle, cublas.CUBLAS_POINTER_MODE_HOST)
            try:
                routine(handle, *arguments(*(number.ctypes.data for number in numbers)))
            finally:
                cublas.setPointerMode(handle, mode)


def matrix(view: Any) -> tuple[int, int]:
    """The address, and the distance of columns."""
    rows, columns = (*view.shape, 1)[:2]
    return view.data_ptr, max(rows, view.strides[1] if columns > 1 else 1, 1)


@cache
def _constant(name: str) -> int:
    from cupy_backends.cuda.libs import cublas

    return int(getattr(cublas, f"CUBLAS_{name}"))


def operation(mode: str) -> int:
    """cuBLAS's number of a mode."""
    return _constant({"N": "OP_N", "T": "OP_T", "H": "OP_C"}[mode])


def fill_mode(uplo: str) -> int:
    """cuBLAS's number of a triangle."""
    return _constant("FILL_MODE_LOWER" if uplo == "L" else "FILL_MODE_UPPER")


def _side(side: str) -> int:
    return _constant("SIDE_LEFT" if side == "L" else "SIDE_RIGHT")


def _diagonal(unit: bool) -> int:
    return _constant("DIAG_UNIT" if unit else "DIAG_NON_UNIT")
