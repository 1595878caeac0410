"""Tracks of what `trace` recorded, and their file in the Trace Event Format.

https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU
Times are nanoseconds until they are written, in microseconds. Slices of one track are nested or
apart, never half and half: viewers drop slices that are not.
"""

from __future__ import annotations

import gzip
import json
import os
import platform
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple, TextIO

Event = dict[str, Any]
Queue = tuple[str, int]  # name of a space, number of the queue


@dataclass(slots=True)
class Slice:
    """Something with a beginning and an end in one thread; `device`: when its work really ran."""

    name: str
    category: str
    args: dict[str, Any]
    start: int
    end: int = 0  # not yet
    queue: Queue | None = None
    work: str = ""  # the category of its work on the device
    id: int = 0
    device: tuple[int, int] | None = None
    handled: int = 0
    raised: bool = False


class Moment(NamedTuple):
    """Something without a length."""

    name: str
    category: str
    args: dict[str, Any]
    time: int


class Change(NamedTuple):
    """Bytes that a memory space gave away, or got back."""

    space: str
    nbytes: int
    time: int


@dataclass(slots=True)
class Thread:
    """What one thread did, in the order in which it began; its times are never the same twice."""

    name: str
    last: int  # of its times; at first when the recording began
    slices: list[Slice] = field(default_factory=list)
    moments: list[Moment] = field(default_factory=list)
    regions: list[Slice | None] = field(default_factory=list)  # that are open; None: not kept
    since: int = field(init=False)

    def __post_init__(self) -> None:
        self.since = self.last

    def now(self) -> int:
        """The time, later than all times of this thread before."""
        self.last = max(time.perf_counter_ns(), self.last + 1)
        return self.last

    def free_since(self, start: int) -> int:
        """`start`, or later: nothing that began before it may be open, or end after it."""
        for other in reversed(self.slices):
            if not other.end:
                return max(start, other.start + 1)
            if other.end <= start:
                break
            if other.start <= start:
                return other.end
        return max(start, self.since)

    def close(self) -> None:
        """Nothing more is going to be told: what is open ends now, the innermost first."""
        for found in reversed(self.slices):
            if not found.end:
                found.end = self.now()


@dataclass(frozen=True)
class Recording:
    """All that `Trace` kept."""

    started: int
    date: str
    threads: list[Thread]
    sections: list[Slice]
    changes: list[Change]
    before: dict[str, int]  # bytes in memory spaces before the first change
    limit: int
    dropped: int
    metadata: dict[str, Any]


@dataclass
class Written:
    """What a file has, and what it lacks."""

    events: int = 0
    dropped: int = 0
    raised: int = 0
    untimed: int = 0
    shifted: int = 0
    shift: int = 0  # the largest, in nanoseconds
    cut: int = 0

    @property
    def lacks(self) -> list[tuple[str, int]]:
        """What is missing or changed, in words, and how much."""
        return [
            ("left out, because the option `limit` allows no more", self.dropped),
            ("on the host only, because no device time came", self.untimed),
            ("on the host only, because the call raised", self.raised),
            (
                "moved to their launch, before which the device's clock seems to have them, by "
                f"{self.shift / 1e3:,.3f} microseconds at most",
                self.shifted,
            ),
            ("regions cut at the end of the call in which they were entered", self.cut),
        ]


def write(path: Path, found: Recording) -> Written:
    """Write the file; if that fails, what was there before is still there."""
    written = Written(dropped=found.dropped)
    # One for each process, in the same folder: a rename does not cross file systems.
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    opened: Callable[..., Any] = gzip.open if path.suffix == ".gz" else open
    try:
        with opened(beside, "wt", encoding="ascii") as file:
            _write(file, _Tracks(found, written), written)
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)
    return written


def _write(file: TextIO, tracks: _Tracks, written: Written) -> None:
    """One event a line, as they come: a long trace is never in memory as text."""
    encode = json.JSONEncoder(separators=(",", ":")).encode
    file.write('{"displayTimeUnit":"ms","traceEvents":[')
    for event in tracks:
        file.write(",\n" if written.events else "\n")
        file.write(encode(event))
        written.events += 1
    file.write(f'\n],"otherData":{encode(_other(tracks.found, written))}}}\n')


