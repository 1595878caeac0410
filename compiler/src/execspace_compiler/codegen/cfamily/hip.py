"""HIP C++ as a dialect of the C family: a head with clang's builtins, and ROCm's mathematics.

The head is skipped if `_ES_SHIM` is defined: its names must then be defined otherwise, for a CPU or
another vendor's GPU. No headers are needed, so hiprtc and plain clang accept the same source; the
only library is ROCm's mathematical functions.
"""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache

from .dialect import CLANG_LOOP_IN_ORDER, MATH, Dialect, Heads, Pragmas, Reserved, header
from .gpu_cpp import GPU_CPP, lanes

_HIP = replace(
    GPU_CPP,
    name="hip",
    heads=Heads(
        header("hip.h"),
        header("half.h"),
        (
            ("_es_pack_", header("gpu_packs.h")),
            ("_es_nontemporal_", header("hip_nontemporal.h")),
        ),
    ),
    memory=replace(
        GPU_CPP.memory,
        aligned=True,
        nontemporal_number="_es_nontemporal_load<{type}>({p})",
    ),
    math=replace(GPU_CPP.math, functions={op: f"_es_{name}" for op, name in MATH.items()}),
    sync=replace(
        GPU_CPP.sync,
        fetch_add="_es_fetch_add({p}, {v})",
        store_release="_es_store_release({p}, {v});",
        load_acquire="_es_load_acquire({p})",
    ),
    workarounds=replace(GPU_CPP.workarounds, gathers_loads=True),
    scan=replace(GPU_CPP.scan, memory=16 * 1024),  # a compute unit has 64 KiB
    pragmas=Pragmas(
        no_contraction_here="_ES_STRICT",
        barrier=dict.fromkeys(("float32", "float64"), 'asm("{text}" : "+v"(x));'),
        kept=dict.fromkeys(("float32", "float64"), 'asm volatile("" : "+v"(x));'),
        rolled="#pragma unroll 1",
        unrolled="#pragma unroll",
        loop_in_order=CLANG_LOOP_IN_ORDER,
    ),
    reserved=Reserved(
        GPU_CPP.reserved.names,
        re.compile(f"{GPU_CPP.reserved.form.pattern}|(hip|HIP|amdgcn)\\w*"),
    ),
)


@cache
def hip(wave: int) -> Dialect:
    """The dialect for GPUs with wavefronts of this size: 64, or 32 on RDNA."""
    return replace(_HIP, lanes=lanes(wave))
