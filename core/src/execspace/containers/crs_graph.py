"""StaticCrsGraph: rows of different lengths in one View.

How kernels make such graphs is in `crs_building.py`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from ..base.brief import brief
from ..base.dataclass import dataclass
from ..base.errors import DTypeError, ViewError, ViewTypeError
from ..base.readonly import ReadOnly
from ..contract.dtypes import int64
from ..contract.space import ExecutionSpace
from ..kernels.refusals import check_integer
from ..launch.parallel import parallel_for
from ..launch.parallel_reduce import parallel_reduce
from ..policies.range import RangePolicy
from ..views.deep_copy import deep_copy
from ..views.view import View
from .arguments import chosen_space, element_type, given_view, space_of, whole

__all__ = [
    "StaticCrsGraph",
    "create_staticcrsgraph",
]


@dataclass(eq=False)
class StaticCrsGraph(ReadOnly):
    """Rows of integers: those of row `i` are ``entries[row_map[i]:row_map[i + 1]]``.

    It is a dataclass of two Views, so launches take it as an argument, and kernels read its Views
    and call `row` and `row_length`.

    Parameters
    ----------
    row_map : View or array of integers, rank 1
        Where each row begins, and at its end the number of all entries. It ascends from 0, which
        `validate` checks.
    entries : View or array of integers, rank 1
    space : str or ExecutionSpace, optional
        Where the methods for the host run; where a launch on the Views would if not given.

    Attributes
    ----------
    row_map, entries : View
    num_rows, num_entries : int
        In kernels, too.
    space : ExecutionSpace

    Raises
    ------
    ViewError, ViewTypeError, DTypeError
        If they are no Views of integers of rank 1, or the row map is empty.

    Notes
    -----
    Kokkos: https://kokkos.org/kokkos-core-wiki/API/containers/StaticCrsGraph.html

    Examples
    --------
    >>> import execspace as es
    >>> graph = es.create_staticcrsgraph([[1, 2], [], [0]], space="serial")
    >>> @es.kernel
    ... def total(i, graph):
    ...     found = 0
    ...     begin, end = graph.row(i)
    ...     for k in range(begin, end):
    ...         found += graph.entries[k]
    ...     return found
    >>> es.parallel_reduce(es.RangePolicy(graph.num_rows, space="serial"), total, graph)
    3
    """

    row_map: View
    entries: View

    _fixed = frozenset(("entries", "row_map", "space"))
    _instead = "Make a new StaticCrsGraph"
    _for_kernels = ("row", "row_length", "num_rows", "num_entries", "row_map", "entries")

    def __init__(
        self,
        row_map: View | Any,
        entries: View | Any,
        *,
        space: str | ExecutionSpace | None = None,
    ) -> None:
        self.row_map = integers("StaticCrsGraph", "row_map", row_map)
        self.entries = integers("StaticCrsGraph", "entries", entries)
        if self.row_map.size == 0:
            raise ViewError(
                "StaticCrsGraph: row_map has no element; expected one more than there are rows: "
                "[0] for no rows."
            )
        self.space = space_of(space, self.row_map, self.entries)

    def __repr__(self) -> str:
        return f"<StaticCrsGraph of {self.num_rows} rows with {self.num_entries} entries>"

    # -- for kernels, and on the host -------------------------------------------------------------

    @property
    def num_rows(self) -> Any:
        """Number of rows."""
        return self.row_map.extent(0) - 1

    @property
    def num_entries(self) -> Any:
        """Number of entries of all rows."""
        return self.entries.extent(0)

    def row(self, i: Any) -> Any:
        """Where the entries of row `i` begin and end; for kernels."""
        check_integer("i", i)
        return int64(self.row_map[i]), int64(self.row_map[i + 1])

    def row_length(self, i: Any) -> Any:
        """Number of entries of row `i`; for kernels."""
        check_integer("i", i)
        return int64(self.row_map[i + 1]) - int64(self.row_map[i])

    # -- on the host ------------------------------------------------------------------------------

    def validate(self, num_columns: int | None = None) -> None:
        """Check that the row map ascends from 0 to the number of entries. Blocks.

        Parameters
        ----------
        num_columns : int, optional
            Check as well that all entries are from 0 to `num_columns` - 1.

        Raises
        ------
        ViewError
            If it is not so.
        """
        policy = RangePolicy(self.num_rows + 1, space=self.space)
        wrong = parallel_reduce(policy, _is_wrong, self, label="StaticCrsGraph.validate")
        if wrong:
            raise ViewError(
                f"StaticCrsGraph: row_map has {int(wrong)} elements that do not fit; expected that "
                f"it begins with 0, never descends, and ends with the number of entries, "
                f"{self.num_entries}."
            )
        if num_columns is not None:
            check_entries("StaticCrsGraph.validate", self, num_columns)

    def create_block_partitioning(self, blocks: int, cost_per_row: int = 4) -> View:
        """A new View of int64 that cuts the rows into blocks of about equal work.

        Parameters
        ----------
        blocks : int
        cost_per_row : int, default 4
            What a row costs beside its entries, of which each costs 1.

        Returns
        -------
        View of int64, `blocks` + 1 elements
            Block `b` has the rows from element `b` to element `b` + 1, which may be none. Does not
            block.

        Raises
        ------
        ViewError
            If `blocks` is no integer above zero, or `cost_per_row` is negative.
        """
        what = "StaticCrsGraph.create_block_partitioning"
        count = whole(what, "blocks", blocks, 1)
        cost = whole(what, "cost_per_row", cost_per_row)
        bounds = View(count + 1, int64, label=what, space=self.space)
        policy = RangePolicy(count + 1, space=self.space)
        parallel_for(policy, _first_row, self, cost, bounds, label=what)
        return bounds

    def to_lists(self) -> list[list[int]]:
        """The rows as lists of Python's integers. Blocks."""
        begins, entries = self.row_map.to_numpy().tolist(), self.entries.to_numpy().tolist()
        return [entries[a:b] for a, b in pairwise(begins)]


