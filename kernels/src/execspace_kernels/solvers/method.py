"""Method: what solvers have in common. An iteration is recorded once as a graph, and submitted.

Scalars stay on the device, and so does the decision to stop: what is submitted after that changes
nothing. The host looks at it every few iterations.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

import execspace as es

from ..decisions import decided
from .columns import Columns, State, product, size_of
from .operators import Operator, chosen_product
from .solution import RUNNING

__all__ = ["Callback", "Method"]

Callback = Callable[[int, Any], Any]


class Method(ABC):
    """Vectors and launches of one method, for systems of one size.

    Parameters
    ----------
    columns : Columns
    A : Operator
    M : Operator or None
        Preconditioner.
    algorithm : str
        As of `operators.PRODUCTS`.
    """

    name: str

    def __init__(
        self, columns: Columns, A: Operator, M: Operator | None, algorithm: str = "auto"
    ) -> None:
        self.columns, self.A, self.M = columns, A, M
        self.algorithm, why = self.chosen(algorithm)
        decided(self.name, self.algorithm, why)
        self.state = State(columns)
        self.x, self.r, self.q = (columns.vector(name) for name in ("x", "r", "q"))
        self.bb, self.rr = (columns.scalars(name) for name in ("bb", "rr"))
        self._ready: dict[str, es.GraphExec | None] = {}

    def chosen(self, algorithm: str) -> tuple[str, str]:
        """The algorithm, and why; MatrixError for one that there is not."""
        return chosen_product(algorithm, self.name, self.A, self.columns.k, self.columns.space)

    @property
    def fused(self) -> bool:
        """Whether products and what follows them are one launch."""
        return self.algorithm == "fused"

    @property
    def elements(self) -> tuple[es.View, es.View, es.View]:
        """Those of the matrix, for `row_product`."""
        matrix = self.A.matrix
        return matrix.row_map, matrix.entries, matrix.values

    # -- what methods do ---------------------------------------------------------------------------

    @abstractmethod
    def first(self) -> None:
        """What comes before the iterations, once r and its norm are there."""

    @abstractmethod
    def step(self) -> None:
        """The launches of an iteration."""

    @abstractmethod
    def vector_passes(self) -> int:
        """How often an iteration reads or writes an element of a vector, beside the matrix's."""

    def advance(self) -> None:
        """Submit an iteration."""
        self.submit("step", self.step)

    def finish(self) -> None:  # noqa: B027  # most have nothing to do
        """What comes after the iterations; `x` is the answer then, by the scale."""

    def renew(self) -> None:  # noqa: B027  # most look at no elements beforehand
        """What is to be found out again when elements of A or M have changed."""

    def keep_right(self) -> None:  # noqa: B027  # most need b no more
        """What is done while r is b, by the scale."""

    # -- what all of them do -----------------------------------------------------------------------

    def begin(self, b: es.View, x0: es.View | None, rtol: float, atol: float) -> None:
        """r = b - A x by the scale, its norm, and what the method needs first."""
        c = self.columns
        es.deep_copy(self.r.own, b, instance=c.space)
        if x0 is None:
            es.deep_copy(self.x.wide, 0, instance=c.space)
            c.greatest(_peak_one, _peak_many, self.r.wide, out=self.state.peak, label="solver |b|")
        else:
            es.deep_copy(self.x.own, x0, instance=c.space)
            self.A(self.x.own, self.q.own)
            c.greatest(
                _peaks_one, _peaks_many, self.r.wide, self.q.wide, out=self.state.peak,
                label="solver |b|, |r|",
            )  # fmt: skip
        self.state.rescale()
        c.sum(
            _size_one, _size_many, self.r.wide, self.state.scale, out=self.bb, label="solver ||b||"
        )
        self.keep_right()
        if x0 is None:
            es.deep_copy(self.rr, self.bb, instance=c.space)
        else:
            c.sum(
                _residual_one, _residual_many, self.r.wide, self.q.wide, self.x.wide, self.bb,
                self.state.scale, out=self.rr, label="solver residual",
            )  # fmt: skip
        self.state.begin(self.bb, self.rr, rtol, atol)
        self.first()

    def run(self, most: int, check_every: int, callback: Callback | None) -> npt.NDArray[np.int32]:
        """Iterate; the status of each column at the end. Blocks."""
        status = self.state.status.to_numpy()
        done = 0
        while done < most and (status == RUNNING).any():
            count = min(check_every, most - done)
            for _ in range(count):
                self.advance()
            done += count
            status = self.state.status.to_numpy()
            if callback is not None:
                norms = self.state.last.to_numpy().astype(np.float64)
                iteration = int(self.state.count.to_numpy().max())
                callback(iteration, float(norms[0]) if self.columns.alone else norms)
        self.finish()
        self.columns.each(_back_one, _back, self.x.wide, self.state.back, label="solver x")
        return np.asarray(status)

    def submit(self, name: str, launches: Callable[[], None]) -> None:
        """Run launches as a graph, which is recorded the first time."""
        if name not in self._ready:
            self._ready[name] = self._recorded(name, launches)
        ready = self._ready[name]
        if ready is None:
            launches()
        else:
            ready.submit()

    def _recorded(self, name: str, launches: Callable[[], None]) -> es.GraphExec | None:
        ranks = self.columns.ranks
        if ranks is not None and not ranks.is_recordable:  # the same on all of them
            decided(f"{self.name} {name}", "launches", "A or M over ranks does not record")
            return None
        graph = es.Graph(self.columns.space, label=f"{self.name} {name}")
        can = True
        try:
            with graph:
                launches()
        except es.LaunchError:  # an operator that looks at its vectors; or fails, now once more
            can = False
        # Libraries may want all ranks to do the same: NCCL does.
        everyone = can if ranks is None else ranks.all_of_them(can)
        if not everyone:
            where = "an operator" if not can else "on another rank an operator"
            decided(f"{self.name} {name}", "launches", f"{where} cannot be recorded")
            return None
        return graph.instantiate()

    @property
    def bytes_per_iteration(self) -> int | None:
        """Bytes that an iteration must move, with a matrix; None with operators. Vectors that a
        product gathers from count once."""
        elements = self.A.nbytes
        if elements is None or self.M is not None:
            return None
        vectors = self.vector_passes() * self.columns.n * self.columns.k
        return int(self.products * elements + vectors * self.columns.dtype.itemsize)

    products = 1  # with A, of an iteration


