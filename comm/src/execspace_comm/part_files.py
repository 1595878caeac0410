"""Files of a checkpoint: written so that the disk has them, and verified when they are read."""

from __future__ import annotations

import os
import zlib
from typing import Any

from .errors import CommError

__all__ = ["checked_path", "sync", "sync_folder", "verify"]


def sync(file: Any) -> None:
    """Have what is written on the disk."""
    file.flush()
    os.fsync(file.fileno())


def sync_folder(folder: str) -> None:
    """Have the names of a folder on the disk, where the system has a way to."""
    try:
        number = os.open(folder, os.O_RDONLY)
    except OSError:
        return
    try:
        os.fsync(number)
    except OSError:
        pass
    finally:
        os.close(number)


def checked_path(folder: str, part: Any) -> str:
    """Path of a file; CommError if it is missing, or has not as many bytes as it should."""
    path = os.path.join(folder, part["file"])
    try:
        found = os.path.getsize(path)
    except FileNotFoundError:
        raise CommError(
            f"file {_short(path)!r} is missing, or this rank does not see it; expected a folder "
            f"that all ranks share."
        ) from None
    if found != part["nbytes"]:
        raise CommError(
            f"file {_short(path)!r} is damaged: it has {found:,} bytes; expected "
            f"{part['nbytes']:,}."
        )
    return path


def verify(path: str, at: int, block: Any, checksum: int) -> None:
    """CommError if bytes are not those that were written."""
    found = zlib.crc32(block)
    if found != checksum:
        raise CommError(
            f"file {_short(path)!r} is damaged: the checksum of {len(block):,} bytes from byte "
            f"{at:,} on is {found:08x}; expected {checksum:08x}."
        )


def _short(path: str) -> str:
    """A path within a checkpoint."""
    return "/".join(path.split(os.sep)[-2:])
