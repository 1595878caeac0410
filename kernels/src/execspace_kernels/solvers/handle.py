"""prepare and Handle: a solver with its vectors and graphs, for systems that come again."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import RLock
from typing import Any

import numpy as np

import execspace as es

from ..arguments import MANY, as_view, check_takes, count_of, result
from ..errors import ConvergenceError, MatrixError
from ..sparse import CrsMatrix
from .columns import Columns
from .conjugate import ConjugateGradients
from .method import Callback, Method
from .operators import Operator, as_operand, check_call, operator_of, views_of
from .polynomial import ChebyshevIteration, checked_bounds
from .ranks import attempt, ranks_of
from .residuals import MinimalResiduals
from .solution import CONVERGED, FALSE, REASONS, RUNNING, STOPPED, Solution
from .stabilized import StabilizedGradients

__all__ = ["METHODS", "Handle", "prepare", "right_side"]

METHODS: dict[str, type[Method]] = {
    "cg": ConjugateGradients,
    "bicgstab": StabilizedGradients,
    "gmres": MinimalResiduals,
    "chebyshev": ChebyshevIteration,
}
_OPTIONS = {"gmres": "restart", "chebyshev": "bounds"}
_EVERY = 10  # iterations that a device does between two looks of the host
_MOST, _LEAST = 10_000, 10  # iterations, if nothing is said
_TIMES = 10  # the tolerance, which ||b - A x|| may be in the end
_Asked = tuple[es.View, es.View | None, tuple[float, float], int, int]
_COLUMNS = 1024  # of b: their sums are arrays on the stacks of threads


class Handle:
    """A solver for systems of one matrix and right-hand sides of one shape; made by `prepare`.

    One thread at a time may use it.

    Attributes
    ----------
    method : str
    algorithm : str
        How products and dots are done, see `prepare`.
    space : ExecutionSpace
    shape : tuple of int
        Of b and x.
    dtype : numpy.dtype
        Of x.
    """

    def __init__(
        self, method: str, A: Any, b: es.View, M: Any, operators: tuple[Operator, Operator | None],
        algorithm: str, space: es.ExecutionSpace, options: dict[str, Any],
    ) -> None:  # fmt: skip
        self.method, self.space, self.shape = method, space, b.shape
        n = b.shape[0]
        self._A, self._M = operators
        dtypes = [op.dtype for op in (self._A, self._M) if op is not None and op.dtype is not None]
        self.dtype = np.result_type(b.dtype, *dtypes)
        if self.dtype.kind not in "fc":
            self.dtype = np.result_type(self.dtype, np.float64)
        self._algorithm, self._options = algorithm, options
        self._ranks = ranks_of(A, M, method, n, space)
        if self._ranks is not None:
            self._ranks.check_same(
                method=method, columns=b.shape[1:], dtype=self.dtype, M=M is not None, **options
            )
        self._turn, self._is_busy = RLock(), False
        self._make()

    def _make(self) -> None:
        columns = self.shape[1] if len(self.shape) == 2 and self.method != "gmres" else None
        with es.use_space(self.space):
            self._solver = METHODS[self.method](
                Columns(self.shape[0], columns, self.dtype, self.space, self._ranks), self._A,
                self._M, self._algorithm, **self._options,
            )  # fmt: skip
        self._values = self._elements()

    def _elements(self) -> tuple[es.View | None, ...]:
        """Values of matrices, which graphs have recorded."""
        return tuple(
            None if operator is None else operator.values for operator in (self._A, self._M)
        )

    @property
    def algorithm(self) -> str:
        """How products and dots are done."""
        return self._solver.algorithm

    @property
    def bounds(self) -> tuple[float, float] | None:
        """The interval of Chebyshev's iteration."""
        solver = self._solver
        return solver.bounds if isinstance(solver, ChebyshevIteration) else None

    @property
    def bytes_per_iteration(self) -> int | None:
        """Bytes that an iteration must move between memory and processor: each element of a matrix
        and each of a vector that a pass reads or writes counts once. None where something else than
        a matrix is multiplied with. Of GMRES for one column, on the average of a whole cycle."""
        return self._solver.bytes_per_iteration

    def update(self) -> None:
        """Find out again what depends on elements of A and M, after these have changed.

        That is `bounds` of "chebyshev", if they were not given: those of elements that were are
        slow, or the iteration diverges. There is nothing to do for other methods, nor when
        `A.values` were assigned, which `solve` notices. Blocks.

        Raises
        ------
        MatrixError
            If bounds cannot be estimated, as A or M is not positive definite; the old ones stay.
        """
        with self._solving(), es.use_space(self.space):
            self._solver.renew()

    def solve(
        self,
        b: es.View | Any,
        *,
        x0: es.View | Any = None,
        out: es.View | Any = None,
        rtol: float = 1e-8,
        atol: float = 0.0,
        max_iterations: int | None = None,
        callback: Callback | None = None,
        check_every: int | None = None,
        raise_on_failure: bool = False,
    ) -> Solution:
        """Solve A x = b. Parameters and what is raised are those of `cg`.

        Blocks. What it needs was allocated, and recorded, at the first time.
        """
        return self._solve(
            b, x0, out, rtol, atol, max_iterations, callback, check_every, raise_on_failure, True
        )

    def _solve(
        self, b: Any, x0: Any, out: Any, rtol: Any, atol: Any, max_iterations: Any, callback: Any,
        check_every: Any, raise_on_failure: bool, again: bool,
    ) -> Solution:  # fmt: skip
        if es.is_recorded():
            raise es.LaunchError(
                f"{self.method}: a solver looks at residuals, which there are not yet while a "
                f"graph is recorded; call it outside of `with graph:`."
            )
        ranks = self._ranks

        def check() -> _Asked:
            return self._checked(b, x0, out, rtol, atol, max_iterations, callback, check_every)

        right, start, limits, most, every = check() if ranks is None else ranks.attempt(check)
        with self._solving(), es.use_space(self.space):
            if ranks is not None:
                ranks.check_same(
                    rtol=limits[0], atol=limits[1], max_iterations=most, check_every=every,
                    x0=x0 is not None, raise_on_failure=raise_on_failure,
                )  # fmt: skip
            found = self._found(right, start, limits, most, every, callback, again, out)
        if raise_on_failure and not found.converged:
            raise ConvergenceError(f"{self.method}: {found.reason}.\n{found.report()}", found)
        return found

    def _checked(
        self, b: Any, x0: Any, out: Any, rtol: Any, atol: Any, max_iterations: Any, callback: Any,
        check_every: Any,
    ) -> _Asked:  # fmt: skip
        """What is solved, and how long; raises for what does not fit."""
        what = self.method
        right = right_side(b, what, self.space)
        start = None if x0 is None else right_side(x0, f"{what}: x0", self.space)
        for given, name in ((right, "b"), (start, "x0")):
            if given is not None:
                self._check(given, name)
        if out is not None:
            check_takes(what, result(out, what, self.shape, self.dtype, self.space, right),
                        self.dtype)  # fmt: skip
        used = [view for view in (right, start) if view is not None]
        es.space_for(*used, *(() if out is None else (as_view(out, f"{what}: out"),)),
                     space=self.space)  # fmt: skip
        ranks = self._ranks
        rows = self.shape[0] if ranks is None else ranks.rows
        most = min(max(10 * rows, _LEAST), _MOST)
        if max_iterations is not None:
            most = count_of(max_iterations, f"{what}: max_iterations", 0)
        is_device = self.space.concurrency > MANY if ranks is None else ranks.is_device
        every = _EVERY if is_device else 1
        if check_every is not None:
            every = count_of(check_every, f"{what}: check_every", 1)
        limits = tuple(_tolerance(t, f"{what}: {n}") for t, n in ((rtol, "rtol"), (atol, "atol")))
        if callback is not None and not callable(callback):
            raise MatrixError(f"{what}: callback={callback!r}; expected a function.")
        return right, start, (limits[0], limits[1]), most, every

    @contextmanager
    def _solving(self) -> Iterator[None]:
        """Threads have it one after the other, for it has vectors of its own."""
        with self._turn:
            if self._is_busy:
                raise MatrixError(
                    f"{self.method}: the handle is solving already, and its callback, A or M calls "
                    f"it; expected another handle there."
                )
            self._is_busy = True
            try:
                self.space.fence()
                if any(a is not b for a, b in zip(self._values, self._elements(), strict=True)):
                    self._make()  # a matrix has got other values
                yield
            finally:
                self._is_busy = False

    def _check(self, view: es.View, name: str) -> None:
        if view.shape != self.shape:
            raise es.ViewError(
                f"{self.method}: {name} is View '{view.label}' of shape {view.shape}; expected "
                f"{self.shape}."
            )
        if view.dtype.kind == "c" and self.dtype.kind != "c":
            raise es.ViewError(
                f"{self.method}: {name} is View '{view.label}' of {view.dtype}, and the solver "
                f"was made for {self.dtype}; expected real numbers, or a b that is complex."
            )

    def _found(
        self, b: es.View, x0: es.View | None, limits: Any, most: int, every: int,
        callback: Any, again: bool, out: Any,
    ) -> Solution:  # fmt: skip
        several = len(self.shape) == 2
        if several and (self.method == "gmres" or not self.shape[1]):
            x = es.View(self.shape, self.dtype, label="x", space=self.space)
            parts = []
            for j in range(self.shape[1]):
                own = None if x0 is None else x0[:, j]
                parts.append(self._run(b[:, j], own, limits, most, every, callback))
                es.deep_copy(x[:, j], self._solver.x.own, instance=self.space)
        else:
            parts = [self._run(b, x0, limits, most, every, callback)]
            x = self._solver.x.own
            if again and out is None:
                x = es.View(self.shape, self.dtype, label="x", space=self.space, initialize=False)
                es.deep_copy(x, self._solver.x.own, instance=self.space)
        if out is not None:
            to = as_view(out, f"{self.method}: out")
            es.deep_copy(to, x, instance=self.space)
            x = to
        return self._told(x, parts)

    def _run(
        self, b: es.View, x0: es.View | None, limits: Any, most: int, every: int, callback: Any
    ) -> tuple[Any, ...]:
        """Status, iterations, history and thresholds of the columns."""
        solver, state = self._solver, self._solver.state
        state.clear(most)
        solver.begin(b, x0, *limits)
        status = np.array(solver.run(most, every, callback))
        threshold = state.threshold.to_numpy().astype(np.float64) * state.back.to_numpy()
        self._look(b, status, threshold)
        count = state.count.to_numpy().astype(np.int64)
        history = state.history[: int(count.max()) + 1].to_numpy().astype(np.float64)
        return np.where(status == RUNNING, STOPPED, status), count, history, threshold

    def _look(self, b: es.View, status: Any, threshold: Any) -> None:
        """Look at b - A x of columns that are done, which the iteration only believes to know."""
        done = np.flatnonzero(status == CONVERGED)
        solver = self._solver
        if not done.size or not solver.columns.all_rows:
            return
        x, q = solver.x.own, solver.q.own
        self._A(x, q)
        least = float(np.sqrt(np.finfo(self.dtype).eps))
        every = es.RangePolicy(self.shape[0], space=self.space)
        for j in done:
            right, found = (b, q) if b.rank == 1 else (b[:, j], q[:, j])
            peaks = es.parallel_reduce(every, _peaks, right, found, reducer=(es.Max, es.Max))
            most = float(max(self._joined(peaks, es.Max)))
            if most == 0 or most != most:
                continue
            squares = es.parallel_reduce(
                every, _squares, right, found, most, reducer=(es.Sum, es.Sum)
            )
            left, own = (most * float(np.sqrt(s)) for s in self._joined(squares, es.Sum))
            if not left <= max(_TIMES * threshold[j], least * own):
                status[j] = FALSE

    def _joined(self, numbers: Any, reducer: Any) -> Any:
        """What was found of the rows here, for all rows."""
        return numbers if self._ranks is None else self._ranks.numbers(numbers, reducer)

    def _told(self, x: es.View, parts: list[tuple[Any, ...]]) -> Solution:
        status: Any
        threshold: Any
        k = self.shape[1] if len(self.shape) == 2 else 1
        most = max((part[2].shape[0] for part in parts), default=1)
        history = np.full((most, k), np.nan)
        at = 0
        for part in parts:
            length, width = part[2].shape
            history[:length, at : at + width] = part[2]
            at += width
        status, count, threshold = (
            np.concatenate([np.zeros(0, dtype), *(part[n] for part in parts)])
            for n, dtype in ((0, np.int64), (1, np.int64), (3, np.float64))
        )
        reasons = tuple(REASONS[int(s)] for s in status)
        bad = [j for j, reason in enumerate(reasons) if reason != REASONS[1]]
        if not bad:
            reason = REASONS[1]
        else:
            reason = reasons[bad[0]] if k == 1 else f"column {bad[0]}: {reasons[bad[0]]}"
        alone = len(self.shape) == 1
        return Solution(
            x, not bad, int(count[0]) if alone else count, history[:, 0] if alone else history,
            reason, reasons, self.method, threshold,
        )  # fmt: skip

    def __repr__(self) -> str:
        return (
            f"<Handle of {self.method} for b of shape {self.shape}, {self.dtype}, on "
            f"'{self.space.name}', algorithm {self.algorithm!r}>"
        )


