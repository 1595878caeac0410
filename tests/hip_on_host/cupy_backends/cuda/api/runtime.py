"""CuPy's binding of the runtime, pretended: memory is the host's, streams do everything at once."""

from __future__ import annotations

import ctypes
import itertools
import os
import threading
from types import SimpleNamespace
from typing import Any

from pretended import graphs, machine, memory
from pretended.machine import CUDARuntimeError

__all__ = ["CUDARuntimeError"]

is_hip = True
_is_hip_environment = True
memcpyHostToHost, memcpyHostToDevice, memcpyDeviceToHost = 0, 1, 2
memcpyDeviceToDevice, memcpyDefault = 3, 4
streamDefault, streamNonBlocking = 0, 1

_thread = threading.local()
_handles = itertools.count(0x5000, 16)
_streams: set[int] = {0}
_events: set[int] = set()


def driverGetVersion() -> int:
    return machine.RUNTIME_VERSION


def runtimeGetVersion() -> int:
    return machine.RUNTIME_VERSION


# -- devices --------------------------------------------------------------------------------------


def getDeviceCount() -> int:
    return int(machine.number("HIP_ON_HOST_DEVICES", 1))


def getDevice() -> int:
    return int(getattr(_thread, "device", 0))


def setDevice(device: int) -> None:
    if not 0 <= device < getDeviceCount():
        raise CUDARuntimeError(101)
    _thread.device = device


def deviceSynchronize() -> None:
    """All is done."""


def deviceGetAttribute(attrib: int, device: int) -> int:
    raise RuntimeError(
        "The numbers of attributes in CuPy for ROCm are those of HIP 3, and later versions of HIP "
        "give other attributes for them; take getDeviceProperties."
    )


def getDeviceProperties(device: int) -> dict[str, Any]:
    if not 0 <= device < getDeviceCount():
        raise CUDARuntimeError(101)
    arch = machine.arch()
    return {
        "name": f"{arch.partition(':')[0]} on the host".encode(),
        "gcnArchName": arch.encode(),
        "gcnArch": 0,
        "warpSize": machine.wave_of(arch),
        "multiProcessorCount": 2,
        "maxThreadsPerBlock": machine.MOST_ITEMS,
        "maxThreadsDim": (1024, 1024, 1024),
        "maxGridSize": (2147483647, 65536, 65536),
        "maxThreadsPerMultiProcessor": 2048,
        "sharedMemPerBlock": machine.MOST_SHARED,
        "maxSharedMemoryPerMultiProcessor": machine.MOST_SHARED,
        "regsPerBlock": 65536,
        "totalGlobalMem": machine.memory(),
        "totalConstMem": 2147483647,
        "clockRate": 1000000,
        "memoryClockRate": 1000000,
        "memoryBusWidth": 64,
        "l2CacheSize": 4 << 20,
        "major": 9 if machine.wave_of(arch) == 64 else 11,
        "minor": 4,
        "concurrentKernels": 1,
        "integrated": 0,
        "canMapHostMemory": 1,
        "managedMemory": 1,
        "concurrentManagedAccess": 1,
        "pageableMemoryAccess": 0,
        "isMultiGpuBoard": 0,
        "pciBusID": 0,
        "pciDeviceID": device,
        "pciDomainID": 0,
    }


def deviceCanAccessPeer(device: int, peer: int) -> int:
    return int(device != peer)


def deviceEnablePeerAccess(peer: int) -> None:
    """Memory is the host's anyway."""


# -- memory ---------------------------------------------------------------------------------------


def memGetInfo() -> tuple[int, int]:
    return machine.memory() - memory.taken(), machine.memory()


def memset(ptr: int, value: int, size: int) -> None:
    ctypes.memset(ptr, value, size)


def memsetAsync(ptr: int, value: int, size: int, stream: int) -> None:
    _known(stream)
    if not graphs.captured(stream, lambda: memset(ptr, value, size)):
        ctypes.memset(ptr, value, size)


def memcpy(dst: int, src: int, size: int, kind: int) -> None:
    ctypes.memmove(dst, src, size)


def memcpyAsync(dst: int, src: int, size: int, kind: int, stream: int) -> None:
    _known(stream)
    if graphs.is_captured(stream):
        raise CUDARuntimeError(900, "copies are not captured here")
    ctypes.memmove(dst, src, size)


def memcpyPeer(dst: int, dstDevice: int, src: int, srcDevice: int, size: int) -> None:
    ctypes.memmove(dst, src, size)


def memcpyPeerAsync(
    dst: int, dstDevice: int, src: int, srcDevice: int, size: int, stream: int
) -> None:
    _known(stream)
    ctypes.memmove(dst, src, size)


def pointerGetAttributes(ptr: int) -> SimpleNamespace:
    kind = memory.kind_at(ptr)
    number = {"pinned": 1, "device": 2, "managed": 3}.get(kind or "", 0)
    return SimpleNamespace(device=0, devicePointer=ptr, hostPointer=ptr, type=number)


# -- streams and events ---------------------------------------------------------------------------


def _known(handle: int) -> None:
    if handle not in _streams:
        raise CUDARuntimeError(400, f"{handle:#x} is not a stream")


def streamCreate() -> int:
    return streamCreateWithFlags(streamDefault)


def streamCreateWithFlags(flags: int) -> int:
    handle = next(_handles)
    _streams.add(handle)
    return handle


def streamDestroy(stream: int) -> None:
    _known(stream)
    _streams.discard(stream)


def streamSynchronize(stream: int) -> None:
    _known(stream)
    if graphs.is_captured(stream):
        raise CUDARuntimeError(900, "a captured stream cannot be waited for")


def streamQuery(stream: int) -> int:
    _known(stream)
    return 0


def streamWaitEvent(stream: int, event: int, flags: int = 0) -> None:
    _known(stream)
    _event(event)
    graphs.awaited(stream, event)


def _event(event: int) -> None:
    if event not in _events:
        raise CUDARuntimeError(400, f"{event:#x} is not an event")


def eventCreateWithFlags(flags: int) -> int:
    handle = next(_handles)
    _events.add(handle)
    return handle


def eventDestroy(event: int) -> None:
    _events.discard(event)


def eventRecord(event: int, stream: int) -> None:
    _event(event)
    _known(stream)
    graphs.recorded(event, stream)


def eventQuery(event: int) -> int:
    _event(event)
    return 0


def eventSynchronize(event: int) -> None:
    _event(event)


# -- forks ----------------------------------------------------------------------------------------


def _lose() -> None:
    """As the real one in a child of a process that has used it: each call fails."""
    if not _events:  # as nothing uses the device without
        return

    def failing(*args: object, **options: object) -> None:
        raise CUDARuntimeError(3)

    for name, value in list(globals().items()):
        if callable(value) and not isinstance(value, type) and name[0].islower():
            globals()[name] = failing


os.register_at_fork(after_in_child=_lose)
