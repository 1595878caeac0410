"""What this distribution announces to execspace. Imports nothing heavy.

A factory's parameters are the options of its tool, with the defaults that users see; the module
of a tool is imported when it is chosen.
"""

from __future__ import annotations

from collections.abc import Iterable

from execspace import ToolEntry, hookimpl
from execspace.profiling import Tool


def kernel_timer(
    path: str = "",
    sort: str = "total",
    limit: int = 0,
    copies: bool = False,
    fences: bool = False,
) -> Tool:
    """A table of kernels; see `kernel_timer.KernelTimer`."""
    from .kernel_timer import KernelTimer

    return KernelTimer(path, sort, limit, copies, fences)


def space_time_stack(path: str = "", threshold: float = 0.1) -> Tool:
    """Trees of regions and kernels; see `space_time_stack.SpaceTimeStack`."""
    from .space_time_stack import SpaceTimeStack

    return SpaceTimeStack(path, threshold)


def memory_events(path: str = "", limit: int = 1000, copies: bool = False) -> Tool:
    """A log of allocations; see `memory_events.MemoryEvents`."""
    from .memory_events import MemoryEvents

    return MemoryEvents(path, limit, copies)


def memory_high_water(path: str = "", limit: int = 10) -> Tool:
    """Peaks of memory; see `memory_high_water.MemoryHighWater`."""
    from .memory_high_water import MemoryHighWater

    return MemoryHighWater(path, limit)


def memory_usage(path: str = "", interval: float = 0.01, limit: int = 100_000) -> Tool:
    """Memory over time; see `memory_usage.MemoryUsage`."""
    from .memory_usage import MemoryUsage

    return MemoryUsage(path, interval, limit)


def trace(path: str = "trace.json", limit: int = 1_000_000) -> Tool:
    """A timeline for Perfetto; see `trace.Trace`."""
    from .trace import Trace

    return Trace(path, limit)


def nvtx(domain: str = "execspace") -> Tool:
    """Ranges for NVIDIA Nsight; see `nvtx_ranges.NvtxRanges`."""
    from .nvtx_ranges import NvtxRanges

    return NvtxRanges(domain)


def roctx() -> Tool:
    """Ranges for AMD's rocprofv3; see `roctx_ranges.RoctxRanges`."""
    from .roctx_ranges import RoctxRanges

    return RoctxRanges()


def logger(path: str = "", events: str = "", match: str = "") -> Tool:
    """Events as lines; see `logger.Logger`."""
    from .logger import Logger

    return Logger(path, events, match)


def roofline(path: str = "", plot: str = "", peaks: bool = True, anew: bool = False) -> Tool:
    """Kernels against the roofs of their device; see `roofline.Roofline`."""
    from .roofline import Roofline

    return Roofline(path, plot, peaks, anew)


def kernel_filter(match: str = "", exclude: str = "", tool: str = "kernel-timer") -> Tool:
    """Another tool, told of some kernels; see `filters.KernelFilter`."""
    from .filters import KernelFilter

    return KernelFilter(tool, match, exclude)


def sampler(
    every: int = 10, probability: float = 1.0, seed: int = 0, tool: str = "kernel-timer"
) -> Tool:
    """Another tool, told of some launches; see `filters.Sampler`."""
    from .filters import Sampler

    return Sampler(tool, every, probability, seed)


@hookimpl
def execspace_register_tools() -> Iterable[ToolEntry]:
    """All tools of this distribution."""
    yield ToolEntry("kernel-timer", kernel_timer, "calls and times of each kernel")
    yield ToolEntry(
        "space-time-stack", space_time_stack, "times by region and kernel, memory at its peak"
    )
    yield ToolEntry("memory-events", memory_events, "each allocation and release of Views' memory")
    yield ToolEntry(
        "memory-high-water", memory_high_water, "the most memory that was in use, and by what"
    )
    yield ToolEntry("memory-usage", memory_usage, "memory of the process and of Views, over time")
    yield ToolEntry("trace", trace, "a timeline for Perfetto or chrome://tracing")
    yield ToolEntry("nvtx", nvtx, "ranges for NVIDIA Nsight Systems")
    yield ToolEntry("roctx", roctx, "ranges for AMD's rocprofv3")
    yield ToolEntry("logger", logger, "each event as it happens")
    yield ToolEntry("roofline", roofline, "kernels against the roofs of their device")
    yield ToolEntry(
        "kernel-filter", kernel_filter, "another tool, told of kernels that match a pattern"
    )
    yield ToolEntry("sampler", sampler, "another tool, told of every n-th launch of each kernel")
