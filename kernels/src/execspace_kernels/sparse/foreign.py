"""Sparse matrices of SciPy, CuPy and PyTorch: taken as they are, and given.

None of these libraries is imported: a matrix that comes has loaded its own.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

import execspace as es

from ..errors import MatrixError
from . import ports
from .coo import CooMatrix
from .crs import CrsMatrix
from .rows import sort_and_merge

__all__ = ["as_crs", "from_torch", "to_scipy", "to_torch"]


def as_crs(
    matrix: Any, *, space: str | es.ExecutionSpace | None = None, check: bool = False
) -> CrsMatrix:
    """A sparse matrix of this or another library as a CrsMatrix.

    Parameters
    ----------
    matrix : CrsMatrix, CooMatrix, or a sparse matrix of SciPy, CuPy or PyTorch
        Those by rows share their memory; of others a copy is made.
    space : str or ExecutionSpace, optional
        Copy what this space does not reach to its memory.
    check : bool, default False
        As of `CrsMatrix`; for matrices that some other program has made.

    Raises
    ------
    MatrixError
        If it is none.
    """
    if isinstance(matrix, CooMatrix):
        matrix = matrix.to_crs()
    if isinstance(matrix, CrsMatrix):
        return matrix if space is None else matrix.to_space(space)
    if _is_of(matrix, "torch"):
        return from_torch(matrix, space=space, check=check)
    form = getattr(matrix, "format", None)
    if isinstance(form, str) and hasattr(matrix, "tocsr") and len(matrix.shape) == 2:
        rows = matrix if form == "csr" else matrix.tocsr()
        nnz = int(rows.nnz)  # arrays of SciPy may be longer
        return CrsMatrix(
            rows.indptr, rows.indices[:nnz], rows.data[:nnz], matrix.shape, check=check, space=space
        )
    raise MatrixError(
        f"expected a sparse matrix, CrsMatrix or one of SciPy, CuPy or PyTorch, got "
        f"{type(matrix).__name__!r}. Make one of rows, columns and values: sparse.CooMatrix."
    )


ports.as_crs = as_crs


def from_torch(
    tensor: Any, *, space: str | es.ExecutionSpace | None = None, check: bool = False
) -> CrsMatrix:
    """A sparse tensor of PyTorch: one by rows shares its memory, of others a copy is made."""
    import torch

    if tensor.layout is torch.strided or tensor.dim() != 2:
        raise MatrixError(
            f"expected a sparse tensor of 2 dimensions, got one of {tensor.dim()} and layout "
            f"{tensor.layout}; use tensor.to_sparse_csr()."
        )
    rows = tensor if tensor.layout is torch.sparse_csr else tensor.to_sparse_csr()
    shape = int(rows.shape[0]), int(rows.shape[1])
    parts = rows.crow_indices(), rows.col_indices(), rows.values().detach()
    return CrsMatrix(*parts, shape, check=check, space=space)


def to_scipy(A: CrsMatrix) -> Any:
    """The matrix as a `scipy.sparse.csr_array`, a copy. Blocks.

    Raises
    ------
    ImportError
        If SciPy is not installed.
    """
    from scipy.sparse import csr_array

    A = as_crs(A)
    parts = A.values.to_numpy(), A.entries.to_numpy(), A.row_map.to_numpy()
    return csr_array(parts, shape=A.shape)


def to_torch(A: CrsMatrix) -> Any:
    """The matrix as a sparse CSR tensor of PyTorch, which shares its values if they are writable
    and side by side. Rows that are not sorted are sorted, elements at one place added. Blocks."""
    import torch

    A = as_crs(A)
    if not A.graph.is_sorted():  # which PyTorch wants
        A = sort_and_merge(A)
    kind = np.result_type(A.row_map.dtype, A.entries.dtype)
    plain = (
        A.values if A.values.strides == (1,) and not A.values.is_readonly else es.array(A.values)
    )
    views = es.array(A.row_map, kind), es.array(A.entries, kind), plain
    es.fence()
    parts = [torch.from_dlpack(view) for view in views]
    return torch.sparse_csr_tensor(*parts, size=A.shape, check_invariants=True)


def _is_of(matrix: Any, library: str) -> bool:
    return library in sys.modules and type(matrix).__module__.partition(".")[0] == library


def of_library(parts: tuple[Any, Any, Any], shape: tuple[int, int]) -> CrsMatrix:
    """The matrix of a vendor's row map, entries and values."""
    row_map, entries, values = parts
    return CrsMatrix(row_map, entries, values, shape, check=False)
