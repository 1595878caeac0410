"""What NVIDIA's compilers get wrong behind CUDA C++ and OpenCL C, and assembly against it.

Seen with CUDA 13.0 in NVRTC, nvcc and OpenCL.
"""

from __future__ import annotations

from .dialect import Repairs

REPAIRS = Repairs(
    # Widened, the int16 -(-32768) is 32768: ptxas drops the conversion behind neg.s16 and abs.s16.
    # `x < 0 ? -x : x` is taken to be no negative number, although -x wraps. And `x < 0.0 ? x : 0.0`
    # becomes a minimum, which is -0.0 for -0.0. `max(x, c) == c` of integers below 32 bits is
    # answered wrongly where only ptxas sees that c is a constant: they are compared with 32 bits,
    # so that it sees no maximum. Such numbers go through assembly that does nothing.
    hidden={
        name: f'asm("" : "+{register}"(x));'
        for name, register in (("int32", "r"), ("int64", "l"), ("float32", "f"), ("float64", "d"))
    },
    # ptxas takes |x| >= 0 for true, also if x is a NaN. It does not know what these bits are.
    sign_bits={
        "abs": 'asm("and.b32 %0, %0, 0x7fffffff;" : "+f"(x));',
        "copysign": 'asm("{ .reg .b32 s; and.b32 s, %1, 0x80000000; and.b32 %0, %0, 0x7fffffff; '
        'or.b32 %0, %0, s; }" : "+f"(x) : "f"(y));',
    },
    # For sm_90 it makes one instruction of min(min(a, -b), c), which has no negation, and leaves
    # that out. This it does not know to be one, and it costs no more.
    negative='asm("not.b32 %0, %0;\\n\\tadd.u32 %0, %0, 1;" : "+r"(x));',
)