def prepare(
    method: str,
    A: CrsMatrix | Any,
    b: es.View | Any,
    *,
    M: Any = None,
    algorithm: str = "auto",
    space: str | es.ExecutionSpace | None = None,
    **options: Any,
) -> Handle:
    """Make a solver for systems that come again, as in time steps.

    Parameters
    ----------
    method : {"cg", "bicgstab", "gmres", "chebyshev"}
    A, M, algorithm, space
        As of `cg`. Elements of a CrsMatrix, BsrMatrix, StencilMatrix, or matrix of SciPy, CuPy or
        PyTorch by rows, or of SciPy by blocks, may change between solutions. Others, such as those
        by columns, are copied here, and what changes in them afterwards is not seen: convert them
        once, and change what they became.
    b : View or array, shape (n,) or (n, k)
        A right-hand side; what it holds is not read.
    **options
        `restart` of "gmres", `bounds` of "chebyshev": estimated now if not given, and kept until
        `Handle.update`.

    Returns
    -------
    Handle
        Its `solve(b)` is what `cg` and others do.

    Raises
    ------
    MatrixError, ViewError, SpaceAccessError
        As `cg`.

    Notes
    -----
    Asynchronous where the space is, but for "chebyshev" without bounds. Launches of operators are
    recorded with the Views that they have then; one that takes others needs another handle.

    Examples
    --------
    >>> from execspace_kernels import solvers, sparse
    >>> A = sparse.CrsMatrix([0, 1, 2], [0, 1], [2.0, 4.0], shape=(2, 2))
    >>> handle = solvers.prepare("cg", A, [0.0, 0.0])
    >>> [handle.solve(b).x.to_numpy().tolist() for b in ([2.0, 0.0], [0.0, 8.0])]
    [[1.0, 0.0], [0.0, 2.0]]
    """

    def made() -> tuple[Any, ...]:
        return _ingredients(method, A, b, M, algorithm, space, options)

    join = getattr(A, "join_over_ranks", None)
    if callable(join):
        check_call(join, f"{method}: A.join_over_ranks", "(view, reducer)", None, None,
                   wanted="what joins the elements of a View by es.Sum or es.Max.")  # fmt: skip
        return Handle(*attempt(join, str(method), made))
    return Handle(*made())


