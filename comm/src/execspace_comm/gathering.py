"""A Field as an array on one rank, whole or in part, and back: for pictures, tests and input."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

import execspace as es

from .errors import CommError
from .field import Field
from .parts import agreed

__all__ = ["gather_field", "scatter_field"]


class Along(NamedTuple):
    """What is selected of a dimension: from `first` on, `number` indices, `step` apart.

    `step` is positive; `reverse` says that the last one comes first, and `drop` that the result
    lacks the dimension.
    """

    first: int
    number: int
    step: int
    reverse: bool = False
    drop: bool = False

    def within(self, lower: int, upper: int) -> tuple[int, int]:
        """Which of the indices, by their numbers, are from `lower` to below `upper`."""
        begin = max(0, -(-(lower - self.first) // self.step))
        end = min(self.number, -(-(upper - self.first) // self.step))
        return begin, max(begin, end)

    def slice(self, begin: int, end: int, origin: int) -> slice:
        """The indices of these numbers, counted from an origin."""
        if begin == end:
            return slice(0, 0)
        first = self.first + begin * self.step - origin
        return slice(first, first + (end - begin - 1) * self.step + 1, self.step)


def gather_field(field: Field, index: Any = (), *, root: int = 0) -> npt.NDArray[Any] | None:
    """The elements of a Field, or some of them, as an array on one rank.

    Parameters
    ----------
    field : Field
        Whose own elements are read; what was launched before is waited for.
    index : int, slice, Ellipsis or tuple of these, optional
        Which global indices, as NumPy has them: ``(slice(None), 5, slice(None, None, 4))`` is a
        plane, of which every fourth column is taken. Components come last. All if not given. The
        rest is not moved.
    root : int
        The rank that gets the array.

    Returns
    -------
    numpy.ndarray or None
        On `root` a new array, of the shape that NumPy gives to a selection of global indices (of
        rank 0 if integers take all dimensions), and of the dtype of the field; None elsewhere.

    Raises
    ------
    CommError
        On all ranks, if an index is outside of the range or of another kind, or if ranks do not
        agree.

    Notes
    -----
    Collective; blocks. Each rank sends what it has of the selection in one message. Besides the
    array, `root` keeps the message of one rank at a time.

    Examples
    --------
    >>> import execspace_comm as escomm
    >>> u = escomm.Decomposition((6, 4)).field("int32", space="serial", label="u")
    >>> u.own.fill(7)
    >>> found = escomm.gather_field(u, (2, slice(None, None, 2)))
    >>> u.decomposition.comm.rank > 0 or found.tolist() == [7, 7]
    True
    """
    comm = _comm_of(field, "gather_field")
    selected, problem = _selected(field, index)
    wrong, root = _root(comm, root, "gather_field")
    about = {**_about(field), "the index": repr(selected), "root": str(root)}
    agreed(comm, "gather_field", problem or wrong, about, 0)
    comm._begin("gather_field", 0, root=root, shape=field.global_shape, dtype=str(field.dtype))
    messages, tag = comm._apart()
    mine = _part(field, comm.rank, selected)
    if comm.rank != root:
        if mine is not None:
            messages.send(_own(field, selected, mine), root, tag=tag)
        return None
    found = np.empty([along.number for along in selected], field.dtype)
    for rank in range(comm.size):
        part = _part(field, rank, selected)
        if part is None:
            continue
        place = found[tuple(slice(a, b) for a, b in part)]
        if rank == root:
            es.deep_copy(place, _own(field, selected, part))
        else:
            messages.recv(place, rank, tag=tag)
    picked: Any = tuple(
        0 if along.drop else slice(None, None, -1 if along.reverse else None) for along in selected
    )
    return np.asarray(found[(*picked, ...)])


def scatter_field(array: es.View | Any | None, field: Field, *, root: int = 0) -> None:
    """Give own elements of a Field what an array of one rank has: the inverse of `gather_field`.

    Parameters
    ----------
    array : array, View or None
        On `root`, of the global shape of the field and its dtype; not looked at elsewhere.
    field : Field
        Written; its halo is left as it is.
    root : int
        The rank that has the array.

    Raises
    ------
    CommError
        On all ranks, if the array has another shape or dtype, or if ranks do not agree.

    Notes
    -----
    Collective; blocks. Each rank gets its box in one message.

    Examples
    --------
    >>> import numpy as np
    >>> import execspace_comm as escomm
    >>> u = escomm.Decomposition(6).field("int64", space="serial", label="u")
    >>> escomm.scatter_field(np.arange(6), u)
    >>> u.own.to_numpy().tolist() == list(range(*u.decomposition.lower, *u.decomposition.upper))
    True
    """
    comm = _comm_of(field, "scatter_field")
    given: Any = None
    problem, root = _root(comm, root, "scatter_field")
    if comm.rank == root and not problem:
        try:
            given = comm._view(array, "array")
        except (es.ExecspaceError, TypeError) as error:
            problem = str(error)
        else:
            if given.shape != field.global_shape or given.dtype != field.dtype:
                problem = (
                    f"array of shape {given.shape} and dtype {given.dtype} for field "
                    f"'{field.label}'; expected shape {field.global_shape} and dtype "
                    f"{field.dtype}."
                )
    agreed(comm, "scatter_field", problem, {**_about(field), "root": str(root)}, 0)
    comm._begin("scatter_field", 0, root=root, shape=field.global_shape, dtype=str(field.dtype))
    messages, tag = comm._apart()
    everything = [Along(0, n, 1) for n in field.global_shape]
    if comm.rank != root:
        if field.own.size:
            messages.recv(field.own, root, tag=tag)
        return
    for rank in range(comm.size):
        part = _part(field, rank, everything)
        if part is None:
            continue
        box = es.subview(given, *part)
        if rank == root:
            es.deep_copy(field.own, box)
        else:
            messages.send(box, rank, tag=tag)


# -- what is selected ------------------------------------------------------------------------------


def _comm_of(field: Any, what: str) -> Any:
    if not isinstance(field, Field):
        raise CommError(f"{what}: {field!r}; expected a field, as Decomposition.field makes it.")
    return field.decomposition.comm


def _root(comm: Any, root: Any, what: str) -> tuple[str, Any]:
    """What is wrong with a root, and which rank it is."""
    try:
        return "", comm._root(root, what)
    except CommError as error:
        return str(error), root


def _about(field: Field) -> dict[str, str]:
    """What must be the same on all ranks."""
    return {"the field": f"{field.dtype} of {field.global_shape}"}


def _selected(field: Field, index: Any) -> tuple[list[Along], str]:
    """What an index selects of each dimension, and why it cannot; the latter empty if it can."""
    shape = field.global_shape
    given = list(index) if isinstance(index, tuple) else [index]
    dots = [n for n, one in enumerate(given) if one is Ellipsis]
    if len(dots) > 1 or len(given) - len(dots) > len(shape):
        return [], (
            f"index {index!r} of field '{field.label}'; expected one for each of {len(shape)} "
            f"dimensions, and at most one '...'."
        )
    at = dots[0] if dots else len(given)
    missing = len(shape) - (len(given) - len(dots))
    given[at : at + 1] = [slice(None)] * missing
    found = []
    for d, (one, extent) in enumerate(zip(given, shape, strict=True)):
        try:
            along = _along(one, extent)
        except (TypeError, ValueError):
            along = None
        if along is None:
            return [], (
                f"index {one!r} of field '{field.label}' in dimension {d}; expected an integer "
                f"from {-extent} to {extent - 1}, or a slice."
            )
        found.append(along)
    return found, ""


def _along(one: Any, extent: int) -> Along | None:
    """What an index selects of an extent; None for an integer outside of it."""
    if isinstance(one, slice):
        indices = range(extent)[one]
        if not indices:
            return Along(0, 0, 1)
        if indices.step < 0:
            return Along(indices[-1], len(indices), -indices.step, reverse=True)
        return Along(indices[0], len(indices), indices.step)
    if isinstance(one, bool | np.bool_):
        return None  # a mask, for NumPy
    number = operator.index(one)
    if not -extent <= number < extent:
        return None
    return Along(number % extent, 1, 1, drop=True)


Part = Sequence[tuple[int, int]]


def _part(field: Field, rank: int, selected: Sequence[Along]) -> Part | None:
    """Numbers of the selected indices that a rank has, for each dimension; None if it has none."""
    lower, upper = field.decomposition.box(rank)
    bounds = [*zip(lower, upper, strict=True), *((0, n) for n in field.components)]
    part = [along.within(*at) for along, at in zip(selected, bounds, strict=True)]
    return part if all(a < b for a, b in part) else None


def _own(field: Field, selected: Sequence[Along], part: Part) -> es.View:
    """The part of a field's own elements that is selected."""
    origins = [*field.decomposition.lower, *(0 for _ in field.components)]
    slices = [
        along.slice(a, b, origin)
        for along, (a, b), origin in zip(selected, part, origins, strict=True)
    ]
    return es.subview(field.own, *slices)
