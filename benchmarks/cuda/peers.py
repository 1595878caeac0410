"""What a user of an NVIDIA GPU would pick instead of execspace.

Kernels written by hand in CUDA C++ and launched through CuPy, CuPy's own functions, PyTorch's, and
a kernel of Triton. All work on the arrays that they are given.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cached_property, partial
from typing import Any

import numpy as np

from benchmarks.cuda.timing import Call, NotThere

try:
    import triton
    import triton.language as tl
except ImportError:
    triton = None

BLOCK = 128  # the best of hand-written triads
REDUCE_BLOCK = 256
BLOCKS_PER_SM, UNROLLS = (2, 4, 8, 16), (1, 2, 4, 8)

TRIAD = """
#define PARAMETERS double a, const double *__restrict__ x, const double *__restrict__ y, \\
                   double *__restrict__ z, unsigned n

extern "C" __global__ void __launch_bounds__(128) triad_one(PARAMETERS) {
    const unsigned i = blockIdx.x * 128u + threadIdx.x;
    if (i < n) z[i] = x[i] + a * y[i];
}

extern "C" __global__ void __launch_bounds__(128) triad_two(PARAMETERS) {
    const unsigned i = blockIdx.x * 256u + threadIdx.x, j = i + 128u;
    if (j < n) {
        const double first = x[i] + a * y[i], second = x[j] + a * y[j];
        z[i] = first;
        z[j] = second;
    } else if (i < n) {
        z[i] = x[i] + a * y[i];
    }
}

extern "C" __global__ void __launch_bounds__(128) triad_pair(PARAMETERS) {
    const unsigned k = blockIdx.x * 128u + threadIdx.x;
    if (k < n / 2) {
        const double2 u = reinterpret_cast<const double2 *>(x)[k];
        const double2 v = reinterpret_cast<const double2 *>(y)[k];
        reinterpret_cast<double2 *>(z)[k] = make_double2(u.x + a * v.x, u.y + a * v.y);
    } else if (k == n / 2 && n % 2 == 1) {
        z[n - 1] = x[n - 1] + a * y[n - 1];
    }
}

struct Arguments {
    double a;
    const double *x, *y;
    double *z;
    unsigned n;
};

extern "C" __global__ void __launch_bounds__(128)
triad_packed(const __grid_constant__ Arguments p) {
    const unsigned i = blockIdx.x * 128u + threadIdx.x;
    if (i < p.n) p.z[i] = p.x[i] + p.a * p.y[i];
}
"""

# Each block joins its part; the block that finishes last joins the parts. UNROLL values of each
# thread are independent, so that enough loads are under way.
REDUCE = """
__device__ __forceinline__ double join(double a, double b) { return @JOIN@; }
__device__ __forceinline__ double value(const double *__restrict__ x,
                                        const double *__restrict__ y, unsigned i) {
    return @VALUE@;
}

// The join over a block of 256 threads, in thread 0.
__device__ double block_join(double v) {
    __shared__ double warps[8];
    for (int d = 16; d > 0; d /= 2) v = join(v, __shfl_down_sync(0xffffffffu, v, d));
    if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = v;
    __syncthreads();
    v = warps[threadIdx.x % 8];
    for (int d = 4; d > 0; d /= 2) v = join(v, __shfl_down_sync(0xffffffffu, v, d));
    return v;
}

template <unsigned UNROLL>
__device__ __forceinline__ void reduce(const double *__restrict__ x, const double *__restrict__ y,
                                       unsigned n, double *parts, unsigned *ticket, double *out) {
    const unsigned step = gridDim.x * 256u;
    double own[UNROLL];
#pragma unroll
    for (unsigned u = 0; u < UNROLL; ++u) own[u] = @IDENTITY@;
    unsigned i = blockIdx.x * 256u + threadIdx.x;
    for (; i + (UNROLL - 1) * step < n; i += UNROLL * step) {
#pragma unroll
        for (unsigned u = 0; u < UNROLL; ++u) own[u] = join(own[u], value(x, y, i + u * step));
    }
    for (; i < n; i += step) own[0] = join(own[0], value(x, y, i));
#pragma unroll
    for (unsigned u = 1; u < UNROLL; ++u) own[0] = join(own[0], own[u]);
    double v = block_join(own[0]);
    __shared__ bool last;
    if (threadIdx.x == 0) {
        parts[blockIdx.x] = v;
        __threadfence();
        last = atomicInc(ticket, gridDim.x - 1) == gridDim.x - 1;
    }
    __syncthreads();
    if (!last) return;
    __threadfence();
    v = @IDENTITY@;
    for (unsigned k = threadIdx.x; k < gridDim.x; k += 256u) v = join(v, __ldcg(parts + k));
    v = block_join(v);
    if (threadIdx.x == 0) *out = v;
}

