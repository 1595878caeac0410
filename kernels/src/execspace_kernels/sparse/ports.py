"""What methods of matrices call, and modules above them provide."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

multiply: Callable[..., Any]  # spmv
multiply_matrices: Callable[..., Any]  # spgemm
transpose: Callable[..., Any]
as_crs: Callable[..., Any]
