"""Dense linear algebra of small matrices by the threads of a team, to be called in kernels.

The functions of `batched.serial` with the team as their first argument, `gemm(team, A, B, C)`: all
threads must call them with the same arguments, and all get the result, if there is one. What is
written is seen by all when a function returns; what they read must have been written before a
barrier. `trtri` takes scratch memory for a copy of the matrix. `dot` adds in the order of the team,
and so do the norms in `geqrf`; `eigh` and `svd` are done by one of the threads.

Kokkos Kernels' Team level: https://kokkos.org/kokkos-kernels/docs/
"""

import execspace as es

from .collective import functions_of

_own = functions_of(es.TeamThreadRange, has_rows=True)
axpy = _own.axpy
copy = _own.copy
dot = _own.dot
eigh = _own.eigh
fill = _own.fill
gemm = _own.gemm
gemv = _own.gemv
geqrf = _own.geqrf
gesv = _own.gesv
getrf = _own.getrf
getrs = _own.getrs
inverse = _own.inverse
lu = _own.lu
ormqr = _own.ormqr
potrf = _own.potrf
potrs = _own.potrs
scal = _own.scal
set_identity = _own.set_identity
svd = _own.svd
swap_rows = _own.swap_rows
trmm = _own.trmm
trsm = _own.trsm
trsv = _own.trsv
trtri = _own.trtri

__all__ = [
    "axpy",
    "copy",
    "dot",
    "eigh",
    "fill",
    "gemm",
    "gemv",
    "geqrf",
    "gesv",
    "getrf",
    "getrs",
    "inverse",
    "lu",
    "ormqr",
    "potrf",
    "potrs",
    "scal",
    "set_identity",
    "svd",
    "swap_rows",
    "trmm",
    "trsm",
    "trsv",
    "trtri",
]
