"""What profiling tools are told: a hook specification for each event, with its exact arguments.

A tool implements the events that it wants, with as many of their arguments as it wants, by
their names. Numbers named `id` are unique within a process, whatever they stand for. Spaces and
memory spaces are given by name, sizes in bytes, times in seconds of `time.perf_counter`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import pluggy

if TYPE_CHECKING:
    from ..events.work import Work

GROUP = "execspace.tools"
hookspec = pluggy.HookspecMarker(GROUP)


class ToolSpecs:
    """Events, in the thread that caused them, at the time when they happen.

    As the callbacks of Kokkos Tools: https://github.com/kokkos/kokkos-tools/wiki
    """

    @hookspec
    def on_kernel_begin(
        self,
        pattern: str,
        name: str,
        label: str,
        space: str,
        queue: int,
        policy: Any,
        id: int,
        work: Callable[[], Work | None],
    ) -> None:
        """A kernel is about to be launched.

        Parameters
        ----------
        pattern : str
            "parallel_for", "parallel_reduce" or "parallel_scan"; "library" for what a space gives
            to a library of the device, such as a sort.
        name, label : str
            The kernel's own name, and what the launch is called: the name where the user said
            nothing.
        space : str
        queue : int
            0 is the space itself; its instances count from 1 on, in the order in which they were
            used first.
        policy : RangePolicy, MDRangePolicy, TeamPolicy or None
            None for a library.
        id : int
        work : callable
            Tells the bytes and operations of this launch, None where the space cannot count them.
            To be called in this event or not at all.
        """

    @hookspec
    def on_kernel_end(self, id: int) -> None:
        """The launch returned, or raised. Asynchronous spaces may still be at work."""

    @hookspec
    def on_device_time(self, id: int, start: float, end: float) -> None:
        """When the work of a kernel, graph or copy ran, told once it is known.

        Only for tools that have ``device_times = True``. On a space that is not asynchronous these
        are the times of the call. Nothing is fenced for it: an asynchronous space marks places in
        its queue and is asked later when it passed them. A tool may be told of work that began
        before it was attached.
        """

    @hookspec
    def on_graph_begin(self, label: str, space: str, queue: int, kernels: int, id: int) -> None:
        """A graph of so many kernels is about to be launched. No space has graphs so far."""

    @hookspec
    def on_graph_end(self, id: int) -> None:
        """The launch of the graph returned, or raised."""

    @hookspec
    def on_compile(self, kernel: str, space: str, seconds: float, from_disk: bool) -> None:
        """A kernel was made ready for a new combination of argument types.

        `from_disk`: its machine code was found in the cache on disk.
        """

    @hookspec
    def on_copy_begin(
        self, destination: str, source: str, nbytes: int, space: str, queue: int, id: int
    ) -> None:
        """A deep_copy begins.

        `destination` and `source` are ``label@memory space``; "number" if there is no source View.
        `space` is that of the instance in whose order it runs; empty if it blocks.
        """

    @hookspec
    def on_copy_end(self, id: int) -> None:
        """The deep_copy returned, or raised; given an instance, it may still be at work."""

    @hookspec
    def on_staging(self, space: str, nbytes: int) -> None:
        """A deep_copy goes through a buffer that it allocates in that memory space."""

    @hookspec
    def on_allocate(self, space: str, label: str, nbytes: int, id: int) -> None:
        """A View's memory was allocated in a memory space."""

    @hookspec
    def on_free(self, space: str, label: str, nbytes: int, id: int) -> None:
        """A View's memory was released; `id` is that of its allocation."""

    @hookspec
    def on_fence_begin(self, space: str, queue: int, label: str, id: int) -> None:
        """The host begins to wait for a space and its instances, or for one instance."""

    @hookspec
    def on_fence_end(self, id: int) -> None:
        """The host goes on."""

    @hookspec
    def on_region_push(self, name: str) -> None:
        """The thread enters a region of the program, within those that it is in."""

    @hookspec
    def on_region_pop(self, name: str) -> None:
        """The thread leaves the innermost of its regions."""

    @hookspec
    def on_event(self, name: str) -> None:
        """The program marks a moment."""

    @hookspec
    def on_section_start(self, name: str, id: int) -> None:
        """A section starts, in whatever thread; `id` is that of the section, the same each time."""

    @hookspec
    def on_section_stop(self, name: str, id: int) -> None:
        """The section stops; it may have started before the tool was attached."""

    @hookspec
    def on_metadata(self, key: str, value: str | int | float | bool) -> None:
        """A fact of the run.

        A tool that has this method is told when it is attached of all that is known by then, see
        `known_metadata`, and then of what the program declares.
        """

    @hookspec
    def on_dual_view_sync(self, label: str, side: str, nbytes: int) -> None:
        """A side of a DualView, "host" or "device", lacks changes and is brought up to date.

        `nbytes`: of the copy that follows, 0 where both sides are one memory.
        """

    @hookspec
    def on_dual_view_modify(self, label: str, side: str) -> None:
        """The program notes that it has changed a side of a DualView."""

    @hookspec
    def on_pause(self) -> None:
        """Tools hear nothing from here on, but the ends of what has begun.

        A tool that is attached in a pause is told at once.
        """

    @hookspec
    def on_resume(self) -> None:
        """Tools hear again; what was allocated and freed meanwhile was not told."""

    @hookspec
    def on_any(self, event: str, arguments: Mapping[str, Any]) -> None:
        """Any of the events above, with its name and its arguments by name."""
