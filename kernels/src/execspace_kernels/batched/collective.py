"""What a team does together with small matrices: products, factors and solves, for use in kernels.

Written once for both levels: `functions_of` gets the range whose iterations the members share, that
over threads or that over threads and their lanes. What is written is seen by all members when a
function returns.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np

import execspace as es

from . import rows
from .elements import (
    common_cols,
    common_rows,
    element,
    is_lower,
    magnitude,
    num_cols,
    num_rows,
    own,
    zero_of,
)
from .pivots import Largest
from .serial import spectra


def functions_of(Range: Any, has_rows: bool = False) -> SimpleNamespace:
    """The functions of a level, whose members share the iterations of such ranges; `has_rows` where
    these are threads, which may keep rows of matrices in registers."""

    @es.function
    def fill(team: Any, A: Any, value: Any) -> None:
        for q in Range(team, A.extent(0) * A.extent(1)):
            A[q // A.extent(1), q % A.extent(1)] = value
        team.barrier()

    @es.function
    def set_identity(team: Any, A: Any) -> None:
        for q in Range(team, A.extent(0) * A.extent(1)):
            i = q // A.extent(1)
            j = q % A.extent(1)
            A[i, j] = 1 if i == j else 0
        team.barrier()

    @es.function
    def copy(team: Any, A: Any, B: Any, mode: Any = "N") -> None:
        m = common_rows(A, mode, B)
        n = common_cols(A, mode, B)
        for q in Range(team, m * n):
            B[q // n, q % n] = element(A, q // n, q % n, mode)
        team.barrier()

    @es.function
    def scal(team: Any, alpha: Any, A: Any) -> None:
        for q in Range(team, A.extent(0) * A.extent(1)):
            i = q // A.extent(1)
            j = q % A.extent(1)
            A[i, j] = alpha * A[i, j]
        team.barrier()

    @es.function
    def axpy(team: Any, alpha: Any, x: Any, y: Any) -> None:
        for i in Range(team, y.extent(0)):
            y[i] += alpha * x[i]
        team.barrier()

    @es.function
    def dot(team: Any, x: Any, y: Any, mode: Any = "C") -> Any:
        return es.parallel_reduce(Range(team, x.extent(0)), lambda i: own(x[i], mode) * y[i])

    @es.function
    def gemv(
        team: Any, A: Any, x: Any, y: Any, alpha: Any = 1, beta: Any = 0, mode: Any = "N"
    ) -> None:
        for i in Range(team, num_rows(A, mode)):
            total = zero_of(y)
            for k in range(num_cols(A, mode)):
                total += element(A, i, k, mode) * x[k]
            if beta == 0:
                y[i] = alpha * total
            else:
                y[i] = alpha * total + beta * y[i]
        team.barrier()

    @es.function
    def gemm(
        team: Any, A: Any, B: Any, C: Any, alpha: Any = 1, beta: Any = 0, mode_a: Any = "N",
        mode_b: Any = "N",
    ) -> None:  # fmt: skip
        n = common_cols(B, mode_b, C)
        for q in Range(team, common_rows(A, mode_a, C) * n):
            i = q // n
            j = q % n
            total = zero_of(C)
            for k in range(num_cols(A, mode_a)):
                total += element(A, i, k, mode_a) * element(B, k, j, mode_b)
            if beta == 0:
                C[i, j] = alpha * total
            else:
                C[i, j] = alpha * total + beta * C[i, j]
        team.barrier()

    @es.function
    def trmm(
        team: Any, A: Any, B: Any, alpha: Any = 1, side: Any = "L", uplo: Any = "L",
        mode: Any = "N", diag: Any = "N",
    ) -> None:  # fmt: skip
        n = A.extent(0)
        low = is_lower(uplo, mode)
        # A member has a column, or a row on the right, so that nothing is read that others write.
        for q in Range(team, B.extent(1) if side == "L" else B.extent(0)):
            for s in range(n):
                p = n - 1 - s if low == (side == "L") else s
                if side == "L":
                    total = zero_of(B) + B[p, q]
                    if diag == "N":
                        total *= element(A, p, p, mode)
                    for r in range(p if low else n - 1 - p):
                        k = p - 1 - r if low else p + 1 + r
                        total += element(A, p, k, mode) * B[k, q]
                    B[p, q] = alpha * total
                else:
                    total = zero_of(B) + B[q, p]
                    if diag == "N":
                        total *= element(A, p, p, mode)
                    for r in range(n - 1 - p if low else p):
                        k = p + 1 + r if low else p - 1 - r
                        total += B[q, k] * element(A, k, p, mode)
                    B[q, p] = alpha * total
        team.barrier()

    @es.function
    def _substitute(team: Any, A: Any, b: Any, uplo: Any, mode: Any, diag: Any) -> None:
        n = A.extent(0)
        low = is_lower(uplo, mode)
        for s in range(n):
            k = s if low else n - 1 - s
            solved = zero_of(b) + b[k]
            if diag == "N":
                solved /= element(A, k, k, mode)
            for i in Range(team, k + 1 if low else 0, n if low else k):
                b[i] -= element(A, i, k, mode) * solved
            team.barrier()  # all have read b[k]
            if es.single(es.PerTeam(team)):
                b[k] = solved
        team.barrier()

    @es.function
    def trsv(team: Any, A: Any, b: Any, uplo: Any = "L", mode: Any = "N", diag: Any = "N") -> None:
        if has_rows and rows.fit(A):
            if team.team_size >= A.extent(0):
                rows.trsv(team, A, b, uplo, mode, diag)
                return
        _substitute(team, A, b, uplo, mode, diag)

    @es.function
    def trsm(
        team: Any, A: Any, B: Any, alpha: Any = 1, side: Any = "L", uplo: Any = "L",
        mode: Any = "N", diag: Any = "N",
    ) -> None:  # fmt: skip
        n = A.extent(0)
        low = is_lower(uplo, mode)
        for q in Range(team, B.extent(1) if side == "L" else B.extent(0)):
            for s in range(n):
                p = s if low == (side == "L") else n - 1 - s
                if side == "L":
                    total = alpha * B[p, q]
                    for k in range(0 if low else p + 1, p if low else n):
                        total -= element(A, p, k, mode) * B[k, q]
                    if diag == "N":
                        total /= element(A, p, p, mode)
                    B[p, q] = total
                else:
                    total = alpha * B[q, p]
                    for k in range(p + 1 if low else 0, n if low else p):
                        total -= B[q, k] * element(A, k, p, mode)
                    if diag == "N":
                        total /= element(A, p, p, mode)
                    B[q, p] = total
        team.barrier()

    @es.function
    def trtri(team: Any, A: Any, uplo: Any = "L", diag: Any = "N") -> Any:
        n = A.extent(0)
        info = np.int64(0)
        if diag == "N":
            info = es.parallel_reduce(
                Range(team, n),
                lambda q: np.int64(q + 1 if A[q, q] == 0 else n + 1),
                reducer=es.Min,
            )
            if info > n:
                info = np.int64(0)
        if info == 0:
            old = team.scratch((A.extent(0), A.extent(0)), A.dtype)
            copy(team, A, old)
            for j in Range(team, n):  # each solves for a column of the inverse
                A[j, j] = A.dtype.type(1) if diag == "U" else 1 / old[j, j]
                for s in range(1, n - j if uplo == "L" else j + 1):
                    i = j + s if uplo == "L" else j - s
                    total = zero_of(A)
                    for k in range(j if uplo == "L" else i + 1, i if uplo == "L" else j + 1):
                        total -= old[i, k] * A[k, j]
                    if diag == "N":
                        total /= old[i, i]
                    A[i, j] = total
                if diag == "U":
                    A[j, j] = old[j, j]
            team.barrier()
        return info

    @es.function
    def swap_rows(team: Any, A: Any, k: Any, other: Any) -> None:
        if other != k:
            for j in Range(team, A.extent(1)):
                kept = zero_of(A) + A[k, j]
                A[k, j] = A[other, j]
                A[other, j] = kept
            team.barrier()

    @es.function
    def _eliminate(team: Any, A: Any, k: Any) -> Any:
        is_zero = A[k, k] == 0
        if not is_zero:
            for i in Range(team, k + 1, A.extent(0)):
                A[i, k] = A[i, k] / A[k, k]
            team.barrier()
            n = A.extent(1) - k - 1
            for q in Range(team, (A.extent(0) - k - 1) * n):
                i = k + 1 + q // n
                j = k + 1 + q % n
                A[i, j] -= A[i, k] * A[k, j]
        team.barrier()
        return is_zero

    @es.function
    def _lu(team: Any, A: Any) -> Any:
        info = 0
        for k in range(min(A.extent(0), A.extent(1))):
            is_zero = _eliminate(team, A, k)
            if is_zero and info == 0:
                info = k + 1
        return info

    @es.function
    def lu(team: Any, A: Any) -> Any:
        if has_rows and rows.fit(A):
            if team.team_size >= A.extent(0):
                return rows.factors(team, A, A, "lu")
        return _lu(team, A)

    @es.function
    def _getrf(team: Any, A: Any, pivots: Any) -> Any:
        info = 0
        for k in range(min(A.extent(0), A.extent(1))):
            _, at = es.parallel_reduce(
                Range(team, k, A.extent(0)),
                lambda i: (magnitude(A, A[i, k]), np.int32(i)),  # noqa: B023
                reducer=Largest,
            )
            at = max(at, np.int32(k))  # of NaN alone none is the largest
            if es.single(es.PerTeam(team)):
                pivots[k] = at
            swap_rows(team, A, k, at)
            is_zero = _eliminate(team, A, k)
            if is_zero and info == 0:
                info = k + 1
        return info

    @es.function
    def getrf(team: Any, A: Any, pivots: Any) -> Any:
        if has_rows and rows.fit(A):
            if team.team_size >= A.extent(0):
                return rows.factors(team, A, pivots, "getrf")
        return _getrf(team, A, pivots)

    @es.function
    def getrs(team: Any, A: Any, pivots: Any, B: Any, mode: Any = "N") -> None:
        n = A.extent(0)
        if mode == "N":
            for k in range(n):
                swap_rows(team, B, k, pivots[k])
            trsm(team, A, B, diag="U")
            trsm(team, A, B, uplo="U")
        else:
            trsm(team, A, B, uplo="U", mode=mode)
            trsm(team, A, B, mode=mode, diag="U")
            for q in range(n):
                swap_rows(team, B, n - 1 - q, pivots[n - 1 - q])

    @es.function
    def gesv(team: Any, A: Any, pivots: Any, B: Any) -> Any:
        info = getrf(team, A, pivots)
        if info == 0:
            getrs(team, A, pivots, B)
        return info

    @es.function
    def inverse(team: Any, A: Any, pivots: Any, out: Any) -> Any:
        info = getrf(team, A, pivots)
        if info == 0:
            set_identity(team, out)
            getrs(team, A, pivots, out)
        return info

    @es.function
    def potrf(team: Any, A: Any, uplo: Any = "L") -> Any:
        info = 0
        n = A.extent(0)
        for k in range(n):
            square = zero_of(A) + A[k, k]
            team.barrier()
            if info == 0:
                if not square.real > 0:
                    info = k + 1
                else:
                    root = np.sqrt(square.real)
                    if es.single(es.PerTeam(team)):
                        A[k, k] = root
                    for i in Range(team, k + 1, n):
                        if uplo == "L":
                            A[i, k] = A[i, k] / root
                        else:
                            A[k, i] = A[k, i] / root
                    team.barrier()
                    left = n - k - 1
                    for q in Range(team, left * left):
                        i = k + 1 + q // left
                        j = k + 1 + q % left
                        if uplo == "L" and j <= i:
                            A[i, j] -= A[i, k] * np.conj(A[j, k])
                        if uplo == "U" and i <= j:
                            A[i, j] -= np.conj(A[k, i]) * A[k, j]
                    team.barrier()
        return info

    @es.function
    def potrs(team: Any, A: Any, B: Any, uplo: Any = "L") -> None:
        if uplo == "L":
            trsm(team, A, B)
            trsm(team, A, B, mode="H")
        else:
            trsm(team, A, B, uplo="U", mode="H")
            trsm(team, A, B, uplo="U")

    @es.function
    def _reflect(team: Any, A: Any, tau: Any, k: Any, B: Any, first: Any, mode: Any) -> None:
        factor = own(tau[k], mode)
        for j in Range(team, first, B.extent(1)):
            total = zero_of(B) + B[k, j]
            for i in range(k + 1, A.extent(0)):
                total += np.conj(A[i, k]) * B[i, j]
            total *= factor
            B[k, j] -= total
            for i in range(k + 1, A.extent(0)):
                B[i, j] -= A[i, k] * total
        team.barrier()

    @es.function
    def geqrf(team: Any, A: Any, tau: Any) -> None:
        m = A.extent(0)
        for k in range(min(m, A.extent(1))):
            pivot = zero_of(A) + A[k, k]
            below = es.parallel_reduce(
                Range(team, k + 1, m),
                lambda i: magnitude(A, A[i, k]),  # noqa: B023
                reducer=es.Max,
            )
            largest = max(magnitude(A, pivot), below)
            is_real = True
            if A.dtype.kind == "c":
                is_real = pivot.imag == 0
            if k + 1 == m or below == 0:
                if is_real:
                    largest *= 0
            if not largest > 0:
                if es.single(es.PerTeam(team)):
                    tau[k] = 0
                team.barrier()
            else:
                total = es.parallel_reduce(
                    Range(team, k, m),
                    lambda i: (A[i, k] / largest * np.conj(A[i, k] / largest)).real,  # noqa: B023
                )
                norm = largest * np.sqrt(total)
                end = -norm if pivot.real >= 0 else norm
                team.barrier()
                for i in Range(team, k + 1, m):
                    A[i, k] = A[i, k] / (pivot - end)
                if es.single(es.PerTeam(team)):
                    tau[k] = (end - pivot) / end
                    A[k, k] = end
                team.barrier()
                _reflect(team, A, tau, k, A, k + 1, "H")

    @es.function
    def ormqr(team: Any, A: Any, tau: Any, B: Any, mode: Any = "N") -> None:
        n = min(A.extent(0), A.extent(1))
        for q in range(n):
            if mode == "N":
                _reflect(team, A, tau, n - 1 - q, B, 0, "N")
            else:
                _reflect(team, A, tau, q, B, 0, "H")

    @es.function
    def eigh(team: Any, A: Any, w: Any, V: Any) -> Any:
        if es.single(es.PerTeam(team)):
            spectra.eigh(A, w, V)
        team.barrier()
        return 0

    @es.function
    def svd(team: Any, A: Any, s: Any, V: Any) -> Any:
        if es.single(es.PerTeam(team)):
            spectra.svd(A, s, V)
        team.barrier()
        return 0

    return SimpleNamespace(
        axpy=axpy, copy=copy, dot=dot, eigh=eigh, fill=fill, gemm=gemm, gemv=gemv, geqrf=geqrf,
        gesv=gesv, getrf=getrf, getrs=getrs, inverse=inverse, lu=lu, ormqr=ormqr, potrf=potrf,
        potrs=potrs, scal=scal, set_identity=set_identity, svd=svd, swap_rows=swap_rows, trmm=trmm,
        trsm=trsm, trsv=trsv, trtri=trtri,
    )  # fmt: skip