#define ENTRY(UNROLL)                                                                           \\
    extern "C" __global__ void __launch_bounds__(256)                                           \\
    reduce_##UNROLL(const double *__restrict__ x, const double *__restrict__ y, unsigned n,     \\
                    double *parts, unsigned *ticket, double *out) {                             \\
        reduce<UNROLL>(x, y, n, parts, ticket, out);                                            \\
    }
ENTRY(1)
ENTRY(2)
ENTRY(4)
ENTRY(8)
"""
INFINITY = "__longlong_as_double(0x7ff0000000000000LL)"

COUNT = """
#define COUNT(NAME, TYPE)                                                                       \\
    extern "C" __global__ void NAME##_one(const int *__restrict__ keys, TYPE *counters,         \\
                                          unsigned n) {                                         \\
        const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;                               \\
        if (i < n) atomicAdd(counters + keys[i], (TYPE)1);                                      \\
    }                                                                                           \\
    extern "C" __global__ void NAME##_four(const int *__restrict__ keys, TYPE *counters,        \\
                                           unsigned n) {                                        \\
        const unsigned first = blockIdx.x * blockDim.x * 4u + threadIdx.x;                      \\
        _Pragma("unroll") for (unsigned u = 0; u < 4; ++u) {                                    \\
            const unsigned i = first + u * blockDim.x;                                          \\
            if (i < n) atomicAdd(counters + keys[i], (TYPE)1);                                  \\
        }                                                                                       \\
    }
