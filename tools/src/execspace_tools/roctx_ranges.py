"""Ranges of ROCTX for AMD's rocprofv3: regions, kernels, copies and fences by their labels.

Without a profiler of ROCm attached they go nowhere.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from execspace import ToolError

from .ranges import Ranges


class RoctxRanges(Ranges):
    """Ranges and marks of ROCTX, which has neither domains nor colours.

    Parameters
    ----------
    library : object
        Stands in for the module rocm.bindings.roctx.

    Raises
    ------
    ToolError
        If the package is not installed, or finds no library of ROCm.

    Notes
    -----
    ROCTX: https://rocm.docs.amd.com/projects/rocprofiler-sdk/en/latest/how-to/using-rocprofiler-sdk-roctx.html
    """

    def __init__(self, library: Any = None) -> None:
        super().__init__()
        if library is None:
            try:
                library = import_module("rocm.bindings.roctx")
            except ImportError as error:
                raise ToolError(
                    "Profiling tool 'roctx' needs AMD's package; pip install rocm-bindings-systems."
                ) from error
        self._library = library
        # A call without it raises nothing, and prints a traceback each time.
        if not library.has_symbol("roctxMarkA"):
            raise ToolError(
                "Profiling tool 'roctx' finds no library roctx64 of ROCm; install ROCm, or set "
                "ROCM_PATH to its folder."
            )

    def push(self, message: str, category: str) -> None:
        self._library.roctxRangePushA(_text(message))

    def pop(self) -> None:
        self._library.roctxRangePop()

    def begin(self, message: str, category: str) -> Any:
        found = self._library.roctxRangeStartA(_text(message))
        return found[0] if isinstance(found, tuple) else found

    def end(self, begun: Any) -> None:
        self._library.roctxRangeStop(begun)

    def mark(self, message: str, category: str) -> None:
        self._library.roctxMarkA(_text(message))


def _text(message: str) -> bytes:
    """A message for C, which ends at the first zero."""
    return message.replace("\0", " ").encode()
