"""Dense vectors and matrices: BLAS 1 to 3, by the names of BLAS and Kokkos Kernels."""

from .dot_gemm import dot_gemm
from .elementwise import abs, axpby, axpy, fill, mult, reciprocal, scal, swap, update
from .gemm import gemm
from .gemv import gemv
from .norms import nrm2, nrm2_squared
from .rank_k import herk, syrk
from .reductions import dot, dotu, iamax, nrm1, nrminf, sum
from .rotations import Givens, ModifiedGivens, rot, rotg, rotm, rotmg
from .triangles import trmm, trsm
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
    "gemm",
    "gemv",
    "ger",
    "gerc",
    "geru",
    "her",
    "her2",
    "herk",
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
    "syrk",
    "trmm",
    "trmv",
    "trsm",
    "trsv",
    "update",
]
