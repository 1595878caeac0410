"""Halo: exchange of the halos of fields, in one message to each neighbour."""

from __future__ import annotations

from math import lcm, prod
from typing import Any

import numpy as np

import execspace as es

from .base import refuse_recording
from .errors import CommError
from .field import Field
from .packing import Table, flat
from .parcels import in_order
from .regions import gets, gives, most_outside

__all__ = ["Halo"]

_ALIGNED = 64


class Halo:
    """What brings the halos of fields up to date.

    Parameters
    ----------
    *fields : Field
        Of one decomposition; dtypes, widths, layouts and components may differ. All on one space
        of this rank; those of other ranks may be on another one.
    reach : {"corners", "edges", "faces"}
        Which parts of the halo: all of it; indices that are outside of the own ones in one or two
        dimensions; in one, which is what stencils along the axes need.
    space : str or ExecutionSpace, optional
        An instance in whose order fields are packed and unpacked. By default one of its own, so
        that launches between `start` and `finish` run at the same time.
    engine : {"auto", "mpi", "nccl"}
        What carries messages. "auto" takes NCCL where the fields are on GPUs that it knows and
        each rank has one to itself.

    Raises
    ------
    CommError
        If fields do not fit together, or ranks do not agree on them.

    Notes
    -----
    Collective, and blocks. Indices outside of a range that is not periodic, where boundary values
    may be, belong to the rank whose box they adjoin: its neighbours get them as they get its own.
    Ranks without indices have nothing to do, and widths may exceed what a neighbour has: what lies
    behind it comes from the next one.

    Buffers, tables and persistent requests are made once. An exchange is one launch for each
    field, one message for each neighbour, and one launch for each field. Where all that a
    neighbour gets, and gives, of a single field lies in one piece, it is not packed.

    Examples
    --------
    >>> import execspace as es
    >>> import execspace_comm as escomm
    >>> d = escomm.Decomposition(8, periodic=True)
    >>> u = d.field(halo=1, space="serial")
    >>> u.own.fill(d.comm.rank)
    >>> d.halo(u).exchange()
    >>> int(u.view[0]) == (d.comm.rank - 1) % d.comm.size
    True
    """

    def __init__(
        self,
        *fields: Field,
        reach: str = "corners",
        space: str | es.ExecutionSpace | None = None,
        engine: str = "auto",
    ) -> None:
        refuse_recording("Halo")
        self.fields = fields
        self._extents = [field.view.shape for field in fields]
        d = self.decomposition = _decomposition(fields)
        self.comm, self.reach = d.comm, reach
        self._most = most_outside(reach, d.rank)
        self._home = fields[0].space
        self._messages, self._tag = self.comm._apart()
        made = getattr(self._home, "urgent_instance", self._home.instance)
        chosen = es.space(space) if isinstance(space, str) else space
        self.space = made() if chosen is None else chosen
        self._apart = self.space is not self._home
        same = _agreed(self, engine)
        order = list(range(d.rank))
        if same and fields[0].view.layout == "left":
            order.reverse()
        self.engine, self.why = _engine(engine, self)
        self._memory = self._chosen_memory()
        outgoing = [gives(d, self.comm.rank, f.halo, self._most) for f in fields]
        incoming = [gets(d, self.comm.rank, f.halo, self._most) for f in fields]
        self._out = _Side(self, outgoing, order)
        self._in = _Side(self, incoming, order)
        self._transport = self._made_transport()
        self._started = False
        # Halos are made by all ranks in one order; the checker compares the number.
        self._number = self.comm._halos = self.comm._halos + 1
        self._made: dict[str, tuple[Any, list[Any]]] = {}

    # -- what it does ------------------------------------------------------------------------------

    def exchange(self) -> None:
        """Bring all halos up to date, in order with the space of the fields.

        What was launched before is packed; launches after it find the halos. Blocks until
        messages are there, unless NCCL carries them. Where a graph is recorded, on the space of the
        fields, each submission does it instead; so do `start` and `finish`.
        """
        if self._enqueues:
            self._record()
        else:
            es.library_call("halo exchange", self._exchange, space=self._home)

    @property
    def _enqueues(self) -> bool:
        """Whether an exchange becomes nodes of a graph, in order with others by what they use."""
        return self.engine == "nccl" and es.is_recorded()

    def _record(self) -> None:
        self._check_extents()
        self._transport.record()

    def _check_extents(self) -> None:
        for field, extents in zip(self.fields, self._extents, strict=True):
            if field.view.shape != extents:
                raise CommError(
                    f"halo exchange: the View of field '{field.label}' has shape "
                    f"{field.view.shape} now; expected {extents}, as when the halo was made. Make "
                    f"another field for other extents."
                )

    def _exchange(self) -> None:
        if self._transport.is_whole:
            self._check_start()
            self._transport.exchange()
        else:
            self._start()
            self._finish()

    def start(self) -> None:
        """Begin: pack and send own indices as launches so far have left them.

        Until `finish`, own indices may be read, and the halo is neither read nor written. With
        MPI it blocks until they are packed, and not for launches that follow.

        Raises
        ------
        CommError
            If it was started before and not finished.
        """
        if self._enqueues:
            self._record()
        else:
            es.library_call("halo start", self._start, space=self._home)

    def _start(self) -> None:
        self._check_start()
        self._started = True
        if not self._transport.is_whole:
            if self._apart:
                self.space.wait_for(self._home)
            self._out.pack(self.space)
        self._transport.start()

    def finish(self) -> None:
        """End what `start` began: launches from now on find the halos. Blocks for messages."""
        if not self._enqueues:
            es.library_call("halo finish", self._finish, space=self._home)

    def _finish(self) -> None:
        if not self._started:
            raise CommError("halo exchange: nothing was started; call start() first.")
        self._started = False
        self._transport.finish()
        if not self._transport.is_whole:
            self._in.unpack(self.space)
            if self._apart:
                self._home.wait_for(self.space)

    def _check_start(self) -> None:
        if self._started:
            raise CommError(
                "halo exchange: it was started and not finished, or what came in between failed; "
                "call finish() first."
            )
        self._check_extents()
        if self.comm.checked:
            self.comm._checker.collective(
                "halo exchange", halo=self._number, reach=self.reach,
                fields=", ".join(f.label or str(f.dtype) for f in self.fields),
            )  # fmt: skip

    def parallel_for(self, kernel: Any, *args: Any, width: Any = None, label: str = "") -> None:
        """Exchange, and launch a kernel over own indices, most of it while messages are under way.

        Parameters
        ----------
        kernel : callable
            Of indices of the first field's View and of `args`. It may read the halo of the fields
            up to `width`, and writes neither fields of this exchange nor what it reads elsewhere.
        *args
            Of the launch.
        width : int or sequence, optional
            How far it reads from an index; by default as far as the halo of the first field.
        label : str
        """
        inner, boundary = self._policies(width)
        self.start()
        try:
            es.parallel_for(inner, kernel, *args, label=label)
        finally:
            self.finish()
        for policy in boundary:
            es.parallel_for(policy, kernel, *args, label=label)

    def _policies(self, width: Any) -> tuple[Any, list[Any]]:
        """Those of `parallel_for`, made once for each width."""
        key = str(width)
        if key not in self._made:
            first = self.fields[0]
            self._made[key] = first.inner(width), first.boundary(width)
        return self._made[key]

    # -- what it is --------------------------------------------------------------------------------

    @property
    def neighbours(self) -> tuple[int, ...]:
        """Ranks that this one exchanges with, itself among them where a range is periodic."""
        return tuple(sorted({*self._out.spans, *self._in.spans}))

    @property
    def nbytes(self) -> int:
        """Bytes that an exchange sends to other ranks."""
        spans = self._out.spans.items()
        return sum(b - a for rank, (a, b) in spans if rank != self.comm.rank)

    @property
    def messages(self) -> int:
        """Messages that an exchange sends to other ranks."""
        return sum(rank != self.comm.rank for rank in self._out.spans)

    def __repr__(self) -> str:
        names = ", ".join(f"'{f.label}'" for f in self.fields)
        return (
            f"<Halo of {names}: {self.messages} messages, {self.nbytes:,} bytes, by "
            f"{self.engine} ({self.why})>"
        )

    # -- how it is made ----------------------------------------------------------------------------

    def _chosen_memory(self) -> Any:
        """Where buffers are: where fields are, or where both the space and MPI reach them."""
        home = self._home
        usual = self.fields[0].view.memory_space
        if (
            self.engine == "nccl"
            or usual.host_accessible
            or self.comm._carrier.takes_devices(self.fields[0].view)
        ):
            return usual
        for memory in home.memory_spaces:
            if memory.host_accessible and "pinned" in memory.kinds:
                return memory
        return usual

    def _made_transport(self) -> Any:
        if self.engine == "nccl":
            from .nccl_halo import Transport

            return Transport(self, self._out, self._in)
        return _Messages(self, self._out, self._in)


