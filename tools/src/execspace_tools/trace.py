"""A timeline of a program: what its threads called, and when spaces really did it.

Written in the Trace Event Format, which https://ui.perfetto.dev and chrome://tracing open. While
the program runs, events are only kept; `trace_file` makes tracks of them at the end.
"""

from __future__ import annotations

import builtins
import sys
import threading
import time
from datetime import datetime
from pathlib import Path
from typing import Any

from execspace import ToolError, live_allocations
from execspace.profiling import Tool, current_regions, known_metadata

from .trace_file import Change, Moment, Recording, Slice, Thread, Written, write

_OF_A_CALL = 4  # events in the file: on the host, on the device, both ends of the arrow between


class Trace(Tool):
    """Writes a timeline that browsers show.

    Parameters
    ----------
    path : str
        The file, written when the tool finishes; compressed if it ends in ``.gz``.
    limit : int
        Events that are kept. What comes later is counted, and left out.

    Attributes
    ----------
    written : Written or None
        What the file has, once it is there.

    Raises
    ------
    ToolError
        If the file's folder does not exist, or `limit` is not positive.

    Examples
    --------
    >>> import json, tempfile
    >>> from pathlib import Path
    >>> import execspace as es
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = Path(folder.name, "trace.json")
    >>> with es.profile(f"trace:{path}"), es.profiling.region("step"):
    ...     es.parallel_for(4, lambda i: None, label="nothing")
    >>> events = json.loads(path.read_text())["traceEvents"]
    >>> sum(event["name"] == "nothing" for event in events)  # on the host and on the space
    2
    >>> folder.cleanup()
    """

    device_times = True

    def __init__(self, path: str = "trace.json", limit: int = 1_000_000) -> None:
        self.path = Path(path)
        if not self.path.parent.is_dir():
            raise ToolError(
                f"Tool 'trace': path={path!r}; its folder does not exist. Make it, or name another."
            )
        if self.path.is_dir():
            raise ToolError(f"Tool 'trace': path={path!r} is a folder; expected a file.")
        if limit < 1:
            raise ToolError(f"Tool 'trace': limit={limit}; expected 1 or more events.")
        self.limit = limit
        self.written: Written | None = None
        self._started = time.perf_counter_ns()
        self._date = datetime.now().astimezone().isoformat(timespec="milliseconds")
        self._lock = threading.RLock()  # a View that is freed meanwhile tells of it in this thread
        self._local = threading.local()
        self._threads: list[Thread] = []
        self._running: dict[int, Slice] = {}
        self._untimed: dict[int, Slice] = {}  # no device time came so far
        self._sections: list[Slice] = []
        self._open_sections: dict[int, Slice] = {}
        self._changes: list[Change] = []
        self._before: dict[str, int] | None = None  # bytes that were there before the first change
        self._kept = self._dropped = 0

    # -- what is called -----------------------------------------------------------------------

    def on_kernel_begin(
        self, pattern: str, name: str, label: str, space: str, queue: int, policy: Any, id: int
    ) -> None:
        args = {"pattern": pattern, "kernel": name, "space": space, "queue": queue, "id": id}
        if policy is not None:
            args["policy"] = repr(policy)
        self._begin(id, label, "launch", args, (space, queue), pattern)

    def on_kernel_end(self, id: int) -> None:
        self._end(id)

    def on_graph_begin(self, label: str, space: str, queue: int, kernels: int, id: int) -> None:
        args = {"kernels": kernels, "space": space, "queue": queue, "id": id}
        self._begin(id, label, "launch", args, (space, queue), "graph")

    def on_graph_end(self, id: int) -> None:
        self._end(id)

    def on_copy_begin(
        self, destination: str, source: str, nbytes: int, space: str, queue: int, id: int
    ) -> None:
        args = {"destination": destination, "source": source, "nbytes": nbytes, "id": id}
        if not space:  # it blocks: the call is all there is to see
            self._begin(id, "deep_copy", "copy", args)
            return
        args |= {"space": space, "queue": queue}
        self._begin(id, "deep_copy", "copy", args, (space, queue), "copy")

    def on_copy_end(self, id: int) -> None:
        self._end(id)

    def on_fence_begin(self, space: str, queue: int, label: str, id: int) -> None:
        args = {"space": space, "queue": queue, "label": label, "id": id}
        self._begin(id, f"fence: {label}" if label else "fence", "fence", args)

    def on_fence_end(self, id: int) -> None:
        self._end(id)

    def on_device_time(self, id: int, start: float, end: float) -> None:
        found = self._untimed.pop(id, None)
        if found is not None:
            found.device = round(start * 1e9), round(end * 1e9)

    def on_compile(self, kernel: str, space: str, seconds: float, from_disk: bool) -> None:
        thread = self._thread()
        end = thread.now()
        if self._room(1):
            start = thread.free_since(end - round(seconds * 1e9))
            args = {"kernel": kernel, "space": space, "seconds": seconds, "cache hit": from_disk}
            thread.slices.append(
                Slice(f"compile {kernel}", "compile", args, start, end=max(end, start + 1))
            )

    # -- the program --------------------------------------------------------------------------

    def on_region_push(self, name: str) -> None:
        thread = self._thread(current_regions()[:-1])
        thread.regions.append(self._slice(thread, name, "region", {}))

    def on_region_pop(self, name: str) -> None:
        thread = self._thread((*current_regions(), name))
        found = thread.regions.pop() if thread.regions else None
        if found is not None:
            found.end = thread.now()

    def on_event(self, name: str) -> None:
        self._moment(name, "event", {})

    def on_section_start(self, name: str, id: int) -> None:
        with self._lock:
            if self._room(1):
                made = Slice(name, "section", {"id": id}, time.perf_counter_ns(), id=id)
                self._sections.append(made)
                self._open_sections[id] = made

    def on_section_stop(self, id: int) -> None:
        with self._lock:
            found = self._open_sections.pop(id, None)
            if found is not None:
                found.end = max(time.perf_counter_ns(), found.start + 1)

    def on_dual_view_sync(self, label: str, side: str, nbytes: int) -> None:
        args = {"label": label, "side": side, "nbytes": nbytes}
        self._moment("DualView sync", "dual view", args)

    def on_dual_view_modify(self, label: str, side: str) -> None:
        self._moment("DualView modify", "dual view", {"label": label, "side": side})

    def on_pause(self) -> None:
        self._moment("tools paused", "pause", {})

    def on_resume(self) -> None:
        """Also put memory right: nothing was told of what came and went."""
        self._moment("tools resumed", "pause", {})
        with self._lock:
            if self._before is None:
                return
            there = dict.fromkeys(self._before, 0)
            for space, size, _ in live_allocations():
                there[space] = there.get(space, 0) + size
            known = self._before.copy()
            for change in self._changes:
                known[change.space] = known.get(change.space, 0) + change.nbytes
            for space in known | there:
                change_by = there.get(space, 0) - known.get(space, 0)
                if change_by and self._room(1):
                    self._changes.append(Change(space, change_by, time.perf_counter_ns()))

    # -- memory -------------------------------------------------------------------------------

    def on_staging(self, space: str, nbytes: int) -> None:
        self._moment("staging", "staging", {"memory space": space, "nbytes": nbytes})

    def on_allocate(self, space: str, nbytes: int) -> None:
        self._change(space, nbytes)

    def on_free(self, space: str, nbytes: int) -> None:
        self._change(space, -nbytes)

    def _change(self, space: str, nbytes: int) -> None:
        with self._lock:
            if self._before is None:
                before = {space: -nbytes}  # this change is in the list below already
                for name, size, _ in live_allocations():
                    before[name] = before.get(name, 0) + size
                self._before = before
            if self._room(1):
                self._changes.append(Change(space, nbytes, time.perf_counter_ns()))

    # -- keeping ------------------------------------------------------------------------------

    def _room(self, events: int) -> bool:
        """Whether that many more are kept; they are counted either way."""
        with self._lock:
            fits = self._kept + events <= self.limit
            if fits:
                self._kept += events
            else:
                self._kept = self.limit  # nothing later is kept, so that the end of the file is one
                self._dropped += 1
            return fits

    def _thread(self, regions: tuple[str, ...] | None = None) -> Thread:
        """What is kept of this thread; `regions` are those that it was in before this event."""
        found: Thread | None = getattr(self._local, "thread", None)
        if found is None:
            found = Thread(threading.current_thread().name, self._started)
            with self._lock:
                self._threads.append(found)
            self._local.thread = found
            # They were entered before the tool came, or it would have heard of this thread.
            for name in current_regions() if regions is None else regions:
                found.regions.append(self._slice(found, name, "region", {}, self._started))
        return found

    def _slice(
        self, thread: Thread, name: str, category: str, args: dict[str, Any], start: int = 0
    ) -> Slice | None:
        if not self._room(1):
            return None
        made = Slice(name, category, args, start or thread.now())
        thread.slices.append(made)
        return made

    def _begin(
        self,
        id: int,
        name: str,
        category: str,
        args: dict[str, Any],
        queue: tuple[str, int] | None = None,
        work: str = "",
    ) -> None:
        """A call begins; if it gives `work` to a queue, a time of that is going to come."""
        thread = self._thread()
        if not self._room(1 if queue is None else _OF_A_CALL):
            return
        made = Slice(name, category, args, thread.now(), queue=queue, work=work, id=id)
        error = sys.exception()
        made.handled = 0 if error is None else builtins.id(error)
        thread.slices.append(made)
        self._running[id] = made
        if queue is not None:
            self._untimed[id] = made

    def _end(self, id: int) -> None:
        found = self._running.pop(id, None)
        if found is None:
            return
        found.end = self._thread().now()
        error = sys.exception()
        # Within an `except` of the caller there is one all along.
        if error is not None and builtins.id(error) != found.handled:
            found.raised = True
            found.args["raised"] = type(error).__name__

    def _moment(self, name: str, category: str, args: dict[str, Any]) -> None:
        thread = self._thread()
        if self._room(1):
            thread.moments.append(Moment(name, category, args, thread.now()))

    # -- the file -----------------------------------------------------------------------------

    def finish(self) -> None:
        """Write the file."""
        for thread in self._threads:
            thread.close()
        for found in self._sections:
            found.end = found.end or max(time.perf_counter_ns(), found.start + 1)
        self.written = write(
            self.path,
            Recording(
                self._started, self._date, self._threads, self._sections, self._changes,
                self._before or {}, self.limit, self._dropped, known_metadata(),
            ),
        )  # fmt: skip

    def report(self) -> str:
        """Where the file is, what it lacks, and how to open it."""
        if self.written is None:
            return f"trace: {self._kept:,} events so far; '{self.path}' is written at the end."
        lines = [
            f"trace: {self.written.events:,} events in '{self.path}'; open it at "
            f"https://ui.perfetto.dev or in chrome://tracing"
        ]
        lines += [f"  {what}: {count:,}" for what, count in self.written.lacks if count]
        return "\n".join(lines)
