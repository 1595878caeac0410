"""What was compiled, kept on disk: keys, entries, the history of misses, the command.

Backends use what is here; `disk` says how entries are written, found and thrown away, and
`history`, which is loaded when something is compiled, why they were not found.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .compiled import Compiled, compiled
from .disk import (
    TAG,
    contents,
    discard,
    files,
    folder,
    is_tagged,
    keep,
    key,
    limit_size,
    location,
    made_by,
    read,
    read_text,
    size_limit,
    write,
)

if TYPE_CHECKING:
    from .history import describe_entry, note_miss

__all__ = [
    "TAG",
    "Compiled",
    "compiled",
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
    "made_by",
    "note_miss",
    "read",
    "read_text",
    "size_limit",
    "write",
]


def __getattr__(name: str) -> Any:
    if name not in ("describe_entry", "note_miss"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from . import history

    return getattr(history, name)
