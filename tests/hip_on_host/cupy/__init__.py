"""CuPy 14 for ROCm, pretended over the host's memory: as much of it as execspace uses."""

from __future__ import annotations

from typing import Any

import numpy as _numpy

from . import cuda
from ._arrays import (
    arange,
    array,
    asarray,
    ascontiguousarray,
    asnumpy,
    empty,
    empty_like,
    full,
    ndarray,
    ones,
    zeros,
    zeros_like,
)
from ._dlpack import from_dlpack
from ._elementwise import ElementwiseKernel
from .cuda.memory import get_default_memory_pool, get_default_pinned_memory_pool

__version__ = "14.2.0"
__all__ = [
    "ElementwiseKernel", "arange", "argsort", "array", "asarray", "ascontiguousarray", "asnumpy",
    "cuda", "empty", "empty_like", "from_dlpack", "full", "get_default_memory_pool",
    "get_default_pinned_memory_pool", "is_available", "ndarray", "ones", "sort", "zeros",
    "zeros_like",
]  # fmt: skip


def is_available() -> bool:
    """There is always a device."""
    return True


def sort(a: Any, axis: int = -1) -> ndarray:
    """A sorted copy."""
    return asarray(_numpy.sort(a._host, axis=axis, kind="stable"))


def argsort(a: Any, axis: int = -1) -> ndarray:
    """Indices that sort; those of equal elements ascend."""
    return asarray(_numpy.argsort(a._host, axis=axis, kind="stable"))
