"""Plugin loading: find, isolate, check versions, remember what went wrong.

The only file that touches entry points. Plugins are read once per process, on first use. A
plugin that fails is left out with one warning, unless EXECSPACE_STRICT=1 or the user asked
for one of its spaces by name.
"""

from __future__ import annotations

import operator
import threading
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import pluggy

from . import config, hookspecs, probing
from .errors import PluginError, PluginWarning, ToolError
from .probing import described, is_of_program, probe
from .profiling import runs
from .space import API_VERSION, HealthCheck, ReducerEntry, SpaceEntry, ToolEntry
from .tiles import RESERVED, TileTable

if TYPE_CHECKING:
    from importlib import metadata


__all__ = ["PluginInfo", "Registry", "forget", "load", "probe", "registry"]


@dataclass(frozen=True, slots=True)
class PluginInfo:
    """An entry point and what became of it; `error` is None if it was loaded.

    `spaces`, `reducers`, `tiles`, `tools` and `checks` are the names that it registered.
    """

    name: str
    distribution: str
    version: str
    error: BaseException | None = None
    module: str = ""
    spaces: tuple[str, ...] = ()
    reducers: tuple[str, ...] = ()
    tiles: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()
    checks: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"'{self.name}' ({self.distribution} {self.version})"


@dataclass
class Registry:
    """What all plugins announced, by name."""

    plugins: dict[str, PluginInfo] = field(default_factory=dict)
    spaces: dict[str, SpaceEntry] = field(default_factory=dict)
    reducers: dict[str, ReducerEntry] = field(default_factory=dict)
    tiles: dict[str, TileTable] = field(default_factory=dict)
    tools: dict[str, ToolEntry] = field(default_factory=dict)
    checks: dict[str, HealthCheck] = field(default_factory=dict)

    def owner(self, kind: str, name: str) -> PluginInfo:
        """The plugin that registered a name of such a kind: "spaces", "reducers" ..."""
        return next(p for p in self.plugins.values() if name in getattr(p, kind))

    def add(self, info: PluginInfo, entries: list[Any]) -> None:
        """File the records of a plugin, all or none: half a plugin is worse than none.

        Raises
        ------
        PluginError
            If a record is malformed, or its name is taken.
        """
        new: dict[str, dict[str, Any]] = {kind: {} for kind in _KINDS.values()}
        for entry in entries:
            kind = next(kind for type_, kind in _KINDS.items() if isinstance(entry, type_))
            _check_fields(info.name, entry)
            if entry.name in new[kind]:
                raise PluginError(
                    f"plugin '{info.name}' registers the name '{entry.name}' twice; "
                    f"give each of its {kind} a name of its own."
                )
            if entry.name in getattr(self, kind):
                raise PluginError(
                    f"plugin '{info.name}' registers the name '{entry.name}', which plugin "
                    f"{self.owner(kind, entry.name)} already holds; uninstall one of them or "
                    f"restrict EXECSPACE_PLUGINS."
                )
            new[kind][entry.name] = entry
        self._check_replaced(info.name, new["tiles"])
        for kind, table in new.items():
            getattr(self, kind).update(table)
        names = {kind: tuple(table) for kind, table in new.items()}
        self.plugins[info.name] = replace(
            info,
            spaces=names["spaces"],
            reducers=names["reducers"],
            tiles=names["tiles"],
            tools=names["tools"],
            checks=names["checks"],
        )

    def _check_replaced(self, plugin: str, new: dict[str, TileTable]) -> None:
        """Raise PluginError if two tables replace that of one space."""
        taken = {t.space: t.name for t in self.tiles.values() if t.space}
        for table in new.values():
            if table.name in RESERVED:
                raise PluginError(
                    f"plugin '{plugin}' registers tiles by the name '{table.name}', which those of "
                    f"Kokkos have; choose another."
                )
            if table.space in taken:
                raise PluginError(
                    f"plugin '{plugin}' replaces the tiles of space '{table.space}' with table "
                    f"'{table.name}', as table '{taken[table.space]}' does; only one may."
                )
            if table.space:
                taken[table.space] = table.name


_HOOKS: dict[str, type] = {
    "execspace_register_spaces": SpaceEntry,
    "execspace_register_reducers": ReducerEntry,
    "execspace_register_tiles": TileTable,
    "execspace_register_tools": ToolEntry,
    "execspace_health_checks": HealthCheck,
}
_KINDS: dict[type, str] = {
    SpaceEntry: "spaces",
    ReducerEntry: "reducers",
    TileTable: "tiles",
    ToolEntry: "tools",
    HealthCheck: "checks",
}
# What hooks are offered, by the name of the parameter; a plugin takes as many as it wants.
_OFFERED: dict[str, Any] = {}


def _check_fields(plugin: str, entry: Any) -> None:
    """Raise PluginError for a field that would only fail later, and then in another's code."""
    kind = type(entry).__name__
    name = entry.name
    separators = "" if isinstance(entry, HealthCheck) else ":, \t\n"
    if not isinstance(name, str) or not name.strip() or set(name) & set(separators):
        rule = " without blanks, colons and commas" if separators else ""
        raise PluginError(
            f"plugin '{plugin}' has a {kind} with name {name!r}; expected a string{rule}."
        )
    expected: dict[str, tuple[Any, str]] = {"summary": (str, "a string")}
    if isinstance(entry, SpaceEntry):
        expected |= {
            "factory": (Callable, "a function of a device that makes the space"),
            "priority": (int, "an integer"),
            "probe": (Callable, "a function that returns an execspace.Probe"),
            "claims": (Callable, "a function of an array that returns a name of the space or None"),
            "target": (Callable, "a function of a name that returns a space or None"),
        }
        _check_version(plugin, entry)
    elif isinstance(entry, ReducerEntry):
        from .reducer import Reducer  # which imports this module

        expected["reducer"] = (Reducer, "an instance of an execspace.Reducer")
    elif isinstance(entry, TileTable):
        expected["space"] = (str, "the name of a space, or an empty string")
    elif isinstance(entry, ToolEntry):
        expected["factory"] = (Callable, "a function that makes the tool")
    else:
        expected = {"check": (Callable, "a function that returns an execspace.Probe")}
    for field_, (type_, text) in expected.items():
        value = getattr(entry, field_)
        if not isinstance(value, type_):
            raise PluginError(
                f"{kind} '{name}' of plugin '{plugin}' has {field_} {value!r}; expected {text}."
            )


