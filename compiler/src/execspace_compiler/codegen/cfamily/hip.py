"""HIP C++ as a dialect of the C family: what differs from CUDA's, and a head with clang's builtins.

The text of kernels uses neutral names only, which the head defines for AMD GPUs unless `_ES_SHIM`
is: then whoever compiles it defines them, for a CPU or another maker's GPU. No header is needed, so
hiprtc and a plain clang take the same text; of libraries only ROCm's mathematical functions.
"""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache

from .cuda import CUDA
from .dialect import CLANG_LOOP_IN_ORDER, MATH, Dialect
from .halves import half_class

_NAMES = sorted(set(MATH.values()) - {"isnan", "isinf", "isfinite"})
_INSTRUCTIONS = ("ceil", "copysign", "fabs", "floor", "rint", "sqrt", "trunc")  # of every GPU
_OF_TWO = ("atan2", "fmod", "hypot", "pow")


def _mathematics() -> str:
    """Names of mathematical functions, and declarations of those in ROCm's library."""
    lines = [
        f"_ES_FUNCTION bool _es_is{what}({kind} x) {{ return __builtin_is{what}(x); }}"
        for what in ("nan", "inf", "finite")
        for kind in ("float", "double")
    ]
    for name in _NAMES:
        for suffix, kind, size in (("", "double", "f64"), ("f", "float", "f32")):
            if name in _INSTRUCTIONS:
                lines.append(f"#define _es_{name}{suffix} __builtin_{name}{suffix}")
                continue
            parameters = ", ".join([kind] * (2 if name in _OF_TWO else 1))
            lines.append(f'extern "C" _ES_DEVICE {kind} __ocml_{name}_{size}({parameters});')
            lines.append(f"#define _es_{name}{suffix} __ocml_{name}_{size}")
    return "\n".join(lines)


_ATOMICS: dict[tuple[str, str], str] = {}
_STEPS = ("add", "sub", "bitand", "bitor", "bitxor", "min", "max", "exchange", "load")
for _type in ("int32", "uint32", "int64", "uint64"):
    _own = CUDA.types[_type]
    for _op in _STEPS:
        _value = "" if _op == "load" else f", ({_own})({{v}})"
        _ATOMICS[_op, _type] = f"_es_atomic_{_op.removeprefix('bit')}({{p}}{_value})"
    _ATOMICS["compare_exchange", _type] = (
        f"_es_atomic_compare_exchange({{p}}, ({_own})({{e}}), ({_own})({{v}}))"
    )
# Sums of float32 may flush subnormal numbers to zero: they are made of exchanges, as on CUDA.
for _op in ("add", "sub", "exchange"):
    _ATOMICS[_op, "float64"] = f"_es_atomic_{_op}({{p}}, (double)({{v}}))"
_ATOMICS["exchange", "float32"] = "_es_atomic_exchange({p}, (float)({v}))"


def _atomic_functions() -> str:
    lines = []
    for op in ("add", "sub", "and", "or", "xor", "min", "max"):
        if op == "sub":
            body = "_es_atomic_add(p, (T)-v)"
        else:
            body = f"__hip_atomic_fetch_{op}((T *)p, v, _ES_RELAXED)"
        lines.append(
            f"template <typename T> _ES_FUNCTION T _es_atomic_{op}(volatile T *p, T v) "
            f"{{ return {body}; }}"
        )
    return "\n".join(lines)


_HEAD = f"""#ifndef _ES_SHIM
#define _ES_DEVICE __attribute__((device))
#define _ES_FUNCTION static inline __attribute__((device, always_inline))
#define _ES_KERNEL(threads) extern "C" __attribute__((global, \\
    amdgpu_flat_work_group_size(1, threads))) void
#define _ES_SHARED(type, name, extents) \\
    static __attribute__((shared, aligned(16))) type name extents
#define _ES_GROUP_MEMORY \\
    extern __attribute__((shared, aligned(16))) unsigned char _group_memory[]
#define _ES_ITEM(axis) __builtin_amdgcn_workitem_id_##axis()
#define _ES_GROUP_ID(axis) __builtin_amdgcn_workgroup_id_##axis()
#define _ES_GROUP_SIZE(axis) ((unsigned int)__builtin_amdgcn_workgroup_size_##axis())
#define _ES_GROUPS(axis) (__builtin_amdgcn_grid_size_##axis() / _ES_GROUP_SIZE(axis))
#define _ES_FENCE() __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "agent")
#define _ES_WAIT(order, scope) __builtin_amdgcn_fence(__ATOMIC_##order, scope)
#define _ES_BARRIER() do {{ _ES_WAIT(RELEASE, "workgroup"); __builtin_amdgcn_s_barrier(); \\
    _ES_WAIT(ACQUIRE, "workgroup"); }} while (0)
#define _ES_LANE_SYNC(mask) do {{ _ES_WAIT(RELEASE, "wavefront"); \\
    __builtin_amdgcn_wave_barrier(); _ES_WAIT(ACQUIRE, "wavefront"); }} while (0)
#define _ES_RELAXED __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT
#define _ES_STRICT _Pragma("clang fp contract(off)")
{_atomic_functions()}
template <typename T> _ES_FUNCTION T _es_atomic_exchange(volatile T *p, T v) {{
    return __hip_atomic_exchange((T *)p, v, _ES_RELAXED);
}}
template <typename T> _ES_FUNCTION T _es_atomic_load(volatile T *p) {{
    return __hip_atomic_load((T *)p, _ES_RELAXED);
}}
template <typename T> _ES_FUNCTION T _es_atomic_compare_exchange(volatile T *p, T e, T v) {{
    __hip_atomic_compare_exchange_strong((T *)p, &e, v, __ATOMIC_RELAXED, _ES_RELAXED);
    return e;
}}
_ES_FUNCTION int _es_count(volatile int *p) {{
    return __hip_atomic_fetch_add((int *)p, 1, __ATOMIC_ACQ_REL, __HIP_MEMORY_SCOPE_AGENT);
}}
_ES_FUNCTION void _es_tell(volatile unsigned long long *p, unsigned long long v) {{
    __hip_atomic_store((unsigned long long *)p, v, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_AGENT);
}}
_ES_FUNCTION unsigned long long _es_told(volatile unsigned long long *p) {{
    return __hip_atomic_load((unsigned long long *)p, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_AGENT);
}}
template <typename A, typename B> _ES_FUNCTION A _es_bit_cast(B x) {{
    return __builtin_bit_cast(A, x);
}}
template <typename T>
_ES_FUNCTION T _es_lane_value(unsigned long long mask, T value, int source) {{
    int words[(sizeof(T) + 3) / 4] = {{0}};
    __builtin_memcpy(words, &value, sizeof(T));
    for (int &w : words) w = __builtin_amdgcn_ds_bpermute(4 * source, w);
    __builtin_memcpy(&value, words, sizeof(T));
    return value;
}}
{_mathematics()}
#endif
"""

