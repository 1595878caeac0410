"""What a user would write by hand for each case: CUDA C++, OpenCL C, and C with OpenMP.

A text for devices is written once and read as CUDA C++ or as OpenCL C: what differs between the
two is in a few macros. It sees arrays as they are in memory, the contiguous dimension first, so it
is the same for both layouts.
"""

from __future__ import annotations

from dataclasses import dataclass

from benchmarks.common.c_loops import Function, collapses, contiguous_index, loop_order, nest
from benchmarks.mdrange.cases import FACTORS, INPUTS, SCALAR, STREAM, Case

Sizes3 = tuple[int, int, int]

BLOCK = 128  # of kernels over a flat range

DIALECTS = {
    "cuda": """
#define KERNEL(THREADS) extern "C" __global__ void __launch_bounds__(THREADS)
#define GLOBAL
#define RESTRICT __restrict__
#define LOCAL __shared__
#define BARRIER __syncthreads()
#define ADD(POINTER, VALUE) atomicAdd(POINTER, VALUE)
#define X (blockIdx.x * blockDim.x + threadIdx.x)
#define Y (blockIdx.y * blockDim.y + threadIdx.y)
#define Z (blockIdx.z * blockDim.z + threadIdx.z)
#define THREAD_X threadIdx.x
#define THREAD_Y threadIdx.y
#define BLOCK_X blockIdx.x
#define BLOCK_Y blockIdx.y
#define THREADS_IN_ALL (gridDim.x * blockDim.x)
""",
    "opencl": """
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#define KERNEL(THREADS) __kernel void
#define GLOBAL __global
#define RESTRICT restrict
#define LOCAL __local
#define BARRIER barrier(CLK_LOCAL_MEM_FENCE)
#define ADD(POINTER, VALUE) atomic_add(POINTER, VALUE)
#define X ((unsigned)get_global_id(0))
#define Y ((unsigned)get_global_id(1))
#define Z ((unsigned)get_global_id(2))
#define THREAD_X ((unsigned)get_local_id(0))
#define THREAD_Y ((unsigned)get_local_id(1))
#define BLOCK_X ((unsigned)get_group_id(0))
#define BLOCK_Y ((unsigned)get_group_id(1))
#define THREADS_IN_ALL ((unsigned)get_global_size(0))
""",
}

# Not measured: fills inputs, and counts the elements that are not what they should be.
CHECKS = """
KERNEL(256) fill(GLOBAL double *RESTRICT x, GLOBAL const double *RESTRICT table, const unsigned n,
                 const unsigned period) {
    for (unsigned p = X; p < n; p += THREADS_IN_ALL) x[p] = table[p % period];
}

KERNEL(256) count_wrong(GLOBAL const double *RESTRICT x, GLOBAL const double *RESTRICT table,
                        GLOBAL unsigned *wrong, const unsigned n, const unsigned period,
                        const unsigned n0, const unsigned n1, const unsigned n2, const unsigned n3,
                        const int rim, const int rank, const int transposed, const double outside,
                        const double rtol) {
    const unsigned extents[4] = {n0, n1, n2, n3};
    unsigned found = 0;
    for (unsigned p = X; p < n; p += THREADS_IN_ALL) {
        int on_rim = 0;
        unsigned rest = p;
        for (int d = 0; rim && d < rank; ++d) {
            const unsigned i = rest % extents[d];
            on_rim |= i == 0 || i == extents[d] - 1;
            rest /= extents[d];
        }
        const unsigned place = transposed ? (p % n0) * n0 + p / n0 : p;
        const double right = on_rim ? outside : table[place % period];
        if (!(fabs(x[p] - right) <= rtol * fabs(right))) ++found;
    }
    if (found) ADD(wrong, found);
}
"""
CHECK_THREADS = (256 * 1024, 1, 1)

_VALUES = {"set": "s", "copy": "a[i]", "scale": "s * a[i]", "add": "a[i] + b[i]",
           "triad": "a[i] + s * b[i]"}  # fmt: skip


