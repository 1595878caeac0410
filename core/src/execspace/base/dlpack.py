"""Elements of storage types through DLPack, which has names for them where NumPy has none.

NumPy gives and takes their bits as integers. In the description of the elements, which belongs to
whoever has the capsule, the name of the type is exchanged.
"""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import numpy.typing as npt

from .storage_types import FORMATS, format_of, storage_dtype, word_of

_UNSIGNED = 1
_CODES = {"bfloat16": 4, "float8_e4m3fn": 10, "float8_e5m2": 12}
_NAMES = {(code, FORMATS[name].bits): name for name, code in _CODES.items()}


class _ElementType(ctypes.Structure):
    """DLDataType of the specification."""

    _fields_ = (("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16))


# Where it is in what a capsule of a name points to.
_PLACES = {b"dltensor": 20, b"dltensor_versioned": 52}

_name = ctypes.pythonapi.PyCapsule_GetName
_name.restype, _name.argtypes = ctypes.c_char_p, (ctypes.py_object,)
_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_pointer.restype, _pointer.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)


def _element_type(capsule: Any) -> _ElementType:
    name = _name(capsule)
    return _ElementType.from_address(_pointer(capsule, name) + _PLACES[name])


def capsule_of(array: npt.NDArray[Any], **options: Any) -> Any:
    """DLPack capsule over the memory of an array; options as `__dlpack__` takes."""
    form = format_of(array.dtype)
    if form is None:
        return array.__dlpack__(**options)
    capsule = array.view(word_of(array.dtype)).__dlpack__(**options)
    _element_type(capsule).code = _CODES[form.name]
    return capsule


class _AsIntegers:
    """Gives the capsule of a producer with elements of a storage type as integers."""

    def __init__(self, source: Any) -> None:
        self.source = source
        self.name: str | None = None

    def __dlpack__(self, **options: Any) -> Any:
        capsule = self.source.__dlpack__(**options)
        found = _element_type(capsule)
        self.name = _NAMES.get((found.code, found.bits)) if found.lanes == 1 else None
        if self.name is not None:
            found.code = _UNSIGNED
        return capsule

    def __dlpack_device__(self) -> Any:
        return self.source.__dlpack_device__()


def array_from(source: Any) -> npt.NDArray[Any]:
    """NumPy's array over the memory of a producer of the host; raises what NumPy raises."""
    try:
        return np.from_dlpack(source)
    except (BufferError, RuntimeError, TypeError):
        taken = _AsIntegers(source)
        try:
            array = np.from_dlpack(taken)
        except Exception:  # it was not the type of the elements
            taken.name = None
        if taken.name is None:
            raise
    return array.view(storage_dtype(taken.name))
