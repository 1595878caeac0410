"""Peers on hosts, in C++: matrices side by side by hand, and a call of LAPACK for each of them."""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.common.optional import NotThere, library

__all__ = ["WIDTH", "Work", "by_hand", "by_lapack"]

FLAGS = ("-O3", "-march=native", "-fopenmp", "-fPIC", "-shared")
HERE = Path(__file__).parent
WIDTH = 8  # matrices side by side: float64 of a register of AVX-512
Work = Callable[[Any, Any, Any, Any, Any], None]  # of A, B, C, pivots and info
_FOLDER = tempfile.TemporaryDirectory(prefix="execspace-bench-")


def by_hand(what: str, n: int, number: int, threads: int) -> Work:
    """A function of `interleaved.cpp`, of arrays whose elements lie as `Interleaved(WIDTH)` has
    them; NotThere without a compiler."""
    function = getattr(_built("interleaved", f"-DN={n}", f"-DWIDTH={WIDTH}"), what)
    groups = -(-number // WIDTH)

    def work(*arrays: Any) -> None:
        function(*map(_address, arrays), ctypes.c_long(groups), threads)

    return work


def by_lapack(what: str, n: int, number: int, threads: int) -> Work:
    """SciPy's BLAS or LAPACK, called from C++ for each matrix, whose columns are contiguous."""
    function = getattr(_built("lapack"), what)
    called = ctypes.c_void_p(_pointer(f"d{what}"))

    def work(*arrays: Any) -> None:
        function(called, *map(_address, arrays), n, ctypes.c_long(number), threads)

    return work


def _address(array: np.ndarray[Any, Any]) -> ctypes.c_void_p:
    return ctypes.c_void_p(array.ctypes.data)


@cache
def _built(name: str, *flags: str) -> ctypes.CDLL:
    tried = filter(None, (os.environ.get("CXX"), "g++", "clang++"))
    compiler = next(filter(shutil.which, tried), None)
    if compiler is None:
        raise NotThere("no C++ compiler (g++, clang++) was found")
    target = Path(_FOLDER.name) / f"{name}{''.join(flags)}.so"
    command = [compiler, *FLAGS, *flags, str(HERE / f"{name}.cpp"), "-o", str(target)]
    built = subprocess.run(command, capture_output=True, text=True, check=False)
    if built.returncode:
        raise NotThere(f"{compiler} cannot build {name}.cpp: {built.stderr}")
    return ctypes.CDLL(str(target))


def _pointer(name: str) -> int:
    """The address of a function of BLAS or LAPACK, of those that SciPy has for Cython."""
    modules = library("scipy.linalg.cython_blas"), library("scipy.linalg.cython_lapack")
    capsule = next(m.__pyx_capi__[name] for m in modules if name in m.__pyx_capi__)
    python = ctypes.pythonapi
    python.PyCapsule_GetName.restype = ctypes.c_char_p
    python.PyCapsule_GetName.argtypes = [ctypes.py_object]
    python.PyCapsule_GetPointer.restype = ctypes.c_void_p
    python.PyCapsule_GetPointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
    found = python.PyCapsule_GetPointer(capsule, python.PyCapsule_GetName(capsule))
    return int(found)
