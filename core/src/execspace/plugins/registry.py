"""Plugin loading: find, isolate, check versions, remember what went wrong.

A plugin is loaded once per process, when a name is asked
for that is its entry point's, or that no entry point has and no plugin before it; all are where
any of them may be meant. One that fails is left out with one warning, unless EXECSPACE_STRICT=1 or
the user asked for one of its spaces by name. Of one that does not come back, a line tells.
"""

from __future__ import annotations

import operator
import warnings
from collections.abc import Callable, Iterable
from dataclasses import field, replace
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from ..base import config
from ..base.dataclass import dataclass
from ..base.errors import PluginError, PluginWarning, ToolError
from ..base.interrupts import held
from ..base.locks import new_rlock
from ..contract.entries import API_VERSION, HealthCheck, ReducerEntry, SpaceEntry, ToolEntry
from ..contract.space import ExecutionSpace
from ..contract.tiles import NO_TILES, RESERVED, TileTable
from . import probing
from .entry_points import EntryPoint, entry_points
from .probing import described, is_of_program, probe, said_if_slow
from .started import started

if TYPE_CHECKING:
    import pluggy


__all__ = ["PluginInfo", "Registry", "forget", "load", "loaded", "probe", "registry"]

_PATIENCE = 5.0  # seconds after which a line says which plugin is being loaded


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
    """What plugins announced, by name.

    `points` are the entry points that there are: no plugin may take the name of another's for a
    space, loaded or not.
    """

    points: dict[str, PluginInfo] = field(default_factory=dict)
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
            holder = None
            if entry.name in getattr(self, kind):
                holder = self.owner(kind, entry.name)
            elif kind == "spaces" and entry.name != info.name:
                holder = self.points.get(entry.name)
            if holder is not None:
                raise PluginError(
                    f"plugin '{info.name}' registers the name '{entry.name}', which plugin "
                    f"{holder} already holds; uninstall one of them or restrict EXECSPACE_PLUGINS."
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

    def discard(self, info: PluginInfo, entries: list[Any]) -> None:
        """Take back what `add` has filed of these records, if it has: all, or a part."""
        for kind in _KINDS.values():
            table = getattr(self, kind)
            for name in [n for n, e in table.items() if any(e is entry for entry in entries)]:
                del table[name]
        self.plugins.pop(info.name, None)

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


@runtime_checkable
class _Reducer(Protocol):
    """An `execspace.Reducer`, which is built on plugins."""

    kind: str
    array_shape: tuple[int, ...] | None

    def identity_for(self, dtype: Any) -> Any: ...

    def as_result(self, value: Any) -> Any: ...


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
        expected["reducer"] = (_Reducer, "an instance of an execspace.Reducer")
    elif isinstance(entry, TileTable):
        expected["space"] = (str, "the name of a space, or an empty string")
    elif isinstance(entry, ToolEntry):
        expected["factory"] = (Callable, "a function that makes the tool")
    else:
        expected = {"check": (Callable, "a function that returns an execspace.Probe")}
    for field_, (type_, text) in expected.items():
        value = getattr(entry, field_)
        if not isinstance(value, type_) or (type_ is _Reducer and isinstance(value, type)):
            raise PluginError(
                f"{kind} '{name}' of plugin '{plugin}' has {field_} {value!r}; expected {text}."
            )


def _check_version(plugin: str, entry: SpaceEntry) -> None:
    try:
        major, minor = (operator.index(part) for part in entry.api_version)
    except Exception as failure:
        if is_of_program(failure):
            raise
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
    manager: pluggy.PluginManager, point: EntryPoint, info: PluginInfo, registry: Registry
) -> list[warnings.WarningMessage]:
    """Load a plugin into the registry; returns what pluggy said of deprecated hooks."""
    if info.name in registry.plugins:
        raise PluginError(
            f"two plugins are named '{info.name}'; uninstall one of their distributions"
        )
    if not point.is_valid:
        raise PluginError(
            f"the entry point '{info.name}' has the value {point.value!r}; expected a module such "
            f"as 'execspace_{info.name}.plugin'."
        )
    plugin = point.load()
    entries: list[Any] = []
    try:
        with warnings.catch_warnings(record=True) as deprecations:
            warnings.simplefilter("always")
            manager.register(plugin, name=point.name)
        manager.check_pending()
        callers = manager.get_hookcallers(plugin) or []
        # Without a specification: optional hooks, which another version of execspace knows.
        callers = [caller for caller in callers if caller.has_spec()]
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
        return deprecations
    except BaseException:  # also an interruption, after which it is loaded again
        registry.discard(info, entries)
        if manager.is_registered(plugin):
            manager.unregister(plugin)
        raise


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
    if result is None:
        raise PluginError(
            f"{hook} of plugin '{plugin}' returned None; expected an iterable of "
            f"execspace.{expected.__name__} records: yield each of them, or return a list, which "
            f"may be empty."
        )
    try:
        iterator = iter(result)
    except TypeError:
        raise PluginError(
            f"{hook} of plugin '{plugin}' returned {type(result).__name__!r}; expected an iterable "
            f"of execspace.{expected.__name__} records."
        ) from None
    records = list(iterator)  # a generator runs here: what it raises is its own
    for record in records:
        if not isinstance(record, expected):
            raise PluginError(
                f"{hook} of plugin '{plugin}' returned {type(record).__name__!r}; expected "
                f"execspace.{expected.__name__} records."
            )
    return records


