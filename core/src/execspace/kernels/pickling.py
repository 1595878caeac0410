"""Kernels and what belongs to them in pickles: by name where they can be imported, else by value.

A kernel by value is its function, which only picklers such as cloudpickle take, and the text of the
modules that define it and its helpers: where it arrives, Python may not have their source. No plan
travels.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from importlib import import_module
from operator import attrgetter
from types import CodeType, FunctionType
from typing import Any
from weakref import ref

from .captures import captured_paths, function_of, lookup
from .exec_source import keep, text_of

ANCHOR = "_anchor"  # attribute of a kernel: its function, under a name that leads to the kernel
# Ray and joblib have copies of cloudpickle, each with a registry of its own.
CLOUDPICKLES = "cloudpickle", "ray.cloudpickle", "joblib.externals.cloudpickle"


def anchor_of(fn: FunctionType) -> FunctionType:
    """A copy of a kernel's function whose qualified name is that of the kernel's attribute.

    So a pickler that takes functions by name finds it where it finds the kernel, and one that takes
    them by value decides as it does for other functions of that module.
    """
    copy = FunctionType(fn.__code__, fn.__globals__, fn.__name__, fn.__defaults__, fn.__closure__)
    copy.__kwdefaults__ = fn.__kwdefaults__
    copy.__annotations__ = fn.__annotations__
    copy.__dict__.update(fn.__dict__)
    copy.__doc__ = fn.__doc__
    copy.__module__ = fn.__module__
    copy.__qualname__ = f"{fn.__qualname__}.{ANCHOR}"
    return copy


def imported(module: str, name: str) -> Any:
    """What has a dotted name in a module."""
    return attrgetter(name)(import_module(module))


def named(fn: FunctionType, name: str | None = None) -> Any:
    """What the qualified name of a function, or another in its module, stands for; or None."""
    try:
        return attrgetter(name or fn.__qualname__)(sys.modules[fn.__module__])
    except (AttributeError, KeyError):
        return None


class SourceText:
    """The text of functions that may be pickled by value, and of what they call.

    It is looked up when it is pickled, and known to `exec_source` where it arrives.
    """

    __slots__ = ("functions", "texts")

    def __init__(
        self, functions: tuple[FunctionType, ...], texts: tuple[tuple[str, str], ...] = ()
    ) -> None:
        self.functions = tuple(map(ref, functions))  # no cycle; and they may hold Views
        self.texts = texts

    def __reduce__(self) -> tuple[Any, ...]:
        found = dict.fromkeys(self.texts)
        functions = [f for f in (r() for r in self.functions) if f is not None]
        for fn in _reached(functions, set()):
            if not _importable(fn):
                text = text_of(fn)
                if text is not None:
                    found[fn.__code__.co_filename, text] = None
        return _arrived, (tuple(found),)


def _arrived(texts: tuple[tuple[str, str], ...]) -> SourceText:
    for file, text in texts:
        keep(file, text)
    return SourceText((), texts)


def _reached(functions: Iterable[FunctionType], seen: set[CodeType]) -> Iterator[FunctionType]:
    """Functions and those that they capture, each once."""
    for fn in functions:
        if fn.__code__ in seen:
            continue
        seen.add(fn.__code__)
        yield fn
        captured = (lookup(fn, path) for path in captured_paths(fn))
        yield from _reached([f for value in captured for f in _functions(value)], seen)


def _functions(value: Any) -> Iterator[FunctionType]:
    if isinstance(value, tuple):
        for item in value:
            yield from _functions(item)
    elif (scope := function_of(value)) is not None:
        yield scope.fn
        for argument in scope.bound.values():
            if isinstance(argument, FunctionType | tuple):
                yield from _functions(argument)


def _importable(fn: FunctionType) -> bool:
    """Whether picklers take a function by name, and so need no text of it."""
    module = fn.__module__
    if module in (None, "__main__") or _by_value(module):
        return False
    found = named(fn)
    return getattr(getattr(found, "__wrapped__", found), "__code__", None) is fn.__code__


def _by_value(module: str) -> bool:
    """Whether the user told a cloudpickle to take a module, or a package around it, by value."""
    chosen: set[str] = set()
    for name in CLOUDPICKLES:
        if (cloudpickle := sys.modules.get(name)) is not None:
            chosen |= cloudpickle.list_registry_pickle_by_value()
    parts = module.split(".")
    return any(".".join(parts[:n]) in chosen for n in range(1, len(parts) + 1))
