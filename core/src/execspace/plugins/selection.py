"""Which space is meant: argument > `use_space` > EXECSPACE_DEFAULT > priority.

A space that the user names and that cannot be used raises. An automatic choice passes over
unusable spaces and remembers why; `es.spaces()` shows it. Of a space that the environment or
priority chooses without its device, each rank of a host takes one of its own (rank_devices.py).
"""

from __future__ import annotations

import copyreg
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from ..base import config
from ..base.brief import brief
from ..base.errors import (
    ConfigError,
    PluginError,
    PluginWarning,
    SpaceError,
    SpaceUnavailableError,
    UnknownSpaceError,
)
from ..base.forks import forks_wait
from ..base.frames import program_level
from ..base.interrupts import held
from ..base.locks import new_rlock
from ..contract.entries import Probe, SpaceEntry
from ..contract.memory import HOST, MemorySpace
from ..contract.space import ExecutionSpace
from ..events.launches import MADE
from . import registry as plugins
from . import started
from .probing import described, is_late, is_of_program
from .rank_devices import choice_for
from .space_list import SpaceInfo, SpaceList

__all__ = [
    "default_space",
    "space",
    "spaces",
    "use_memory",
    "use_space",
]

# Read directly by the launch path: the space of the innermost `use_space`, or None.
CURRENT: ContextVar[ExecutionSpace | None] = ContextVar("execspace_current", default=None)

# The memory of the innermost `use_memory`, or None.
_memory: ContextVar[str | None] = ContextVar("execspace_memory", default=None)
KINDS = ("device", "shared", "pinned", "host")
_NO_KIND: tuple[None, str] = (None, "")
_memory_of_process: tuple[str | None, str] | None = None  # as EXECSPACE_MEMORY has it

_lock = new_rlock()
_failures: dict[str, str] = {}  # why spaces did not start, for `es.spaces()`
_default: ExecutionSpace | None = None


def spaces() -> list[SpaceInfo]:
    """All announced spaces, best first, with the reason for each that is not usable.

    Also lists plugins that failed to load. Probes each space; starts none. The list is shown as a
    table.
    """
    return SpaceList(_rows())


def _rows() -> Iterator[SpaceInfo]:
    """The rows of `spaces()`, each space probed when its row is asked for."""
    found = plugins.registry()
    for entry in sorted(found.spaces.values(), key=lambda e: (-e.priority, e.name)):
        answer = plugins.probe(entry)
        if answer.usable and entry.name in _failures:
            answer = Probe(False, f"it failed to start: {_failures[entry.name]}")
        yield SpaceInfo(entry.name, answer.usable, answer.reason, entry.priority, entry.summary)
    for p in found.plugins.values():
        if p.error is not None:
            reason = f"plugin failed to load: {described(p.error)}"
            yield SpaceInfo(p.name, False, reason, 0, p.distribution)


def target_space(name: str) -> ExecutionSpace:
    """A space that compiles for a kind of device, such as "gfx942", and launches nothing.

    Raises
    ------
    UnknownSpaceError
        If no plugin knows such a device.
    SpaceUnavailableError
        If there is no compiler for it.
    """
    if not isinstance(name, str):
        raise UnknownSpaceError(f"target={brief(name)}; expected a string such as 'gfx942'.")
    for registry in (plugins.loaded, plugins.registry):  # the latter loads the others
        entries = registry().spaces.values()
        for entry in entries:
            found = entry.target(name)
            if found is not None:
                return found
    raise UnknownSpaceError(
        f"target={brief(name)}: none of the spaces {', '.join(sorted(e.name for e in entries))} "
        f"knows such a device. Without target= a kernel is compiled for the space of its policy."
    )


def space(name: str) -> ExecutionSpace:
    """The execution space of that name, e.g. ``"openmp"`` or ``"cuda:1"``.

    Raises
    ------
    UnknownSpaceError
        If no installed plugin provides it.
    SpaceUnavailableError
        If it cannot be used here; the message says why and what to do.
    PluginError
        If its plugin gave it another name.
    """
    if not isinstance(name, str):
        raise UnknownSpaceError(f"{brief(name)} is not the name of a space; expected a string.")
    made: ExecutionSpace | None = MADE.get(name)
    if made is not None:
        return made
    with forks_wait():
        return _started(name)


