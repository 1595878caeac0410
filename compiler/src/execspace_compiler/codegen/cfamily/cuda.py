"""CUDA C++ as a dialect of the C family: a head, and features of NVIDIA's GPUs.

Contraction of multiply and add is an option of the compiler, for a whole file.
"""

from __future__ import annotations

from dataclasses import replace

from .dialect import Heads, Pragmas, SinglePassScan, header
from .gpu_cpp import GPU_CPP, lanes
from .ptx import WORKAROUNDS

CUDA = replace(
    GPU_CPP,
    name="cuda",
    heads=Heads(
        header("cuda.h"),
        header("cuda_half.h") + header("half.h"),
        (
            ("_es_bit_cast", header("cuda_bits.h")),
            ("_es_atomic_", header("cuda_atomics.h")),
            ("_es_shuffle", header("cuda_shuffle.h")),
            ("_es_pack_", header("gpu_packs.h")),
            ("_es_unchanged", header("cuda_packs.h")),
        ),
    ),
    syntax=replace(GPU_CPP.syntax, light_kernel="_ES_LIGHT_KERNEL({group})"),
    memory=replace(GPU_CPP.memory, load_unchanged="_es_unchanged<{type}>({p})"),
    atomics={
        **GPU_CPP.atomics,
        # In the memory of a group no subnormal number is flushed.
        ("group add", "float32"): "_es_atomic_group_add({p}, (float)({v}))",
        ("group sub", "float32"): "_es_atomic_group_add({p}, -(float)({v}))",
        ("fast add", "float32"): "_es_atomic_fast_add({p}, (float)({v}))",
        ("fast sub", "float32"): "_es_atomic_fast_add({p}, -(float)({v}))",
    },
    pragmas=Pragmas(rolled="#pragma unroll 1"),
    workarounds=WORKAROUNDS,
    sync=replace(GPU_CPP.sync, fence_acq_rel='asm volatile("fence.acq_rel.gpu;" : : : "memory");'),
    lanes=replace(
        lanes(32),
        barrier='asm volatile("bar.sync %0, %1;" : : "r"({n}), "n"({count}) : "memory");',
    ),
    scan=SinglePassScan(
        barrier=GPU_CPP.scan.barrier,
        in_order=True,  # NVIDIA's own CUB relies on it
        pair_load='asm volatile("ld.volatile.v2.u64 {{%0, %1}}, [%2];" '
        ': "=l"({a}), "=l"({b}) : "l"({p}) : "memory");',
        pair_store='asm volatile("st.volatile.v2.u64 [%0], {{%1, %2}};" '
        ': : "l"({p}), "l"({a}), "l"({b}) : "memory");',
        pause='asm volatile("nanosleep.u32 {ns};");',
    ),
)
