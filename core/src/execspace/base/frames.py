"""Which frames of a stack are execspace's, and which is the user's program.

Apart from tracebacks.py, for launches need it where nothing has gone wrong.
"""

from __future__ import annotations

import sys
from types import FrameType


def program_level() -> int:
    """`stacklevel` of a warning that the caller gives, for the place in the user's program."""
    frame: FrameType | None = sys._getframe(1)
    level = 1
    while frame is not None and is_own(frame):
        frame, level = frame.f_back, level + 1
    return level


def package_of(frame: FrameType) -> str:
    """Name of the package whose code a frame runs."""
    return str(frame.f_globals.get("__name__", "")).partition(".")[0]


def is_own(frame: FrameType) -> bool:
    """Whether a frame is of execspace, or of code that it has written into a user's module."""
    package = package_of(frame)
    generated = frame.f_code.co_filename.startswith("<execspace ")
    return generated or package == "execspace" or package.startswith("execspace_")
