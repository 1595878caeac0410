"""Kernels by hand for every element type: streams and reductions that move packs of elements."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from benchmarks.cuda.timing import Call

# Complex numbers are pairs to these kernels: sums and real factors work part by part.
CPP = {
    "int8": "signed char", "uint8": "unsigned char", "int16": "short", "float16": "__half",
    "int32": "int", "float32": "float", "int64": "long long", "float64": "double",
}  # fmt: skip
PARTS = {"complex64": "float32", "complex128": "float64"}
SUMS = {
    "int8": "int64", "uint8": "int64", "int16": "int64", "float16": "float32", "int32": "int64",
}  # fmt: skip

SOURCE = """
#include <cuda_fp16.h>
template <typename T, int W> struct alignas(sizeof(T) * W) Pack { T v[W]; };
template <typename T> struct Wide { typedef T type; };
template <> struct Wide<__half> { typedef float type; };

template <typename T, int W, int F>
__global__ void stream(const T *__restrict__ x, const T *__restrict__ y, T *__restrict__ z,
                       long long n) {
    typedef typename Wide<T>::type C;
    const long long k = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    if ((k + 1) * W <= n) {
        const Pack<T, W> a = ((const Pack<T, W> *)x)[k], b = ((const Pack<T, W> *)y)[k];
        Pack<T, W> c;
#pragma unroll
        for (int w = 0; w < W; ++w) c.v[w] = (T)((C)a.v[w] + (C)F * (C)b.v[w]);
        ((Pack<T, W> *)z)[k] = c;
    } else {
        for (long long i = k * W; i < n; ++i) z[i] = (T)((C)x[i] + (C)F * (C)y[i]);
    }
}

struct Add { template <typename S> static __device__ S join(S a, S b) { return a + b; } };
struct Most { template <typename S> static __device__ S join(S a, S b) { return a > b ? a : b; } };

template <typename J, typename S> __device__ S over_block(S v) {
    __shared__ S warps[8];
    for (int d = 16; d > 0; d /= 2) v = J::join(v, __shfl_down_sync(0xffffffffu, v, d));
    if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = v;
    __syncthreads();
    v = warps[threadIdx.x % 8];
    for (int d = 4; d > 0; d /= 2) v = J::join(v, __shfl_down_sync(0xffffffffu, v, d));
    return v;
}

// Blocks of 256 threads. Each starts from an element, which a maximum may have twice.
template <typename T, typename S, typename J, int W, int U, bool TWICE>
__global__ void reduce(const T *__restrict__ x, long long n, S *parts, unsigned *ticket, S *out) {
    typedef typename Wide<T>::type C;
    const Pack<T, W> *packs = (const Pack<T, W> *)x;
    const long long step = gridDim.x * 256ll, count = n / W;
    S own[U];
#pragma unroll
    for (int u = 0; u < U; ++u) own[u] = TWICE ? (S)(C)x[0] : S(0);
    long long k = blockIdx.x * 256ll + threadIdx.x;
    for (; k + (U - 1) * step < count; k += U * step) {
        Pack<T, W> p[U];
#pragma unroll
        for (int u = 0; u < U; ++u) p[u] = packs[k + u * step];
#pragma unroll
        for (int u = 0; u < U; ++u)
#pragma unroll
            for (int w = 0; w < W; ++w) own[u] = J::join(own[u], (S)(C)p[u].v[w]);
    }
    for (; k < count; k += step)
        for (int w = 0; w < W; ++w) own[0] = J::join(own[0], (S)(C)packs[k].v[w]);
    if (blockIdx.x == 0 && threadIdx.x == 0)
        for (long long i = count * W; i < n; ++i) own[0] = J::join(own[0], (S)(C)x[i]);
#pragma unroll
    for (int u = 1; u < U; ++u) own[0] = J::join(own[0], own[u]);
    S v = over_block<J>(own[0]);
    __shared__ bool last;
    if (threadIdx.x == 0) {
        parts[blockIdx.x] = v;
        __threadfence();
        last = atomicInc(ticket, gridDim.x - 1) == gridDim.x - 1;
    }
    __syncthreads();
    if (!last) return;
    __threadfence();
    v = TWICE ? (S)(C)x[0] : S(0);
    for (unsigned b = threadIdx.x; b < gridDim.x; b += 256u) v = J::join(v, __ldcg(parts + b));
    v = over_block<J>(v);
    if (threadIdx.x == 0) *out = v;
}
"""
BLOCKS_PER_SM, UNROLLS = (4, 8), (1, 2, 4)


def _kernels(cupy: Any, names: dict[str, str]) -> dict[str, Any]:
    module = cupy.RawModule(
        code=SOURCE, options=("-std=c++17",), name_expressions=tuple(names.values())
    )
    return {text: module.get_function(name) for text, name in names.items()}


def streams(cupy: Any, dtype: str, factor: int, x: Any, y: Any, z: Any) -> dict[str, Call]:
    """z = x + factor * y with accesses of 8 and 16 bytes."""
    part = PARTS.get(dtype, dtype)
    elements = x.size * (2 if dtype in PARTS else 1)
    size = np.dtype(part).itemsize
    names = {
        f"{width} bytes": f"stream<{CPP[part]}, {width // size}, {factor}>" for width in (8, 16)
    }
    found: dict[str, Call] = {}
    for text, kernel in _kernels(cupy, names).items():
        each = int(text.split()[0]) // size
        for block in (128, 256):
            grid = (-(-elements // (block * each)),)
            arguments = (x, y, z, np.int64(elements))
            found[f"{text}, block {block}"] = partial(kernel, grid, (block,), arguments)
    return found


class Reductions:
    """A sum or a maximum in a single pass; `result` has what the last call found."""

    def __init__(self, cupy: Any, dtype: str, name: str) -> None:
        self.cupy, self.dtype, self.name = cupy, dtype, name
        wide = SUMS.get(dtype, dtype) if name == "sum" else dtype
        self.wide = "float32" if wide == "float16" else wide
        self.out = cupy.zeros((), self.state)

    @property
    def state(self) -> str:
        """The type of states; shuffles are for 4 bytes and more."""
        return "int32" if self.wide in ("int8", "uint8", "int16") else self.wide

    def calls(self, x: Any) -> dict[str, Call]:
        """Variants with 16 bytes by an access."""
        cupy, size = self.cupy, np.dtype(self.dtype).itemsize
        processors = cupy.cuda.Device().attributes["MultiProcessorCount"]
        join, twice = ("Add", "false") if self.name == "sum" else ("Most", "true")
        fixed = f"{CPP[self.dtype]}, {CPP[self.state]}, {join}, {16 // size}"
        names = {str(u): f"reduce<{fixed}, {u}, {twice}>" for u in UNROLLS}
        found: dict[str, Call] = {}
        for unroll, kernel in _kernels(cupy, names).items():
            for blocks in BLOCKS_PER_SM:
                grid = blocks * processors
                parts, ticket = cupy.zeros(grid, self.state), cupy.zeros(1, np.uint32)
                arguments = (x, np.int64(x.size), parts, ticket, self.out)
                text = f"{blocks} blocks per SM, unrolled {unroll}"
                found[text] = partial(kernel, (grid,), (256,), arguments)
        return found

    def result(self) -> Any:
        """The number, on the host."""
        return self.out.get()[()]
