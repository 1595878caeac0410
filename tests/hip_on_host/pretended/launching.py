"""Loads compiled texts into the process, and launches their kernels.

A fault of a launch, or what a sanitizer reported of it, becomes an error of the driver.
"""

from __future__ import annotations

import ctypes
import itertools
import os
import threading
from dataclasses import dataclass
from functools import cache
from typing import Any

from . import machine, reporting
from .compiling import own_folder, runtime_library
from .image import parted
from .machine import CUDADriverError


class _Axes(ctypes.Structure):
    _fields_ = (("x", ctypes.c_uint), ("y", ctypes.c_uint), ("z", ctypes.c_uint))


class _Launch(ctypes.Structure):
    """As runtime.cpp has it."""

    _fields_ = (
        ("run", ctypes.c_void_p), ("parameters", ctypes.c_void_p), ("name", ctypes.c_char_p),
        ("groups", _Axes), ("size", _Axes),
        ("shared", ctypes.c_uint), ("most_shared", ctypes.c_uint), ("wave", ctypes.c_uint),
        ("resident", ctypes.c_uint), ("order", ctypes.c_uint), ("seed", ctypes.c_ulonglong),
        ("patience", ctypes.c_double),
    )  # fmt: skip


@dataclass(frozen=True)
class Function:
    """A kernel that is loaded; `bound` is the largest group that it was compiled for."""

    name: str
    entry: int
    bound: int
    wave: int


FUNCTIONS: dict[int, Function] = {}
_handles = itertools.count(0x1000)
_files = itertools.count()
_lock = threading.Lock()


@cache
def _runtime() -> ctypes.CDLL:
    library = ctypes.CDLL(str(runtime_library(machine.sanitizer())), ctypes.RTLD_GLOBAL)
    library._es_host_launch.argtypes = (
        ctypes.POINTER(_Launch), ctypes.c_char_p, ctypes.c_size_t,
    )  # fmt: skip
    library._es_host_launch.restype = ctypes.c_int
    reporting.begin()
    return library


def load(image: bytes) -> dict[str, int]:
    """Handles of the kernels of a compiled text, by their names.

    Raises
    ------
    CUDADriverError
    """
    try:
        head, code = parted(image)
    except ValueError as error:
        raise CUDADriverError(200, str(error)) from None
    if head["sanitizer"] != machine.sanitizer():
        raise CUDADriverError(209, f"it was compiled for sanitizer {head['sanitizer']!r}")
    if head["wave"] != machine.wave_of(machine.arch()):
        raise CUDADriverError(209, f"it was compiled for {head['arch']}")
    if head["mutation"] != os.environ.get("HIP_ON_HOST_MUTATION", "") and head["mutation"]:
        raise CUDADriverError(209, f"it was compiled with mutation {head['mutation']!r}")
    _runtime()
    path = own_folder() / f"kernels{next(_files)}.so"
    path.write_bytes(code)
    reporting.TEXTS[path.name] = path, head["text"]
    library = ctypes.CDLL(str(path))
    found = {}
    for name, bound in head["kernels"].items():
        entry = ctypes.cast(getattr(library, f"_es_run_{name}"), ctypes.c_void_p).value
        assert entry is not None
        found[name] = next(_handles)
        FUNCTIONS[found[name]] = Function(name, entry, bound, head["wave"])
    return found


def launch(
    handle: int, grid: tuple[int, int, int], group: tuple[int, int, int], shared: int, table: int
) -> None:
    """Run a kernel to its end.

    Parameters
    ----------
    handle : int
    grid, group : (int, int, int)
        Groups, and work-items of a group, along x, y and z.
    shared : int
        Bytes of memory of a group that the launch gives.
    table : int
        Address of the addresses of the parameters.

    Raises
    ------
    CUDADriverError
    """
    function = FUNCTIONS.get(handle)
    if function is None:
        raise CUDADriverError(400, f"{handle} is not a function")
    items = group[0] * group[1] * group[2]
    most = (2147483647, 65536, 65536)
    if not 0 < items <= min(machine.MOST_ITEMS, function.bound):
        raise CUDADriverError(
            9, f"kernel '{function.name}' is launched in groups of {items}; it was compiled for "
            f"at most {function.bound}",
        )  # fmt: skip
    for n in range(3):
        if not 0 < grid[n] <= most[n] or grid[n] * group[n] >= 1 << 32:
            raise CUDADriverError(9, f"kernel '{function.name}': a grid of {grid} groups")
    if shared > machine.MOST_SHARED:
        raise CUDADriverError(1, f"kernel '{function.name}': {shared} bytes of memory of a group")
    order, seed = machine.order()
    given = _Launch(
        function.entry, table, function.name.encode(), _Axes(*grid), _Axes(*group), shared,
        machine.MOST_SHARED, function.wave, int(machine.number("HIP_ON_HOST_RESIDENT", 1)), order,
        seed, machine.number("HIP_ON_HOST_PATIENCE", 10),
    )  # fmt: skip
    told = ctypes.create_string_buffer(8192)
    with _lock:  # so that a report is that of this launch
        status = _runtime()._es_host_launch(ctypes.byref(given), told, len(told))
        report = reporting.news()
    if report:
        raise CUDADriverError(719, f"kernel '{function.name}': a sanitizer reports\n{report}")
    if status:
        raise CUDADriverError(status, told.value.decode())


def attribute(number: int, handle: int) -> int:
    """Of a function, by the numbers of hipFunction_attribute; what a CPU has none of is 0."""
    function = FUNCTIONS.get(handle)
    if function is None:
        raise CUDADriverError(400, f"{handle} is not a function")
    known: dict[int, Any] = {0: function.bound, 4: 32, 8: machine.MOST_SHARED}
    return int(known.get(number, 0))
