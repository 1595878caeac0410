"""Halos by NCCL: packing, messages and unpacking are one launch of a graph.

What ranks capture they must capture alike, and launch alike, so all of them have such a graph if
one has something to pack; else messages alone are one launch.
"""

from __future__ import annotations

from typing import Any

import cupy
from cupy_backends.cuda.api import runtime

import execspace as es

__all__ = ["Transport"]


class Transport:
    """Messages of a halo, with what is packed. Collective."""

    is_whole = True  # `start` packs and unpacks, too

    def __init__(self, halo: Any, out: Any, into: Any) -> None:
        self._home: Any = halo._home
        self._queue: Any = halo.space
        self._out, self._into = out, into
        self._nccl = halo.comm.nccl(halo._home)
        me = self._nccl.rank
        self._messages = self._nccl.prepared(
            {rank: out.part(rank) for rank in out.spans if rank != me},
            {rank: into.part(rank) for rank in into.spans if rank != me},
        )
        self._own = (into.part(me), out.part(me)) if me in out.spans else None
        packs = out.is_packed or into.is_packed or self._own is not None
        self._graph: Any = None
        if any(halo.comm._told_by_all(packs, "Halo")):
            # On the queue: graphs of NCCL take milliseconds on the legacy default stream.
            graph = es.Graph(self._queue, label="halo")
            with graph:
                self._record(self._queue)
            self._graph = graph.instantiate()
        with self._nccl._device:
            self._begun, self._ended = (cupy.cuda.Event(disable_timing=True) for _ in range(2))

    def record(self) -> None:
        """Have a graph on the space of the fields do all of it."""
        self._record(self._home)

    def exchange(self) -> None:
        """All of it in order with the space of the fields."""
        if self._graph is None:
            self._messages(self._home.stream)
            self._messages.count()
        else:
            self.start()
            self.finish()

    def start(self) -> None:
        """All of it on the queue, after what the space was given; the host goes on."""
        home, queue = self._home, self._queue
        with self._nccl._device:
            runtime.eventRecord(self._begun.ptr, home.stream)
            runtime.streamWaitEvent(queue.stream, self._begun.ptr)
        if self._graph is None:
            self._messages(queue.stream)
        else:
            self._graph.submit()
        self._messages.count()

    def finish(self) -> None:
        """Have what the space is given next come after it."""
        with self._nccl._device:
            runtime.eventRecord(self._ended.ptr, self._queue.stream)
            runtime.streamWaitEvent(self._home.stream, self._ended.ptr)

    def _record(self, space: Any) -> None:
        self._out.pack(space)
        if self._own is not None:
            es.deep_copy(*self._own, instance=space)
        self._nccl.record("halo", space, self._messages)
        self._into.unpack(space)