def _check_version(plugin: str, entry: SpaceEntry) -> None:
    try:
        major, minor = (operator.index(part) for part in entry.api_version)
    except Exception:
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
    manager: pluggy.PluginManager, point: metadata.EntryPoint, info: PluginInfo, registry: Registry
) -> list[warnings.WarningMessage]:
    """Load a plugin into the registry; returns what pluggy said of deprecated hooks."""
    if info.name in registry.plugins:
        raise PluginError(
            f"two plugins are named '{info.name}'; uninstall one of their distributions"
        )
    if point.pattern.match(point.value) is None:
        raise PluginError(
            f"the entry point '{info.name}' has the value {point.value!r}; expected a module such "
            f"as 'execspace_{info.name}.plugin'."
        )
    plugin = point.load()
    with warnings.catch_warnings(record=True) as deprecations:
        warnings.simplefilter("always")
        manager.register(plugin, name=point.name)
    try:
        manager.check_pending()
        callers = manager.get_hookcallers(plugin) or []
        # Without a specification: optional hooks, which another version of execspace knows.
        callers = [caller for caller in callers if caller.has_spec()]
        entries = []
        for caller in callers:
            implementation = next(i for i in caller.get_hookimpls() if i.plugin is plugin)
            offered = [_OFFERED[name] for name in implementation.argnames]
            entries += _records(point.name, caller.name, implementation.function(*offered))
        if not callers:
            raise PluginError(
                f"plugin '{point.name}' implements no hook of execspace; expected a module with "
                f"an @execspace.hookimpl function such as execspace_register_spaces."
            )
        registry.add(info, entries)
    except BaseException:
        manager.unregister(plugin)
        raise
    return deprecations


def _warn_deprecated(info: PluginInfo, deprecations: list[warnings.WarningMessage]) -> None:
    """Pass on pluggy's warnings with the plugin's name, at the plugin's function.

    They count as of `__main__`: Python shows a DeprecationWarning of no other module unasked,
    and nobody would learn that the next version leaves the plugin out.
    """
    for warning in deprecations:
        warnings.warn_explicit(
            f"execspace plugin {info}: {warning.message}.",
            warning.category,
            warning.filename,
            warning.lineno,
            module="__main__",
        )


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


def load(begin: Callable[[str], None] = lambda name: None) -> Registry:
    """Read entry points and load every plugin, each in isolation.

    `begin` is called with the name of each plugin before it is imported.

    Raises
    ------
    PluginError
        If a plugin fails and EXECSPACE_STRICT=1.
    KeyboardInterrupt, MemoryError
        Also while a plugin is imported. No other exception of a plugin gets out.
    """
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
        # Without a file METADATA, name and version are None whatever their types say.
        origin = ("unknown", "") if dist is None else (dist.name or "unknown", dist.version or "")
        info = PluginInfo(point.name, *origin, module=point.value)
        begin(point.name)
        try:
            deprecations = _load_one(manager, point, info, registry)
        # Whatever else a third party does must not stop the program, sys.exit() included.
        except BaseException as failure:
            if is_of_program(failure):
                raise
            if strict:
                raise PluginError(
                    f"Plugin {info} failed to load: {described(failure)}"
                ) from failure
            taken = point.name in registry.plugins
            key = f"{point.name} ({origin[0]})" if taken else point.name
            registry.plugins[key] = replace(info, error=failure)
            warnings.warn(
                f"execspace plugin {info} failed to load and is left out: "
                f"{described(failure).rstrip('.')}. Set EXECSPACE_STRICT=1 for the traceback.",
                PluginWarning,
                stacklevel=3,
            )
        else:
            _warn_deprecated(info, deprecations)
    config.warn_unknown()  # after plugins have declared variables of their own
    for name in set(wanted or ()) - set(registry.plugins):
        warnings.warn(
            f"EXECSPACE_PLUGINS names '{name}', which is not installed.",
            PluginWarning,
            stacklevel=3,
        )
    return registry


_lock = threading.RLock()
_registry: Registry | None = None


def registry() -> Registry:
    """The process's registry; loads the plugins at the first call."""
    global _registry
    if _registry is None:
        with _lock:
            if _registry is None:
                _registry = load()
                try:
                    _attach_tools()
                except BaseException:
                    _registry = None  # so that it raises at every use
                    raise
    return _registry


def _attach_tools() -> None:
    chosen = config.get_list("TOOLS")
    if chosen:
        try:
            runs.start_for_process(chosen)
        except ToolError as error:
            raise ToolError(f"EXECSPACE_TOOLS: {error}") from error.__cause__


def tool_entries() -> dict[str, ToolEntry]:
    """Profiling tools that plugins have announced, by name."""
    return registry().tools


def forget() -> None:
    """Drop the registry, so that the next use reads entry points and environment again."""
    global _registry
    with _lock:
        _registry = None
        probing.forget()
        runs.drop_for_process()
