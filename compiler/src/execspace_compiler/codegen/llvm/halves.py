"""float16 in LLVM IR: numbers are kept as `half`, computed in float32, and rounded each time.

float32 has more than twice the digits of float16 and two, so rounding its result is rounding the
exact one for + - * / and square roots. LLVM makes arithmetic in float16 of it where a processor has
some. Processors with conversions take theirs; for others LLVM would call functions of a compiler's
runtime library, which a process need not have, so these take functions in IR (library.py).
"""

from __future__ import annotations

from .emitter import Emitter

# Features of processors that convert, by LLVM's names: every 64-bit ARM processor does.
_CONVERTING = frozenset(("f16c", "avx512fp16", "neon"))


def _converts(e: Emitter) -> bool:
    return not _CONVERTING.isdisjoint(e.module.targeted.features)


def widened(e: Emitter, v: str) -> str:
    """A float16 as a float32."""
    if _converts(e):
        return e.op(f"fpext half {v} to float")
    return e.op(f"call float {e.module.library('half.widened')}(half {v})")


def rounded(e: Emitter, v: str) -> str:
    """A float32 as a float16."""
    if _converts(e):
        return e.op(f"fptrunc float {v} to half")
    return e.op(f"call half {e.module.library('half.rounded')}(float {v})")


def rounded_once(e: Emitter, v: str) -> str:
    """A float64 as a float16; by way of the nearest float32, some would be rounded twice."""
    function = e.module.library("half.odd")
    return rounded(e, e.op(f"call float {function}(double {v})"))
