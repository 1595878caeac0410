"""Ranges for profilers of other makers: what of a program is one, whatever takes them."""

from __future__ import annotations

import threading
from typing import Any

from execspace.profiling import Tool


class Ranges(Tool):
    """Base of tools that give ranges and marks to a library of annotations.

    Regions are pushed and popped, as they nest in their thread. Kernels, graphs, copies, fences
    and sections start and end by number, so those of several threads may interleave. Events of the
    program, compilations, and what is noted of DualViews are marks.
    """

    def __init__(self) -> None:
        self._ranges: dict[int, Any] = {}
        self._thread = threading.local()

    # -- what a library does ---------------------------------------------------------------------

    def push(self, message: str, category: str) -> None:
        """Begin a range within those of this thread."""
        raise NotImplementedError

    def pop(self) -> None:
        """End the innermost range of this thread."""
        raise NotImplementedError

    def begin(self, message: str, category: str) -> Any:
        """Begin a range that `end` is given what this returns for."""
        raise NotImplementedError

    def end(self, begun: Any) -> None:
        """End a range, in whatever thread."""
        raise NotImplementedError

    def mark(self, message: str, category: str) -> None:
        """Mark a moment."""
        raise NotImplementedError

    # -- regions and marks -----------------------------------------------------------------------

    def on_region_push(self, name: str) -> None:
        self.push(name, "region")
        self._thread.depth = getattr(self._thread, "depth", 0) + 1

    def on_region_pop(self) -> None:
        if getattr(self._thread, "depth", 0):  # else it was pushed before the tool began
            self.pop()
            self._thread.depth -= 1

    def on_event(self, name: str) -> None:
        self.mark(name, "event")

    def on_compile(self, kernel: str, from_disk: bool) -> None:
        done = "loaded" if from_disk else "compiled"
        self.mark(f"{kernel} {done}", "compile")

    def on_dual_view_sync(self, label: str, side: str) -> None:
        self.mark(f"sync {label} to {side}", "dual view")

    def on_dual_view_modify(self, label: str, side: str) -> None:
        self.mark(f"modify {label} on {side}", "dual view")

    # -- ranges ----------------------------------------------------------------------------------

    def on_kernel_begin(self, pattern: str, label: str, id: int) -> None:
        self._start(label, pattern, id)

    def on_kernel_end(self, id: int) -> None:
        self._end(id)

    def on_graph_begin(self, label: str, id: int) -> None:
        self._start(label, "graph", id)

    def on_graph_end(self, id: int) -> None:
        self._end(id)

    def on_copy_begin(self, destination: str, source: str, id: int) -> None:
        self._start(f"{source} -> {destination}", "copy", id)

    def on_copy_end(self, id: int) -> None:
        self._end(id)

    def on_fence_begin(self, space: str, label: str, id: int) -> None:
        self._start(label or f"fence of {space}", "fence", id)

    def on_fence_end(self, id: int) -> None:
        self._end(id)

    def on_section_start(self, name: str, id: int) -> None:
        self._start(name, "section", id)

    def on_section_stop(self, id: int) -> None:
        self._end(id)

    def finish(self) -> None:
        """End what is open: all ranges, and the regions of this thread."""
        for id in list(self._ranges):
            self._end(id)
        while getattr(self._thread, "depth", 0):
            self.on_region_pop()

    def _start(self, message: str, category: str, id: int) -> None:
        self._ranges[id] = self.begin(message, category)

    def _end(self, id: int) -> None:
        found = self._ranges.pop(id, None)
        if found is not None:
            self.end(found)