def _ingredients(
    method: str, A: Any, b: Any, M: Any, algorithm: str, space: Any, options: dict[str, Any]
) -> tuple[Any, ...]:
    """What a handle is made of; raises for what does not fit on this process."""
    if not isinstance(method, str) or method not in METHODS:
        raise MatrixError(f"prepare: method={method!r}; expected one of {', '.join(METHODS)}.")
    for name in options:
        if name != _OPTIONS.get(method):
            raise MatrixError(f"{method} has no option {name!r}.")
    if options.get("restart") is not None:
        options["restart"] = count_of(options["restart"], "gmres: restart", 1)
    elif "restart" in options:
        options["restart"] = 30
    if options.get("bounds") is not None:
        options["bounds"] = checked_bounds(options["bounds"], method)
    A, M = as_operand(A), as_operand(M)
    right = right_side(b, method, space)
    where = es.space_for(*views_of(A), *views_of(M), right, space=space)
    n = right.shape[0]
    operators = (
        operator_of(A, f"{method}: A", n, where),
        None if M is None else operator_of(M, f"{method}: M", n, where),
    )
    return method, A, right, M, operators, algorithm, where, options


def right_side(b: Any, what: str, space: str | es.ExecutionSpace | None) -> es.View:
    """b as a View of one column or several; ViewError for what is none."""
    view = as_view(b, what if ": " in what else f"{what}: b", space)
    name = what if ": " in what else f"{what}: b"
    if view.rank not in (1, 2) or view.dtype.kind not in "iufc":
        raise es.ViewError(
            f"{name} is View '{view.label}' of shape {view.shape} and {view.dtype}; expected "
            f"numbers of shape (n,) or (n, k)."
        )
    if view.rank == 2 and view.shape[1] > _COLUMNS:
        raise es.ViewError(
            f"{name} has {view.shape[1]} columns; expected {_COLUMNS} at most. Solve for some of "
            f"them at a time."
        )
    return view


def _tolerance(value: Any, what: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float | np.floating | np.integer):
        raise MatrixError(f"{what}={value!r}; expected a number.")
    if not 0 <= value < np.inf:
        raise MatrixError(f"{what}={value!r}; expected 0 or more.")
    return float(value)


def _peaks(i: int, b: Any, q: Any) -> Any:
    return abs(b[i] - q[i]), abs(b[i])


def _squares(i: int, b: Any, q: Any, most: Any) -> Any:
    left = abs(b[i] - q[i]) / most
    own = abs(b[i]) / most
    return left * left, own * own
