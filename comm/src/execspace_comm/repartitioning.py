"""Repartition: the elements of a Field go to a Field that divides the same range otherwise."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from math import prod
from typing import Any

import execspace as es

from .base import refuse_recording
from .division import Division
from .errors import CommError
from .field import Field
from .grid import Box, part, part_of, rank_at
from .mpi import MPI
from .packing import Table
from .parts import agreed

__all__ = ["Repartition", "repartition"]


Sent = dict[int, Box]  # rank -> the box that goes there, or comes from it, in global indices


class Repartition:
    """What moves own elements of a Field to another one, made once for many times.

    Parameters
    ----------
    source : Field
        Whose own elements are read.
    target : Field
        Whose own elements are written: of the same global extents, dtype and components. The grid
        of ranks, halo, layout and space may be others; the ranks are the same.

    Raises
    ------
    CommError
        On all ranks, if the two do not fit together, or ranks do not agree on them.

    Notes
    -----
    Making one is collective, and blocks. Each rank gives every other one the box that both have,
    in one message: packed by one launch, and unpacked by another. Ranks that have nothing in
    common exchange nothing. What stays on a rank is copied in place, without a message. Halos are
    left as they are.

    Transposes of pencils and slabs, as of parallel Fourier transforms, are repartitions:
    Dalcin, Mortensen, Keyes, J. Parallel Distrib. Comput. 128 (2019) 137-150.

    Examples
    --------
    >>> import execspace_comm as escomm
    >>> rows = escomm.Decomposition((6, 4), ranks=(0, 1)).field(space="serial")
    >>> columns = escomm.Decomposition((6, 4), ranks=(1, 0)).field(space="serial", halo=1)
    >>> rows.own.fill(3)
    >>> there = escomm.Repartition(rows, columns)
    >>> there.exchange()
    >>> bool((columns.own.to_numpy() == 3).all())
    True
    """

    def __init__(self, source: Field, target: Field) -> None:
        self.source, self.target = source, target
        left = _agreed(source, target)
        here, there = source.decomposition, target.decomposition
        self.comm = here.comm
        me = self.comm.rank
        gives, gets = _meetings(here.box(me), there), _meetings(there.box(me), here)
        stays = gives.pop(me, None)
        gets.pop(me, None)
        order = list(range(here.rank))
        if left:
            order.reverse()  # so that messages have the order of memory at both ends
        self._out = _Side(self.comm, source, gives, order)
        self._in = _Side(self.comm, target, gets, order)
        self._kept = None if stays is None else (_region(target, stays), _region(source, stays))
        messages, tag = self.comm._apart()
        receives = [
            messages.recv_init(self._in.part(rank), rank, tag=tag, space=target.space)
            for rank in self._in.spans
        ]
        sends = [
            messages.send_init(self._out.part(rank), rank, tag=tag, space=source.space)
            for rank in self._out.spans
        ]
        self._requests = [*receives, *sends]

    def exchange(self) -> None:
        """Move the elements. Collective; blocks for messages.

        What was launched on the space of the source before is waited for, and what is launched on
        that of the target afterwards finds the elements. If the two are on different spaces, it
        also blocks until what stays on this rank is copied.

        Raises
        ------
        CommError
            If MPI reports an error.
        LaunchError
            While a graph is recorded.
        """
        refuse_recording("repartition")
        self.comm._begin("repartition", 0, shape=self.source.global_shape)
        self._out.pack()
        for request in self._requests:
            request.start()
        if self._kept is not None:
            near = self.source.space is self.target.space
            es.deep_copy(*self._kept, instance=self.target.space if near else None)
        for request in self._requests:
            request.wait()
        self._in.unpack()

    @property
    def nbytes(self) -> int:
        """Bytes that an exchange sends to other ranks."""
        return self._out.count * int(self.source.dtype.itemsize)

    @property
    def messages(self) -> int:
        """Messages that an exchange sends to other ranks."""
        return len(self._out.spans)

    def __repr__(self) -> str:
        a, b = (" x ".join(map(str, f.decomposition.ranks)) for f in (self.source, self.target))
        return (
            f"<Repartition of '{self.source.label}' over {a} ranks to '{self.target.label}' over "
            f"{b}: {self.messages} messages, {self.nbytes:,} bytes>"
        )


def repartition(source: Field, target: Field) -> None:
    """Move own elements of a Field to one that divides the same range otherwise.

    Collective; blocks. `Repartition` has parameters and errors, and is the thing to make once
    where elements are moved again and again.
    """
    Repartition(source, target).exchange()


class _Side:
    """What is sent, or what is received: a buffer, its parts for ranks, and a table."""

    def __init__(self, comm: Any, field: Field, boxes: Sent, order: Sequence[int]) -> None:
        self.spans: dict[int, tuple[int, int]] = {}
        rows = []
        at = 0
        zeros = (0,) * len(field.components)
        for rank, (lower, upper) in sorted(boxes.items()):
            begin = tuple(a - o for a, o in zip(lower, field.origin, strict=True))
            extents = tuple(b - a for a, b in zip(lower, upper, strict=True))
            shape = (*extents, *field.components)
            rows.append((at, (*begin, *zeros), shape))
            self.spans[rank] = (at, at + prod(shape))
            at += prod(shape)
        self.count = at
        self.buffer = es.View(
            max(1, at), field.dtype, label="repartition", space=field.space,
            memory=_memory(comm, field), layout="right", initialize=False,
        )  # fmt: skip
        self._space = field.space
        self._table = Table(field.view, rows, [*order, *range(len(order), field.view.rank)])

    def pack(self) -> None:
        """Into the buffer."""
        self._table.pack(self.buffer, self._space)

    def unpack(self) -> None:
        """Out of the buffer."""
        self._table.unpack(self.buffer, self._space)

    def part(self, rank: int) -> es.View:
        """What is for a rank, or of it."""
        return es.subview(self.buffer, slice(*self.spans[rank]))


def _memory(comm: Any, field: Field) -> Any:
    """Where a buffer is: where the field is, or where both its space and MPI reach it."""
    usual = field.view.memory_space
    if usual.host_accessible or comm._carrier.takes_devices(field.view):
        return usual
    for memory in field.space.memory_spaces:
        if memory.host_accessible and "pinned" in memory.kinds:
            return memory
    return usual


def _meetings(box: Box, d: Division) -> Sent:
    """The ranks of a decomposition that have indices of a box, each with those."""
    if any(a >= b for a, b in zip(*box, strict=True)):
        return {}
    choices = []
    for extent, parts, lower, upper in zip(d.extents, d.ranks, *box, strict=True):
        along = []
        for which in range(part_of(extent, parts, lower), part_of(extent, parts, upper - 1) + 1):
            begin, end = part(extent, parts, which)
            along.append((which, max(begin, lower), min(end, upper)))
        choices.append(along)
    return {
        rank_at([which for which, _, _ in cell], d.ranks): (
            tuple(a for _, a, _ in cell),
            tuple(b for _, _, b in cell),
        )
        for cell in product(*choices)
    }


def _region(field: Field, box: Box) -> es.View:
    """The part of a field's View with a box of global indices."""
    parts = [slice(a - o, b - o) for a, b, o in zip(*box, field.origin, strict=True)]
    return es.subview(field.view, *parts, *(es.ALL for _ in field.components))


