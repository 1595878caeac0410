"""What memory spaces keep of freed blocks, of all that this process uses."""

from __future__ import annotations

from ..base.blocks import Kept
from ..contract.memory import HOST, MemorySpace
from .started import started

__all__ = ["pools", "trim_pools"]


def _memory_spaces() -> list[MemorySpace]:
    found: dict[int, MemorySpace] = {id(HOST): HOST}
    for space in started():
        found |= {id(memory): memory for memory in space.memory_spaces}
    return list(found.values())


def pools() -> dict[str, Kept]:
    """Blocks that nobody uses, kept for the next Views, by the names of memory spaces.

    Returns
    -------
    dict of str to Kept
        ``blocks`` and ``nbytes`` of each; of memory that is in use `live_allocations` tells.
    """
    return {memory.name: memory.kept() for memory in _memory_spaces()}


def trim_pools() -> int:
    """Give all of them back to the system and to drivers; returns their bytes.

    What a driver or CuPy keeps in a pool of its own stays there.
    """
    return sum(memory.trim() for memory in _memory_spaces())
