"""cuSPARSE, or hipSPARSE, through CuPy: what execspace-kernels asks vendors' libraries for.

The object that a plugin returns from its hook `execspace_kernels_vendor`; of that distribution it
imports nothing.
"""

from __future__ import annotations

from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from .interop import cupy_array
from .sorting import queued

_INT32 = np.dtype(np.int32)
_VALUES = tuple(np.dtype(t) for t in (np.float32, np.float64, np.complex64, np.complex128))


class CupySparse:
    """Sparse routines of a GPU's vendor for a space."""

    def __init__(self, space: Any, library: str) -> None:
        self.space, self.library = space, library
        self._matrices: WeakKeyDictionary[Any, Any] = WeakKeyDictionary()

    def refusal(self, function: str, *args: Any) -> str | None:
        """Why it cannot do this; None if it can."""
        matrices = args[:1] if function == "spmv" else args[:2]
        if function not in ("spmv", "spgemm", "spadd"):
            return f"it has no {function} here"
        for matrix in matrices:
            if matrix.row_map.dtype != _INT32 or matrix.entries.dtype != _INT32:
                return "row map or entries are of int64; expected int32"
            if matrix.dtype not in _VALUES:
                return f"values are of {matrix.dtype}; expected float32, float64 or complex ones"
            if not matrix.nnz:
                return "there are no entries"
            if function != "spmv" and not matrix.graph.is_sorted():
                return "rows are not sorted, or have columns twice"
            if matrix.dtype != args[0].dtype:
                return f"values are of {args[0].dtype} and {matrix.dtype}; expected one type"
        if function == "spmv":
            return _refusal_of_product(*args)
        return None

    def is_preferred(self, function: str, *args: Any) -> bool:
        """Never: of what was measured on an H200 nothing is faster through CuPy. A product of RMAT
        2^20 x 16 with one vector comes nearest, with 1.13 of our time."""
        return False

    def spmv(self, A: Any, x: Any, y: Any, alpha: Any, beta: Any, mode: str) -> None:
        """y = beta y + alpha op(A) x."""
        from cupyx import cusparse

        with queued(self.space, A.row_map, A.entries, A.values, x, y):
            matrix = self._matrix(A)
            call = cusparse.spmv if x.rank == 1 else cusparse.spmm
            call(matrix, cupy_array(x), cupy_array(y), alpha=alpha, beta=beta, transa=mode != "N")

    def spgemm(self, A: Any, B: Any) -> tuple[Any, Any, Any]:
        """Row map, entries and values of A B."""
        with queued(self.space, A.row_map, A.entries, A.values, B.row_map, B.entries, B.values):
            return _parts(self._matrix(A) @ self._matrix(B))

    def spadd(self, A: Any, B: Any, alpha: Any, beta: Any) -> tuple[Any, Any, Any]:
        """Row map, entries and values of alpha A + beta B."""
        from cupyx import cusparse

        with queued(self.space, A.row_map, A.entries, A.values, B.row_map, B.entries, B.values):
            return _parts(cusparse.csrgeam2(self._matrix(A), self._matrix(B), alpha, beta))

    def _matrix(self, A: Any) -> Any:
        """A as CuPy's matrix, without a copy."""
        from cupyx.scipy.sparse import csr_matrix

        matrix = self._matrices.get(A.graph)
        if matrix is None:
            parts = tuple(map(cupy_array, (A.values, A.entries, A.row_map)))
            matrix = self._matrices[A.graph] = csr_matrix(parts, shape=A.shape, copy=False)
            return matrix
        matrix.data = cupy_array(A.values)
        return matrix


def _refusal_of_product(A: Any, x: Any, y: Any, alpha: Any, beta: Any, mode: str) -> str | None:
    if mode not in ("N", "T") and not (mode == "H" and A.dtype.kind == "f"):
        return f"it has no mode {mode!r} here for {A.dtype}"
    if x.dtype != A.dtype or y.dtype != A.dtype:
        return f"values are of {A.dtype}, x of {x.dtype} and y of {y.dtype}; expected one type"
    for name, view in (("x", x), ("y", y)):
        if not view.size:
            return f"{name} is empty"
        lengths = [1, view.shape[0]][: view.rank]
        if list(view.strides) != lengths:
            return f"{name} has strides {view.strides}; expected those of layout 'left'"
    return None


def _parts(matrix: Any) -> tuple[Any, Any, Any]:
    matrix.sort_indices()
    return matrix.indptr, matrix.indices, matrix.data
