"""HIP C++ as a dialect of the C family: a head with clang's builtins, and ROCm's mathematics.

The head is left out where `_ES_SHIM` is defined: then whoever compiles the source defines its
names, for a CPU or another builder's GPU. No header is needed, so hiprtc and a plain clang take the
same source; of libraries only ROCm's mathematical functions.
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
    heads=Heads(header("hip.h"), header("half.h")),
    memory=replace(GPU_CPP.memory, aligned=True),
    math=replace(GPU_CPP.math, functions={op: f"_es_{name}" for op, name in MATH.items()}),
    sync=replace(
        GPU_CPP.sync,
        fetch_add="_es_fetch_add({p}, {v})",
        store_release="_es_store_release({p}, {v});",
        load_acquire="_es_load_acquire({p})",
    ),
    scan=replace(GPU_CPP.scan, memory=16 * 1024),  # of 64 KiB of a compute unit
    pragmas=Pragmas(no_contraction_here="_ES_STRICT", loop_in_order=CLANG_LOOP_IN_ORDER),
    reserved=Reserved(
        GPU_CPP.reserved.words,
        re.compile(f"{GPU_CPP.reserved.form.pattern}|(hip|HIP|amdgcn)\\w*"),
    ),
)


@cache
def hip(wave: int) -> Dialect:
    """The dialect for GPUs with wavefronts of so many lanes: 64, or 32 of RDNA."""
    return replace(_HIP, lanes=lanes(wave))
