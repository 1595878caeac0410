"""Names that an entry in LLVM IR and whoever loads it agree on."""

from __future__ import annotations

NAME = "execspace_entry"
TABLE = "execspace_objects"
"""A table of the addresses of Python's objects that the entry uses; whoever loads it fills it."""

OBJECTS = ("process", "none", "descriptor", "item", "refuse", "overlapping", "finish", "misused")
"""What is in the table. The int64 of `process` is 1, or -1 where there must be no threads."""
