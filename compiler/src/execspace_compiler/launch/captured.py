"""Launches of a graph on a device: what they enqueue is kept, and each has a frame of its own."""

from __future__ import annotations

import copy
from typing import Any, Self

from .device_launch import DeviceLaunch, P
from .frame import Frame

_OF_ONE_LAUNCH = ("fitting", "private")  # cached properties that may know it


class _Frames(list[Frame]):
    """Frames that no second launch gets, for a graph replays all of its launches."""

    def pop(self, index: Any = -1) -> Frame:
        raise IndexError("each launch of a graph has a frame of its own")


class CapturedLaunch(DeviceLaunch[P]):
    """A launch of a graph; derive from it and from the `DeviceLaunch` of a backend.

    Backends override `enqueue`, or what they enqueue on, and may override `taken_over`.

    Attributes
    ----------
    used : list of Frame
        Of all launches that the graph has of this kernel: it keeps their memory.
    """

    used: list[Frame]

    @classmethod
    def of(cls, launch: DeviceLaunch[P]) -> Self:
        """The same launch, to be captured; nothing is compiled."""
        made = copy.copy(launch)
        for name in _OF_ONE_LAUNCH:
            made.__dict__.pop(name, None)
        made.__class__ = cls
        assert isinstance(made, cls)
        made._within = {}
        made.used = _Frames()
        made.taken_over(launch)
        return made

    def taken_over(self, launch: DeviceLaunch[P]) -> None:
        """Set what captured launches have of their own; may. `launch` is what this one is made of,
        or one of the same graph."""

    def with_sources(self, sources: Any) -> Self:
        made = super().with_sources(sources)
        made.used = self.used
        made.taken_over(self)
        return made

    def new_frames(self) -> list[Frame]:
        return self.used
