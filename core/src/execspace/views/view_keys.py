"""Shapes and subscripts of Views: what users write, and what it stands for."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..base.brief import brief
from ..base.errors import ViewError
from .static import static

__all__ = [
    "ALL",
]

MAX_RANK = 8
TRAITS = ("atomic", "nontemporal", "random_access", "restrict")


class All:
    """`es.ALL`: the whole of a dimension, in subviews."""

    def __reduce__(self) -> str:
        return "ALL"

    def __repr__(self) -> str:
        return "execspace.ALL"


ALL = All()


def example_name(view: Any, other: str = "A") -> str:
    """What a message calls a View in code to write: its label if that is a name, else `other`."""
    label: str = view.label
    return label if label.isidentifier() else other


def has_new_axis(key: Any) -> bool:
    """Whether a subscript asks for a new axis."""
    if isinstance(key, tuple):
        for part in key:
            if part is None:
                return True
    return key is None


def is_part(key: tuple[Any, ...]) -> bool:
    """Whether a subscript has plain integers and slices only, and a slice among them."""
    slices = False
    for part in key:
        kind = type(part)
        if kind is slice or kind is All:
            slices = True
        elif kind is not int:
            return False
    return slices


def numpy_has(part: Any) -> str:
    """What to write for the ways in which NumPy's arrays can be indexed, too."""
    if isinstance(part, list | np.ndarray) or hasattr(part, "allocation"):
        return " Lists and masks select a copy: np.asarray(A)[...]."
    return ""


def part_text(part: Any) -> str:
    """An index as a user would write it."""
    if isinstance(part, slice):
        ends = ["" if e is None else str(e) for e in (part.start, part.stop, part.step)]
        return ":".join(ends if part.step is not None else ends[:2])
    if isinstance(part, int | np.integer):
        return str(part)
    return ":" if part is ALL else "..." if part is Ellipsis else brief(part)


def extents_of(
    shape: int | static | Sequence[int | static], label: str
) -> tuple[tuple[int, ...], tuple[int | None, ...]]:
    """Extents, and which of them are part of the type."""
    try:
        operator.index(shape)  # type: ignore[arg-type]
        parts: Sequence[Any] = (shape,)
    except TypeError:
        parts = shape  # type: ignore[assignment]
    try:
        # Bytes hold integers, and sets have no order: neither is meant as a shape.
        if not isinstance(parts, tuple | list | range):
            raise TypeError
        parts = tuple(parts)
        extents = tuple(operator.index(n) for n in parts)
    except TypeError:
        raise ViewError(_no_shape(shape, label)) from None
    if any(n < 0 for n in extents):
        raise ViewError(f"View '{label}': shape {extents} has a negative extent.")
    if len(extents) > MAX_RANK:
        raise ViewError(f"View '{label}': rank {len(extents)} exceeds {MAX_RANK}.")
    return extents, trimmed([n.extent if isinstance(n, static) else None for n in parts])


def _no_shape(shape: Any, label: str) -> str:
    """What is wrong with what was given as a shape."""
    name = f"View '{label}'"
    if hasattr(shape, "allocation"):
        return (
            f"{name}: expected a shape, got {brief(shape)}. A new View of its shape is made by "
            f"es.zeros_like(A), and one with its elements by A.copy()."
        )
    if any(hasattr(type(shape), n) for n in ("__array_interface__", "__dlpack__", "__array__")):
        kind = type(shape)
        return (
            f"{name}: expected a shape, an integer or a sequence of integers, got an array "
            f"({kind.__module__}.{kind.__qualname__}). A View of its elements is made by "
            f"es.array(a), which copies, or es.asarray(a), which does so only where it must."
        )
    text = brief(shape)
    text = text if len(text) < 80 else f"{text[:76]} ..."
    more = ""
    if isinstance(shape, list | tuple) and shape:
        more = " For a View of these elements write es.array(...)."
    return (
        f"{name}: shape {text} is not valid; expected an integer or a sequence of integers.{more}"
    )


def trimmed(fixed: Sequence[int | None]) -> tuple[int | None, ...]:
    """Static extents as ViewType has them: nothing where there is none."""
    return tuple(fixed) if any(n is not None for n in fixed) else ()
