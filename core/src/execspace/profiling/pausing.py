"""Pauses of all tools: what a program does that is not to be profiled, such as its warm-up."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from . import listening, regions


def pause() -> None:
    """Tell no tool of anything that begins from now on, in any thread, until `resume`.

    Launches cost what they cost without tools. What began before is told to its end, so that no
    tool takes it to run for ever: the ends of kernels, regions and sections, and times of devices.
    Tools are told of the pause itself, by `on_pause`; one that is attached meanwhile is paused
    and told of it, too. Does not block.

    Notes
    -----
    Pauses nest: each needs a `resume` of its own, so that a function that pauses may be called
    in a pause. Kokkos: ``Kokkos::Tools::Experimental::pause_tools``, which do not nest,
    https://kokkos.org/kokkos-core-wiki/API/core/profiling/profiling.html

    Examples
    --------
    >>> import execspace as es
    >>> class Launches(es.profiling.Tool):
    ...     labels = ()
    ...     def on_kernel_begin(self, label):
    ...         self.labels += (label,)
    >>> with es.profile(Launches()) as found:
    ...     es.profiling.pause()
    ...     es.parallel_for(4, lambda i: None, label="warm-up")
    ...     es.profiling.resume()
    ...     es.parallel_for(4, lambda i: None, label="measured")
    >>> found["Launches"].labels
    ('measured',)
    """
    listening.hold()


def resume() -> None:
    """End the pause that the last `pause` began. Does not block.

    A region that was entered in the pause, and is not left, begins for tools here; in another
    thread with the next region that it enters or leaves.

    Raises
    ------
    ToolError
        If tools are not paused.

    Notes
    -----
    Kokkos: ``Kokkos::Tools::Experimental::resume_tools``,
    https://kokkos.org/kokkos-core-wiki/API/core/profiling/profiling.html

    Examples
    --------
    >>> import execspace as es
    >>> es.profiling.pause()
    >>> es.profiling.resume()
    """
    if listening.go_on():
        regions.catch_up()


@contextmanager
def paused() -> Iterator[None]:
    """A pause for the time of a `with` block, or of each call of a function that it decorates.

    Examples
    --------
    >>> import execspace as es
    >>> class Marks(es.profiling.Tool):
    ...     def on_event(self, name):
    ...         print(name)
    >>> with es.profile(Marks()):
    ...     with es.profiling.paused():
    ...         es.profiling.mark_event("unheard")
    ...     es.profiling.mark_event("heard")
    heard
    """
    pause()
    try:
        yield
    finally:
        resume()
