"""The section `stencil`: heat steps of 5 and 7 points, float32 and float64, beside kernels by hand.

By hand a thread computes one point, or as many neighbours as fill 16 bytes, whose rows are read by
one access where they are aligned. Bytes are those of reading and writing each element once.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

import execspace as es
from benchmarks.common.heat import HEAT
from benchmarks.cuda.arrays import Arrays, all_equal
from benchmarks.cuda.timing import Bench, Call, Contestant, NotThere

SHAPES = ((8192, 8192), (4096, 4096), (8191, 8191), (512, 512, 512), (256, 256, 256))
CPP = {"float32": "float", "float64": "double"}
S = 0.125

# Borders stay as they are. Rows begin at addresses that are multiples of 16.
SOURCE = """
template <typename T, int W> struct alignas(sizeof(T) * W) Pack { T v[W]; };

template <typename T>
__global__ void points2(T s, const T *__restrict__ b, T *__restrict__ a, int n0, int n1) {
    const int j = blockIdx.x * blockDim.x + threadIdx.x + 1;
    const int i = blockIdx.y * blockDim.y + threadIdx.y + 1;
    if (i >= n0 - 1 || j >= n1 - 1) return;
    const T *p = b + i * n1 + j;
    a[i * n1 + j] = p[0] + s * (p[-n1] + p[n1] + p[-1] + p[1] - T(4) * p[0]);
}

template <typename T>
__global__ void points3(T s, const T *__restrict__ b, T *__restrict__ a, int n0, int n1, int n2) {
    const int k = blockIdx.x * blockDim.x + threadIdx.x + 1;
    const int j = blockIdx.y * blockDim.y + threadIdx.y + 1;
    const int i = blockIdx.z * blockDim.z + threadIdx.z + 1;
    if (i >= n0 - 1 || j >= n1 - 1 || k >= n2 - 1) return;
    const int plane = n1 * n2;
    const T *p = b + i * plane + j * n2 + k;
    a[i * plane + j * n2 + k] = p[0]
        + s * (p[-plane] + p[plane] + p[-n2] + p[n2] + p[-1] + p[1] - T(6) * p[0]);
}

// W neighbours of a row a thread; `down` and `across` are the steps of the other dimensions.
template <typename T, int W, bool THREE>
__device__ __forceinline__ void row(T s, const T *__restrict__ b, T *__restrict__ a, int at,
                                    int down, int across, int first, int n) {
    typedef Pack<T, W> P;
    const P middle = *(const P *)(b + at), up = *(const P *)(b + at - down);
    const P below = *(const P *)(b + at + down);
    P before = {}, behind = {};
    if (THREE) {
        before = *(const P *)(b + at - across);
        behind = *(const P *)(b + at + across);
    }
    const T left = first > 0 ? b[at - 1] : T(0), right = first + W < n ? b[at + W] : T(0);
    P out;
#pragma unroll
    for (int w = 0; w < W; ++w) {
        T around = up.v[w] + below.v[w];
        if (THREE) around += before.v[w] + behind.v[w];
        around += (w ? middle.v[w - 1] : left) + (w + 1 < W ? middle.v[w + 1] : right);
        out.v[w] = middle.v[w] + s * (around - T(THREE ? 6 : 4) * middle.v[w]);
    }
    if (first > 0 && first + W < n) {
        *(P *)(a + at) = out;
    } else {
        for (int w = 0; w < W; ++w)
            if (first + w > 0 && first + w < n - 1) a[at + w] = out.v[w];
    }
}

template <typename T, int W>
__global__ void packs2(T s, const T *__restrict__ b, T *__restrict__ a, int n0, int n1) {
    const int j = (blockIdx.x * blockDim.x + threadIdx.x) * W;
    const int i = blockIdx.y * blockDim.y + threadIdx.y + 1;
    if (i < n0 - 1 && j < n1) row<T, W, false>(s, b, a, i * n1 + j, n1, 0, j, n1);
}

