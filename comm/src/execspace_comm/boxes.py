"""Boxes of fields on their way to files and back, piece by piece, so that little is copied at once.

What ranks do to files goes through `attempt`: an error of one of them is raised on all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import product
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

import execspace as es

from .communicator import Comm
from .errors import CommError
from .field import Field
from .grid import Box
from .mpi import MPI
from .parts import agreed, attempt

__all__ = [
    "PIECE", "Told", "extents_of", "fields_of", "global_box", "in_turn", "meeting",
    "own_pieces", "pieces", "read_box", "same_elements", "shifted", "slices_of", "stored",
    "write_box",
]  # fmt: skip

PIECE = 1 << 26  # bytes of a field that a rank has on the host at once

_SAME = (MPI.IDENT, MPI.CONGRUENT)  # the same ranks in the same order


# -- boxes -----------------------------------------------------------------------------------------


def pieces(
    shape: Sequence[int], itemsize: int, limit: int = PIECE, unit: Sequence[int] = ()
) -> Iterator[Box]:
    """Boxes that a shape consists of, each of at most so many bytes, in row-major order.

    Extents of a box are multiples of `unit`, 1 by default, but at the end of a dimension; one
    unit is never divided. With units of 1 the elements of a box lie side by side in row-major
    order, and the next box begins where it ends.
    """
    if not prod(shape):
        return
    steps = [min(n, u) for n, u in zip(shape, unit or (1,) * len(shape), strict=True)]
    for d in reversed(range(len(shape))):
        factor = limit // (itemsize * prod(steps))
        if factor > 1:
            steps[d] = min(shape[d], steps[d] * factor)
        if steps[d] < shape[d]:
            break
    ranges = [range(0, n, step) for n, step in zip(shape, steps, strict=True)]
    for lower in product(*ranges):
        ends = zip(lower, steps, shape, strict=True)
        yield tuple(lower), tuple(min(at + step, n) for at, step, n in ends)


def meeting(a: Box, b: Box) -> Box | None:
    """The indices that two boxes have in common; None if there are none."""
    lower = tuple(map(max, a[0], b[0]))
    upper = tuple(map(min, a[1], b[1]))
    return (lower, upper) if all(x < y for x, y in zip(lower, upper, strict=True)) else None


def shifted(box: Box, origin: Sequence[int], sign: int = 1) -> Box:
    """A box counted from an origin as one of global indices; with `sign` -1 the inverse."""
    lower, upper = (
        tuple(at + sign * o for at, o in zip(bound, origin, strict=True)) for bound in box
    )
    return lower, upper


def slices_of(box: Box) -> tuple[slice, ...]:
    """A box as an index of an array."""
    return tuple(slice(a, b) for a, b in zip(*box, strict=True))


def extents_of(box: Box) -> tuple[int, ...]:
    """How many indices a box has in each dimension."""
    return tuple(b - a for a, b in zip(*box, strict=True))


def global_box(field: Field, rank: int) -> Box:
    """The indices that a rank has of a field, components included."""
    lower, upper = field.decomposition.box(rank)
    return (*lower, *(0 for _ in field.components)), (*upper, *field.components)


def read_box(field: Field, box: Box) -> npt.NDArray[Any]:
    """A box of own elements, in global indices, as a new row-major array. Waits for launches."""
    mine = shifted(box, global_box(field, field.decomposition.comm.rank)[0], -1)
    found = es.subview(field.own, *slices_of(mine)).to_numpy()
    return np.ascontiguousarray(found)


def write_box(field: Field, box: Box, array: npt.NDArray[Any]) -> None:
    """Store an array in a box of own elements, in global indices. Blocks."""
    mine = shifted(box, global_box(field, field.decomposition.comm.rank)[0], -1)
    es.deep_copy(es.subview(field.own, *slices_of(mine)), array)


# -- elements --------------------------------------------------------------------------------------


def same_elements(a: Any, b: Any) -> bool:
    """Whether dtypes have the same numbers; the order of bytes and gaps in records may differ."""
    if a.names is not None and b.names is not None:
        return a.names == b.names and all(same_elements(a[n], b[n]) for n in a.names)
    if a.subdtype is not None and b.subdtype is not None:
        return a.shape == b.shape and same_elements(a.base, b.base)
    return bool(a.newbyteorder("=") == b.newbyteorder("="))


def stored(dtype: Any) -> bool:
    """Whether elements are NumPy's own, and not of a storage type that formats lack."""
    base = dtype.base
    if base.names is not None:
        return all(stored(base[name]) for name in base.names)
    return bool(base.isbuiltin != 2)


