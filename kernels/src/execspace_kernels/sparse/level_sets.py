"""Level sets of triangular matrices: rows of one level need only what rows of lower levels give.

On spaces with few work items one of them goes through the rows in order. On others rows whose last
need was met are put into a queue, a launch for each level, or one launch of one team for many
levels that are narrow (Kahn, "Topological sorting of large networks", CACM 1962). In what order
rows get there is left to chance; levels are not, and rows of a level are sorted.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

import execspace as es

from ..arguments import MANY
from .crs import StaticCrsGraph
from .rows import transposed

__all__ = ["LevelSets", "level_sets"]

NARROW = 1024  # rows of a level that one team does
_TEAM = 256  # its threads at most


class LevelSets:
    """The rows of a triangular matrix by levels.

    Attributes
    ----------
    order : View, shape (n,)
        The rows, those of one level side by side and ascending.
    starts : View of int64, shape (levels + 1,)
        Where each level begins in `order`.
    bounds : tuple of int
        The same for the host.
    """

    def __init__(self, order: es.View, starts: es.View, space: es.ExecutionSpace) -> None:
        self.order, self.starts, self.space = order, starts, space
        self.bounds = tuple(starts.to_numpy().tolist())

    def __len__(self) -> int:
        return len(self.bounds) - 1

    def widest_share(self, narrow: int) -> float:
        """Share of the rows that are in levels of more than so many."""
        sizes = np.diff(self.bounds)
        return float(sizes[sizes > narrow].sum() / max(sizes.sum(), 1))

    def chains(self, narrow: int) -> Iterator[tuple[int, int]]:
        """Levels first to last - 1, of which each has at most so many rows; or one wider one."""
        first = 0
        for level in range(len(self)):
            if self.bounds[level + 1] - self.bounds[level] > narrow:
                if first < level:
                    yield first, level
                yield level, level + 1
                first = level + 1
        if first < len(self):
            yield first, len(self)


def level_sets(graph: StaticCrsGraph, lower: bool, space: es.ExecutionSpace) -> LevelSets:
    """The level sets of a graph whose entries are all in one triangle. Kept with it. Blocks."""
    found: LevelSets = graph.kept(
        ("levels", lower, space), lambda: _level_sets(graph, lower, space)
    )
    return found


def _level_sets(graph: StaticCrsGraph, lower: bool, space: es.ExecutionSpace) -> LevelSets:
    n = graph.num_rows
    with es.use_space(space):
        level = es.View(n, np.int64, label="level", space=space)
        if space.concurrency <= MANY:
            one = es.RangePolicy(1, space=space)
            way = "up" if lower else "down"
            parts = graph.row_map, graph.entries, level, way
            es.parallel_for(one, _in_order, *parts, label="level sets in order")
        else:
            _by_queue(graph, level, space)
        every = es.RangePolicy(n, space=space)
        count = int(es.parallel_reduce(every, _of, level, reducer=es.Max)) + 1 if n else 0
        return by_number(level, count, graph.entries.dtype, space)


def by_number(level: es.View, count: int, dtype: Any, space: es.ExecutionSpace) -> LevelSets:
    """Rows by the number that each has, from 0 to below a count."""
    n = level.shape[0]
    found = es.argsort(level, space=space)
    order = es.View(n, dtype, label="order", space=space, initialize=False)
    numbers = es.View(n, np.int64, label="numbers", space=space, initialize=False)
    es.parallel_for(es.RangePolicy(n, space=space), _in_place, found, level, order, numbers)
    starts = es.View(count + 1, np.int64, label="starts", space=space, initialize=False)
    es.parallel_for(es.RangePolicy(count + 1, space=space), _start, numbers, starts)
    return LevelSets(order, starts, space)


def _by_queue(graph: StaticCrsGraph, level: es.View, space: es.ExecutionSpace) -> None:
    n = graph.num_rows
    needed_by, _ = transposed(graph, space)
    queue = es.View(n, np.int64, label="queue", space=space, initialize=False)
    needs = es.View(n, np.int64, label="needs", space=space, initialize=False)
    state = es.View(4, np.int64, label="state", space=space)  # end of the queue, begin, end, level
    shared = queue, level, needed_by.row_map, needed_by.entries, needs, state
    every = es.RangePolicy(n, space=space)
    es.parallel_for(every, _needs, graph.row_map, graph.entries, needs, queue, state)
    begin, end, depth = 0, int(state.to_numpy()[0]), 0
    while begin < end:
        if end - begin <= NARROW and isinstance(space, es.SupportsTeams):
            es.deep_copy(state, np.array([end, begin, end, depth]))
            team = es.TeamPolicy(1, min(_TEAM, space.team_limits().team_size_max), space=space)
            es.parallel_for(team, _narrow_levels, *shared, NARROW, label="level sets of a team")
            _, begin, end, depth = map(int, state.to_numpy())
        else:
            some = es.RangePolicy(begin, end, space=space)
            es.parallel_for(some, _wide_level, *shared, depth, label="level set")
            begin, end, depth = end, int(state.to_numpy()[0]), depth + 1


# -- kernels --------------------------------------------------------------------------------------


def _of(i: int, level: Any) -> Any:
    return level[i]


def _in_order(one: int, row_map: Any, entries: Any, level: Any, way: Any) -> None:
    n = level.extent(0)
    for t in range(n):
        i = t if way == "up" else n - 1 - t
        depth = np.int64(0)
        for k in range(row_map[i], row_map[i + 1]):
            if entries[k] != i:
                depth = max(depth, level[entries[k]] + 1)
        level[i] = depth


def _in_place(k: int, found: Any, level: Any, order: Any, numbers: Any) -> None:
    order[k] = found[k]
    numbers[k] = level[found[k]]


def _start(c: int, numbers: Any, starts: Any) -> None:
    starts[c] = es.lower_bound(numbers, np.int64(c))


def _needs(i: int, row_map: Any, entries: Any, needs: Any, queue: Any, state: Any) -> None:
    count = np.int64(0)
    for k in range(row_map[i], row_map[i + 1]):
        count += 1 if entries[k] != i else 0
    needs[i] = count
    if count == 0:
        queue[es.atomic_fetch_add(state, 0, 1)] = i


@es.function
def _met(
    q: Any, queue: Any, level: Any, row_map: Any, entries: Any, needs: Any, state: Any, depth: Any
) -> None:
    """A row of the queue has its level; who needed it needs one less."""
    i = queue[q]
    level[i] = depth
    for k in range(row_map[i], row_map[i + 1]):
        j = entries[k]
        if j != i and es.atomic_sub_fetch(needs, j, 1) == 0:
            queue[es.atomic_fetch_add(state, 0, 1)] = j


def _wide_level(
    q: int, queue: Any, level: Any, row_map: Any, entries: Any, needs: Any, state: Any, depth: Any
) -> None:
    _met(q, queue, level, row_map, entries, needs, state, depth)


def _narrow_levels(
    team: Any, queue: Any, level: Any, row_map: Any, entries: Any, needs: Any, state: Any,
    narrow: Any,
) -> None:  # fmt: skip
    begin = state[1]
    end = state[2]
    depth = state[3]
    while begin < end and end - begin <= narrow:
        for q in es.TeamThreadRange(team, begin, end):
            _met(q, queue, level, row_map, entries, needs, state, depth)
        team.barrier()
        begin = end
        end = state[0]
        depth += 1
        team.barrier()  # all have read it before someone adds to it
    if es.single(es.PerTeam(team)):
        state[1] = begin
        state[2] = end
        state[3] = depth
