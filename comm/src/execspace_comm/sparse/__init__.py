"""Sparse matrices and vectors over ranks, and solvers of `execspace_kernels` for them.

It needs execspace-kernels: ``pip install -e kernels`` in a checkout.
"""

from __future__ import annotations

try:
    import execspace_kernels as execspace_kernels
except ImportError as error:
    raise ImportError(
        "execspace_comm.sparse needs execspace-kernels; in a checkout, pip install -e kernels"
    ) from error

from .market import from_matrix_market
from .matrix import DistributedCrsMatrix
from .partition import Partition
from .products import spmv
from .solving import bicgstab, cg, chebyshev, gmres
from .sources import from_entries, from_function, from_root
from .vectors import dot, norm

__all__ = [
    "DistributedCrsMatrix",
    "Partition",
    "bicgstab",
    "cg",
    "chebyshev",
    "dot",
    "from_entries",
    "from_function",
    "from_matrix_market",
    "from_root",
    "gmres",
    "norm",
    "spmv",
]
