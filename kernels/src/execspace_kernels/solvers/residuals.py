"""GMRES with restarts, for matrices of any kind; preconditioned from the right.

Saad and Schultz, "GMRES: a generalized minimal residual algorithm for solving nonsymmetric linear
systems", 1986. A vector is made orthogonal to all others by Gram and Schmidt's classical method,
twice (Giraud, Langou, Rozloznik and van den Eshof, 2005): its dots with all of them are one launch.
Rotations are done on the device by one work item.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import execspace as es

from ..arguments import MANY, choice, has_teams
from ..errors import MatrixError
from .columns import Columns, noted, size_of
from .method import Method
from .operators import Operator
from .orthogonal import Basis
from .solution import CONVERGED, NOT_FINITE, RUNNING, SINGULAR, TINY

__all__ = ["MinimalResiduals"]

_LEAST = {  # squares, by bytes of a real number: the least normal number by epsilon
    4: float(np.finfo(np.float32).tiny / np.finfo(np.float32).eps),
    8: float(np.finfo(np.float64).tiny / np.finfo(np.float64).eps),
}


class MinimalResiduals(Method):
    """The method for one right-hand side, with a restart after so many iterations."""

    name = "gmres"

    def __init__(
        self,
        columns: Columns,
        A: Operator,
        M: Operator | None,
        algorithm: str = "auto",
        *,
        restart: int = 30,
    ) -> None:
        super().__init__(columns, A, M, algorithm)
        m = self.restart = max(1, min(restart, columns.all_rows))
        space, scalar = columns.space, columns.scalar
        self.basis = Basis(columns, m, self.r, self.rr, self.algorithm)
        if M is not None:
            self.z = columns.vector("z")
        self.H = es.zeros((m + 1, m), scalar, space=space, label="H")
        self.cosines = es.zeros(m, columns.real, space=space, label="cosines")
        self.sines, self.y = (es.zeros(m, scalar, space=space, label=name) for name in "sy")
        self.g = es.zeros(m + 1, scalar, space=space, label="g")
        self.scale = columns.scalars("scale")
        self.steps = columns.scalars("steps", np.int32)
        self.at = 0  # of the cycle
        # Squares below are too few digits to tell what is left of a product.
        self.least = _LEAST[columns.real.itemsize]

    def chosen(self, algorithm: str) -> tuple[str, str]:
        """How vectors are made orthogonal."""
        space = self.columns.space
        choice(algorithm, "gmres: algorithm", ("auto", "pieces", "teams", "rows"))
        can_team = has_teams(space)
        if algorithm in ("pieces", "teams") and not can_team:
            raise MatrixError(
                f"gmres: algorithm={algorithm!r}, and space '{space.name}' has no teams; expected "
                f"'rows' or 'auto'."
            )
        if algorithm != "auto":
            return algorithm, "it was asked for"
        if not can_team:
            return "rows", f"space '{space.name}' has no teams"
        if space.concurrency > MANY:
            return "teams", f"space '{space.name}' runs many work items at once"
        return "pieces", f"space '{space.name}' runs few work items at once"

    def first(self) -> None:
        """The first vector is r, normalised."""
        self.at = 0
        self._started()

    def _started(self) -> None:
        self.columns.numbers(
            _restarted, self.rr, self.g, self.scale, self.steps, *self.state.views[:2],
            label="gmres restart",
        )  # fmt: skip
        self.basis.append(0, self.scale)

    def step(self) -> None:
        """The launches of the iteration that makes the vector `at` + 1."""
        j, basis = self.at, self.basis
        source = basis.vector(j)
        if self.M is not None:
            self.M(source, self.z.own)
            source = self.z.own
        # The new vector has the memory of r, which is wanted again at a restart only.
        self.A(source, self.r.own)
        basis.orthogonalise(j + 1)
        self.columns.numbers(
            _rotated, j, self.least, basis.dots, basis.more, self.rr, self.H, self.cosines,
            self.sines, self.g, self.scale, self.steps, *self.state.views, label="gmres rotations",
        )  # fmt: skip
        basis.append(j + 1, self.scale)

    def advance(self) -> None:
        """Submit the next iteration, and a restart where it is due."""
        self.submit(f"step {self.at}", self.step)
        self.at += 1
        if self.at == self.restart:
            self.submit("restart", self._restart)
            self.at = 0

    def finish(self) -> None:
        """x of what the last cycle has."""
        if self.at:
            self.submit("end", self._end)
            self.at = 0

    def _end(self) -> None:
        self.columns.numbers(_solved, self.H, self.g, self.y, self.steps, label="gmres y")
        c, basis = self.columns, self.basis
        if self.M is None:
            c.each(_add, _add, self.x.wide, basis.V, self.y, self.steps, label="gmres x += V y")
        else:
            c.each(_combine, _combine, self.q.wide, basis.V, self.y, self.steps, label="gmres V y")
            self.M(self.q.own, self.z.own)
            c.each(_plus, _plus, self.x.wide, self.z.wide, self.steps, label="gmres x += M V y")
        c.numbers(_emptied, self.steps, label="gmres end")

    def _restart(self) -> None:
        self._end()
        self.A(self.x.own, self.q.own)
        self.columns.sum(
            _left, _left, self.r.wide, self.b.wide, self.q.wide, self.g, out=self.rr,
            label="gmres b - Ax",
        )  # fmt: skip
        self._started()

    def keep_right(self) -> None:
        """Keep b, for restarts."""
        if not hasattr(self, "b"):
            self.b = self.columns.vector("b")
        es.deep_copy(self.b.wide, self.r.wide, instance=self.columns.space)

    def vector_passes(self) -> int:
        """On the average of a cycle that is full: three or four times the vectors, and some."""
        passes = 3 if self.algorithm == "pieces" else 4
        return passes * (self.restart + 1) // 2 + 2 + 6 + 2  # products, w, the new vector


# -- kernels --------------------------------------------------------------------------------------
# Those of scalars are not contracted, so that all ranks find the same.


@es.kernel(fma=False)
def _restarted(
    j: int, rr: Any, g: Any, scale: Any, steps: Any, threshold: Any, status: Any
) -> None:
    norm = np.sqrt(rr[0])
    for k in range(g.extent(0)):
        g[k] = 0
    g[0] = norm
    steps[0] = 0
    scale[0] = 0
    if norm > 0:
        scale[0] = 1 / norm
    if status[0] == RUNNING:
        if not np.isfinite(norm):
            status[0] = NOT_FINITE
        elif norm <= threshold[0]:
            status[0] = CONVERGED


@es.kernel(fma=False)
def _rotated(
    _: int, j: int, least: Any, dots: Any, more: Any, rr: Any, H: Any, cosines: Any, sines: Any,
    g: Any, scale: Any, steps: Any, threshold: Any, status: Any, count: Any, last: Any,
    history: Any, back: Any,
) -> None:  # fmt: skip
    if status[0] == RUNNING:
        norm = np.sqrt(rr[0])
        for k in range(j + 1):
            H[k, j] = dots[k] + more[k]
        for k in range(j):
            above = H[k, j]
            below = H[k + 1, j]
            H[k, j] = cosines[k] * above + sines[k] * below
            H[k + 1, j] = cosines[k] * below - np.conj(sines[k]) * above
        own = H[j, j]
        square = size_of(own, g)
        size = np.sqrt(square + norm * norm)
        if not np.isfinite(size):
            status[0] = NOT_FINITE
        elif own == 0 and norm == 0:
            status[0] = SINGULAR
        elif square + norm * norm < least:
            status[0] = TINY
        else:
            length = np.sqrt(square)
            cosines[j] = length / size
            sines[j] = 1
            if length > 0:
                sines[j] = own * (norm / (length * size))
            H[j, j] = cosines[j] * own + sines[j] * norm
            g[j + 1] = -np.conj(sines[j]) * g[j]
            g[j] = cosines[j] * g[j]
            steps[0] = j + 1
            scale[0] = 0
            if norm > 0:
                scale[0] = 1 / norm
            noted(0, np.sqrt(size_of(g[j + 1], g)), threshold, status, count, last, history, back)


@es.kernel(fma=False)
def _solved(_: int, H: Any, g: Any, y: Any, steps: Any) -> None:
    n = steps[0]
    for back in range(n):
        i = n - 1 - back
        total = g[i]
        for k in range(i + 1, n):
            total -= H[i, k] * y[k]
        y[i] = total / H[i, i]


def _emptied(_: int, steps: Any) -> None:
    steps[0] = 0


@es.function
def _combined(i: Any, V: Any, y: Any, steps: Any) -> Any:
    total = 0
    for k in range(steps[0]):
        total += V[i, k] * y[k]
    return total


def _add(i: int, x: Any, V: Any, y: Any, steps: Any) -> None:
    x[i, 0] += _combined(i, V, y, steps)


def _combine(i: int, q: Any, V: Any, y: Any, steps: Any) -> None:
    q[i, 0] = _combined(i, V, y, steps)


def _plus(i: int, x: Any, z: Any, steps: Any) -> None:
    if steps[0] > 0:
        x[i, 0] += z[i, 0]


def _left(i: int, r: Any, b: Any, q: Any, g: Any) -> Any:
    r[i, 0] = b[i, 0] - q[i, 0]
    return size_of(r[i, 0], g)
