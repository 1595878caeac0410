"""Which GPU an array of another library is on, and the stream that its library works on.

Three protocols tell: DLPack, `__cuda_array_interface__`, and for the current stream the libraries
themselves, looked up among the modules that the program has imported.
"""

from __future__ import annotations

import sys
from typing import Any

from execspace.base.dataclass import dataclass
from execspace.views.arrays import has_protocol

LEGACY, PER_THREAD = 1, 2  # two special streams, as `__cuda_array_interface__` calls them
_DEVICE, _MANAGED = 2, 3  # types of memory, as the runtime calls them


@dataclass(frozen=True)
class Protocols:
    """How a platform's arrays tell of themselves.

    Attributes
    ----------
    device : int
        DLPack's kind of memory of a GPU.
    managed : int, optional
        Its kind of managed memory, where there is one.
    legacy : int
        How a consumer names the default stream to ``__dlpack__(stream=...)``.
    interface : bool
        Arrays have `__cuda_array_interface__`; otherwise DLPack alone counts.
    """

    device: int
    managed: int | None
    legacy: int
    interface: bool

    @property
    def kinds(self) -> tuple[int | None, ...]:
        """All kinds of memory that a GPU has of its own."""
        return (self.device, self.managed)


def claimed_by(short: str, source: Any, protocols: Protocols) -> str | None:
    """Name of the space for an array that is in memory of a GPU: "cuda" or "cuda:1".

    `short` is the name of the platform's spaces.
    """
    try:
        device = device_of(source, protocols)
    except Exception:  # an array that cannot say where it is; whoever wraps it tells why
        return None
    return None if device is None else short if device == 0 else f"{short}:{device}"


def device_of(source: Any, protocols: Protocols) -> int | None:
    """Number of the GPU in whose memory an array is; None if it is in none's."""
    if has_protocol(source, "__dlpack_device__"):
        kind, number = source.__dlpack_device__()
        return int(number) if kind in protocols.kinds else None
    if not protocols.interface or not has_protocol(source, "__cuda_array_interface__"):
        return None
    interface = source.__cuda_array_interface__
    from cupy_backends.cuda.api import runtime

    if runtime.is_hip:  # this build of CuPy knows none of these addresses
        return None
    address = interface["data"][0]
    if not address:  # no elements
        return int(runtime.getDevice())
    found = runtime.pointerGetAttributes(address)
    return int(found.device) if found.type in (_DEVICE, _MANAGED) else None


def stream_of(source: Any, device: int, protocols: Protocols) -> int | None:
    """The stream that the library of an array works on now; None if nobody can tell.

    0 and 1 are the legacy default stream.
    """
    library = type(source).__module__.partition(".")[0]
    module = sys.modules.get(library)
    if library == "cupy" and module is not None:
        return int(module.cuda.get_current_stream(device).ptr)
    if library == "torch" and module is not None:
        return int(module.cuda.current_stream(device).cuda_stream)
    if not protocols.interface or not has_protocol(source, "__cuda_array_interface__"):
        return None
    interface = source.__cuda_array_interface__
    if interface.get("version", 0) < 3:
        return None
    stream = interface.get("stream")
    return LEGACY if stream is None else int(stream)
