"""What tells the dialects of the C family apart: tables, no code.

A dialect names types, qualifiers, work-item functions, barriers, fences, atomic steps and
mathematical functions. All that is made of these is printed the same for every dialect.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace


@dataclass(frozen=True)
class Dialect:
    """A language of the C family.

    Attributes
    ----------
    name : str
    types : mapping
        NumPy dtype name -> type; booleans in memory are bytes ("uint8").
    suffixes : mapping
        NumPy dtype name -> suffix of integer literals.
    head : str
        First lines of every file.
    no_contraction, no_contraction_here : str
        Forbid multiply-add for a whole file, and at the begin of a function's body.
    function, kernel : str
        Before the type of a function, and before the name of a kernel: a form of `group`, the
        work-items of a group.
    outer, group : str
        Address space of pointers to memory of the device, and of arrays of a work-group.
    group_variable : str
        Declaration of a variable of a work-group, aligned to 16 bytes, where `group` does not make
        one: a form of `type`, `name` and `extents`, such as "[8]".
    restrict, constant : str
    local_id, group_id, group_size, groups, item_id : str
        Expressions for the work-item's place.
    group_place, local_place, group_extent, groups_extent : str
        The place of the group in the grid and of the work-item in the group, and the extents of
        both, along an axis: forms of `axis`, a letter, and `n`, its number. For walks in blocks.
    barrier : str
        Statement: all work-items of the group, memory of the group and of the device.
    fence : str
        Statement: what was stored before is seen by others before what is stored after.
    math : mapping
        Operation of IR -> function of float64; the one of float32 is `math32` of it.
    math32 : str
        Form of a function's name for float32: "{}" or "{}f".
    bits : mapping
        Type -> expression form for an integer's bits as a float, and back.
    atomics : mapping
        (operation, type) -> form of an expression of `p` and `v` that gives the old value.
        "compare_exchange" takes `e` and `v`. Of other steps loops are made.
    printf_long : str
        Length modifier of 64-bit integers in printf.
    vector_join : str
        Line before a loop that only joins a float sum or product, which lets the compiler join in
        another order: form of `sign`, `name` of the sum, and `own`, the loop's variable.
    loop_in_order : str
        Before a loop whose rounds run one after the other (analysis/carried.py), for compilers
        that vectorise some of these.
    high_product : str
        The upper half of the product of two uint32 `a` and `b`: a form.
    hidden : mapping
        NumPy dtype name -> statement after which the compiler knows nothing of the variable `x`,
        of which it would make what is wrong. Empty where the language's rules hold.
    sign_bits : mapping
        "abs" and "copysign" of float32 `x` (and `y`) as statements, where the language's function
        must not be used.
    negative : str
        Statement that makes an int32 `x` its negative, which wraps, where `-x` must not be used.
    addresses : bool
        Pointers are addresses, so kernels get that of a View's first element. Otherwise they get
        the buffer that it lies in, and the place in it.
    handover : str
        Statement: as `fence`, for one who tells and one who is told; `fence` if empty.
    count : str
        Expression: adds 1 to the int32 at `p` and gives what it was, in order with all that its
        work-item does before and after; a form. Fences around an atomic step if empty.
    tell, told : str
        Statement that stores the uint64 `v` at `p` after all that was stored before, and expression
        that loads it before all that is loaded after; forms. Fences beside them if empty.
    lane_barrier : str
        Statement: the first 32 work-items of a group wait for each other, memory of the group.
        Given only where a group that has begun goes on, whatever other groups wait for.
    scan_memory : int
        Bytes of a group's memory that a scan in one pass may take: so few that several groups fit
        into what the hardware has for all that it runs at once.
    in_order : bool
        Groups begin in the order of their numbers.
    pair_load, pair_store : str
        Statements: read or write two 64-bit integers `a` and `b` at `p` at once; forms. Empty where
        others might see one without the other.
    float16_head, printf_head : str
        More of these lines for files that compute in float16, and for those that print.
    group_pointer : str
        Address space of pointers to memory of a work-group.
    dynamic_group : str
        Declaration of `_group_memory`, bytes of the group's memory whose number the launch gives;
        empty where they come as a parameter of the kernel, a pointer to a `group_word`.
    group_word : str
        The type that wants the largest alignment.
    lanes : int
        Neighbouring work-items that can exchange values directly; 1 where none can.
    lane : str
        Expression: the number of a work-item among these.
    lane_value : str
        Expression: what `value` is for the lane `source`, when all of the `mask` (a bit for each)
        ask at once; a form. Of any type, with `team_head`.
    lane_sync : str
        Statement: lanes of a `mask` wait for each other, memory of the group and of the device; a
        form.
    part_barrier : str
        Statement: `count` work-items of a group, a multiple of `lanes`, wait for each other at
        their barrier number `n`, of 1 to 15; a form. Empty where there is none.
    team_head : str
        First lines of files with teams.
    reserved : frozenset of str
        Names that no variable can have: those of the language and of its library.
    reserved_form : re.Pattern
        Whole families of such names, macros among them.
    """

    name: str
    types: Mapping[str, str]
    suffixes: Mapping[str, str]
    head: str
    no_contraction: str
    no_contraction_here: str
    function: str
    kernel: str
    outer: str
    group: str
    restrict: str
    constant: str
    local_id: str
    group_id: str
    group_size: str
    groups: str
    item_id: str
    barrier: str
    fence: str
    math: Mapping[str, str]
    math32: str
    bits: Mapping[str, str]
    atomics: Mapping[tuple[str, str], str] = field(default_factory=dict)
    printf_long: str = "l"
    group_place: str = ""
    local_place: str = ""
    group_extent: str = ""
    groups_extent: str = ""
    vector_join: str = ""
    loop_in_order: str = ""
    high_product: str = ""
    hidden: Mapping[str, str] = field(default_factory=dict)
    sign_bits: Mapping[str, str] = field(default_factory=dict)
    negative: str = ""
    addresses: bool = False
    group_variable: str = ""
    handover: str = ""
    count: str = ""
    tell: str = ""
    told: str = ""
    lane_barrier: str = ""
    scan_memory: int = 40 * 1024
    in_order: bool = False
    pair_load: str = ""
    pair_store: str = ""
    float16_head: str = ""
    printf_head: str = ""
    group_pointer: str = ""
    dynamic_group: str = ""
    group_word: str = ""
    lanes: int = 1
    lane: str = ""
    lane_value: str = ""
    lane_sync: str = ""
    part_barrier: str = ""
    team_head: str = ""
    reserved: frozenset[str] = frozenset()
    reserved_form: re.Pattern[str] = re.compile("")


MATH = {
    name: name
    for name in (
        "sqrt", "cbrt", "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sin", "cos",
        "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "erf",
        "erfc", "lgamma", "floor", "ceil", "trunc", "rint", "atan2", "hypot", "copysign", "fmod",
        "pow", "isnan", "isinf", "isfinite",
    )
} | {"gamma": "tgamma", "abs": "fabs"}  # fmt: skip

_C_WORDS = frozenset(
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
# how they begin; a name in capitals may be a macro.
_CL_FORM = re.compile(
    r"(get|atomic|atom|as|convert|native|half|read|write|async|wait|work|sub|cl|clk|cles|memory"
    r"|mem)_\w*|vload\w*|vstore\w*|image[0-9]d_\w*|[A-Z][A-Z0-9_]+"
    r"|(bool|u?char|u?short|u?int|u?long|half|float|double|quad)[0-9]+(x[0-9]+)?"
)

_CL_ATOMICS: dict[tuple[str, str], str] = {}
for _type, _prefix in (("int32", "atomic"), ("uint32", "atomic"), ("int64", "atom"),
                       ("uint64", "atom")):  # fmt: skip
    for _op, _word in (("add", "add"), ("sub", "sub"), ("bitand", "and"), ("bitor", "or"),
                       ("bitxor", "xor"), ("min", "min"), ("max", "max"),
                       ("exchange", "xchg")):  # fmt: skip
        _CL_ATOMICS[_op, _type] = f"{_prefix}_{_word}({{p}}, {{v}})"
    _CL_ATOMICS["compare_exchange", _type] = f"{_prefix}_cmpxchg({{p}}, {{e}}, {{v}})"

CLANG_LOOP_IN_ORDER = "#pragma clang loop vectorize(disable) interleave(disable)"

OPENCL = Dialect(
    name="opencl",
    types={
        "bool": "bool", "int8": "char", "uint8": "uchar", "int16": "short", "uint16": "ushort",
        "int32": "int", "uint32": "uint", "int64": "long", "uint64": "ulong", "float16": "half",
        "float32": "float", "float64": "double",
    },
    suffixes={"int64": "L", "uint64": "UL", "uint32": "U"},
    head="#pragma OPENCL EXTENSION cl_khr_fp64 : enable\n"
    "#pragma OPENCL EXTENSION cl_khr_int64_base_atomics : enable\n"
    "#pragma OPENCL EXTENSION cl_khr_int64_extended_atomics : enable\n",
    no_contraction="#pragma OPENCL FP_CONTRACT OFF\n",
    no_contraction_here="#pragma OPENCL FP_CONTRACT OFF",
    function="static inline",
    kernel="__kernel void",
    outer="__global ",
    group="__local ",
    group_pointer="__local ",
    group_word="ulong2",
    restrict="restrict",
    constant="const",
    local_id="(long)get_local_id(0)",
    group_id="(long)get_group_id(0)",
    group_size="(long)get_local_size(0)",
    groups="(long)get_num_groups(0)",
    item_id="(long)get_global_id(0)",
    group_place="(uint)get_group_id({n})",
    local_place="(uint)get_local_id({n})",
    group_extent="(uint)get_local_size({n})",
    groups_extent="(uint)get_num_groups({n})",
    barrier="barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);",
    fence="mem_fence(CLK_GLOBAL_MEM_FENCE);",
    math=MATH,
    math32="{}",
    bits={
        "float64": "as_double({}UL)", "float32": "as_float({}U)", "float16": "as_half((ushort){}U)",
        "from float64": "as_ulong({})", "from float32": "as_uint({})",
        "to float64": "as_double({})", "to float32": "as_float({})",
        "from float16": "as_ushort({})", "to float16": "as_half({})",
    },
    atomics=_CL_ATOMICS,
    reserved=_C_WORDS,
    reserved_form=_CL_FORM,
    float16_head="#pragma OPENCL EXTENSION cl_khr_fp16 : enable\n",
    loop_in_order=CLANG_LOOP_IN_ORDER,
    high_product="mul_hi({a}, {b})",
)  # fmt: skip

# What NVIDIA's compilers get wrong, seen with CUDA 13.0 in NVRTC, nvcc and OpenCL. Widened, the
# int16 -(-32768) is 32768: ptxas drops the conversion behind neg.s16 and abs.s16. `x < 0 ? -x : x`
# is taken to be no negative number, although -x wraps. And `x < 0.0 ? x : 0.0` becomes a minimum,
# which is -0.0 for -0.0. `max(x, c) == c` of integers below 32 bits is answered wrongly where only
# ptxas sees that c is a constant: they are compared with 32 bits, so that it sees no maximum. Such
# numbers go through assembly that does nothing.
PTX_HIDDEN = {
    name: f'asm("" : "+{register}"(x));'
    for name, register in (("int32", "r"), ("int64", "l"), ("float32", "f"), ("float64", "d"))
}

# And ptxas takes |x| >= 0 for true, also if x is a NaN. It does not know what these bits are.
PTX_SIGN_BITS = {
    "abs": 'asm("and.b32 %0, %0, 0x7fffffff;" : "+f"(x));',
    "copysign": 'asm("{ .reg .b32 s; and.b32 s, %1, 0x80000000; and.b32 %0, %0, 0x7fffffff; '
    'or.b32 %0, %0, s; }" : "+f"(x) : "f"(y));',
}

# And for sm_90 it makes one instruction of min(min(a, -b), c), which has no negation, and leaves
# that out. This it does not know to be one, and it costs no more.
PTX_NEGATIVE = 'asm("not.b32 %0, %0;\\n\\tadd.u32 %0, %0, 1;" : "+r"(x));'

# OpenCL C 1.2 has no fence for a whole device, and NVIDIA's compiler makes one for the group of
# mem_fence; its inline assembly reaches the instruction.
OPENCL_NVIDIA = replace(
    OPENCL,
    fence='asm volatile("membar.gl;" : : : "memory");',
    hidden=PTX_HIDDEN,
    sign_bits=PTX_SIGN_BITS,
    negative=PTX_NEGATIVE,
)
