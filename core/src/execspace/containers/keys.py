"""Keys of hash tables: the words that stand for them in memory, and where in a table they belong.

A key of up to four bytes is a word of uint32, one of eight bytes a word of uint64, so that every
space exchanges it in one step. Floats are their bits, but that equal floats are one key.
"""

from __future__ import annotations

from typing import Any

from ..contract.dtypes import float32, float64, uint32, uint64
from ..kernels.language import function
from ..views.static import static

EMPTY = 0  # as in new memory: a table needs no kernel to be empty
ERASED32 = 0xFFFFFFFF
ERASED64 = 0xFFFFFFFFFFFFFFFF

_SIGN32, _INF32, _NAN32 = 0x80000000, 0x7F800000, 0x7FC00000
_SIGN64, _INF64, _NAN64 = 0x8000000000000000, 0x7FF0000000000000, 0x7FF8000000000000


@function
def word_of(key: Any, is_float: static, is_wide: static) -> Any:
    """The word of a key that has the type of the table's keys.

    -0.0 is 0.0, and all NaNs are one. That is decided by the bits, which holds under fastmath, too.
    """
    if is_float:
        if is_wide:
            word = key.view(uint64)
            if word == uint64(_SIGN64):
                word = uint64(0)
            elif word & ~uint64(_SIGN64) > uint64(_INF64):
                word = uint64(_NAN64)
        else:
            word = key.view(uint32)
            if word == uint32(_SIGN32):
                word = uint32(0)
            elif word & ~uint32(_SIGN32) > uint32(_INF32):
                word = uint32(_NAN32)
        return word
    if is_wide:
        return uint64(key)
    return uint32(key)


@function
def hash_of(word: Any, is_wide: static) -> Any:
    """A word whose low bits depend on all bits of another one, and which is another for each.

    The finalisers of MurmurHash3, by Austin Appleby:
    https://github.com/aappleby/smhasher/blob/master/src/MurmurHash3.cpp
    """
    h = word
    if is_wide:
        h ^= h >> uint64(33)
        h *= uint64(0xFF51AFD7ED558CCD)
        h ^= h >> uint64(33)
        h *= uint64(0xC4CEB9FE1A85EC53)
        h ^= h >> uint64(33)
    else:
        h ^= h >> uint32(16)
        h *= uint32(0x85EBCA6B)
        h ^= h >> uint32(13)
        h *= uint32(0xC2B2AE35)
        h ^= h >> uint32(16)
    return h


@function
def float_of(word: Any, is_wide: static) -> Any:
    """The float that a word stands for."""
    if is_wide:
        return word.view(float64)
    return word.view(float32)
