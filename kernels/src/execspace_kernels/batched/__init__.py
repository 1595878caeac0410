"""Dense linear algebra of many small matrices.

Functions of this module take batches, Views of rank 3 whose first index is that of the matrix, and
launch. `serial`, `team` and `teamvector` have functions to be called within kernels, by one thread,
by the threads of a team, or by their lanes.
"""

from . import serial, team, teamvector
from .factors import gesv, getrf, getrs, inverse, lu, potrf, trsm, trtri
from .interleaved import Interleaved
from .products import gemm, gemv, trmm

__all__ = [
    "Interleaved",
    "gemm",
    "gemv",
    "gesv",
    "getrf",
    "getrs",
    "inverse",
    "lu",
    "potrf",
    "serial",
    "team",
    "teamvector",
    "trmm",
    "trsm",
    "trtri",
]
