"""Solves with the factors of SuperLU, by supernodes, on any space that has teams.

Neighbouring columns of a factor that have their rows in common are one dense block. Diagonal blocks
are inverted beforehand and multiplied into what lies below or beside them, so that a level of the
solve is products of dense matrices with vectors, one by each team: Yamazaki, Rajamanickam and
Ellingwood, "Performance portable supernode-based sparse triangular solver for manycore
architectures", ICPP 2020.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import execspace as es

from ..arguments import MANY, at_once, check_apart, check_takes, in_turns, result, vector
from ..decisions import decided
from ..errors import MatrixError
from . import supernodal_kernels as kernels
from .crs import StaticCrsGraph
from .level_sets import LevelSets, level_sets
from .replay import Replay
from .supernodes import Panels, panels_of

__all__ = ["SuperLuFactors", "superlu"]

_THREADS, _LANES = 8, 32  # of the team for a supernode, on devices
_FEW = 2  # supernodes of a level, up to which one team of a device does it among others
_WIDE = 16384  # elements of a level, from which on threads of a host share it
_MOST_READY = 4  # kinds of vectors for which memory is kept


class _Factor:
    """One of both factors on a space: levels of supernodes, and their blocks."""

    def __init__(self, panels: Panels, blocks: Any, lower: bool, space: es.ExecutionSpace) -> None:
        self.widest = int(np.diff(panels.firsts).max(initial=1))
        self.sets: LevelSets = level_sets(_needs(panels, lower, space), lower, space)
        self.parts = tuple(
            es.array(np.ascontiguousarray(a), space=space)
            for a in (panels.firsts, panels.starts, blocks, panels.row_starts)
        )
        self.count, self.elements = len(panels), int(panels.starts[-1])

    def steps(self, space: es.ExecutionSpace) -> list[tuple[int, int, bool]]:
        """Which supernodes a launch does, of those by levels; and whether in order."""
        bounds = self.sets.bounds
        if space.concurrency == 1:
            narrow = self.count
        elif space.concurrency <= MANY:
            narrow = _WIDE * self.count // max(self.elements, 1)
        else:
            narrow = _FEW
        return [
            (bounds[a], bounds[b], b - a > 1 or bounds[b] - bounds[a] <= narrow)
            for a, b in self.sets.chains(narrow)
        ]


class SuperLuFactors:
    """The factors of a matrix, to solve with; made by `superlu`.

    Attributes
    ----------
    shape : (int, int)
    dtype : dtype
        Of the factors.
    supernodes : (int, int)
        How many L and U have.
    levels : (int, int)
        How many level sets these make up.
    space : ExecutionSpace
    """

    def __init__(self, lu: Any, space: es.ExecutionSpace) -> None:
        self.shape = int(lu.shape[0]), int(lu.shape[1])
        self.space = space = es.space_for(space=space)
        with es.use_space(space):
            low = _by_columns(lu.L.tocsc())
            up = _by_columns(lu.U.tocsr())  # U by rows is its transpose by columns
            self.dtype = np.result_type(low.elements, up.elements)
            self._by = "rows" if space.concurrency <= MANY else "columns"
            self._low = _Factor(low, _blocks_of_lower(low, self._by), True, space)
            self._up = _Factor(up, _blocks_of_upper(up), False, space)
            self._takes = tuple(es.array(a, space=space) for a in _takes(low))
            self._places = low.rows.size
            self._columns = es.array(up.rows, space=space)
            self._orders = tuple(
                es.array(np.argsort(p).astype(np.int64), space=space)
                for p in (lu.perm_r, lu.perm_c)
            )
        self.supernodes = self._low.count, self._up.count
        self.levels = len(self._low.sets), len(self._up.sets)
        self._steps = self._low.steps(space), self._up.steps(space)
        self._ready: dict[Any, Replay] = {}

    @in_turns
    def solve(self, b: es.View | Any, *, out: es.View | Any = None) -> es.View:
        """x with A x = b, where A is what the factors are of.

        Parameters
        ----------
        b : View or array, shape (n,) or (n, k)
            One vector or several; read.
        out : View or array, shape (n,) or (n, k), optional
            x; may be `b` itself. Without it a new View of the common dtype.

        Raises
        ------
        ViewError
            If shapes do not fit, `out` is read-only, real where the result is complex, or overlaps
            `b` without being it.
        SpaceAccessError

        Notes
        -----
        Asynchronous where the space is; can be recorded. The same to the bit in each run.
        """
        n = self.shape[0]
        source = vector(b, "superlu: b", n, f"a matrix of {n} x {n}")
        dtype = np.result_type(self.dtype, source.dtype)
        x = result(out, "superlu", source.shape, dtype, self.space, source)
        check_takes("superlu", x, dtype)
        es.space_for(source, x, space=self.space)
        if out is not None and x != source:
            check_apart("superlu", x, b=source)
        if x.size:
            self._replay(source, dtype)((), source, x)
        return x

    apply = __call__ = solve

    def _replay(self, b: es.View, dtype: Any) -> Replay:
        key = b.shape, dtype
        if key not in self._ready:
            if len(self._ready) >= _MOST_READY:
                self._ready.clear()
            v, given = (
                es.View((n, *b.shape[1:]), dtype, space=self.space, layout="left", label="solve",
                        initialize=False)
                for n in (self.shape[0], self._places)
            )  # fmt: skip

            def run(_: tuple[es.View, ...], b: es.View, x: es.View) -> None:
                if b.rank == 1:
                    self._launch(b, x, v, given)
                    return
                for j in range(b.shape[1]):
                    self._launch(b[:, j], x[:, j], v[:, j], given[:, j])

            launches = sum(map(len, self._steps)) * (1 if b.rank == 1 else b.shape[1])
            self._ready[key] = Replay(run, self.space, launches)
        return self._ready[key]

    def _launch(self, b: es.View, x: es.View, v: es.View, given: es.View) -> None:
        rows, columns = self._orders
        low = *self._low.parts, *self._takes, given, rows, b, v, self._by
        up = *self._up.parts, self._columns, columns, v, x
        in_level: Any
        for factor, steps, in_level, in_chain, parts in (
            (self._low, self._steps[0], kernels.forward_of_level, kernels.forward_of_chain, low),
            (self._up, self._steps[1], kernels.backward_of_level, kernels.backward_of_chain, up),
        ):
            before = factor.widest, factor.sets.order
            for begin, end, in_order in steps:
                policy = self._teams(1 if in_order else end - begin)
                if in_order:
                    es.parallel_for(
                        policy, in_chain, begin, end, *before, *parts, label="superlu chain"
                    )
                else:
                    es.parallel_for(policy, in_level, begin, *before, *parts, label="superlu level")

    def _teams(self, count: int) -> Any:
        if self.space.concurrency <= MANY:
            return es.TeamPolicy(count, 1, space=self.space)
        space: Any = self.space
        limits = space.team_limits()
        lanes = min(_LANES, int(limits.vector_length_max))
        threads = max(1, min(_THREADS, int(limits.team_size_max)))
        return es.TeamPolicy(count, threads, vector_length=lanes, space=self.space)

    def __repr__(self) -> str:
        n, (low, up) = self.shape[0], self.supernodes
        return f"<SuperLuFactors {n} x {n} of {self.dtype}, {low} and {up} supernodes>"


def superlu(lu: Any, *, space: str | es.ExecutionSpace | None = None) -> SuperLuFactors:
    """The factors that SciPy has computed, to solve with on a space.

    Parameters
    ----------
    lu : scipy.sparse.linalg.SuperLU
        What `splu` or `spilu` returned, with any permutations; read once, on the host.
    space : str or ExecutionSpace, optional
        One with teams.

    Raises
    ------
    MatrixError
        If it is none, or the space has no teams.

    Notes
    -----
    Blocks: supernodes are found and their diagonal blocks inverted by NumPy. Inverses are as exact
    as diagonal blocks are well conditioned.

    Examples
    --------
    >>> import numpy as np, scipy.sparse, scipy.sparse.linalg
    >>> from execspace_kernels import sparse
    >>> A = scipy.sparse.csc_array(np.array([[4.0, 1.0], [2.0, 3.0]]))
    >>> factors = sparse.superlu(scipy.sparse.linalg.splu(A))
    >>> factors.solve([5.0, 5.0]).to_numpy().round(12).tolist()
    [1.0, 1.0]
    """
    if not all(hasattr(lu, name) for name in ("L", "U", "perm_r", "perm_c", "shape")):
        raise MatrixError(
            f"superlu: {type(lu).__name__!r} has no factors; expected what "
            f"scipy.sparse.linalg.splu returns."
        )
    where = es.space_for(space=space)
    if not isinstance(where, es.SupportsTeams):
        raise MatrixError(f"superlu: space '{where.name}' has no teams, which it needs.")
    made: SuperLuFactors = at_once(SuperLuFactors, lu, where)
    decided("superlu", "supernodal", "factors of SuperLU have supernodes")
    return made


def _by_columns(matrix: Any) -> Panels:
    """The panels of a factor by columns, of U the transposed ones."""
    matrix.sort_indices()
    indptr, indices = (np.asarray(a, np.int64) for a in (matrix.indptr, matrix.indices))
    return panels_of(indptr, indices, np.asarray(matrix.data))


def _blocks_of_lower(panels: Panels, by: str) -> Any:
    """Inverses of diagonal blocks, below them what rows below get by them; by rows or columns."""
    blocks = np.empty_like(panels.elements)
    for s in range(len(panels)):
        panel = panels.panel(s)
        width = panel.shape[1]
        inverse = np.linalg.inv(panel[:width])
        whole = np.concatenate([inverse, panel[width:] @ inverse])
        blocks[panels.starts[s] : panels.starts[s + 1]] = whole.ravel("C" if by == "rows" else "F")
    return blocks


def _blocks_of_upper(panels: Panels) -> Any:
    """Inverses of diagonal blocks, beside them what columns behind them give; by rows."""
    blocks = np.empty_like(panels.elements)
    for s in range(len(panels)):
        panel = panels.panel(s).T
        width = panel.shape[0]
        inverse = np.linalg.inv(panel[:, :width])
        whole = np.concatenate([inverse, -inverse @ panel[:, width:]], axis=1)
        blocks[panels.starts[s] : panels.starts[s + 1]] = whole.ravel()
    return blocks


def _takes(panels: Panels) -> tuple[Any, Any]:
    """For each row where what supernodes before give to it is kept, in their order."""
    order = np.argsort(panels.rows, kind="stable")
    n = int(panels.firsts[-1])
    return np.searchsorted(panels.rows[order], np.arange(n + 1)), order


def _needs(panels: Panels, lower: bool, space: es.ExecutionSpace) -> StaticCrsGraph:
    """Which supernodes each one needs: for L those before that have its rows, for U those behind
    that have its columns."""
    count = len(panels)
    owners = panels.owners()
    of_row = np.repeat(np.arange(count), np.diff(panels.row_starts))
    other = owners[panels.rows]
    who, whom = (other, of_row) if lower else (of_row, other)
    keys = np.unique(who * np.int64(max(count, 1)) + whom)
    starts = np.searchsorted(keys, np.arange(count + 1) * np.int64(max(count, 1)))
    return StaticCrsGraph(
        es.array(starts.astype(np.int64), space=space),
        es.array(keys % max(count, 1), space=space), count, check=False,
    )  # fmt: skip
