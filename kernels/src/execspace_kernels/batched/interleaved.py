"""The layout of batches whose matrices lie between each other, `Interleaved`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

import execspace as es

from ..errors import MatrixError

__all__ = ["Interleaved"]


@dataclass(frozen=True)
class Interleaved(es.Layout):
    """Groups of `width` matrices, of which the same element of each lies side by side.

    Parameters
    ----------
    width : int
        A power of two: 4 or 8 for the vectors of a host, 32 for the warps of a GPU.

    Raises
    ------
    MatrixError
        If `width` is no power of two.

    Notes
    -----
    For Views of shape (batch, m, n). The compact layout of Kim et al., "Designing
    vector-friendly compact BLAS and LAPACK kernels", SC17: https://doi.org/10.1145/3126908.3126941

    Examples
    --------
    >>> import execspace as es
    >>> from execspace_kernels import batched
    >>> A = es.View((10, 3, 3), layout=batched.Interleaved(4), memory=es.HOST)
    >>> A.span  # three groups of four matrices
    108
    """

    width: int

    def __post_init__(self) -> None:
        width = self.width
        if isinstance(width, np.integer):
            object.__setattr__(self, "width", int(width))
        elif not isinstance(width, int) or isinstance(width, bool):
            raise MatrixError(f"Interleaved: width={width!r}; expected a power of two.")
        if width < 1 or width & (width - 1):
            raise MatrixError(f"Interleaved: width={width}; expected a power of two.")

    def span(self, *extents: int) -> int:
        """Elements of whole groups."""
        batch, m, n = extents
        return -(-batch // self.width) * self.width * m * n

    def offset(self, b: Any, i: Any, j: Any, batch: Any, m: Any, n: Any) -> Any:
        """Where an element is."""
        w = self.width
        return ((b // w * m + i) * n + j) * w + b % w
