"""What sparse matrices have in common: products, copies, and how they are sent."""

from __future__ import annotations

from typing import Any, ClassVar, overload

import numpy as np

import execspace as es

from . import ports

__all__ = ["Matrix", "Shared"]


class Shared:
    """What has Views, and is copied and pickled as these are: not with their memory."""

    _instead: ClassVar[str]  # of pickling, a sentence

    def __reduce__(self) -> Any:
        raise es.ViewTypeError(
            f"{type(self).__name__} cannot be pickled or deep-copied: its Views share memory. "
            f"{self._instead}"
        )


class Matrix(Shared):
    """A sparse matrix."""

    __array_ufunc__ = None  # NumPy leaves `array @ matrix` to this class, which has none

    @overload
    def __matmul__(self, x: Matrix) -> Any: ...

    @overload
    def __matmul__(self, x: Any) -> es.View: ...

    def __matmul__(self, x: Any) -> Any:
        """A product with vectors, by `spmv`, or a sparse matrix of any library, by `spgemm`."""
        return ports.multiply_matrices(self, x) if _is_sparse(x) else ports.multiply(self, x)


def _is_sparse(x: Any) -> bool:
    """Whether something is a sparse matrix, of this or another library."""
    if isinstance(x, es.View | np.ndarray | list):
        return False
    of_torch = str(getattr(x, "layout", "")).startswith("torch.sparse")
    return isinstance(x, Matrix) or hasattr(x, "tocsr") or of_torch
