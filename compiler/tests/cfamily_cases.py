"""Kernels whose generated source of the C family is tested, and how to make that text."""

from __future__ import annotations

import math

import numpy as np

import execspace as es
from execspace import LaunchSpec, ScalarType, ViewType
from execspace.contract.argtypes import SCALAR_TYPES
from execspace.contract.dtypes import name_of
from execspace.contract.launch_spec import policy_spec
from execspace.contract.tiles import TileTable
from execspace.reducers.base import as_reducer, reducer_captures
from execspace.views.view_keys import TRAITS
from execspace_compiler import lower_kernel
from execspace_compiler.codegen.cfamily.cuda import CUDA
from execspace_compiler.codegen.cfamily.device_kernel import DeviceKernel
from execspace_compiler.codegen.cfamily.hip import hip
from execspace_compiler.codegen.cfamily.opencl import OPENCL
from execspace_compiler.launch.device_code import device_code
from execspace_compiler.mapping.loops import index_order
from execspace_compiler.mapping.thread_blocks import blocks_of
from execspace_compiler.mapping.variant import Variant
from execspace_compiler.passes.contiguous import contiguous_body
from execspace_compiler.passes.packing import Packings, packings_of
from execspace_compiler.passes.private_sums import private_sums
from execspace_compiler.passes.scan_packing import scan_packings


def axpy(i, a, x, y):
    y[i] += a * x[i]


def stencil(i, j, k, A, B):
    A[i, j, k] = B[i - 1, j, k] + B[i, j + 1, k] - 6 * B[i, j, k - 1]


def heat(i, j, s, b, a):
    around = b[i - 1, j] + b[i + 1, j] + b[i, j - 1] + b[i, j + 1]
    a[i, j] = b[i, j] + s * (around - 4 * b[i, j])


def sums_by_key(i, keys, total, counts):
    es.atomic_add(total, keys[i], 0.5)
    es.atomic_sub(counts, (keys[i], 1), 1)


def clipped(i, j, a, b):
    x = b[i, j]
    a[i, j] = x
    if x > i:
        b[i, j] = 0


def scaled5(i, j, k, m, n, A):
    A[i, j, k, m, n] *= 2


def product3(i, j, k, A, B):
    return A[i, j, k] * B[i, j, k]


def total(i, x):
    return x[i]


def located(i, x):
    return x[i], i


def several(i, x, n):
    return x[i], x[i], n[i]


class Mean(es.Reducer):
    """Sum and count, divided at the end."""

    identity = (0.0, 0)

    def join(a, b):
        return a[0] + b[0], a[1] + b[1]

    def final(s):
        return s[0] / s[1]


def counted(i, x):
    return x[i], 1


def powers(i, a, x):
    for k in range(3):
        a[k] += x[i] ** k


def exclusive(i, prefix, final, x, y):
    if final:
        y[i] = prefix
    return x[i]


def inclusive(i, prefix, final, x, y):
    if final:
        y[i] = prefix + x[i]
    return x[i]


def prefixes(i, prefix, final, x, y):
    if final:
        y[i] = prefix[0] - prefix[1]
    return x[i], 1


def atomics(i, n, f, b, z, w, m):
    es.atomic_add(n, 0, 1)
    es.atomic_add(f, 0, 0.5)
    es.atomic_add(b, 0, 1)
    es.atomic_add(z, 0, 1j)
    es.atomic_add(w, 0, 1j)
    es.atomic_min(n, 1, 3)
    es.atomic_max(f, 1, 2.5)
    m[i] = es.atomic_fetch_max(m, i, 7)
    n[i] = es.atomic_mul_fetch(n, 2, 3)


def exchanges(i, n, f, h):
    old = es.atomic_exchange(n, 0, 2)
    es.atomic_store(n, 1, es.atomic_load(n, 2) + old)
    f[i] = es.atomic_compare_exchange(f, 0, 1.0, 2.0)
    h[i] = es.atomic_compare_exchange(h, 0, 1, 2)


def narrow_steps(i, f, h, b, s):
    f[i] = es.atomic_fetch_add(f, 0, 0.5)
    es.atomic_sub(f, 1, 0.25)
    es.atomic_max(f, 2, 2.5)
    es.atomic_add(h, 0, 1.5)
    h[i] = es.atomic_exchange(h, 1, 0.5)
    b[i] = es.atomic_exchange(b, 0, True)
    es.atomic_max(s, 0, 3)


def private_steps(i, z, f):
    own = es.local(2, es.complex64)
    z[i] = es.atomic_compare_exchange(own, 1, 0, 1j)
    sums = es.local(2)
    f[i] = es.atomic_compare_exchange(sums, 0, 0.0, 2.0) + es.atomic_fetch_add(sums, 0, 2.0)