def _flat(name: str, inputs: int, scalar: bool, statement: str) -> str:
    """A kernel over a flat range, one element a thread."""
    parameters = [
        *(["const double s"] if scalar else []),
        *(f"GLOBAL const double *RESTRICT {array}" for array in "ab"[:inputs]),
        "GLOBAL double *RESTRICT c",
        "const unsigned n",
    ]
    return (
        f"KERNEL({BLOCK}) {name}_flat({', '.join(parameters)}) {{\n"
        f"    const unsigned i = X;\n    if (i < n) {statement};\n}}\n"
    )


FLAT = "".join(
    _flat(name, INPUTS[name], name in SCALAR, f"c[i] = {value}") for name, value in _VALUES.items()
) + _flat("update", 1, False, "c[i] += 2.0 * a[i]")

# Names end in the index of the first thread: 1 is the first element that is written, 0 has the
# rows of stores begin where rows of the array do, and lets the threads on the rim do nothing.
_STENCIL = """
#define INSIDE(i, n) ((i) >= 1 && (i) < (n) - 1)
#define ARRAYS GLOBAL const double *RESTRICT b, GLOBAL double *RESTRICT a

KERNEL(1024) stencil2_from_@FIRST@(ARRAYS, const int n0, const int n1) {
    const int i = (int)X + @FIRST@, j = (int)Y + @FIRST@;
    if (INSIDE(i, n0) && INSIDE(j, n1)) {
        const int p = j * n0 + i;
        a[p] = 0.2 * (b[p] + b[p + 1] + b[p - 1] + b[p + n0] + b[p - n0]);
    }
}

KERNEL(1024) stencil3_from_@FIRST@(ARRAYS, const int n0, const int n1, const int n2) {
    const int i = (int)X + @FIRST@, j = (int)Y + @FIRST@, k = (int)Z + @FIRST@;
    if (INSIDE(i, n0) && INSIDE(j, n1) && INSIDE(k, n2)) {
        const int s = n0 * n1, p = k * s + j * n0 + i;
        a[p] = (1.0 / 7.0) * (b[p] + b[p + 1] + b[p - 1] + b[p + n0] + b[p - n0]
                              + b[p + s] + b[p - s]);
    }
}

#define NINE_POINTS                                                                             \\
    if (INSIDE(i, n0) && INSIDE(j, n1) && INSIDE(k, n2) && INSIDE(m, n3)) {                     \\
        const int s = n0 * n1, t = s * n2, p = m * t + k * s + j * n0 + i;                      \\
        a[p] = (1.0 / 9.0) * (b[p] + b[p + 1] + b[p - 1] + b[p + n0] + b[p - n0]                \\
                              + b[p + s] + b[p - s] + b[p + t] + b[p - t]);                     \\
    }

KERNEL(1024) stencil4_slow_packed_from_@FIRST@(ARRAYS, const int n0, const int n1, const int n2,
                                               const int n3) {
    const int q = (int)Z, w = n2 - 2 * @FIRST@;
    const int i = (int)X + @FIRST@, j = (int)Y + @FIRST@, k = q % w + @FIRST@, m = q / w + @FIRST@;
    NINE_POINTS
}

KERNEL(1024) stencil4_fast_packed_from_@FIRST@(ARRAYS, const int n0, const int n1, const int n2,
                                               const int n3) {
    const int q = (int)X, w = n0 - 2 * @FIRST@;
    const int i = q % w + @FIRST@, j = q / w + @FIRST@, k = (int)Y + @FIRST@, m = (int)Z + @FIRST@;
    NINE_POINTS
}
#undef INSIDE
#undef ARRAYS
#undef NINE_POINTS
"""
STENCIL = _STENCIL.replace("@FIRST@", "1") + _STENCIL.replace("@FIRST@", "0")

