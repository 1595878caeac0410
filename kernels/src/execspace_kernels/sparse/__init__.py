"""Sparse matrices: `CrsMatrix`, `CooMatrix`, how they come and go, and products with vectors."""

from .colouring import Colouring, colour
from .coo import CooMatrix
from .crs import CrsMatrix, StaticCrsGraph
from .foreign import as_crs, from_torch, to_scipy, to_torch
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
from .rows import diagonal, sort, sort_and_merge, transpose
from .spadd import SpAddHandle, spadd, spadd_numeric, spadd_symbolic
from .spgemm import SpGemmHandle, spgemm, spgemm_jacobi, spgemm_numeric, spgemm_symbolic
from .spmv import spmv
from .sptrsv import SpTrsvHandle, sptrsv, sptrsv_solve, sptrsv_symbolic
from .supernodal import SuperLuFactors, superlu

__all__ = [
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
    "SuperLuFactors",
    "as_crs",
    "colour",
    "diagonal",
    "from_torch",
    "gauss_seidel_apply",
    "gauss_seidel_numeric",
    "gauss_seidel_symbolic",
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
    "superlu",
    "to_scipy",
    "to_torch",
    "transpose",
    "write_matrix_market",
]
