"""DLPack of arrays of the pretended device: kind 10, which is ROCm's, and no other."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

from ._arrays import ndarray
from .cuda.memory import MemoryPointer, UnownedMemory

ROCM = 10
_NAME, _USED = b"dltensor", b"used_dltensor"
_CODES = {"i": 0, "u": 1, "f": 2, "c": 5, "b": 6}


class _Tensor(ctypes.Structure):
    _fields_ = (
        ("data", ctypes.c_void_p), ("kind", ctypes.c_int32), ("number", ctypes.c_int32),
        ("ndim", ctypes.c_int32), ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16), ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)), ("byte_offset", ctypes.c_uint64),
    )  # fmt: skip


class _Managed(ctypes.Structure):
    pass


_Deleter = ctypes.CFUNCTYPE(None, ctypes.POINTER(_Managed))
_Managed._fields_ = (("tensor", _Tensor), ("context", ctypes.c_void_p), ("deleter", _Deleter))
_Destructor = ctypes.CFUNCTYPE(None, ctypes.c_void_p)

_api = ctypes.pythonapi
_api.PyCapsule_New.argtypes = (ctypes.c_void_p, ctypes.c_char_p, _Destructor)
_api.PyCapsule_New.restype = ctypes.py_object
_api.PyCapsule_IsValid.argtypes = (ctypes.c_void_p, ctypes.c_char_p)
_api.PyCapsule_GetPointer.argtypes = (ctypes.c_void_p, ctypes.c_char_p)
_api.PyCapsule_GetPointer.restype = ctypes.c_void_p
_api.PyCapsule_SetName.argtypes = (ctypes.c_void_p, ctypes.c_char_p)

_given: dict[int, tuple[Any, ...]] = {}  # what the tensors that were handed out keep alive


@_Deleter
def _delete(managed: Any) -> None:
    _given.pop(ctypes.addressof(managed.contents), None)


@_Destructor
def _destroy(capsule: int) -> None:
    if _api.PyCapsule_IsValid(capsule, _NAME):  # nobody took it
        _given.pop(_api.PyCapsule_GetPointer(capsule, _NAME), None)


def capsule_of(array: ndarray) -> Any:
    """A capsule, which keeps the array alive."""
    code = _CODES.get(array.dtype.kind)
    if code is None:
        raise BufferError(f"DLPack has no type for {array.dtype}")
    count = max(array.ndim, 1)
    shape = (ctypes.c_int64 * count)(*array.shape)
    steps = (ctypes.c_int64 * count)(*(s // array.itemsize for s in array.strides))
    tensor = _Tensor(
        array.data.ptr, ROCM, 0, array.ndim, code, 8 * array.itemsize, 1, shape, steps, 0
    )
    managed = _Managed(tensor, None, _delete)
    address = ctypes.addressof(managed)
    _given[address] = managed, shape, steps, array
    return _api.PyCapsule_New(address, _NAME, _destroy)


class _Foreign(UnownedMemory):
    """Memory of a tensor that another library handed out."""

    def __init__(self, ptr: int, managed: Any) -> None:
        super().__init__(ptr, 0, None, 0)
        self.managed = managed

    def __del__(self) -> None:
        self.managed.deleter(ctypes.pointer(self.managed))


def from_dlpack(array: Any) -> ndarray:
    """An array over the memory of another library's one."""
    kind, _ = array.__dlpack_device__()
    if kind != ROCM:
        raise BufferError(f"CuPy for ROCm takes arrays of DLPack's device type {ROCM}; got {kind}.")
    capsule = array.__dlpack__(stream=0)
    address = _api.PyCapsule_GetPointer(id(capsule), _NAME)
    managed = _Managed.from_address(address)
    _api.PyCapsule_SetName(id(capsule), _USED)
    t = managed.tensor
    kinds = {code: letter for letter, code in _CODES.items()}
    dtype = np.dtype("?" if t.code == 6 else f"{kinds[t.code]}{t.bits // 8}")
    shape = tuple(t.shape[n] for n in range(t.ndim))
    steps = None
    if t.strides:
        steps = tuple(t.strides[n] * dtype.itemsize for n in range(t.ndim))
    owner = _Foreign((t.data or 0) + t.byte_offset, managed)
    return ndarray(shape, dtype, MemoryPointer(owner, 0), strides=steps)
