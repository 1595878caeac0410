"""SciPy's LAPACK as a vendor's, for spaces whose memory the host reaches."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

import execspace as es

_VALUES = tuple(np.dtype(t) for t in (np.float32, np.float64, np.complex64, np.complex128))
_TRANS = {"N": 0, "T": 1, "H": 2}
# Rows and columns up to which ours was measured to take no longer, on one thread and on two.
_FEW_ROWS = {
    "getrf": 32, "gesv": 48, "potrf": 64, "posv": 64, "trtri": 64, "geqrf": 32, "orgqr": 24,
}  # fmt: skip
_MOST_ROWS, _MANY_OPERATIONS = 64, 8192  # of solves and of products with Q


class ScipyLapack:
    """Factors and decompositions of one matrix; calls block. LAPACK has threads of its own.

    It takes matrices by columns without gaps as they are, and copies of others, whose results are
    copied back.
    """

    space: es.ExecutionSpace
    lapack_functions = (
        "getrf", "getrs", "gesv", "potrf", "potrs", "posv", "trtri", "geqrf", "ormqr", "orgqr",
        "eigh", "svd",
    )  # fmt: skip

    def lapack_refusal(self, *args: Any) -> str | None:
        """Why it cannot do this; None if it can."""
        for view in args:
            if isinstance(view, es.View) and not view.size:
                return "there are no elements"
        return None

    def lapack_is_preferred(self, function: str, *args: Any) -> bool:
        """All but small matrices, for which a call takes longer than a launch."""
        A = args[0]
        if function in ("getrs", "potrs", "ormqr"):
            columns = args[1 if function == "potrs" else 2].shape[1]
            return bool(max(A.shape) > _MOST_ROWS or A.size * columns > _MANY_OPERATIONS)
        return bool(max(A.shape) > _FEW_ROWS.get(function, 0))

    def getrf(self, A: Any, pivots: Any, info: Any) -> None:
        """A = P L U; NaN of NaN in A, which OpenBLAS leaves out where it is a pivot."""
        self.space.fence()
        has_nan = np.isnan(np.asarray(A)).any()
        with _by_columns(A) as matrix:
            _, found, failed = _routine("getrf", A)(matrix, overwrite_a=1)
            if has_nan:
                matrix[...] = np.nan
        np.asarray(pivots)[...] = found
        np.asarray(info)[()] = failed

    def getrs(self, A: Any, pivots: Any, B: Any, mode: str) -> None:
        """B = op(P L U)^-1 B, for pivots that have been looked at."""
        self.space.fence()
        with _by_columns(B) as target:
            _routine("getrs", A)(
                np.asarray(A), np.asarray(pivots), target, trans=_TRANS[mode], overwrite_b=1
            )

    def gesv(self, A: Any, B: Any, pivots: Any, info: Any) -> None:
        """B = A^-1 B, and the factors of A; NaN of NaN in A."""
        self.space.fence()
        has_nan = np.isnan(np.asarray(A)).any()
        with _by_columns(A) as matrix, _by_columns(B) as target:
            _, found, _, failed = _routine("gesv", A)(
                matrix, target, overwrite_a=1, overwrite_b=1
            )  # fmt: skip
            if has_nan:
                matrix[...] = np.nan
                target[...] = np.nan
        np.asarray(pivots)[...] = found
        np.asarray(info)[()] = failed

    def potrf(self, A: Any, info: Any, uplo: str) -> None:
        """Cholesky's factor of a triangle; by rows it is the other one of the transpose."""
        self.space.fence()
        matrix, lower = _triangle(A, uplo)
        with _by_columns(matrix) as target:
            _, failed = _routine("potrf", A)(target, lower=lower, clean=0, overwrite_a=1)
            # OpenBLAS takes roots of NaN, and goes on.
            unknown = np.flatnonzero(np.isnan(target.diagonal()))
            if unknown.size and not failed:
                failed = int(unknown[0]) + 1
        np.asarray(info)[()] = failed

    def potrs(self, A: Any, B: Any, uplo: str) -> None:
        """B = A^-1 B."""
        self.space.fence()
        with _by_columns(B) as target:
            _routine("potrs", A)(np.asarray(A), target, lower=uplo == "L", overwrite_b=1)

    def posv(self, A: Any, B: Any, info: Any, uplo: str) -> None:
        """B = A^-1 B, and the factor of A."""
        self.potrf(A, info, uplo)
        if np.asarray(info)[()] == 0:
            self.potrs(A, B, uplo)

    def trtri(self, A: Any, info: Any, uplo: str, unit: bool) -> None:
        """The inverse of a triangle; by rows it is the other one of the transpose."""
        self.space.fence()
        matrix, lower = _triangle(A, uplo)
        with _by_columns(matrix) as target:
            _, failed = _routine("trtri", A)(target, lower=lower, unitdiag=unit, overwrite_c=1)
        np.asarray(info)[()] = failed

    def geqrf(self, A: Any, tau: Any) -> None:
        """A = Q R."""
        self.space.fence()
        call = _routine("geqrf", A)
        with _by_columns(A) as matrix:
            _, found, _, _ = call(matrix, lwork=_best(call, matrix), overwrite_a=1)
        np.asarray(tau)[...] = found

    def ormqr(self, A: Any, tau: Any, B: Any, mode: str) -> None:
        """B = op(Q) B."""
        self.space.fence()
        is_complex = A.dtype.kind == "c"
        call = _routine("unmqr" if is_complex else "ormqr", A)
        trans = "N" if mode == "N" else "C" if is_complex else "T"
        factors = np.asarray(tau)
        reflectors = np.asfortranarray(np.asarray(A)[:, : len(factors)])
        with _by_columns(B) as target:
            args = "L", trans, reflectors, factors, target
            call(*args, lwork=_best(call, *args), overwrite_c=1)

    def orgqr(self, A: Any, tau: Any, Q: Any) -> None:
        """The first columns of Q."""
        self.space.fence()
        call = _routine("ungqr" if A.dtype.kind == "c" else "orgqr", A)
        factors = np.asarray(tau)
        with _by_columns(Q) as target:
            target[:, : len(factors)] = np.asarray(A)[:, : len(factors)]
            target[:, len(factors) :] = 0
            call(target, factors, lwork=_best(call, target, factors), overwrite_a=1)

    def eigh(self, A: Any, w: Any, V: Any, uplo: str) -> None:
        """Eigenvalues and eigenvectors; NaN where they do not converge."""
        self.space.fence()
        call = _routine("heevd" if A.dtype.kind == "c" else "syevd", A)
        values, vectors, failed = call(
            np.asarray(A), compute_v=V is not None, lower=uplo == "L"
        )  # fmt: skip
        failed = failed or not np.isfinite(values).all()  # of NaN in A it makes some zeros
        np.asarray(w)[...] = np.nan if failed else values
        if V is not None:
            np.asarray(V)[...] = np.nan if failed else vectors

    def svd(self, A: Any, U: Any, s: Any, Vh: Any) -> None:
        """Singular values and vectors; NaN where they do not converge."""
        self.space.fence()
        call = _routine("gesdd", A)
        is_full = U is not None and U.shape[1] * Vh.shape[0] > min(A.shape) ** 2
        options = {"compute_uv": U is not None, "full_matrices": is_full}
        size, _ = _routine("gesdd_lwork", A)(*A.shape, **options)
        matrix = np.asarray(A)
        found: Any = (np.nan, np.nan, np.nan)
        if np.isfinite(matrix).all():  # of others LAPACK prints complaints
            *some, failed = call(matrix, lwork=int(size.real), **options)
            found = found if failed else some
        for target, one in zip((U, s, Vh), found, strict=True):
            if target is not None:
                np.asarray(target)[...] = one


def _routine(name: str, view: Any) -> Any:
    from scipy.linalg.lapack import get_lapack_funcs

    return get_lapack_funcs(name, dtype=view.dtype)


def _best(call: Any, *args: Any) -> int:
    """The size of the memory for its work that a routine asks for."""
    *_, size, _ = call(*args, lwork=-1)
    return int(size[0].real)


def _triangle(A: Any, uplo: str) -> tuple[Any, bool]:
    """A matrix by rows as its transpose, so that it need not be copied; whether it is lower."""
    matrix = np.asarray(A)
    return (matrix.T, uplo != "L") if matrix.flags.c_contiguous else (matrix, uplo == "L")


@contextmanager
def _by_columns(view: Any) -> Iterator[Any]:
    """The matrix itself if it lies by columns, else a copy that is copied back."""
    target = np.asarray(view)
    matrix = np.asfortranarray(target)
    yield matrix
    if matrix is not target:
        target[...] = matrix