def _started(name: str) -> ExecutionSpace:
    """The space of a name, which loads plugins and starts it."""
    base, _, device = name.partition(":")
    entry = plugins.find_space(base)
    if entry is None:
        raise _unknown(base, plugins.loaded())
    answer = plugins.probe(entry)
    if not answer.usable:
        raise SpaceUnavailableError(f"Space '{name}' is not usable: {answer.reason}")
    with _lock:
        if name not in MADE:
            _settle_checks()
            with held():  # what a factory imports or starts is not begun again
                MADE[name] = _make(entry, name, device or None)
        found: ExecutionSpace = MADE[name]
        return found


def _settle_checks() -> None:
    """Read EXECSPACE_CHECK for good; ConfigError if it names a space that is not installed."""
    for item in config.checks():
        name = item.partition(":")[2]
        if name and plugins.find_space(name) is None:
            raise ConfigError(
                f"EXECSPACE_CHECK={item}: space '{name}' is not installed; `execspace info` lists "
                f"the spaces."
            )
    config.keep_checks()


def _make(entry: SpaceEntry, name: str, device: str | None) -> ExecutionSpace:
    """Call a space's factory, and note why it failed if it did."""
    try:
        made = entry.factory(device)
    except SpaceError as failure:
        _failures[name] = str(failure)
        raise
    except BaseException as failure:  # sys.exit() in a factory ends no program
        if is_of_program(failure):
            raise
        cause = described(failure).rstrip(".")
        _failures[name] = cause
        raise SpaceUnavailableError(
            f"Space '{name}' failed to start: {cause}. "
            f"Choose another with EXECSPACE_DEFAULT or space=..."
        ) from failure
    if not isinstance(made, ExecutionSpace):
        raise SpaceUnavailableError(
            f"Space '{name}' failed to start: its factory returned {made!r}, expected an "
            f"execspace.ExecutionSpace."
        )
    _check_name(made, entry, name)
    plugins.warn_unused(made, plugins.loaded().tiles.values())
    copyreg.pickle(type(made), _by_name)
    return made


def _check_name(made: ExecutionSpace, entry: SpaceEntry, asked: str) -> None:
    """Raise PluginError for a space that `asked` gave and that has not the name of its entry.

    What follows a colon is the space's to say: "cuda:0" is "cuda".
    """
    given = getattr(made, "name", None)
    if isinstance(given, str):
        base, colon, device = given.partition(":")
        if base == entry.name and bool(colon) == bool(device):
            return
    got = "no name" if given is None else f"the name {given!r}"
    _failures[asked] = f"its factory made a space with {got}"
    raise PluginError(
        f"Space '{asked}' failed to start: its factory made a space with {got}; expected "
        f"'{entry.name}', or '{entry.name}:device' of another device. This is a defect of its "
        f"plugin."
    )


def _by_name(made: ExecutionSpace) -> Any:
    """How a space is pickled: where it arrives, the space of that name is meant."""
    if MADE.get(made.name) is not made:
        return made.__reduce__()
    return space, (made.name,)


def _unknown(name: str, found: plugins.Registry) -> UnknownSpaceError:
    broken = found.plugins.get(name)
    if broken is not None and broken.error is not None:
        return UnknownSpaceError(
            f"Space '{name}' is not available: its plugin ({broken.distribution} "
            f"{broken.version}) failed to load: {described(broken.error)}"
        )
    known = ", ".join(f"'{n}'" for n in sorted(found.spaces)) or "none"
    # A slip of the fingers only: the name of a space that was uninstalled may be similar, too.
    from difflib import get_close_matches

    close = get_close_matches(name, found.spaces, n=1, cutoff=0.75)
    hint = (
        f"Did you mean '{close[0]}'?"
        if close
        else "Spaces come from plugins; section Install of execspace's README lists those of its "
        "repository."
    )
    return UnknownSpaceError(f"Space '{name}' is not installed; installed spaces: {known}. {hint}")