def moved(i, p):
    p[i].x += p[i].cell.k * 2
    p[i].on = p[i].x > 1


def sorted_pair(i, x):
    t = es.local(2, es.float32)
    t[0], t[1] = x[i], x[i + 1]
    if t[0] > t[1]:
        t[0], t[1] = t[1], t[0]
    q = es.local(1, PARTICLE)
    q[0].x = t[0]
    x[i] = q[0].x


def waves(i, z, r):
    z[i] = np.exp(2j * z[i]) / z[i].conjugate()
    r[i] = abs(z[i])


def power(i, z):
    z[i] = z[i] ** (0.5 + 1j)


def checked(i, x):
    assert x[i] >= 0, "negative"
    es.printf('100%% of "x[%d]" is %g?\n', i, x[i])


def split(x):
    return x // 2, x % 2, -x


def taken_apart(i, n):
    half, rest, minus = split(n[i])
    n[i] = half - rest + minus


def odd_names(i, kernel, größe, M_PI, get_global_id, float4):  # noqa: PLC2401
    step = kernel[i] + M_PI
    select = as_double = step
    größe[i] = select + as_double
    get_global_id[i] = float4


def cpp_names(i, new, template, operator, this, threadIdx, dim3):
    __device__ = __global__ = template[i] * threadIdx
    delete, typename, warpSize = __device__ + 1, __global__ + 2, i % 32
    _half = atomicAdd = float2 = delete * typename
    for blockDim in range(warpSize):
        _half += operator[blockDim] + atomicAdd
    alignas, mutable, INT_MAX = virtual(_half), private(float2), dim3
    new[i] = explicit(alignas, mutable) + INT_MAX
    this[i] = namespace(new, i)


def virtual(x):
    auto = x + 1
    return auto


def private(export):
    return export * 2


def explicit(x, using):
    return x - using


def namespace(friend, i):
    return friend[i]


def all_of_halves(i, h, f, n, z):
    a, b = h[i], h[i + 1]
    h[i] = a // b + a % b + abs(a) + min(a, b) + max(a, b, 2) - (-a) + a**b
    h[i] += math.floor(a) + math.sqrt(b) + math.exp(a) + math.atan2(a, b) + np.rint(b)
    h[i] = np.where(a > b, a, b) if a and not b else np.fmax(a, 1.5)
    own = es.local(2, es.float16)
    own[0], own[1] = own[1], a
    n[i] = int(a) + (a == b) + np.isnan(a)
    f[i] = a * f[i] + own[0]
    z[i] = z[i] * a + complex(a, b)
    h[i] = np.float16(n[i]) + np.float16(f[i]) + z[i].real
    es.printf("%g\n", a)
    assert a >= b
    es.atomic_min(h, 0, -a)
    h[i] = es.atomic_compare_exchange(h, 2, a, b) + es.atomic_load(h, 3)


def halves(i, h, f):
    h[i] = h[i] * f[i] + 1.5


@es.function(fma=False)
def error(a, b, z):
    return a * b + a, z * z


def uncontracted(i, x, z):
    x[i], z[i] = error(x[i], x[i], z[i])


PARTICLE = np.dtype([("on", "?"), ("x", "f8"), ("cell", [("k", "i4"), ("c", "i1")])])


def once(i, x, z, n, y):
    y[i] = x[i] * z[i] + n[i]


def twice(i, x, y):
    x[i] = 2 * x[i] + y[i]


def typed(a):
    if not isinstance(a, str):
        return SCALAR_TYPES[a]
    name, _, rest = a.rstrip("]").partition("[")
    dims, *more = rest.split(",")
    traits = tuple(t for t in more if t in TRAITS)
    layout = next((t for t in more if t not in traits), "right")
    rank = int(dims)
    unit = None if layout == "stride" else rank - 1 if layout == "right" else 0
    dtype = name_of(PARTICLE) if name == "PARTICLE" else name
    return ViewType(dtype, rank, layout, unit, False, "host", (), traits)


# As a plugin for GPUs may have it; these texts do not depend on that of any.
GPU = TileTable(
    "gpu",
    {
        "stencil": {2: (64, 4), 3: (64, 4, 1)},
        "packed stencil": {2: (64, 4)},
        "transpose": {2: (8, 32)},
    },
    {"stencil": {2: (1, 2), 3: (1, 1, 2)}, "transpose": {2: (1, 2)}},
)
DIALECTS = {"opencl": OPENCL, "cuda": CUDA, "hip64": hip(64), "hip32": hip(32)}
ROOM = 48 * 1024  # bytes of memory of a group
GROUPS = {"opencl": 8, "cuda": 128, "hip": 128}  # on GPUs a number of warps


