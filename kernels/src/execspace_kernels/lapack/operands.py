"""What functions of one dense matrix ask of their arguments, and Views that they make."""

from __future__ import annotations

from typing import Any

import numpy as np

import execspace as es

from ..arguments import Space, as_view, has_teams, is_device, largest_team
from ..blas.operands import check_shape, operand, shapes_of, written
from ..blas.updates import TRIANGLES
from ..errors import MatrixError

__all__ = [
    "TRIANGLES",
    "changed",
    "check_alike",
    "check_pivots",
    "columns_of",
    "matrix",
    "new_info",
    "one_team",
    "pivots_of",
    "right_sides",
    "shapes_of",
    "tau_of",
]

_VALUES = tuple(np.dtype(t) for t in (np.float32, np.float64, np.complex64, np.complex128))
_THREADS = 256  # of a team that factors a panel


def matrix(source: Any, what: str, space: Space = None) -> es.View:
    """A matrix that is read."""
    return _of_floats(operand(source, what, space, (2,)), what)


def changed(source: Any, what: str, ranks: tuple[int, ...] = (2,)) -> es.View:
    """A matrix that a function changes in place; with rank 1 a vector."""
    return _of_floats(written(source, what, ranks), what)


def _of_floats(view: es.View, what: str) -> es.View:
    if view.dtype not in _VALUES:
        raise es.ViewError(
            f"{what}: View '{view.label}' is of {view.dtype}; expected float32, float64, complex64 "
            f"or complex128."
        )
    return view


def check_alike(what: str, **views: es.View) -> None:
    """Raise ViewError for numbers of several types."""
    (first, view), *others = views.items()
    for name, other in others:
        if other.dtype != view.dtype:
            raise es.ViewError(
                f"{what}: {name} is View '{other.label}' of {other.dtype}, and {first} of "
                f"{view.dtype}; expected one type."
            )


def right_sides(source: Any, what: str, rows: int) -> es.View:
    """A vector, or the columns of a matrix, that a function changes in place."""
    view = changed(source, what, (1, 2))
    if view.shape[0] != rows:
        raise es.ViewError(
            f"{what}: View '{view.label}' has shape {view.shape}; expected ({rows},) or "
            f"({rows}, k), as A has {rows} rows."
        )
    return view


def columns_of(view: es.View) -> es.View:
    """A vector as a matrix of one column; matrices as they are."""
    return view if view.rank == 2 else view[:, None]


def pivots_of(source: Any, what: str, A: es.View, space: Space) -> es.View:
    """Pivots that are read."""
    view = as_view(source, what, space)
    shape = (min(A.shape),)
    if view.shape != shape or view.dtype.name not in ("int32", "int64"):
        raise es.ViewError(
            f"{what}: View '{view.label}' is of {view.dtype} and shape {view.shape}; expected "
            f"int32 or int64 and {shape}."
        )
    return view


def check_pivots(pivots: es.View, space: es.ExecutionSpace) -> None:
    """Raise MatrixError for numbers of rows that there are not."""
    space.fence()
    numbers, n = np.asarray(pivots), pivots.shape[0]
    wrong = np.flatnonzero((numbers < 0) | (numbers >= n))
    if wrong.size:
        k = int(wrong[0])
        raise MatrixError(
            f"getrs: pivots[{k}] is {numbers[k]}; expected 0 to {n - 1}. LAPACK's own pivots count "
            f"from 1: subtract 1 from these."
        )


def tau_of(source: Any, what: str, A: es.View, space: Space) -> es.View:
    """The factors of reflectors, which are read."""
    view = _of_floats(operand(source, what, space, (1,)), what)
    check_shape(view, what, (min(A.shape),), f"for A of {A.shape}")
    return view


def new_info(space: es.ExecutionSpace) -> es.View:
    """What tells of failures: a View of rank 0, not filled."""
    return es.View((), np.int32, label="info", space=space, initialize=False)


def one_team(space: es.ExecutionSpace) -> Any:
    """The policy of one team, of one thread where few run at once; None where there are none."""
    if not has_teams(space):
        return None
    size = min(_THREADS, largest_team(space)) if is_device(space) else 1
    return es.TeamPolicy(1, size, vector_length=1, space=space)


def by_one_team(
    space: es.ExecutionSpace, of_team: Any, of_one: Any, *arguments: Any, label: str
) -> None:
    """Launch a kernel for one team on devices that have teams, else another for one work item."""
    team = one_team(space) if is_device(space) else None
    if team is not None:
        es.parallel_for(team, of_team, *arguments, label=label)
    else:
        es.parallel_for(es.RangePolicy(1, space=space), of_one, *arguments, label=label)
