"""Host mirrors of Views, and changes of extents: what allocates, says so in its name."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..base.errors import ViewError, ViewTypeError
from ..base.flags import flag
from ..base.free_threading import numbers
from ..contract.layout import Layout
from ..contract.memory import HOST, MemorySpace
from ..contract.space import ExecutionSpace
from ..events.recording import refuse_elements
from ..plugins.selection import resolve
from ..plugins.started import fence
from .deep_copy import copy_by_any_way, deep_copy
from .interop import view_of
from .static import static
from .view import View
from .view_keys import extents_of

__all__ = [
    "create_mirror",
    "create_mirror_view",
    "create_mirror_view_and_copy",
    "realloc",
    "resize",
]

Where = str | ExecutionSpace | MemorySpace


def _like(view: View, where: Where, initialize: bool) -> View:
    layout: Any = view.mapping if view.mapping is not None else view.layout
    if isinstance(where, MemorySpace):
        place: dict[str, Any] = {"memory": where}
        preferred = "right"
    else:
        place = {"space": where}
        preferred = resolve(where).default_layout
    made = View(
        shape_of(view), view.dtype, label=view.label, initialize=initialize,
        layout=preferred if layout == "stride" else layout, **place,
    )  # fmt: skip
    return made.with_traits(*view.traits) if view.traits else made


def _reaches(where: Where, view: View) -> bool:
    if isinstance(where, MemorySpace):
        return view.memory_space is where or (where is HOST and view.memory_space.host_accessible)
    return view.memory_space.reachable_from(resolve(where))


def shape_of(view: View) -> tuple[int | static, ...]:
    """Extents as they are given to `View`: those that are part of the type as `static`."""
    fixed = view.type.static or (None,) * view.rank
    pairs = zip(view.shape, fixed, strict=True)
    return tuple(n if f is None else static(n) for n, f in pairs)


def reshaped(
    who: str,
    now: tuple[int | static, ...],
    shape: int | static | Sequence[int | static],
    label: str,
) -> tuple[int | static, ...]:
    """New extents of a View, of which those that are part of its type stay as they are.

    Raises
    ------
    ViewError
        If there are more or fewer than before, or one that is part of the type would be another.
    """
    extents, given = extents_of(shape, label)
    if len(extents) != len(now):
        raise ViewError(
            f"{who} has rank {len(now)}; expected {len(now)} extents, got {len(extents)}."
        )
    for d, (n, new, old) in enumerate(zip(extents, given or extents, now, strict=True)):
        if isinstance(old, static) and n != old.extent:
            raise ViewError(
                f"{who} has a static extent {d}, which is part of its type and stays "
                f"{old.extent}; got {n}. Make a new View and copy into it with es.deep_copy."
            )
        if given and new is not None and not isinstance(old, static):
            raise ViewError(
                f"{who} has an extent {d} that is not static, and its type stays as it is; "
                f"expected an integer, got es.static({n}). Make a new View for it."
            )
    return tuple(old if isinstance(old, static) else n for n, old in zip(extents, now, strict=True))


def create_mirror(view: View | Any, *, where: Where = HOST, initialize: bool = True) -> View:
    """A new View of the same type but for its memory, by default in that of the host.

    Shape, static extents, dtype, layout, traits and label are those of the View.

    Parameters
    ----------
    view : View or array
    where : str, ExecutionSpace or MemorySpace, default HOST
        Where the mirror is allocated.
    initialize : bool, default True
        Zero the elements.

    Notes
    -----
    Always allocates, never copies, and can be written even if the View is read-only. That of a
    strided View has the layout that `where` prefers. Kokkos:
    https://kokkos.org/kokkos-core-wiki/API/core/view/create_mirror.html
    """
    return _like(view_of(view), where, initialize)


def create_mirror_view(view: View | Any, *, where: Where = HOST, initialize: bool = True) -> View:
    """The View itself if its memory can be reached from there, else what `create_mirror` makes.

    Never copies: follow it with `deep_copy`, which costs nothing where the two are the same.
    """
    given = view_of(view)
    initialize = flag(initialize, "initialize", "create_mirror_view", ViewError)
    return given if _reaches(where, given) else _like(given, where, initialize)


def create_mirror_view_and_copy(where: Where, view: View | Any, /) -> View:
    """The View itself if its memory can be reached from there, else a copy of it. Blocks.

    Parameters
    ----------
    where : str, ExecutionSpace or MemorySpace
        Where the elements are wanted: a space, or `es.HOST`.
    view : View or array
        An array that can be reached is wrapped, see `view_of`.
    """
    given = view_of(view)
    mirror = create_mirror_view(given, where=where, initialize=False)
    refuse_elements(given, "copied")
    if mirror is given:  # maybe read-only
        fence("create_mirror_view_and_copy")
    else:
        copy_by_any_way(mirror, given)
    return mirror


def realloc(
    view: View, shape: int | static | Sequence[int | static], *, initialize: bool = True
) -> None:
    """Give a View new extents and drop its elements. Blocks.

    The View itself changes; other Views of the old memory keep that. Label, dtype, space, layout,
    traits and static extents stay. Nothing happens if the extents are the same, but for zeroing
    the elements.

    Parameters
    ----------
    view : View
    shape : int or sequence of int
    initialize : bool, default True
        Zero the elements.

    Raises
    ------
    ViewError
        If the View is part of another, wraps memory of somebody else, or has given strides; or if
        a static extent, which is part of its type, would be another.

    Notes
    -----
    Kokkos: https://kokkos.org/kokkos-core-wiki/API/core/view/realloc.html
    """
    refuse_elements(view, "replaced")
    wanted = _new_shape(view, shape, "realloc")
    if wanted is None:
        if initialize:
            deep_copy(view, np.zeros((), view.dtype)[()])
        return
    fresh = _resized(view, wanted, initialize)
    fence("realloc")  # launches that are under way use the old memory
    _take_over(view, fresh)


def resize(view: View, shape: int | static | Sequence[int | static]) -> None:
    """Give a View new extents and keep the elements that both shapes have. Blocks.

    As `realloc`; elements that are new are zero.
    """
    refuse_elements(view, "replaced")
    wanted = _new_shape(view, shape, "resize")
    if wanted is None:
        return
    fresh = _resized(view, wanted, True)
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


def _new_shape(view: View, shape: Any, what: str) -> tuple[int | static, ...] | None:
    """The extents if they are others than now; raises where they cannot be changed."""
    if not isinstance(view, View):
        raise ViewTypeError(
            f"{what}: expected a View, got {type(view).__name__!r}; memory of other libraries "
            f"keeps its extents. Make a new View and copy into it with es.deep_copy."
        )
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
    wanted = reshaped(f"{what}: View '{view.label}'", shape_of(view), shape, view.label)
    return None if tuple(map(operator.index, wanted)) == view.shape else wanted


def _resized(view: View, shape: Any, initialize: bool) -> View:
    layout: str | Layout = view.mapping if view.mapping is not None else view.layout
    return View(
        shape, view.dtype, label=view.label, memory=view.memory_space, layout=layout,
        initialize=initialize,
    )  # fmt: skip


class Moves:
    """Tells whether any View has got other memory: then `last` is another number than before."""

    last = 0
    _next = staticmethod(numbers(1))

    @classmethod
    def note(cls) -> None:
        cls.last = cls._next()


def _take_over(view: View, fresh: View) -> None:
    view._become(
        View._over(
            fresh.allocation, fresh.data_ptr, fresh.dtype, fresh.shape, fresh.strides, fresh.layout,
            False, view.space, fresh.mapping, fresh.type.static, view.traits,
        )
    )  # fmt: skip
    Moves.note()
