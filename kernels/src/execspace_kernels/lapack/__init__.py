"""LAPACK's functions of one dense matrix: factors, systems, eigenvalues and singular values."""

from .cholesky import posv, potrf, potrs
from .lu import gesv, getrf, getrs
from .qr import geqrf, orgqr, ormqr
from .triangular import trtri

__all__ = [
    "geqrf", "gesv", "getrf", "getrs", "orgqr", "ormqr", "posv", "potrf", "potrs", "trtri",
]  # fmt: skip
