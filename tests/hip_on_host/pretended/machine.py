"""The GPU that is pretended, as environment variables choose it, and the errors of its driver."""

from __future__ import annotations

import os
import re
from pathlib import Path

FOLDER = Path(__file__).resolve().parent.parent
WAVE64 = ("gfx900", "gfx906", "gfx908", "gfx90a", "gfx940", "gfx941", "gfx942", "gfx950")
WAVE32 = (
    "gfx1010", "gfx1030", "gfx1031", "gfx1032", "gfx1100", "gfx1101", "gfx1102", "gfx1150",
    "gfx1151", "gfx1200", "gfx1201",
)  # fmt: skip
SANITIZERS = ("", "thread", "address")
MOST_ITEMS = 1024  # work-items of a group
MOST_SHARED = 64 * 1024  # bytes of memory of a group
RUNTIME_VERSION = 70253211  # as HIP 7.2 tells it

_ERRORS = {
    1: ("hipErrorInvalidValue", "invalid argument"),
    2: ("hipErrorOutOfMemory", "out of memory"),
    3: ("hipErrorNotInitialized", "initialization error"),
    9: ("hipErrorInvalidConfiguration", "invalid configuration argument"),
    101: ("hipErrorInvalidDevice", "invalid device ordinal"),
    200: ("hipErrorInvalidImage", "device kernel image is invalid"),
    209: ("hipErrorNoBinaryForGpu", "no kernel image is available for execution on the device"),
    400: ("hipErrorInvalidHandle", "invalid resource handle"),
    500: ("hipErrorNotFound", "named symbol not found"),
    700: ("hipErrorIllegalAddress", "an illegal memory access was encountered"),
    719: ("hipErrorLaunchFailure", "unspecified launch failure"),
    999: ("hipErrorUnknown", "unknown error"),
}


class HipError(RuntimeError):
    """An error of HIP, by its number; what CuPy's two classes have in common.

    Attributes
    ----------
    status : int
    """

    def __init__(self, status: int, told: str = "") -> None:
        self.status = status
        name, text = _ERRORS.get(status, ("hipErrorUnknown", f"error {status}"))
        super().__init__(f"{name}: {text}" + (f": {told}" if told else ""))


class CUDARuntimeError(HipError):
    """As `cupy_backends.cuda.api.runtime` has it."""


class CUDADriverError(HipError):
    """As `cupy_backends.cuda.api.driver` has it."""


def wave_of(name: str) -> int | None:
    """Lanes of a wave of an architecture such as "gfx942:xnack-"; None for one nobody knows."""
    base = name.partition(":")[0]
    return 64 if base in WAVE64 else 32 if base in WAVE32 else None


def arch() -> str:
    """The architecture that is pretended, with the features that a device tells."""
    name = os.environ.get("HIP_ON_HOST_ARCH") or "gfx942"
    if wave_of(name) is None:
        raise ValueError(
            f"HIP_ON_HOST_ARCH={name!r} is not an architecture that is known; expected one of "
            f"{', '.join(WAVE64 + WAVE32)}."
        )
    if ":" in name or name not in ("gfx906", "gfx908", "gfx90a", "gfx942", "gfx950"):
        return name
    return f"{name}:sramecc+:xnack-"


def sanitizer() -> str:
    """What texts are compiled with: "", "thread" or "address"."""
    return _one_of("HIP_ON_HOST_SANITIZER", SANITIZERS)


def order() -> tuple[int, int]:
    """The order in which work-items run: 0 forward, 1 reverse, 2 shuffled by the seed."""
    told = os.environ.get("HIP_ON_HOST_ORDER") or "forward"
    found = re.fullmatch(r"forward|reverse|shuffle(?::(\d+))?", told)
    if found is None:
        raise ValueError(
            f"HIP_ON_HOST_ORDER={told!r} is not an order; expected forward, reverse or "
            f"shuffle:SEED."
        )
    return ("forward", "reverse", "shuffle").index(told.partition(":")[0]), int(found[1] or 0)


def memory() -> int:
    """Bytes of the device."""
    return int(number("HIP_ON_HOST_MEMORY", 2 << 30))


def number(variable: str, default: float) -> float:
    """A number of the environment."""
    return float(os.environ.get(variable) or default)


def _one_of(variable: str, known: tuple[str, ...]) -> str:
    told = os.environ.get(variable, "")
    if told not in known:
        raise ValueError(f"{variable}={told!r}: expected one of {', '.join(map(repr, known))}.")
    return told
