"""OpenCL C 1.2 as a dialect of the C family, and workarounds for NVIDIA's compiler."""

from __future__ import annotations

import re
from dataclasses import replace

from .dialect import (
    CLANG_LOOP_IN_ORDER,
    MATH,
    Dialect,
    Float16Bits,
    Heads,
    Lanes,
    Math,
    Memory,
    Pragmas,
    Reserved,
    Synchronization,
    Syntax,
    WorkItem,
    header,
)  # fmt: skip
from .ptx import BARRIER, FLOAT32_SUMS, KEPT, NAMED_BARRIER, ORDERED_SCAN, WORKAROUNDS

_KEYWORDS = frozenset(
    """auto break case char const continue default do double else enum extern float for goto if
    inline int long register restrict return short signed sizeof static struct switch typedef union
    unsigned void volatile while bool true false main half constant global local private kernel
    generic uniform pipe complex imaginary asm typeof size_t ptrdiff_t intptr_t uintptr_t image1d_t
    sampler_t event_t uchar ushort uint ulong quad
    select min max clamp mix step sign dot cross length distance normalize degrees radians
    smoothstep mad fma mad24 mul24 barrier printf popcount clz rotate upsample hadd rhadd ldexp
    frexp modf nan nextafter remainder remquo rsqrt sincos sinpi cospi tanpi exp10 maxmag minmag
    pown powr rootn tgamma lgamma_r ilogb logb fdim fract any all vload vstore prefetch as_double
    as_float as_long as_int linux unix NAN INFINITY HUGE_VAL NULL""".split()
) | frozenset(MATH.values())

# Work-item functions, atomics, conversions, vector types and variants of built-in functions by
# their prefix; a name in capitals may be a macro.
_FORM = re.compile(
    r"(get|atomic|atom|as|convert|native|half|read|write|async|wait|work|sub|cl|clk|cles|memory"
    r"|mem)_\w*|vload\w*|vstore\w*|image[0-9]d_\w*|[A-Z][A-Z0-9_]+"
    r"|(bool|u?char|u?short|u?int|u?long|half|float|double|quad)[0-9]+(x[0-9]+)?"
)

_ATOMICS: dict[tuple[str, str], str] = {}
for _type, _prefix in (("int32", "atomic"), ("uint32", "atomic"), ("int64", "atom"),
                       ("uint64", "atom")):  # fmt: skip
    for _op, _word in (("add", "add"), ("sub", "sub"), ("bitand", "and"), ("bitor", "or"),
                       ("bitxor", "xor"), ("min", "min"), ("max", "max"),
                       ("exchange", "xchg")):  # fmt: skip
        _ATOMICS[_op, _type] = f"{_prefix}_{_word}({{p}}, {{v}})"
    _ATOMICS["compare_exchange", _type] = f"{_prefix}_cmpxchg({{p}}, {{e}}, {{v}})"