def _agreed(source: Any, target: Any) -> bool:
    """Whether all Views have layout "left"; CommError on all ranks if fields do not fit."""
    what = "repartition"
    known = [f for f in (source, target) if isinstance(f, Field)]
    if not known:
        raise CommError(
            f"{what}: {source!r} and {target!r}; expected fields, as Decomposition.field makes "
            f"them."
        )
    comm = known[0].decomposition.comm
    problem = _problem(source, target)
    if problem:
        agreed(comm, what, problem, {}, 0)
    about = {"the source": _text(source), "the target": _text(target)}
    others = sum(field.view.layout != "left" for field in (source, target))
    return not any(agreed(comm, what, "", about, others))


def _text(field: Field) -> str:
    d = field.decomposition
    return f"{field.dtype} of {field.global_shape} over {d.ranks} ranks"


def _problem(source: Any, target: Any) -> str:
    """Why elements cannot go from one to the other; empty if they can."""
    for field in (source, target):
        if not isinstance(field, Field):
            return f"{field!r} is no field; expected one, as Decomposition.field makes them."
    names = f"'{source.label}' to field '{target.label}'"
    for name, a, b in (
        ("extents", source.decomposition.extents, target.decomposition.extents),
        ("components", source.components, target.components),
        ("dtype", source.dtype, target.dtype),
    ):
        if a != b:
            return f"field {names}: {name} are {a} and {b}; expected the same of both."
    here, there = source.decomposition.comm.mpi, target.decomposition.comm.mpi
    if MPI.Comm.Compare(here, there) not in (MPI.IDENT, MPI.CONGRUENT):
        return (
            f"field {names}: they are on {source.decomposition.comm!r} and "
            f"{target.decomposition.comm!r}; expected the same ranks in the same order. Through a "
            f"checkpoint, fields get to other ranks: save_checkpoint, load_checkpoint."
        )
    if source is not target and source.view.allocation is target.view.allocation:
        return f"field {names}: both have the same memory; expected fields of their own."
    return ""
