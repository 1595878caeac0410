"""Kernels that call functions of small matrices: by one thread, by a team, by lanes of a team.

`at` is what a kernel gets first, the index of a matrix or the team, and what team functions get.
"""

from types import SimpleNamespace

import execspace as es
from execspace_kernels import batched
from execspace_kernels.batched import serial


def by_one_thread():
    """The functions of `batched.serial`, as if they took a team."""

    @es.function
    def gemm(at, A, B, C, alpha, beta, mode_a, mode_b):
        serial.gemm(A, B, C, alpha, beta, mode_a, mode_b)

    @es.function
    def gemv(at, A, x, y, alpha, beta, mode):
        serial.gemv(A, x, y, alpha, beta, mode)

    @es.function
    def dot(at, x, y):
        return serial.dot(x, y)

    @es.function
    def axpy(at, alpha, x, y):
        serial.axpy(alpha, x, y)

    @es.function
    def copy(at, A, B, mode):
        serial.copy(A, B, mode)

    @es.function
    def scal(at, alpha, A):
        serial.scal(alpha, A)

    @es.function
    def fill(at, A, value):
        serial.fill(A, value)

    @es.function
    def set_identity(at, A):
        serial.set_identity(A)

    @es.function
    def trmm(at, A, B, alpha, side, uplo, mode, diag):
        serial.trmm(A, B, alpha, side, uplo, mode, diag)

    @es.function
    def trsm(at, A, B, alpha, side, uplo, mode, diag):
        serial.trsm(A, B, alpha, side, uplo, mode, diag)

    @es.function
    def trsv(at, A, b, uplo, mode, diag):
        serial.trsv(A, b, uplo, mode, diag)

    @es.function
    def trtri(at, A, uplo, diag):
        return serial.trtri(A, uplo, diag)

    @es.function
    def lu(at, A):
        return serial.lu(A)

    @es.function
    def getrf(at, A, pivots):
        return serial.getrf(A, pivots)

    @es.function
    def getrs(at, A, pivots, B, mode):
        serial.getrs(A, pivots, B, mode)

    @es.function
    def inverse(at, A, pivots, out):
        return serial.inverse(A, pivots, out)

    @es.function
    def potrf(at, A, uplo):
        return serial.potrf(A, uplo)

    @es.function
    def potrs(at, A, B, uplo):
        serial.potrs(A, B, uplo)

    @es.function
    def geqrf(at, A, tau):
        serial.geqrf(A, tau)

    @es.function
    def ormqr(at, A, tau, B, mode):
        serial.ormqr(A, tau, B, mode)

    @es.function
    def eigh(at, A, w, V):
        serial.eigh(A, w, V)

    @es.function
    def svd(at, A, s, V):
        serial.svd(A, s, V)

    found = {name: own for name, own in locals().items() if name != "found"}
    return SimpleNamespace(**found)


@es.function
def index(at):
    return at


@es.function
def league_rank(at):
    return at.league_rank


def kernels_of(f, rank):
    """One for each group of functions."""

    def gemm(at, A, B, C, alpha, beta, mode_a, mode_b):
        b = rank(at)
        f.gemm(at, A[b, :, :], B[b, :, :], C[b, :, :], alpha, beta, mode_a, mode_b)

    def vectors(at, A, x, y, out, mode):
        b = rank(at)
        f.gemv(at, A[b, :, :], x[b, :], y[b, :], 2.0, -1.0, mode)
        out[b, 0] = f.dot(at, y[b, :], y[b, :])
        f.axpy(at, 3.0, x[b, :], x[b, :])

    def copies(at, A, B, C):
        b = rank(at)
        f.copy(at, A[b, :, :], B[b, :, :], "H")
        f.scal(at, 2.0, B[b, :, :])
        f.fill(at, C[b, :, :], 7.0)
        f.set_identity(at, C[b, 1:, :])

    def trmm(at, A, B, side, uplo, mode, diag):
        b = rank(at)
        f.trmm(at, A[b, :, :], B[b, :, :], 1.5, side, uplo, mode, diag)

    def trsm(at, A, B, side, uplo, mode, diag):
        b = rank(at)
        f.trsm(at, A[b, :, :], B[b, :, :], 1.5, side, uplo, mode, diag)

    def trsv(at, A, x, uplo, mode, diag):
        b = rank(at)
        f.trsv(at, A[b, :, :], x[b, :], uplo, mode, diag)

    def trtri(at, A, info, uplo, diag):
        b = rank(at)
        info[b] = f.trtri(at, A[b, :, :], uplo, diag)

    def lu(at, A, info):
        b = rank(at)
        info[b] = f.lu(at, A[b, :, :])

    def getrf(at, A, pivots, info):
        b = rank(at)
        info[b] = f.getrf(at, A[b, :, :], pivots[b, :])

    def getrs(at, A, pivots, B, mode):
        b = rank(at)
        f.getrs(at, A[b, :, :], pivots[b, :], B[b, :, :], mode)

    def inverse(at, A, pivots, out, info):
        b = rank(at)
        info[b] = f.inverse(at, A[b, :, :], pivots[b, :], out[b, :, :])

    def cholesky(at, A, B, info, uplo):
        b = rank(at)
        found = f.potrf(at, A[b, :, :], uplo)
        info[b] = found
        if found == 0:
            f.potrs(at, A[b, :, :], B[b, :, :], uplo)

    def qr(at, A, tau, Q, B):
        b = rank(at)
        f.geqrf(at, A[b, :, :], tau[b, :])
        f.set_identity(at, Q[b, :, :])
        f.ormqr(at, A[b, :, :], tau[b, :], Q[b, :, :], "N")
        f.ormqr(at, A[b, :, :], tau[b, :], B[b, :, :], "H")

    def eigh(at, A, w, V):
        b = rank(at)
        f.eigh(at, A[b, :, :], w[b, :], V[b, :, :])

    def svd(at, A, s, V):
        b = rank(at)
        f.svd(at, A[b, :, :], s[b, :], V[b, :, :])

    found = {name: own for name, own in locals().items() if name not in ("f", "rank", "found")}
    return SimpleNamespace(**found)


LEVELS = {
    "serial": kernels_of(by_one_thread(), index),
    "team": kernels_of(batched.team, league_rank),
    "teamvector": kernels_of(batched.teamvector, league_rank),
}
