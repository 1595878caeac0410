"""What containers check of the arguments of their constructors: sizes, spaces, element types.

Kernel methods of containers are written in the language of kernels and check nothing that costs;
what the host is given is checked here, before anything is allocated.
"""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from ..base.brief import brief
from ..base.errors import DTypeError, SpaceError, ViewError, ViewTypeError
from ..base.storage_types import format_of
from ..contract.dtypes import as_dtype
from ..contract.memory import HOST
from ..contract.space import ExecutionSpace
from ..plugins.placement import implied_space
from ..plugins.selection import default_space, resolve
from ..views.deep_copy import deep_copy
from ..views.interop import view_of
from ..views.mirrors import create_mirror_view_and_copy
from ..views.view import View


def whole(what: str, name: str, value: Any, least: int = 0, most: int = 2**62) -> int:
    """An integer within bounds, as a Python int; ViewError for anything else."""
    try:
        number = None if isinstance(value, bool | np.bool_) else operator.index(value)
    except TypeError:
        number = None
    if number is None or not least <= number <= most:
        raise ViewError(
            f"{what}: {name} is {brief(value)}; expected an integer from {least} to {most}."
        )
    return number


def chosen_space(space: str | ExecutionSpace | None) -> ExecutionSpace:
    """The space that is named, or the default one."""
    return default_space() if space is None else resolve(space)


def given_view(what: str, name: str, source: Any, rank: int | None = 1) -> View:
    """A View, or an array as one; ViewTypeError or ViewError for what has another rank."""
    try:
        view = view_of(source)
    except TypeError as error:
        if isinstance(error, DTypeError):
            raise DTypeError(f"{what}: {name}: {error}") from None
        raise ViewTypeError(
            f"{what}: {name} is of type {type(source).__name__!r}; expected a View or an array."
        ) from None
    if rank is not None and view.rank != rank:
        raise ViewError(
            f"{what}: {name}, View '{view.label}', has rank {view.rank}; expected rank {rank}."
        )
    return view


def space_of(space: str | ExecutionSpace | None, *views: View) -> ExecutionSpace:
    """The space that is named, or the one on which a launch on these Views would run."""
    return implied_space(views) if space is None else resolve(space)


def element_type(what: str, name: str, dtype: Any, kinds: str, expected: str) -> np.dtype[Any]:
    """A dtype of one of NumPy's kinds; DTypeError, which says what is expected, for others."""
    found: np.dtype[Any] | None
    try:
        found = as_dtype(dtype)
    except DTypeError:
        found = None
    if found is None or found.kind not in kinds or format_of(found) is not None:
        raise DTypeError(f"{what}: {name} is {brief(dtype)}; expected {expected}.")
    return found


def check_atomics(what: str, name: str, dtype: np.dtype[Any], space: ExecutionSpace) -> None:
    """Raise SpaceError where a space changes no element of this size in one step."""
    most = space.capabilities.atomic_bytes
    if dtype.itemsize > most:
        raise SpaceError(
            f"{what}: {name} is {dtype.name}, of {dtype.itemsize} bytes, but space "
            f"'{space.name}' has atomic operations on {most} bytes at most; choose a smaller "
            f"type, or another space."
        )


def copy_across(target: View, source: View, space: ExecutionSpace, same: bool) -> None:
    """Copy elements in order on a space; blocks, and goes through the host, for another memory."""
    if same:
        deep_copy(target, source, instance=space)
    elif source.memory_space is target.memory_space:
        deep_copy(target, source)
    else:
        deep_copy(target, create_mirror_view_and_copy(HOST, source))
