"""Timer: seconds of the host, as Kokkos' Timer; as a context manager, of the work in its block."""

from __future__ import annotations

from time import perf_counter
from types import TracebackType

from ..base import ports

__all__ = [
    "Timer",
]


class Timer:
    """Seconds since it was made, or was reset.

    Parameters
    ----------
    label : str
        Shown by `repr`; part of the labels of the fences that a ``with`` block makes.

    Notes
    -----
    By itself it fences nothing, as Kokkos' does not: after a launch on an asynchronous space it
    tells how long the launch took, not the kernel. As a context manager it does: ``with`` waits
    for all started spaces (`fence`) before it starts and again before it stops, so that it
    measures the work of its block, and blocks. After the block `seconds` stays what it was at the
    end. A block that raises is not waited for.

    Kokkos: https://kokkos.org/kokkos-core-wiki/API/core/utilities/timer.html

    Examples
    --------
    >>> import execspace as es
    >>> x = es.View(1000, label="x")
    >>> with es.Timer("fill") as timer:
    ...     es.deep_copy(x, 1.0)
    >>> 0 < timer.seconds() == timer.seconds()
    True
    """

    __slots__ = ("_start", "_stop", "label")

    def __init__(self, label: str = "") -> None:
        self.label = label
        self.reset()

    def seconds(self) -> float:
        """Seconds since the start; after a ``with`` block those of the block. Does not block."""
        return (perf_counter() if self._stop is None else self._stop) - self._start

    def reset(self) -> None:
        """Start anew, now. Does not block."""
        self._stop: float | None = None
        self._start = perf_counter()

    def __enter__(self) -> Timer:
        ports.fence(self._told("begins"))
        self.reset()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        where: TracebackType | None,
    ) -> None:
        try:
            if error is None:
                ports.fence(self._told("ends"))
        finally:
            self._stop = perf_counter()

    def _told(self, what: str) -> str:
        return f"Timer '{self.label}' {what}" if self.label else f"Timer {what}"

    def __repr__(self) -> str:
        label = f" '{self.label}'" if self.label else ""
        running = ", running" if self._stop is None else ""
        return f"<Timer{label} {self.seconds():.6g} s{running}>"
