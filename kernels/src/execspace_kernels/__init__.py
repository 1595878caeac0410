"""Linear algebra on execspace's Views.

`blas` has dense vectors and matrices, `lapack` factors, eigenvalues and singular values of a dense
matrix, `batched` many small matrices, also for use in kernels, `sparse` sparse matrices and what is
done with them, `solvers` iterative solvers. Submodules are loaded when they are used.
"""

from __future__ import annotations

import importlib
from typing import Any

from .decisions import Decision, Explanation, explain
from .errors import ConvergenceError, MatrixError
from .vendors import Timing, Vendor, tune

__version__ = "0.1.0"
__all__ = [
    "ConvergenceError",
    "Decision",
    "Explanation",
    "MatrixError",
    "Timing",
    "Vendor",
    "batched",
    "blas",
    "explain",
    "lapack",
    "solvers",
    "sparse",
    "tune",
]


def __getattr__(name: str) -> Any:
    if name in ("batched", "blas", "lapack", "solvers", "sparse"):
        return importlib.import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
