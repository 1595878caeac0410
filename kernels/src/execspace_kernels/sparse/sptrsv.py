"""sptrsv: x with op(A) x = b, for a triangular A and one vector or several.

Algorithms
    sequential: one work item takes all rows in order, the best on hosts whose threads are few.
    levels: a launch for each set of rows that need nothing of each other, see `level_sets`.
    chained: as levels; but many narrow ones in a row are one launch of one team, whose threads wait
    for each other between two levels.
    syncfree: one launch; each row waits until those that it needs are done: Liu, Li, Hogg, Duff and
    Vinter, "A synchronization-free algorithm for parallel sparse triangular solves", Euro-Par 2016.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import execspace as es

from ..arguments import (
    MANY,
    as_view,
    at_once,
    check_apart,
    check_not_recorded,
    check_takes,
    choice,
    elements_of,
    first,
    in_turns,
    largest_team,
    result,
    vector,
)
from ..decisions import decided
from ..errors import MatrixError
from . import sptrsv_kernels as kernels
from .crs import CrsMatrix, StaticCrsGraph
from .elements import check_numbers
from .foreign import as_crs
from .level_sets import LevelSets, level_sets
from .phases import check_graph, check_handle
from .replay import Replay
from .rows import transposed

__all__ = ["SpTrsvHandle", "sptrsv", "sptrsv_solve", "sptrsv_symbolic"]

MODES = ("N", "T", "C", "H")
ALGORITHMS = ("auto", "sequential", "levels", "chained", "syncfree")
_WIDE = 16384  # entries of a level, from which on threads of a host share it
_THREADS_OF_HOSTS = 8  # to gain from levels, whose rows lie far apart: of two each is slower
_LONG = 8  # entries of a row, above which lanes of a device share it
_THREADS = 256  # of a team, lanes counted: devices launch any kernel with so many
_ROUNDS = 2  # rows of a level for each thread of a team, above which it is no link of a chain
_CHUNK = 64  # rows that a thread of a host takes at a time, where rows wait
_MOST_READY = 8  # numbers of vectors for which policies are kept


class SpTrsvHandle:
    """How a triangular matrix is solved with; made by `sptrsv_symbolic`.

    Attributes
    ----------
    algorithm : {"sequential", "levels", "chained", "syncfree"}
    why : str
        What made it this one.
    graph : StaticCrsGraph
        Of the matrices that it is for.
    lower, unit_diagonal : bool
    mode : {"N", "T", "C", "H"}
    space : ExecutionSpace
    """

    def __init__(
        self, graph: StaticCrsGraph, lower: bool, unit: bool, mode: str, space: es.ExecutionSpace
    ) -> None:
        self.graph, self.lower, self.unit_diagonal, self.mode = graph, lower, unit, mode
        self.space = space
        self.algorithm = self.why = ""
        self._solved, self._picks, self._up = graph, graph.entries, lower
        if mode in ("T", "H"):
            self._solved, self._picks = transposed(graph, space)
            self._up = not lower
        by = "picks" if mode in ("T", "H") else "values"
        conj = "yes" if mode in ("C", "H") else "no"
        self._how = self._place(), "yes" if unit else "no", by, conj
        self._ready: dict[Any, list[tuple[Any, ...]]] = {}
        self._replay: Replay | None = None

    def _place(self) -> str:
        """Where rows have their diagonal element."""
        graph = self._solved
        place = "last" if self._up else "first"
        rows = graph.num_rows, self.space
        parts = graph.row_map, graph.entries
        if first(*rows, kernels.has_it_elsewhere, *parts, place) is None:
            return place
        if self.unit_diagonal and first(*rows, kernels.has_diagonal, *parts) is None:
            return "none"
        return "any"

    @property
    def levels(self) -> int:
        """Number of level sets. Blocks where the algorithm does not need them."""
        return len(self._sets())

    def _sets(self) -> LevelSets:
        found: LevelSets = at_once(level_sets, self._solved, self._up, self.space)
        return found

    def __repr__(self) -> str:
        what = "lower" if self.lower else "upper"
        return f"<SpTrsvHandle of {self.graph!r}, {what}, algorithm {self.algorithm!r}>"

    # What is launched, as (policy, kernel, arguments before those of the matrix, after x, label).

    def _steps(self, vectors: int | None) -> list[tuple[Any, ...]]:
        """The launches for one vector (None), or several."""
        if vectors not in self._ready:
            if len(self._ready) >= _MOST_READY:
                self._ready.clear()
            make = {
                "sequential": self._in_order, "levels": self._by_levels,
                "chained": self._by_chains, "syncfree": self._when_ready,
            }[self.algorithm]  # fmt: skip
            self._ready[vectors] = make(vectors)
        return self._ready[vectors]

    def _in_order(self, vectors: int | None) -> list[tuple[Any, ...]]:
        way = "up" if self._up else "down"
        if vectors is None:
            one = es.RangePolicy(1, space=self.space)
            return [(one, kernels.in_order, (), (way,), "sptrsv sequential")]
        blocks = -(-vectors // kernels.BLOCK)
        share = -(-blocks // max(1, min(self.space.concurrency, blocks))) * kernels.BLOCK
        parts = es.RangePolicy(-(-vectors // share), space=self.space)
        return [(parts, kernels.in_order_of_several, (), (share, way), "sptrsv sequential")]

    def _by_levels(self, vectors: int | None) -> list[tuple[Any, ...]]:
        sets = self._sets()
        return [self._level(sets, at, vectors) for at in range(len(sets))]

    def _level(self, sets: LevelSets, at: int, vectors: int | None) -> tuple[Any, ...]:
        begin, end = sets.bounds[at : at + 2]
        label = f"sptrsv {self.algorithm}"
        if vectors is not None:
            both: Any = es.MDRangePolicy((begin, 0), (end, vectors), space=self.space)
            return both, kernels.of_level_of_several, (sets.order,), (), label
        lanes = self._lanes()
        if lanes == 1:
            rows: Any = es.RangePolicy(begin, end, space=self.space)
            return rows, kernels.of_level, (sets.order,), (), label
        threads = max(1, self._most() // lanes // 4)
        teams: Any = es.TeamPolicy(
            -(-(end - begin) // threads), threads, vector_length=lanes, space=self.space
        )
        return teams, kernels.of_level_by_teams, (begin, end, sets.order), (), label

    def _by_chains(self, vectors: int | None) -> list[tuple[Any, ...]]:
        sets = self._sets()
        steps: list[tuple[Any, ...]] = []
        lanes = self._lanes()
        threads = max(1, self._most() // lanes)
        policy: Any = es.TeamPolicy(
            1 if vectors is None else vectors, threads, vector_length=lanes, space=self.space
        )
        kernel = kernels.of_chain if vectors is None else kernels.of_chain_of_several
        for begin, end in sets.chains(self._narrow()):
            if end - begin == 1:
                steps.append(self._level(sets, begin, vectors))
            else:
                before = begin, end, sets.starts, sets.order
                steps.append((policy, kernel, before, (), "sptrsv chained"))
        return steps

    def _when_ready(self, vectors: int | None) -> list[tuple[Any, ...]]:
        n = self.graph.num_rows
        done = es.View(n, np.int32, label="done", space=self.space, initialize=False)
        # Threads take chunks upwards, so the first row that is not done has somebody at work.
        rows: Any = es.RangePolicy(n, space=self.space)
        if self.space.concurrency <= MANY:
            rows = es.RangePolicy(n, schedule="dynamic", chunk_size=_CHUNK, space=self.space)
        kernel = kernels.when_ready if vectors is None else kernels.when_ready_of_several
        return [
            (None, done, (), (), ""),
            (rows, kernel, (done, self._sets().order), (), "sptrsv syncfree"),
        ]

    def _most(self) -> int:
        """Threads of a team."""
        space: Any = self.space
        return min(_THREADS, largest_team(space)) if self._is_device() else 1

    def _narrow(self) -> int:
        """Rows of a level, up to which it is a link of a chain."""
        if self._is_device():
            return _ROUNDS * max(1, self._most() // self._lanes())
        return _WIDE * self.graph.num_rows // max(self.graph.nnz, 1)

    def _lanes(self) -> int:
        """Work items for a row."""
        n = max(self.graph.num_rows, 1)
        mean = self.graph.nnz // n
        if not self._is_device() or not isinstance(self.space, es.SupportsTeams) or mean <= _LONG:
            return 1
        space: Any = self.space
        most = int(space.team_limits().vector_length_max)
        return min(8 if mean <= 32 else 16, most)

    def _is_device(self) -> bool:
        return self.space.concurrency > MANY

    def _run(self, read: tuple[es.View, ...], b: es.View, x: es.View) -> None:
        """Launch all of it, for the values that are read."""
        graph = self._solved
        parts = graph.row_map, graph.entries, *read, self._picks, b, x
        for policy, kernel, before, after, label in self._steps(_vectors(b)):
            if policy is None:
                es.deep_copy(kernel, 0, instance=self.space)  # flags
            else:
                es.parallel_for(policy, kernel, *before, *parts, *after, *self._how, label=label)

    @in_turns
    def solve(self, values: es.View, b: es.View, x: es.View) -> None:
        """Launch it, or what is kept of it, for Views that fit."""
        if not x.size:
            return
        if self._replay is None:
            self._replay = Replay(self._run, self.space, len(self._steps(_vectors(b))))
        self._replay((values,), b, x)


def _vectors(b: es.View) -> int | None:
    """Number of vectors, None for one without a dimension for it."""
    return None if b.rank == 1 else b.shape[1]


def sptrsv_symbolic(
    A: CrsMatrix | Any,
    *,
    lower: bool = True,
    unit_diagonal: bool = False,
    mode: str = "N",
    algorithm: str = "auto",
    check: bool = True,
    space: str | es.ExecutionSpace | None = None,
) -> SpTrsvHandle:
    """Look at a triangular matrix, and say how it is solved with.

    Parameters
    ----------
    A : CrsMatrix, or a sparse matrix of another library
        n x n; all entries in one triangle, in any order in their rows; elements at one place count
        as their sum.
    lower : bool, default True
        Whether that is the lower triangle. Of A itself, whatever the mode.
    unit_diagonal : bool, default False
        Take all diagonal elements as one; those that are stored are not read.
    mode : {"N", "T", "C", "H"}
        Solve with A, its transpose, its conjugate, or the transpose of that.
    algorithm : {"auto", "sequential", "levels", "chained", "syncfree"}
        See the module. "chained" needs teams. "syncfree" only for spaces whose work items all make
        progress while others wait, and begin in the order of their indices: threads of hosts do,
        and GPUs whose lanes are scheduled independently (NVIDIA's since Volta). On others it never
        ends, so "auto" does not take it.
    check : bool, default True
        Look whether all entries are in that triangle and no diagonal element is zero or missing.
    space : str or ExecutionSpace, optional

    Raises
    ------
    MatrixError
        If A is not square, has an entry in the other triangle or a zero on its diagonal, with its
        place; or a word is not known.
    SpaceAccessError

    Notes
    -----
    Blocks. Kokkos Kernels: https://kokkos.org/kokkos-kernels/docs/API/sparse/sptrsv.html
    """
    A = as_crs(A)
    check_numbers("sptrsv", A)
    choice(mode, "sptrsv: mode", MODES)
    choice(algorithm, "sptrsv: algorithm", ALGORITHMS)
    where = es.space_for(A.row_map, A.entries, A.values, space=space)
    for name, flag in (("lower", lower), ("unit_diagonal", unit_diagonal)):
        if not isinstance(flag, bool | np.bool_):
            raise MatrixError(f"sptrsv: {name}={flag!r}; expected True or False.")
    A.graph.check_settled("sptrsv")
    if A.shape[0] != A.shape[1]:
        raise MatrixError(f"sptrsv: A is {A.shape[0]} x {A.shape[1]}; expected a square matrix.")
    if algorithm == "chained" and not isinstance(where, es.SupportsTeams):
        raise MatrixError(
            f"sptrsv: algorithm='chained' needs teams, and space '{where.name}' has none; expected "
            f"'levels' or 'auto'."
        )
    if check:
        check_triangle(A.graph, lower, where)
        if not unit_diagonal:
            check_diagonal(A, "sptrsv", where)
    handle: SpTrsvHandle = at_once(SpTrsvHandle, A.graph, lower, unit_diagonal, mode, where)
    handle.algorithm, handle.why = _chosen(algorithm, handle)
    decided("sptrsv", handle.algorithm, handle.why)
    return handle


def sptrsv_solve(
    handle: SpTrsvHandle,
    A: CrsMatrix | Any,
    b: es.View | Any,
    *,
    out: es.View | Any = None,
    check: bool = False,
) -> es.View:
    """x with op(A) x = b.

    Parameters
    ----------
    handle : SpTrsvHandle
        Of a matrix with the graph that A has; it may have other values now.
    A : CrsMatrix, or a sparse matrix of another library by rows
    b : View or array, shape (n,) or (n, k)
        One vector or several; read.
    out : View or array, shape (n,) or (n, k), optional
        x; of floats, complex if A or b is. May be `b` itself. Elements are computed from those that
        it holds already, so of a narrower dtype they have its precision. Without it a new View of
        the common dtype.
    check : bool, default False
        Look whether a diagonal element is zero, which blocks.

    Raises
    ------
    MatrixError
        If the handle was made for another graph, or a diagonal element is zero.
    ViewError
        If shapes do not fit, `out` is read-only, real where the result is complex, or overlaps what
        is read.
    SpaceAccessError

    Notes
    -----
    Asynchronous where the space is. The same to the bit in each run. Many launches that come again
    are submitted as one graph; for that the handle keeps Views of some calls alive.
    """
    A = as_crs(A)
    check_numbers("sptrsv", A)
    check_handle("sptrsv_solve", handle, SpTrsvHandle, "sptrsv_symbolic")
    check_graph("sptrsv_solve", "A", A, handle.graph, "sptrsv_symbolic")
    source, x = operands("sptrsv", A, b, out, handle.space)
    if check and not handle.unit_diagonal:
        check_not_recorded("sptrsv_solve")
        check_diagonal(A, "sptrsv", handle.space)
    handle.solve(A.values, source, x)
    return x


def sptrsv(
    A: CrsMatrix | Any,
    b: es.View | Any,
    *,
    lower: bool = True,
    unit_diagonal: bool = False,
    mode: str = "N",
    algorithm: str = "auto",
    out: es.View | Any = None,
    check: bool = True,
    space: str | es.ExecutionSpace | None = None,
) -> es.View:
    """Both phases in one. What is found out of a graph it keeps, so that a second call is shorter.

    Parameters, errors and notes are those of the two phases; `check` is for both, and blocks each
    time unless the diagonal counts as one.

    Examples
    --------
    >>> from execspace_kernels import sparse
    >>> A = sparse.CrsMatrix([0, 1, 3], [0, 0, 1], [2.0, 1.0, 4.0], shape=(2, 2))
    >>> sparse.sptrsv(A, [2.0, 9.0]).to_numpy().tolist()
    [1.0, 2.0]
    """
    A = as_crs(A)
    check_numbers("sptrsv", A)
    views = [as_view(given, "sptrsv") for given in (b, out) if given is not None]
    where = es.space_for(A.row_map, A.entries, A.values, *views, space=space)
    known = A.graph._known
    key = "sptrsv", bool(lower), bool(unit_diagonal), str(mode), str(algorithm), id(where)
    if key in known:
        handle = known[key]
        if check and not unit_diagonal:
            check_diagonal(A, "sptrsv", where)
        decided("sptrsv", handle.algorithm, handle.why)
    else:
        handle = sptrsv_symbolic(
            A, lower=lower, unit_diagonal=unit_diagonal, mode=mode, algorithm=algorithm,
            check=check, space=where,
        )  # fmt: skip
        if check:
            known[key] = handle
    return sptrsv_solve(handle, A, b, out=out)


def operands(
    what: str,
    A: CrsMatrix,
    b: Any,
    out: Any,
    space: es.ExecutionSpace,
    *,
    apart: bool = False,
) -> tuple[es.View, es.View]:
    """b and x of a system with a square matrix, which may be one View unless they shall be apart;
    raises for what does not fit."""
    n = A.shape[0]
    source = vector(b, f"{what}: b", n, f"a matrix of {n} x {n}")
    dtype = np.result_type(A.dtype, source.dtype)
    x = result(out, what, source.shape, dtype, space, source)
    check_takes(what, x, dtype)
    es.space_for(A.row_map, A.entries, A.values, source, x, space=space)
    if out is not None:
        check_apart(what, x, the_values=A.values, row_map=A.row_map, entries=A.entries)
        if apart or x != source:
            check_apart(what, x, b=source)
    return source, x


def check_triangle(graph: StaticCrsGraph, lower: bool, space: es.ExecutionSpace) -> None:
    """Raise MatrixError for an entry in the other triangle. Blocks the first time."""
    side = "lower" if lower else "upper"
    key = "triangle", side
    if graph._known.get(key):
        return
    n = graph.num_rows
    row = first(n, space, kernels.beyond, graph.row_map, graph.entries, side)
    if row is not None:
        begin, end = map(int, elements_of(graph.row_map[row : row + 2]))
        columns = elements_of(graph.entries[begin:end])
        column = int(columns[columns > row][0] if lower else columns[columns < row][0])
        other = "upper" if lower else "lower"
        raise MatrixError(
            f"sptrsv: row {row} has an entry in column {column}, which is in the {other} triangle; "
            f"expected none there. Take the triangle alone, or lower={not lower} for the other one."
        )
    graph._known[key] = True


def check_diagonal(A: CrsMatrix, what: str, space: es.ExecutionSpace) -> None:
    """Raise MatrixError for a diagonal element that is zero or missing. Blocks."""
    parts = A.row_map, A.entries
    row = first(A.shape[0], space, kernels.is_singular, *parts, A.values)
    if row is None:
        return
    missing = first(1, space, _lacks, row, *parts) is not None
    how = "has no diagonal element" if missing else "has a diagonal element of 0"
    raise MatrixError(
        f"{what}: row {row} {how}; expected one that is not 0, for rows are divided by them."
    )


def _lacks(one: int, row: Any, row_map: Any, entries: Any) -> Any:
    for k in range(row_map[row], row_map[row + 1]):
        if entries[k] == row:
            return 1
    return 0


def _chosen(algorithm: str, handle: SpTrsvHandle) -> tuple[str, str]:
    """The algorithm, and why."""
    if algorithm != "auto":
        return algorithm, "it was asked for"
    space, graph = handle.space, handle.graph
    if not graph.num_rows:
        return "sequential", "there are no rows"
    if space.concurrency < _THREADS_OF_HOSTS:
        return "sequential", f"space '{space.name}' runs {space.concurrency} work items at once"
    mean, teams = graph.nnz // handle.levels, isinstance(space, es.SupportsTeams)
    narrow = handle._narrow()
    if space.concurrency <= MANY:
        if mean >= _WIDE:
            return "levels", f"levels have {mean} entries on the average, which threads can share"
        if teams and handle._sets().widest_share(narrow) > 0.5:
            return "chained", f"most rows are in levels of more than {narrow} rows, others are not"
        return "sequential", f"levels have {mean} entries on the average, fewer than {_WIDE}"
    launches = sum(1 for _ in handle._sets().chains(narrow))
    if teams and launches < handle.levels:
        return "chained", f"{handle.levels} levels are done by {launches} launches"
    return "levels", "no two levels in a row are narrow enough for one team"
