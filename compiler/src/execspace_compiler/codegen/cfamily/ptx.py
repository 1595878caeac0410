"""Assembly for NVIDIA's GPUs that CUDA C++ and OpenCL C share.

Instructions that a language does not have, and workarounds for miscompilations by NVIDIA's
compilers, seen with CUDA 13.0 in NVRTC, nvcc and OpenCL.
"""

from __future__ import annotations

from .dialect import SinglePassScan, Workarounds

NAMED_BARRIER = 'asm volatile("bar.sync %0, %1;" : : "r"({n}), "n"({count}) : "memory");'

ORDERED_SCAN = SinglePassScan(
    progress=True,
    in_order=True,  # NVIDIA's own CUB relies on it
    pair_load='asm volatile("ld.volatile.v2.u64 {{%0, %1}}, [%2];" '
    ': "=l"({a}), "=l"({b}) : "l"({p}) : "memory");',
    pair_store='asm volatile("st.volatile.v2.u64 [%0], {{%1, %2}};" '
    ': : "l"({p}), "l"({a}), "l"({b}) : "memory");',
    nontemporal=True,
    pause='asm volatile("nanosleep.u32 {ns};");',
)

# Functions of the heads of CUDA and OpenCL; see `Dialect.atomics`.
FLOAT32_SUMS = {
    ("sum add", "float32"): "_es_atomic_sum({p}, (float)({v}))",
    ("sum sub", "float32"): "_es_atomic_sum({p}, -(float)({v}))",
    # In the memory of a group no subnormal number is flushed.
    ("group add", "float32"): "_es_atomic_group_add({p}, (float)({v}))",
    ("group sub", "float32"): "_es_atomic_group_add({p}, -(float)({v}))",
    ("fast add", "float32"): "_es_atomic_fast_add({p}, (float)({v}))",
    ("fast sub", "float32"): "_es_atomic_fast_add({p}, -(float)({v}))",
}

# ptxas contracts products and sums across empty assembly, too, so the sign bit goes through an
# exclusive or with a zero about which it knows nothing.
_ZERO = "mov.u32 z, %%smid; and.b32 z, z, 0x80000000;"
BARRIER = {
    "float32": f'asm("{{ .reg .b32 z, b; {_ZERO} mov.b32 b, %0; xor.b32 b, b, z; '
    f'mov.b32 %0, b; }} {{text}}" : "+f"(x));',
    "float64": f'asm("{{ .reg .b32 z, l, h; {_ZERO} mov.b64 {{l, h}}, %0; '
    f'xor.b32 h, h, z; mov.b64 %0, {{l, h}}; }} {{text}}" : "+d"(x));',
}
KEPT = {"float32": 'asm volatile("" : "+f"(x));', "float64": 'asm volatile("" : "+d"(x));'}

WORKAROUNDS = Workarounds(
    # Widened, the int16 -(-32768) is 32768: ptxas drops the conversion after neg.s16 and abs.s16.
    # `x < 0 ? -x : x` is assumed not to be negative, although -x wraps. And `x < 0.0 ? x : 0.0`
    # becomes a minimum, which is -0.0 for -0.0. `max(x, c) == c` of integers below 32 bits is
    # wrong if only ptxas sees that c is a constant: they are compared in 32 bits, so that it does
    # not match a maximum. And of a float16 that is stored byte by byte, the lower one is lost. Such
    # numbers go through empty assembly.
    hidden={
        name: f'asm("" : "+{register}"(x));'
        for name, register in (("int32", "r"), ("int64", "l"), ("float32", "f"), ("float64", "d"))
    },
    # ptxas assumes |x| >= 0, even if x is NaN. It cannot analyse operations on the bits.
    sign_bits={
        "abs": 'asm("and.b32 %0, %0, 0x7fffffff;" : "+f"(x));',
        "copysign": 'asm("{ .reg .b32 s; and.b32 s, %1, 0x80000000; and.b32 %0, %0, 0x7fffffff; '
        'or.b32 %0, %0, s; }" : "+f"(x) : "f"(y));',
    },
    # For sm_90 it combines min(min(a, -b), c) to one instruction, which has no negation, and drops
    # it. It does not recognise this form, which costs the same.
    negative='asm("not.b32 %0, %0;\\n\\tadd.u32 %0, %0, 1;" : "+r"(x));',
)
