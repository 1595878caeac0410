"""Which GPU a name such as `cuda:1` means, and what a platform's errors mean to a program.

Some faults take the whole context with them. Then all memory and work of the device is lost, and
each later use says so.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from cupy_backends.cuda.api import driver, runtime

from execspace import ContextLostError, SpaceError, SpaceUnavailableError

ERRORS: tuple[type[Exception], ...] = (runtime.CUDARuntimeError, driver.CUDADriverError)

ERRORS_OR_MEMORY: tuple[type[Exception], ...] = (MemoryError, *ERRORS)

# Of cudaError_t, CUresult and hipError_t, which share their numbers here: the context cannot be
# used any more.
_FATAL = {
    214: "an uncorrectable error of the memory",
    220: "an uncorrectable error of the link between devices",
    700: "an access to an illegal address",
    702: "the time limit of the system was exceeded",
    709: "the context is destroyed",
    710: "a device-side assertion failed",
    714: "a corrupted call stack or no room for it",
    715: "an illegal instruction",
    716: "an access to a misaligned address",
    717: "an access to an illegal address, of another kind of memory",
    718: "a jump to an illegal address",
    719: "an exception on the device, such as a trap",
    721: "an error of tensor memory or of a launch of several devices",
}
_OUT_OF_MEMORY = 2
NO_CONTEXT = (201, 400)  # of the thread, or of another device than the kernel
_NOT_STARTED = 3


def number_of(name: str | None, short: str, title: str) -> int:
    """Number of the device that a name means; without one the first.

    `short` is the name of the platform's spaces, and `title` that of the platform.

    Raises
    ------
    SpaceError, SpaceUnavailableError
    """
    try:
        count = int(runtime.getDeviceCount())
    except runtime.CUDARuntimeError as error:
        raise SpaceUnavailableError(
            f"Space '{short}': {title} does not start ({error})."
        ) from error
    if name is None:
        return 0
    if not name.isdecimal() or int(name) >= count:
        known = ", ".join(f"{n} ({name_of(n)})" for n in range(count))
        raise SpaceError(f"Space '{short}': there is no device '{name}'; there are {known}.")
    return int(name)


def name_of(number: int) -> str:
    """A device in words."""
    return str(runtime.getDeviceProperties(number)["name"].decode())


@contextmanager
def on_device(number: int) -> Iterator[None]:
    """Make a device that of the calling thread for the time of the block."""
    before = runtime.getDevice()
    if before == number:
        yield
        return
    runtime.setDevice(number)
    try:
        yield
    finally:
        runtime.setDevice(before)


def is_out_of_memory(error: Any) -> bool:
    """Whether CuPy or the platform says that there is not so much memory."""
    return isinstance(error, MemoryError) or getattr(error, "status", 0) == _OUT_OF_MEMORY


class Faults:
    """Turns errors of a platform into exceptions, and remembers the loss of a device's context.

    Attributes
    ----------
    lost : str or None
        What became of the context.
    """

    def __init__(self, number: int, short: str, title: str) -> None:
        self.number, self.short, self.title = number, short, title
        self.lost: str | None = None
        self._process = os.getpid()

    def exception(self, what: str, error: Any, launches: list[str]) -> Exception:
        """The exception to raise.

        Parameters
        ----------
        what : str
            What was done when the error came up, in a word or two.
        error : exception of CuPy
        launches : list of str
            Kernels that were launched since the device was last known to be well; the earliest are
            left out if there are very many.
        """
        status = int(getattr(error, "status", 0))
        device = f"device {self.short}:{self.number} ({_name(self.number)})"
        if self._process != os.getpid():
            return SpaceError(
                f"{what}: {device} was used before this process was forked, and {self.title} "
                f"does not survive that. Start processes with multiprocessing's 'spawn'."
            )
        if self.lost is not None:
            return ContextLostError(f"{what}: {self.lost}")
        if status in _FATAL:
            self.lost = (
                f"{_culprits(launches)}: {_FATAL[status]} ({error}). The context of {device} is "
                f"lost, and with it all Views in its memory and all work that was under way. "
                f"Start the program again."
            )
            more = "" if len(launches) < 2 else (
                f" EXECSPACE_{self.short.upper()}_BLOCKING=1 reports a fault at the launch that it "
                f"stems from."
            )  # fmt: skip
            return ContextLostError(f"{self.lost}{more}")
        if is_out_of_memory(error):
            return MemoryError(
                f"{what}: {device} has not enough memory ({error}). Drop Views that are no longer "
                f"needed, or make the launch smaller."
            )
        return SpaceError(f"{what}: {self.title} reports an error on {device} ({error}).")


def _name(number: int) -> str:
    try:
        return name_of(number)
    except ERRORS:
        return "lost"


def _culprits(launches: list[str]) -> str:
    found = list(dict.fromkeys(launches))
    if not found:
        return "A fault of work that execspace did not launch"
    if len(found) == 1:
        return f"A fault of kernel {found[0]}"
    return f"A fault of one of the kernels {', '.join(found[:-1])} and {found[-1]}"
