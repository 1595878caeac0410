"""Plugin loading: find, isolate, check versions, remember what went wrong.

The only file that touches entry points. Plugins are read once per process, on first use. A
plugin that fails is left out with one warning, unless EXECSPACE_STRICT=1 or the user asked
for one of its spaces by name.
"""

from __future__ import annotations

import operator
import threading
import warnings
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pluggy

from . import config, hookspecs, profiling
from .errors import PluginError, PluginWarning
from .space import API_VERSION, Probe, ReducerEntry, SpaceEntry, ToolEntry

if TYPE_CHECKING:
    from importlib import metadata


@dataclass(frozen=True, slots=True)
class PluginInfo:
    """An entry point and what became of it; `error` is None if it was loaded."""

    name: str
    distribution: str
    version: str
    error: BaseException | None = None


@dataclass
class Registry:
    """What all plugins announced, by name."""

    plugins: dict[str, PluginInfo] = field(default_factory=dict)
    spaces: dict[str, SpaceEntry] = field(default_factory=dict)
    reducers: dict[str, ReducerEntry] = field(default_factory=dict)
    tools: dict[str, ToolEntry] = field(default_factory=dict)

    def add(self, plugin: str, entry: Any) -> None:
        """File one record under its name; PluginError if it is malformed or taken."""
        table: dict[str, Any]
        if isinstance(entry, SpaceEntry):
            table = self.spaces
            _check_version(plugin, entry)
        elif isinstance(entry, ReducerEntry):
            table = self.reducers
        else:
            table = self.tools
        if entry.name in table:
            raise PluginError(
                f"plugin '{plugin}' registers the name '{entry.name}', which another plugin "
                f"already holds; uninstall one of them or restrict EXECSPACE_PLUGINS."
            )
        table[entry.name] = entry


_HOOKS: dict[str, type] = {
    "execspace_register_spaces": SpaceEntry,
    "execspace_register_reducers": ReducerEntry,
    "execspace_register_tools": ToolEntry,
}


def _check_version(plugin: str, entry: SpaceEntry) -> None:
    try:
        major, minor = (operator.index(part) for part in entry.api_version)
    except (TypeError, ValueError):
        raise PluginError(
            f"space '{entry.name}' of plugin '{plugin}' has api_version "
            f"{entry.api_version!r}; expected a pair of integers."
        ) from None
    if major != API_VERSION[0] or minor > API_VERSION[1]:
        newer = (major, minor) > API_VERSION
        todo = "upgrade execspace" if newer else f"upgrade the distribution of '{plugin}'"
        raise PluginError(
            f"space '{entry.name}' of plugin '{plugin}' was written for plugin API "
            f"{major}.{minor}, this execspace has {API_VERSION[0]}.{API_VERSION[1]}; {todo}."
        )


def _load_one(
    manager: pluggy.PluginManager, point: metadata.EntryPoint, registry: Registry
) -> None:
    plugin = point.load()
    manager.register(plugin, name=point.name)
    try:
        manager.check_pending()
        callers = manager.get_hookcallers(plugin) or []
        entries = []
        for caller in callers:
            implementation = next(i for i in caller.get_hookimpls() if i.plugin is plugin)
            entries += _records(point.name, caller.name, implementation.function())
        if not callers:
            raise PluginError(
                f"plugin '{point.name}' implements no hook of execspace; expected a module with "
                f"an @execspace.hookimpl function such as execspace_register_spaces."
            )
        trial = Registry({}, dict(registry.spaces), dict(registry.reducers), dict(registry.tools))
        for entry in entries:  # all or nothing: half a plugin is worse than none
            trial.add(point.name, entry)
    except BaseException:
        manager.unregister(plugin)
        raise
    registry.spaces, registry.reducers, registry.tools = trial.spaces, trial.reducers, trial.tools


