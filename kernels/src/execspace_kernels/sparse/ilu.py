"""ILU(k): incomplete factors L and U of a matrix, and what they precondition.

The first phase finds where they have entries, see `fill`, and in which order rows can be
factorised; the second computes them row by row (IKJ), rows of a level set at once; the third solves
with both. Kokkos Kernels: SPILUK.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import execspace as es

from ..arguments import MANY, at_once, check_not_recorded, choice, count_of, first, in_turns
from ..decisions import decided
from ..errors import MatrixError
from . import ilu_kernels as kernels
from .crs import CrsMatrix, StaticCrsGraph
from .elements import check_numbers
from .fill import filled
from .foreign import as_crs
from .level_sets import LevelSets, level_sets
from .phases import check_graph, check_handle
from .replay import Replay
from .rows import sort_and_merge
from .sptrsv import SpTrsvHandle, operands, sptrsv_symbolic

__all__ = ["Ilu", "IluHandle", "ilu_apply", "ilu_numeric", "ilu_symbolic"]

ALGORITHMS = ("auto", "sequential", "levels")
_WIDE = 2048  # entries of a level, from which on threads of a host share it
_THREADS_OF_HOSTS = 4  # to gain from levels: one work item alone finds columns twice as fast
_THREADS = 32  # of the team for a row, on devices


class IluHandle:
    """Incomplete factors of matrices of one graph; made by `ilu_symbolic`.

    Attributes
    ----------
    algorithm : {"sequential", "levels"}
        How they are computed.
    why : str
        What made it this one.
    level : int
        Greatest level of fill.
    L, U : CrsMatrix
        The factors, once `ilu_numeric` has computed them: L without its diagonal, whose elements
        are one, and U with it. Their columns ascend.
    lower, upper : SpTrsvHandle
        How is solved with them.
    """

    def __init__(self, A: CrsMatrix, level: int, space: es.ExecutionSpace) -> None:
        self.graph, self.level, self.space = A.graph, level, space
        self.algorithm = self.why = ""
        self._factors: tuple[CrsMatrix, CrsMatrix] | None = None
        self._failure = ""  # of the last second phase
        self._source = _sorted(A, space)
        with es.use_space(space):
            whole = filled(self._source.graph, level, A.row_map.dtype, space)
            self._graphs = _split(whole, space)
            self._places = self._where(whole)
        self._sets: LevelSets | None = None
        self._replay: Replay | None = None

    def _where(self, whole: StaticCrsGraph) -> es.View:
        """For each entry of the matrix where it goes: of L counted from -1 down, of U from 0 up."""
        source = self._source.graph
        places = es.View(source.nnz, np.int64, space=self.space, initialize=False)
        low, up = self._graphs
        es.parallel_for(
            es.RangePolicy(source.num_rows, space=self.space), kernels.places, source.row_map,
            source.entries, low.row_map, low.entries, up.row_map, up.entries, places,
        )  # fmt: skip
        return places

    @property
    def L(self) -> CrsMatrix:
        """The lower factor, without its diagonal of ones."""
        return self._computed()[0]

    @property
    def U(self) -> CrsMatrix:
        """The upper factor."""
        return self._computed()[1]

    def _computed(self) -> tuple[CrsMatrix, CrsMatrix]:
        if self._factors is None:
            raise MatrixError(
                "ilu: the factors have no values yet; compute them by ilu_numeric(handle, A)."
            )
        return self._factors

    def _check_usable(self) -> None:
        """Raise MatrixError where there are no factors, or those of a phase that failed."""
        self._computed()
        if self._failure:
            raise MatrixError(
                f"ilu: there are no factors to solve with, for the last call of ilu_numeric, or "
                f"Ilu.update, failed: {self._failure} Call it for a matrix of other values."
            )

    @property
    def levels(self) -> int:
        """Number of level sets in which rows are factorised. Blocks the first time."""
        return len(self._level_sets())

    def _level_sets(self) -> LevelSets:
        if self._sets is None:
            self._sets = at_once(level_sets, self._graphs[0], True, self.space)
        return self._sets

    def _set_algorithm(self, algorithm: str) -> None:
        self.algorithm, self.why = algorithm, "it was asked for"
        if algorithm == "auto":
            self.algorithm, self.why = self._chosen()
        decided("ilu", self.algorithm, self.why)
        low, up = (CrsMatrix.of(graph, _empty(graph.nnz, self.space)) for graph in self._graphs)
        self.lower: SpTrsvHandle = sptrsv_symbolic(
            low, unit_diagonal=True, check=False, space=self.space
        )
        self.upper: SpTrsvHandle = sptrsv_symbolic(up, lower=False, check=False, space=self.space)

    def _chosen(self) -> tuple[str, str]:
        space, nnz = self.space, sum(graph.nnz for graph in self._graphs)
        if not nnz:
            return "sequential", "there are no entries"
        if space.concurrency < _THREADS_OF_HOSTS:
            return "sequential", f"space '{space.name}' runs {space.concurrency} work items at once"
        if space.concurrency > MANY:
            return "levels", f"space '{space.name}' runs many work items at once"
        mean = nnz // self.levels
        if mean < _WIDE:
            return "sequential", f"levels have {mean} entries on the average, fewer than {_WIDE}"
        return "levels", f"levels have {mean} entries on the average, which threads can share"

    @in_turns
    def _factorise(self, values: es.View) -> None:
        """Launch the second phase, or what is kept of it."""
        low, up = self._computed()
        if not up.nnz:
            return
        if self._replay is None:
            launches = 1 if self.algorithm == "sequential" else self.levels
            self._replay = Replay(self._run, self.space, launches, copies=False)
        self._replay((low.values,), values, up.values)

    def _run(self, lower: tuple[es.View, ...], values: es.View, upper: es.View) -> None:
        (low_graph, up_graph), (low,) = self._graphs, lower
        for factor in (low, upper):
            es.deep_copy(factor, 0, instance=self.space)
        every = es.RangePolicy(values.size, space=self.space)
        es.parallel_for(every, kernels.put, values, self._places, low, upper, label="ilu values")
        parts = low_graph.row_map, low_graph.entries, low, up_graph.row_map, up_graph.entries, upper
        if self.algorithm == "sequential":
            one = es.RangePolicy(1, space=self.space)
            marks = es.zeros(low_graph.num_rows, np.int64, space=self.space)
            es.parallel_for(one, kernels.in_order, marks, *parts, label="ilu sequential")
            return
        sets = self._level_sets()
        by_teams = self.space.concurrency > MANY and isinstance(self.space, es.SupportsTeams)
        for begin, end in zip(sets.bounds[1:-1], sets.bounds[2:], strict=True):
            if by_teams:  # rows of the first level need nothing
                teams = es.TeamPolicy(end - begin, _THREADS, space=self.space)
                es.parallel_for(
                    teams, kernels.of_level_by_teams, begin, sets.order, *parts, label="ilu levels"
                )
            else:
                rows = es.RangePolicy(begin, end, space=self.space)
                es.parallel_for(rows, kernels.of_level, sets.order, *parts, label="ilu levels")

    @in_turns
    def solve(self, b: es.View, x: es.View) -> None:
        """Launch the third phase, for Views that fit."""
        self._check_usable()
        low, up = self._computed()
        self.lower.solve(low.values, b, x)
        self.upper.solve(up.values, x, x)

    def __repr__(self) -> str:
        return f"<IluHandle of {self.graph!r}, level {self.level}, algorithm {self.algorithm!r}>"


def _empty(n: int, space: es.ExecutionSpace) -> es.View:
    return es.View(n, np.float32, space=space, initialize=False)


def _sorted(A: CrsMatrix, space: es.ExecutionSpace) -> CrsMatrix:
    """The matrix with columns that ascend, none twice: itself, or a copy. Blocks."""
    if at_once(_is_sorted, A, space):
        return A
    made: CrsMatrix = at_once(_merged, A, space)
    return made


def _is_sorted(A: CrsMatrix, space: es.ExecutionSpace) -> bool:
    with es.use_space(space):
        return A.graph.is_sorted()


def _merged(A: CrsMatrix, space: es.ExecutionSpace) -> CrsMatrix:
    with es.use_space(space):
        return sort_and_merge(A)


def _split(
    whole: StaticCrsGraph, space: es.ExecutionSpace
) -> tuple[StaticCrsGraph, StaticCrsGraph]:
    """The strictly lower part of a graph, and the upper one, which has all of the diagonal."""
    n, kind = whole.num_rows, whole.row_map.dtype
    rows = es.RangePolicy(n, space=space)
    starts = [es.View(n + 1, kind, label="row_map", space=space) for _ in "LU"]
    low = int(es.parallel_scan(rows, kernels.count_lower, whole.row_map, whole.entries, starts[0])
              ) if n else 0  # fmt: skip
    entries = [
        es.View(size, whole.entries.dtype, label="entries", space=space, initialize=False)
        for size in (low, whole.nnz - low)
    ]
    es.parallel_for(rows, kernels.split, whole.row_map, whole.entries, *starts, *entries)
    one, other = (
        StaticCrsGraph(row_map, columns, n, check=False)
        for row_map, columns in zip(starts, entries, strict=True)
    )
    return one, other


def ilu_symbolic(
    A: CrsMatrix | Any,
    *,
    level: int = 0,
    algorithm: str = "auto",
    space: str | es.ExecutionSpace | None = None,
) -> IluHandle:
    """Find where the incomplete factors of a matrix have entries, whatever their values.

    Parameters
    ----------
    A : CrsMatrix, or a sparse matrix of another library
        n x n. Diagonal elements that it does not store count as stored zeros.
    level : int, default 0
        Greatest level of fill; 0 for factors with the entries of A alone.
    algorithm : {"auto", "sequential", "levels"}
        How the factors are computed: by one work item in order, or a launch for each level set of
        rows.
    space : str or ExecutionSpace, optional

    Raises
    ------
    MatrixError
        If A is not square, or `level` is no number of 0 or more.
    SpaceAccessError

    Notes
    -----
    Blocks. The handle's `lower` and `upper` say how it is solved with the factors.
    Y. Saad, "Iterative methods for sparse linear systems", 2nd ed., section 10.3.
    """
    A = as_crs(A)
    choice(algorithm, "ilu: algorithm", ALGORITHMS)
    check_numbers("ilu", A)
    A.graph.check_settled("ilu_symbolic")
    k = count_of(level, "ilu: level", 0)
    where = es.space_for(A.row_map, A.entries, A.values, space=space)
    if A.shape[0] != A.shape[1]:
        raise MatrixError(f"ilu: A is {A.shape[0]} x {A.shape[1]}; expected a square matrix.")
    handle: IluHandle = at_once(IluHandle, A, k, where)
    handle._set_algorithm(algorithm)
    return handle


def ilu_numeric(
    handle: IluHandle, A: CrsMatrix | Any, *, check: bool = True
) -> tuple[CrsMatrix, CrsMatrix]:
    """The values of the factors.

    Parameters
    ----------
    handle : IluHandle
        Of a matrix with the graph that A has; it may have other values now.
    A : CrsMatrix, or a sparse matrix of another library by rows
        Read.
    check : bool, default True
        Look whether a pivot is zero or no finite number, which blocks.

    Returns
    -------
    L, U : CrsMatrix
        Those of the handle: a second call stores into the same Views, unless the dtype is another
        one. L has no diagonal elements; they are one.

    Raises
    ------
    MatrixError
        If the handle was made for another graph; or for a pivot that is zero or not finite, with
        its row. The factors are stored then, to be looked at; they solve nothing, so `ilu_apply`
        raises until a call of this function succeeds.

    Notes
    -----
    Asynchronous where the space is, without `check`, unless columns of A do not ascend. Cannot be
    recorded with `check`.
    """
    A = as_crs(A)
    check_handle("ilu_numeric", handle, IluHandle, "ilu_symbolic")
    check_graph("ilu_numeric", "A", A, handle.graph, "ilu_symbolic")
    space = handle.space
    es.space_for(A.row_map, A.entries, A.values, space=space)
    if check:
        check_not_recorded("ilu_numeric")
    if handle._factors is None or handle._factors[0].dtype != A.dtype:
        low, up = (
            CrsMatrix.of(g, es.View(g.nnz, A.dtype, label="values", space=space, initialize=False))
            for g in handle._graphs
        )
        handle._factors = low, up
        handle._replay = None
    handle._failure = "it did not end."
    handle._factorise(A.values if handle._source.graph is A.graph else _sorted(A, space).values)
    low, up = handle._factors
    if check:
        row = first(up.shape[0], space, kernels.is_no_pivot, up.row_map, up.values)
        if row is not None:
            at = int(up.row_map[row : row + 1].to_numpy()[0])
            pivot = up.values[at : at + 1].to_numpy()[0]
            handle._failure = (
                f"the pivot of row {row} is {pivot}; expected a finite number that is not 0."
            )
            raise MatrixError(
                f"ilu: {handle._failure} Put rows in another order, or add to the diagonal."
            )
    handle._failure = ""
    return low, up


def ilu_apply(handle: IluHandle, b: es.View | Any, *, out: es.View | Any = None) -> es.View:
    """x with L U x = b: two triangular solves.

    Parameters
    ----------
    handle : IluHandle
        After `ilu_numeric`.
    b : View or array, shape (n,) or (n, k)
        One vector or several; read.
    out : View or array, shape (n,) or (n, k), optional
        x; may be `b` itself. Without it a new View of the common dtype.

    Raises
    ------
    MatrixError
        If the factors have no values yet, or `ilu_numeric` has failed since.
    ViewError
        As `sptrsv_solve`.

    Notes
    -----
    Asynchronous where the space is; can be recorded.
    """
    if not isinstance(handle, IluHandle):
        raise MatrixError(f"ilu_apply: handle={handle!r}; expected that of ilu_symbolic.")
    handle._check_usable()
    _, up = handle._computed()
    source, x = operands("ilu", up, b, out, handle.space)
    handle.solve(source, x)
    return x


class Ilu:
    """ILU(k) of a matrix as a preconditioner.

    Parameters
    ----------
    A : CrsMatrix, or a sparse matrix of another library
    level, algorithm, space
        As of `ilu_symbolic`.

    Attributes
    ----------
    handle : IluHandle

    Examples
    --------
    >>> from execspace_kernels import sparse
    >>> A = sparse.CrsMatrix([0, 2, 4], [0, 1, 0, 1], [4.0, 1.0, 2.0, 3.0], shape=(2, 2))
    >>> sparse.Ilu(A).apply([5.0, 5.0]).to_numpy().tolist()
    [1.0, 1.0]
    """

    def __init__(
        self,
        A: CrsMatrix | Any,
        level: int = 0,
        *,
        algorithm: str = "auto",
        space: str | es.ExecutionSpace | None = None,
    ) -> None:
        A = as_crs(A)
        self.handle = ilu_symbolic(A, level=level, algorithm=algorithm, space=space)
        ilu_numeric(self.handle, A)

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return self.handle.graph.num_rows, self.handle.graph.num_cols

    @property
    def dtype(self) -> np.dtype[Any]:
        """That of the factors."""
        return self.handle.U.dtype

    @property
    def space(self) -> es.ExecutionSpace:
        """Where it runs."""
        return self.handle.space

    def update(self, A: CrsMatrix | Any) -> None:
        """Take the values that a matrix of the same graph has now. Blocks.

        Raises
        ------
        MatrixError
            As `ilu_numeric`. For a pivot that is zero or not finite `apply` raises afterwards,
            until an update succeeds: the old factors are gone.
        """
        ilu_numeric(self.handle, A)

    def apply(self, b: es.View | Any, *, out: es.View | Any = None) -> es.View:
        """x with L U x = b, see `ilu_apply`."""
        return ilu_apply(self.handle, b, out=out)

    solve = __call__ = apply

    def __repr__(self) -> str:
        return f"<Ilu of {self.handle.graph!r}, level {self.handle.level}>"
