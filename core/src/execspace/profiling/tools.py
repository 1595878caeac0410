"""Attaching tools: pluggy validates and registers them; events then call their methods directly."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from inspect import signature
from typing import Any

import pluggy

from ..base.errors import ToolError
from ..base.locks import new_rlock
from ..events import dispatch, timing
from ..events.dispatch import Call, is_attached
from .specs import GROUP, ToolSpecs

EVENTS = {
    name: tuple(signature(spec).parameters)[1:]
    for name, spec in vars(ToolSpecs).items()
    if name.startswith("on_") and name != "on_any"
}
_lock = new_rlock()


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


_manager = _Manager(GROUP)
_manager.add_hookspecs(ToolSpecs)


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
    with _lock:
        if is_attached(tool):
            raise ToolError(f"Profiling tool {_name(tool)!r} is attached already.")
        registered = _Registered(tool)
        try:
            _manager.register(registered, name=f"{_name(tool)} {id(tool)}")
        except (pluggy.PluginValidationError, ToolError) as error:
            if _manager.is_registered(registered):
                _manager.unregister(registered)
            if isinstance(error, ToolError):
                raise
            wrong = str(error).strip().splitlines()
            raise ToolError(
                f"Profiling tool {_name(tool)!r} has a method with arguments that its event does "
                f"not have: {' '.join(wrong)}. Events and arguments: "
                f"help(execspace.profiling.ToolSpecs)."
            ) from error
        _publish((*dispatch.attached(), tool))
    return tool


def detach(tool: Any) -> None:
    """Stop sending events to `tool`; no error if it was dropped before."""
    with _lock:
        if is_attached(tool):
            _manager.unregister(name=f"{_name(tool)} {id(tool)}")
            _publish(tuple(t for t in dispatch.attached() if t is not tool))


def _publish(tools: tuple[Any, ...]) -> None:
    """Bind the methods of all tools anew; events then need neither pluggy nor a lock."""
    found: dict[str, tuple[Call, ...]] = {}
    for event, names in EVENTS.items():
        calls = []
        for impl in getattr(_manager.hook, event).get_hookimpls():
            wanted = tuple(map(names.index, impl.argnames))
            plain = impl.argnames == names
            calls.append((_tool_of(impl), impl.function, None if plain else wanted))
        for impl in _manager.hook.on_any.get_hookimpls():
            calls.append((_tool_of(impl), _any(event, names, impl), None))
        found[event] = tuple(sorted(calls, key=lambda c: _position(tools, c[0])))
    timed = tuple(t for t in tools if getattr(t, "device_times", False))
    if not timed:
        timing.forget()
    dispatch.publish(tools, timed, found, detach)


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