def own_pieces(field: Field) -> Iterator[Box]:
    """Boxes of global indices that make up what this rank has."""
    lower, upper = global_box(field, field.decomposition.comm.rank)
    for piece in pieces(extents_of((lower, upper)), field.dtype.itemsize):
        yield shifted(piece, lower)


class Told:
    """What tells a function of the user how many bytes of this rank are done, and of how many."""

    def __init__(
        self, fields: Iterable[Field], progress: Callable[[int, int], None] | None
    ) -> None:
        self.total = sum(field.own.nbytes for field in fields)
        self._done, self._progress = 0, progress

    def __call__(self, nbytes: int) -> None:
        self._done += nbytes
        if self._progress is not None and nbytes:
            self._progress(self._done, self.total)


# -- ranks -----------------------------------------------------------------------------------------


def fields_of(what: str, fields: Any, /, **about: Any) -> tuple[Comm, dict[str, Field]]:
    """The fields of a call by their names, and the ranks that have them.

    `about`: what else must be the same on all ranks.

    Raises
    ------
    CommError
        On all ranks, if something else is given, fields are on different ranks, or ranks do not
        agree on them.
    """
    given = dict(fields) if isinstance(fields, Mapping) else {}
    known = [field for field in given.values() if isinstance(field, Field)]
    if not known:
        raise CommError(
            f"{what}: no field in an object of type {type(fields).__name__}; expected names with "
            f"fields, such as {{'u': u}}, where Decomposition.field makes a field."
        )
    comm: Comm = known[0].decomposition.comm
    problem = ""
    for name, field in given.items():
        if not isinstance(name, str) or not name:
            problem = f"name {name!r} of a field; expected a string that is not empty."
        elif not isinstance(field, Field):
            problem = f"{name!r} is {field!r}; expected a field, as Decomposition.field makes it."
        elif MPI.Comm.Compare(field.decomposition.comm.mpi, comm.mpi) not in _SAME:
            problem = f"{name!r} is on other ranks than {next(iter(given))!r}; expected the same."
    each = {} if problem else {
        repr(name): f"{field.dtype} of {field.global_shape} over {field.decomposition.ranks} ranks"
        for name, field in given.items()
    }  # fmt: skip
    others = {name: repr(value) for name, value in about.items()}
    agreed(comm, what, problem, {"fields": repr(list(given)), **each, **others}, 0)
    return comm, given


def in_turn(comm: Comm, what: str, do: Callable[[], None]) -> None:
    """Have ranks do something one after the other, the first one first.

    Raises
    ------
    CommError
        On all ranks, with the same message, if it raises on one of them. Those after it do
        nothing then.
    """
    token = np.zeros(1, np.uint8)
    messages, tag = comm._apart()
    if comm.rank > 0:
        comm._finish(messages.mpi.Irecv(token, comm.rank - 1, tag), what)

    def turn() -> None:
        if token[0]:
            return
        token[0] = 1
        do()
        token[0] = 0

    try:
        turn()
        error = None
    except Exception as raised:
        error = raised
    if comm.rank + 1 < comm.size:
        comm._finish(messages.mpi.Isend(token, comm.rank + 1, tag), what)

    def outcome() -> None:
        if error is not None:
            raise error

    attempt(comm, what, outcome)
