"""Ranges of NVTX for NVIDIA Nsight Systems: regions, kernels, copies and fences by their labels.

Nsight shows what a GPU does below the range of the host that launched it. Without a profiler
of NVIDIA attached, NVTX does nothing.
"""

from __future__ import annotations

import threading
from typing import Any

from execspace import ToolError
from execspace.profiling import Tool

COLOURS = {  # one for each category; told apart by the colour-blind (Okabe and Ito)
    "region": 0x999999,
    "parallel_for": 0x0072B2,
    "parallel_reduce": 0xE69F00,
    "parallel_scan": 0x009E73,
    "library": 0xCC79A7,
    "graph": 0x56B4E9,
    "copy": 0xF0E442,
    "fence": 0xD55E00,
    "event": 0x000000,
    "compile": 0x666666,
}


class NvtxRanges(Tool):
    """Ranges and marks of NVTX, in a domain of their own.

    Regions are pushed and popped, as they nest in their thread. Kernels, graphs, copies and fences
    start and end by number, so those of several threads may interleave. Events of the program and
    compilations are marks.

    Parameters
    ----------
    domain : str
        Name of the domain.
    library : object
        Stands in for the package nvtx.
    """

    def __init__(self, domain: str = "execspace", library: Any = None) -> None:
        if library is None:
            try:
                import nvtx
            except ImportError as error:
                raise ToolError(
                    "Profiling tool 'nvtx' needs the package nvtx; pip install nvtx."
                ) from error
            library = nvtx
        self._domain = library.get_domain(domain)
        self._attributes: dict[tuple[str, str], Any] = {}
        self._ranges: dict[int, Any] = {}
        self._thread = threading.local()

    # -- regions and marks -----------------------------------------------------------------------

    def on_region_push(self, name: str) -> None:
        self._domain.push_range(self._named(name, "region"))
        self._thread.depth = getattr(self._thread, "depth", 0) + 1

    def on_region_pop(self) -> None:
        if getattr(self._thread, "depth", 0):  # else it was pushed before the tool began
            self._domain.pop_range()
            self._thread.depth -= 1

    def on_event(self, name: str) -> None:
        self._domain.mark(self._named(name, "event"))

    def on_compile(self, kernel: str, from_disk: bool) -> None:
        done = "loaded" if from_disk else "compiled"
        self._domain.mark(self._named(f"{kernel} {done}", "compile"))

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

    def finish(self) -> None:
        """End what is open: all ranges, and the regions of this thread."""
        for id in list(self._ranges):
            self._end(id)
        while getattr(self._thread, "depth", 0):
            self.on_region_pop()

    def _start(self, message: str, category: str, id: int) -> None:
        self._ranges[id] = self._domain.start_range(self._named(message, category))

    def _end(self, id: int) -> None:
        found = self._ranges.pop(id, None)
        if found is not None:
            self._domain.end_range(found)

    def _named(self, message: str, category: str) -> Any:
        """Attributes of a range; made once, as NVTX registers their text."""
        key = message, category
        if key not in self._attributes:
            self._attributes[key] = self._domain.get_event_attributes(
                message=message, color=COLOURS.get(category, 0), category=category
            )
        return self._attributes[key]
