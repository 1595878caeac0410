"""What a user would write by hand on a device for the cases of teams: CUDA C++, or OpenCL C.

One text for both, but for sums over a group and for the columns of a warp, which CUDA has
instructions for. Kernels are launched on the memory of Views, on the stream or queue of the space.
"""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

import execspace as es
from benchmarks.mdrange.peers import DIALECTS
from benchmarks.teams.kernels import column

Call = Callable[[], Any]

REACH, LEVELS, LENGTH = 256, 72, 256  # sizes that the kernels have for constants
BLOCKS = (64, 128, 256, 512, 1024)

_PRELUDE = {
    "cuda": """
#define GROUP_SIZE ((int)blockDim.x)
#define SLOTS 32

// The sum over all threads of a block, in the first one.
__device__ double group_sum(double value, double *slots) {
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    for (int w = 16; w; w /= 2) value += __shfl_down_sync(~0u, value, w);
    if (lane == 0) slots[warp] = value;
    __syncthreads();
    if (warp == 0) {
        value = lane < blockDim.x / 32 ? slots[lane] : 0.0;
        for (int w = 16; w; w /= 2) value += __shfl_down_sync(~0u, value, w);
    }
    return value;
}
""",
    "opencl": """
#define GROUP_SIZE ((int)get_local_size(0))
#define SLOTS 1024

double group_sum(double value, __local double *slots) {
    const unsigned me = get_local_id(0);
    slots[me] = value;
    for (unsigned d = get_local_size(0) / 2; d > 0; d /= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (me < d) slots[me] += slots[me + d];
    }
    return slots[me];
}
""",
}

_REDUCTIONS = """
KERNEL(1024) finish(GLOBAL const double *RESTRICT parts, GLOBAL double *RESTRICT out,
                    const int count) {
    LOCAL double slots[SLOTS];
    double sum = 0.0;
    for (int k = (int)THREAD_X; k < count; k += GROUP_SIZE) sum += parts[k];
    sum = group_sum(sum, slots);
    if (THREAD_X == 0) out[0] = sum;
}

KERNEL(1024) yax(GLOBAL const double *RESTRICT A, GLOBAL const double *RESTRICT x,
                 GLOBAL const double *RESTRICT y, GLOBAL double *RESTRICT parts,
                 const int columns) {
    LOCAL double slots[SLOTS];
    GLOBAL const double *RESTRICT row = A + (long)BLOCK_X * columns;
    double sum = 0.0;
    for (int k = (int)THREAD_X; k < columns; k += GROUP_SIZE) sum += row[k] * x[k];
    sum = group_sum(sum, slots);
    if (THREAD_X == 0) parts[BLOCK_X] = y[BLOCK_X] * sum;
}
"""

_FLAT = """
KERNEL(1024) f1_flat(GLOBAL const double *RESTRICT a, GLOBAL double *RESTRICT b, const int n,
                     const int m) {
    const int i = (int)X;
    if (i < n) {
        double sum = 0.0;
        for (int j = i - m; j <= i + m; ++j)
            sum += a[(j + n) % n] * (1.0 - (int)abs(j) / (double)m);
        b[i] = sum;
    }
}
"""

# E3SM's tuned kernels: as many threads as points, products in shared memory.
_BLOCKED = """
KERNEL(@BLOCK@) f1_@BLOCK@(GLOBAL const double *RESTRICT a, GLOBAL double *RESTRICT b, const int n,
                           const int m) {
    LOCAL double at[@BLOCK@ + 2 * @REACH@];
    const int me = (int)THREAD_X, first = (int)BLOCK_X * @BLOCK@;
    const double per_m = 1.0 / m;
    for (int k = me; k < @BLOCK@ + 2 * m; k += @BLOCK@) {
        const int j = first - m + k;
        at[k] = a[(j + n) % n] * (1.0 - (int)abs(j) * per_m);
    }
    BARRIER;
    if (first + me < n) {
        double sum = 0.0;
        for (int k = me; k <= me + 2 * m; ++k) sum += at[k];
        b[first + me] = sum;
    }
}

KERNEL(@BLOCK@) f1nd_@BLOCK@(GLOBAL double *RESTRICT parts, const int n, const int m) {
    LOCAL double at[@BLOCK@ + 2 * @REACH@];
    LOCAL double slots[SLOTS];
    const int me = (int)THREAD_X, first = (int)BLOCK_X * @BLOCK@;
    const double per_m = 1.0 / m, turn = 2.0 * 3.14159265358979323846 / n;
    for (int k = me; k < @BLOCK@ + 2 * m; k += @BLOCK@) {
        const int j = first - m + k;
        at[k] = sin(j * turn) * (1.0 - (int)abs(j) * per_m);
    }
    BARRIER;
    double sum = 0.0;
    if (first + me < n)
        for (int k = me; k <= me + 2 * m; ++k) sum += at[k];
    sum = group_sum(sum, slots);
    if (me == 0) parts[BLOCK_X] = sum;
}
"""