COUNT(int32, int)
COUNT(float64, double)
"""


def _reduction(value: str, join: str, identity: str) -> str:
    text = REDUCE.replace("@VALUE@", value).replace("@JOIN@", join)
    return text.replace("@IDENTITY@", identity)


SOURCES = {
    "triad": TRIAD,
    "dot": _reduction("x[i] * y[i]", "a + b", "0.0"),
    "sum": _reduction("x[i]", "a + b", "0.0"),
    "max": _reduction("x[i]", "a > b ? a : b", f"-{INFINITY}"),
    "count": COUNT,
}

if triton is not None:

    @triton.jit
    def triad_triton(x, y, z, a, n, BLOCK: tl.constexpr):
        i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        inside = i < n
        first = tl.load(x + i, mask=inside)
        second = tl.load(y + i, mask=inside)
        tl.store(z + i, first + a * second, mask=inside)


class _Arguments(ctypes.Structure):
    _fields_ = (
        ("a", ctypes.c_double),
        ("x", ctypes.c_void_p),
        ("y", ctypes.c_void_p),
        ("z", ctypes.c_void_p),
        ("n", ctypes.c_uint32),
    )


class Peers:
    """Makers of calls. Arrays are CuPy's; a call works on CUDA's legacy default stream."""

    def __init__(self) -> None:
        import cupy

        self.cupy: Any = cupy
        self.processors: int = cupy.cuda.Device().attributes["MultiProcessorCount"]
        self._modules: dict[str, Any] = {}

    @cached_property
    def torch(self) -> Any:
        """PyTorch; NotThere if it is not installed or cannot use the device."""
        try:
            import torch
        except ImportError as error:
            raise NotThere(f"PyTorch: {error}") from None
        if not torch.cuda.is_available():
            raise NotThere(f"PyTorch {torch.__version__} finds no CUDA device")
        return torch

    def tensor(self, array: Any) -> Any:
        """The memory of a CuPy array, as a tensor."""
        tensor = self.torch.from_dlpack(array)
        assert tensor.data_ptr() == array.data.ptr, "the tensor is a copy of the array"
        return tensor

    def kernel(self, source: str, name: str) -> Any:
        """A hand-written kernel, as CuPy's RawKernel."""
        if source not in self._modules:
            self._modules[source] = self.cupy.RawModule(
                code=SOURCES[source], options=("-std=c++17",)
            )
        return self._modules[source].get_function(name)

    # -- triad ---------------------------------------------------------------------------------

    def triad(self, a: float, x: Any, y: Any, z: Any) -> dict[str, Call]:
        """z = x + a * y, written by hand in three ways."""
        arguments = (np.float64(a), x, y, z, np.uint32(x.size))
        return {
            "1 element a thread": self._raw("triad_one", x.size, 1, arguments),
            "2 elements a thread": self._raw("triad_two", x.size, 2, arguments),
            "double2": self._raw("triad_pair", x.size + 1, 2, arguments),
        }

    def _raw(self, name: str, n: int, each: int, arguments: tuple[Any, ...]) -> Call:
        grid = (-(-n // (BLOCK * each)),)
        return partial(self.kernel("triad", name), grid, (BLOCK,), arguments)

    def triad_raw(self, a: float, x: Any, y: Any, z: Any) -> Call:
        """One RawKernel, called as a user would."""
        return self._raw("triad_one", x.size, 1, (a, x, y, z, np.uint32(x.size)))

    def triad_elementwise(self, a: float, x: Any, y: Any, z: Any) -> Call:
        """CuPy's ElementwiseKernel."""
        kernel = self.cupy.ElementwiseKernel(
            "float64 a, float64 x, float64 y", "float64 z", "z = x + a * y", "triad_elementwise"
        )
        return partial(kernel, a, x, y, z)

    def triad_torch(self, a: float, x: Any, y: Any, z: Any) -> Call:
        """torch.add with `alpha`."""
        u, v, w = (self.tensor(array) for array in (x, y, z))
        return partial(self.torch.add, u, v, alpha=a, out=w)

    def triad_triton(self, a: float, x: Any, y: Any, z: Any) -> Call:
        """A kernel of Triton on tensors."""
        if triton is None:
            raise NotThere("Triton is not installed")
        u, v, w = (self.tensor(array) for array in (x, y, z))
        return partial(triad_triton[(-(-x.size // 1024),)], u, v, w, a, x.size, BLOCK=1024)

    def triad_driver(self, a: float, x: Any, y: Any, z: Any) -> Call:
        """CUDA's cuLaunchKernel on arguments packed before: the least that Python pays."""
        from cupy_backends.cuda.api.driver import launchKernel

        kernel = self.kernel("triad", "triad_packed").kernel
        packed = _Arguments(a, x.data.ptr, y.data.ptr, z.data.ptr, x.size)
        pointers = (ctypes.c_void_p * 1)(ctypes.addressof(packed))
        address, grid = ctypes.addressof(pointers), -(-x.size // BLOCK)
        handle = kernel.ptr

        def call(kept: Any = (kernel, packed, pointers, x, y, z)) -> None:
            launchKernel(handle, grid, 1, 1, BLOCK, 1, 1, 0, 0, address, 0)

        return call

    # -- reductions, histograms, scans ---------------------------------------------------------

    def reduction(self, kind: str, x: Any, y: Any, out: Any) -> dict[str, Call]:
        """A single pass by hand: `kind` is "dot", "sum" or "max"; the result is in `out`."""
        found: dict[str, Call] = {}
        for blocks in BLOCKS_PER_SM:
            for unroll in UNROLLS:
                # no more blocks than have work, and at least one
                grid = max(1, min(blocks * self.processors, x.size // (REDUCE_BLOCK * unroll)))
                parts, ticket = self.cupy.zeros(grid), self.cupy.zeros(1, np.uint32)
                arguments = (x, y, np.uint32(x.size), parts, ticket, out)
                kernel = self.kernel(kind, f"reduce_{unroll}")
                text = f"{blocks} blocks per SM, unrolled {unroll}"
                found[text] = partial(kernel, (grid,), (REDUCE_BLOCK,), arguments)
        return found

    def reduction_to_python(self, kind: str, x: Any, y: Any) -> dict[str, Call]:
        """The same, and the result as a Python float."""
        out = self.cupy.zeros(())

        def then_get(call: Call) -> Callable[[], float]:
            def both() -> float:
                call()
                return float(out.get())

            return both

        return {text: then_get(call) for text, call in self.reduction(kind, x, y, out).items()}

    def counts(self, keys: Any, counters: Any) -> dict[str, Call]:
        """atomicAdd for each key, by hand."""
        found: dict[str, Call] = {}
        for words, each in (("one", 1), ("four", 4)):
            for block in (128, 256, 1024):
                kernel = self.kernel("count", f"{counters.dtype.name}_{words}")
                grid = (-(-keys.size // (block * each)),)
                arguments = (keys, counters, np.uint32(keys.size))
                text = f"{each} a thread, block {block}"
                found[text] = partial(kernel, grid, (block,), arguments)
        return found

    def cub_scan(self, x: Any) -> Call:
        """CUB's inclusive sum, in place, through CuPy."""
        try:
            from cupy.cuda import cub
        except ImportError as error:
            raise NotThere(f"CuPy's CUB: {error}") from None
        return partial(cub.device_scan, x, cub.CUPY_CUB_CUMSUM)
