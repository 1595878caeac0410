"""Where the elements of a View lie, as NumPy is told of it, and whether two of them share any."""

from __future__ import annotations

from collections.abc import Callable
from ctypes import c_size_t
from typing import Any

import numpy as np
import numpy.typing as npt

from .storage_types import word_of


class ArrayInterface:
    """Carries `__array_interface__` of a host View and keeps `base` alive with the array.

    Of a View with a mapping of its own it is the row of all elements of its span.
    """

    __slots__ = ("__array_interface__", "base")

    def __init__(self, view: Any, base: object) -> None:
        self.base = base
        itemsize = view.dtype.itemsize
        mapped = view.mapping is not None
        self.__array_interface__ = {
            "version": 3,
            "typestr": word_of(view.dtype).str,  # of a record only its size
            "shape": (view.span,) if mapped else view.shape,
            "strides": None if mapped else tuple(s * itemsize for s in view.strides),
            "data": (view.data_ptr, view.is_readonly),
        }


def may_share(a: ArrayInterface, b: ArrayInterface) -> bool:
    """Whether what two describe has elements in common; true where it is unclear.

    Nothing is read: the memory may be out of the host's reach.
    """
    most: Any = 100_000  # the exact answer may take exponential time for odd strides
    try:
        return bool(np.shares_memory(np.asarray(a), np.asarray(b), max_work=most))
    except np.exceptions.TooHardError:
        return True


def _address_by_name(array: npt.NDArray[Any]) -> int:
    address: int = array.__array_interface__["data"][0]
    return address


_field = c_size_t.from_address
_DATA = object.__basicsize__  # the first field of a PyArrayObject


def _address_by_place(array: npt.NDArray[Any]) -> int:
    return _field(id(array) + _DATA).value


def _address_of() -> Callable[[npt.NDArray[Any]], int]:
    """How to read where an array begins: NumPy makes a dictionary for that, in eight times as long
    as it takes to read the field of its C structure, which is part of its ABI."""
    probe = np.zeros(3)[1:]
    same = _address_by_place(probe) == _address_by_name(probe)
    return _address_by_place if same else _address_by_name


address_of = _address_of()
