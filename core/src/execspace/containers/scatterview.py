"""ScatterView: contributions of many threads to the same elements, joined at the end."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..base.brief import brief
from ..base.errors import LaunchError, ViewError, ViewTypeError
from ..base.readonly import ReadOnly
from ..base.storage_types import format_of
from ..contract.layout import classify, left_strides, right_strides
from ..contract.space import ExecutionSpace
from ..events.recording import by_extents
from ..launch.parallel import parallel_for
from ..plugins.selection import default_space, resolve
from ..policies.range import RangePolicy
from ..views.deep_copy import deep_copy
from ..views.interop import view_of
from ..views.mirrors import Moves, create_mirror, reshaped, shape_of
from ..views.static import static
from ..views.view import View
from .arguments import whole
from .uniquetoken import UniqueToken

__all__ = [
    "ScatterView",
]

_OPS = ("sum", "prod", "min", "max")
_STRATEGIES = ("plain", "atomic", "duplicated")


class ScatterView(ReadOnly):
    """A buffer beside a View that kernels contribute to, whatever index they are at.

    Pass `access()` to a kernel, which writes ``a[j] += x`` (with ``op="prod"``: ``a[j] *= x``;
    with "min" and "max": ``es.atomic_min(a, j, x)``, ``es.atomic_max(a, j, x)``), and call
    `contribute` afterwards. With the strategy "duplicated" pass `copies()`, of which a work item
    changes the copy that it has acquired.

    Parameters
    ----------
    view : View
        Whose elements are to be contributed to. Contiguous; numbers, for "min" and "max" not
        complex.
    op : {"sum", "prod", "min", "max"}, default "sum"
    strategy : {"plain", "atomic", "duplicated"}, optional
        "plain": one buffer and no atomic operations, for spaces that run one thread. "atomic": one
        buffer with the atomic trait. "duplicated": a copy for each work item that runs at once.
        Default "plain" where kernels run on one thread, else "atomic".
    copies : int, optional
        With "atomic": how many buffers, 1 if not given, over which hints of `acquire` spread the
        work items, so that fewer of them meet. With "duplicated": how many copies, which with fewer
        than work items that run at once lets some wait.
    space : str or ExecutionSpace, optional
        Where the kernels run; the default space if not given.

    Attributes
    ----------
    op, strategy : str
    token : UniqueToken or None
        Of the copies, if the strategy is "duplicated".

    Raises
    ------
    ViewError
        If there is no such op or strategy, the View is not contiguous or holds no numbers that
        the op is defined for, "plain" is asked for on a space of several threads, or `copies` is no
        integer above zero, or more than 1 of "plain".

    Notes
    -----
    Integers, minima and maxima are the same in each run. Sums and products of floats are not to
    the last digits: atomic operations come in the order of arrival, and which copy a contribution
    goes to depends on which thread was first. Copies are joined in the order of their numbers.

    Kokkos: https://kokkos.org/kokkos-core-wiki/API/containers/ScatterView.html. There OpenMP has
    "duplicated" as its default; here it takes a kernel that acquires a copy.

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
    >>> list(map(float, es.create_mirror_view_and_copy(es.HOST, forces)))
    [1.0, 0.0, -1.0]
    """

    _fixed = frozenset(("op", "strategy", "token"))
    _instead = "Make a new ScatterView"
    _in_launches = "Pass its View, access() or copies(); kernels may capture the object."

    def __init__(
        self,
        view: View,
        *,
        op: str = "sum",
        strategy: str | None = None,
        copies: int | None = None,
        space: str | ExecutionSpace | None = None,
    ) -> None:
        if not isinstance(view, View):
            raise ViewTypeError(
                f"ScatterView: expected a View, got {type(view).__name__!r}; wrap an array with "
                f"es.view_of."
            )
        if not isinstance(op, str) or op not in _OPS:
            raise ViewError(
                f"ScatterView of '{view.label}': op {brief(op)} does not exist; expected 'sum', "
                f"'prod', 'min' or 'max'."
            )
        _flat(view, "ScatterView")
        if op in ("min", "max") and np.dtype(view.dtype).kind == "c":
            raise ViewError(
                f"ScatterView of '{view.label}': op {brief(op)} is not defined for {view.dtype}; "
                f"expected integers or floats, because complex numbers have no order."
            )
        self.op = op
        self._space = default_space() if space is None else resolve(space)
        several = self._space.concurrency > 1
        if strategy is None:
            strategy = "atomic" if several else "plain"
        known = isinstance(strategy, str) and strategy in _STRATEGIES
        if not known or (several and strategy == "plain"):
            what = "does not exist" if not known else "loses contributions"
            usable = [s for s in _STRATEGIES if not (several and s == "plain")]
            raise ViewError(
                f"ScatterView of '{view.label}': strategy {brief(strategy)} {what} on space "
                f"'{self._space.name}'; expected {' or '.join(map(repr, usable))}."
            )
        self.strategy = strategy
        most = 1 if strategy == "plain" else 2**31
        number = None if copies is None else whole("ScatterView", "copies", copies, 1, most)
        is_duplicated = strategy == "duplicated"
        self.token = UniqueToken(self._space, number) if is_duplicated else None
        self._number = self.token.size if self.token is not None else number or 1
        self._make(view)

    def _make(self, view: View) -> None:
        """Buffers of a View's shape and layout."""
        self._like = view.shape, view.layout
        self._extents = shape_of(view)
        initialize = self.op == "sum"
        if self._number == 1:
            self._buffer = create_mirror(view, where=view.memory_space, initialize=initialize)
            whole = self._buffer
            shape, strides = (1, *whole.shape), (max(whole.size, 1), *whole.strides)
        else:
            line = 64 // np.gcd(64, view.dtype.itemsize)  # no two copies share a cache line
            row = -(-max(view.size, 1) // line) * line
            inner = left_strides if view.layout == "left" else right_strides
            whole = View(
                (self._number, int(row)), view.dtype, label=view.label,
                memory=view.memory_space, space=view.space, layout="right",
                initialize=initialize,
            )  # fmt: skip
            self._buffer = whole
            shape, strides = (self._number, *view.shape), (int(row), *inner(view.shape))
        self._copies = View._over(
            whole.allocation, whole.data_ptr, whole.dtype, shape, strides,
            classify(shape, strides, "right"), False, whole.space, None,
            (None, *view.type.static) if view.type.static else (),
        )  # fmt: skip
        if not initialize:
            deep_copy(self._buffer, _identity(self.op, np.dtype(self._buffer.dtype)))
        Moves.note()  # graphs that have recorded something for the buffers look at them

    # -- in kernels -----------------------------------------------------------------------------

    def access(self) -> View:
        """The View that kernels take.

        Raises
        ------
        ViewError
            If the strategy is "duplicated", or there are several buffers.
        """
        if self.strategy == "duplicated" or self._number > 1:
            raise ViewError(
                f"ScatterView: access() of {self._copies.extent(0)} copies has no one View; "
                f"expected strategy 'plain' or 'atomic', and one buffer. Pass copies(), and take "
                f"the copy that acquire gives."
            )
        return self._buffer.with_traits("atomic") if self.strategy == "atomic" else self._buffer

    def copies(self) -> View:
        """The buffers as one View, whose first index is what `acquire` gives.

        With every strategy, so that one kernel serves all of them: "plain" has one, and so has
        "atomic" without `copies`.
        """
        return self._copies.with_traits("atomic") if self.strategy == "atomic" else self._copies

    def acquire(self, hint: Any = 0) -> Any:
        """The number of a copy that no other work item has, or that is atomic; for kernels."""
        if self.strategy == "duplicated":
            return self.token.acquire(hint)  # type: ignore[union-attr]
        return hint % self._number

    def release(self, copy: Any) -> None:
        """Give a copy back; for kernels."""
        if self.strategy == "duplicated":
            self.token.release(copy)  # type: ignore[union-attr]

    # -- on the host ----------------------------------------------------------------------------

    def contribute(self, destination: View | Any) -> None:
        """Join the contributions into a View, usually the one that this is for, and keep them.

        Raises
        ------
        ViewError
            If the shape or the layout differs, the View is not contiguous or read-only, or its
            elements are of a lower kind: no float goes into an integer.
        """
        copies = self._copies

        def contribute(destination: Any) -> None:
            self._check_kept("contribute", copies)
            _contributed(self.op, copies, self._like, self._space, destination=destination)

        by_extents("contribute", contribute, destination=destination)

    def reset(self) -> None:
        """Forget all contributions. Blocks."""
        buffer, copies = self._buffer, self._copies

        def reset() -> None:
            self._check_kept("reset", copies)
            deep_copy(buffer, _identity(self.op, np.dtype(buffer.dtype)))

        by_extents("reset", reset)

    def _check_kept(self, what: str, copies: View) -> None:
        """Raise LaunchError where a graph has recorded something for other buffers."""
        if self._copies is not copies:
            raise LaunchError(
                f"ScatterView of '{self._buffer.label}': {what} was recorded before resize or "
                f"realloc gave it other buffers, and so were kernels that got access() or "
                f"copies(); record the graph anew."
            )

    def reset_except(self, view: View) -> None:
        """Forget all contributions but those in a View: nothing happens to buffers within it.

        Kokkos has this for a ScatterView that has a View of the user as one of its buffers. Here
        the buffers are its own, so all are reset unless `access()` or `copies()` is given.
        """
        if view.allocation is not self._buffer.allocation:
            self.reset()

    def realloc(self, shape: int | static | Sequence[int | static]) -> None:
        """Give the buffers new extents, and forget all contributions. Blocks.

        What `access()` and `copies()` gave before is of the old buffers.

        Raises
        ------
        ViewError
            If the shape is not valid, the rank another one, or a static extent would change.
        """
        self._make(self._reshaped(shape))

    def resize(self, shape: int | static | Sequence[int | static]) -> None:
        """As `realloc`, but keep the contributions to elements that both shapes have. Blocks."""
        old = self._copies
        self._make(self._reshaped(shape))
        common = tuple(
            slice(0, min(a, b)) for a, b in zip(old.shape, self._copies.shape, strict=True)
        )
        deep_copy(self._copies[common], old[common])

    def _reshaped(self, shape: Any) -> View:
        label = self._buffer.label
        extents = reshaped(f"ScatterView of '{label}'", self._extents, shape, label)
        return View(
            extents, self._buffer.dtype, label=label, layout=self._like[1],
            memory=self._buffer.memory_space, space=self._buffer.space, initialize=False,
        )  # fmt: skip


def _contributed(
    op: str,
    copies: View,
    like: tuple[tuple[int, ...], str],
    space: ExecutionSpace,
    *,
    destination: Any,
) -> None:
    shape, layout = like
    destination = view_of(destination)
    if destination.shape != shape:
        raise ViewError(
            f"ScatterView: View '{destination.label}' has shape {destination.shape}; expected "
            f"{shape}."
        )
    if destination.is_readonly:
        raise ViewError(
            f"ScatterView: View '{destination.label}' is read-only; contribute to another one."
        )
    dst = _flat(destination, "contribute")
    own = copies.dtype
    if not np.can_cast(np.dtype(own), np.dtype(destination.dtype), "same_kind"):
        raise ViewError(
            f"ScatterView: View '{destination.label}' is of {destination.dtype}; sums of {own} "
            f"do not go into it. Contribute to a View of {own}, then convert it."
        )
    strides = copies.strides[1:]
    if classify(shape, strides, destination.layout) != destination.layout:
        raise ViewError(
            f"ScatterView: View '{destination.label}' has layout {destination.layout}; "
            f"expected {layout}. Contribute to a View of that layout, then copy it with "
            f"es.deep_copy."
        )
    policy = RangePolicy(dst.size, space=space)
    parallel_for(policy, _JOIN[op], dst, _rows(copies, dst.size), label="contribute")


def _rows(copies: View, size: int) -> View:
    """Each copy as a row of elements in the order of memory."""
    shape, strides = (copies.extent(0), size), (copies.stride(0), 1)
    return View._over(
        copies.allocation, copies.data_ptr, copies.dtype, shape, strides,
        classify(shape, strides, "right"), False, copies.space,
    )  # fmt: skip


def _identity(op: str, dtype: np.dtype[Any]) -> Any:
    """What changes nothing: of floats the infinities, of integers their limits."""
    if op in ("sum", "prod"):
        return 0 if op == "sum" else 1
    if dtype.kind == "f":
        return np.inf if op == "min" else -np.inf
    limits = np.iinfo(dtype)
    return limits.max if op == "min" else limits.min


# Each index is that of one element, so what joins the copies needs no atomic operations.


def _add(i: int, dst: Any, copies: Any) -> None:
    for c in range(copies.extent(0)):
        dst[i] += copies[c, i]


def _multiply(i: int, dst: Any, copies: Any) -> None:
    for c in range(copies.extent(0)):
        dst[i] *= copies[c, i]


def _lesser(i: int, dst: Any, copies: Any) -> None:
    for c in range(copies.extent(0)):
        dst[i] = np.minimum(dst[i], copies[c, i])


def _greater(i: int, dst: Any, copies: Any) -> None:
    for c in range(copies.extent(0)):
        dst[i] = np.maximum(dst[i], copies[c, i])


_JOIN: dict[str, Callable[..., None]] = {
    "sum": _add, "prod": _multiply, "min": _lesser, "max": _greater
}  # fmt: skip


def _flat(view: View, what: str) -> View:
    """All elements of a contiguous View as one row, in the order of memory."""
    if (form := format_of(view.dtype)) is not None:
        raise ViewError(
            f"{what}: View '{view.label}' is of {form.name}, of which there are no sums; expected "
            f"a View of float32 or another type that kernels compute in."
        )
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
