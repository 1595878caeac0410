"""Dense vectors and matrices: BLAS 1 and 2, by the names of BLAS and Kokkos Kernels."""

from .dot_gemm import dot_gemm
from .elementwise import abs, axpby, axpy, fill, mult, reciprocal, scal, swap, update
from .gemv import gemv
from .norms import nrm2, nrm2_squared
from .reductions import dot, dotu, iamax, nrm1, nrminf, sum
from .rotations import Givens, ModifiedGivens, rot, rotg, rotm, rotmg
from .triangular import trmv, trsv
from .updates import ger, gerc, geru, her, her2, syr, syr2

__all__ = [
    "Givens",
    "ModifiedGivens",
    "abs",
    "axpby",
    "axpy",
    "dot",
    "dot_gemm",
    "dotu",
    "fill",
    "gemv",
    "ger",
    "gerc",
    "geru",
    "her",
    "her2",
    "iamax",
    "mult",
    "nrm1",
    "nrm2",
    "nrm2_squared",
    "nrminf",
    "reciprocal",
    "rot",
    "rotg",
    "rotm",
    "rotmg",
    "scal",
    "sum",
    "swap",
    "syr",
    "syr2",
    "trmv",
    "trsv",
    "update",
]
