"""Parameters of ranges, checked, and as specs have them: bounds, tiles, orders and chunks."""

from __future__ import annotations

from collections.abc import Iterable
from math import prod
from typing import Any

from ..base.brief import brief
from ..base.errors import PolicyError
from ..contract.tiles import MOST_PER_THREAD
from .checks import MOST, as_integer, as_integers

ITERATE = ("auto", "left", "right")


def are_integers(lower: Any, upper: Any) -> bool:
    """Whether tuples equal no others: True is 1, and so is 1.0."""
    for bounds in (lower, upper or ()):
        for n in bounds:
            if type(n) is not int:
                return False
    return True


def chunk_of(value: Any, dynamic: bool, first: int, last: int) -> int:
    """As in `PolicySpec.chunk_size`, of a range `first <= i < last`."""
    size = as_integer(value, "RangePolicy: chunk_size")
    if size < 1:
        raise PolicyError(f"RangePolicy: chunk_size={size}; expected at least 1.")
    if not dynamic:
        raise PolicyError(
            f"RangePolicy: chunk_size={size} with the static schedule, in which each thread gets "
            f"one part of the range; give schedule='dynamic', too, or leave out chunk_size=."
        )
    if max(last, last - first) + size > MOST:
        raise PolicyError(
            f"RangePolicy: chunk_size={size} reaches beyond {MOST}, and kernels count in 64 bits; "
            f"give a smaller one."
        )
    return size


def order_of(value: Any, rank: int) -> tuple[str, str]:
    """As `PolicySpec.iterate` and `PolicySpec.outer`."""
    if isinstance(value, str) and value in ITERATE:
        return value, ""
    pair = isinstance(value, tuple | list) and len(value) == 2
    if not pair or not all(isinstance(v, str) and v in ITERATE for v in value):
        raise PolicyError(
            f"MDRangePolicy: iterate={brief(value)}; expected one of {ITERATE}, or a pair of them: "
            f"the order of tiles, and that within a tile."
        )
    outer, inner = value
    return inner, "" if outer in ("auto", inner) or rank == 1 else outer


def check_tile(tile: tuple[int, ...], lower: tuple[int, ...], upper: tuple[int, ...]) -> None:
    """Raise PolicyError for a tile whose elements, or last index, 64 bits cannot hold."""
    furthest = zip(tile, lower, upper, strict=True)
    if prod(tile) > MOST or any(max(-a, b) + t > MOST for t, a, b in furthest):
        raise PolicyError(
            f"MDRangePolicy: tile {tile} reaches beyond {MOST}, and kernels count in 64 bits; give "
            f"a smaller tile."
        )


def per_thread(value: Any, rank: int) -> tuple[int, ...]:
    """As in `PolicySpec.items_per_thread`."""
    if value is None:
        return ()
    if isinstance(value, Iterable) and getattr(value, "ndim", None) != 0:
        calls = as_integers(value, "a number of calls per thread")
        wrong = "" if len(calls) == rank else f"expected {rank} numbers, got {len(calls)}"
    else:
        calls, wrong = (as_integer(value, "MDRangePolicy: items_per_thread"),), ""
    if not wrong and min(calls) < 1:
        wrong = f"{min(calls)} is less than 1 call"
    if not wrong and prod(calls) > MOST_PER_THREAD:
        wrong = f"{prod(calls)} calls of a thread are more than {MOST_PER_THREAD}"
    if wrong:
        raise PolicyError(
            f"MDRangePolicy: items_per_thread={brief(value)}: {wrong}; expected a number, or one "
            f"for each of {rank} dimensions, of at least 1 and at most {MOST_PER_THREAD} together."
        )
    return calls
