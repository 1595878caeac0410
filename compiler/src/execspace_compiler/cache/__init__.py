"""What was compiled, kept on disk: keys, entries, the history of misses, the command.

Backends use what stands here; `disk` says how entries are written, found and thrown away.
"""

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

__all__ = [
    "TAG",
    "contents",
    "discard",
    "files",
    "folder",
    "is_tagged",
    "keep",
    "key",
    "limit_size",
    "location",
    "made_by",
    "read",
    "read_text",
    "size_limit",
    "write",
]
