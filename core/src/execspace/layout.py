"""Layouts: how the indices of a View map to memory. Strides count elements, as in Kokkos."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

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


def classify(shape: Sequence[int], strides: Sequence[int], prefer: str = RIGHT) -> str:
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