def _other(found: Recording, written: Written) -> dict[str, Any]:
    return {
        "tool": f"execspace-tools {version('execspace-tools')}",
        "execspace": version("execspace"),
        "python": f"{platform.python_version()}, {platform.platform()}",
        "command": " ".join(sys.argv),
        "started": found.date,
        "limit": found.limit,
        "dropped": written.dropped,
        "raised": written.raised,
        "without device time": written.untimed,
        "moved to their launch": written.shifted,
        "moved by at most (us)": written.shift / 1e3,
        "cut": written.cut,
        "metadata": found.metadata,
    }


class _Tracks:
    """All events of the file, one after the other."""

    def __init__(self, found: Recording, written: Written) -> None:
        self.found, self.written = found, written
        self.processes: dict[str, int] = {}
        self.tracks = 0

    def __iter__(self) -> Iterator[Event]:
        yield from self._process("host")
        for thread in self.found.threads:
            yield from self._host(thread)
        yield from self._sections()
        for (space, number), work in sorted(self._queues().items()):
            yield from self._process(space)
            label = f"instance {number}" if number else "queue 0"
            for n, lane in enumerate(lanes(work), 1):
                more = f" ({n})" if n > 1 else ""
                yield from self._device(space, f"{space}, {label}{more}", lane)
        yield from self._memory()

    def _process(self, name: str) -> Iterator[Event]:
        if name not in self.processes:
            pid = self.processes[name] = len(self.processes) + 1
            yield _metadata("process_name", pid, 0, name=name)
            yield _metadata("process_sort_index", pid, 0, sort_index=pid)

    def _track(self, process: str, name: str) -> tuple[int, Iterable[Event]]:
        """Numbers of tracks are unique in the file: viewers tell threads apart by them alone."""
        self.tracks += 1
        pid, tid = self.processes[process], 1000 + self.tracks
        return tid, (
            _metadata("thread_name", pid, tid, name=name),
            _metadata("thread_sort_index", pid, tid, sort_index=tid),
        )

    def _host(self, thread: Thread) -> Iterator[Event]:
        tid, names = self._track("host", thread.name)
        yield from names
        pid = self.processes["host"]
        self.written.cut += nest(thread.slices)
        for found in thread.slices:
            self.written.raised += found.raised
            yield self._slice(found, found.category, pid, tid, found.start, found.end)
            if found.device is not None and not found.raised:
                yield self._arrow("s", found, pid, tid, found.start)
            elif found.queue is not None and not found.raised:
                self.written.untimed += 1
        for moment in thread.moments:
            yield {
                "ph": "i", "s": "t", "name": moment.name, "cat": moment.category, "pid": pid,
                "tid": tid, "ts": self._time(moment.time), "args": moment.args,
            }  # fmt: skip

    def _sections(self) -> Iterator[Event]:
        """A track for each name, and further ones for sections of that name that overlap."""
        if not self.found.sections:
            return
        yield from self._process("sections")
        named: dict[str, list[_Work]] = {}
        for number, found in enumerate(self.found.sections):
            # No two are of one thread here, so that those within each other are side by side, too.
            named.setdefault(found.name, []).append(_Work(found.start, found.end, number, found))
        for name, work in named.items():
            for n, lane in enumerate(lanes(work), 1):
                tid, names = self._track("sections", f"{name} ({n})" if n > 1 else name)
                yield from names
                pid = self.processes["sections"]
                for start, end, _, found in lane:
                    yield self._slice(found, found.category, pid, tid, start, end)

    def _queues(self) -> dict[Queue, list[_Work]]:
        """Work by queue. None began before its launch, or before what its thread launched before.

        Clocks of host and device are compared less exactly than that.
        """
        queues: dict[Queue, list[_Work]] = {}
        for number, thread in enumerate(self.found.threads):
            last: dict[Queue, _Work] = {}
            for found in thread.slices:
                if found.queue is None or found.device is None or found.raised:
                    continue
                start, end = found.device
                if start < found.start:
                    self.written.shifted += 1
                    self.written.shift = max(self.written.shift, found.start - start)
                    start = found.start
                before = last.get(found.queue)
                apart = before is None or before.of.end <= found.start  # or launched within it
                if before is not None and apart:
                    start = max(start, before.end)
                # Viewers attach no arrow to a slice without a length.
                work = _Work(start, max(end, start + 1), number, found)
                queues.setdefault(found.queue, []).append(work)
                if apart:
                    last[found.queue] = work
        return queues

    def _device(self, space: str, name: str, lane: list[_Work]) -> Iterator[Event]:
        tid, names = self._track(space, name)
        yield from names
        pid = self.processes[space]
        for start, end, _, found in lane:
            yield self._slice(found, found.work, pid, tid, start, end)
            yield self._arrow("f", found, pid, tid, start)

    def _memory(self) -> Iterator[Event]:
        """How much each memory space has given away, over time."""
        if not self.found.changes:
            return
        yield from self._process("memory")
        live = dict(self.found.before)
        for space, nbytes in live.items():
            yield self._counter(space, nbytes, self.found.started)
        for space, nbytes, when in self.found.changes:
            live[space] = live.get(space, 0) + nbytes
            yield self._counter(space, live[space], when)

    def _counter(self, space: str, nbytes: int, when: int) -> Event:
        return {
            "ph": "C", "name": space, "cat": "memory", "pid": self.processes["memory"],
            "ts": self._time(when), "args": {"live bytes": nbytes},
        }  # fmt: skip

    def _slice(
        self, found: Slice, category: str, pid: int, tid: int, start: int, end: int
    ) -> Event:
        return {
            "ph": "X", "name": found.name, "cat": category, "pid": pid, "tid": tid,
            "ts": self._time(start), "dur": (end - start) / 1e3, "args": found.args,
        }  # fmt: skip

    def _arrow(self, phase: str, found: Slice, pid: int, tid: int, when: int) -> Event:
        end = {"bp": "e"} if phase == "f" else {}  # it points to the slice that it is in
        return {
            "ph": phase, "id": found.id, "name": "launch", "cat": "launch", "pid": pid, "tid": tid,
            "ts": self._time(when), **end,
        }  # fmt: skip

    def _time(self, when: int) -> float:
        return (when - self.found.started) / 1e3


