"""CUB's reductions and scans of every element type, compiled by nvcc while the benchmark starts."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import tempfile
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.cuda.timing import Call, NotThere

# The element type, and that of sums.
CPP = {
    "int8": ("signed char", "long long"),
    "uint8": ("unsigned char", "unsigned long long"),
    "int16": ("short", "long long"),
    "float16": ("__half", "float"),
    "int32": ("int", "long long"),
    "float32": ("float", "float"),
    "int64": ("long long", "long long"),
    "float64": ("double", "double"),
    "complex64": ("cuda::std::complex<float>", "cuda::std::complex<float>"),
    "complex128": ("cuda::std::complex<double>", "cuda::std::complex<double>"),
}
SUMS = {
    "int8": "int64", "uint8": "uint64", "int16": "int64", "float16": "float32", "int32": "int64",
}  # fmt: skip

SOURCE = """
#include <cuda_fp16.h>
#include <cuda/std/complex>
#include <cub/cub.cuh>
using T = @T@;
using S = @S@;
#if @WIDENED@
struct Add {
    template <typename A, typename B> __device__ S operator()(A a, B b) const {
        return (S)a + (S)b;
    }
};
#endif
extern "C" int cub_sum(void *room, size_t *bytes, const T *x, void *out, long n) {
#if @WIDENED@
    return cub::DeviceReduce::Reduce(room, *bytes, x, (S *)out, n, Add(), S(0));
#else
    return cub::DeviceReduce::Sum(room, *bytes, x, (S *)out, n);
#endif
}
#if @ORDERED@
extern "C" int cub_max(void *room, size_t *bytes, const T *x, void *out, long n) {
    return cub::DeviceReduce::Max(room, *bytes, x, (T *)out, n);
}
#endif
extern "C" int cub_scan(void *room, size_t *bytes, const T *x, void *out, long n) {
    return cub::DeviceScan::InclusiveSum(room, *bytes, x, (T *)out, n);
}
"""


def _compiled(folder: Path, nvcc: str, dtype: str) -> ctypes.CDLL | str:
    """A library of the functions for one type; or why there is none."""
    element, total = CPP[dtype]
    text = SOURCE.replace("@T@", element).replace("@S@", total)
    text = text.replace("@ORDERED@", "0" if "complex" in dtype else "1")
    text = text.replace("@WIDENED@", "1" if dtype == "float16" else "0")
    source, library = folder / f"{dtype}.cu", folder / f"{dtype}.so"
    source.write_text(text)
    command = [nvcc, "-O3", "-std=c++17", "-arch=native", "-shared", "-Xcompiler", "-fPIC"]
    ran = subprocess.run(
        [*command, "-cudart", "shared", "-o", str(library), str(source)],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    if ran.returncode != 0:
        return (ran.stderr.strip() or "no message").splitlines()[0]
    return ctypes.CDLL(str(library))


class Cub:
    """CUB on CuPy's arrays, on CUDA's legacy default stream."""

    def __init__(self, cupy: Any, dtypes: tuple[str, ...]) -> None:
        self.cupy = cupy
        self.libraries: dict[str, ctypes.CDLL | str] = {}
        self.outs: dict[tuple[str, str], Any] = {}
        nvcc = shutil.which("nvcc")
        if nvcc is None:
            return
        with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor() as pool:
            made = pool.map(partial(_compiled, Path(folder), nvcc), dtypes)
            self.libraries = dict(zip(dtypes, made, strict=True))

    def _call(self, name: str, x: Any, out: Any) -> Call:
        library = self.libraries.get(x.dtype.name, "nvcc is not there")
        if isinstance(library, str):
            raise NotThere(f"CUB: {library}")
        function = getattr(library, f"cub_{name}")
        size = ctypes.c_size_t()
        given = (ctypes.c_void_p(x.data.ptr), ctypes.c_void_p(out.data.ptr), ctypes.c_long(x.size))
        _succeeded(function(None, ctypes.byref(size), *given))
        room = self.cupy.empty(max(1, size.value), np.uint8)
        address = ctypes.c_void_p(room.data.ptr)

        def call(kept: Any = (room, x, out)) -> None:
            _succeeded(function(address, ctypes.byref(size), *given))

        return call

    def reduction(self, name: str, x: Any) -> Call:
        """The sum or the maximum, which `result` reads."""
        dtype = x.dtype.name
        kept = SUMS.get(dtype, dtype) if name == "sum" else dtype
        out = self.outs[name, dtype] = self.cupy.zeros((), kept)
        return self._call(name, x, out)

    def result(self, name: str, x: Any) -> Any:
        """The number that the last reduction of this name and type made."""
        return self.outs[name, x.dtype.name].get()[()]

    def scan(self, x: Any, out: Any) -> Call:
        """Inclusive prefix sums."""
        return self._call("scan", x, out)


def _succeeded(status: int) -> None:
    if status != 0:
        raise RuntimeError(f"CUB answered with error {status}")
