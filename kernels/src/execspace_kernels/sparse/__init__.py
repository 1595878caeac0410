"""Sparse matrices: `CrsMatrix`, `CooMatrix`, how they come and go, and products with vectors."""

from .bsr import BsrMatrix, to_bsr
from .coo import CooMatrix
from .crs import CrsMatrix, StaticCrsGraph
from .foreign import as_bsr, as_crs, from_torch, to_scipy, to_torch
from .market import read_matrix_market, write_matrix_market
from .parts import block_diagonal, drop, extract_blocks, submatrix, tril, triu
from .rows import diagonal, sort, sort_and_merge, transpose
from .spadd import SpAddHandle, spadd, spadd_numeric, spadd_symbolic
from .spmv import spmv
from .stacks import hstack, vstack
from .structured import StencilMatrix

__all__ = [
    "BsrMatrix",
    "CooMatrix",
    "CrsMatrix",
    "SpAddHandle",
    "StaticCrsGraph",
    "StencilMatrix",
    "as_bsr",
    "as_crs",
    "block_diagonal",
    "diagonal",
    "drop",
    "extract_blocks",
    "from_torch",
    "hstack",
    "read_matrix_market",
    "sort",
    "sort_and_merge",
    "spadd",
    "spadd_numeric",
    "spadd_symbolic",
    "spmv",
    "submatrix",
    "to_bsr",
    "to_scipy",
    "to_torch",
    "transpose",
    "tril",
    "triu",
    "vstack",
    "write_matrix_market",
]
