"""BLAS 3 of SciPy's library, called by the pointers that `scipy.linalg.cython_blas` has for Cython.

So matrices with longer columns than are used, as parts of others have, are taken as they are; the
functions of `scipy.linalg.blas` would copy them. Threads run meanwhile, as ctypes releases the GIL.
"""

from __future__ import annotations

import ctypes
from functools import cache
from typing import Any

import numpy as np

import execspace as es

__all__ = ["ScipyBlas3"]

_LETTERS = {
    np.dtype(t): letter
    for t, letter in (
        (np.float32, "s"),
        (np.float64, "d"),
        (np.complex64, "c"),
        (np.complex128, "z"),
    )
}
_HERMITIAN = {"T": "T", "H": "C", "N": "N"}
_MOST = 2**31 - 1  # of the integers of BLAS
# Products of elements up to which launches of ours are faster: of matrices, and of triangles.
_FEW, _FEW_OF_TRIANGLES = 32768, 262144


class ScipyBlas3:
    """Products and solves of matrices by columns; calls block."""

    space: es.ExecutionSpace
    matrix_functions = ("gemm", "herk", "syrk", "trmm", "trsm")

    def matrix_refusal(self, *args: Any) -> str | None:
        """Why it cannot do this; None if it can."""
        for view in args:
            if isinstance(view, es.View) and max(*view.shape, *view.strides) > _MOST:
                return "there are 2**31 rows or more"
        return None

    def prefers_matrices(self, function: str, *args: Any) -> bool:
        """All but small ones."""
        views = [arg for arg in args if isinstance(arg, es.View)]
        if function in ("trmm", "trsm"):
            return bool(views[0].shape[0] * views[1].size > _FEW_OF_TRIANGLES)
        k = views[0].size // max(views[-1].shape[0], 1)
        return bool(views[-1].size * k > _FEW)

    def gemm(
        self, A: Any, mode_a: str, B: Any, mode_b: str, C: Any, alpha: Any, beta: Any
    ) -> None:  # fmt: skip
        """C = beta C + alpha op(A) op(B)."""
        k = A.shape[1 if mode_a == "N" else 0]
        self._call("gemm", C, _HERMITIAN[mode_a], _HERMITIAN[mode_b], *C.shape, k, (alpha,), A, B,
                   (beta,), C)  # fmt: skip

    def syrk(self, A: Any, mode: str, C: Any, uplo: str, alpha: Any, beta: Any) -> None:
        """C = beta C + alpha A A^T, or A^T A, of a triangle."""
        n, k = A.shape if mode == "N" else A.shape[::-1]
        self._call("syrk", C, uplo, mode, n, k, (alpha,), A, (beta,), C)

    def herk(self, A: Any, mode: str, C: Any, uplo: str, alpha: Any, beta: Any) -> None:
        """C = beta C + alpha A A^H, or A^H A, of a triangle."""
        n, k = A.shape if mode == "N" else A.shape[::-1]
        if C.dtype.kind == "c":
            real = np.zeros(0, C.dtype).real.dtype
            self._call("herk", C, uplo, _HERMITIAN[mode], n, k, (alpha, real), A, (beta, real), C)
        else:
            self._call("syrk", C, uplo, "T" if mode == "H" else "N", n, k, (alpha,), A, (beta,), C)

    def trmm(
        self, A: Any, side: str, uplo: str, mode: str, B: Any, unit: bool, alpha: Any
    ) -> None:  # fmt: skip
        """B = alpha op(A) B, or alpha B op(A)."""
        self._turn("trmm", A, side, uplo, mode, B, unit, alpha)

    def trsm(
        self, A: Any, side: str, uplo: str, mode: str, B: Any, unit: bool, alpha: Any
    ) -> None:  # fmt: skip
        """B = X with op(A) X = alpha B, or X op(A) = alpha B."""
        self._turn("trsm", A, side, uplo, mode, B, unit, alpha)

    def _turn(
        self, name: str, A: Any, side: str, uplo: str, mode: str, B: Any, unit: bool, alpha: Any
    ) -> None:
        diag = "U" if unit else "N"
        self._call(name, B, side, uplo, _HERMITIAN[mode], diag, *B.shape, (alpha,), A, B)

    def _call(self, name: str, like: Any, *args: Any) -> None:
        """A routine with letters, numbers, factors in tuples, with a type where it is another one,
        and matrices, each with the distance of its columns."""
        self.space.fence()
        given: list[Any] = []
        for arg in args:
            if isinstance(arg, str):
                given.append(ctypes.byref(ctypes.c_char(arg.encode())))
            elif isinstance(arg, int):
                given.append(ctypes.byref(ctypes.c_int(arg)))
            elif isinstance(arg, tuple):
                value = np.array(arg[0], arg[1] if len(arg) > 1 else like.dtype)
                given.append(value.ctypes)
            else:
                rows, columns = arg.shape
                given.append(ctypes.c_void_p(arg.data_ptr))
                distance = max(rows, arg.strides[1] if columns > 1 else 1, 1)
                given.append(ctypes.byref(ctypes.c_int(distance)))
        _routine(_LETTERS[like.dtype] + name)(*given)


@cache
def _routine(name: str) -> Any:
    from scipy.linalg import cython_blas

    capsule = cython_blas.__pyx_capi__[name]
    name_of = ctypes.pythonapi.PyCapsule_GetName
    name_of.restype, name_of.argtypes = ctypes.c_char_p, [ctypes.py_object]
    pointer_of = ctypes.pythonapi.PyCapsule_GetPointer
    pointer_of.restype, pointer_of.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    return ctypes.CFUNCTYPE(None)(pointer_of(capsule, name_of(capsule)))