def _metadata(what: str, pid: int, tid: int, **args: Any) -> Event:
    return {"ph": "M", "name": what, "pid": pid, "tid": tid, "ts": 0, "args": args}


def nest(slices: list[Slice]) -> int:
    """Sort slices of a thread, those around others first; returns how many had to be cut.

    Calls are nested. A region need not be: a function may enter it and its caller leave it.
    """
    cut = 0
    slices.sort(key=lambda s: (s.start, -s.end))
    around: list[Slice] = []
    for found in slices:
        while around and around[-1].end <= found.start:
            around.pop()
        if around and found.end > around[-1].end:
            found.end = around[-1].end
            found.args["cut"] = f"at the end of {around[-1].name}"
            cut += 1
        around.append(found)
    return cut


class _Work(NamedTuple):
    start: int
    end: int
    thread: int
    of: Slice


def lanes(work: list[_Work]) -> list[list[_Work]]:
    """Tracks for the work of one queue: one, unless it overlaps.

    A queue does one thing after the other. But a space that is not asynchronous does its work in
    the threads that call it, and several may call it at a time.
    """
    found: list[_Lane] = []
    for one in sorted(work, key=lambda w: (w.start, -w.end)):
        lane = next((lane for lane in found if lane.has_room(one)), None)
        if lane is None:
            lane = _Lane()
            found.append(lane)
        lane.work.append(one)
        lane.around.append(one)
    return [lane.work for lane in found]


class _Lane:
    """A track of work, sorted, and those of its slices that the next one may be in."""

    def __init__(self) -> None:
        self.work: list[_Work] = []
        self.around: list[_Work] = []

    def has_room(self, one: _Work) -> bool:
        """Whether nothing runs here at that time, or what the same thread is in the midst of."""
        while self.around and self.around[-1].end <= one.start:
            self.around.pop()
        if not self.around:
            return True
        outer = self.around[-1]
        return outer.end >= one.end and outer.thread == one.thread
