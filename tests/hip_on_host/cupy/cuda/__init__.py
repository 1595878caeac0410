"""Devices, streams, memory and modules of the pretended CuPy."""

from __future__ import annotations

from cupy_backends.cuda.api import driver, runtime

from . import function, memory, stream
from .device import Device
from .memory import (
    MemoryAsyncPool,
    MemoryPointer,
    PinnedMemory,
    UnownedMemory,
    alloc,
    alloc_pinned_memory,
    malloc_managed,
)
from .stream import Event, ExternalStream, Stream, get_current_stream, get_elapsed_time

__all__ = [
    "Device", "Event", "ExternalStream", "MemoryAsyncPool", "MemoryPointer", "PinnedMemory",
    "Stream", "UnownedMemory", "alloc", "alloc_pinned_memory", "driver", "function",
    "get_current_stream", "get_elapsed_time", "get_hipcc_path", "get_rocm_path", "malloc_managed",
    "memory", "runtime", "stream",
]  # fmt: skip


def get_rocm_path() -> str | None:
    """There is none."""
    return None


def get_hipcc_path() -> str | None:
    """There is none."""
    return None
