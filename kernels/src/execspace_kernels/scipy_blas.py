"""NumPy's and SciPy's BLAS as a vendor's, for spaces whose memory the host reaches.

BLAS 3 is in `scipy_blas3`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import execspace as es

from .scipy_blas3 import ScipyBlas3

_VALUES = tuple(np.dtype(t) for t in (np.float32, np.float64, np.complex64, np.complex128))
_DOUBLE = (np.dtype(np.float64), np.dtype(np.complex128))  # in which sums are computed
_TRANS = {"N": 0, "T": 1, "H": 2}
_OTHER = {"N": "T", "T": "N", "C": "H", "H": "C"}  # of the transpose, for a matrix by rows
# Elements of a product of tall matrices from which it is faster: in general; and where rows lie
# side by side and numbers of columns are multiples of four, for spaces of one thread, and of more.
_MANY_ELEMENTS, _MANY_FOR_ONE, _MANY_FOR_SEVERAL = 25, 256, 2048
_FEW_ROWS = 2048  # of a triangle, up to which it is faster


class ScipyBlas(ScipyBlas3):
    """Dense routines; calls block. BLAS has threads of its own, whatever the space has."""

    functions = (
        "dot", "dotu", "nrm2", "gemv", "ger", "geru", "gerc", "trmv", "trsv", "dot_gemm",
        *ScipyBlas3.matrix_functions,
    )  # fmt: skip

    def __init__(self, space: es.ExecutionSpace) -> None:
        self.space = space

    def refusal(self, function: str, *args: Any) -> str | None:
        """Why it cannot do this; None if it can."""
        if function in self.matrix_functions:
            return self.matrix_refusal(*args)
        if function in ("dot", "dotu", "nrm2"):
            views = [view for view in args[:2] if view is not None]
            if views[0].rank != 1:
                return "x is a multi-vector"
            if views[0].dtype not in _DOUBLE:
                return f"x is of {views[0].dtype}; expected float64 or complex128"
            return _unlike(*views)
        if function == "dot_gemm":
            return _unlike(*args[:3])
        if function == "gemv":
            A, x, y, alpha, _, mode = args
            if alpha == 0:
                return "alpha is 0, for which it does not look at the matrix"
            return _unlike(A, x, y) or _strided(x, y) or _untransposed(A, mode)
        if function in ("trmv", "trsv"):
            A, x, out, _, mode, _ = args
            return _unlike(A, x, out) or _strided(out) or _untransposed(A, mode)
        alpha, x, y, A = args
        if alpha == 0:
            return "alpha is 0, for which it does not look at the vectors"
        mode = "C" if function == "gerc" and not _is_by_columns(A) else "N"
        return _unlike(A, x, y) or _untransposed(A, mode, flips=False)

    def is_preferred(self, function: str, *args: Any) -> bool:
        """Products of some columns, which BLAS 3 computes, and solves that take many launches."""
        if function in self.matrix_functions:
            return self.prefers_matrices(function, *args)
        if function == "dot_gemm":
            in_fours = all(v.strides[1] == 1 and v.shape[1] % 4 == 0 for v in args[:2])
            many = _MANY_FOR_ONE if self.space.concurrency == 1 else _MANY_FOR_SEVERAL
            return bool(args[2].size >= (many if in_fours else _MANY_ELEMENTS))
        return bool(function == "trsv" and args[0].shape[0] <= _FEW_ROWS)

    def dot(self, x: Any, y: Any, out: Any) -> Any:
        """The sum of conj(x) y."""
        self.space.fence()
        return _given(np.vdot(np.asarray(x), np.asarray(y)), out)

    def dotu(self, x: Any, y: Any, out: Any) -> Any:
        """The sum of x y."""
        self.space.fence()
        return _given(np.dot(np.asarray(x), np.asarray(y)), out)

    def nrm2(self, x: Any, y: Any, out: Any) -> Any:
        """The Euclidean norm."""
        self.space.fence()
        return _given(_routine("nrm2", x)(np.asarray(x)), out)

    def gemv(self, A: Any, x: Any, y: Any, alpha: Any, beta: Any, mode: str) -> None:
        """y = beta y + alpha op(A) x."""
        self.space.fence()
        matrix, trans = _by_columns(A, mode)
        target = np.asarray(y)
        if beta == 0:
            target[...] = 0
        _routine("gemv", A)(
            alpha, matrix, np.asarray(x), beta=beta, y=target, overwrite_y=1, trans=trans
        )

    def ger(self, alpha: Any, x: Any, y: Any, A: Any) -> None:
        """A = A + alpha x y^T."""
        self._outer("geru" if A.dtype.kind == "c" else "ger", alpha, x, y, A)

    geru = ger

    def gerc(self, alpha: Any, x: Any, y: Any, A: Any) -> None:
        """A = A + alpha x y^H."""
        self._outer("gerc" if A.dtype.kind == "c" else "ger", alpha, x, y, A)

    def _outer(self, name: str, alpha: Any, x: Any, y: Any, A: Any) -> None:
        self.space.fence()
        first, second, target = map(np.asarray, (x, y, A))
        if not _is_by_columns(A):
            first, second, target = second, first, target.T
        _routine(name, A)(alpha, first, second, a=target, overwrite_a=1)

    def trmv(self, A: Any, x: Any, out: Any, uplo: str, mode: str, unit: bool) -> None:
        """op(A) x."""
        self._triangle("trmv", A, x, out, uplo, mode, unit)

    def trsv(self, A: Any, b: Any, out: Any, uplo: str, mode: str, unit: bool) -> None:
        """x with op(A) x = b."""
        self._triangle("trsv", A, b, out, uplo, mode, unit)

    def _triangle(
        self, name: str, A: Any, x: Any, out: Any, uplo: str, mode: str, unit: bool
    ) -> None:
        self.space.fence()
        matrix, trans = _by_columns(A, mode)
        lower = (uplo == "L") == _is_by_columns(A)
        target = np.asarray(out)
        np.copyto(target, np.asarray(x))
        _routine(name, A)(matrix, target, overwrite_x=1, lower=lower, trans=trans, diag=unit)

    def dot_gemm(self, A: Any, B: Any, C: Any, alpha: Any, beta: Any, mode: str) -> None:
        """C = beta C + alpha A^T B."""
        self.space.fence()
        left, target = np.asarray(A).T, np.asarray(C)
        product = alpha * ((left.conj() if mode == "H" else left) @ np.asarray(B))
        target[...] = product if beta == 0 else product + beta * target


def _routine(name: str, view: Any) -> Any:
    from scipy.linalg.blas import get_blas_funcs

    return get_blas_funcs(name, dtype=view.dtype)


def _given(found: Any, out: Any) -> Any:
    """The number, or `out` with it."""
    if out is None:
        return found.item() if isinstance(found, np.generic) else found
    np.asarray(out)[()] = found
    return out


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


def _strided(*vectors: Any) -> str | None:
    """Why it cannot take vectors: it would copy what it is to change."""
    for view in vectors:
        if view.shape[0] > 1 and view.strides[0] != 1:
            return f"a vector has the stride {view.strides[0]}; expected 1"
    return None


def _untransposed(A: Any, mode: str, flips: bool = True) -> str | None:
    """Why it cannot take a matrix without a copy, in a mode that it has."""
    if not _is_by_columns(A) and list(A.strides) != [A.shape[1], 1]:
        return f"A has strides {A.strides}; expected those of layout 'left' or 'right'"
    own = mode if _is_by_columns(A) or not flips else _OTHER[mode]
    if own == "C" and A.dtype.kind == "c":
        return f"it has no mode {mode!r} for complex numbers in this layout"
    return None


def _is_by_columns(A: Any) -> bool:
    return list(A.strides) == [1, A.shape[0]]


def _by_columns(A: Any, mode: str) -> tuple[Any, int]:
    """The matrix as Fortran has it, and its number for the mode."""
    matrix = np.asarray(A)
    if not _is_by_columns(A):
        matrix, mode = matrix.T, _OTHER[mode]
    return matrix, _TRANS["N" if mode == "C" else mode]