# -- kernels --------------------------------------------------------------------------------------


@es.function
def _peak(a: Any) -> Any:
    return max(abs(a.real), abs(a.imag))


def _peak_one(i: int, b: Any) -> Any:
    return _peak(b[i, 0])


def _peak_many(i: int, found: Any, b: Any) -> None:
    for j in range(b.extent(1)):
        size = _peak(b[i, j])
        if size > found[j]:
            found[j] = size


def _peaks_one(i: int, b: Any, q: Any) -> Any:
    return max(_peak(b[i, 0]), _peak(b[i, 0] - q[i, 0]))


def _peaks_many(i: int, found: Any, b: Any, q: Any) -> None:
    for j in range(b.extent(1)):
        size = max(_peak(b[i, j]), _peak(b[i, j] - q[i, j]))
        if size > found[j]:
            found[j] = size


@es.function
def _sized(i: Any, j: Any, r: Any, scale: Any) -> Any:
    r[i, j] *= scale[j]
    return size_of(r[i, j], scale)


def _size_one(i: int, r: Any, scale: Any) -> Any:
    return _sized(i, 0, r, scale)


def _size_many(i: int, sums: Any, r: Any, scale: Any) -> None:
    for j in range(r.extent(1)):
        sums[j] += _sized(i, j, r, scale)


def _back_one(i: int, x: Any, back: Any) -> None:
    if back[0] != 1:
        x[i, 0] *= back[0]


def _back(i: int, j: int, x: Any, back: Any) -> None:
    if back[j] != 1:
        x[i, j] *= back[j]


def dot_one(i: int, x: Any, y: Any, like: Any) -> Any:
    """The real part of x^H y."""
    return product(x[i, 0], y[i, 0], like).real


def dot_many(i: int, sums: Any, x: Any, y: Any, like: Any) -> None:
    """The same of several columns."""
    for j in range(x.extent(1)):
        sums[j] += product(x[i, j], y[i, j], like).real


@es.function
def _residual(i: Any, j: Any, r: Any, q: Any, x: Any, bb: Any, scale: Any) -> Any:
    if bb[j] == 0:  # 0 is the answer, which rtol could never tell
        x[i, j] = 0
        r[i, j] = 0
    else:
        x[i, j] *= scale[j]
        r[i, j] -= scale[j] * q[i, j]
    return size_of(r[i, j], scale)


def _residual_one(i: int, r: Any, q: Any, x: Any, bb: Any, scale: Any) -> Any:
    return _residual(i, 0, r, q, x, bb, scale)


def _residual_many(i: int, sums: Any, r: Any, q: Any, x: Any, bb: Any, scale: Any) -> None:
    for j in range(r.extent(1)):
        sums[j] += _residual(i, j, r, q, x, bb, scale)
