"""Kernels by hand for the section `compute`, with the blocks of threads that people pick."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from benchmarks.cuda.timing import Call

CPP = {"float32": "float", "float64": "double"}
PAIRS = {"complex64": "float2", "complex128": "double2"}
SOURCE = """
template <typename T>
__global__ void mandelbrot(T left, T top, T step, int limit, int *out, int rows, int columns) {
    const int j = blockIdx.x * blockDim.x + threadIdx.x;
    const int i = blockIdx.y * blockDim.y + threadIdx.y;
    if (i >= rows || j >= columns) return;
    const T cr = left + step * j, ci = top + step * i;
    T zr = cr, zi = ci;
    int count = 0;
    while (count < limit && zr * zr + zi * zi <= T(4)) {
        const T next = zr * zr - zi * zi + cr;
        zi = T(2) * zr * zi + ci;
        zr = next;
        ++count;
    }
    out[i * columns + j] = count;
}

extern "C" __global__ void hashed(int rounds, const unsigned *__restrict__ x,
                                  unsigned *__restrict__ out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned h = x[i];
    for (int k = 0; k < rounds; ++k) {
        h ^= h >> 16;
        h *= 0x85ebca6bu;
        h ^= h >> 13;
        h *= 0xc2b2ae35u;
        h ^= h >> 16;
    }
    out[i] = h;
}

template <typename T>
__global__ void product(const T *__restrict__ a, const T *__restrict__ b, T *__restrict__ c,
                        int n) {
    const int j = blockIdx.x * blockDim.x + threadIdx.x;
    const int i = blockIdx.y * blockDim.y + threadIdx.y;
    if (i >= n || j >= n) return;
    T total = 0;
    for (int k = 0; k < n; ++k) total += a[i * n + k] * b[k * n + j];
    c[i * n + j] = total;
}

template <typename T>
__global__ void gravity(const T *__restrict__ x, const T *__restrict__ y, const T *__restrict__ z,
                        const T *__restrict__ m, T softening, T *__restrict__ ax,
                        T *__restrict__ ay, T *__restrict__ az, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const T xi = x[i], yi = y[i], zi = z[i];
    T fx = 0, fy = 0, fz = 0;
    for (int j = 0; j < n; ++j) {
        const T dx = x[j] - xi, dy = y[j] - yi, dz = z[j] - zi;
        const T d = T(1) / sqrt(dx * dx + dy * dy + dz * dz + softening);
        const T pull = m[j] * d * d * d;
        fx += pull * dx;
        fy += pull * dy;
        fz += pull * dz;
    }
    ax[i] = fx;
    ay[i] = fy;
    az[i] = fz;
}

// V is float2 or double2: a real and an imaginary part.
template <typename V>
__global__ void links(const V *__restrict__ u, const V *__restrict__ v, V *__restrict__ w, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    V own[3];
#pragma unroll
    for (int k = 0; k < 3; ++k) own[k] = v[k * n + i];
#pragma unroll
    for (int r = 0; r < 3; ++r) {
        V total = {0, 0};
#pragma unroll
        for (int k = 0; k < 3; ++k) {
            const V link = u[(r * 3 + k) * n + i];
            total.x += link.x * own[k].x - link.y * own[k].y;
            total.y += link.x * own[k].y + link.y * own[k].x;
        }
        w[r * n + i] = total;
    }
}
"""
LINES, PLANES = (64, 128, 256), ((32, 4), (32, 8), (16, 16), (8, 32), (64, 4), (128, 1))


class Hand:
    """Makers of calls by the block of threads; arrays are CuPy's."""

    def __init__(self, cupy: Any) -> None:
        self.module = cupy.RawModule(
            code=SOURCE,
            options=("-std=c++17",),
            name_expressions=tuple(
                f"{kernel}<{kind}>"
                for kernel, kinds in (
                    ("mandelbrot", CPP.values()),
                    ("product", CPP.values()),
                    ("gravity", CPP.values()),
                    ("links", PAIRS.values()),
                )
                for kind in kinds
            ),
        )

    def line(self, name: str, n: int, *arguments: Any) -> dict[str, Call]:
        """A thread for each of n, in blocks of several lengths."""
        kernel = self.module.get_function(name)
        return {
            f"block {block}": partial(
                kernel, (-(-n // block),), (block,), (*arguments, np.int32(n))
            )
            for block in LINES
        }

    def plane(self, name: str, rows: int, columns: int, *arguments: Any) -> dict[str, Call]:
        """A thread for each element of a matrix, in blocks of several shapes."""
        kernel = self.module.get_function(name)
        return {
            f"block {x} x {y}": partial(
                kernel, (-(-columns // x), -(-rows // y)), (x, y), arguments
            )
            for x, y in PLANES
        }
