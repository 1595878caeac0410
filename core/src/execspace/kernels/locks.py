"""The locks of atomic operations on records, which no instruction changes as a whole.

A table of locks belongs to a memory space, so kernels of all its spaces, instances and streams
exclude each other. The element's address says which lock is its own. Only plans of kernels that
need locks get the table, as one argument more; see `launch/locked.py`.
"""

from __future__ import annotations

from typing import Any

from ..contract.space import ExecutionSpace
from ..views.kept import kept_view
from ..views.view import View

# Name of the capture, and so of the variable, that carries the table; no user's name is like it.
TABLE = "_execspace_locks"
# A power of two; a GPU runs a few hundred thousand threads, of which few are within an operation.
COUNT = 1 << 16


class LocksWanted(Exception):
    """Raised by compilers: the kernel changes records atomically, and its spec has no table."""


def table_of(space: ExecutionSpace) -> View[Any]:
    """The locks of the memory that a space allocates in: int32, 0 where a lock is free.

    Made when it is asked for first.
    """
    where = space.memory_space
    return kept_view(where, (COUNT,), "int32", "locks of atomic operations", space)
