"""What tests of vectors share: launches, and numbers at the limits of their types."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

import execspace as es
from execspace_testing import staged

FLOATS = ("float32", "float64")
INTEGERS = ("int32", "int64", "uint32", "uint64")
WIDTHS = (1, 4, 8)
VECTORS = 6


def run(space: es.ExecutionSpace, kernel: Any, *args: Any, n: int = VECTORS) -> None:
    """Launch a kernel for so many vectors."""
    staged.parallel_for(es.RangePolicy(n, space=space), kernel, *args)


def numbers(dtype: str, n: int, seed: int = 1) -> npt.NDArray[Any]:
    """Numbers of a type: also zeros of both signs, infinities and NaN, or the limits."""
    random = np.random.default_rng(seed)
    if np.dtype(dtype).kind == "f":
        special = [0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -2.5, 0.75]
        return np.resize([*special, *random.normal(0, 3, n)], n).astype(dtype)
    limits = np.iinfo(dtype)
    special = [0, 1, 3, limits.max, limits.min, limits.max - 1]
    return np.resize(np.array([*special, *random.integers(0, 50, n)], dtype), n)


def shuffled(a: npt.NDArray[Any], seed: int = 2) -> npt.NDArray[Any]:
    """The same numbers in another order."""
    return np.random.default_rng(seed).permutation(a)
