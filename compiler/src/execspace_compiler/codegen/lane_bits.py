"""Bits of a lane of masks, where masks are vectors of integers: of LLVM's variables, and in C."""

from __future__ import annotations

from collections.abc import Iterable

from .. import ir
from ..ir.types import Vector


def lane_bits(functions: Iterable[ir.Function]) -> int:
    """Bits of the numbers that most vectors of functions have, so that masks fit to them."""
    kinds = [t for f in functions for t in f.locals.values() if isinstance(t, Vector)]
    floats = [t.bits // (2 if t.kind == "c" else 1) for t in kinds if t.kind in "fc"]
    others = [t.bits for t in kinds if t.is_integer]
    return max(floats or others or [64])
