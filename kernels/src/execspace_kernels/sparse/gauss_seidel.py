"""Gauss-Seidel and SOR sweeps: each row of A x = b solved for its element of x, by new ones.

Algorithms
    coloured: rows are taken by colours, see `colouring`, a launch for each; rows of one colour do
    not need each other.
    two-stage: the triangular solve of a sweep is replaced by some sweeps of Jacobi's method, which
    all rows do at once: Berger-Vergiat et al., "Two-stage Gauss-Seidel preconditioners and
    smoothers for Krylov solvers on a GPU cluster", arXiv:2104.01196, 2021.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import execspace as es

from ..arguments import MANY, as_view, choice, count_of, in_turns
from ..decisions import decided
from ..errors import MatrixError
from . import relaxation_kernels as kernels
from .colouring import colour
from .crs import CrsMatrix
from .elements import check_numbers
from .foreign import as_crs
from .jacobi import check_inverses, check_omega, inverse_diagonal, policy
from .level_sets import LevelSets
from .phases import check_graph, check_handle
from .replay import Replay
from .sptrsv import operands

__all__ = [
    "GaussSeidel",
    "GaussSeidelHandle",
    "gauss_seidel_apply",
    "gauss_seidel_numeric",
    "gauss_seidel_symbolic",
]

ALGORITHMS = ("auto", "coloured", "two-stage")
DIRECTIONS = ("forward", "backward", "symmetric")
INITIAL = ("zero", "given")
_COLOURS = 48  # above which launches of devices are few rows each
_LONG = 8  # entries of a row, above which lanes of a device share it
_LANES, _THREADS = 8, 16  # for a row, and of a team
_MOST_READY = 8  # of what is kept


class GaussSeidelHandle:
    """How sweeps over matrices of one graph are done; made by `gauss_seidel_symbolic`.

    Attributes
    ----------
    algorithm : {"coloured", "two-stage"}
    why : str
        What made it this one.
    colours : int
        Number of colours; 0 for two stages.
    inner_sweeps : int
        Of Jacobi's method, for two stages.
    graph : StaticCrsGraph
    space : ExecutionSpace
    """

    def __init__(
        self, A: CrsMatrix, algorithm: str, inner_sweeps: int, space: es.ExecutionSpace
    ) -> None:
        self.graph, self.space, self.inner_sweeps = A.graph, space, inner_sweeps
        self.algorithm, self.why = algorithm, "it was asked for"
        self.colours = 0
        self._rows: LevelSets | None = None
        if algorithm != "two-stage":
            colouring = colour(A.graph, space=space)
            if algorithm == "auto":
                self.algorithm, self.why = self._chosen(colouring.number)
            if self.algorithm == "coloured":
                self.colours = colouring.number
                self._rows = colouring.rows(A.entries.dtype, space)
        decided("gauss_seidel", self.algorithm, self.why)
        self._is_checked = False
        self._places = A.graph.diagonal_places(space)
        self._ready: dict[Any, Replay] = {}
        self._work: dict[Any, tuple[es.View, ...]] = {}

    def _chosen(self, colours: int) -> tuple[str, str]:
        if self.space.concurrency > MANY and colours > _COLOURS:
            return "two-stage", f"rows have {colours} colours, more than {_COLOURS}"
        return "coloured", f"rows have {colours} colours"

    @in_turns
    def apply(
        self, values: es.View, b: es.View, x: es.View, sweeps: int, direction: str, omega: float,
        initial: str,
    ) -> None:  # fmt: skip
        """Launch the sweeps, or what is kept of them, for Views that fit."""
        if not self._is_checked:
            raise MatrixError(
                "gauss_seidel: there are no diagonal elements yet; call "
                "gauss_seidel_numeric(handle, A)."
            )
        if not x.size:
            return
        key = b.shape, x.dtype, values.dtype, b.dtype, sweeps, direction, omega, initial
        if key not in self._ready:
            if len(self._ready) >= _MOST_READY:
                self._ready.clear()
                self._work.clear()

            def run(read: tuple[es.View, ...], b: es.View, x: es.View) -> None:
                self._sweeps(read, b, x, sweeps, direction, omega, initial)

            each = self.colours if self.algorithm == "coloured" else self.inner_sweeps + 1
            total = sweeps * each * (2 if direction == "symmetric" else 1)
            total += self.algorithm == "two-stage"
            self._ready[key] = Replay(run, self.space, total, copies=initial == "zero")
        self._ready[key]((values,), b, x)

    def _sweeps(
        self, read: tuple[es.View, ...], b: es.View, x: es.View, sweeps: int, direction: str,
        omega: float, initial: str,
    ) -> None:  # fmt: skip
        ways = ("forward", "backward") if direction == "symmetric" else (direction,)
        parts: tuple[es.View, ...] = (self.graph.row_map, self.graph.entries, *read)
        if sweeps:
            coloured = self.algorithm == "coloured"
            parts = (*parts, self._places if coloured else self._inverted(read[0]))
        if initial == "zero" and (self.algorithm == "coloured" or not sweeps):
            es.deep_copy(x, 0, instance=self.space)
        for turn in range(sweeps):
            for way in ways:
                if self.algorithm == "coloured":
                    self._by_colours(parts, b, x, omega, way)
                else:
                    at_zero = initial == "zero" and turn == 0 and way == ways[0]
                    self._by_stages(parts, b, x, omega, way, "zero" if at_zero else "given")

    def _inverted(self, values: es.View) -> es.View:
        """Launch what inverts the diagonal that there is now."""
        A, key = CrsMatrix.of(self.graph, values), ("inverse", values.dtype)
        into = self._work[key][0] if key in self._work else None
        self._work[key] = (inverse_diagonal(A, "gauss_seidel", False, self.space, into),)
        return self._work[key][0]

    def _by_colours(
        self, parts: tuple[es.View, ...], b: es.View, x: es.View, omega: float, way: str
    ) -> None:
        rows = self._rows
        assert rows is not None
        by_lanes = (
            b.rank == 1
            and self.space.concurrency > MANY
            and self.graph.nnz > _LONG * self.graph.num_rows
            and isinstance(self.space, es.SupportsTeams)
        )
        label = "gauss_seidel coloured"
        colours = range(self.colours) if way == "forward" else reversed(range(self.colours))
        for c in colours:
            begin, end = rows.bounds[c : c + 2]
            if by_lanes:
                teams = es.TeamPolicy(
                    -(-(end - begin) // _THREADS), _THREADS, vector_length=_LANES, space=self.space
                )
                es.parallel_for(
                    teams, kernels.of_colour_by_teams, begin, end, rows.order, *parts, b, x, omega,
                    label=label,
                )  # fmt: skip
                continue
            kernel = kernels.of_colour if b.rank == 1 else kernels.of_colour_of_several
            some = policy(b, self.space, begin, end)
            es.parallel_for(some, kernel, rows.order, *parts, b, x, omega, label=label)

    def _by_stages(
        self, parts: tuple[es.View, ...], b: es.View, x: es.View, omega: float, way: str,
        initial: str,
    ) -> None:  # fmt: skip
        one = b.rank == 1
        start = kernels.start_one if one else kernels.start_several
        inner = kernels.inner_one if one else kernels.inner_several
        r, g, h = self._vectors(b, x)
        every, label = policy(b, self.space, 0, b.shape[0]), "gauss_seidel two-stage"
        es.parallel_for(every, start, *parts, b, x, r, g, omega, initial, label=label)
        for _ in range(self.inner_sweeps - 1):
            es.parallel_for(every, inner, *parts, r, g, h, omega, way, "no", label=label)
            g, h = h, g
        if self.inner_sweeps:
            es.parallel_for(every, inner, *parts, r, g, x, omega, way, "yes", label=label)
        else:
            add = kernels.add_one if one else kernels.add_several
            es.parallel_for(every, add, g, x, label=label)

    def _vectors(self, b: es.View, x: es.View) -> tuple[es.View, ...]:
        """Residual, and two corrections."""
        key = b.shape, x.dtype
        if key not in self._work:
            self._work[key] = tuple(
                es.View(b.shape, x.dtype, label=label, space=self.space, initialize=False)
                for label in ("residual", "correction", "next")
            )
        return self._work[key]

    def __repr__(self) -> str:
        return f"<GaussSeidelHandle of {self.graph!r}, algorithm {self.algorithm!r}>"


def gauss_seidel_symbolic(
    A: CrsMatrix | Any,
    *,
    algorithm: str = "auto",
    inner_sweeps: int = 1,
    space: str | es.ExecutionSpace | None = None,
) -> GaussSeidelHandle:
    """Say how sweeps over a matrix are done, whatever its values.

    Parameters
    ----------
    A : CrsMatrix, or a sparse matrix of another library
        n x n; its graph need not be symmetric.
    algorithm : {"auto", "coloured", "two-stage"}
        See the module. "auto" takes colours, but on devices not many of them.
    inner_sweeps : int, default 1
        For two stages. After n of them a sweep is that of the rows in order.
    space : str or ExecutionSpace, optional

    Raises
    ------
    MatrixError
        If A is not square, or something is not known.
    SpaceAccessError

    Notes
    -----
    Blocks. Kokkos Kernels: https://kokkos.org/kokkos-kernels/docs/API/sparse/gauss_seidel.html
    """
    A = as_crs(A)
    choice(algorithm, "gauss_seidel: algorithm", ALGORITHMS)
    check_numbers("gauss_seidel", A)
    A.graph.check_settled("gauss_seidel_symbolic")
    inner = count_of(inner_sweeps, "gauss_seidel: inner_sweeps", 0)
    where = es.space_for(A.row_map, A.entries, A.values, space=space)
    if A.shape[0] != A.shape[1]:
        raise MatrixError(
            f"gauss_seidel: A is {A.shape[0]} x {A.shape[1]}; expected a square matrix."
        )
    return GaussSeidelHandle(A, algorithm, inner, where)


def gauss_seidel_numeric(
    handle: GaussSeidelHandle, A: CrsMatrix | Any, *, check: bool = True
) -> None:
    """Look whether rows can be divided by the diagonal elements.

    Parameters
    ----------
    handle : GaussSeidelHandle
        Of a matrix with the graph that A has.
    A : CrsMatrix, or a sparse matrix of another library by rows
        Read.
    check : bool, default True
        Whether to look, which blocks. Sweeps divide by the elements that A has then; what is not
        looked at again after a change makes them infinite or NaN.

    Raises
    ------
    MatrixError
        If one is missing, zero, not finite, or so small that its inverse is not, with its row; or
        if the handle was made for another graph.

    Notes
    -----
    Asynchronous where the space is, without `check`.
    """
    A = _fitting("gauss_seidel_numeric", handle, A)
    if check:
        check_inverses(A, "gauss_seidel", handle.space)
    handle._is_checked = True


def gauss_seidel_apply(
    handle: GaussSeidelHandle,
    A: CrsMatrix | Any,
    b: es.View | Any,
    x: es.View | Any,
    *,
    sweeps: int = 1,
    direction: str = "forward",
    omega: float = 1.0,
    initial: str = "zero",
) -> es.View:
    """Some sweeps over A x = b.

    Parameters
    ----------
    handle : GaussSeidelHandle
        After `gauss_seidel_numeric`.
    A : CrsMatrix, or a sparse matrix of another library by rows
        n x n; read, its diagonal included, as it is when the sweeps run.
    b : View or array, shape (n,) or (n, k)
        One vector or several; read.
    x : View or array, shape (n,) or (n, k)
        Written, and read if it is given; of floats, complex if A or b is.
    sweeps : int, default 1
    direction : {"forward", "backward", "symmetric"}
        Colours, or rows, upwards, downwards, or one after the other, which counts as one sweep.
    omega : float, default 1.0
        Over-relaxation: more than 0, and less than 2 if it shall converge.
    initial : {"zero", "given"}
        What the sweeps begin with: zeros, or what `x` holds.

    Returns
    -------
    View
        `x`.

    Raises
    ------
    MatrixError
        If the handle was made for another graph or has no diagonal elements yet, or something is
        not known.
    ViewError
        If shapes do not fit, x is read-only, real where the result is complex, or overlaps what is
        read.
    SpaceAccessError

    Notes
    -----
    Asynchronous where the space is; can be recorded. The same to the bit in each run.
    """
    A = _fitting("gauss_seidel_apply", handle, A)
    turns = count_of(sweeps, "gauss_seidel: sweeps", 0)
    choice(direction, "gauss_seidel: direction", DIRECTIONS)
    choice(initial, "gauss_seidel: initial", INITIAL)
    weight = check_omega(omega, "gauss_seidel")
    if isinstance(x, list | tuple):
        raise es.ViewError(
            f"gauss_seidel: x is a {type(x).__name__}; expected a View or an array, for it is "
            f"written."
        )
    target = as_view(x, "gauss_seidel: x")
    source, target = operands("gauss_seidel", A, b, target, handle.space, apart=True)
    handle.apply(A.values, source, target, turns, direction, weight, initial)
    return target


def _fitting(what: str, handle: Any, matrix: Any) -> CrsMatrix:
    A = as_crs(matrix)
    check_handle(what, handle, GaussSeidelHandle, "gauss_seidel_symbolic")
    check_graph(what, "A", A, handle.graph, "gauss_seidel_symbolic")
    return A


class GaussSeidel:
    """Sweeps over a matrix, from zero, as a preconditioner.

    Parameters
    ----------
    A : CrsMatrix, or a sparse matrix of another library
        Kept: each `apply` is for the elements that it has then.
    sweeps, direction, omega
        As of `gauss_seidel_apply`; but symmetric if nothing is said, as methods of conjugate
        gradients need it.
    algorithm, inner_sweeps, space
        As of `gauss_seidel_symbolic`.

    Attributes
    ----------
    handle : GaussSeidelHandle
    A : CrsMatrix

    Examples
    --------
    >>> from execspace_kernels import sparse
    >>> A = sparse.CrsMatrix([0, 1, 3], [0, 0, 1], [2.0, 1.0, 4.0], shape=(2, 2))
    >>> M = sparse.GaussSeidel(A, direction="forward")
    >>> M.apply([2.0, 9.0]).to_numpy().tolist()
    [1.0, 2.0]
    """

    def __init__(
        self,
        A: CrsMatrix | Any,
        sweeps: int = 1,
        direction: str = "symmetric",
        omega: float = 1.0,
        *,
        algorithm: str = "auto",
        inner_sweeps: int = 1,
        space: str | es.ExecutionSpace | None = None,
    ) -> None:
        self.A = as_crs(A)
        self.sweeps = count_of(sweeps, "gauss_seidel: sweeps", 0)
        self.direction = choice(direction, "gauss_seidel: direction", DIRECTIONS)
        self.omega = check_omega(omega, "gauss_seidel")
        self.handle = gauss_seidel_symbolic(
            self.A, algorithm=algorithm, inner_sweeps=inner_sweeps, space=space
        )
        gauss_seidel_numeric(self.handle, self.A)

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return self.A.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        """That of the elements."""
        return self.A.dtype

    @property
    def space(self) -> es.ExecutionSpace:
        """Where it runs."""
        return self.handle.space

    def update(self, A: CrsMatrix | Any) -> None:
        """Take another matrix of the same graph, or look at the diagonal again. Blocks.

        Raises
        ------
        MatrixError
            As `gauss_seidel_numeric`; the matrix stays the one that it was then.
        """
        A = as_crs(A)
        gauss_seidel_numeric(self.handle, A)
        self.A = A

    def apply(self, b: es.View | Any, *, out: es.View | Any = None) -> es.View:
        """What the sweeps make of zeros; see `gauss_seidel_apply`."""
        source, x = operands("gauss_seidel", self.A, b, out, self.handle.space, apart=True)
        self.handle.apply(self.A.values, source, x, self.sweeps, self.direction, self.omega, "zero")
        return x

    __call__ = apply

    def __repr__(self) -> str:
        return f"<GaussSeidel of {self.A!r}, {self.sweeps} sweeps, {self.direction}>"
