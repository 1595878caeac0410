"""Layouts: how the indices of a View map to memory. Strides count elements, as in Kokkos."""

from __future__ import annotations

import operator
from abc import ABC, abstractmethod
from collections.abc import Hashable, Sequence
from functools import lru_cache
from math import gcd, prod
from typing import Any

from ..base.blocks import ALIGNMENT
from ..base.brief import brief
from ..base.errors import ViewError
from ..base.locks import new_lock

__all__ = [
    "Layout",
]

LEFT, RIGHT, STRIDE = "left", "right", "stride"
LAYOUTS = (LEFT, RIGHT, STRIDE)


def right_strides(shape: Sequence[int]) -> tuple[int, ...]:
    """Row-major strides: the last index is contiguous (Kokkos' LayoutRight, C order)."""
    return tuple(prod(shape[d + 1 :]) for d in range(len(shape)))


def left_strides(shape: Sequence[int]) -> tuple[int, ...]:
    """Column-major strides: the first index is contiguous (LayoutLeft, Fortran order)."""
    return tuple(prod(shape[:d]) for d in range(len(shape)))


def _same(shape: Sequence[int], a: Sequence[int], b: Sequence[int]) -> bool:
    # The stride of a dimension with fewer than two entries is never used.
    return all(n < 2 or p == q for n, p, q in zip(shape, a, b, strict=True))


@lru_cache(maxsize=1024)  # arrays are classified at each launch on them
def classify(shape: tuple[int, ...], strides: tuple[int, ...], prefer: str = RIGHT) -> str:
    """Name the layout that these strides have; `prefer` decides where both fit (rank 0, 1)."""
    fits = [LEFT, RIGHT] if 0 in shape else []
    if _same(shape, strides, right_strides(shape)):
        fits.append(RIGHT)
    if _same(shape, strides, left_strides(shape)):
        fits.append(LEFT)
    if prefer in fits:
        return prefer
    return fits[0] if fits else STRIDE


def unit_dimension(layout: str, strides: Sequence[int]) -> int | None:
    """The dimension that has stride one, by layout where it says so, else by the strides."""
    rank = len(strides)
    if rank == 0:
        return None
    if layout == RIGHT:
        return rank - 1
    if layout == LEFT:
        return 0
    for d in range(rank - 1, -1, -1):
        if strides[d] == 1:
            return d
    return None


def span(shape: Sequence[int], strides: Sequence[int]) -> int:
    """Elements from the first to the last one reachable, padding included (0 if empty)."""
    if any(n == 0 for n in shape):
        return 0
    return 1 + sum((n - 1) * abs(s) for n, s in zip(shape, strides, strict=True))


