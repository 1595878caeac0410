"""The on-disk cache of compiled code: keys, entries, the history of misses, the command.

Backends use what is exported here. `disk` writes, finds and deletes entries; `history`, which is
loaded when something is compiled, records why they were not found.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .compiled import Compiled, compiled
from .disk import (
    TAG,
    compiler_version,
    contents,
    discard,
    files,
    folder,
    is_tagged,
    keep,
    key,
    limit_size,
    location,
    read,
    read_text,
    size_limit,
    write,
)

if TYPE_CHECKING:
    from .history import describe_entry, record_miss

__all__ = [
    "TAG",
    "Compiled",
    "compiled",
    "compiler_version",
    "contents",
    "describe_entry",
    "discard",
    "files",
    "folder",
    "is_tagged",
    "keep",
    "key",
    "limit_size",
    "location",
    "read",
    "read_text",
    "record_miss",
    "size_limit",
    "write",
]


def __getattr__(name: str) -> Any:
    if name not in ("describe_entry", "record_miss"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from . import history

    return getattr(history, name)
