"""The on-disk cache of compiled code: keys, entries, the history of misses, the command.

Backends use what is exported here. `disk` writes, finds and deletes entries; `history`, which is
loaded when something is compiled, records why they were not found; `loading` does both for backends
of devices.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

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
    from .loading import Compiled, compiled

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


_LATER = {
    "Compiled": "loading",
    "compiled": "loading",
    "describe_entry": "history",
    "record_miss": "history",
}


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f".{_LATER[name]}", __name__), name)
