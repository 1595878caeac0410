"""dot_gemm: C = beta C + alpha A^T B for matrices of few columns and very many rows.

Rows are cut into slabs, whose products a second launch sums in their order. Algorithms
    teams: see `dot_gemm_teams`.
    tiles: a work item goes through a slab tile by tile, for hosts and where there are no teams.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import execspace as es

from ..arguments import (
    MANY,
    Space,
    choice,
    has_teams,
    number_of,
    static,
)
from ..decisions import decided
from ..errors import MatrixError
from . import by_columns, dot_gemm_teams
from .elements import conjugate
from .operands import check_numbers, operand, product_dtype, product_target, shapes_of, teams
from .stored import stored

__all__ = ["dot_gemm"]

ALGORITHMS = ("auto", "teams", "tiles")
_EACH = 256  # work items that a device runs at once, for each slab
_SLABS = 32  # of a host
_TILE = 4  # columns of A, and of B, that a work item of a host has in registers
_ROWS = 256  # that a host goes through tile by tile
_FEW = 64  # slabs that one work item sums


def dot_gemm(
    A: Any,
    B: Any,
    out: Any = None,
    alpha: Any = 1,
    beta: Any = 0,
    mode: str = "T",
    *,
    algorithm: str = "auto",
    vendor: bool | None = None,
    space: Space = None,
) -> es.View:
    """C = beta C + alpha A^T B, where A and B have few columns and many rows.

    Parameters
    ----------
    A : View or array, shape (m, k)
        Numbers, in any layout and with any strides. Read.
    B : View or array, shape (m, n)
        Numbers. Read; it may be `A`, which is read once then.
    out : View or array, shape (k, n), optional
        C: written, and read where `beta` is not 0. Without it a new View of the common dtype.
    alpha, beta : number
        Complex ones for complex `out` only.
    mode : {"T", "H"}
        "H" for A^H.
    algorithm : {"auto", "teams", "tiles"}
        "teams": teams keep tiles of C in registers. "tiles": a work item for each slab of rows.
        "auto": "teams" on devices, "tiles" on hosts.
    vendor : bool, optional
        True: the routine of a vendor's library, which "auto" takes where it was measured to be
        faster. False: never.
    space : str or ExecutionSpace, optional
        Where to run; as for a launch if not given.

    Returns
    -------
    View
        `out`, or the new one.

    Raises
    ------
    MatrixError
        If `mode` or `algorithm` is not known or not for this space, or `vendor` is True and there
        is no routine for it.
    ViewError
        If shapes do not fit, or `out` is read-only, overlaps `A` or `B`, or cannot hold the result;
        for records.
    SpaceAccessError

    Notes
    -----
    Asynchronous where the space is. Sums are of the common type of A and B, and the same to the bit
    in each run on a space. Where `beta` is 0, what `out` held does not count, NaN included. k and n
    may be of any size; from some 64 on a product of BLAS 3 does less.

    Kokkos Kernels: the "dot-based GEMM" within `KokkosBlas::gemm`.
    """
    choice(mode, "dot_gemm: mode", ("T", "H"))
    choice(algorithm, "dot_gemm: algorithm", ALGORITHMS)
    left, right = (operand(v, f"dot_gemm: {n}", space, (2,)) for v, n in ((A, "A"), (B, "B")))
    if left.shape[0] != right.shape[0]:
        raise es.ViewError(
            f"dot_gemm: A has shape {left.shape} and B {right.shape}; expected as many rows."
        )
    check_numbers("dot_gemm", left, right)
    alpha, beta = number_of(alpha, "dot_gemm: alpha"), number_of(beta, "dot_gemm: beta")
    kind = product_dtype(left.dtype, right.dtype, "dot_gemm")
    shape = left.shape[1], right.shape[1]
    C, where = product_target(
        "dot_gemm", out, shape, kind, alpha, beta, right, space, A=left, B=right
    )  # fmt: skip
    library, args = by_columns.chosen_library(
        "dot_gemm", vendor, where, lambda: f"{shapes_of(left)}+{shapes_of(right)}",
        by_columns.product(left, mode, right, "N", C), alpha, beta, algorithm=algorithm,
    )  # fmt: skip
    if library is not None:
        library.dot_gemm(*args)
        return C
    conj = "yes" if mode == "H" and left.dtype.kind == "c" else "no"
    parts = (dot_gemm_teams.multiply if _takes_teams(algorithm, where) else _by_tiles)(
        left, right, kind, where, conj
    )
    _joined(parts, C, alpha, beta, where)
    return C


def _takes_teams(algorithm: str, space: es.ExecutionSpace) -> bool:
    can_team = has_teams(space)
    if algorithm == "teams" and not can_team:
        raise MatrixError(
            f"dot_gemm: algorithm='teams', but space '{space.name}' has none; expected 'auto' or "
            f"'tiles'."
        )
    if algorithm != "auto":
        decided("dot_gemm", algorithm, "it was asked for")
        return algorithm == "teams"
    if not can_team:
        decided("dot_gemm", "tiles", f"space '{space.name}' has no teams")
        return False
    if space.concurrency <= MANY:
        decided("dot_gemm", "tiles", f"space '{space.name}' runs few work items at once")
        return False
    decided("dot_gemm", "teams", f"space '{space.name}' runs many work items at once")
    return True


def _by_tiles(
    A: es.View, B: es.View, kind: np.dtype[Any], space: es.ExecutionSpace, conj: str
) -> es.View:
    """The products of slabs, of shape (k n, slabs), by work items."""
    (m, k), n = A.shape, B.shape[1]
    most = _SLABS if space.concurrency <= MANY else -(-space.concurrency // _EACH)
    slabs = max(1, min(most, -(-m // _ROWS)))
    parts = _parts(k * n, slabs, kind, space)
    if k and n:
        tile = min(_TILE, 1 << (min(k, n).bit_length() - 1))
        es.parallel_for(
            es.RangePolicy(slabs, space=space), _slab_by_tiles, A, B, parts, kind.type, tile, tile,
            _ROWS, -(-m // slabs), conj, label="dot_gemm tiles",
        )  # fmt: skip
    return parts


def _parts(elements: int, slabs: int, kind: np.dtype[Any], space: es.ExecutionSpace) -> es.View:
    return es.View(
        (elements, slabs), kind, label="parts", space=space, layout="right", initialize=False
    )  # fmt: skip


def _joined(parts: es.View, C: es.View, alpha: Any, beta: Any, space: es.ExecutionSpace) -> None:
    how = "set" if beta == 0 else "add"
    elements, slabs = parts.shape
    if slabs <= _FEW or not has_teams(space):
        es.parallel_for(
            es.RangePolicy(elements, space=space), _joined_by_one, parts, C, alpha, beta, how,
            label="dot_gemm, slabs",
        )  # fmt: skip
    else:
        es.parallel_for(
            teams(elements, slabs, space), _joined_by_team, parts, C, parts.dtype.type,
            alpha, beta, how, label="dot_gemm, slabs",
        )  # fmt: skip


# -- kernels --------------------------------------------------------------------------------------


def _slab_by_tiles(
    s: int, A: Any, B: Any, parts: Any, kind: Any, high: static, wide: static, rows: Any, span: Any,
    conj: Any,
) -> None:  # fmt: skip
    k, n = A.extent(1), B.extent(1)
    for e in range(k * n):
        parts[e, s] = 0
    end = min((s + 1) * span, A.extent(0))
    for first in range(s * span, end, rows):
        last = min(first + rows, end)
        for a in range(0, k, high):
            for b in range(0, n, wide):
                sums = es.local(high * wide, kind)
                if a + high <= k and b + wide <= n:
                    for r in range(first, last):
                        for u in range(high):
                            left = conjugate(A[r, a + u], conj)
                            for v in range(wide):
                                sums[u * wide + v] += left * B[r, b + v]
                else:
                    for r in range(first, last):
                        for u in range(high):
                            left = conjugate(A[r, min(a + u, k - 1)], conj)
                            for v in range(wide):
                                sums[u * wide + v] += left * B[r, min(b + v, n - 1)]
                for u in range(high):
                    for v in range(wide):
                        if a + u < k and b + v < n:
                            parts[(a + u) * n + b + v, s] += sums[u * wide + v]


def _joined_by_one(e: int, parts: Any, C: Any, alpha: Any, beta: Any, how: Any) -> None:
    total = parts[e, 0]
    for s in range(1, parts.extent(1)):
        total += parts[e, s]
    stored(C, e // C.extent(1), e % C.extent(1), total, alpha, beta, how, "all", "no")


def _joined_by_team(
    team: Any, parts: Any, C: Any, kind: Any, alpha: Any, beta: Any, how: Any
) -> None:  # fmt: skip
    e = team.league_rank
    total = es.parallel_reduce(
        es.TeamVectorRange(team, parts.extent(1)),
        lambda s: parts[e, s],
        reducer=es.Sum(dtype=kind),
    )
    if es.single(es.PerTeam(team)):
        stored(C, e // C.extent(1), e % C.extent(1), total, alpha, beta, how, "all", "no")
