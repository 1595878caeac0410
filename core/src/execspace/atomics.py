"""Atomic operations on elements of Views, for kernels; on the host they are plain Python.

Every one changes one element as a single step that no other thread can come between. Order with
regard to other elements is not promised (relaxed). The index is an integer, or a tuple of
integers for ranks other than one.

Source: https://kokkos.org/kokkos-core-wiki/API/core/atomics.html
"""

from __future__ import annotations

from typing import Any


def atomic_add(view: Any, index: Any, value: Any) -> None:
    """``view[index] += value`` as one step."""
    view[index] += value


def atomic_sub(view: Any, index: Any, value: Any) -> None:
    """``view[index] -= value`` as one step."""
    view[index] -= value


def atomic_mul(view: Any, index: Any, value: Any) -> None:
    """``view[index] *= value`` as one step."""
    view[index] *= value


def atomic_div(view: Any, index: Any, value: Any) -> None:
    """``view[index] /= value`` as one step; floating-point elements only."""
    view[index] /= value


def atomic_min(view: Any, index: Any, value: Any) -> None:
    """The element becomes the lesser of the two; NaN if either is."""
    old = view[index]
    view[index] = value if value < old or value != value else old


def atomic_max(view: Any, index: Any, value: Any) -> None:
    """The element becomes the greater of the two; NaN if either is."""
    old = view[index]
    view[index] = value if value > old or value != value else old


def atomic_and(view: Any, index: Any, value: Any) -> None:
    """``view[index] &= value`` as one step; integers and bools."""
    view[index] &= value


def atomic_or(view: Any, index: Any, value: Any) -> None:
    """``view[index] |= value`` as one step; integers and bools."""
    view[index] |= value


def atomic_xor(view: Any, index: Any, value: Any) -> None:
    """``view[index] ^= value`` as one step; integers and bools."""
    view[index] ^= value
