"""SciPy's sparse routines as a vendor's, for spaces whose memory the host reaches.

Those of dense vectors and matrices are in `scipy_blas`, factors of these in `scipy_lapack`.
"""

from __future__ import annotations

import importlib.util
from typing import Any

import numpy as np

import execspace as es

from .scipy_blas import ScipyBlas
from .scipy_lapack import ScipyLapack
from .vendors import hookimpl

_VALUES = tuple(np.dtype(t) for t in (np.float32, np.float64, np.complex64, np.complex128))


class Scipy(ScipyLapack, ScipyBlas):
    """Sparse routines of SciPy, on one thread, and dense ones; calls block."""

    library = "SciPy"

    def refusal(self, function: str, *args: Any) -> str | None:
        """Why it cannot do this; None if it can."""
        if function in self.functions:
            return super().refusal(function, *args)
        if function in self.lapack_functions:
            return self.lapack_refusal(*args)
        matrices = args[:1] if function == "spmv" else args[:2]
        if function not in ("spmv", "spgemm", "spadd"):
            return f"it has no {function} here"
        for matrix in matrices:
            if matrix.dtype not in _VALUES:
                return f"values are of {matrix.dtype}; expected float32, float64 or complex ones"
            if matrix.row_map.dtype != matrix.entries.dtype:
                return "row map and entries are of two types; expected one"
        if function == "spmv" and args[1].dtype not in _VALUES:
            return f"x is of {args[1].dtype}; expected float32, float64 or complex ones"
        return None

    def is_preferred(self, function: str, *args: Any) -> bool:
        """No sparse ones: on two cores they take 1.1 to 2.7 times as long as this package."""
        if function in self.lapack_functions:
            return self.lapack_is_preferred(function, *args)
        return function in self.functions and super().is_preferred(function, *args)

    def spmv(self, A: Any, x: Any, y: Any, alpha: Any, beta: Any, mode: str) -> None:
        """y = beta y + alpha op(A) x."""
        matrix = self._matrix(A)
        used = {"N": matrix, "T": matrix.T, "C": matrix.conj(), "H": matrix.conj().T}[mode]
        product = alpha * (used @ np.asarray(x))
        target = np.asarray(y)
        target[...] = product if beta == 0 else product + beta * target

    def spgemm(self, A: Any, B: Any) -> tuple[Any, Any, Any]:
        """Row map, entries and values of A B."""
        return _parts(self._matrix(A) @ self._matrix(B))

    def spadd(self, A: Any, B: Any, alpha: Any, beta: Any) -> tuple[Any, Any, Any]:
        """Row map, entries and values of alpha A + beta B."""
        return _parts(alpha * self._matrix(A) + beta * self._matrix(B))

    def _matrix(self, A: Any) -> Any:
        from scipy.sparse import csr_array

        self.space.fence()
        parts = tuple(map(np.asarray, (A.values, A.entries, A.row_map)))
        return csr_array(parts, shape=A.shape, copy=False)


def _parts(matrix: Any) -> tuple[Any, Any, Any]:
    matrix.sum_duplicates()
    return matrix.indptr, matrix.indices, matrix.data


@hookimpl(trylast=True)
def execspace_kernels_vendor(space: es.ExecutionSpace) -> Scipy | None:
    """SciPy, if it is installed and reaches what the space computes on."""
    if importlib.util.find_spec("scipy") is None:
        return None
    is_of_host = es.View(0, np.float64, space=space).memory_space is es.HOST
    return Scipy(space) if is_of_host else None
