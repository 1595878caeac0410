"""The C library's standard output, to which kernels print."""

from __future__ import annotations

import ctypes
import sys
from functools import cache
from typing import Any


@cache
def _library() -> Any:
    return ctypes.CDLL("msvcrt" if sys.platform == "win32" else None)


def flush_c_output() -> None:
    """Flush the buffer of printf. Blocks until it is written."""
    _library().fflush(None)
