"""Records of cache misses: why kernels were compiled.

Each kernel has one small file in the folder ``history`` of a kind of entries, written when
something is compiled, and read by `explain` and ``execspace cache misses``. A launch that finds its
entry does not touch it. A file that cannot be read is ignored and overwritten.
"""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Iterator, Mapping
from enum import Enum
from pathlib import Path
from typing import Any

import numpy as np

from execspace import Kernel, LaunchSpec
from execspace.base.dataclass import dataclass
from execspace.base.files import clear_place
from execspace.base.locks import new_lock
from execspace.kernels.captures import Scope
from execspace.kernels.code_names import code_text

from . import disk
from .sha256 import sha256

_MOST = 16  # misses kept for each kernel
_LONGEST = 120  # characters shown of a value
_writing = new_lock()  # threads may compile one kernel for several types at once

Parts = dict[str, Any]


@dataclass(frozen=True)
class Miss:
    """A launch that was compiled.

    Attributes
    ----------
    kernel : str
        Module and qualified name.
    key : str
        Key of its entry in the cache.
    reason : str
    moment : float
        Seconds since the epoch.
    parts : dict
        What it depends on.
    """

    kernel: str
    key: str
    reason: str
    moment: float
    parts: Parts


def record_miss(
    folder: Path, key: str, kernel: Kernel, spec: LaunchSpec, tools: Mapping[str, str]
) -> None:
    """Record that a launch was compiled, and why; call it after compilation.

    Parameters
    ----------
    folder : Path
        Folder of the entry, from `disk.folder`.
    key : str
        The entry's name.
    kernel, spec
        As compiled.
    tools : mapping
        All else that the machine code depends on, by name: "llvmlite" -> "0.45".
    """
    path, name = _place(folder, kernel)
    parts = _parts(kernel, spec, tools)
    with _writing:
        known = _read(path)
        made = Miss(name, key, _reason(key, parts, known), time.time(), parts)
        try:
            text = json.dumps([vars(m) for m in (*known, made)[-_MOST:]])
        except RecursionError:  # damaged
            text = json.dumps([vars(made)])
        with contextlib.suppress(OSError):  # only the record is lost
            clear_place(path.parent, folder=True)
            path.parent.mkdir(0o700, exist_ok=True)
            clear_place(path)
            disk.write(path, text)


def describe_entry(folder: Path, key: str, kernel: Kernel, hit: str) -> tuple[str, str]:
    """A plan's attribute `cache`: the key of its entry, and where that was found.

    `hit` is "in this process" or "on disk", or empty if it was compiled.
    """
    misses = (m for m in reversed(_read(_place(folder, kernel)[0])) if m.key == key)
    last = next(misses, None)
    if not hit:
        return key, f"miss: {last.reason}" if last else "miss: no note of the reason is left"
    return key, f"hit {hit}; last miss: {last.reason}" if last else f"hit {hit}"


def misses(folder: Path) -> Iterator[Miss]:
    """All misses recorded in the folder of a kind of entries."""
    for path in sorted((folder / disk.HISTORY).glob("*.json")):
        yield from _read(path)


def _place(folder: Path, kernel: Kernel) -> tuple[Path, str]:
    """The file of a kernel, and its name; lambdas are distinguished by their lines."""
    fn = kernel.fn
    name, code = f"{fn.__module__}.{fn.__qualname__}", fn.__code__
    line = str(code.co_firstlineno) if fn.__name__ == "<lambda>" else ""
    digest = disk.digest(name, code.co_filename, line)
    return folder / disk.HISTORY / f"{digest}.json", f"{name}:{line}" if line else name


def _read(path: Path) -> list[Miss]:
    try:
        found = [Miss(**m) for m in json.loads(disk.contents(path))]
        for m in found:
            texts = isinstance(m.key, str) and isinstance(m.reason, str)
            if not (texts and isinstance(m.kernel, str) and isinstance(m.parts, dict)):
                return []
            time.localtime(m.moment)
    except (OSError, ValueError, TypeError, OverflowError, RecursionError):
        return []
    return found