def _records(plugin: str, hook: str, result: Any) -> list[Any]:
    expected = _HOOKS[hook]
    try:
        records = list(result if result is not None else ())
    except TypeError:
        raise PluginError(
            f"{hook} of plugin '{plugin}' returned {type(result).__name__!r}; expected an iterable "
            f"of execspace.{expected.__name__} records."
        ) from None
    for record in records:
        if not isinstance(record, expected):
            raise PluginError(
                f"{hook} of plugin '{plugin}' returned {type(record).__name__!r}; expected "
                f"execspace.{expected.__name__} records."
            )
    return records


def load() -> Registry:
    """Read entry points and load every plugin, each in isolation."""
    from importlib import metadata  # half the time of `import execspace`, if it were up there

    registry = Registry()
    manager = pluggy.PluginManager(hookspecs.GROUP)
    manager.add_hookspecs(hookspecs)
    wanted = config.get_list("PLUGINS")
    strict = config.get_bool("STRICT")
    for point in sorted(metadata.entry_points(group=hookspecs.GROUP), key=lambda p: p.name):
        if wanted is not None and point.name not in wanted:
            continue
        dist = point.dist
        info = (dist.name, dist.version) if dist is not None else ("unknown", "")
        error: BaseException | None = None
        try:
            if point.name in registry.plugins:
                raise PluginError(
                    f"two plugins are named '{point.name}'; uninstall one of their distributions"
                )
            _load_one(manager, point, registry)
        # Whatever a third party does must not stop the program.
        except (Exception, SystemExit) as failure:
            if strict:
                raise PluginError(
                    f"Plugin '{point.name}' ({info[0]} {info[1]}) failed to load: "
                    f"{type(failure).__name__}: {failure}"
                ) from failure
            error = failure
            warnings.warn(
                f"execspace plugin '{point.name}' ({info[0]} {info[1]}) failed to load and is "
                f"left out: {type(failure).__name__}: {failure}. Set EXECSPACE_STRICT=1 for the "
                f"traceback.",
                PluginWarning,
                stacklevel=3,
            )
        registry.plugins[point.name] = PluginInfo(point.name, *info, error)
    config.warn_unknown()  # after plugins have declared variables of their own
    for name in set(wanted or ()) - set(registry.plugins):
        warnings.warn(
            f"EXECSPACE_PLUGINS names '{name}', which is not installed.",
            PluginWarning,
            stacklevel=3,
        )
    return registry


def probe(entry: SpaceEntry) -> Probe:
    """Ask a space whether it is usable; a probe that raises counts as "not usable"."""
    try:
        answer = entry.probe()
    except Exception as failure:
        return Probe(False, f"its probe raised {type(failure).__name__}: {failure}")
    if not isinstance(answer, Probe):
        return Probe(False, f"its probe returned {answer!r}, expected execspace.Probe")
    return answer


_lock = threading.RLock()
_registry: Registry | None = None


def registry() -> Registry:
    """The process's registry; loads the plugins at the first call."""
    global _registry
    if _registry is None:
        with _lock:
            if _registry is None:
                found = load()
                _attach_tools(found)  # if that raises, it does so at every use
                _registry = found
    return _registry


_attached: list[profiling.Tool] = []


def _attach_tools(found: Registry) -> None:
    tools = []
    for name in config.get_list("TOOLS") or []:
        entry = found.tools.get(name)
        if entry is None:
            known = ", ".join(sorted(found.tools)) or "none"
            raise PluginError(f"EXECSPACE_TOOLS names '{name}'; installed tools: {known}.")
        try:
            tools.append(entry.factory())
        except Exception as failure:
            raise PluginError(
                f"EXECSPACE_TOOLS: tool '{name}' failed to start: {type(failure).__name__}: "
                f"{failure}"
            ) from failure
    _attached.extend(profiling.attach(tool) for tool in tools)


def forget() -> None:
    """Drop the registry, so that the next use reads entry points and environment again."""
    global _registry
    with _lock:
        _registry = None
        while _attached:
            profiling.detach(_attached.pop())
