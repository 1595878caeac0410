"""cuBLAS, or hipBLAS, through CuPy's bindings, beside the sparse routines: for
`execspace_kernels.blas`."""

from __future__ import annotations

from typing import Any

import numpy as np

from .dense_matrices import MATRIX_FUNCTIONS, CupyMatrices, operation
from .interop import cupy_array
from .sorting import queued
from .sparse import CupySparse

_VALUES = tuple(np.dtype(t) for t in (np.float32, np.float64, np.complex64, np.complex128))
_OUTER = ("ger", "geru", "gerc")
_FEW_ROWS = 16  # of a triangle, for which our one launch is faster
_MOST = 2**31 - 1  # of the integers of cuBLAS


class CupyLinear(CupySparse, CupyMatrices):
    """Sparse and dense routines of a GPU's vendor for a space."""

    def is_preferred(self, function: str, *args: Any) -> bool:
        """What was measured: solves take us many launches, and BLAS 3 has tensor cores."""
        if function in MATRIX_FUNCTIONS or function == "gemv":
            return True
        if function == "trsv":
            return bool(args[0].shape[0] > _FEW_ROWS)
        if function == "dot_gemm":
            return self.prefers_tall(*args[:5])
        return super().is_preferred(function, *args)

    def refusal(self, function: str, *args: Any) -> str | None:
        """Why it cannot do this; None if it can."""
        if function in MATRIX_FUNCTIONS or function == "dot_gemm":
            return self.matrix_refusal(function, *args)
        if function in ("gemv", "trsv"):
            A, x, y = args[0], *(args[2:4] if function == "gemv" else args[3:5])
            if function == "trsv" and y.shape[0] > 1 and y.strides[0] != 1:
                return f"out has the stride {y.strides[0]}; expected 1"
            return _too_large(A, x, y)
        if function in _OUTER:
            alpha, x, y, A = args
            if alpha == 0:
                return "alpha is 0, for which it does not look at the vectors"
            if function == "gerc" and A.dtype.kind == "c" and not _is_by_columns(A):
                return "the other vector would be conjugated"
            if not _is_by_columns(A) and not _is_by_columns(A.T):
                return f"A has strides {A.strides}; expected neighbours in columns or in rows"
            return _unlike(A, x, y) or _too_large(A, x, y)
        return super().refusal(function, *args)

    def gemv(self, A: Any, mode: str, x: Any, y: Any, alpha: Any, beta: Any) -> None:
        """y = beta y + alpha op(A) x."""
        self.call("gemv", (A, x, y), lambda alpha, beta: (
            operation(mode), *A.shape, alpha, A.data_ptr, _distance(A), *_vector(x), beta,
            *_vector(y),
        ), alpha, beta)  # fmt: skip

    def ger(self, alpha: Any, x: Any, y: Any, A: Any) -> None:
        """A = A + alpha x y^T."""
        self._outer("geru" if A.dtype.kind == "c" else "ger", alpha, x, y, A)

    geru = ger

    def gerc(self, alpha: Any, x: Any, y: Any, A: Any) -> None:
        """A = A + alpha x y^H."""
        self._outer("gerc" if A.dtype.kind == "c" else "ger", alpha, x, y, A)

    def _outer(self, name: str, alpha: Any, x: Any, y: Any, A: Any) -> None:
        if not _is_by_columns(A):
            x, y, A = y, x, A.T
        self.call(name, (A, x, y), lambda alpha: (
            *A.shape, alpha, *_vector(x), *_vector(y), A.data_ptr, _distance(A)
        ), alpha)  # fmt: skip

    def trsv(self, A: Any, uplo: str, mode: str, x: Any, out: Any, unit: bool) -> None:
        """What op(A) times it is x: CuPy binds trsm only."""
        if x.data_ptr != out.data_ptr:
            with queued(self.space, x, out):
                cupy_array(out)[...] = cupy_array(x)
        self.trsm(A, "L", uplo, mode, out, unit, 1)


def _is_by_columns(A: Any) -> bool:
    m, n = A.shape
    return bool((m <= 1 or A.strides[0] == 1) and (n <= 1 or A.strides[1] >= m))


def _distance(A: Any) -> int:
    """That of the columns of a matrix."""
    return int(max(A.shape[0], A.strides[1] if A.shape[1] > 1 else 1, 1))


def _vector(x: Any) -> tuple[int, int]:
    """The address, and the distance of elements."""
    return x.data_ptr, x.strides[0] if x.shape[0] > 1 else 1


def _unlike(*views: Any) -> str | None:
    """Why it cannot take such Views: of other types or of several, or empty."""
    for view in views:
        if view.dtype not in _VALUES:
            return f"numbers are of {view.dtype}; expected float32, float64 or complex ones"
        if view.dtype != views[0].dtype:
            return f"numbers are of {views[0].dtype} and {view.dtype}; expected one type"
        if not view.size:
            return "there are no elements"
    return None


def _too_large(*views: Any) -> str | None:
    for view in views:
        if max(*view.shape, *view.strides) > _MOST:
            return "there are 2**31 rows or more"
        if view.rank == 1 and view.shape[0] > 1 and view.strides[0] < 1:
            return f"a vector has the stride {view.strides[0]}; expected 1 or more"
    return None
