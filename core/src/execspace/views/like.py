"""New Views of the shape of another one, by the names of NumPy's functions.

What is not given is as in the View: element type, memory, layout and label.
"""

from __future__ import annotations

from typing import Any, overload

import numpy as np
import numpy.typing as npt

from ..contract.memory import HOST
from ..plugins.selection import memory_for
from .creation import Layouts, Memory, Space, Typed, filled
from .interop import view_of
from .mirrors import shape_of
from .typed import ScalarT
from .view import View

__all__ = [
    "empty_like",
    "full_like",
    "ones_like",
    "zeros_like",
]


@overload
def empty_like(
    view: View[ScalarT] | npt.NDArray[ScalarT], dtype: None = None, *, space: Space = None,
    memory: Memory = None, layout: Layouts = None, label: str | None = None,
) -> View[ScalarT]: ...  # fmt: skip
@overload
def empty_like(
    view: Any, dtype: Typed[ScalarT], *, space: Space = None, memory: Memory = None,
    layout: Layouts = None, label: str | None = None,
) -> View[ScalarT]: ...  # fmt: skip
@overload
def empty_like(
    view: Any, dtype: npt.DTypeLike | None = None, *, space: Space = None, memory: Memory = None,
    layout: Layouts = None, label: str | None = None,
) -> View[Any]: ...  # fmt: skip
def empty_like(
    view: Any, dtype: Any = None, *, space: Space = None, memory: Memory = None,
    layout: Layouts = None, label: str | None = None,
) -> View[Any]:  # fmt: skip
    """A new View of the shape of another one, whose elements are whatever was in memory.

    Parameters
    ----------
    view : View or array
    dtype, space, memory, layout, label : optional
        As for `View`. By default those of the View; of an array its shape and dtype alone, with
        the default space's memory and layout.
    """
    return _like(view, dtype, space, memory, layout, label, initialize=False)


@overload
def zeros_like(
    view: View[ScalarT] | npt.NDArray[ScalarT], dtype: None = None, *, space: Space = None,
    memory: Memory = None, layout: Layouts = None, label: str | None = None,
) -> View[ScalarT]: ...  # fmt: skip
@overload
def zeros_like(
    view: Any, dtype: Typed[ScalarT], *, space: Space = None, memory: Memory = None,
    layout: Layouts = None, label: str | None = None,
) -> View[ScalarT]: ...  # fmt: skip
@overload
def zeros_like(
    view: Any, dtype: npt.DTypeLike | None = None, *, space: Space = None, memory: Memory = None,
    layout: Layouts = None, label: str | None = None,
) -> View[Any]: ...  # fmt: skip
def zeros_like(
    view: Any, dtype: Any = None, *, space: Space = None, memory: Memory = None,
    layout: Layouts = None, label: str | None = None,
) -> View[Any]:  # fmt: skip
    """A new View of zeros of the shape of another one; see `empty_like`."""
    return _like(view, dtype, space, memory, layout, label, initialize=True)


@overload
def ones_like(
    view: View[ScalarT] | npt.NDArray[ScalarT], dtype: None = None, *, space: Space = None,
    memory: Memory = None, layout: Layouts = None, label: str | None = None,
) -> View[ScalarT]: ...  # fmt: skip
@overload
def ones_like(
    view: Any, dtype: Typed[ScalarT], *, space: Space = None, memory: Memory = None,
    layout: Layouts = None, label: str | None = None,
) -> View[ScalarT]: ...  # fmt: skip
@overload
def ones_like(
    view: Any, dtype: npt.DTypeLike | None = None, *, space: Space = None, memory: Memory = None,
    layout: Layouts = None, label: str | None = None,
) -> View[Any]: ...  # fmt: skip
def ones_like(
    view: Any, dtype: Any = None, *, space: Space = None, memory: Memory = None,
    layout: Layouts = None, label: str | None = None,
) -> View[Any]:  # fmt: skip
    """A new View of ones of the shape of another one; see `empty_like`."""
    made = _like(view, dtype, space, memory, layout, label, initialize=False)
    filled(made, np.ones((), made.dtype)[()])
    return made


@overload
def full_like(
    view: View[ScalarT] | npt.NDArray[ScalarT], value: Any, dtype: None = None, *,
    space: Space = None, memory: Memory = None, layout: Layouts = None, label: str | None = None,
) -> View[ScalarT]: ...  # fmt: skip
@overload
def full_like(
    view: Any, value: Any, dtype: Typed[ScalarT], *, space: Space = None, memory: Memory = None,
    layout: Layouts = None, label: str | None = None,
) -> View[ScalarT]: ...  # fmt: skip
@overload
def full_like(
    view: Any, value: Any, dtype: npt.DTypeLike | None = None, *, space: Space = None,
    memory: Memory = None, layout: Layouts = None, label: str | None = None,
) -> View[Any]: ...  # fmt: skip
def full_like(
    view: Any, value: Any, dtype: Any = None, *, space: Space = None, memory: Memory = None,
    layout: Layouts = None, label: str | None = None,
) -> View[Any]:  # fmt: skip
    """A new View of the shape of another one, in which each element is a number.

    See `empty_like`; the dtype is that of the View, not that of the number.
    """
    made = _like(view, dtype, space, memory, layout, label, initialize=False)
    filled(made, value)
    return made


def _like(
    view: Any,
    dtype: Any,
    space: Space,
    memory: Memory,
    layout: Layouts,
    label: str | None,
    initialize: bool,
) -> View[Any]:
    given = view_of(view, label="")
    kind = given.dtype if dtype is None else dtype
    if label is None:
        label = given.label if isinstance(view, View) else ""
    shape: Any = given.shape
    if isinstance(view, View):
        shape = shape_of(view)
        if space is None and memory is None:
            owned = view.is_managed or view.memory_space is HOST
            memory = view.memory_space if owned else None
            space = view.space
        if layout is None and view.layout != "stride":
            layout = view.mapping if view.mapping is not None else view.layout
        elif layout is None:
            layout = memory_for(space, memory)[2]
    return View(
        shape, kind, space=space, memory=memory, layout=layout, label=label,
        initialize=initialize,
    )  # fmt: skip
