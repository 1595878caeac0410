"""cuBLAS, or hipBLAS, through CuPy's bindings, beside the sparse routines: for
`execspace_kernels.blas`."""

from __future__ import annotations

from typing import Any

from execspace import View

from .dense_matrices import MATRIX_FUNCTIONS, CupyMatrices, matrix, operation
from .interop import cupy_array
from .sorting import queued
from .sparse import CupySparse

_OF_VECTORS = ("gemv", "trsv", "ger", "geru", "gerc")
_FEW_ROWS = 16  # of a triangle, for which our one launch is faster


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
        if function in _OF_VECTORS:
            views = [arg for arg in args if isinstance(arg, View)]
            if function == "trsv" and views[2].shape[0] > 1 and views[2].strides[0] != 1:
                return f"out has the stride {views[2].strides[0]}; expected 1"
            return self.matrix_refusal(function, *args) or _backwards(views)
        return super().refusal(function, *args)

    def gemv(self, A: Any, mode: str, x: Any, y: Any, alpha: Any, beta: Any) -> None:
        """y = beta y + alpha op(A) x."""
        self.call("gemv", (A, x, y), lambda alpha, beta: (
            operation(mode), *A.shape, alpha, *matrix(A), *_vector(x), beta, *_vector(y)
        ), alpha, beta)  # fmt: skip

    def ger(self, x: Any, y: Any, A: Any, alpha: Any) -> None:
        """A = A + alpha x y^T."""
        self._outer("geru" if A.dtype.kind == "c" else "ger", x, y, A, alpha)

    geru = ger

    def gerc(self, x: Any, y: Any, A: Any, alpha: Any) -> None:
        """A = A + alpha x y^H."""
        self._outer("gerc" if A.dtype.kind == "c" else "ger", x, y, A, alpha)

    def _outer(self, name: str, x: Any, y: Any, A: Any, alpha: Any) -> None:
        self.call(name, (A, x, y), lambda alpha: (
            *A.shape, alpha, *_vector(x), *_vector(y), *matrix(A)
        ), alpha)  # fmt: skip

    def trsv(self, A: Any, uplo: str, mode: str, x: Any, out: Any, unit: bool) -> None:
        """What op(A) times it is x: CuPy binds trsm only."""
        if x.data_ptr != out.data_ptr:
            with queued(self.space, x, out):
                cupy_array(out)[...] = cupy_array(x)
        self.trsm(A, "L", uplo, mode, out, unit, 1)


def _vector(x: Any) -> tuple[int, int]:
    """The address, and the distance of elements."""
    return x.data_ptr, x.strides[0] if x.shape[0] > 1 else 1


def _backwards(views: list[View]) -> str | None:
    """Why it cannot take vectors: cuBLAS begins at the other end of them."""
    for view in views:
        if view.rank == 1 and view.shape[0] > 1 and view.strides[0] < 1:
            return f"a vector has the stride {view.strides[0]}; expected 1 or more"
    return None
