"""Ranges of NVTX for NVIDIA Nsight Systems: regions, kernels, copies and fences by their labels.

Nsight shows what a GPU does below the range of the host that launched it. Without a profiler
of NVIDIA attached, NVTX does nothing.
"""

from __future__ import annotations

from typing import Any

from execspace import ToolError

from .ranges import Ranges

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
    "section": 0xBBBBBB,
    "dual view": 0x333333,
}


class NvtxRanges(Ranges):
    """Ranges and marks of NVTX, in a domain of their own.

    Parameters
    ----------
    domain : str
        Name of the domain.
    library : object
        Stands in for the package nvtx.
    """

    def __init__(self, domain: str = "execspace", library: Any = None) -> None:
        super().__init__()
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

    def push(self, message: str, category: str) -> None:
        self._domain.push_range(self._named(message, category))

    def pop(self) -> None:
        self._domain.pop_range()

    def begin(self, message: str, category: str) -> Any:
        return self._domain.start_range(self._named(message, category))

    def end(self, begun: Any) -> None:
        self._domain.end_range(begun)

    def mark(self, message: str, category: str) -> None:
        self._domain.mark(self._named(message, category))

    def _named(self, message: str, category: str) -> Any:
        """Attributes of a range; made once, as NVTX registers their text."""
        key = message, category
        if key not in self._attributes:
            self._attributes[key] = self._domain.get_event_attributes(
                message=message, color=COLOURS.get(category, 0), category=category
            )
        return self._attributes[key]
