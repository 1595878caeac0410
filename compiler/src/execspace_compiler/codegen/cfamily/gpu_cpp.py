"""C++ for GPUs as a dialect of the C family, in neutral names that a head defines.

`heads/cuda.h` and `heads/hip.h` define `_ES_BARRIER()` or `_es_atomic_add` for CUDA and for AMD's
GPUs. The source includes no header: built-ins of the compilers suffice, and headers take most of
the time to compile a small kernel. So float16 is our own class (`heads/half.h`), which computes in
float32 and rounds each result.
"""

from __future__ import annotations

import re

from .dialect import (
    MATH,
    Dialect,
    Lanes,
    Math,
    Memory,
    Reserved,
    SinglePassScan,
    Synchronization,
    Syntax,
    WorkItem,
)  # fmt: skip

_TYPES = {
    "bool": "bool", "int8": "signed char", "uint8": "unsigned char", "int16": "short",
    "uint16": "unsigned short", "int32": "int", "uint32": "unsigned int", "int64": "long long",
    "uint64": "unsigned long long", "float16": "_half", "float32": "float", "float64": "double",
}  # fmt: skip

_KEYWORDS = (
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

# Intrinsics and macros of the compilers, atomic functions and vector types.
_FORM = re.compile(
    r"__\w*|_[A-Z]\w*|[A-Z][A-Z0-9_]+|(atomic|cuda|cu|nv|tex|surf)[A-Z]\w*"
    r"|(u?char|u?short|u?int|u?long|u?longlong|float|double)[1-4]"
)

_ATOMICS: dict[tuple[str, str], str] = {}
for _type in ("int32", "uint32", "int64", "uint64"):
    _own = _TYPES[_type]
    for _op in ("add", "sub", "bitand", "bitor", "bitxor", "min", "max", "exchange", "load"):
        _value = "" if _op == "load" else f", ({_own})({{v}})"
        _ATOMICS[_op, _type] = f"_es_atomic_{_op.removeprefix('bit')}({{p}}{_value})"
    _ATOMICS["compare_exchange", _type] = (
        f"_es_atomic_compare_exchange({{p}}, ({_own})({{e}}), ({_own})({{v}}))"
    )
# Atomic sums of float32 may flush subnormals to zero, so they are compare-and-swap loops.
for _op in ("add", "sub", "exchange"):
    _ATOMICS[_op, "float64"] = f"_es_atomic_{_op}({{p}}, (double)({{v}}))"
_ATOMICS["exchange", "float32"] = "_es_atomic_exchange({p}, (float)({v}))"


def lanes(count: int) -> Lanes:
    """Lanes of warps or wavefronts of this size."""
    return Lanes(
        count,
        own=f"((int)_ES_ITEM(x) & {count - 1})",
        shuffle="_es_shuffle({mask}, {value}, {source})",
        ballot="_ES_BALLOT({mask}, {test})",
        first="_ES_FIRST_BIT({bits})",
        sync="_ES_LANE_SYNC({mask});",
    )


GPU_CPP = Dialect(
    name="gpu_cpp",
    types=_TYPES,
    suffixes={"int64": "LL", "uint64": "ULL", "uint32": "U"},
    bits={
        "float64": "_es_bit_cast<double>({}ULL)", "float32": "_es_bit_cast<float>({}U)",
        "float16": "_as_half((unsigned short){}U)",
        "from float64": "_es_bit_cast<unsigned long long>((double)({}))",
        "from float32": "_es_bit_cast<unsigned int>((float)({}))", "from float16": "({}).bits",
        "to float64": "_es_bit_cast<double>((unsigned long long)({}))",
        "to float32": "_es_bit_cast<float>((unsigned int)({}))", "to float16": "_as_half({})",
    },
    syntax=Syntax(
        function="_ES_FUNCTION", kernel="_ES_KERNEL({group})", restrict="__restrict__"
    ),
    memory=Memory(
        addresses=True,
        group_variable="_ES_SHARED({type}, {name}, {extents});",
        dynamic_group="_ES_GROUP_MEMORY;",
        load_pack="_es_pack_at<{type}>({p})",
        store_pack="_es_pack_to({p}, {v});",
        whole_complex=True,
    ),
    item=WorkItem(
        local_id="(long long)_ES_ITEM(x)",
        group_id="(long long)_ES_GROUP_ID(x)",
        group_size="(long long)_ES_GROUP_SIZE(x)",
        groups="(long long)_ES_GROUPS(x)",
        narrow_item_id="(unsigned int)(_ES_GROUP_ID(x) * _ES_GROUP_SIZE(x) + _ES_ITEM(x))",
        item_id="((long long)_ES_GROUP_ID(x) * _ES_GROUP_SIZE(x) + _ES_ITEM(x))",
        local_id_of="_ES_ITEM({axis})",
        group_id_of="_ES_GROUP_ID({axis})",
        group_size_of="_ES_GROUP_SIZE({axis})",
        groups_of="_ES_GROUPS({axis})",
    ),
    sync=Synchronization(barrier="_ES_BARRIER();", fence="_ES_FENCE();"),
    math=Math(
        MATH, "{}f", mul_hi="_es_mul_hi({a}, {b})",
        popcount={32: "__popc({})", 64: "__popcll({})"},
        leading_zeros={32: "__clz((int)({}))", 64: "__clzll((long long)({}))"},
    ),
    atomics=_ATOMICS,
    scan=SinglePassScan(progress=True),
    reserved=Reserved(_KEYWORDS, _FORM),
    printf_long="ll",
)  # fmt: skip
