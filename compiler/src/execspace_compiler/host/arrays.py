"""Launches on NumPy's arrays without Views: what a plan needs is read from their C structure.

A function in LLVM IR, of all plans, checks each array against the type of the View that the plan
was compiled for, writes the table that a View has on its own stack, and calls the plan's entry with
objects that have a View's `descriptor` and nothing else. The structure is part of NumPy's ABI:
https://numpy.org/doc/stable/reference/c-api/types-and-structures.html

Offsets are those of the interpreter, whose objects begin with 32 bytes in place of 16 where there
is no GIL, and are tried out before the first use. References are counted by calls only. Nothing is
locked: no other thread may change the shape of an array meanwhile, as for NumPy's own functions.
"""

from __future__ import annotations

import ctypes
import platform
import sys
from collections.abc import Callable
from functools import cache
from struct import pack
from typing import Any

import numpy as np

from execspace import ScalarType, ViewType
from execspace.base.locks import new_lock
from execspace.contract.dtypes import dtype_of

from ..cache import disk
from . import machine

_NAME = "execspace_arrays"
_lock = new_lock()
_C, _F, _ALIGNED, _WRITEABLE = 0x1, 0x2, 0x100, 0x400  # flags of an array
_HEADER = object.__basicsize__  # of each of Python's objects; then what is its own
_BYTES = bytes.__basicsize__ - 1
_FIELDS = 6  # numbers for each argument, see `_wanted`
_ANY, _NONE = -1, -2  # for the dimension of stride one: not looked at; there is none
_TABLE = 17  # numbers of the table of a View of rank 8

