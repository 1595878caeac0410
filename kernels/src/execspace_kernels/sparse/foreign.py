"""Sparse matrices of SciPy, CuPy and PyTorch: taken as they are, and given.

None of these libraries is imported: a matrix that comes has loaded its own.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

import execspace as es

from ..arguments import check_not_waited_for
from ..errors import MatrixError
from . import ports
from .bsr import BsrMatrix, to_bsr
from .coo import CooMatrix
from .crs import CrsMatrix
from .elements import check_numbers
from .rows import sort_and_merge, transpose
from .structured import StencilMatrix

__all__ = ["as_bsr", "as_crs", "from_torch", "to_scipy", "to_torch"]


def as_crs(
    matrix: Any, *, space: str | es.ExecutionSpace | None = None, check: bool = False
) -> CrsMatrix:
    """A sparse matrix of this or another library as a CrsMatrix.

    Parameters
    ----------
    matrix : CrsMatrix, CooMatrix, BsrMatrix, StencilMatrix, or one of SciPy, CuPy or PyTorch
        Those by rows share their memory; of others a copy is made.
    space : str or ExecutionSpace, optional
        Copy what this space does not reach to its memory.
    check : bool, default False
        As of `CrsMatrix`. Off, since functions call this for each matrix of another library that
        they get, and a look at all of it takes as long as a product, and blocks: libraries are
        trusted to have made what they say. Use it for arrays that came from elsewhere and were put
        into a matrix by hand: columns outside let functions read memory that is not theirs.

    Raises
    ------
    MatrixError
        If it is none, or its library cannot make one by rows of it: SciPy has no float16.
    """
    if isinstance(matrix, CooMatrix | BsrMatrix | StencilMatrix):
        matrix = matrix.to_crs()
    if isinstance(matrix, CrsMatrix):
        return matrix if space is None else matrix.to_space(space)
    if _is_of(matrix, "torch"):
        return from_torch(matrix, space=space, check=check)
    form = getattr(matrix, "format", None)
    if isinstance(form, str) and hasattr(matrix, "tocsr") and len(matrix.shape) == 2:
        rows = matrix if form == "csr" else _by_rows(matrix)
        nnz = int(rows.nnz)  # arrays of SciPy may be longer
        return CrsMatrix(
            rows.indptr, rows.indices[:nnz], rows.data[:nnz], matrix.shape, check=check, space=space
        )
    raise MatrixError(
        f"expected a sparse matrix, CrsMatrix or one of SciPy, CuPy or PyTorch, got "
        f"{type(matrix).__name__!r}. Make one of rows, columns and values: sparse.CooMatrix."
    )


ports.as_crs = as_crs


def _by_rows(matrix: Any) -> Any:
    """A matrix of SciPy or CuPy, converted by these."""
    try:
        return matrix.tocsr()
    except (TypeError, ValueError) as error:
        raise MatrixError(
            f"{type(matrix).__name__!r} of {matrix.dtype} cannot be had by rows: {error} Convert "
            f"its elements, for example by matrix.astype(numpy.float32)."
        ) from error


def as_bsr(
    matrix: Any, *, space: str | es.ExecutionSpace | None = None, check: bool = False
) -> BsrMatrix:
    """A matrix of blocks of this or another library as a BsrMatrix, which shares its memory.

    Parameters
    ----------
    matrix : BsrMatrix, `bsr_array` or `bsr_matrix` of SciPy, or sparse BSR tensor of PyTorch
    space : str or ExecutionSpace, optional
        Copy what this space does not reach to its memory.
    check : bool, default False
        As of `as_crs`.

    Raises
    ------
    MatrixError
        If it is none. `to_bsr` makes one of a matrix by rows.
    """
    if isinstance(matrix, BsrMatrix):
        return matrix if space is None else matrix.to_space(space)
    if _is_of(matrix, "torch") and str(matrix.layout) == "torch.sparse_bsr" and matrix.dim() == 2:
        parts = matrix.crow_indices(), matrix.col_indices(), matrix.values().detach()
        return BsrMatrix(*parts, _shape(matrix), check=check, space=space)
    if getattr(matrix, "format", None) == "bsr" and hasattr(matrix, "indptr"):
        count = int(matrix.indptr[-1])  # arrays of SciPy may be longer
        parts = matrix.indptr, matrix.indices[:count], matrix.data[:count]
        return BsrMatrix(*parts, matrix.shape, check=check, space=space)
    raise MatrixError(
        f"expected a BsrMatrix, or a sparse matrix of SciPy or PyTorch in the format BSR, got "
        f"{type(matrix).__name__!r}. Make one of a matrix by rows: sparse.to_bsr."
    )


def _shape(tensor: Any) -> tuple[int, int]:
    return int(tensor.shape[0]), int(tensor.shape[1])


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
    if tensor.layout is torch.sparse_bsr:  # which PyTorch itself does not convert
        return as_bsr(tensor, space=space, check=check).to_crs()
    if tensor.layout is torch.sparse_bsc:
        turned = tensor.ccol_indices(), tensor.row_indices(), tensor.values().detach().mT
        shape = _shape(tensor)[::-1]
        return transpose(BsrMatrix(*turned, shape, check=check, space=space).to_crs())
    rows = tensor if tensor.layout is torch.sparse_csr else tensor.to_sparse_csr()
    parts = rows.crow_indices(), rows.col_indices(), rows.values().detach()
    return CrsMatrix(*parts, _shape(rows), check=check, space=space)


def to_scipy(A: CrsMatrix | BsrMatrix) -> Any:
    """The matrix as a `scipy.sparse.csr_array`, or `bsr_array` of a BsrMatrix; a copy. Blocks.

    Raises
    ------
    MatrixError
        If `A` is no sparse matrix, or of float16, which SciPy does not have.
    ImportError
        If SciPy is not installed.
    """
    from scipy.sparse import bsr_array, csr_array

    check_not_waited_for("to_scipy")
    make = bsr_array if isinstance(A, BsrMatrix) else csr_array
    A = A if isinstance(A, BsrMatrix) else as_crs(A)
    check_numbers("to_scipy", A)
    if A.dtype == np.float16:
        raise MatrixError(
            "to_scipy: the matrix is of float16, which SciPy does not have; expected float32 or "
            "more. Assign A.values = execspace.array(A.values, numpy.float32) before."
        )
    parts = A.values.to_numpy(), A.entries.to_numpy(), A.row_map.to_numpy()
    return make(parts, shape=A.shape)


def to_torch(A: CrsMatrix | BsrMatrix) -> Any:
    """The matrix as a sparse CSR tensor of PyTorch, or BSR of a BsrMatrix, which shares its values
    if they are writable and side by side. Rows that are not sorted are sorted, elements at one
    place added. Blocks."""
    import torch

    check_not_waited_for("to_torch")
    A = A if isinstance(A, BsrMatrix) else as_crs(A)
    check_numbers("to_torch", A)
    if not A.graph.is_sorted():  # which PyTorch wants
        A = _sorted(A)
    kind = np.result_type(A.row_map.dtype, A.entries.dtype)
    shared = A.values.span_is_contiguous and A.values.layout == "right" and not A.values.is_readonly
    views = (
        es.array(A.row_map, kind), es.array(A.entries, kind),
        A.values if shared else es.array(A.values, layout="right"),
    )  # fmt: skip
    es.fence()
    parts = [torch.from_dlpack(view) for view in views]
    make = torch.sparse_bsr_tensor if isinstance(A, BsrMatrix) else torch.sparse_csr_tensor
    return make(*parts, size=A.shape, check_invariants=True)


def _sorted(A: CrsMatrix | BsrMatrix) -> CrsMatrix | BsrMatrix:
    if isinstance(A, BsrMatrix):
        return to_bsr(A, A.block)
    return sort_and_merge(A)


def _is_of(matrix: Any, library: str) -> bool:
    return library in sys.modules and type(matrix).__module__.partition(".")[0] == library


def of_library(parts: tuple[Any, Any, Any], shape: tuple[int, int]) -> CrsMatrix:
    """The matrix of a vendor's row map, entries and values."""
    row_map, entries, values = parts
    return CrsMatrix(row_map, entries, values, shape, check=False)
