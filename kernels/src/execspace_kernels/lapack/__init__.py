"""LAPACK's functions of one dense matrix: factors, systems, eigenvalues and singular values."""

from .cholesky import posv, potrf, potrs
from .eigh import eigh
from .lu import gesv, getrf, getrs
from .qr import geqrf, orgqr, ormqr
from .svd import SVD, svd
from .triangular import trtri

__all__ = [
    "SVD", "eigh", "geqrf", "gesv", "getrf", "getrs", "orgqr", "ormqr", "posv", "potrf", "potrs",
    "svd", "trtri",
]  # fmt: skip