class _Loader:
    """The entry points that are not loaded so far, and the registry of those that are."""

    def __init__(self, begin: Callable[[str], None] = lambda name: None) -> None:
        import pluggy  # not before plugins are asked for

        from ..contract import hookspecs

        self.begin = begin
        self.strict = config.get_bool("STRICT")
        self.manager = pluggy.PluginManager(hookspecs.GROUP)
        self.manager.add_hookspecs(hookspecs)
        wanted = config.get_list("PLUGINS")
        points = sorted(entry_points(hookspecs.GROUP), key=lambda p: p.name)
        self.left = [p for p in points if wanted is None or p.name in wanted]
        self.registry = Registry(points={p.name: _info(p) for p in reversed(self.left)})
        self.warned: set[str] = set()  # variables
        self.warn_variables()
        for name in sorted(set(wanted or ()) - set(self.registry.points)):
            text = f"EXECSPACE_PLUGINS names '{name}', which is not installed."
            if self.strict:
                raise PluginError(text)
            warnings.warn(text, PluginWarning, stacklevel=4)

    def warn_variables(self) -> None:
        """Warn of variables that nobody reads; those of plugins that are not loaded may be read."""
        later = tuple(f"{p.name.replace('-', '_').upper()}_" for p in self.left)
        self.warned |= config.warn_unknown(later, self.warned)

    def named(self, name: str) -> None:
        """Load what has the name of an entry point."""
        for point in [p for p in self.left if p.name == name]:
            self._load(point)

    def find(self, kind: str, name: str) -> Any:
        """The record of a name and a kind such as "spaces", or None if there is none.

        The plugin of that name is loaded; if there is none, the others are, until one has it.
        """
        table = getattr(self.registry, kind)
        if name not in table:
            self.named(name)
        broken = self.registry.plugins.get(name)
        if broken is not None and broken.error is not None:
            return table.get(name)
        while name not in table and self.left:
            self._load(self.left[0])
        return table.get(name)

    def everything(self) -> Registry:
        """The registry, with all plugins."""
        if self.left:
            while self.left:
                self._load(self.left[0])
            self.warn_variables()
        return self.registry

    def _load(self, point: EntryPoint) -> None:
        """Load a plugin in isolation; raises where `load` does, and then it is loaded again."""
        if point in self.left:  # or, while it was loaded, a plugin has asked for another
            with held():  # what a plugin imports is not imported again
                self._load_whole(point)

    def _load_whole(self, point: EntryPoint) -> None:
        info, plugins = _info(point), self.registry.plugins
        self.begin(point.name)
        others = ",".join(name for name in self.registry.points if name != point.name)
        text = (
            f"execspace: plugin {info} has been loading for {_PATIENCE:g} s. If it hangs, leave it "
            f"out: EXECSPACE_PLUGINS={others}"
        )
        try:
            self.left.remove(point)  # here, so that no interruption loses it
            with said_if_slow(_PATIENCE, text):
                deprecations = _load_one(self.manager, point, info, self.registry)
        # Whatever else a third party does must not stop the program, sys.exit() included.
        except BaseException as failure:
            if (is_of_program(failure) or self.strict) and point not in self.left:
                self.left.insert(0, point)
            if is_of_program(failure):
                raise
            if self.strict:
                raise PluginError(
                    f"Plugin {info} failed to load: {described(failure)}"
                ) from failure
            taken = point.name in plugins
            key = f"{point.name} ({info.distribution})" if taken else point.name
            plugins[key] = replace(info, error=failure)
            warnings.warn(
                f"execspace plugin {info} failed to load and is left out: "
                f"{described(failure).rstrip('.')}. Set EXECSPACE_STRICT=1 for the traceback.",
                PluginWarning,
                stacklevel=5,
            )
        else:
            _warn_deprecated(info, deprecations)
            _warn_of_tables(self.registry, plugins[point.name])


