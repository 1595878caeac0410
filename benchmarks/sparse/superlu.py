"""Solves with the factors of SuperLU, beside SciPy's on hosts, and cuSPARSE through CuPy on CUDA.

The matrices are those of stencils, factored once on the host. "cuSPARSE, analysed once" calls the
phases of its triangular solves one by one: both analyses before, both solves in the time; CuPy's
own `SuperLU.solve` analyses each time, and permutes.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

import execspace as es
from benchmarks.common.optional import cupy_on_device, library
from benchmarks.common.turns import Contestant, Maker
from execspace_kernels import sparse

from .matrices import of_scipy, stencil


def solves(
    space: es.ExecutionSpace, extents: tuple[int, ...], points: int, beside_scipy: bool
) -> dict[str, Maker]:
    """Who solves with the factors of the matrix of a stencil."""
    row_map, entries, values, shape = stencil(extents, points)
    rows = np.repeat(np.arange(shape[0]), np.diff(row_map))
    values = np.where(entries == rows, float(points), -values)
    lu = library("scipy.sparse.linalg").splu(of_scipy((row_map, entries, values, shape)).tocsc())
    b = np.random.default_rng(3).random(shape[0])
    expected = lu.solve(b)
    found: dict[str, Maker] = {"execspace": partial(_ours, space, lu, b, expected)}
    if space.name.partition(":")[0] == "cuda":
        found["cuSPARSE, analysed once"] = partial(_cusparse, lu, b, expected)
        found["CuPy"] = partial(_cupy, lu, b, expected)
    elif beside_scipy:
        found["SciPy"] = partial(
            Contestant, "SciPy", lambda: lu.solve(b), lambda: None, lambda: None
        )
    return found


def _ours(space: es.ExecutionSpace, lu: Any, b: Any, expected: Any) -> Contestant:
    factors = sparse.superlu(lu, space=space)
    right, x = es.array(b, space=space), es.zeros(b.size, space=space)

    def check() -> None:
        factors.solve(right, out=x)
        _compare(x.to_numpy(), expected)

    entries = int(lu.L.nnz + lu.U.nnz)
    about = {"supernodes": factors.supernodes, "levels": factors.levels, "entries": entries}
    return Contestant(
        "execspace", lambda: factors.solve(right, out=x), space.fence, check, about=about
    )


def _compare(found: Any, expected: Any) -> None:
    assert np.allclose(found, expected, rtol=1e-8, atol=1e-10), "the solution is wrong"


def _cupy(lu: Any, b: Any, expected: Any) -> Contestant:
    cupy = cupy_on_device()
    factors = library("cupyx.scipy.sparse.linalg").SuperLU(lu)
    right = cupy.asarray(b)
    return Contestant(
        "CuPy", lambda: factors.solve(right), cupy.cuda.Device().synchronize,
        lambda: _compare(factors.solve(right).get(), expected),
    )  # fmt: skip


def _cusparse(lu: Any, b: Any, expected: Any) -> Contestant:
    cupy = cupy_on_device()
    sparse_of_cupy = library("cupyx.scipy.sparse")
    low, up = (sparse_of_cupy.csr_matrix(f.tocsr()) for f in (lu.L, lu.U))
    for factor in (low, up):
        factor.sum_duplicates()
    order = np.argsort(lu.perm_r)
    right = cupy.asarray(b[order].reshape(-1, 1, order="F"))
    middle, x = (cupy.zeros_like(right) for _ in range(2))
    first, kept = _analysed(low, right, middle, lower=True)
    second, also_kept = _analysed(up, middle, x, lower=False)

    def call() -> None:
        first()
        second()

    def check() -> None:
        call()
        _compare(x.get()[:, 0][lu.perm_c], expected)
        assert kept and also_kept

    return Contestant("cuSPARSE, analysed once", call, cupy.cuda.Device().synchronize, check)


def _analysed(factor: Any, b: Any, x: Any, *, lower: bool) -> tuple[Callable[[], None], Any]:
    """What solves with a triangle that cuSPARSE has analysed; and what must be kept for it."""
    cupy, of_cupy = cupy_on_device(), library("cupyx.cusparse")
    api = library("cupy_backends.cuda.libs.cusparse")
    handle = library("cupy.cuda.device").get_cusparse_handle()
    kind = library("cupy._core._dtype").to_cuda_dtype(factor.dtype)
    plain, algorithm = api.CUSPARSE_OPERATION_NON_TRANSPOSE, api.CUSPARSE_SPSM_ALG_DEFAULT
    one = np.array(1, factor.dtype)
    matrix = of_cupy.SpMatDescriptor.create(factor)
    left, right = (of_cupy.DnMatDescriptor.create(a) for a in (b, x))
    fill = api.CUSPARSE_FILL_MODE_LOWER if lower else api.CUSPARSE_FILL_MODE_UPPER
    matrix.set_attribute(api.CUSPARSE_SPMAT_FILL_MODE, fill)
    matrix.set_attribute(api.CUSPARSE_SPMAT_DIAG_TYPE, api.CUSPARSE_DIAG_TYPE_NON_UNIT)
    state = api.spSM_createDescr()
    given = (
        handle, plain, plain, one.ctypes.data, matrix.desc, left.desc, right.desc, kind, algorithm,
        state,
    )  # fmt: skip
    memory = cupy.empty(api.spSM_bufferSize(*given), np.int8)
    api.spSM_analysis(*given, memory.data.ptr)
    return lambda: api.spSM_solve(*given, memory.data.ptr), (one, matrix, left, right, memory)
