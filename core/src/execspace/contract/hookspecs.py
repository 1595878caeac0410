"""Hook specifications: what a plugin may announce. Few hooks; the objects carry the methods.

A plugin is a module named by an entry point of the group ``execspace``::

    [project.entry-points.execspace]
    mine = "execspace_mine.plugin"

Its hook implementations are marked with `execspace.hookimpl`. Hooks are called once, when the
plugin is loaded, which the name of the entry point decides; launches never go through pluggy.
"""

from __future__ import annotations

from collections.abc import Iterable

import pluggy

from .entries import HealthCheck, ReducerEntry, SpaceEntry, ToolEntry
from .tiles import TileTable

__all__ = [
    "hookimpl",
]

GROUP = "execspace"
hookspec = pluggy.HookspecMarker(GROUP)
hookimpl = pluggy.HookimplMarker(GROUP)


def deprecated(what: str, *, since: str, until: str, instead: str) -> DeprecationWarning:
    """The warning for a hook or an argument of one that is to go.

    Given to `hookspec` as ``warn_on_impl=``, or in ``warn_on_impl_args=`` for an argument. A
    plugin that implements it still works, with one warning that names the plugin.
    """
    return DeprecationWarning(
        f"{what} is deprecated since plugin API {since} and goes in {until}; {instead}"
    )


@hookspec
def execspace_register_spaces() -> Iterable[SpaceEntry]:  # type: ignore[empty-body]
    """Announce execution spaces.

    Examples
    --------
    >>> import execspace as es
    >>> @es.hookimpl
    ... def execspace_register_spaces():
    ...     yield es.SpaceEntry("mine", factory=make_space, api_version=(0, 1), priority=5)
    """


@hookspec
def execspace_register_reducers() -> Iterable[ReducerEntry]:  # type: ignore[empty-body]
    """Announce reducers that users may name.

    Examples
    --------
    >>> import execspace as es
    >>> @es.hookimpl
    ... def execspace_register_reducers():
    ...     yield es.ReducerEntry("sum32", es.Sum(dtype=es.float32))
    """


@hookspec
def execspace_register_tiles() -> Iterable[TileTable]:  # type: ignore[empty-body]
    """Announce tables of tiles, which users may name, or which replace those of a space.

    Examples
    --------
    >>> import execspace as es
    >>> @es.hookimpl
    ... def execspace_register_tiles():
    ...     yield es.TileTable("wide", {"stencil": {2: (128, 2)}}, space="cuda")
    """


@hookspec
def execspace_register_tools() -> Iterable[ToolEntry]:  # type: ignore[empty-body]
    """Announce profiling tools, which users choose with EXECSPACE_TOOLS or `profile`.

    Examples
    --------
    >>> import execspace as es
    >>> class Counter(es.profiling.Tool):
    ...     launches = 0
    ...     def on_kernel_begin(self):
    ...         self.launches += 1
    >>> @es.hookimpl
    ... def execspace_register_tools():
    ...     yield es.ToolEntry("counter", Counter)
    """


@hookspec
def execspace_health_checks() -> Iterable[HealthCheck]:  # type: ignore[empty-body]
    """Announce further rows of `execspace doctor`, which calls them; nothing else does.

    Examples
    --------
    >>> import execspace as es
    >>> @es.hookimpl
    ... def execspace_health_checks():
    ...     yield es.HealthCheck("driver", lambda: es.Probe(True, "version 535"))
    """
