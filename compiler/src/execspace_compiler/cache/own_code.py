"""A digest of execspace's own code, part of every key on disk.

An entry of the cache holds what the compiler made of a kernel. Other code of the compiler, of the
modules of core that take part, or of a backend may make something else of it, and in an editable
checkout it changes without a new version. So the text of all of it counts. It is looked at once
in a process, when the first kernel is looked up on disk; no launch of a compiled kernel comes here.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import sys
import time
import uuid
from functools import cache
from pathlib import Path

import execspace
from execspace.base import config
from execspace.base.files import read_regular, write_atomically

_MOST = 16
_LARGEST = 1 << 16  # bytes of notes; a line of them has 130

# Of core they tell, measure and manage; nothing that they do reaches what is compiled.
_NO_PART = frozenset(("cli", "profiling", "tuning"))
_TICK = 0.05  # seconds: time stamps of files are coarser than the clock
_SETTLED = 2.0  # seconds: what was written longer ago cannot change again without another stamp

File = tuple[str, str, os.stat_result]  # path, its name within the package, what the system says


@cache
def digest(noted: Path, package: str = "") -> str:
    """Digest of the source of core and compiler, and of a backend's package if one is named.

    Content counts, not time stamps and places, which copies do not keep. It is read where the
    system's notes of the files (size, inode, time of the last change of any kind, which programs
    cannot set) are other ones than before; what was read then is kept in the cache by these notes.

    A file that changed after this process began is another matter: what was imported may be the
    old text. Then nothing is shared with other processes: the digest is one that none of them has.

    Parameters
    ----------
    noted : Path
        File in the cache for notes, and the digest for each.
    package : str
        Import name of a loaded package, such as "execspace_serial".
    """
    files = _files(package)
    if any(_stamp(status) >= config.STARTED - _TICK for _, _, status in files):
        return f"changed-{uuid.uuid4().hex}"
    if os.name != "posix":  # st_ctime is something else there
        return _content(files)
    notes = _notes(files)
    known = _known(noted)
    if notes in known:
        return known[notes]
    found = _content(files)
    if all(_stamp(status) < time.time() - _SETTLED for _, _, status in files):
        lines = [f"{n} {d}" for n, d in [*known.items(), (notes, found)][-_MOST:]]
        with contextlib.suppress(OSError):  # it is read again in the next process
            write_atomically(noted, "\n".join(lines))
    return found


def _known(noted: Path) -> dict[str, str]:
    try:
        rows = [line.split() for line in read_regular(noted, _LARGEST).decode("ascii").splitlines()]
    except (OSError, UnicodeDecodeError):
        return {}
    return {row[0]: row[1] for row in rows if [len(word) for word in row] == [64, 64]}


def _stamp(status: os.stat_result) -> float:
    return max(status.st_mtime, status.st_ctime)


def _notes(files: list[File]) -> str:
    text = "\n".join(
        f"{path} {s.st_size} {s.st_mtime_ns} {s.st_ctime_ns} {s.st_ino} {s.st_dev}"
        for path, _, s in files
    )
    return hashlib.sha256(os.fsencode(text)).hexdigest()


def _content(files: list[File]) -> str:
    found = hashlib.sha256()
    for path, name, _ in files:
        data = Path(path).read_bytes()
        found.update(f"{name} {len(data)}\n".encode())
        found.update(data)
    return found.hexdigest()


def _files(package: str) -> list[File]:
    """All source files that take part."""
    found = _sources("execspace", os.path.dirname(execspace.__file__), _NO_PART)
    found += _sources("execspace_compiler", os.path.dirname(os.path.dirname(__file__)))
    own = getattr(sys.modules.get(package), "__file__", None) if package else None
    if own is not None and os.path.basename(own) == "__init__.py":
        found += _sources(package, os.path.dirname(own))
    elif own is not None:
        found.append((own, package, os.stat(own)))
    return found


def _sources(name: str, folder: str, left_out: frozenset[str] = frozenset()) -> list[File]:
    found: list[File] = []
    with os.scandir(folder) as entries:
        for entry in sorted(entries, key=lambda e: e.name):
            inner = f"{name}/{entry.name}"
            if entry.name in left_out | {"__pycache__"} or entry.name.startswith("."):
                continue
            if entry.is_dir():
                found += _sources(inner, entry.path)
            else:  # Python, and headers that generated source begins with
                found.append((entry.path, inner, entry.stat()))
    return found
