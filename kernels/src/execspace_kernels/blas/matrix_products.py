"""Which kernels multiply two matrices: launches for gemm, syrk, herk, trmm and trsm.

A transpose is a View of the same elements, so kernels know no modes but the conjugate. Algorithms
    teams: a team for each block of C, see `gemm_teams`: for devices.
    panels: copies of A and B that caches and registers are made for, see `gemm_panels`: for hosts.
    elements: a work item for each element of C: for records, and where all is small.
Each sum has one order, so results have the same bits in each run.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import execspace as es

from ..arguments import MANY, has_teams, is_device
from ..errors import MatrixError
from ..sparse.elements import conjugated, is_record, zero_of
from . import gemm_panels, gemm_teams
from .elements import conjugate
from .operands import cells, runs_along
from .stored import counts, stored

__all__ = ["ALGORITHMS", "chosen", "multiply", "sum_kind"]

ALGORITHMS = ("auto", "teams", "panels", "elements")
_FEW = 32768  # products that are too few to be copied to panels


_RUNS = {"teams": (gemm_teams.multiply, "left"), "panels": (gemm_panels.multiply, "right")}
_TURNED = {"lower": "upper", "upper": "lower"}


def sum_kind(kind: np.dtype[Any]) -> np.dtype[Any]:
    """What products are summed in: of float16 and bfloat16 float32, else their own type."""
    is_short = kind.itemsize == 2 and kind.kind not in "iu" and not is_record(kind)
    return np.dtype(np.float32) if is_short else kind


def chosen(
    what: str, algorithm: str, A: es.View, B: es.View, kind: np.dtype[Any],
    space: es.ExecutionSpace,
) -> tuple[str, str]:  # fmt: skip
    """The algorithm, and why."""
    if is_record(kind):
        return "elements", "elements are records"
    if algorithm == "teams" and not has_teams(space):
        raise MatrixError(
            f"{what}: algorithm='teams', but space '{space.name}' has none; expected 'auto', "
            f"'panels' or 'elements'."
        )
    if algorithm != "auto":
        return algorithm, "it was asked for"
    if A.shape[0] * A.shape[1] * B.shape[1] <= _FEW:
        return "elements", f"there are not more than {_FEW} products of elements"
    if is_device(space):
        return "teams", f"space '{space.name}' runs many work items at once"
    if space.concurrency <= MANY:
        return "panels", f"space '{space.name}' runs few work items at once"
    return "elements", f"space '{space.name}' has no teams"


def multiply(
    what: str, algorithm: str, A: es.View, B: es.View, C: es.View, alpha: Any, beta: Any,
    space: es.ExecutionSpace, *, kind: np.dtype[Any], conj_a: str = "no", conj_b: str = "no",
    part: str = "all", hermitian: str = "no", how: str | None = None,
) -> None:  # fmt: skip
    """C = beta C + alpha A B.

    Parameters
    ----------
    algorithm : {"teams", "panels", "elements"}
    kind : dtype
        Of the products.
    conj_a, conj_b : {"yes", "no"}
        Whether A, and B, stand for their conjugates.
    part : {"all", "lower", "upper"}
        What of C is computed; the rest is neither read nor written.
    hermitian : {"yes", "no"}
        Whether the diagonal of C is real.
    how : str, optional
        That of `stored`, for records.
    """
    if not C.size:
        return
    kind = sum_kind(kind)
    if algorithm == "elements":
        es.parallel_for(
            cells(C, space), _element, A, B, C, kind.type, conj_a, conj_b, part, hermitian, alpha,
            beta, how or ("set" if beta == 0 else "add"), "yes" if is_record(kind) else "no",
            label=f"{what} elements",
        )  # fmt: skip
        return
    # Teams write neighbours in a column, and vectors those in a row; so C may be transposed.
    run, beside = _RUNS[algorithm]
    if runs_along(C) != beside:
        A, B, C = B.T, A.T, C.T
        conj_a, conj_b, part = conj_b, conj_a, _TURNED.get(part, part)
    run(what, A, B, C, kind, alpha, beta, space, conj_a, conj_b, part, hermitian)


def _element(
    i: int, j: int, A: Any, B: Any, C: Any, kind: Any, conj_a: Any, conj_b: Any, part: Any,
    hermitian: Any, alpha: Any, beta: Any, how: Any, records: Any,
) -> None:  # fmt: skip
    if counts(i, j, part):
        if records == "yes":
            total = zero_of(C[i, :])
            for k in range(A.extent(1)):
                total += conjugated(A[i, k], conj_a) * conjugated(B[k, j], conj_b)
            stored(C, i, j, total, alpha, beta, how, part, hermitian)
        else:
            total = kind(0)
            for k in range(A.extent(1)):
                total += conjugate(kind(A[i, k]), conj_a) * conjugate(kind(B[k, j]), conj_b)
            stored(C, i, j, total, alpha, beta, how, part, hermitian)
