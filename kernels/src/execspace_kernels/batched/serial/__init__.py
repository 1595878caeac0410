"""Dense linear algebra of small matrices by one thread, to be called in kernels.

Matrices and vectors are Views, parts of Views such as `A[b, :, :]`, scratch memory or private
arrays (`es.local`), of any layout and of real or complex numbers; copies and products also of
records with operators. Extents are those that they have; loops over constant ones, those of private
arrays and of static extents, are unrolled. Nothing checks extents beyond what Views check by
themselves. What is written must not overlap what is read, where it is not said otherwise.

`mode` is "N", "T", "C" or "H": A, its transpose, its conjugate, or the transpose of that. `side`
is "L" or "R", `uplo` "L" or "U", `diag` "N" or "U" for a diagonal of ones. They must be constants.

Kokkos Kernels' Serial level: https://kokkos.org/kokkos-kernels/docs/
"""

from .factors import (
    geqrf,
    gesv,
    getrf,
    getrs,
    inverse,
    lu,
    ormqr,
    potrf,
    potrs,
    swap_rows,
)
from .products import axpy, copy, dot, fill, gemm, gemv, scal, set_identity, trmm
from .spectra import eigh, svd
from .triangles import trsm, trsv, trtri

__all__ = [
    "axpy",
    "copy",
    "dot",
    "eigh",
    "fill",
    "gemm",
    "gemv",
    "geqrf",
    "gesv",
    "getrf",
    "getrs",
    "inverse",
    "lu",
    "ormqr",
    "potrf",
    "potrs",
    "scal",
    "set_identity",
    "svd",
    "swap_rows",
    "trmm",
    "trsm",
    "trsv",
    "trtri",
]