TRANSPOSE = """
#define ARRAYS GLOBAL const double *RESTRICT b, GLOBAL double *RESTRICT a

KERNEL(1024) transpose_rows_stored(ARRAYS, const int n) {
    const int i = (int)X, j = (int)Y;
    if (i < n && j < n) a[j * n + i] = b[i * n + j];
}

KERNEL(1024) transpose_rows_loaded(ARRAYS, const int n) {
    const int i = (int)X, j = (int)Y;
    if (i < n && j < n) a[i * n + j] = b[j * n + i];
}

// Loads and stores rows; the tile in between has a column more, against conflicts of banks.
KERNEL(256) transpose_through_tile(ARRAYS, const int n) {
    LOCAL double tile[32][33];
    const int i = (int)THREAD_X, first = (int)THREAD_Y;
    const int column = (int)BLOCK_X * 32, row = (int)BLOCK_Y * 32;
    for (int j = first; j < 32; j += 8)
        if (column + i < n && row + j < n) tile[j][i] = b[(row + j) * n + column + i];
    BARRIER;
    for (int j = first; j < 32; j += 8)
        if (row + i < n && column + j < n) a[(column + j) * n + row + i] = tile[i][j];
}
#undef ARRAYS
"""

# Two kernels; on CUDA the one pass of cuda/peers.py competes instead.
SUM = """
KERNEL(256) sum_parts(GLOBAL const double *RESTRICT x, GLOBAL double *RESTRICT parts,
                      const unsigned n) {
    LOCAL double shared[256];
    const unsigned step = THREADS_IN_ALL, me = THREAD_X;
    double u = 0.0, v = 0.0, w = 0.0, y = 0.0;
    unsigned i = X;
    for (; i + 3 * step < n; i += 4 * step) {
        u += x[i];
        v += x[i + step];
        w += x[i + 2 * step];
        y += x[i + 3 * step];
    }
    for (; i < n; i += step) u += x[i];
    shared[me] = (u + v) + (w + y);
    BARRIER;
    for (unsigned d = 128; d > 0; d /= 2) {
        if (me < d) shared[me] += shared[me + d];
        BARRIER;
    }
    if (me == 0) parts[BLOCK_X] = shared[0];
}
"""
SUM_BLOCK, SUM_GROUPS_PER_UNIT = 256, (2, 4, 8, 16)

DEVICE_TEXT = FLAT + STENCIL + TRANSPOSE + SUM


def device_text(dialect: str) -> str:
    """All kernels for a device; `dialect` is "cuda" or "opencl"."""
    return DIALECTS[dialect] + CHECKS + DEVICE_TEXT


@dataclass(frozen=True)
class Variant:
    """A launch of a kernel on a device.

    Attributes
    ----------
    name : str
        What the record calls it.
    kernel : str
    items, block : tuple of three ints
        Threads that are needed, and those of a block. The grid is rounded up.
    integers : tuple of int
        What follows the arrays.
    """

    name: str
    kernel: str
    items: Sizes3
    block: Sizes3
    integers: tuple[int, ...]


def _block(text: str) -> Sizes3:
    x, y, z = [*map(int, text.split("x")), 1][:3]
    return x, y, z


BLOCKS = {
    2: "32x4 32x8 64x2 64x4 64x8 128x1 128x2 128x4 256x1".split(),
    3: "32x4x1 32x4x2 64x2x1 64x2x2 64x4x1 32x2x2 32x8x1 128x2x1 128x1x2 64x1x2".split(),
    4: "32x4x1 32x4x2 32x2x4 64x2x2 96x1x1 96x2x1 96x2x2 32x8x1".split(),
}
PACKED_BLOCKS = "128x1x1 256x1x1 512x1x1".split()
TRANSPOSE_BLOCKS = "32x4 32x8 64x4 16x8 16x16 8x32 4x64 32x32".split()


