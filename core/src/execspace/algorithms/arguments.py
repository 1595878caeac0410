"""What the algorithms that the host calls have in common: arguments, space, overlap.

Algorithms take Views and arrays, as launches do, and run on the space that a launch on the same
Views would run on.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..base.brief import brief
from ..base.errors import DTypeError, ViewError, ViewIndexError, ViewTypeError
from ..base.storage_types import format_of
from ..contract.space import ExecutionSpace
from ..launch.transfers import Transfer
from ..plugins import placement, selection, started
from ..views.arrays import advice, check_plain
from ..views.deep_copy import share_elements
from ..views.interop import view_of
from ..views.view import View


def argument(
    source: Any, what: str, role: str, *, writable: bool = False, numbers: bool = True
) -> View:
    """An argument as a View: of rank 1 and of real numbers, or any of rank 1 to 8.

    Raises
    ------
    ViewTypeError
        If it is neither a View nor an array.
    ViewError, DTypeError
        If it has another rank, no real numbers, or is read-only and must not be.
    """
    view = source if type(source) is View else _wrapped(source, what, role)
    if numbers and view.rank != 1:
        raise ViewError(
            f"{what}: View '{view.label}' has rank {view.rank}; expected rank 1. Take one row or "
            f"column of it, such as A[:, 0]."
        )
    if view.rank == 0:
        raise ViewError(
            f"{what}: View '{view.label}' has rank 0 and so no rows; expected rank 1 or more."
        )
    if numbers and (form := format_of(view.dtype)) is not None:
        raise DTypeError(
            f"{what}: View '{view.label}' is of {form.name}, whose elements only store numbers; "
            f"expected integers, floats or bools. Copy it into a View of float32: "
            f"es.array(A, es.float32)."
        )
    if numbers and view.dtype.kind not in "biuf":
        kind = "records" if view.dtype.fields is not None else view.dtype.name
        raise DTypeError(
            f"{what}: View '{view.label}' holds {kind}, which have no order; expected integers, "
            f"floats or bools."
        )
    if writable and view.is_readonly:
        raise ViewError(
            f"{what}: View '{view.label}' is read-only; copy it into a new View with "
            f"es.deep_copy, and pass that."
        )
    return view


def _wrapped(source: Any, what: str, role: str) -> View:
    """A View of what is none."""
    label = f"{role} of {what}"
    refuse_transfer(source, what, role)
    check_plain(source, label)
    try:
        return view_of(source, label=label)
    except TypeError as error:
        if isinstance(error, DTypeError):
            raise DTypeError(f"{what}: {role}: {error}") from None
        more = f" {text}" if (text := advice(source)) else ""
        raise ViewTypeError(
            f"{what}: {role} is of type {type(source).__name__!r}; expected a View or an "
            f"array.{more}"
        ) from None


def refuse_transfer(source: Any, what: str, role: str) -> None:
    """Raise ViewTypeError for `es.In` and its siblings."""
    if isinstance(source, Transfer):
        raise ViewTypeError(
            f"{what}: {role} is {source!r}, which launches take; expected a View or an array that "
            f"the space reaches. Make a View of its elements, es.array(a), and take results out "
            f"of it by to_numpy()."
        )


def part(view: View, begin: int | None, end: int | None, what: str) -> View:
    """The elements `begin <= i < end`; None is the end of that side."""
    if begin is None and end is None:
        return view
    n = view.shape[0]
    try:
        first = 0 if begin is None else operator.index(begin)
        last = n if end is None else operator.index(end)
    except TypeError:
        raise ViewError(
            f"{what}: begin={brief(begin)}, end={brief(end)}; expected integers."
        ) from None
    if not 0 <= first <= last <= n:
        raise ViewIndexError(
            f"{what}: begin={first}, end={last} is not a range of View '{view.label}' of extent "
            f"{n}; "
            f"expected 0 <= begin <= end <= {n}."
        )
    return view[first:last]  # type: ignore[no-any-return]


def result(out: Any, what: str, shape: tuple[int, ...], dtype: Any, space: ExecutionSpace) -> View:
    """The View that receives a result: `out` if it is given and fits, else a new one."""
    goal = np.dtype(dtype)
    if out is None:
        return View(shape, goal, label=what, space=space)
    view = argument(out, what, "out", writable=True)
    if view.shape != shape or view.dtype != goal:
        raise ViewError(
            f"{what}: out is View '{view.label}' of shape {view.shape} and dtype "
            f"{view.dtype.name}; expected shape {shape} and dtype {goal.name}."
        )
    return view


def choose_space(
    spec: str | ExecutionSpace | None, views: Sequence[View], what: str
) -> ExecutionSpace:
    """The space to run on, by the rule for launches; it reaches all of the Views.

    Raises
    ------
    UnknownSpaceError, SpaceUnavailableError
    SpaceAccessError
        If it cannot reach one of the Views.
    """
    space = selection.resolve(spec) if spec is not None else placement.implied_space(views)
    placement.check_reached(views, space, f"{what}: ")
    started.note(space)
    return space


def check_apart(views: Sequence[View], what: str) -> None:
    """Raise ViewError if two of the Views have elements in common."""
    for k, a in enumerate(views):
        for b in views[:k]:
            same_memory = a.memory_space is b.memory_space and a.size and b.size
            if same_memory and share_elements(a, b):
                raise ViewError(
                    f"{what}: View '{b.label}' and View '{a.label}' overlap in memory; expected "
                    f"Views that do not. Copy one of them first with es.deep_copy."
                )
