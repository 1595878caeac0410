"""Which GPU an array of another library is on, and the stream that its library works on.

Three protocols tell: DLPack, `__cuda_array_interface__`, and for the current stream the libraries
themselves, looked up among the modules that the program has imported.
"""

from __future__ import annotations

import sys
from typing import Any

from execspace.interop import has_protocol

_DLPACK_CUDA, _DLPACK_CUDA_HOST, _DLPACK_CUDA_MANAGED = 2, 3, 13
LEGACY, PER_THREAD = (
    1,
    2,
)  # two special streams, as CUDA and the protocols call them


def device_of(source: Any) -> int | None:
    """Number of the GPU in whose memory an array is; None if it is in none's."""
    if has_protocol(source, "__dlpack_device__"):
        kind, number = source.__dlpack_device__()
        if kind in (_DLPACK_CUDA, _DLPACK_CUDA_MANAGED):
            return int(number)
        return None
    if not has_protocol(source, "__cuda_array_interface__"):
        return None
    interface = source.__cuda_array_interface__
    from cupy_backends.cuda.api import runtime

    if runtime.is_hip:
        return None
    address = interface["data"][0]
    if not address:  # no elements
        return int(runtime.getDevice())
    found = runtime.pointerGetAttributes(address)
    return int(found.device) if found.type in (2, 3) else None  # device, managed


def stream_of(source: Any, device: int) -> int | None:
    """The stream that the library of an array works on now; None if nobody can tell.

    0 and 1 are the legacy default stream.
    """
    library = type(source).__module__.partition(".")[0]
    module = sys.modules.get(library)
    if library == "cupy" and module is not None:
        return int(module.cuda.get_current_stream(device).ptr)
    if library == "torch" and module is not None:
        return int(module.cuda.current_stream(device).cuda_stream)
    if not has_protocol(source, "__cuda_array_interface__"):
        return None
    interface = source.__cuda_array_interface__
    if interface.get("version", 0) < 3:
        return None
    stream = interface.get("stream")
    return LEGACY if stream is None else int(stream)