def variants(case: Case) -> list[Variant]:
    """All that a person would try for a case on a device; none for a sum."""
    if case.group == "stencil":
        return _stencils(case)
    if case.group == "transpose":
        return _transposes(case.shape[0])
    if case.group == "sum":
        return []
    n = case.elements
    return [Variant("", f"{case.operation}_flat", (n, 1, 1), (BLOCK, 1, 1), (n,))]


def _stencils(case: Case) -> list[Variant]:
    found = []
    for first in (1, 0):
        m = [n - 2 * first for n in case.extents]
        start = f"from_{first}"
        note = "" if first else ", from the rim"
        kernel, items = f"stencil{case.rank}_{start}", (m[0], m[1], 1 if case.rank == 2 else m[2])
        if case.rank == 4:
            kernel, items = f"stencil4_slow_packed_{start}", (m[0], m[1], m[2] * m[3])
            packed = (m[0] * m[1], m[2], m[3])
            found += [
                Variant(
                    f"{text} packed{note}", f"stencil4_fast_packed_{start}", packed, _block(text),
                    case.extents,
                )
                for text in PACKED_BLOCKS
            ]  # fmt: skip
        found += [
            Variant(text + note, kernel, items, _block(text), case.extents)
            for text in BLOCKS[case.rank]
        ]
    return found


def _transposes(n: int) -> list[Variant]:
    found = [
        Variant(f"{text}, rows {what}", f"transpose_rows_{what}", (n, n, 1), _block(text), (n,))
        for what in ("stored", "loaded")
        for text in TRANSPOSE_BLOCKS
    ]
    tiles = -(-n // 32)
    return [
        *found,
        Variant(
            "32x32 through shared memory", "transpose_through_tile", (tiles * 32, tiles * 8, 1),
            (32, 8, 1), (n,),
        ),
    ]  # fmt: skip


# -- C with OpenMP ---------------------------------------------------------------------------------


def c_functions(case: Case, threads: int) -> list[tuple[str, Function]]:
    """Loops over a case in the order of memory, for each collapse clause worth trying.

    The first array of each is the output; a sum returns its value.
    """
    rank, layout = case.rank, case.layout
    order, at = loop_order(rank, layout), contiguous_index(rank, layout)
    extents = tuple(f"n{d}" for d in range(rank))
    team = f"num_threads({threads})"
    if case.group == "sum":
        found = [
            (f"{pragma} reduction", nest(order, f"result += x[{at}];", f"{pragma} {team} {SUMS}"))
            for pragma in collapses(rank)
        ]
        length = " * ".join(extents)
        loop = f"for (long p = 0; p < {length}; ++p) result += x[p];\n"
        found.append(("flat, simd", f"#pragma omp parallel for simd {team} {SUMS}\n{loop}"))
        arrays: tuple[str, ...] = ("x",)
    else:
        statement = _c_statement(case, at)
        found = [
            (pragma, nest(order, statement, f"{pragma} {team}", case.border))
            for pragma in collapses(rank)
        ]
        arrays = ("c", *"ab"[: case.inputs])
    return [
        (text or "no clause", Function(f"loops_{n}", arrays, extents, body))
        for n, (text, body) in enumerate(found)
    ]


SUMS = "reduction(+:result)"


def _c_statement(case: Case, at: str) -> str:
    rank, layout = case.rank, case.layout
    if case.operation in STREAM:
        return f"c[{at}] = {_VALUES[case.operation].replace('[i]', f'[{at}]')};"
    if case.group == "update":
        return f"c[{at}] += 2.0 * a[{at}];"
    if case.group == "transpose":
        other = contiguous_index(rank, "right" if layout == "left" else "left")
        return f"c[{at}] = a[{other}];"  # the array is square
    around = [{d: by} for d in range(rank) for by in (1, -1)]
    terms = [f"a[{contiguous_index(rank, layout, shift)}]" for shift in ({}, *around)]
    return f"c[{at}] = {FACTORS[rank]!r} * ({' + '.join(terms)});"
