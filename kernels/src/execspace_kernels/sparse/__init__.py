"""Sparse matrices: `CrsMatrix`, `CooMatrix`, how they come and go, and products with vectors."""

from .bsr import BsrMatrix, to_bsr
from .colouring import Colouring, colour
from .coo import CooMatrix
from .crs import CrsMatrix, StaticCrsGraph
from .foreign import as_bsr, as_crs, from_torch, to_scipy, to_torch
from .gauss_seidel import (
    GaussSeidel,
    GaussSeidelHandle,
    gauss_seidel_apply,
    gauss_seidel_numeric,
    gauss_seidel_symbolic,
)
from .ilu import Ilu, IluHandle, ilu_apply, ilu_numeric, ilu_symbolic
from .jacobi import Jacobi
from .market import read_matrix_market, write_matrix_market
from .parts import block_diagonal, drop, extract_blocks, submatrix, tril, triu
from .rows import diagonal, sort, sort_and_merge, transpose
from .spadd import SpAddHandle, spadd, spadd_numeric, spadd_symbolic
from .spgemm import SpGemmHandle, spgemm, spgemm_jacobi, spgemm_numeric, spgemm_symbolic
from .spmv import spmv
from .sptrsv import SpTrsvHandle, sptrsv, sptrsv_solve, sptrsv_symbolic
from .stacks import hstack, vstack
from .structured import StencilMatrix
from .supernodal import SuperLuFactors, superlu

__all__ = [
    "BsrMatrix",
    "Colouring",
    "CooMatrix",
    "CrsMatrix",
    "GaussSeidel",
    "GaussSeidelHandle",
    "Ilu",
    "IluHandle",
    "Jacobi",
    "SpAddHandle",
    "SpGemmHandle",
    "SpTrsvHandle",
    "StaticCrsGraph",
    "StencilMatrix",
    "SuperLuFactors",
    "as_bsr",
    "as_crs",
    "block_diagonal",
    "colour",
    "diagonal",
    "drop",
    "extract_blocks",
    "from_torch",
    "gauss_seidel_apply",
    "gauss_seidel_numeric",
    "gauss_seidel_symbolic",
    "hstack",
    "ilu_apply",
    "ilu_numeric",
    "ilu_symbolic",
    "read_matrix_market",
    "sort",
    "sort_and_merge",
    "spadd",
    "spadd_numeric",
    "spadd_symbolic",
    "spgemm",
    "spgemm_jacobi",
    "spgemm_numeric",
    "spgemm_symbolic",
    "spmv",
    "sptrsv",
    "sptrsv_solve",
    "sptrsv_symbolic",
    "submatrix",
    "superlu",
    "to_bsr",
    "to_scipy",
    "to_torch",
    "transpose",
    "tril",
    "triu",
    "vstack",
    "write_matrix_market",
]
