"""Sections: parts of a program with a name that start and stop as they like, and may overlap."""

from __future__ import annotations

from types import TracebackType

from ..base.brief import brief
from ..base.errors import ToolError
from ..base.locks import new_lock
from ..events import dispatch

__all__ = [
    "Section",
]


class Section:
    """A part of a program that is timed by itself, whatever else begins or ends meanwhile.

    A region is within the one around it and belongs to a thread. A section belongs to nothing: it
    may overlap regions and other sections, and be stopped by another thread than started it. Each
    may be started anew after it was stopped; tools add up the times of those of one name.

    Parameters
    ----------
    name : str
        What tools call it.

    Attributes
    ----------
    name : str
    id : int
        The number by which tools tell sections of one name apart.

    Raises
    ------
    ToolError
        If the name is no text.

    Notes
    -----
    Kokkos: ``Kokkos::Profiling::ProfilingSection``, made of ``createProfileSection``,
    ``startSection``, ``stopSection`` and ``destroyProfileSection``,
    https://kokkos.org/kokkos-core-wiki/API/core/profiling/profiling.html. Here tools are given the
    name with each start, so a section that is older than a tool has its name as well, and no event
    tells that one is made or dropped. One that is dropped while it runs stays open in tools.

    Examples
    --------
    >>> import execspace as es
    >>> class Sections(es.profiling.Tool):
    ...     def on_section_start(self, name):
    ...         print("start", name)
    ...     def on_section_stop(self, name):
    ...         print("stop", name)
    >>> read, compute = es.profiling.Section("read"), es.profiling.Section("compute")
    >>> with es.profile(Sections()):
    ...     read.start()
    ...     with compute:
    ...         read.stop()
    start read
    start compute
    stop read
    stop compute
    """

    __slots__ = ("_lock", "_running", "_told", "id", "name")

    def __init__(self, name: str) -> None:
        if not isinstance(name, str):
            raise ToolError(f"Section({brief(name)}); expected the name of the section, a string.")
        self.name = name
        self.id = dispatch.new_id()
        self._running = self._told = False
        self._lock = new_lock()

    @property
    def running(self) -> bool:
        """Whether it was started and not stopped."""
        return self._running

    def start(self) -> None:
        """Begin. Fences nothing, and does not block.

        Raises
        ------
        ToolError
            If it runs already.
        """
        with self._lock:
            if self._running:
                raise ToolError(
                    f"Section '{self.name}' is started and runs already; call stop() first, or "
                    f"make another Section of that name for what overlaps."
                )
            self._running = True
            self._told = bool(dispatch.TOOLS)
        if self._told:
            dispatch.emit("on_section_start", self.name, self.id)

    def stop(self) -> None:
        """End. Fences nothing, and does not block.

        Raises
        ------
        ToolError
            If it does not run.
        """
        with self._lock:
            if not self._running:
                raise ToolError(
                    f"Section '{self.name}' is stopped but does not run; call start() first, or "
                    f"use `with section:`."
                )
            self._running = False
            told = self._told
        if told:  # also in a pause, or the section would be open for good
            dispatch.emit("on_section_stop", self.name, self.id)

    def __enter__(self) -> Section:
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        where: TracebackType | None,
    ) -> None:
        self.stop()

    def __repr__(self) -> str:
        return f"<Section '{self.name}'{', running' if self._running else ''}>"