OPENCL = Dialect(
    name="opencl",
    types={
        "bool": "bool", "int8": "char", "uint8": "uchar", "int16": "short", "uint16": "ushort",
        "int32": "int", "uint32": "uint", "int64": "long", "uint64": "ulong", "float16": "ushort",
        "float32": "float", "float64": "double",
    },
    suffixes={"int64": "L", "uint64": "UL", "uint32": "U"},
    bits={
        "float64": "as_double({}UL)", "float32": "as_float({}U)", "float16": "((ushort){}U)",
        "from float64": "as_ulong({})", "from float32": "as_uint({})",
        "to float64": "as_double({})", "to float32": "as_float({})",
        "from float16": "({})", "to float16": "({})",
    },
    float16=Float16Bits("_es_half_value({})", "_es_half_nearest({})", "_es_half_nearest_once({})"),
    heads=Heads(header("opencl.h"), header("opencl_half.h")),
    syntax=Syntax(function="static inline", kernel="__kernel void", restrict="restrict"),
    memory=Memory(
        device="__global ",
        group="__local ",
        group_variable="__local {type} {name}{extents};",
        widest_type="ulong2",
        vectors={4: "ushort2", 8: "uint2", 16: "uint4", 32: "uint8", 64: "uint16"},
        byte_vector="uchar{count}",
        whole_complex=True,
    ),
    item=WorkItem(
        local_id="(long)get_local_id(0)",
        group_id="(long)get_group_id(0)",
        group_size="(long)get_local_size(0)",
        groups="(long)get_num_groups(0)",
        item_id="(long)get_global_id(0)",
        narrow_item_id="(uint)get_global_id(0)",
        local_id_of="(uint)get_local_id({n})",
        group_id_of="(uint)get_group_id({n})",
        group_size_of="(uint)get_local_size({n})",
        groups_of="(uint)get_num_groups({n})",
    ),
    sync=Synchronization(
        barrier="barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);",
        fence="mem_fence(CLK_GLOBAL_MEM_FENCE);",
    ),
    math=Math(
        MATH, "{}", mul_hi="mul_hi({a}, {b})",
        popcount={32: "popcount((uint)({}))", 64: "popcount((ulong)({}))"},
        leading_zeros={32: "clz((uint)({}))", 64: "clz((ulong)({}))"},
    ),
    atomics=_ATOMICS,
    pragmas=Pragmas(
        no_contraction="#pragma OPENCL FP_CONTRACT OFF\n",
        no_contraction_here="#pragma OPENCL FP_CONTRACT OFF",
        loop_in_order=CLANG_LOOP_IN_ORDER,
    ),
    reserved=Reserved(_KEYWORDS, _FORM),
)  # fmt: skip

# OpenCL C 1.2 has no device-wide fence, and NVIDIA's compiler emits one for the group for
# mem_fence; inline assembly emits the right instruction. As there are warps on all of NVIDIA's
# GPUs, and groups start in order and go on, so are shuffles and scans in one pass.
OPENCL_NVIDIA = replace(
    OPENCL,
    heads=Heads(
        OPENCL.heads.always,
        header("opencl_nvidia_half.h"),
        (
            ("_es_shuffle", header("opencl_nvidia.h")),
            ("_es_atomic_", header("opencl_nvidia_atomics.h")),
            ("_es_nontemporal_", header("opencl_nvidia_nontemporal.h")),
        ),
    ),
    memory=replace(
        OPENCL.memory,
        nontemporal_load="({type}){{as_{whole}(_es_nontemporal_load_{bytes}({p}))}}",
        nontemporal_store="_es_nontemporal_store({p}, as_uint4({v}.whole));",
        nontemporal_number="as_{type}(_es_nontemporal_load_{bytes}({p}))",
        nontemporal_least=2,  # bytes of what comes from assembly are taken out in more steps
    ),
    atomics={
        **OPENCL.atomics,
        **FLOAT32_SUMS,
        ("add", "float64"): "_es_atomic_double_add({p}, (double)({v}))",
        ("sub", "float64"): "_es_atomic_double_add({p}, -(double)({v}))",
        ("group add", "float64"): "_es_atomic_group_double_add({p}, (double)({v}))",
        ("group sub", "float64"): "_es_atomic_group_double_add({p}, -(double)({v}))",
    },
    sync=replace(
        OPENCL.sync,
        fence='asm volatile("membar.gl;" : : : "memory");',
        fence_acq_rel='asm volatile("fence.acq_rel.gpu;" : : : "memory");',
    ),
    lanes=Lanes(
        32,
        own="((int)get_local_id(0) & 31)",
        shuffle="_es_shuffle({mask}, {value}, {source})",
        ballot="_es_shuffle_ballot((uint){mask}, {test})",
        first="((int)popcount((({bits}) & -({bits})) - 1))",
        sync='asm volatile("bar.warp.sync %0;" : : "r"((uint)({mask})) : "memory");',
        barrier=NAMED_BARRIER,
    ),
    scan=ORDERED_SCAN,
    pragmas=replace(
        OPENCL.pragmas,
        barrier=BARRIER,
        kept=KEPT,
        rolled="#pragma unroll 1",
        unrolled="#pragma unroll",
        overlapped="#pragma unroll 4",
    ),
    workarounds=WORKAROUNDS,
)
