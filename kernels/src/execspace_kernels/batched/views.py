"""Arguments of functions of batches: Views of rank 3, a matrix for each first index."""

from __future__ import annotations

from typing import Any

import numpy as np

import execspace as es

from ..arguments import INDICES, as_view, check_apart, check_takes
from ..errors import MatrixError

__all__ = [
    "batch",
    "check_square",
    "check_writable",
    "new",
    "pivots_of",
    "right_sides",
    "same_batch",
]


def batch(source: Any, what: str, rank: int = 3, is_changed: bool = False) -> es.View:
    """Matrices, or with rank 2 vectors, of real or complex floats."""
    if is_changed and isinstance(source, list | tuple):
        raise es.ViewError(
            f"{what} is a {type(source).__name__}, which cannot be changed in place; expected a "
            f"View or an array."
        )
    view = as_view(source, what)
    shape = "(batch, m, n)" if rank == 3 else "(batch, n)"
    if view.rank != rank:
        raise es.ViewError(f"{what}: View '{view.label}' has shape {view.shape}; expected {shape}.")
    if not issubclass(view.dtype.type, np.inexact):
        raise es.ViewError(
            f"{what}: View '{view.label}' is of {view.dtype}; expected real or complex floats."
        )
    return view


def same_batch(what: str, **views: es.View) -> int:
    """How many matrices there are; ViewError if some have others."""
    (first, view), *others = views.items()
    for name, other in others:
        if other.shape[0] != view.shape[0]:
            raise es.ViewError(
                f"{what}: {first} has {view.shape[0]} matrices and {name} {other.shape[0]}; "
                f"expected the same number."
            )
    return int(view.shape[0])


def check_writable(what: str, name: str, view: es.View) -> None:
    """ViewError for what is written in place and must not be."""
    if view.is_readonly:
        raise es.ViewError(f"{what}: {name} is View '{view.label}', which is read-only.")


def check_square(what: str, A: es.View) -> int:
    """The rows of square matrices; MatrixError for others."""
    m, n = A.shape[1:]
    if m != n:
        raise MatrixError(f"{what}: A has matrices of {m} x {n}; expected square ones.")
    return int(n)


def new(
    shape: tuple[int, ...], dtype: Any, what: str, space: es.ExecutionSpace, like: es.View
) -> es.View:
    """A View, not filled, in the layout of another one where that has a name."""
    layout: Any = like.layout if like.layout in ("left", "right") else None
    if like.mapping is not None and len(shape) == 3:
        layout = like.mapping
    return es.View(shape, np.dtype(dtype), label=what, space=space, layout=layout, initialize=False)


def right_sides(what: str, A: es.View, B: es.View, space: Any) -> es.ExecutionSpace:
    """Check a matrix and what it is solved with, which is changed; where to run."""
    same_batch(what, A=A, B=B)
    n = check_square(what, A)
    if B.shape[1] != n:
        raise es.ViewError(
            f"{what}: B has matrices of {B.shape[1]} x {B.shape[2]}; expected {n} rows, as A."
        )
    check_writable(what, "B", B)
    check_takes(what, B, np.result_type(A.dtype, B.dtype))
    check_apart(what, B, A=A)
    return es.space_for(A, B, space=space)


def pivots_of(
    what: str, given: Any, A: es.View, space: es.ExecutionSpace, *, is_read: bool
) -> es.View:
    """Those of a batch that are given, or new ones."""
    shape = A.shape[0], min(A.shape[1:])
    if given is None:
        return es.View(shape, np.int32, label="pivots", space=space)
    found = as_view(given, f"{what}: pivots")
    if found.shape != shape or found.dtype not in INDICES:
        raise es.ViewError(
            f"{what}: pivots is View '{found.label}' of {found.dtype} and shape {found.shape}; "
            f"expected int32 or int64 and {shape}."
        )
    if not is_read:
        check_writable(what, "pivots", found)
    return found
