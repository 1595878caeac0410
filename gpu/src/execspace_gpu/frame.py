"""The arguments of a launch as the driver takes them.

Kernels take one struct of numbers and then addresses: of Views, and of memory that a launch has
beside them. All lie in one buffer, which the driver copies when it is called, so a buffer serves
one launch after the other.
"""

from __future__ import annotations

import ctypes
import struct
from array import array
from typing import Any

from execspace_compiler.backend import Frame


class BufferFrame(Frame):
    """A buffer for the arguments of a launch, and the addresses in it that the driver wants.

    Attributes
    ----------
    buffer : bytearray
    parameters : int
        Address of the table of addresses.
    """

    __slots__ = ("_fixed", "_owners", "buffer", "parameters")

    def __init__(self, extra: tuple[str, ...], record: int, views: int) -> None:
        """A frame for a struct of so many bytes, and so many Views."""
        super().__init__(extra)
        first, count = record + 8 * views, views + len(extra)
        self._fixed = {name: first + 8 * n for n, name in enumerate(extra)}
        self.buffer = bytearray(record + 8 * count)
        view = (ctypes.c_char * len(self.buffer)).from_buffer(self.buffer)
        start = ctypes.addressof(view)
        addresses = array("Q", [start, *(start + record + 8 * n for n in range(count))])
        self.parameters = addresses.buffer_info()[0]
        self._owners = view, addresses

    def give(self, name: str, memory: Any) -> None:
        super().give(name, memory)
        struct.pack_into("=Q", self.buffer, self._fixed[name], int(memory.ptr))