_COLUMNS = """
#define FIELDS GLOBAL const double *RESTRICT dp, GLOBAL const double *RESTRICT temperature,       \\
    GLOBAL const double *RESTRICT ground, GLOBAL const double *RESTRICT weights,                  \\
    GLOBAL double *RESTRICT pressure, GLOBAL double *RESTRICT below, GLOBAL double *RESTRICT phi, \\
    GLOBAL double *RESTRICT mass, GLOBAL double *RESTRICT parts

// A column for a thread.
KERNEL(1024) column_thread(FIELDS, const int columns) {
    LOCAL double slots[SLOTS];
    const int column = (int)X;
    double energy = 0.0;
    if (column < columns) {
        const long q = (long)column * @LEVELS@;
        double ratio[@LEVELS@], above = 0.0, warmth = 0.0, under = 0.0;
        for (int k = 0; k < @LEVELS@; ++k) {
            const double h = dp[q + k], middle = @TOP@ + above + 0.5 * h;
            const double heat = temperature[q + k] * h;
            pressure[q + k] = middle;
            above += h;
            below[q + k] = @TOP@ + above;
            ratio[k] = @R@ * heat / middle;
            warmth += heat;
        }
        for (int k = @LEVELS@ - 1; k >= 0; --k) {
            phi[q + k] = ground[column] + under + 0.5 * ratio[k];
            under += ratio[k];
        }
        mass[column] = above / @G@;
        energy = weights[column % @POINTS@] * (@CP@ * warmth + ground[column] * above) / @G@;
    }
    energy = group_sum(energy, slots);
    if (THREAD_X == 0) parts[BLOCK_X] = energy;
}
"""

# An element for a block, a column for a warp: what teams of 16 threads with 32 lanes are.
_WARPS = """
__device__ double prefix(double value, int lane) {
    for (int w = 1; w < 32; w *= 2) {
        const double other = __shfl_up_sync(~0u, value, w);
        if (lane >= w) value += other;
    }
    return value;
}

extern "C" __global__ void __launch_bounds__(32 * @POINTS@) column_warp(FIELDS) {
    __shared__ double ratios[@POINTS@][@LEVELS@], slots[SLOTS];
    const int c = threadIdx.x / 32, lane = threadIdx.x % 32;
    const int column = blockIdx.x * @POINTS@ + c;
    const long long q = (long long)column * @LEVELS@;
    double *ratio = ratios[c], above = 0.0, warmth = 0.0, under = 0.0;
    for (int k = lane; k - lane < @LEVELS@; k += 32) {
        const double h = k < @LEVELS@ ? dp[q + k] : 0.0, sum = prefix(h, lane);
        if (k < @LEVELS@) {
            const double lower = @TOP@ + above + sum, middle = lower - 0.5 * h;
            const double heat = temperature[q + k] * h;
            pressure[q + k] = middle;
            below[q + k] = lower;
            ratio[k] = @R@ * heat / middle;
            warmth += heat;
        }
        above += __shfl_sync(~0u, sum, 31);
    }
    __syncwarp();
    const double here = ground[column];
    for (int k = lane; k - lane < @LEVELS@; k += 32) {
        const int level = @LEVELS@ - 1 - k;
        const double r = level >= 0 ? ratio[level] : 0.0, sum = prefix(r, lane);
        if (level >= 0) phi[q + level] = here + under + sum - 0.5 * r;
        under += __shfl_sync(~0u, sum, 31);
    }
    for (int w = 16; w; w /= 2) warmth += __shfl_down_sync(~0u, warmth, w);
    if (lane == 0) mass[column] = above / @G@;
    const double energy = weights[c] * (@CP@ * warmth + here * above) / @G@;
    const double total = group_sum(lane == 0 ? energy : 0.0, slots);
    if (threadIdx.x == 0) parts[blockIdx.x] = total;
}
"""

