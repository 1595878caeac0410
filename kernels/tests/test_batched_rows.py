"""LU and substitution by teams that keep rows of a matrix in registers, a row in each thread.

They do so where extents are constants and threads enough; matrices may be whole arrays of scratch
memory, or parts of such with a column more than is used, whose rows begin in different banks.
"""

import numpy as np
import pytest
from batches import BATCH, close, numbers, solvable, view

import execspace as es
from execspace_kernels import batched

linalg = pytest.importorskip("scipy.linalg")
SIZES = (2, 3, 8, 17, 32)


def factor_whole(team, A, pivots, info, n: es.static):
    b = team.league_rank
    own = team.scratch((n, n), A.dtype)
    batched.team.copy(team, A[b, :, :], own)
    found = batched.team.getrf(team, own, pivots[b, :])
    batched.team.copy(team, own, A[b, :, :])
    if team.team_rank == 0:
        info[b] = found


def factor_part(team, A, info, n: es.static):
    b = team.league_rank
    at = team.scratch((n, n + 1), A.dtype)
    batched.team.copy(team, A[b, :, :], at[:, :n])
    found = batched.team.lu(team, at[:, :n])
    batched.team.copy(team, at[:, :n], A[b, :, :])
    if team.team_rank == 0:
        info[b] = found


def substitute(team, A, x, n: es.static, uplo: es.static, mode: es.static, diag: es.static):
    b = team.league_rank
    at = team.scratch((n, n + 1), A.dtype)
    batched.team.copy(team, A[b, :, :], at[:, :n])
    batched.team.trsv(team, at[:, :n], x[b, :], uplo, mode, diag)


@pytest.fixture
def teams(space):
    """Policy of a batch, with as many threads as rows where there can be so many."""
    if not isinstance(space, es.SupportsTeams):
        pytest.skip("the space has no teams")

    def of(n, batch=BATCH):
        size = min(n + n % 4, space.team_limits().team_size_max)
        return es.TeamPolicy(batch, size, space=space)

    return of


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.complex128])
def test_getrf(space, teams, dtype):
    for n in SIZES if space.name != "oracle" else SIZES[:3]:
        A = numbers(n, BATCH, n, n, dtype=dtype)
        A[1, :, 1] = 0
        out, info = view(A, space), es.zeros(BATCH, np.int32, space=space)
        pivots = es.zeros((BATCH, n), np.int32, space=space)
        es.parallel_for(teams(n), factor_whole, out, pivots, info, n)
        letter = {"d": "d", "f": "s", "D": "z"}[np.dtype(dtype).char]
        for b in range(BATCH):
            factors, exchanges, failed = getattr(linalg.lapack, f"{letter}getrf")(A[b])
            assert np.abs(out.to_numpy()[b] - factors).max() < 100 * n * np.finfo(dtype).eps * n
            assert (pivots.to_numpy()[b] == exchanges).all() and info.to_numpy()[b] == failed


def test_pivots_that_are_small_or_nan(space, teams):
    """Of subnormal pivots there is no inverse; NaN is the pivot of a column of nothing else."""
    A = np.array([[[2.0**-1040, 2.0**-1041], [2.0**-1041, 1.0]],
                  [[np.nan, 1.0], [3.0, 2.0]],
                  [[np.nan, 1.0], [np.nan, 2.0]]])  # fmt: skip
    out, info = view(A, space), es.zeros(3, np.int32, space=space)
    pivots = es.zeros((3, 2), np.int32, space=space)
    es.parallel_for(teams(2, 3), factor_whole, out, pivots, info, 2)
    assert out.to_numpy()[0].tolist() == [[2.0**-1040, 2.0**-1041], [0.5, 1.0]]
    assert pivots.to_numpy().tolist() == [[0, 1], [1, 1], [0, 1]] and not info.to_numpy().any()
    assert np.isnan(out.to_numpy()[1:]).any(axis=(1, 2)).all()


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.complex128])
def test_lu_and_triangles(space, teams, dtype):
    for n in SIZES if space.name != "oracle" else SIZES[:3]:
        A, right = solvable(n, n, dtype), numbers(3, BATCH, n, dtype=dtype)
        out, info = view(A, space), es.zeros(BATCH, np.int32, space=space)
        es.parallel_for(teams(n), factor_part, out, info, n)
        factors = out.to_numpy()
        L, U = np.tril(factors, -1) + np.eye(n, dtype=dtype), np.triu(factors)
        assert close(L @ U, A) and not info.to_numpy().any()
        for uplo, mode, diag in ("LNU", "UNN", "LTN", "UHU", "LHN", "UCN"):
            x = view(right, space)
            es.parallel_for(teams(n), substitute, out, x, n, uplo, mode, diag)
            T = np.tril(factors) if uplo == "L" else np.triu(factors)
            if diag == "U":
                T = T - np.triu(np.tril(T)) + np.eye(n, dtype=dtype)
            T = {"N": T, "T": T.swapaxes(1, 2), "C": T.conj(), "H": T.conj().swapaxes(1, 2)}[mode]
            found, size = x.to_numpy(), np.abs(x.to_numpy()).max()
            error = np.abs(np.einsum("bij,bj->bi", T, found) - right).max()
            assert error <= 10 * n * np.finfo(dtype).eps * max(size * np.abs(T).max(), 1)