_KINDS_OF_SPACES: set[type] = set()  # classes of spaces, as they come


def resolve(spec: str | ExecutionSpace) -> ExecutionSpace:
    """Turn a `space=` argument into a space."""
    if type(spec) in _KINDS_OF_SPACES:  # an abstract class takes long to say so
        return spec  # type: ignore[return-value]
    if isinstance(spec, ExecutionSpace):
        _KINDS_OF_SPACES.add(type(spec))
        return spec
    if isinstance(spec, str):
        return space(spec)
    raise UnknownSpaceError(
        f"space={brief(spec)} is not a space; expected a name such as 'openmp' or an "
        f"ExecutionSpace."
    )


def default_space() -> ExecutionSpace:
    """The space used where none is named: innermost `use_space`, environment, priority.

    Raises
    ------
    UnknownSpaceError, SpaceUnavailableError
        If every space in EXECSPACE_DEFAULT fails, or no space at all is usable.
    """
    current = CURRENT.get()
    return current if current is not None else _process_default()


def _process_default() -> ExecutionSpace:
    global _default
    if _default is None:
        with _lock:
            if _default is None:
                with forks_wait():
                    _default = _from_environment() or _by_priority()
    return _default


def _from_environment() -> ExecutionSpace | None:
    names = config.get_list("DEFAULT")
    if not names:
        return None
    failures: list[SpaceError] = []
    for name in names:
        try:
            return space(name) if ":" in name else _space_for_rank(name)
        except SpaceError as failure:
            failures.append(failure)
    reasons = " ".join(str(f) for f in failures)
    raise type(failures[0])(f"EXECSPACE_DEFAULT={','.join(names)}: {reasons}")


def _space_for_rank(name: str) -> ExecutionSpace:
    """The space of a name without a device; under a launcher, that of this rank's device."""
    entry = plugins.find_space(name)
    if entry is None or not plugins.probe(entry).usable:
        return space(name)  # which raises
    try:
        choice = choice_for(entry)
        found = space(choice.name)
    except (SpaceError, PluginError) as failure:
        _failures.setdefault(name, str(failure))  # `es.spaces()` has one row for all devices
        raise
    if choice.warning:
        warnings.warn(choice.warning, stacklevel=program_level())
    return found


def _by_priority() -> ExecutionSpace:
    reasons = []
    for row in _rows():  # probes none that is worse than the one it takes
        if row.usable and row.priority >= 0:
            try:
                return _space_for_rank(row.name)
            except (SpaceError, PluginError) as failure:
                reasons.append(str(failure))
                warnings.warn(
                    f"{failure} The next best space is taken.", PluginWarning, stacklevel=4
                )
        elif not row.usable:
            reasons.append(f"'{row.name}': {row.reason}")
            if is_late(row.name):  # or nobody would know what the time was spent on
                warnings.warn(
                    f"Space '{row.name}' is passed over: {row.reason}, and EXECSPACE_PLUGINS "
                    f"leaves its plugin out.",
                    PluginWarning,
                    stacklevel=4,
                )
    chosen = config.get("PLUGINS")
    if not reasons and chosen is not None:
        raise SpaceUnavailableError(
            f"No execution space is usable: of the plugins that are installed, "
            f"EXECSPACE_PLUGINS={chosen!r} takes none that has a space. Unset it, or add the name "
            f"of one, as EXECSPACE_PLUGINS=serial."
        )
    why = "; ".join(reasons) or "no plugin is installed"
    raise SpaceUnavailableError(
        f"No execution space is usable ({why}). Install one from a checkout of execspace: "
        f"pip install -e compiler -e plugins/serial."
    )


@contextmanager
def use_space(spec: str | ExecutionSpace) -> Iterator[ExecutionSpace]:
    """Make a space the default within a `with` block, for this thread or task only.

    Examples
    --------
    >>> import execspace as es
    >>> with es.use_space("serial"):
    ...     es.default_space().name
    'serial'
    """
    chosen = resolve(spec)
    token = CURRENT.set(chosen)
    try:
        yield chosen
    finally:
        CURRENT.reset(token)


