"""Memory of the pretended device: the host's, of exactly the bytes that are asked for.

It comes from the C library's allocator, which AddressSanitizer watches, and holds a pattern until
it is written.
"""

from __future__ import annotations

import bisect
import ctypes
import threading

from . import machine
from .machine import CUDARuntimeError

PATTERN = 0xCD
_ALIGNMENT = 512  # as CuPy's
_libc = ctypes.CDLL(None)
_libc.posix_memalign.argtypes = (
    ctypes.POINTER(ctypes.c_void_p), ctypes.c_size_t, ctypes.c_size_t,
)  # fmt: skip
_libc.free.argtypes, _libc.free.restype = (ctypes.c_void_p,), None
_lock = threading.RLock()  # the garbage collector may free within
_blocks: dict[int, tuple[int, str]] = {}
_taken = {"device": 0, "managed": 0, "pinned": 0}


def taken() -> int:
    """Bytes of the device that are in use."""
    return _taken["device"] + _taken["managed"]


def allocate(size: int, kind: str) -> int:
    """The address of new memory of a kind: "device", "managed" or "pinned".

    Raises
    ------
    CUDARuntimeError
        With status 2, if there is not so much.
    """
    with _lock:
        found = ctypes.c_void_p()
        if size + (taken() if kind != "pinned" else 0) <= machine.memory():
            _libc.posix_memalign(ctypes.byref(found), _ALIGNMENT, size)
        address = found.value
        if not address:
            raise CUDARuntimeError(2)
        _blocks[address] = size, kind
        _taken[kind] += size
    ctypes.memset(address, PATTERN, size)
    return address


def release(address: int) -> None:
    """Give memory back."""
    with _lock:
        size, kind = _blocks.pop(address)
        _taken[kind] -= size
    _libc.free(address)


def kind_at(address: int) -> str | None:
    """The kind of memory that an address lies in; None for other memory of the host."""
    with _lock:
        starts = sorted(_blocks)
        n = bisect.bisect_right(starts, address) - 1
        if n < 0:
            return None
        size, kind = _blocks[starts[n]]
        return kind if address < starts[n] + size else None
