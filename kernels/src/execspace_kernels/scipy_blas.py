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
_OP = {"N": lambda A: A, "T": lambda A: A.T, "H": lambda A: A.conj().T}
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
            return None
        if function in ("gemv", "trmv", "trsv"):
            vectors = args[2:4] if function == "gemv" else args[4:5]
            return _gaps(args[0]) or _strided(*vectors)
        return _gaps(args[2])  # of ger, geru and gerc

    def is_preferred(self, function: str, *args: Any) -> bool:
        """Products of some columns, which BLAS 3 computes, and solves that take many launches."""
        if function in self.matrix_functions:
            return self.prefers_matrices(function, *args)
        if function == "dot_gemm":
            _, mode_a, _, mode_b, C = args[:5]
            by_rows = mode_a == "N" and mode_b != "N"
            in_fours = by_rows and C.shape[0] % 4 == 0 and C.shape[1] % 4 == 0
            many = _MANY_FOR_ONE if self.space.concurrency == 1 else _MANY_FOR_SEVERAL
            return bool(C.size >= (many if in_fours else _MANY_ELEMENTS))
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

    def gemv(self, A: Any, mode: str, x: Any, y: Any, alpha: Any, beta: Any) -> None:
        """y = beta y + alpha op(A) x."""
        self.space.fence()
        target = np.asarray(y)
        if beta == 0:
            target[...] = 0
        _routine("gemv", A)(
            alpha, np.asarray(A), np.asarray(x), beta=beta, y=target, overwrite_y=1,
            trans=_TRANS[mode],
        )  # fmt: skip

    def ger(self, x: Any, y: Any, A: Any, alpha: Any) -> None:
        """A = A + alpha x y^T."""
        self._outer("geru" if A.dtype.kind == "c" else "ger", x, y, A, alpha)

    geru = ger

    def gerc(self, x: Any, y: Any, A: Any, alpha: Any) -> None:
        """A = A + alpha x y^H."""
        self._outer("gerc" if A.dtype.kind == "c" else "ger", x, y, A, alpha)

    def _outer(self, name: str, x: Any, y: Any, A: Any, alpha: Any) -> None:
        self.space.fence()
        first, second, target = map(np.asarray, (x, y, A))
        _routine(name, A)(alpha, first, second, a=target, overwrite_a=1)

    def trmv(self, A: Any, uplo: str, mode: str, x: Any, out: Any, unit: bool) -> None:
        """op(A) x."""
        self._triangle("trmv", A, uplo, mode, x, out, unit)

    def trsv(self, A: Any, uplo: str, mode: str, x: Any, out: Any, unit: bool) -> None:
        """What op(A) times it is x."""
        self._triangle("trsv", A, uplo, mode, x, out, unit)

    def _triangle(
        self, name: str, A: Any, uplo: str, mode: str, x: Any, out: Any, unit: bool
    ) -> None:
        self.space.fence()
        target = np.asarray(out)
        np.copyto(target, np.asarray(x))
        _routine(name, A)(
            np.asarray(A), target, overwrite_x=1, lower=uplo == "L", trans=_TRANS[mode], diag=unit
        )

    def dot_gemm(
        self, A: Any, mode_a: str, B: Any, mode_b: str, C: Any, alpha: Any, beta: Any
    ) -> None:  # fmt: skip
        """C = beta C + alpha op(A) op(B), by NumPy, which computes half of what is symmetric."""
        self.space.fence()
        left, right, target = _OP[mode_a](np.asarray(A)), _OP[mode_b](np.asarray(B)), np.asarray(C)
        product = alpha * (left @ right)
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


def _gaps(A: Any) -> str | None:
    """Why it cannot take a matrix by columns: it would copy it."""
    if A.shape[1] > 1 and A.strides[1] != A.shape[0]:
        return "there are gaps between the columns of A, which would be copied"
    return None