template <typename T, int W>
__global__ void packs3(T s, const T *__restrict__ b, T *__restrict__ a, int n0, int n1, int n2) {
    const int k = (blockIdx.x * blockDim.x + threadIdx.x) * W;
    const int j = blockIdx.y * blockDim.y + threadIdx.y + 1;
    const int i = blockIdx.z * blockDim.z + threadIdx.z + 1;
    if (i < n0 - 1 && j < n1 - 1 && k < n2)
        row<T, W, true>(s, b, a, (i * n1 + j) * n2 + k, n2, n1 * n2, k, n2);
}
"""
BLOCKS = {
    2: ((32, 4, 1), (32, 8, 1), (64, 2, 1), (64, 4, 1), (128, 1, 1), (128, 2, 1), (256, 1, 1)),
    3: ((32, 4, 1), (32, 4, 2), (32, 8, 1), (64, 4, 1), (64, 2, 2), (128, 1, 1), (128, 2, 1)),
}


def stencil(bench: Bench, d: Arrays) -> None:
    """A step of heat over rows, planes and cubes, whose inputs are small multiples of 1/8."""
    hand = Hand(d.cupy)
    for shape in SHAPES:
        for dtype in CPP:
            _case(bench, d, hand, shape, dtype)
            d.cupy.get_default_memory_pool().free_all_blocks()


def _case(bench: Bench, d: Arrays, hand: Hand, shape: tuple[int, ...], dtype: str) -> None:
    cupy, rank = d.cupy, len(shape)
    kind = np.dtype(dtype).type
    host = np.random.default_rng(1).integers(0, 64, shape, dtype=np.int8)
    b = cupy.asarray(host).astype(dtype) / kind(8)
    a = cupy.zeros(shape, dtype)
    expected = _expected(b, rank)
    inner = (slice(1, -1),) * rank

    def check(_: Any) -> None:
        all_equal(a[inner], expected)
        edge = int((a != 77).sum()) - expected.size
        assert edge == 0, f"{edge} elements of the border were written"

    def poison() -> None:
        a.fill(77)

    def ours() -> Call:
        policy = es.MDRangePolicy((1,) * rank, [n - 1 for n in shape], space=d.space)
        return partial(es.parallel_for, policy, HEAT[rank], kind(S), d.view(a), d.view(b))

    title = f"{2 * rank + 1} points {dtype} {'x'.join(map(str, shape))}"
    bench.kernels(
        2 * a.nbytes,
        [
            Contestant(title, ours, check, poison, ours=True),
            Contestant("a point a thread", lambda: hand.points(b, a), check, poison),
            Contestant("packs", lambda: hand.packs(b, a), check, poison),
        ],
    )


def _expected(b: Any, rank: int) -> Any:
    """All sums are exact, so their order does not matter."""
    inner = (slice(1, -1),) * rank
    around = -2.0 * rank * b[inner]
    for axis in range(rank):
        for part in (slice(None, -2), slice(2, None)):
            around += b[tuple(part if k == axis else slice(1, -1) for k in range(rank))]
    return (b[inner] + S * around).astype(b.dtype)


class Hand:
    """Kernels by hand, in blocks of several shapes."""

    def __init__(self, cupy: Any) -> None:
        self.names = {
            (kind, rank, width): f"points{rank}<{cpp}>" if width == 1
            else f"packs{rank}<{cpp}, {width}>"
            for kind, cpp in CPP.items()
            for rank in (2, 3)
            for width in (1, 8 // np.dtype(kind).itemsize, 16 // np.dtype(kind).itemsize)
        }  # fmt: skip
        self.module = cupy.RawModule(
            code=SOURCE,
            options=("-std=c++17",),
            name_expressions=tuple(dict.fromkeys(self.names.values())),
        )

    def points(self, b: Any, a: Any) -> dict[str, Call]:
        """A point a thread."""
        return dict(self._calls(b, a, 1))

    def packs(self, b: Any, a: Any) -> dict[str, Call]:
        """8 and 16 bytes a thread."""
        if a.strides[-2] % 16:
            raise NotThere("rows do not begin at multiples of 16 bytes")
        widths = {nbytes // a.dtype.itemsize for nbytes in (8, 16)} - {1}
        return {name: call for width in widths for name, call in self._calls(b, a, width)}

    def _calls(self, b: Any, a: Any, width: int) -> list[tuple[str, Call]]:
        kernel = self.module.get_function(self.names[a.dtype.name, a.ndim, width])
        arguments = (a.dtype.type(S), b, a, *map(np.int32, a.shape))
        # Packs begin at the border of a row, which they leave as it is.
        spans = [-(-a.shape[-1] // width) if width > 1 else a.shape[-1] - 2]
        spans += [n - 2 for n in reversed(a.shape[:-1])]
        spans += [1] * (3 - len(spans))
        found = []
        for block in BLOCKS[a.ndim]:
            grid = tuple(-(-n // m) for n, m in zip(spans, block, strict=True))
            text = f"{width} a thread, block {' x '.join(map(str, block[: a.ndim]))}"
            found.append((text, partial(kernel, grid, block, arguments)))
        return found