# Parameters: `self` is a tuple of the numbers of `_wanted` for all arguments, as bytes, the entry,
# NotImplemented, and the class of what stands for a View; `given` are the bounds and the arguments
# of a launch.
_TEXT = f"""
declare i64 @PyTuple_Size(ptr)
declare ptr @PyTuple_GetItem(ptr, i64)
declare ptr @PyTuple_New(i64)
declare i32 @PyTuple_SetItem(ptr, i64, ptr)
declare void @Py_IncRef(ptr)
declare void @Py_DecRef(ptr)
declare ptr @PyLong_FromLongLong(i64)
declare ptr @PyType_GenericAlloc(ptr, i64)
declare ptr @PyObject_CallFunctionObjArgs(ptr, ...)

define ptr @{_NAME}(ptr %self, ptr %given, i64 %number) nounwind {{
entry:
  %held = call ptr @PyTuple_GetItem(ptr %self, i64 0)
  %wanted = getelementptr i8, ptr %held, i64 {_BYTES}
  %call = call ptr @PyTuple_GetItem(ptr %self, i64 1)
  %other = call ptr @PyTuple_GetItem(ptr %self, i64 2)
  %class = call ptr @PyTuple_GetItem(ptr %self, i64 3)
  %bounds = load ptr, ptr %given
  %second = getelementptr ptr, ptr %given, i64 1
  %args = load ptr, ptr %second
  %count = call i64 @PyTuple_Size(ptr %args)
  %row = call ptr @PyTuple_New(i64 %count)
  %size = mul i64 %count, {_TABLE}
  %tables = alloca i64, i64 %size, align 16
  br label %next

next:
  %n = phi i64 [ 0, %entry ], [ %n.plain, %plain ], [ %n.array, %taken ]
  %more = icmp slt i64 %n, %count
  br i1 %more, label %argument, label %launch

argument:
  %item = call ptr @PyTuple_GetItem(ptr %args, i64 %n)
  %first = mul i64 %n, {_FIELDS}
  %want = getelementptr i64, ptr %wanted, i64 %first
  %rank = load i64, ptr %want
  %is.array = icmp sge i64 %rank, 0
  br i1 %is.array, label %array, label %plain

plain:
  call void @Py_IncRef(ptr %item)
  %put = call i32 @PyTuple_SetItem(ptr %row, i64 %n, ptr %item)
  %n.plain = add i64 %n, 1
  br label %next

array:
  %want.dtype = getelementptr i64, ptr %want, i64 1
  %dtype = load ptr, ptr %want.dtype
  %want.mask = getelementptr i64, ptr %want, i64 2
  %mask = load i64, ptr %want.mask
  %want.flags = getelementptr i64, ptr %want, i64 3
  %flags = load i64, ptr %want.flags
  %want.bytes = getelementptr i64, ptr %want, i64 4
  %itemsize = load i64, ptr %want.bytes
  %want.unit = getelementptr i64, ptr %want, i64 5
  %unit = load i64, ptr %want.unit
  %at.data = getelementptr i8, ptr %item, i64 {_HEADER}
  %data = load i64, ptr %at.data
  %at.nd = getelementptr i8, ptr %item, i64 {_HEADER + 8}
  %nd32 = load i32, ptr %at.nd
  %nd = sext i32 %nd32 to i64
  %at.extents = getelementptr i8, ptr %item, i64 {_HEADER + 16}
  %extents = load ptr, ptr %at.extents
  %at.strides = getelementptr i8, ptr %item, i64 {_HEADER + 24}
  %strides = load ptr, ptr %at.strides
  %at.dtype = getelementptr i8, ptr %item, i64 {_HEADER + 40}
  %own.dtype = load ptr, ptr %at.dtype
  %at.flags = getelementptr i8, ptr %item, i64 {_HEADER + 48}
  %flags32 = load i32, ptr %at.flags
  %all.flags = zext i32 %flags32 to i64
  %own.flags = and i64 %all.flags, %mask
  %same.rank = icmp eq i64 %nd, %rank
  %same.dtype = icmp eq ptr %own.dtype, %dtype
  %same.flags = icmp eq i64 %own.flags, %flags
  %same.both = and i1 %same.rank, %same.dtype
  %same = and i1 %same.both, %same.flags
  %place = mul i64 %n, {_TABLE}
  %table = getelementptr i64, ptr %tables, i64 %place
  br i1 %same, label %dimensions, label %leave

dimensions:
  store i64 %data, ptr %table
  br label %dimension

dimension:
  %d = phi i64 [ 0, %dimensions ], [ %d.next, %fits ]
  %inside = icmp slt i64 %d, %rank
  br i1 %inside, label %measure, label %taken

measure:
  %from.extent = getelementptr i64, ptr %extents, i64 %d
  %extent = load i64, ptr %from.extent
  %from.stride = getelementptr i64, ptr %strides, i64 %d
  %stride = load i64, ptr %from.stride
  %step = sdiv i64 %stride, %itemsize
  %whole = mul i64 %step, %itemsize
  %d.next = add i64 %d, 1
  %to.extent = getelementptr i64, ptr %table, i64 %d.next
  store i64 %extent, ptr %to.extent
  %after = add i64 %d.next, %rank
  %to.stride = getelementptr i64, ptr %table, i64 %after
  store i64 %step, ptr %to.stride
  %uneven = icmp ne i64 %whole, %stride
  %is.one = icmp eq i64 %step, 1
  %beyond = icmp sgt i64 %d, %unit
  %there = icmp eq i64 %d, %unit
  %looked.at = icmp ne i64 %unit, {_ANY}
  %late = and i1 %beyond, %is.one
  %not.one = xor i1 %is.one, true
  %missing = and i1 %there, %not.one
  %other.unit = or i1 %late, %missing
  %wrong.unit = and i1 %looked.at, %other.unit
  %wrong = or i1 %uneven, %wrong.unit
  br i1 %wrong, label %leave, label %fits

fits:
  br label %dimension

taken:
  %address = ptrtoint ptr %table to i64
  %integer = call ptr @PyLong_FromLongLong(i64 %address)
  %view = call ptr @PyType_GenericAlloc(ptr %class, i64 0)
  %descriptor = getelementptr i8, ptr %view, i64 {_HEADER}
  store ptr %integer, ptr %descriptor
  %put.array = call i32 @PyTuple_SetItem(ptr %row, i64 %n, ptr %view)
  %n.array = add i64 %n, 1
  br label %next

launch:
  %result = call ptr (ptr, ...)
    @PyObject_CallFunctionObjArgs(ptr %call, ptr %bounds, ptr %row, ptr null)
  call void @Py_DecRef(ptr %row)
  ret ptr %result

leave:
  call void @Py_DecRef(ptr %row)
  call void @Py_IncRef(ptr %other)
  ret ptr %other
}}
"""