def _info(point: EntryPoint) -> PluginInfo:
    return PluginInfo(point.name, point.distribution, point.version, module=point.value)


def _warn_of_tables(found: Registry, info: PluginInfo) -> None:
    """Warn of tables of a plugin for spaces that were started before it was loaded."""
    tables = [found.tiles[name] for name in info.tiles if found.tiles[name].space]
    if tables:
        for space in started():
            warn_unused(space, tables)


def warn_unused(space: ExecutionSpace, tables: Iterable[TileTable]) -> None:
    """Warn of tables for a space that takes none; once both are there."""
    name = space.name.partition(":")[0]
    for table in tables:
        if table.space == name and space.tiles is NO_TILES:
            warnings.warn(
                f"Table of tiles '{table.name}' is for space '{name}', which tiles nothing unless "
                f"a policy says so: the table has no effect there.",
                PluginWarning,
                stacklevel=3,
            )


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
    return _Loader(begin).everything()


_lock = new_rlock()
_loader: _Loader | None = None


def _started() -> _Loader:
    """The process's plugins; reads entry points at the first call, and starts tools."""
    global _loader
    if _loader is None:
        with _lock:
            if _loader is None:
                with held():
                    _loader = _Loader()
                try:
                    _attach_tools()
                except BaseException:
                    _loader = None  # so that it raises at every use
                    raise
    return _loader


def registry() -> Registry:
    """The process's registry, with all plugins; for what any of them may have."""
    loader = _started()
    if not loader.left:
        return loader.registry
    with _lock:
        return loader.everything()


def loaded(name: str = "") -> Registry:
    """The process's registry with the plugins that are loaded, and the one of that name."""
    loader = _started()
    if name in loader.registry.points and any(p.name == name for p in loader.left):
        with _lock:
            loader.named(name)
    return loader.registry


def _find(kind: str, name: str) -> Any:
    loader = _started()
    found = getattr(loader.registry, kind).get(name)
    if found is not None:
        return found
    with _lock:
        return loader.find(kind, name)


def find_space(name: str) -> SpaceEntry | None:
    """The space of that name; loads the plugin of that name, or others until one has it."""
    found: SpaceEntry | None = _find("spaces", name)
    return found


def find_reducer(name: str) -> ReducerEntry | None:
    """The reducer of that name; as `find_space`."""
    found: ReducerEntry | None = _find("reducers", name)
    return found


def find_tiles(name: str) -> TileTable | None:
    """The table of tiles of that name; as `find_space`."""
    found: TileTable | None = _find("tiles", name)
    return found


def _attach_tools() -> None:
    chosen = config.get_list("TOOLS")
    if chosen:
        try:
            from ..profiling import runs

            runs.start_for_process(chosen)
        except ToolError as error:
            raise ToolError(f"EXECSPACE_TOOLS: {error}") from error.__cause__


def tool_entries(name: str = "") -> dict[str, ToolEntry]:
    """Profiling tools by name: of all plugins, or of enough of them to have the one of `name`."""
    if name and _find("tools", name) is not None:
        return loaded().tools
    return registry().tools


def forget() -> None:
    """Drop the registry, so that the next use reads entry points and environment again."""
    global _loader
    with _lock:
        _loader = None
        probing.forget()
        from ..profiling import runs

        runs.drop_for_process()


def replaced_tiles(space: str) -> TileTable | None:
    """The table that a plugin gives in place of that of a space."""
    return next((t for t in registry().tiles.values() if t.space == space), None)