@contextmanager
def use_memory(kind: str) -> Iterator[None]:
    """Choose the memory of new Views within a `with` block, for this thread or task only.

    Views whose `memory=` is given, and mirrors on the host, are where they would be anyway.

    Parameters
    ----------
    kind : {"device", "shared", "pinned", "host"}
        As `View` takes it: with "shared" the host reads and writes Views after a `fence`, whatever
        the space. EXECSPACE_MEMORY says the same for a whole program.

    Raises
    ------
    SpaceError
        If there is no such kind. A View on a space that has no memory of that kind raises it, too.

    Examples
    --------
    >>> import execspace as es
    >>> with es.use_memory("shared"):
    ...     x = es.View(3)
    >>> x.memory_space.host_accessible
    True
    """
    if not isinstance(kind, str) or kind not in KINDS:
        raise SpaceError(
            f"use_memory: {kind!r} is not a kind of memory; expected one of "
            f"{', '.join(map(repr, KINDS))}."
        )
    token = _memory.set(kind)
    try:
        yield
    finally:
        _memory.reset(token)


def _chosen_memory() -> tuple[str | None, str]:
    """The kind of memory that `use_memory` or EXECSPACE_MEMORY asks for, and which of them does."""
    kind = _memory.get()
    if kind is not None:
        return kind, f"es.use_memory({kind!r})"
    global _memory_of_process
    if _memory_of_process is None:
        kind = config.get("MEMORY") or ""
        if kind and kind not in KINDS:
            raise ConfigError(
                f"EXECSPACE_MEMORY={kind!r} is not a kind of memory; expected one of "
                f"{', '.join(KINDS)}."
            )
        _memory_of_process = (kind, f"EXECSPACE_MEMORY={kind}") if kind else _NO_KIND
    return _memory_of_process


def memory_for(
    spec: str | ExecutionSpace | None, memory: str | MemorySpace | None = None
) -> tuple[MemorySpace, ExecutionSpace | None, str]:
    """Memory space, owning space and preferred layout for a new View.

    Raises
    ------
    SpaceError
        If the space has no memory of that name or kind.
    """
    if memory is None and _memory.get() is None and _memory_of_process is _NO_KIND:
        named = CURRENT.get() if spec is None else spec
        if named is None:
            named = _default
        if type(named) in _KINDS_OF_SPACES:
            usual: Any = named
            return usual.memory_space, usual, usual.default_layout
    if isinstance(memory, MemorySpace):
        owner = None if spec is None else resolve(spec)
        return memory, owner, "right" if owner is None else owner.default_layout
    if memory is not None and not isinstance(memory, str):
        raise SpaceError(
            f"memory={brief(memory)} is not a memory space; expected a name, a kind such as "
            f"'shared', or a MemorySpace."
        )
    asked = ""
    if memory is None:
        memory, asked = _chosen_memory()
    if spec is None and CURRENT.get() is None and _is_bare():
        if memory is None or memory == HOST.name or memory in HOST.kinds:
            return HOST, None, "right"  # core without any backend still has host memory
    chosen = default_space() if spec is None else resolve(spec)
    if memory is None:
        return chosen.memory_space, chosen, chosen.default_layout
    for found in chosen.memory_spaces:
        if memory == found.name or memory in found.kinds:
            return found, chosen, chosen.default_layout
    if memory == "host":
        return HOST, None, "right"
    known = ", ".join(f"'{m.name}' ({', '.join(sorted(m.kinds))})" for m in chosen.memory_spaces)
    raise SpaceError(
        f"{asked}{': ' if asked else ''}Space '{chosen.name}' has no memory {brief(memory)}; "
        f"expected a name or kind of {known}."
    )


def _is_bare() -> bool:
    """Whether there is no backend at all."""
    if _default is not None or plugins.loaded().spaces:
        return False
    if config.get_list("DEFAULT") and plugins.loaded().points:
        return False  # the plugins of these names will do
    return not plugins.registry().spaces


def forget() -> None:
    """Drop every choice made, so that environment and plugins are read again."""
    global _default, _memory_of_process
    with _lock:
        _memory_of_process = None
        started.forget()
        config.forget_checks()
        _failures.clear()
        _default = None
        plugins.forget()