_BITONIC = """
KERNEL(1024) bitonic_@NAME@(GLOBAL const int *RESTRICT unsorted, GLOBAL int *RESTRICT rows) {
    LOCAL int at[@LENGTH@];
    const long row = (long)BLOCK_X * @LENGTH@;
    for (int k = (int)THREAD_X; k < @LENGTH@; k += GROUP_SIZE) at[k] = unsorted[row + k];
    for (int run = 2; run <= @LENGTH@; run *= 2)
        for (int apart = run / 2; apart > 0; apart /= 2) {
            BARRIER;
            for (int pair = (int)THREAD_X; pair < @LENGTH@ / 2; pair += GROUP_SIZE) {
                const int low = 2 * pair - (pair & (apart - 1)), high = low + apart;
                const int a = at[low], b = at[high];
                const int swap = (a > b) == ((low & run) == 0);
                @EXCHANGE@
            }
        }
    BARRIER;
    for (int k = (int)THREAD_X; k < @LENGTH@; k += GROUP_SIZE) rows[row + k] = at[k];
}
"""
_EXCHANGES = {
    "branch": "if (swap) { at[low] = b; at[high] = a; }",
    "select": "at[low] = swap ? b : a; at[high] = swap ? a : b;",
}


def text(dialect: str) -> str:
    """All kernels; `dialect` is "cuda" or "opencl"."""
    blocked = "".join(_BLOCKED.replace("@BLOCK@", str(block)) for block in BLOCKS)
    found = DIALECTS[dialect] + _PRELUDE[dialect] + _REDUCTIONS + _FLAT + blocked + _COLUMNS
    found += _WARPS if dialect == "cuda" else ""
    for name, exchange in _EXCHANGES.items():
        found += _BITONIC.replace("@NAME@", name).replace("@EXCHANGE@", exchange)
    constants = {
        "REACH": REACH, "LEVELS": LEVELS, "LENGTH": LENGTH, "POINTS": column.POINTS,
        "R": column.R, "CP": column.CP, "G": column.G, "TOP": column.TOP,
    }  # fmt: skip
    for name, value in constants.items():
        found = found.replace(f"@{name}@", repr(value))
    return found


class NoSuchBlock(Exception):
    """A block of threads that a kernel by hand cannot have on this device."""


class Hand(ABC):
    """Kernels by hand for a space."""

    has_warps = False

    @abstractmethod
    def call(self, kernel: str, groups: int, block: int, *arguments: Any) -> Call:
        """A launch on Views and numbers; NoSuchBlock if the device has none as large."""


class CudaHand(Hand):
    """CUDA C++ through CuPy, on its current stream."""

    has_warps = True

    def __init__(self) -> None:
        import cupy

        self.cupy: Any = cupy
        self.module: Any = cupy.RawModule(code=text("cuda"), options=("-std=c++17",))
        self.module.compile()

    def call(self, kernel: str, groups: int, block: int, *arguments: Any) -> Call:
        function = self.module.get_function(kernel)
        if block > function.max_threads_per_block:
            raise NoSuchBlock(f"{kernel} cannot have blocks of {block}")
        return partial(function, (groups,), (block,), tuple(map(self._argument, arguments)))

    def _argument(self, value: Any) -> Any:
        if not isinstance(value, es.View):
            return np.int32(value)
        array = self.cupy.asarray(value)
        assert array.data.ptr == value.data_ptr, "the array is a copy of the View"
        return array


class OpenCLHand(Hand):
    """OpenCL C, on the queue of the space."""

    def __init__(self, space: Any) -> None:
        import pyopencl

        self.cl, self.space = pyopencl, space
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what compilers say to a text that they accept
            self.program: Any = pyopencl.Program(space.device.context, text("opencl")).build()

    def call(self, kernel: str, groups: int, block: int, *arguments: Any) -> Call:
        cl: Any = self.cl
        made = cl.Kernel(self.program, kernel)
        info = cl.kernel_work_group_info.WORK_GROUP_SIZE
        most = min(
            made.get_work_group_info(info, self.space.device.handle),
            self.space.device.handle.max_work_item_sizes[0],
        )
        if block > most:
            raise NoSuchBlock(f"{kernel} cannot have groups of {block}")
        made.set_args(
            *(v.allocation.owner if isinstance(v, es.View) else np.int32(v) for v in arguments)
        )

        def enqueue(kept: Any = arguments) -> None:  # the driver's kernel does not keep them alive
            cl.enqueue_nd_range_kernel(self.space.queue.handle, made, (groups * block,), (block,))

        return enqueue


def hand_of(space: Any) -> Hand | None:
    """Kernels by hand for a space; None if nobody has written any."""
    base = str(space.name).partition(":")[0]
    if base == "cuda":
        return CudaHand()
    return OpenCLHand(space) if base == "opencl" else None
