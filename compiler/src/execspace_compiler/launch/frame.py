"""What a launch on a device needs until its kernels are enqueued."""

from __future__ import annotations

from typing import Any


class Frame:
    """State of a launch until its kernels are enqueued; then another launch reuses it.

    Attributes
    ----------
    extra : dict of str to Any
        Memory that kernels take after the Views, in the order of their parameters: "status" of
        assertions, "group" (scratch memory of level 0, if it is an argument), "pool" (of level
        1), "scratch" of reductions, and the "result" for the host.
    record, views : Any
        Results of `CallBuilder.pack`.
    tiles : int
        For a single-pass scan: tiles for which its scratch memory has room.
    epoch : int
        Number of launches of such a scan with this frame.
    shared : int
        Bytes of dynamic group memory that its teams share.
    pool : int
        Bytes of the pool.
    room : tuple of int
        What scratch memory of teams is there for: see `DeviceLaunch.room_of_teams`.
    """

    __slots__ = ("epoch", "extra", "pool", "record", "room", "shared", "tiles", "views")

    def __init__(self, extra: tuple[str, ...]) -> None:
        self.extra: dict[str, Any] = dict.fromkeys(extra)
        self.record: Any = None
        self.views: Any = None
        self.room: tuple[int, ...] = ()
        self.tiles = self.epoch = self.shared = self.pool = 0

    def give(self, name: str, memory: Any) -> None:
        """Set the memory for a name; a backend that stores addresses does it here."""
        self.extra[name] = memory