# A float64 becomes a float16 in one step, so it is rounded once.
_HALF = f"""#ifndef _ES_SHIM
template <typename T> _ES_FUNCTION unsigned short _es_half_of(T x) {{
    return __builtin_bit_cast(unsigned short, (_Float16)x);
}}
_ES_FUNCTION float _es_float_of(unsigned short bits) {{
    return (float)__builtin_bit_cast(_Float16, bits);
}}
#define _ES_METHOD inline __attribute__((device, always_inline))
#endif
{
    half_class(
        "bits = _es_half_of(x);",
        "bits = _es_half_of((double)x);",
        "x = _es_float_of(bits);",
    )
}"""

_PRINTF = """#ifndef _ES_SHIM
extern "C" _ES_DEVICE int printf(const char *, ...);
#endif
"""

_BITS = {
    "float64": "_es_bit_cast<double>({}ULL)", "float32": "_es_bit_cast<float>({}U)",
    "float16": "_as_half((unsigned short){}U)",
    "from float64": "_es_bit_cast<unsigned long long>((double)({}))",
    "from float32": "_es_bit_cast<unsigned int>((float)({}))", "from float16": "({}).bits",
    "to float64": "_es_bit_cast<double>((unsigned long long)({}))",
    "to float32": "_es_bit_cast<float>((unsigned int)({}))", "to float16": "_as_half({})",
}  # fmt: skip


@cache
def hip(wave: int) -> Dialect:
    """The dialect for GPUs with wavefronts of so many lanes: 64, or 32 of RDNA."""
    return replace(
        CUDA,
        name="hip",
        head=_HEAD,
        no_contraction_here="_ES_STRICT",
        function="_ES_FUNCTION",
        kernel="_ES_KERNEL({group})",
        hidden={},
        sign_bits={},
        negative="",
        loop_in_order=CLANG_LOOP_IN_ORDER,
        group="",
        group_variable="_ES_SHARED({type}, {name}, {extents});",
        local_id="(long long)_ES_ITEM(x)",
        group_id="(long long)_ES_GROUP_ID(x)",
        group_size="(long long)_ES_GROUP_SIZE(x)",
        groups="(long long)_ES_GROUPS(x)",
        item_id="((long long)_ES_GROUP_ID(x) * _ES_GROUP_SIZE(x) + _ES_ITEM(x))",
        group_place="_ES_GROUP_ID({axis})",
        local_place="_ES_ITEM({axis})",
        group_extent="_ES_GROUP_SIZE({axis})",
        groups_extent="_ES_GROUPS({axis})",
        barrier="_ES_BARRIER();",
        fence="_ES_FENCE();",
        math={op: f"_es_{name}" for op, name in MATH.items()},
        bits=_BITS,
        atomics=_ATOMICS,
        float16_head=_HALF,
        printf_head=_PRINTF,
        reserved_form=re.compile(f"{CUDA.reserved_form.pattern}|(hip|HIP|amdgcn)\\w*"),
        high_product="(unsigned int)((unsigned long long)({a}) * ({b}) >> 32)",
        handover="",
        count="_es_count({p})",
        tell="_es_tell({p}, {v});",
        told="_es_told({p})",
        lane_barrier="_ES_LANE_SYNC(0xffffffffull);",
        dynamic_group="_ES_GROUP_MEMORY;",
        lanes=wave,
        lane=f"((int)_ES_ITEM(x) & {wave - 1})",
        lane_value="_es_lane_value({mask}, {value}, {source})",
        lane_sync="_ES_LANE_SYNC({mask});",
        part_barrier="",
        team_head="",
        scan_memory=16 * 1024,  # of 64 KiB of a compute unit
        in_order=False,
        pair_load="",
        pair_store="",
    )
