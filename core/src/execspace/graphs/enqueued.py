"""What libraries enqueue on streams: nodes of graphs, where a space captures its streams.

To graphs it is a plan like those of kernels. A space that does not know it is given its turn.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..base.brief import brief
from ..base.errors import LaunchError, SpaceError
from ..contract.records import Effects
from ..contract.space import ExecutionSpace, Plan
from ..events import recording
from ..plugins.selection import default_space, resolve
from ..views.view import View
from .steps import name_of

__all__ = ["EnqueuedWork", "stream_call"]


class EnqueuedWork(Plan):
    """Work of a library on a stream, recorded by `stream_call`.

    A backend whose graphs can capture a stream may say so in `SupportsGraphs.can_replay`, and calls
    `enqueue` with the stream that is captured. Elsewhere `launch` is called, in its turn.

    Attributes
    ----------
    name : str
    enqueue : callable
        Takes a stream.
    views : tuple of View
        Those that are read, and then those that are written: arguments of the launch, of which
        `effects` tells.
    """

    def __init__(
        self, name: str, enqueue: Callable[[int], object], space: ExecutionSpace,
        reads: Sequence[View], writes: Sequence[View],
    ) -> None:  # fmt: skip
        self.name, self.enqueue, self.space = name, enqueue, space
        self.views = (*reads, *writes)
        count, every = len(reads), len(self.views)
        self._effects = Effects(frozenset(range(count, every)), frozenset(range(count)))
        self.launch = self._launch

    def _launch(self, bounds: tuple[int, ...], args: tuple[Any, ...]) -> None:
        space: Any = self.space
        self.enqueue(space.stream)

    @property
    def effects(self) -> Effects:
        return self._effects


def stream_call(
    name: str,
    enqueue: Callable[[int], object],
    *,
    space: str | ExecutionSpace | None = None,
    reads: Sequence[View] = (),
    writes: Sequence[View] = (),
) -> None:
    """Have a library enqueue work on the stream of a space; in a graph it is a node.

    Parameters
    ----------
    name : str
        The label of the node.
    enqueue : callable
        ``enqueue(stream)`` gets the handle of a stream, an int, and enqueues work there which can
        be captured: it neither allocates by the stream nor waits. A graph calls it when it is made,
        and again when Views have got other memory, so it asks Views for their addresses.
    space : str or ExecutionSpace, optional
        A space or an instance that has streams, such as of CUDA or HIP; the default space if not
        given.
    reads, writes : sequence of View
        All that the work uses: what a node depends on follows from them.

    Raises
    ------
    LaunchError
        If there is no such function.
    SpaceError
        If the space has no streams, or a graph is recorded for another one.

    Notes
    -----
    Does not block. Kokkos: `cuda_capture` and `hip_capture` of a node,
    https://kokkos.org/kokkos-core-wiki/ProgrammingGuide/Graph.html. Without streams see
    `library_call`.

    Examples
    --------
    ::

        es.stream_call("norm", lambda stream: library.norm(x.data_ptr, y.data_ptr, stream),
                       space=es.space("cuda"), reads=[x], writes=[y])
    """
    where: Any = default_space() if space is None else resolve(space)
    if not callable(enqueue):
        raise LaunchError(
            f"stream_call '{name}': {brief(enqueue)}; expected a function of a stream."
        )
    if not isinstance(getattr(where, "stream", None), int):
        raise SpaceError(
            f"stream_call '{name}': space '{where.name}' has no streams; expected a space of a GPU "
            f"that has. For others there is es.library_call."
        )
    recorder = recording.current()
    if recorder is None:
        enqueue(where.stream)
    else:
        label = name_of("stream_call", name, "library")
        recorder.enqueue(EnqueuedWork(label, enqueue, where, reads, writes))
