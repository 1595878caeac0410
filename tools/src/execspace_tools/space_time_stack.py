"""Space-time stack: where time went, by regions and what ran in them, and memory at its peak.

After the tool of that name of Kokkos Tools. Kernels have the times of their devices, for nothing
is fenced; so kernels of an asynchronous space may take longer than the region that launched them.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

from execspace import ToolError, live_allocations
from execspace.profiling import current_regions, known_metadata

from .busy_time import BusyTime
from .call_tree import Node, turned
from .output import check_path, write_atomically
from .peaks import Peak
from .sections import Timed
from .tables import Report, Table, nbytes, percent, seconds, table

BEFORE = ("(before the tool began)",)
PAUSED = ("(while tools were paused)",)


@dataclass(slots=True)
class _Open:
    """Something that has begun in a thread and not ended: `id` is 0 for a region."""

    node: Node
    id: int
    start: float


class SpaceTimeStack(Timed, Report):
    """Trees of time, and memory at its high-water mark with the stack of each allocation.

    Parameters
    ----------
    path : str
        File for the tree and the peaks of memory, as ``.json``; it has all nodes.
    threshold : float
        Percent of the whole time that a node needs in order to be shown; 0 shows all.
    """

    device_times = True

    def __init__(self, path: str = "", threshold: float = 0.1) -> None:
        if not 0 <= threshold <= 100:
            raise ToolError(
                f"Profiling tool 'space-time-stack': threshold={threshold:g}; expected percent, 0 "
                f"to 100."
            )
        super().__init__()
        self._path = check_path("space-time-stack", path, (".json",))
        self._threshold = threshold
        self._lock = threading.RLock()
        self._thread = threading.local()
        self._stacks: list[list[_Open]] = []
        self._timing: dict[int, Node] = {}
        self._busy = BusyTime()
        self._peaks: dict[str, Peak] = {}
        self._places: dict[int, tuple[str, ...]] = {}
        self._end: float | None = None
        self.root = Node("program", "program", calls=1)
        for space, size, label in live_allocations():
            self._peaks.setdefault(space, Peak()).hold((BEFORE, label), size)
        self._start = time.perf_counter()

    # -- events: time ----------------------------------------------------------------------------

    def on_region_push(self, name: str) -> None:
        stack = self._stack(current_regions()[:-1])
        self._push(stack, name, "region", 0)

    def on_region_pop(self, name: str) -> None:
        self._pop(self._stack((*current_regions(), name)), 0)

    def on_kernel_begin(self, pattern: str, label: str, space: str, id: int) -> None:
        node = self._push(self._stack(), label, pattern, id, space, on_device=True)
        with self._lock:
            self._timing[id] = node

    def on_kernel_end(self, id: int) -> None:
        self._pop(self._stack(), id)

    def on_graph_begin(self, label: str, space: str, id: int) -> None:
        self.on_kernel_begin("graph", label, space, id)

    def on_graph_end(self, id: int) -> None:
        self._pop(self._stack(), id)

    def on_copy_begin(self, destination: str, source: str, space: str, id: int) -> None:
        name = f"{source} -> {destination}"
        node = self._push(self._stack(), name, "deep_copy", id, space, on_device=bool(space))
        if space:  # one that blocks has the time of its call
            with self._lock:
                self._timing[id] = node

    def on_copy_end(self, id: int) -> None:
        self._pop(self._stack(), id)

    def on_fence_begin(self, space: str, label: str, id: int) -> None:
        self._push(self._stack(), label or "(no label)", "fence", id, space)

    def on_fence_end(self, id: int) -> None:
        self._pop(self._stack(), id)

    def on_compile(self, kernel: str, space: str, seconds: float, from_disk: bool) -> None:
        stack = self._stack()
        with self._lock:
            above = stack[-1].node if stack else self.root
            node = above.child(kernel, "load" if from_disk else "compile", space)
            node.calls += 1
            node.host += seconds

    def on_device_time(self, id: int, start: float, end: float) -> None:
        with self._lock:
            node = self._timing.pop(id, None)
            if node is not None:
                node.device += end - start
                node.timed += 1
                if node.kind != "deep_copy":
                    self._busy.add(start, end)

    def _stack(self, regions: tuple[str, ...] | None = None) -> list[_Open]:
        """What is open in this thread; at first, the regions that it was in before."""
        found: list[_Open] | None = getattr(self._thread, "open", None)
        if found is None:
            found = self._thread.open = []
            with self._lock:
                self._stacks.append(found)
            for name in current_regions() if regions is None else regions:
                self._push(found, name, "region", 0).calls -= 1  # it was entered before
                found[-1].start = self._start
        return found

    def _push(
        self, stack: list[_Open], name: str, kind: str, id: int, space: str = "",
        on_device: bool = False,
    ) -> Node:  # fmt: skip
        with self._lock:
            above = stack[-1].node if stack else self.root
            node = above.child(name, kind, space, on_device)
            node.calls += 1
            stack.append(_Open(node, id, time.perf_counter()))
            return node

    def _pop(self, stack: list[_Open], id: int) -> None:
        now = time.perf_counter()
        with self._lock:
            for n in range(len(stack) - 1, -1, -1):
                if stack[n].id == id:
                    stack[n].node.host += now - stack[n].start
                    del stack[n]
                    return

    # -- events: memory --------------------------------------------------------------------------

    def on_allocate(self, space: str, label: str, nbytes: int, id: int) -> None:
        place = tuple(each.node.name for each in self._stack())
        with self._lock:
            self._places[id] = place
            self._peaks.setdefault(space, Peak()).add((place, label), nbytes)

    def on_free(self, space: str, label: str, nbytes: int, id: int) -> None:
        with self._lock:
            peak, place = self._peaks.get(space), self._places.pop(id, BEFORE)
            if peak is None or peak.remove((place, label), nbytes) or not self.pauses:
                return
            # After a pause it may be counted in another place, see `on_resume`.
            elsewhere = next((key for key in peak.held() if key[1] == label), None)
            if elsewhere is not None:
                peak.remove(elsewhere, nbytes)

    def on_resume(self) -> None:
        """What was freed meanwhile is not known; of what is there, labels are, and not places."""
        super().on_resume()
        with self._lock:
            there: dict[str, list[tuple[Any, int]]] = {space: [] for space in self._peaks}
            held = {
                space: [key for key, count in p.held().items() for _ in range(count)]
                for space, p in self._peaks.items()
            }
            for space, size, label in live_allocations():
                keys = held.get(space, [])
                key = next((k for k in keys if k[1] == label), None)
                if key is not None:
                    keys.remove(key)
                there.setdefault(space, []).append((key or (PAUSED, label), size))
            for space, entries in there.items():
                self._peaks.setdefault(space, Peak()).count_anew(entries)

    # -- results ---------------------------------------------------------------------------------

    def finish(self) -> None:
        self._end = now = time.perf_counter()
        with self._lock:
            for stack in self._stacks:  # such as a region that the end of the program cut short
                for each in stack:
                    each.node.host += now - each.start
                stack.clear()
            self.close_sections()
            self.root.host = now - self._start
        if self._path:
            peaks = self._peaks.items()
            document = {
                "metadata": known_metadata(),
                "seconds": self.root.host,
                "seconds_in_kernels": self._busy.seconds(),
                "tree": _as_dict(self.root),
                "seconds_paused": self.paused,
                "sections": [asdict(record) for record in self.sections()],
                "memory": {space: _peak_as_dict(peak) for space, peak in peaks},
            }
            write_atomically(self._path, json.dumps(document, indent=1) + "\n")

    def parts(self) -> list[str]:
        with self._lock:
            if self._end is None:
                self.root.host = time.perf_counter() - self._start
            whole, busy = self.root.host, self._busy.seconds()
            untimed = sum(n.calls - n.timed for n, _ in self.root.walk() if n.on_device)
            lines = [
                "Space-time stack",
                "",
                f"total runtime {seconds(whole)}, {percent(busy, whole)} of it with kernels of "
                f"execspace running",
            ]
            lines += self.pause_lines()
            if untimed:
                lines.append(f"{untimed} launches without a time; the trees do not have theirs")
            lines += ["", "Top-down: what ran within what", "", *self._tree(self.root)]
            lines += ["", "Bottom-up: own time, and what asked for it", ""]
            lines += self._tree(turned(self.root))
            lines += self.section_lines()
            for space, peak in sorted(self._peaks.copy().items(), key=lambda p: -p[1].peak):
                if peak.peak:
                    title = f"Memory: {nbytes(peak.peak)} at the high-water mark of {space}"
                    lines += ["", title, "", _memory(peak)]
        if self._path and self._end is not None:
            lines += ["", f"written to {self._path}"]
        return lines

    def _tree(self, root: Node) -> list[str]:
        least = self._threshold / 100 * root.host
        rows = [["program", "", "", seconds(root.host), "100.0 %", "", ""]]
        if root.host == 0:
            least = 0.0
        hidden = 0
        for node, depth, above, shown in _visible(root, least):
            if not shown:
                hidden += 1
                continue
            time = seconds(node.seconds if node.timed or not node.on_device else None)
            rows.append(
                [
                    "  " * depth + node.name,
                    node.kind.removeprefix("parallel_"),
                    node.space,
                    time,
                    percent(node.seconds, root.host),
                    percent(node.seconds, above.seconds),
                    str(node.calls),
                ]
            )
        headers = ["", "kind", "space", "total", "of all", "of above", "calls"]
        lines: list[str] = [table(headers, rows, ("",), ("kind", "space"))]
        if hidden:
            lines.append(
                f"{hidden} below {self._threshold:g} % of the runtime not shown; threshold=0 "
                f"shows all"
            )
        return lines


def _visible(root: Node, least: float) -> Iterator[tuple[Node, int, Node, bool]]:
    """Nodes below a root with their depth, what is above them, and whether they are shown.

    A node is shown if it, or anything below it, has at least `least` seconds.
    """
    enough: set[int] = set()
    for node, above in root.walk():
        if node.seconds >= least:
            enough |= {id(node), *map(id, above)}
    for node, above in root.walk():
        if node is not root:
            yield node, len(above), above[0], id(node) in enough


def _memory(peak: Peak) -> Table:
    rows = [
        [
            label or "(no label)",
            str(count),
            nbytes(size),
            percent(size, peak.peak),
            " > ".join(place),
        ]
        for (place, label), count, size in peak.at_peak()
    ]
    headers = ["label", "allocations", "size", "share", "allocated in"]
    return table(headers, rows, ("label", "allocated in"))


def _as_dict(node: Node) -> dict[str, Any]:
    return {
        "name": node.name,
        "kind": node.kind,
        "space": node.space,
        "calls": node.calls,
        "seconds": node.seconds,
        "calls_without_time": node.calls - node.timed if node.on_device else 0,
        "children": [_as_dict(child) for child in node.ordered()],
    }


def _peak_as_dict(peak: Peak) -> dict[str, Any]:
    held = [
        {"label": label, "stack": list(place), "allocations": count, "nbytes": size}
        for (place, label), count, size in peak.at_peak()
    ]
    return {"peak": peak.peak, "current": peak.current, "at_peak": held}
