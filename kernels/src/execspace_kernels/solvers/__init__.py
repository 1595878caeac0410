"""Iterative solvers of A x = b: conjugate gradients, BiCGSTAB, GMRES, Chebyshev's iteration."""

from .handle import Handle, prepare
from .smoother import Chebyshev
from .solution import Solution
from .solve import bicgstab, cg, chebyshev, gmres

__all__ = [
    "Chebyshev",
    "Handle",
    "Solution",
    "bicgstab",
    "cg",
    "chebyshev",
    "gmres",
    "prepare",
]
