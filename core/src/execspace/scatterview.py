"""ScatterView: contributions of many threads to the same elements, joined at the end."""

from __future__ import annotations

from typing import Any

import numpy as np

from .copying import deep_copy
from .errors import ViewError
from .layout import classify
from .mirrors import create_mirror
from .parallel import parallel_for
from .policy import RangePolicy
from .selection import default_space
from .space import ExecutionSpace
from .view import View

_IDENTITY = {"sum": 0, "prod": 1}


class ScatterView:
    """A buffer beside a View that kernels add to, whatever index they are at.

    Pass `access()` to a kernel, which writes ``a[j] += x`` (with ``op="prod"``: ``a[j] *= x``),
    and call `contribute` afterwards.

    Parameters
    ----------
    view : View
        Whose elements are to be added to. Contiguous.
    op : {"sum", "prod"}, default "sum"
    space : ExecutionSpace, optional
        Where the kernels run; the default space if not given.

    Attributes
    ----------
    strategy : str
        "plain" where kernels run on one thread, else "atomic".

    Notes
    -----
    Sums of floats that are made by atomic steps depend on the order of arrival, and so do not
    repeat bit for bit. Kokkos:
    https://kokkos.org/kokkos-core-wiki/API/containers/ScatterView.html

    Examples
    --------
    >>> import execspace as es
    >>> forces = es.View(3, label="forces")
    >>> scatter = es.ScatterView(forces)
    >>> def pairs(k, f):
    ...     f[k] += 1.0
    ...     f[k + 1] -= 1.0
    >>> es.parallel_for(2, pairs, scatter.access())
    >>> scatter.contribute(forces)
    >>> list(map(float, forces))
    [1.0, 0.0, -1.0]
    """

    def __init__(self, view: View, *, op: str = "sum", space: ExecutionSpace | None = None) -> None:
        if op not in _IDENTITY:
            raise ViewError(
                f"ScatterView of '{view.label}': op {op!r} does not exist; expected 'sum' or "
                f"'prod'. Minima and maxima are joined by es.atomic_min and es.atomic_max."
            )
        _flat(view, "ScatterView")
        self.op = op
        self._space = space
        chosen = default_space() if space is None else space
        self.strategy = "atomic" if chosen.concurrency > 1 else "plain"
        self._buffer = create_mirror(view, where=view.memory_space, initialize=op == "sum")
        if op != "sum":
            self.reset()

    def access(self) -> View:
        """The View that kernels take."""
        return self._buffer.with_traits("atomic") if self.strategy == "atomic" else self._buffer

    def contribute(self, destination: View) -> None:
        """Join the contributions into a View, usually the one that this is for, and keep them.

        Raises
        ------
        ViewError
            If the shape differs, or the View is not contiguous.
        """
        if destination.shape != self._buffer.shape:
            raise ViewError(
                f"ScatterView: View '{destination.label}' has shape {destination.shape}; expected "
                f"{self._buffer.shape}."
            )
        dst, src = _flat(destination, "contribute"), _flat(self._buffer, "contribute")
        strides = self._buffer.strides
        if classify(destination.shape, strides, destination.layout) != destination.layout:
            raise ViewError(
                f"ScatterView: View '{destination.label}' has layout {destination.layout}; "
                f"expected {self._buffer.layout}. Contribute to a View of that layout, then copy "
                f"it with es.deep_copy."
            )
        policy = RangePolicy(dst.size, space=self._space)
        parallel_for(policy, _JOIN[self.op], dst, src, label="contribute")

    def reset(self) -> None:
        """Forget all contributions."""
        deep_copy(self._buffer, _IDENTITY[self.op])


def _add(i: int, dst: Any, src: Any) -> None:
    dst[i] += src[i]


def _multiply(i: int, dst: Any, src: Any) -> None:
    dst[i] *= src[i]


_JOIN = {"sum": _add, "prod": _multiply}


def _flat(view: View, what: str) -> View:
    """All elements of a contiguous View as one row, in the order of memory."""
    if view.dtype.fields is not None or np.dtype(view.dtype).kind not in "iufc":
        raise ViewError(f"{what}: View '{view.label}' holds no numbers to be added.")
    if view.mapping is not None or not view.span_is_contiguous or view.layout == "stride":
        raise ViewError(
            f"{what}: View '{view.label}' is not contiguous; make it with layout 'right' or 'left'."
        )
    return View._over(
        view.allocation, view.data_ptr, view.dtype, (view.size,), (1,), "right", view.is_readonly,
        view.space,
    )  # fmt: skip