def text(
    kernel, *arguments, rank=1, pattern="for", reducer=None, tiled=False, flat=True, group=None,
    narrow=False, disjoint=False, small=False, scaled=False, blocks=False, items_per_thread=(),
    iterate="auto", outer="", mdrange=False, contiguous=False, packed=False, private=False,
    dialect=OPENCL, **options,
):  # fmt: skip
    """Text of a launch: a pure function of the kernel, the types and the mapping."""
    group = group or GROUPS[dialect.name]
    given = None if reducer is None else as_reducer(reducer)
    types: tuple[ViewType | ScalarType, ...] = tuple(map(typed, arguments))
    policy = policy_spec(
        "range" if rank == 1 and not mdrange else "mdrange",
        rank,
        iterate,
        tiled,
        True,
        items_per_thread,
        outer=outer,
    )
    captures = () if given is None else reducer_captures(given)
    spec = LaunchSpec(pattern, policy, types, reducer=given, captures=captures)
    lowered = lower_kernel(es.Kernel(kernel, **options), spec)
    found = blocks_of(lowered, GPU) if blocks else None
    assert (found is not None) == blocks
    body = contiguous_body(lowered) if contiguous else None
    packed = packed and (pattern != "scan" or dialect.scans_in_one_pass)  # OpenCL has two passes
    fastest = index_order(lowered.body, spec)[-1]
    packings = packings_of(lowered, fastest, body) if packed and not blocks else None
    if packed and pattern == "scan":
        packings = scan_packings(lowered)
    if found is not None and found.packing is not None:
        packings = Packings(found.packing)
    assert (packings is not None) == packed
    sums = private_sums(lowered, ROOM) if private else ()
    assert bool(sums) == private
    chosen = DeviceKernel(
        lowered, dialect, flat, found, body, packings, private=sums, scaled=scaled
    )
    variant = Variant(narrow, disjoint, small, contiguous, packed, group, private)
    return device_code(chosen, variant)


