"""Entry points of installed distributions, read without `importlib.metadata` where that suffices.

That module imports parsers of mail and archives, and reads every distribution in full, which takes
a fifth of the time to a program's first launch. Folders with ``*.dist-info`` are read here, by the
same rules; for all else, such as archives on sys.path and finders of others, it is asked.
"""

from __future__ import annotations

import functools
import os
import re
import sys
from importlib import import_module
from importlib.machinery import PathFinder
from typing import Any

from ..base.dataclass import dataclass

_VALUE = re.compile(r"([\w.]+)\s*(?::\s*([\w.]+)\s*)?(?:\[.*\]\s*)?$")  # as the library has it
_SEPARATORS = re.compile(r"[-_.]+")
_ABSENT = (FileNotFoundError, IsADirectoryError, NotADirectoryError, PermissionError)


@dataclass(frozen=True, slots=True)
class EntryPoint:
    """A name and an object of a module, such as ``package.module:name``, and who declares it."""

    name: str
    value: str
    distribution: str
    version: str

    @property
    def is_valid(self) -> bool:
        """Whether the value can name an object or a module."""
        return _VALUE.match(self.value) is not None

    def load(self) -> Any:
        """Import the module, and return it or the object in it."""
        match = _VALUE.match(self.value)
        assert match is not None, self.value
        module, path = match.groups()
        return functools.reduce(
            getattr, (path or "").split(".") if path else (), import_module(module)
        )


class _UnknownForm(Exception):
    """Something that only `importlib.metadata` reads."""


def entry_points(group: str) -> list[EntryPoint]:
    """The entry points of a group, in the order of sys.path; of equal distributions the first."""
    try:
        return _read(group)
    except (_UnknownForm, OSError, ValueError):  # what is broken, it refuses with its own words
        return _asked(group)


def _asked(group: str) -> list[EntryPoint]:
    from importlib import metadata

    found = []
    for point in metadata.entry_points(group=group):
        # Without a file METADATA, name and version are None whatever their types say.
        name, version = (
            (None, None) if point.dist is None else (point.dist.name, point.dist.version)
        )
        found.append(EntryPoint(point.name, point.value, name or "unknown", version or ""))
    return found


def _read(group: str) -> list[EntryPoint]:
    finders = [finder for finder in sys.meta_path if hasattr(finder, "find_distributions")]
    if finders != [PathFinder]:
        raise _UnknownForm
    found: list[EntryPoint] = []
    seen = set()
    for folder in sys.path:
        for name, path in _distributions(folder):
            if name not in seen:
                seen.add(name)
                found += _of_distribution(path, group)
    return found


def _distributions(folder: str) -> list[tuple[str, str]]:
    """The normalised names and the paths of the distributions in a folder."""
    if not isinstance(folder, str):
        raise _UnknownForm
    try:
        children = os.listdir(folder or ".")
    except (FileNotFoundError, PermissionError):
        return []
    except NotADirectoryError:  # an archive
        raise _UnknownForm from None
    if folder.lower().endswith(".egg"):
        raise _UnknownForm
    found = []
    for child in children:
        lower = child.lower()
        if lower.endswith((".dist-info", ".egg-info")):
            name = _SEPARATORS.sub("_", lower[: -len(".dist-info")].partition("-")[0])
            if not name:
                raise _UnknownForm
            found.append((name, os.path.join(folder, child)))
    return found


def _of_distribution(path: str, group: str) -> list[EntryPoint]:
    text = _content(path, "entry_points.txt")
    if group.encode() not in text:
        return []
    pairs = []
    section = ""
    for line in map(str.strip, text.decode().splitlines()):
        if line.startswith("[") and line.endswith("]"):
            section = line.strip("[]")
        elif line and not line.startswith("#") and section == group:
            name, value = line.split("=", 1)
            pairs.append((name.strip(), value.strip()))
    if not pairs:
        return []
    origin = _origin(path)
    return [EntryPoint(name, value, *origin) for name, value in pairs]


def _origin(path: str) -> tuple[str, str]:
    """Name and version of a distribution."""
    text = _content(path, "METADATA") or _content(path, "PKG-INFO")
    found: dict[str, str] = {}
    for line in text.splitlines():
        if line.startswith((b" ", b"\t")):  # goes on with the line before
            continue
        key, colon, value = line.partition(b":")
        if not colon or b" " in key:
            break
        found.setdefault(key.decode().lower(), value.decode().strip())
    return found.get("name") or "unknown", found.get("version", "")


def _content(path: str, name: str) -> bytes:
    try:
        with open(os.path.join(path, name), "rb") as file:
            return file.read()
    except _ABSENT:
        return b""