def launch_of_arrays(
    launch: Callable[..., Any], types: tuple[ViewType | ScalarType, ...], arrays: tuple[bool, ...]
) -> Callable[..., Any] | None:
    """A launch that takes arrays in place of some Views, or None if Views of that type are of none.

    Parameters
    ----------
    launch : callable
        The entry of the plan.
    types : tuple
        Of the arguments of the plan, without those of ``out=``.
    arrays : tuple of bool
        Which of all arguments are given as arrays.

    Returns
    -------
    callable
        As `launch`; but it returns NotImplemented, and launches nothing, if an array is not of the
        type of its argument. Whoever calls it has seen that each one is a `numpy.ndarray`.
    """
    if not _is_where_expected():
        return None
    numbers: list[int] = []
    kept: list[Any] = []
    for n, is_array in enumerate(arrays):
        wanted = (-1,) * _FIELDS
        if is_array:
            type = types[n]
            assert isinstance(type, ViewType)
            dtype = dtype_of(type.dtype)
            plain = not (type.static or type.traits) and type.memory == "host"
            if not plain or dtype.isbuiltin != 1:  # of others, arrays may have other objects
                return None
            wanted = _wanted(type, dtype)
            kept.append(dtype)
        numbers += wanted
    with _lock:  # threads would each make one
        library = _library()
    numbers_ = pack(f"{len(numbers)}q", *numbers)
    held = numbers_, launch, NotImplemented, _Described, kept, library
    made: Callable[..., Any] = machine.built_in(library.address(_NAME), held)
    return made


def with_numpy(
    launch: Callable[..., Any], classes: tuple[type | None, ...]
) -> Callable[..., Any] | None:
    """A launch of NumPy's arrays that also takes those of other classes which become NumPy's
    without a copy; None if it cannot take one."""
    places = []
    for n, kind in enumerate(classes):
        if kind is None or kind is np.ndarray:
            continue
        to_numpy = _to_numpy(kind)
        if to_numpy is None:
            return None
        places.append((n, to_numpy))
    if not places:
        return launch

    def converted(bounds: tuple[int, ...], args: tuple[Any, ...]) -> Any:
        given = list(args)
        try:
            for n, to_numpy in places:
                given[n] = to_numpy(args[n])
        except Exception:  # of the array's class, which the long way tells of
            return NotImplemented
        return launch(bounds, tuple(given))

    return converted


def _to_numpy(kind: type) -> Callable[[Any], Any] | None:
    """What makes a NumPy array over the memory of an array of a class, and never a copy."""
    torch = sys.modules.get("torch")
    if torch is not None and kind is torch.Tensor:
        found: Callable[[Any], Any] = kind.numpy
        return found
    only = hasattr(kind, "__dlpack__") and not hasattr(kind, "__array_interface__")
    return np.from_dlpack if only and not hasattr(kind, "__cuda_array_interface__") else None


def _wanted(type: ViewType, dtype: np.dtype[Any]) -> tuple[int, ...]:
    """Rank, identity of the dtype, which flags count and what they are, bytes of an element, and
    the dimension of stride one."""
    flags = _ALIGNED | (0 if type.readonly else _WRITEABLE)
    mask, unit = _ALIGNED | _WRITEABLE | _C, _ANY
    if type.layout == "right":
        flags |= _C
    else:
        mask |= _F
        if type.layout == "left":
            flags |= _F
        else:
            unit = _NONE if type.unit is None else type.unit
    return type.rank, id(dtype), mask, flags, dtype.itemsize, unit


class _Described:
    """Stands for a View, where a launch reads nothing else of it."""

    __slots__ = ("descriptor",)  # the first thing after the header

    descriptor: int


@cache
def _is_where_expected() -> bool:
    """Whether fields of an array, and of what stands for a View, are where `_TEXT` reads them."""
    probe = np.zeros((4, 6), np.float32)[1:3, ::2]
    stands = _Described()
    stands.descriptor = number = 1 << 40

    def at(what: object, offset: int, kind: Any = ctypes.c_size_t) -> int:
        return int(kind.from_address(id(what) + _HEADER + offset).value)

    def row(address: int) -> tuple[int, ...]:
        return tuple((ctypes.c_ssize_t * probe.ndim).from_address(address))

    found = (
        at(probe, 0), at(probe, 8, ctypes.c_int), row(at(probe, 16)), row(at(probe, 24)),
        at(probe, 40), at(probe, 48, ctypes.c_int), at(stands, 0),
    )  # fmt: skip
    return found == (
        probe.__array_interface__["data"][0], probe.ndim, probe.shape, probe.strides,
        id(probe.dtype), probe.flags.num, id(number),
    )  # fmt: skip


@cache
def _library() -> machine.Library:
    """The function as machine code, compiled or from the cache on disk."""
    parts = _TEXT, "optimised", *machine.versions(), platform.python_version()
    code = disk.of_text(parts, lambda: machine.object_code(_TEXT))
    return machine.Library(code, (_NAME,), {})