F3, L3 = ("float64[3]",) * 2, ("float64[3,left]",) * 2
REDUCE = {"pattern": "reduce"}
CHUNKED = {"flat": False, "group": 1}
CASES = {
    "axpy.flat": (axpy, (float, "float32[1]", "float32[1]"), {}),
    "axpy.chunked": (axpy, (float, "float32[1]", "float32[1]"), CHUNKED),
    "axpy.strided": (axpy, (float, "float32[1,stride]", "float32[1]"), {"fma": False}),
    "axpy.packed": (
        axpy, (float, "float32[1]", "float32[1]"), {"packed": True, "narrow": True},
    ),
    "clipped.packed": (
        clipped, ("int8[2]", "int8[2]"),
        {"rank": 2, "packed": True, "narrow": True, "contiguous": True},
    ),
    "clipped.rows.packed": (
        clipped, ("int8[2]", "int8[2]"), {"rank": 2, "packed": True, "narrow": True},
    ),
    "max.packed": (
        total, ("int16[1]",), {"packed": True, "narrow": True, **REDUCE, "reducer": es.Max},
    ),
    "stencil.flat": (stencil, F3, {"rank": 3}),
    "stencil.left.narrow": (stencil, L3, {"rank": 3, "narrow": True}),
    "stencil.left.scaled": (
        stencil, L3, {"rank": 3, "narrow": True, "small": True, "scaled": True},
    ),
    "stencil.blocks": (stencil, F3, {"rank": 3, "narrow": True, "small": True, "blocks": True}),
    "stencil.blocks.wide": (stencil, L3, {"rank": 3, "blocks": True}),
    "stencil.blocks.tiled": (
        stencil, F3, {"rank": 3, "narrow": True, "tiled": True, "blocks": True},
    ),
    "heat.blocks.packed": (
        heat, (np.float32, "float32[2]", "float32[2]"),
        {"rank": 2, "narrow": True, "small": True, "blocks": True, "packed": True,
         "disjoint": True},
    ),
    "sums.private": (
        sums_by_key, ("int32[1]", "float32[1]", "int32[2]"), {"narrow": True, "private": True},
    ),
    "scaled.blocks": (
        scaled5, ("float64[5]",),
        {"rank": 5, "narrow": True, "items_per_thread": (2,), "blocks": True},
    ),
    "stencil.linear": (
        stencil, F3, {"rank": 3, "narrow": True, "small": True, "scaled": True, "contiguous": True},
    ),
    "sum.linear": (
        product3, L3,
        {**REDUCE, "reducer": es.Sum, "rank": 3, "narrow": True, "small": True, "scaled": True,
         "contiguous": True},
    ),
    "once": (
        once,
        ("float32[1,nontemporal]", "complex128[1,nontemporal]", "int64[1,nontemporal]",
         "complex128[1]"),
        {"disjoint": True, "narrow": True},
    ),
    "once.changed": (twice, ("float32[1,nontemporal]",) * 2, {"disjoint": True, "narrow": True}),
    "records.small": (moved, ("PARTICLE[1,stride]",), {"small": True}),
    "stencil.left.chunked": (stencil, L3, {"rank": 3, **CHUNKED}),
    "stencil.tiled": (stencil, F3, {"rank": 3, "tiled": True, "narrow": True}),
    "stencil.tiled.chunked": (stencil, F3, {"rank": 3, "tiled": True, **CHUNKED}),
    "stencil.disjoint": (stencil, F3, {"rank": 3, "disjoint": True, **CHUNKED}),
    "stencil.disjoint.flat": (stencil, L3, {"rank": 3, "disjoint": True, "narrow": True}),
    "sum.flat": (total, ("float32[1]",), {**REDUCE, "reducer": es.Sum}),
    "sum.chunked": (total, ("int32[1]",), {**REDUCE, "reducer": es.Sum, **CHUNKED}),
    "sum.compensated": (
        total, ("float64[1]",), {**REDUCE, "reducer": es.Sum(accuracy="high")},
    ),
    "sum.complex": (total, ("complex64[1]",), {**REDUCE, "reducer": es.Sum}),
    "max.float16": (total, ("float16[1]",), {**REDUCE, "reducer": es.Max}),
    "minloc": (located, ("float64[1]",), {**REDUCE, "reducer": es.MinLoc}),
    "several": (
        several, ("float64[1]", "bool[1]"), {**REDUCE, "reducer": (es.Sum, es.Max, es.LAnd)},
    ),
    "custom": (counted, ("float64[1]",), {**REDUCE, "reducer": Mean}),
    "array": (powers, ("float64[1]",), {**REDUCE, "reducer": es.Sum(shape=3)}),
    "scan.flat": (exclusive, ("int64[1]",) * 2, {"pattern": "scan", "reducer": es.Sum}),
    "scan.given": (
        inclusive, ("float32[1]",) * 2,
        {"pattern": "scan", "reducer": es.Sum, "disjoint": True, "narrow": True},
    ),
    "scan.packed": (
        inclusive, ("int8[1]",) * 2,
        {"pattern": "scan", "reducer": es.Sum, "disjoint": True, "narrow": True, "packed": True},
    ),
    "scan.packed.plain": (
        exclusive, ("float32[1]",) * 2,
        {"pattern": "scan", "reducer": es.Sum, "narrow": True, "packed": True},
    ),
    "scan.several": (
        prefixes, ("float64[1]",) * 2, {"pattern": "scan", "reducer": (es.Sum, es.Sum)},
    ),
    "scan.chunked": (
        exclusive, ("int64[1]",) * 2, {"pattern": "scan", "reducer": es.Sum, **CHUNKED},
    ),
    "atomics": (
        atomics,
        ("int32[1]", "float64[1]", "int8[1]", "complex64[1]", "complex128[1]", "uint64[1]"), {},
    ),
    "exchanges": (exchanges, ("int64[1]", "float32[1]", "uint16[1]"), {}),
    "narrow_steps": (narrow_steps, ("float32[1]", "float16[1]", "bool[1]", "int16[1]"), {}),
    "private_steps": (private_steps, ("complex64[1]", "float64[1]"), {}),
    "records": (moved, ("PARTICLE[1]",), {}),
    "local": (sorted_pair, ("float64[1]",), {}),
    "complex": (waves, ("complex128[1]", "float64[1]"), {}),
    "complex.pow": (power, ("complex64[1]",), {}),
    "checked": (checked, ("float64[1]",), {}),
    "tuples": (taken_apart, ("int32[1]",), {}),
    "names": (
        odd_names, ("float64[1]", "float64[1]", float, "float64[1]", float), {},
    ),
    "names.cpp": (cpp_names, (*("float64[1]",) * 4, float, float), {}),
    "float16": (halves, ("float16[1]", "float16[1]"), {}),
    "float16.all": (
        all_of_halves, ("float16[1]", "float32[1]", "int32[1]", "complex64[1]"), {},
    ),
    "uncontracted": (uncontracted, ("float64[1]", "complex128[1]"), {}),
}  # fmt: skip

# A GPU has a work-item for each index.
FLAT = [case for case, (_, _, options) in CASES.items() if options.get("flat", True)]


def without_heads(source, dialect):
    """Generated C++ for GPUs without its head, whose parts have files of their own: their names."""
    if dialect.name == "opencl":
        return source
    heads = dialect.heads
    for name, lines in [*heads.parts, ("float16", heads.float16)]:
        source = source.replace(lines, f"// {name}\n", 1)
    return source.removeprefix(heads.always)
