"""Trees of where time went: regions, and what ran within them, for `space_time_stack`.

A tree can be read from the program down, or from what took the time up to what asked for it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

ON_DEVICE = frozenset({"parallel_for", "parallel_reduce", "parallel_scan", "library", "graph"})


@dataclass(slots=True, eq=False)
class Node:
    """Something that took time, below what caused it.

    Attributes
    ----------
    name : str
    kind : str
        "program", "region", "deep_copy", "fence", "compile", "load" or a pattern of `ON_DEVICE`.
    space : str
        Execution space; empty for what has none.
    calls : int
    host : float
        Seconds of the host in calls.
    device : float
        Seconds in which the work ran, of `timed` calls.
    timed : int
    on_device : bool
        Its time is `device`: it is a kernel, or a copy that does not block.
    children : dict
        Nodes below it, by kind, space and name.
    """

    name: str
    kind: str
    space: str = ""
    calls: int = 0
    host: float = 0.0
    device: float = 0.0
    timed: int = 0
    on_device: bool = False
    children: dict[tuple[str, str, str], Node] = field(default_factory=dict)

    @property
    def seconds(self) -> float:
        """Its time: on its device if it has one, else that of its calls."""
        return self.device if self.on_device else self.host

    @property
    def own(self) -> float:
        """Its time without that of what it called; of kernels, all."""
        if self.on_device:
            return self.device
        return max(0.0, self.host - sum(c.host for c in self.children.values()))

    def child(self, name: str, kind: str, space: str = "", on_device: bool = False) -> Node:
        """The node of that name, kind and space below this one; made if it is new."""
        key = kind, space, name
        found = self.children.get(key)
        if found is None:
            found = Node(name, kind, space, on_device=on_device)
            found = self.children.setdefault(key, found)
        return found

    def ordered(self) -> list[Node]:
        """Its children, the longest first."""
        return sorted(self.children.values(), key=lambda c: (-c.seconds, c.kind, c.name))

    def walk(self, above: tuple[Node, ...] = ()) -> Iterator[tuple[Node, tuple[Node, ...]]]:
        """All nodes from this one down, each with those above it, the nearest first."""
        yield self, above
        for child in self.ordered():
            yield from child.walk((self, *above))


def turned(root: Node) -> Node:
    """The tree from the bottom up: what took time itself, and below it what asked for it.

    Times are own times; `calls` those of what took the time.
    """
    top = Node(root.name, root.kind, host=root.host)
    for node, above in root.walk():
        if node is root:
            continue
        place = top
        for each in (node, *above[:-1]):  # without the program itself
            place = place.child(each.name, each.kind, each.space)
            place.calls += node.calls
            place.host += node.own
    return top
