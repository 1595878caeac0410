"""CUDA C++ as a dialect of the C family: a head, and features of NVIDIA's GPUs.

Contraction of multiply and add is an option of the compiler, for a whole file.
"""

from __future__ import annotations

from dataclasses import replace

from .dialect import Heads, Pragmas, header
from .gpu_cpp import GPU_CPP, lanes
from .ptx import BARRIER, FLOAT32_SUMS, KEPT, NAMED_BARRIER, ORDERED_SCAN, WORKAROUNDS

_OF_LANES = {
    (operation, dtype): f"_es_of_lanes_{operation}({{mask}}, {{value}})"
    for operation, dtypes in (
        ("sum", ("int32", "uint32")),
        ("min", ("int32", "uint32", "int64", "uint64")),
        ("max", ("int32", "uint32", "int64", "uint64")),
    )
    for dtype in dtypes
}

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
            ("_es_of_lanes_", header("cuda_reduce.h")),
            ("_es_pack_", header("gpu_packs.h")),
            ("_es_nontemporal_", header("cuda_nontemporal.h")),
        ),
    ),
    syntax=replace(GPU_CPP.syntax, light_kernel="_ES_LIGHT_KERNEL({group}, {groups})"),
    atomics={**GPU_CPP.atomics, **FLOAT32_SUMS},
    memory=replace(
        GPU_CPP.memory,
        nontemporal_load="_es_nontemporal_load<{type}>({p})",
        nontemporal_store="_es_nontemporal_store({p}, {v});",
        nontemporal_number="_es_nontemporal_load<{type}>({p})",
    ),
    pragmas=Pragmas(
        barrier=BARRIER,
        kept=KEPT,
        rolled="#pragma unroll 1",
        unrolled="#pragma unroll",
        overlapped="#pragma unroll 4",
    ),
    workarounds=WORKAROUNDS,
    sync=replace(GPU_CPP.sync, fence_acq_rel='asm volatile("fence.acq_rel.gpu;" : : : "memory");'),
    lanes=replace(lanes(32), barrier=NAMED_BARRIER, reduce=_OF_LANES),
    scan=ORDERED_SCAN,
)
