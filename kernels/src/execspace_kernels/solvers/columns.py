"""Vectors and scalars of a solver, and launches over them: for one right-hand side, or several.

All vectors are of rank 2 in kernels. One alone is a column whose elements lie side by side, and
its sums are numbers; of several the rows lie side by side, and sums are arrays. So a kernel comes
in two forms, which call the same functions of an element.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import execspace as es

from .ranks import Ranks
from .solution import CONVERGED, NOT_FINITE, RUNNING

__all__ = ["Columns", "State", "Vector", "noted", "product", "size_of"]

_LIMITS = {4: 2.0**112, 8: 2.0**1008}  # of factors: they and their inverses are normal numbers

Kernel = Callable[..., Any]


class Vector(NamedTuple):
    """One memory: of rank 2 for kernels here, and of the rank of b for operators."""

    wide: es.View
    own: es.View


class Columns:
    """What all vectors of a solver have in common, and how they are gone through.

    With `ranks`, vectors have some rows of those of all processes, and sums are of all rows.
    """

    def __init__(
        self, n: int, k: int | None, dtype: Any, space: es.ExecutionSpace,
        ranks: Ranks | None = None,
    ) -> None:  # fmt: skip
        self.n, self.k, self.dtype, self.space = n, 1 if k is None else k, np.dtype(dtype), space
        self.alone, self.ranks = k is None, ranks
        self.all_rows = n if ranks is None else ranks.rows
        narrow = not space.capabilities.float64 if ranks is None else ranks.is_narrow
        self.real = np.dtype(np.float32 if narrow else np.float64)
        whole = np.complex64 if narrow else np.complex128
        self.scalar = np.dtype(whole) if self.dtype.kind == "c" else self.real
        self.single = self.k == 1
        self._rows = es.RangePolicy(n, space=space)
        self._cells = self._rows if self.single else es.MDRangePolicy((n, self.k), space=space)
        self._columns = es.RangePolicy(self.k, space=space)

    def vector(self, label: str) -> Vector:
        """A vector for each column, not filled."""
        layout = "left" if self.single else "right"
        wide = es.View(
            (self.n, self.k), self.dtype, label=label, space=self.space, layout=layout,
            initialize=False,
        )  # fmt: skip
        return Vector(wide, wide.reshape(self.n) if self.alone else wide)

    def scalars(self, label: str, dtype: Any = None) -> es.View:
        """A number for each column, 0."""
        return es.zeros(self.k, dtype or self.real, space=self.space, label=label)

    def rows(self, kernel: Kernel, *args: Any, label: str) -> None:
        """Launch `kernel(i, ...)` over rows."""
        es.parallel_for(self._rows, kernel, *args, label=label)

    def each(self, one: Kernel, many: Kernel, *args: Any, label: str) -> None:
        """Launch `one(i, ...)` over rows, or `many(i, j, ...)`."""
        es.parallel_for(self._cells, one if self.single else many, *args, label=label)

    def sum(
        self, one: Kernel, many: Kernel, *args: Any, out: es.View, label: str, join: bool = True
    ) -> None:
        """Add what `one(i, ...)` returns, or what `many(i, sums, ...)` adds to `sums[j]`; without
        `join` of the rows here alone."""
        reducer = es.Sum(dtype=out.dtype) if self.single else es.Sum(shape=self.k, dtype=out.dtype)
        to = es.subview(out, 0) if self.single else out
        kernel = one if self.single else many
        es.parallel_reduce(self._rows, kernel, *args, reducer=reducer, out=to, label=label)
        if join:
            self.join(out, es.Sum)

    def join(self, view: es.View, reducer: Any) -> None:
        """Make what was found of the rows here that of all ranks, if there are several."""
        if self.ranks is not None:
            self.ranks.join(view, reducer)

    def sums(self, one: Kernel, many: Kernel, *args: Any, out: es.View, label: str) -> None:
        """The same of two numbers: `out` is of shape (2, k), `sums[0, j]` and `sums[1, j]`."""
        if self.single:
            each = es.Sum(dtype=out.dtype)
            to: Any = es.subview(out, 0, 0), es.subview(out, 1, 0)
            es.parallel_reduce(self._rows, one, *args, reducer=(each, each), out=to, label=label)
        else:
            reducer = es.Sum(shape=(2, self.k), dtype=out.dtype)
            es.parallel_reduce(self._rows, many, *args, reducer=reducer, out=out, label=label)
        self.join(out, es.Sum)

    def greatest(self, one: Kernel, many: Kernel, *args: Any, out: es.View, label: str) -> None:
        """The greatest of what `one(i, ...)` returns, or `many(i, found, ...)` keeps."""
        reducer = es.Max(dtype=out.dtype) if self.single else es.Max(shape=self.k, dtype=out.dtype)
        to = es.subview(out, 0) if self.single else out
        kernel = one if self.single else many
        es.parallel_reduce(self._rows, kernel, *args, reducer=reducer, out=to, label=label)
        self.join(out, es.Max)

    def numbers(self, kernel: Kernel, *args: Any, label: str) -> None:
        """Launch a kernel over columns."""
        es.parallel_for(self._columns, kernel, *args, label=label)


class State:
    """How far each column is: on the device, so that nothing waits for the host.

    `status` is one of the numbers of `solution`; what it is when a column is done stays.

    A system is solved for b by `scale`, a power of two for each column, so that no norm over- or
    underflows and nothing is rounded by it; `back` is its inverse. `threshold` is for residuals of
    that system, `last` and `history` are those of the user's.
    """

    def __init__(self, columns: Columns) -> None:
        self.columns = columns
        self.status, self.count = (columns.scalars(name, np.int32) for name in ("status", "count"))
        self.threshold, self.last = (columns.scalars(name) for name in ("threshold", "last"))
        self.peak, self.scale, self.back = (
            columns.scalars(name) for name in ("peak", "scale", "back")
        )
        self.history = es.View((1, columns.k), columns.real, label="history", space=columns.space)

    def clear(self, most: int) -> None:
        """Room for so many iterations, none of them done."""
        if self.history.shape[0] <= most:
            es.realloc(self.history, (most + 1, self.columns.k))
        es.deep_copy(self.history, np.nan, instance=self.columns.space)

    @property
    def views(self) -> tuple[es.View, ...]:
        """What `noted` takes."""
        return self.threshold, self.status, self.count, self.last, self.history, self.back

    def rescale(self) -> None:
        """`scale` of `peak`, the greatest element of each column; 1 for what is about 1."""
        limit = _LIMITS[self.columns.real.itemsize]
        self.columns.numbers(_scaled, self.peak, limit, self.scale, self.back, label="solver scale")

    def begin(self, bb: es.View, rr: es.View, rtol: float, atol: float) -> None:
        """Thresholds, and the norms of the first residuals."""
        self.columns.numbers(
            _begun, bb, rr, float(rtol), float(atol), self.scale, *self.views,
            label="solver tolerances",
        )  # fmt: skip


# -- kernels --------------------------------------------------------------------------------------


@es.function
def _wide(a: Any, like: Any) -> Any:
    if like.dtype == np.float64 or like.dtype == np.complex128:
        return np.float64(1) * a
    else:
        return a


@es.function
def product(a: Any, b: Any, like: Any) -> Any:
    """conj(a) b, in double precision where the scalars of the solver, such as those of the View
    `like`, are of it: the products of single precision would over- or underflow."""
    return np.conj(_wide(a, like)) * _wide(b, like)


@es.function
def size_of(a: Any, like: Any) -> Any:
    """|a|^2, as `product`."""
    return product(a, a, like).real


@es.function
def noted(
    j: Any, norm: Any, threshold: Any, status: Any, count: Any, last: Any, history: Any, back: Any
) -> None:
    """Write down the norm of a residual that an iteration has reached, and what follows of it."""
    count[j] += 1
    last[j] = norm * back[j]
    history[count[j], j] = last[j]
    if not np.isfinite(norm):
        status[j] = NOT_FINITE
    elif norm <= threshold[j]:
        status[j] = CONVERGED


def _begun(
    j: int, bb: Any, rr: Any, rtol: Any, atol: Any, scale: Any, threshold: Any, status: Any,
    count: Any, last: Any, history: Any, back: Any,
) -> None:  # fmt: skip
    threshold[j] = max(rtol * np.sqrt(bb[j]), atol * scale[j])
    status[j] = RUNNING
    count[j] = -1
    noted(j, np.sqrt(rr[j]), threshold, status, count, last, history, back)


def _scaled(j: int, peak: Any, limit: Any, scale: Any, back: Any) -> None:
    scale[j] = 1
    back[j] = 1
    left = peak[j]
    if left > 0 and np.isfinite(left):
        while left > 256 and back[j] < limit:
            left *= 1 / 65536
            scale[j] *= 1 / 65536
            back[j] *= 65536
        while left < 1 / 256 and scale[j] < limit:
            left *= 65536
            scale[j] *= 65536
            back[j] *= 1 / 65536
