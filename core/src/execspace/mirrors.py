"""Host mirrors of Views, and changes of extents: what allocates, says so in its name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .copying import deep_copy
from .errors import ViewError
from .language import static
from .layout import Layout
from .memory import HOST, MemorySpace
from .parallel import fence
from .selection import resolve
from .space import ExecutionSpace
from .view import View, extents_of

Where = str | ExecutionSpace | MemorySpace


def _like(view: View, where: Where, initialize: bool) -> View:
    layout: Any = view.mapping if view.mapping is not None else view.layout
    if isinstance(where, MemorySpace):
        place: dict[str, Any] = {"memory": where}
        preferred = "right"
    else:
        place = {"space": where}
        preferred = resolve(where).default_layout
    return View(
        _shape(view), view.dtype, label=view.label, initialize=initialize,
        layout=preferred if layout == "stride" else layout, **place,
    )  # fmt: skip


def _reaches(where: Where, view: View) -> bool:
    if isinstance(where, MemorySpace):
        return view.memory_space is where or (where is HOST and view.memory_space.host_accessible)
    return view.memory_space.reachable_from(resolve(where))


def _shape(view: View) -> tuple[int | static, ...]:
    fixed = view.type.static or (None,) * view.rank
    pairs = zip(view.shape, fixed, strict=True)
    return tuple(n if f is None else static(n) for n, f in pairs)


def create_mirror(view: View, *, where: Where = HOST, initialize: bool = True) -> View:
    """A new View of the same shape, dtype and layout, by default in host memory.

    Parameters
    ----------
    view : View
    where : str, ExecutionSpace or MemorySpace, default HOST
        Where the mirror is allocated.
    initialize : bool, default True
        Zero the elements.

    Notes
    -----
    Always allocates, never copies. Kokkos:
    https://kokkos.org/kokkos-core-wiki/API/core/view/create_mirror.html
    """
    return _like(view, where, initialize)


def create_mirror_view(view: View, *, where: Where = HOST, initialize: bool = True) -> View:
    """The View itself if its memory can be reached from there, else what `create_mirror` makes.

    Never copies: follow it with `deep_copy`, which costs nothing where the two are the same.
    """
    return view if _reaches(where, view) else _like(view, where, initialize)


def create_mirror_view_and_copy(where: Where, view: View, /) -> View:
    """The View itself if its memory can be reached from there, else a copy of it. Blocks.

    Parameters
    ----------
    where : str, ExecutionSpace or MemorySpace
        Where the elements are wanted: a space, or `es.HOST`.
    view : View
    """
    mirror = create_mirror_view(view, where=where, initialize=False)
    if mirror is view:  # maybe read-only
        fence("create_mirror_view_and_copy")
    else:
        deep_copy(mirror, view)
    return mirror


def realloc(
    view: View, shape: int | static | Sequence[int | static], *, initialize: bool = True
) -> None:
    """Give a View new extents and drop its elements. Blocks.

    The View itself changes; other Views of the old memory keep that. Label, dtype, space and
    layout stay. Nothing happens if the extents are the same, but for zeroing the elements.

    Parameters
    ----------
    view : View
    shape : int or sequence of int
    initialize : bool, default True
        Zero the elements.

    Raises
    ------
    ViewError
        If the View is part of another, wraps memory of somebody else, or has given strides.

    Notes
    -----
    Kokkos: https://kokkos.org/kokkos-core-wiki/API/core/view/realloc.html
    """
    if not _changes(view, shape, "realloc"):
        if initialize:
            deep_copy(view, np.zeros((), view.dtype)[()])
        return
    fresh = _resized(view, shape, initialize)
    fence("realloc")  # launches that are under way use the old memory
    _take_over(view, fresh)


def resize(view: View, shape: int | static | Sequence[int | static]) -> None:
    """Give a View new extents and keep the elements that both shapes have. Blocks.

    As `realloc`; elements that are new are zero.
    """
    if not _changes(view, shape, "resize"):
        return
    fresh = _resized(view, shape, True)
    common = tuple(slice(0, min(a, b)) for a, b in zip(view.shape, fresh.shape, strict=True))
    if view.mapping is None:
        deep_copy(fresh[common], view[common])
    else:
        # There are no subviews of a mapped View, and the host may not reach it.
        before, after = np.empty(view.shape, view.dtype), np.zeros(fresh.shape, view.dtype)
        deep_copy(before, view)
        after[common] = before[common]
        deep_copy(fresh, after)
    _take_over(view, fresh)


def _changes(view: View, shape: Any, what: str) -> bool:
    """Whether the extents are others than now; raises where they cannot be changed."""
    whole = view.allocation.nbytes == view.span * view.dtype.itemsize
    if not view.is_managed or not whole or view.layout == "stride" or view.is_readonly:
        reason = (
            "wraps memory of somebody else" if not view.is_managed
            else "is read-only" if view.is_readonly
            else "is a part of another View" if not whole
            else "has strides of its own"
        )  # fmt: skip
        raise ViewError(
            f"{what}: View '{view.label}' {reason} and keeps its extents. Make a new View and "
            f"copy into it with es.deep_copy."
        )
    extents, _ = extents_of(shape, view.label)
    if len(extents) != view.rank:
        raise ViewError(
            f"{what}: View '{view.label}' has rank {view.rank}; expected {view.rank} extents, "
            f"got {len(extents)}."
        )
    return extents != view.shape


def _resized(view: View, shape: Any, initialize: bool) -> View:
    layout: str | Layout = view.mapping if view.mapping is not None else view.layout
    return View(
        shape, view.dtype, label=view.label, memory=view.memory_space, layout=layout,
        initialize=initialize,
    )  # fmt: skip


def _take_over(view: View, fresh: View) -> None:
    view._set(
        fresh.allocation, fresh.data_ptr, fresh.dtype, fresh.shape, fresh.strides, fresh.layout,
        False, view.space, fresh.mapping, fresh.type.static, view.traits,
    )  # fmt: skip