def create_staticcrsgraph(
    rows: Sequence[Sequence[int]],
    *,
    dtype: npt.DTypeLike = np.int64,
    space: str | ExecutionSpace | None = None,
) -> StaticCrsGraph:
    """A graph with the rows of a list of lists. Blocks.

    Parameters
    ----------
    rows : sequence of sequences of int
    dtype : dtype-like, default int64
        Of the entries; the row map is of int64.
    space : str or ExecutionSpace, optional
        In whose memory it is; the default space if not given.

    Raises
    ------
    DTypeError
        If `rows` is no list of lists, an entry no integer, or one does not fit into `dtype`.
    SpaceError
        If there is no such space.

    Examples
    --------
    >>> import execspace as es
    >>> es.create_staticcrsgraph([[3, 1], [], [2]], space="serial").row_map.to_numpy()
    array([0, 2, 2, 3])
    """
    what = "create_staticcrsgraph"
    goal = element_type(what, "dtype", dtype, "iu", "an integer type")
    if isinstance(rows, str | bytes | Mapping) or not isinstance(rows, Iterable):
        raise DTypeError(
            f"{what}: rows is {brief(rows)}; expected a list of lists of integers, [[1, 2], [0]]."
        )
    lists = [_row_of(what, i, row, goal) for i, row in enumerate(rows)]
    for i, row in enumerate(lists):
        if row.size and not _fits(row, goal):
            raise DTypeError(
                f"{what}: row {i} has entries from {row.min()} to {row.max()}, which do not fit "
                f"into {goal.name}; choose a wider dtype."
            )
    chosen = chosen_space(space)
    flat = np.concatenate([np.empty(0, goal), *(row.astype(goal) for row in lists)])
    begins = np.concatenate([[0], np.cumsum([row.size for row in lists], dtype=np.int64)])
    row_map = View(len(lists) + 1, int64, label="row_map", space=chosen)
    entries = View(flat.size, goal, label="entries", space=chosen)
    deep_copy(row_map, begins.astype(np.int64))
    deep_copy(entries, flat)
    return StaticCrsGraph(row_map, entries, space=chosen)


def _row_of(what: str, i: int, row: Any, goal: np.dtype[Any]) -> npt.NDArray[Any]:
    """A row of a list of lists as an array of integers."""
    found: npt.NDArray[Any] | None = None
    if not isinstance(row, str | bytes):
        with suppress(TypeError, ValueError):  # of what has no length; of lists of several lengths
            found = np.asarray(row if len(row) else np.empty(0, goal))
    if found is None or found.dtype.kind not in "iu" or found.ndim != 1:
        one = isinstance(row, int | np.integer)
        hint = f"; write [{brief(row)}] for a row with one entry" if one else ""
        raise DTypeError(f"{what}: row {i} is {brief(row)}; expected a list of integers{hint}.")
    return found


def integers(what: str, name: str, source: Any) -> View:
    """A View or array of integers of rank 1; ViewError or DTypeError for anything else."""
    view = given_view(what, name, source)
    if view.dtype.kind not in "iu":
        raise DTypeError(
            f"{what}: {name}, View '{view.label}', is of {view.dtype.name}; expected integers."
        )
    return view


def _fits(row: npt.NDArray[Any], goal: np.dtype[Any]) -> bool:
    limits = np.iinfo(goal)
    return bool(limits.min <= int(row.min()) and int(row.max()) <= limits.max)


def check_entries(what: str, crs: StaticCrsGraph, num_columns: int | None) -> int:
    """The number of columns; ViewError where an entry is not less than it."""
    columns = whole(what, "num_columns", crs.num_rows if num_columns is None else num_columns)
    policy = RangePolicy(crs.num_entries, space=crs.space)
    beyond = parallel_reduce(policy, _is_beyond, crs.entries, columns, label=what)
    if beyond:
        raise ViewError(
            f"{what}: {int(beyond)} entries are no columns; expected 0 to {columns - 1}. Give the "
            f"right num_columns, or correct the entries."
        )
    return columns


def check_graph(what: str, crs: Any) -> None:
    """Raise ViewTypeError for what is no graph."""
    if not isinstance(crs, StaticCrsGraph):
        raise ViewTypeError(
            f"{what}: crs is of type {type(crs).__name__!r}; expected a StaticCrsGraph. "
            f"es.create_staticcrsgraph makes one of lists."
        )


def _is_wrong(i: int, graph: Any) -> Any:
    begin = graph.row_map[i]
    if i == graph.num_rows and begin != graph.num_entries:
        return 1
    if i == 0:
        return 1 if begin != 0 else 0
    return 1 if begin < graph.row_map[i - 1] else 0


def _is_beyond(k: int, entries: Any, columns: int) -> Any:
    return 1 if entries[k] < 0 or entries[k] >= columns else 0


def _first_row(b: int, graph: Any, cost: int, bounds: Any) -> None:
    rows = graph.num_rows
    blocks = bounds.extent(0) - 1
    total = int64(graph.row_map[rows]) + cost * rows
    share = total // blocks * b + total % blocks * b // blocks
    low = 0
    high = rows
    while low < high:
        middle = (low + high) // 2
        if int64(graph.row_map[middle]) + cost * middle < share:
            low = middle + 1
        else:
            high = middle
    bounds[b] = rows if b == blocks else low
