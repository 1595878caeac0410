"""Attaching tools: pluggy validates and registers them; events then call their methods directly.

Events go to what `listening` has; a tool around another one takes that one's methods by `bound`.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from inspect import signature
from typing import Any

import pluggy

from ..base.errors import ToolError
from ..events import timing
from ..events.dispatch import Call
from . import listening
from .specs import GROUP, ToolSpecs

EVENTS = {
    name: tuple(signature(spec).parameters)[1:]
    for name, spec in vars(ToolSpecs).items()
    if name.startswith("on_") and name != "on_any"
}


class Tool:
    """Base of profiling tools; the events, all of them optional, are those of `ToolSpecs`.

    An event's method may leave out arguments that it does not need.

    Attributes
    ----------
    device_times : bool
        Whether the tool wants `on_device_time`.

    Examples
    --------
    >>> import execspace as es
    >>> class Launches(es.profiling.Tool):
    ...     count = 0
    ...     def on_kernel_begin(self, label):
    ...         self.count += 1
    ...     def report(self):
    ...         return f"{self.count} launches"
    >>> with es.profile(Launches()) as found:
    ...     es.parallel_for(4, lambda i: None)
    >>> print(found)
    1 launches
    """

    device_times: bool = False

    def report(self) -> str:
        """What the tool found out, as text for people; empty if it has nothing to say."""
        return ""

    def finish(self) -> None:
        """The tool hears no more: it may write its files. Called once."""


class _Registered:
    """A tool as pluggy sees it: equal to itself only, whatever the tool says of equality."""

    def __init__(self, tool: Any) -> None:
        self.tool = tool
        vars(self).update((n, getattr(tool, n)) for n in dir(tool) if n.startswith("on_"))


class _Manager(pluggy.PluginManager):
    """Takes every method that is named like an event for an implementation of it."""

    def parse_hookimpl_opts(self, plugin: Any, name: str) -> pluggy.HookimplOpts | None:
        if not name.startswith("on_"):
            return None
        if not callable(getattr(plugin, name)):
            raise ToolError(
                f"Profiling tool {_name(plugin.tool)!r}: {name} is not a method; names that begin "
                f"with on_ are for events."
            )
        if name not in EVENTS and name != "on_any":
            raise ToolError(
                f"Profiling tool {_name(plugin.tool)!r} has a method {name!r}, which is not an "
                f"event; events: {', '.join(EVENTS)}. Rename it if it is not meant to be one."
            )
        return {
            "wrapper": False, "hookwrapper": False, "optionalhook": False, "tryfirst": False,
            "trylast": False, "specname": None,
        }  # fmt: skip


def _new_manager() -> _Manager:
    made = _Manager(GROUP)
    made.add_hookspecs(ToolSpecs)
    return made


_manager = _new_manager()


def _name(tool: Any) -> str:
    return type(tool).__name__


def attach(tool: Any) -> Any:
    """Send events to `tool` from now on; returns it.

    Raises
    ------
    ToolError
        If it has a method ``on_...`` that is not an event, or one with arguments that its event
        does not have; or if it is attached already.
    """
    with listening.lock:
        if listening.is_attached(tool):
            raise ToolError(f"Profiling tool {_name(tool)!r} is attached already.")
        _register(_manager, tool)
        _publish((*listening.attached(), tool))
    _tell_alone(tool, "on_metadata", _known)
    if listening.pauses:  # and it is going to hear of the end of that
        _tell_alone(tool, "on_pause", lambda: [()])
    return tool


def detach(tool: Any) -> None:
    """Stop sending events to `tool`; no error if it was dropped before."""
    with listening.lock:
        if listening.is_attached(tool):
            _manager.unregister(name=f"{_name(tool)} {id(tool)}")
            _publish(tuple(t for t in listening.attached() if t is not tool))


def bound(tool: Any) -> dict[str, tuple[Call, ...]]:
    """What to call for each event that a tool wants; checked as by `attach`.

    Raises
    ------
    ToolError
        If it has a method ``on_...`` that is not an event, or one with arguments that its event
        does not have.
    """
    manager = _new_manager()
    _register(manager, tool)
    found = {event: tuple(_calls(manager, event)) for event in EVENTS}
    return {event: calls for event, calls in found.items() if calls}


def _register(manager: _Manager, tool: Any) -> None:
    registered = _Registered(tool)
    try:
        manager.register(registered, name=f"{_name(tool)} {id(tool)}")
    except (pluggy.PluginValidationError, ToolError) as error:
        if manager.is_registered(registered):
            manager.unregister(registered)
        if isinstance(error, ToolError):
            raise
        wrong = str(error).strip().splitlines()
        raise ToolError(
            f"Profiling tool {_name(tool)!r} has a method with arguments that its event does "
            f"not have: {' '.join(wrong)}. Events and arguments: "
            f"help(execspace.profiling.ToolSpecs)."
        ) from error


def _calls(manager: _Manager, event: str) -> Iterable[Call]:
    """Methods for an event, of all tools of a manager: those for it, then those for any."""
    names = EVENTS[event]
    for impl in getattr(manager.hook, event).get_hookimpls():
        wanted = tuple(map(names.index, impl.argnames))
        plain = impl.argnames == names
        yield _tool_of(impl), impl.function, None if plain else wanted
    for impl in manager.hook.on_any.get_hookimpls():
        yield _tool_of(impl), _any(event, names, impl), None


def _publish(tools: tuple[Any, ...]) -> None:
    """Bind the methods of all tools anew; events then need neither pluggy nor a lock."""
    found = {
        event: tuple(sorted(_calls(_manager, event), key=lambda c: _position(tools, c[0])))
        for event in EVENTS
    }
    timed = tuple(t for t in tools if getattr(t, "device_times", False))
    if not timed:
        timing.forget()
    listening.publish(tools, timed, found, detach)


def _known() -> Iterable[tuple[str, object]]:
    from .facts import known_metadata

    return known_metadata().items()


def _tell_alone(tool: Any, event: str, facts: Callable[[], Iterable[tuple[object, ...]]]) -> None:
    """Tell a tool that has just come what was told to others before; one that raises is dropped.

    `on_any` alone is for what happens from then on.
    """
    target = tool
    while (within := getattr(target, "passes_on_to", None)) is not None:
        target = within
    method = getattr(target, event, None)
    if method is None:
        return
    wanted = tuple(signature(method).parameters)
    try:
        for values in facts():
            told = dict(zip(EVENTS[event], values, strict=True))
            method(**{name: told[name] for name in wanted})
    except Exception as error:  # a tool must never break the program that it watches
        detach(tool)
        warnings.warn(
            f"Profiling tool {_name(tool)!r} raised in {event} and was detached: "
            f"{type(error).__name__}: {error}",
            stacklevel=3,
        )


def _tool_of(impl: pluggy.HookImpl) -> Any:
    registered: Any = impl.plugin
    return registered.tool


def _any(event: str, names: tuple[str, ...], impl: pluggy.HookImpl) -> Callable[..., Any]:
    """A tool's `on_any` as the method of one event."""
    wanted = ("event", "arguments")
    order = [wanted.index(n) for n in impl.argnames]

    def call(*args: object) -> Any:
        both = event, dict(zip(names, args, strict=True))
        return impl.function(*[both[n] for n in order])

    return call


def _position(tools: Iterable[Any], tool: Any) -> int:
    return next(n for n, t in enumerate(tools) if t is tool)