class _Side:
    """What is sent, or what is received: a buffer, its parts for ranks, and tables of fields."""

    def __init__(self, halo: Halo, regions: list[dict[int, Any]], order: list[int]) -> None:
        self.spans: dict[int, tuple[int, int]] = {}
        tables: list[list[Any]] = [[] for _ in halo.fields]
        # Offsets within a message are the same at both ends, whatever comes before it here.
        unit = lcm(_ALIGNED, *(f.dtype.itemsize for f in halo.fields))
        at = 0
        for rank in sorted({rank for found in regions for rank in found}):
            begin = at = -(-at // unit) * unit
            for n, field in enumerate(halo.fields):
                size = field.dtype.itemsize
                step = lcm(16, size)
                at = -(-at // step) * step
                for region in regions[n].get(rank, ()):
                    first = tuple(b + o for b, o in zip(region.begin, field.begin, strict=True))
                    zeros = (0,) * len(field.components)
                    shape = (*region.shape, *field.components)
                    tables[n].append((at // size, (*first, *zeros), shape))
                    at += int(np.prod(shape)) * size
            self.spans[rank] = (begin, at)
        self._fields: list[tuple[Table, es.View]] = []
        self._pieces: dict[int, es.View] = {}
        if len(halo.fields) == 1:
            self._pieces = _in_one_piece(halo.fields[0], regions[0], order)
        if not self._pieces:
            self._make_buffer(halo, at, tables, order)

    def _make_buffer(
        self, halo: Halo, nbytes: int, tables: list[list[Any]], order: list[int]
    ) -> None:
        whole = max(_ALIGNED, -(-nbytes // _ALIGNED) * _ALIGNED)
        self._buffer = es.View(
            whole, np.uint8, label="halo", space=halo._home, memory=halo._memory, layout="right"
        )
        for field, table in zip(halo.fields, tables, strict=True):
            size = field.dtype.itemsize
            inside = [*order, *range(len(order), field.view.rank)]
            made = Table(field.view, table, inside)
            part = es.subview(self._buffer, slice(0, whole // size * size))
            self._fields.append((made, part.view(field.dtype)))

    @property
    def is_packed(self) -> bool:
        """Whether anything is to be packed or unpacked."""
        return any(table.count for table, _ in self._fields)

    def pack(self, space: es.ExecutionSpace) -> None:
        """Into the buffer."""
        for table, buffer in self._fields:
            table.pack(buffer, space)

    def unpack(self, space: es.ExecutionSpace) -> None:
        """Out of the buffer."""
        for table, buffer in self._fields:
            table.unpack(buffer, space)

    def part(self, rank: int) -> es.View:
        """What is for a rank, or of it."""
        if self._pieces:
            return self._pieces[rank]
        begin, end = self.spans[rank]
        return es.subview(self._buffer, slice(begin, end))


def _in_one_piece(field: Field, regions: dict[int, Any], order: list[int]) -> dict[int, es.View]:
    """What ranks get, or give, as bytes of the field's memory; nothing if it has gaps."""
    view = field.view
    inside = [*order, *range(len(order), view.rank)]
    found = {}
    memory = flat(view)
    for rank, parts in regions.items():
        if len(parts) != 1:
            return {}
        begin = [b + o for b, o in zip(parts[0].begin, field.begin, strict=True)]
        begin += [0] * len(field.components)
        shape = (*parts[0].shape, *field.components)
        extents = tuple(shape[d] for d in inside)
        if not in_order(extents, tuple(view.strides[d] for d in inside)):
            return {}
        at = sum(b * s for b, s in zip(begin, view.strides, strict=True))
        found[rank] = es.subview(memory, slice(at, at + prod(shape))).view("uint8")
    return found


class _Messages:
    """Messages by MPI, with persistent requests; the halo packs before and unpacks after."""

    is_whole = False

    def __init__(self, halo: Halo, out: _Side, into: _Side) -> None:
        self._space, comm, me = halo.space, halo._messages, halo.comm.rank
        self._requests = [
            comm.recv_init(into.part(rank), rank, tag=halo._tag, space=self._space)
            for rank in into.spans
            if rank != me
        ]
        self._requests += [
            comm.send_init(out.part(rank), rank, tag=halo._tag, space=self._space)
            for rank in out.spans
            if rank != me
        ]
        self._own = (into.part(me), out.part(me)) if me in out.spans else None

    def start(self) -> None:
        """Send what is packed."""
        if self._own is not None:
            es.deep_copy(*self._own, instance=self._space)
        for request in self._requests:
            request.start()

    def finish(self) -> None:
        """Wait for what comes, and until what is sent is gone."""
        for request in self._requests:
            request.wait()


def _decomposition(fields: tuple[Field, ...]) -> Any:
    if not fields or any(not isinstance(f, Field) for f in fields):
        raise CommError(f"Halo{fields!r}: expected fields, as Decomposition.field makes them.")
    first = fields[0]
    for other in fields[1:]:
        if other.decomposition != first.decomposition:
            raise CommError(
                f"Halo: fields '{first.label}' and '{other.label}' are of different decompositions."
            )
        if other.view.memory_space is not first.view.memory_space:
            raise CommError(
                f"Halo: field '{first.label}' is in memory '{first.view.memory_space.name}' and "
                f"field '{other.label}' in '{other.view.memory_space.name}'; expected one of them."
            )
        if other.space is not first.space:
            raise CommError(
                f"Halo: field '{first.label}' is on space '{first.space.name}' and field "
                f"'{other.label}' on '{other.space.name}'; expected one space or instance."
            )
    return first.decomposition


def _agreed(halo: Halo, engine: str) -> bool:
    """Whether all ranks have the same layouts; CommError if they exchange different things."""
    d = halo.decomposition
    about = {
        "fields (dtype, widths, components)": [
            (str(f.dtype), f.halo, f.components) for f in halo.fields
        ],
        "reach": halo.reach, "engine": engine, "extents": d.extents, "ranks": d.ranks,
        "periodic": d.periodic,
    }  # fmt: skip
    if halo.comm.checked:
        halo.comm._checker.collective("Halo")
    found = halo.comm._told_by_all((about, [f.view.layout for f in halo.fields]), "Halo")
    for rank, (other, _) in enumerate(found):
        for name in about:
            if other[name] != found[0][0][name]:
                raise CommError(
                    f"Halo: ranks do not agree on {name}: {found[0][0][name]} on rank 0, "
                    f"{other[name]} on rank {rank}."
                )
    layouts = {layout for _, listed in found for layout in listed}
    return len(layouts) == 1


def _engine(asked: str, halo: Halo) -> tuple[str, str]:
    if asked not in ("auto", "mpi", "nccl"):
        raise CommError(f"Halo: engine={asked!r}; expected 'auto', 'mpi' or 'nccl'.")
    if asked == "mpi":
        return "mpi", "it was asked for"
    from .engines import nccl_reason

    reason = nccl_reason(halo.comm, halo._home)
    if not reason:
        return "nccl", "it was asked for" if asked == "nccl" else "each rank has a GPU of its own"
    if asked == "nccl":
        raise CommError(f"Halo: engine='nccl' cannot be used: {reason}.")
    return "mpi", reason
