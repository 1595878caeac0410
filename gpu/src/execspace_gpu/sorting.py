"""Sorting on a GPU: CuPy's sorts, which are those of CUB and Thrust."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

import cupy
import numpy as np

from execspace import SpaceError, View

from .device_space import DeviceSpace
from .devices import ERRORS
from .interop import cupy_array, in_order


class Sorts:
    """The methods of `execspace.SupportsSort`; each is in order with the stream of the space."""

    def sort(self, view: View, descending: bool) -> None:
        with queued(self, view):
            array = cupy_array(view)
            if _by_bits(array):
                _one_nan(array, array)
            if descending:
                array[...] = cupy.sort(array)[::-1]
            elif array.flags.c_contiguous:
                array.sort()
            else:
                array[...] = cupy.sort(array)

    def argsort(self, keys: View, descending: bool, out: View) -> None:
        with queued(self, keys, out):
            array, order = cupy_array(keys), cupy_array(out)
            if _by_bits(array):
                array = _one_nan(array, cupy.empty_like(array))
            if descending:  # the places of equal keys shall ascend all the same
                order[...] = (keys.size - 1) - cupy.argsort(array[::-1])[::-1]
            else:
                order[...] = cupy.argsort(array)

    def permute(self, view: View, order: View) -> None:
        with queued(self, view, order):
            array = cupy_array(view)
            array[...] = array[cupy_array(order)]


def _by_bits(array: Any) -> bool:
    """Whether CuPy sorts by bits, so that NaN with the sign bit comes before all numbers.

    It does for these types (CuPy 14.2), and 0/0 has the sign bit on x86.
    """
    return array.dtype in (np.float32, np.float64)


def _one_nan(array: Any, out: Any) -> Any:
    """Elements of `array` in `out`, with the positive quiet NaN for every NaN."""
    return _one_nan_kernel()(array, np.nan, out)


@cache
def _one_nan_kernel() -> Any:
    return cupy.ElementwiseKernel("T x, T nan", "T y", "y = x == x ? x : nan", "execspace_one_nan")


@contextmanager
def queued(space: Any, *views: View) -> Iterator[None]:
    """CuPy works on the stream of the space within the block."""
    own: DeviceSpace = space
    kept: list[Any] | None = None if own.parent is None else []
    try:
        # Streams of other libraries are read while CuPy's current stream is the user's.
        with own.current(), in_order(own, views, kept), own.stream_object:
            yield
    except ERRORS as error:
        raise own.fault("Sorting", error) from error
    except RuntimeError as error:  # Thrust tells of a platform's errors in words only
        own.synchronize_stream("Sorting")
        raise SpaceError(f"Sorting on device {own.description} failed ({error}).") from error