def padded(shape: Sequence[int], strides: Sequence[int], layout: str, unit: int) -> tuple[int, ...]:
    """Strides with every row begun at a multiple of `unit` elements."""
    order = range(len(shape) - 1, -1, -1) if layout == RIGHT else range(len(shape))
    found = list(strides)
    size = 1
    for n, d in enumerate(order):
        found[d] = size
        size *= shape[d]
        if n == 0:
            size = -(-size // unit) * unit
    return tuple(found)


class Layout(ABC):
    """A layout of one's own: a mapping from indices to an offset in elements.

    Subclass it, preferably as a frozen dataclass, and give an instance to ``View(layout=...)``.
    Two layouts that are equal are the same layout, so it must be hashable.

    must: `offset`, `span`.

    Examples
    --------
    >>> import execspace as es
    >>> from dataclasses import dataclass
    >>> @dataclass(frozen=True)
    ... class Tiled(es.Layout):
    ...     tile: int
    ...     def span(self, n, m):
    ...         t = self.tile
    ...         return -(-n // t) * -(-m // t) * t * t
    ...     def offset(self, i, j, n, m):
    ...         t = self.tile
    ...         return ((i // t) * ((m + t - 1) // t) + j // t) * t * t + i % t * t + j % t
    >>> A = es.View((5, 6), layout=Tiled(4), memory=es.HOST)
    >>> A[4, 5] = 1.0
    >>> A.span
    64
    """

    @abstractmethod
    def span(self, *extents: int) -> int:
        """Number of elements to allocate for these extents; must. Plain Python."""

    @abstractmethod
    def offset(self, *indices_and_extents: Any) -> Any:
        """Offset in elements of an element; must. Compiled as part of kernels.

        Called with one index and then one extent for each dimension. It must give different
        offsets below `span` for different indices. The host calls it, too, with arrays of
        indices where the arithmetic allows. What it reads from outside must not change once a View
        has the layout: the elements would be elsewhere.
        """

    @property
    def name(self) -> str:
        """Name shown to users."""
        return type(self).__name__.lower()


_registered: dict[Hashable, str] = {}
_by_key: dict[str, Layout] = {}
_lock = new_lock()


def layout_key(layout: Layout) -> str:
    """Name of a layout in types of arguments; `layout_of` gives the layout back."""
    try:
        known = _registered.get(layout)
    except TypeError:
        raise ViewError(
            f"Layout {brief(layout)} cannot be hashed; make it a frozen dataclass."
        ) from None
    if known is None:
        with _lock:
            known = _registered.setdefault(layout, f"{layout.name}#{len(_registered)}")
            _by_key[known] = layout
    return known


def layout_of(key: str) -> Layout | None:
    """The layout of a name that `layout_key` made; None for left, right and stride."""
    return _by_key.get(key)


def arrange(
    extents: tuple[int, ...],
    itemsize: int,
    layout: str | Sequence[int] | Layout,
    padding: bool,
    label: str,
) -> tuple[tuple[int, ...], str, int]:
    """Strides, name of the layout, and number of elements to allocate.

    Parameters
    ----------
    extents : tuple of int
    itemsize : int
        Bytes of an element.
    layout : str, sequence of int, or Layout
    padding : bool
    label : str
        Of the View, for messages.

    Raises
    ------
    ViewError
    """
    if isinstance(layout, Layout):
        if padding:
            raise ViewError(f"View '{label}': a layout of one's own decides on its padding itself.")
        return (0,) * len(extents), layout.name, _mapped_span(layout, extents, label)
    if not isinstance(layout, str):
        if padding:
            raise ViewError(f"View '{label}': strides that are given cannot be padded as well.")
        strides = _given_strides(extents, layout, label)
        return strides, classify(extents, strides), span(extents, strides)
    if layout not in (LEFT, RIGHT):
        raise ViewError(
            f"View '{label}': layout {brief(layout)} does not exist; expected 'left', 'right', a "
            f"sequence of strides or an es.Layout."
        )
    strides = (left_strides if layout == "left" else right_strides)(extents)
    if padding and len(extents) > 1:
        strides = padded(extents, strides, layout, ALIGNMENT // gcd(ALIGNMENT, itemsize))
        layout = classify(extents, strides, layout)
    return strides, layout, span(extents, strides)


def _given_strides(extents: tuple[int, ...], strides: Any, label: str) -> tuple[int, ...]:
    try:
        given = tuple(operator.index(s) for s in strides)
    except TypeError:
        given = ()
    if len(given) != len(extents) or any(s < 0 for s in given):
        raise ViewError(
            f"View '{label}': strides {brief(strides)} do not fit shape {extents}; expected "
            f"{len(extents)} integers that are not negative."
        )
    shape = [(s, n) for s, n in zip(given, extents, strict=True) if n > 1 and 0 not in extents]
    reach = 1
    for s, n in sorted(shape):
        if s < reach:
            raise ViewError(
                f"View '{label}': with strides {given} two elements of shape {extents} share "
                f"memory; a stride must exceed the span of the dimensions below it."
            )
        reach += s * (n - 1)
    return given


def _mapped_span(layout: Layout, extents: tuple[int, ...], label: str) -> int:
    try:
        span = operator.index(layout.span(*extents))
    except TypeError as error:
        raise ViewError(
            f"View '{label}': {brief(layout)} has no span for {extents}: {error}"
        ) from error
    if span < prod(extents):
        raise ViewError(
            f"View '{label}': {brief(layout)} spans {span} elements, too few for shape {extents}."
        )
    return span
