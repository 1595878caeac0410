"""The reducer that finds pivots: the largest magnitude, and of equal ones the first."""

from __future__ import annotations

from typing import Any

import numpy as np

import execspace as es

__all__ = ["Largest"]


class Largest(es.Reducer):
    """Joins pairs of a magnitude and its row; NaN is never the largest.

    `es.MaxLoc` gives NaN where there is one, for which it compares more.
    """

    identity: Any = (-1.0, np.int32(-1))

    @staticmethod
    def join(a: Any, b: Any) -> Any:
        is_other = (b[0] > a[0]) | ((b[0] == a[0]) & (b[1] < a[1]))  # without branches
        return b[0] if is_other else a[0], b[1] if is_other else a[1]