def _parts(kernel: Kernel, spec: LaunchSpec, tools: Mapping[str, str]) -> Parts:
    """What a launch depends on, as JSON."""
    functions, constants = {}, {}
    for c in spec.captures:
        if c.argument is None:
            if isinstance(c.value, Scope):
                functions[c.name] = _digest(code_text(c.value.fn.__code__))
            else:
                constants[c.name] = _shown(c.value)
    return {
        "text": _digest(code_text(kernel.fn.__code__)),
        "functions": functions,
        "constants": constants,
        "pattern": f"parallel_{spec.pattern}",
        "policy": {k: repr(v) for k, v in vars(spec.policy).items()},
        "arguments": [str(a) for a in spec.arguments],
        "results": [str(v) for v in spec.out],
        "reducer": repr(spec.reducer),
        "options": {"fma": str(kernel.fma), "fastmath": str(kernel.fastmath)},
        "tools": dict(tools),
    }


def _digest(text: str) -> str:
    return sha256(text.encode()).hexdigest()[:16]


def _shown(value: Any) -> str:
    """A captured value; for objects only the type, since their repr may not be stable."""
    if isinstance(value, tuple):
        return f"({', '.join(map(_shown, value))})"
    if isinstance(value, Scope):
        return value.fn.__qualname__
    plain = bool | int | float | complex | str | np.generic | np.dtype | Enum | None
    if isinstance(value, plain):
        text = repr(value.item() if isinstance(value, np.generic) else value)
        return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}... ({_digest(text)})"
    return getattr(value, "__qualname__", None) or type(value).__qualname__


def _reason(key: str, parts: Parts, known: list[Miss]) -> str:
    """Why a launch was not in the cache: how it differs from the most similar one that was."""
    if not known:
        return "first time this kernel is seen"
    # Of equally similar ones, the latest.
    differences = min((_differences(m.parts, parts) for m in reversed(known)), key=len)
    if differences:
        return "; ".join(differences)
    if any(m.key == key for m in known):
        return "its entry was deleted, or could not be read"
    return (
        "another text of the same launch: for other ranges or Views that overlap, or made by "
        "another execspace"
    )


def _differences(old: Parts, new: Parts) -> list[str]:
    """Differences between two launches, for people."""
    found = []
    if old.get("text") != new["text"]:
        found.append("the kernel's text changed")
    before = _table(old, "functions")
    changed = [n for n, v in new["functions"].items() if before.get(n, v) != v]
    found += [f"the text of function '{n.replace('/', '.')}' changed" for n in changed]
    if old.get("pattern") != new["pattern"]:
        found.append(f"launched by {new['pattern']}, before by {old.get('pattern')}")
    found += [f"policy: {c}" for c in _changes(old, new, "policy")]
    found += _types(old, new, "arguments", "argument")
    found += _types(old, new, "results", "result View")
    constants = _changes(old, new, "constants")
    found += [f"constant {c}" for c in constants]
    if old.get("reducer") != new["reducer"]:
        found.append(f"reducer changed from {old.get('reducer')} to {new['reducer']}")
    found += [f"option {c}" for c in _changes(old, new, "options")]
    tools = _changes(old, new, "tools")
    if tools:
        found.append(f"space, compiler, flags or device changed: {', '.join(tools)}")
    return found


def _table(parts: Parts, name: str) -> dict[str, Any]:
    found = parts.get(name)
    return found if isinstance(found, dict) else {}


def _changes(old: Parts, new: Parts, name: str) -> list[str]:
    before, after = _table(old, name), new[name]
    return [
        f"'{n.replace('/', '.')}' changed from {before[n]} to {v}"
        for n, v in after.items()
        if n in before and before[n] != v
    ]


def _types(old: Parts, new: Parts, name: str, word: str) -> list[str]:
    before, after = old.get(name), new[name]
    if not isinstance(before, list) or len(before) != len(after):
        return [f"other {word}s: ({', '.join(after)})"]
    return [
        f"type of {word} {n} changed from {a} to {b}"
        for n, (a, b) in enumerate(zip(before, after, strict=True))
        if a != b
    ]
