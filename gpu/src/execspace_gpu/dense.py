"""cuBLAS, or hipBLAS, through CuPy, beside the sparse routines: for `execspace_kernels.blas`.

BLAS 1 and 2 are taken only where a caller wants them; BLAS 3, which has tensor cores, wherever it
can be.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .dense_matrices import MATRIX_FUNCTIONS, CupyMatrices
from .interop import cupy_array
from .sorting import queued
from .sparse import CupySparse

_VALUES = tuple(np.dtype(t) for t in (np.float32, np.float64, np.complex64, np.complex128))
_OUTER = ("ger", "geru", "gerc")


class CupyLinear(CupySparse, CupyMatrices):
    """Sparse and dense routines of a GPU's vendor for a space."""

    def is_preferred(self, function: str, *args: Any) -> bool:
        """BLAS 3."""
        return function in MATRIX_FUNCTIONS or super().is_preferred(function, *args)

    def refusal(self, function: str, *args: Any) -> str | None:
        """Why it cannot do this; None if it can."""
        if function in MATRIX_FUNCTIONS:
            return self.matrix_refusal(function, *args)
        if function == "gemv":
            A, x, y, alpha, _, mode = args
            if mode == "C" and A.dtype.kind == "c":
                return "it has no mode 'C' for complex numbers"
            if alpha == 0:
                return "alpha is 0, for which it does not look at the matrix"
            return _refusal(A, x, y) or (None if _runs(A) else "A is not contiguous")
        if function in _OUTER:
            _, x, y, A = args
            return _refusal(A, x, y) or (None if _runs(A) == "left" else "A is not of layout left")
        if function == "dot_gemm":
            return _refusal(*args[:3], together=False)
        return super().refusal(function, *args)

    def gemv(self, A: Any, x: Any, y: Any, alpha: Any, beta: Any, mode: str) -> None:
        """y = beta y + alpha op(A) x."""
        from cupy import cublas

        trans = "N" if mode == "C" else mode
        with queued(self.space, A, x, y):
            cublas.gemv(trans, alpha, cupy_array(A), cupy_array(x), beta, cupy_array(y))

    def ger(self, alpha: Any, x: Any, y: Any, A: Any) -> None:
        """A = A + alpha x y^T."""
        from cupy import cublas

        with queued(self.space, A, x, y):
            cublas.geru(alpha, cupy_array(x), cupy_array(y), cupy_array(A))

    geru = ger

    def gerc(self, alpha: Any, x: Any, y: Any, A: Any) -> None:
        """A = A + alpha x y^H."""
        from cupy import cublas

        with queued(self.space, A, x, y):
            cublas.gerc(alpha, cupy_array(x), cupy_array(y), cupy_array(A))

    def dot_gemm(self, A: Any, B: Any, C: Any, alpha: Any, beta: Any, mode: str) -> None:
        """C = beta C + alpha A^T B."""
        with queued(self.space, A, B, C):
            left, target = cupy_array(A).T, cupy_array(C)
            product = alpha * ((left.conj() if mode == "H" else left) @ cupy_array(B))
            target[...] = product if beta == 0 else product + beta * target


def _refusal(*views: Any, together: bool = True) -> str | None:
    """Why it cannot take such Views: of one type, not empty, vectors side by side."""
    for view in views:
        if view.dtype not in _VALUES:
            return f"numbers are of {view.dtype}; expected float32, float64 or complex ones"
        if view.dtype != views[0].dtype:
            return f"numbers are of {views[0].dtype} and {view.dtype}; expected one type"
        if not view.size:
            return "there are no elements"
        if together and view.rank == 1 and view.shape[0] > 1 and view.strides[0] != 1:
            return f"a vector has the stride {view.strides[0]}; expected 1"
    return None


def _runs(A: Any) -> str | None:
    """The layout of a matrix without gaps; None for others."""
    m, n = A.shape
    if list(A.strides) == [1, m]:
        return "left"
    return "right" if list(A.strides) == [n, 1] else None
