"""CUDA C++ as a dialect of the C family: a table, and the type of float16.

The text includes no header: what the compiler has built in suffices, and headers are most of the
time that a small text takes to compile. float16 is a class of ours for that reason.
"""

from __future__ import annotations

import re

from .dialect import MATH, PTX_HIDDEN, PTX_NEGATIVE, PTX_SIGN_BITS, Dialect
from .halves import half_class

_TYPES = {
    "bool": "bool", "int8": "signed char", "uint8": "unsigned char", "int16": "short",
    "uint16": "unsigned short", "int32": "int", "uint32": "unsigned int", "int64": "long long",
    "uint64": "unsigned long long", "float16": "_half", "float32": "float", "float64": "double",
}  # fmt: skip

_HALF = "#define _ES_METHOD __device__ __forceinline__" + half_class(
    'asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(x));',
    'asm("cvt.rn.f16.f64 %0, %1;" : "=h"(bits) : "d"((double)x));',
    'asm("cvt.f32.f16 %0, %1;" : "=f"(x) : "h"(bits));',
)

# A value of any type is exchanged in words of 32 bits.
_TEAM = """
template <typename T>
static __device__ __forceinline__ T _lane_value(unsigned int mask, T value, int source) {
    constexpr int n = (sizeof(T) + 3) / 4;
    unsigned int words[n] = {0};
    memcpy(words, &value, sizeof(T));
    #pragma unroll
    for (int k = 0; k < n; ++k) words[k] = __shfl_sync(mask, words[k], source);
    memcpy(&value, words, sizeof(T));
    return value;
}
"""

_WORDS = (
    frozenset(
        """alignas alignof and and_eq asm auto bitand bitor bool break case catch char char8_t
    char16_t
    char32_t class compl concept const consteval constexpr constinit const_cast continue co_await
    co_return co_yield decltype default delete do double dynamic_cast else enum explicit export
    extern false float for friend goto if inline int long mutable namespace new noexcept not not_eq
    nullptr operator or or_eq private protected public register reinterpret_cast requires restrict
    return short signed sizeof static static_assert static_cast struct switch template this
    thread_local throw true try typedef typeid typename union unsigned using virtual void volatile
    wchar_t while xor xor_eq main printf assert linux unix size_t ptrdiff_t
    threadIdx blockIdx blockDim gridDim warpSize dim3 isnan isinf isfinite""".split()
    )
    | frozenset(MATH.values())
    | frozenset(f"{name}f" for name in MATH.values())
)

# Intrinsics and macros of the compiler, atomic functions and vector types.
_FORM = re.compile(
    r"__\w*|_[A-Z]\w*|[A-Z][A-Z0-9_]+|(atomic|cuda|cu|nv|tex|surf)[A-Z]\w*"
    r"|(u?char|u?short|u?int|u?long|u?longlong|float|double)[1-4]"
)

_ATOMICS: dict[tuple[str, str], str] = {}
for _type in ("int32", "uint32", "int64", "uint64"):
    _own = _TYPES[_type]
    _word = _TYPES["u" + _type.removeprefix("u")]
    for _op, _name in (("add", "Add"), ("bitand", "And"), ("bitor", "Or"), ("bitxor", "Xor"),
                       ("exchange", "Exch")):  # fmt: skip
        _ATOMICS[_op, _type] = f"({_own})atomic{_name}(({_word} *)({{p}}), ({_word})({{v}}))"
    _ATOMICS["sub", _type] = f"({_own})atomicAdd(({_word} *)({{p}}), -({_word})({{v}}))"
    for _op, _name in (("min", "Min"), ("max", "Max")):
        _ATOMICS[_op, _type] = f"atomic{_name}(({_own} *)({{p}}), ({_own})({{v}}))"
    _ATOMICS["compare_exchange", _type] = (
        f"({_own})atomicCAS(({_word} *)({{p}}), ({_word})({{e}}), ({_word})({{v}}))"
    )
# Of float32 the instruction flushes subnormal numbers to zero, so its steps are made of exchanges.
_ATOMICS["add", "float64"] = "atomicAdd((double *)({p}), (double)({v}))"
_ATOMICS["sub", "float64"] = "atomicAdd((double *)({p}), -(double)({v}))"
_ATOMICS["exchange", "float32"] = "atomicExch((float *)({p}), (float)({v}))"
_ATOMICS["exchange", "float64"] = (
    "__longlong_as_double((long long)atomicExch((unsigned long long *)({p}), "
    "(unsigned long long)__double_as_longlong({v})))"
)

CUDA = Dialect(
    name="cuda",
    types=_TYPES,
    suffixes={"int64": "LL", "uint64": "ULL", "uint32": "U"},
    head="",
    no_contraction="",  # an option of the compiler, for a whole text
    no_contraction_here="",
    function="static __device__ __forceinline__",
    kernel='extern "C" __global__ void __launch_bounds__({group})',
    outer="",
    group="__shared__ ",
    restrict="__restrict__",
    constant="const",
    local_id="(long long)threadIdx.x",
    group_id="(long long)blockIdx.x",
    group_size="(long long)blockDim.x",
    groups="(long long)gridDim.x",
    item_id="((long long)blockIdx.x * blockDim.x + threadIdx.x)",
    group_place="blockIdx.{axis}",
    local_place="threadIdx.{axis}",
    group_extent="blockDim.{axis}",
    groups_extent="gridDim.{axis}",
    barrier="__syncthreads();",
    fence="__threadfence();",
    math=MATH,
    math32="{}f",
    bits={
        "float64": "__longlong_as_double({}LL)", "float32": "__uint_as_float({}U)",
        "float16": "_as_half((unsigned short){}U)",
        "from float64": "(unsigned long long)__double_as_longlong({})",
        "from float32": "__float_as_uint({})", "from float16": "({}).bits",
        "to float64": "__longlong_as_double((long long)({}))",
        "to float32": "__uint_as_float({})", "to float16": "_as_half({})",
    },
    atomics=_ATOMICS,
    printf_long="ll",
    float16_head=_HALF,
    reserved=_WORDS,
    reserved_form=_FORM,
    high_product="__umulhi({a}, {b})",
    hidden=PTX_HIDDEN,
    sign_bits=PTX_SIGN_BITS,
    negative=PTX_NEGATIVE,
    addresses=True,
    handover='asm volatile("fence.acq_rel.gpu;" : : : "memory");',
    lane_barrier="__syncwarp();",
    dynamic_group="extern __shared__ __align__(16) unsigned char _group_memory[];",
    lanes=32,
    lane="((int)threadIdx.x & 31)",
    lane_value="_lane_value({mask}, {value}, {source})",
    lane_sync="__syncwarp({mask});",
    part_barrier='asm volatile("bar.sync %0, %1;" : : "r"({n}), "n"({count}) : "memory");',
    team_head=_TEAM,
    in_order=True,  # NVIDIA's own CUB relies on it
    pair_load='asm volatile("ld.volatile.v2.u64 {{%0, %1}}, [%2];" '
    ': "=l"({a}), "=l"({b}) : "l"({p}) : "memory");',
    pair_store='asm volatile("st.volatile.v2.u64 [%0], {{%1, %2}};" '
    ': : "l"({p}), "l"({a}), "l"({b}) : "memory");',
)  # fmt: skip
