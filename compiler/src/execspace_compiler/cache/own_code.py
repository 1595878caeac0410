"""A digest of execspace's own code, part of every key on disk.

An entry of the cache is the compiler's output for a kernel. It depends on the code of the compiler,
of the modules of core that take part, and of the backend, and in an editable checkout code changes
without a new version. So the digest covers all source. It is computed once in a process, when the
first kernel is looked up on disk; launches of compiled kernels do not come here.
"""

from __future__ import annotations

import contextlib
import os
import sys
import time
from functools import cache
from pathlib import Path

import execspace
from execspace.base import config
from execspace.base.files import read_regular, write_atomically
from execspace.base.locks import new_rlock

from .sha256 import sha256

_MOST = 16
_LARGEST = 1 << 16  # bytes of the file of stamps; a line of it has 130

# Folders of core that do not affect generated code.
_IRRELEVANT = frozenset(("cli", "profiling", "tuning"))
_TICK = 0.05  # seconds: time stamps of files are coarser than the clock
_SETTLED = 2.0  # seconds: a file written earlier cannot change without a new stamp

_reading = new_rlock()  # a handler of a signal may launch

File = tuple[str, str, os.stat_result]  # path, name within the package, stat


@cache
def digest(record: Path, package: str = "") -> str:
    """Digest of the source of core and compiler, and of a backend's package if `package` is given.

    It covers contents, not time stamps and paths, which copies do not keep. Files are read only if
    their stamps (size, inode, time of the last change of any kind, which programs cannot set)
    differ from those before; the cache keeps the digests by these stamps.

    If a file changed after this process began, the imported code may be the old one. Then nothing
    is shared with other processes: the digest is unique.

    Parameters
    ----------
    record : Path
        File in the cache with stamps, and the digest for each.
    package : str
        Import name of a loaded package, such as "execspace_serial".
    """
    if package:
        parts = digest(record, ""), _digest(record, package)
        return sha256(" ".join(parts).encode()).hexdigest()
    with _reading:  # one thread reads the files; others find their digest by the stamps
        return _digest(record, "")


def _digest(record: Path, package: str) -> str:
    """The same, of core and compiler, or of a backend's package alone."""
    files = _files(package)
    if any(_stamp(status) >= config.STARTED - _TICK for _, _, status in files):
        return f"changed-{os.urandom(16).hex()}"
    if os.name != "posix":  # st_ctime has another meaning there
        return _content(files)
    stamps = _stamps(files)
    known = _known(record)
    if stamps in known:
        return known[stamps]
    found = _content(files)
    if all(_stamp(status) < time.time() - _SETTLED for _, _, status in files):
        lines = [f"{n} {d}" for n, d in [*known.items(), (stamps, found)][-_MOST:]]
        with contextlib.suppress(OSError):  # the next process then reads the files again
            write_atomically(record, "\n".join(lines))
    return found


def _known(record: Path) -> dict[str, str]:
    try:
        text = read_regular(record, _LARGEST).decode("ascii")
    except (OSError, UnicodeDecodeError):
        return {}
    rows = [line.split() for line in text.splitlines()]
    return {row[0]: row[1] for row in rows if [len(word) for word in row] == [64, 64]}


def _stamp(status: os.stat_result) -> float:
    return max(status.st_mtime, status.st_ctime)


def _stamps(files: list[File]) -> str:
    text = "\n".join(
        f"{path} {s.st_size} {s.st_mtime_ns} {s.st_ctime_ns} {s.st_ino} {s.st_dev}"
        for path, _, s in files
    )
    return sha256(os.fsencode(text)).hexdigest()


def _content(files: list[File]) -> str:
    try:
        from _blake2 import blake2b  # hashlib loads OpenSSL, which takes longer than this
    except ImportError:
        from hashlib import blake2b

    found = blake2b(digest_size=32)
    for path, name, _ in files:
        with open(path, "rb", buffering=0) as file:
            data = file.read()
        found.update(f"{name} {len(data)}\n".encode())
        found.update(data)
    return found.hexdigest()


def _files(package: str) -> list[File]:
    """The source files of a backend's package, or else of core and compiler."""
    if not package:
        found = _sources("execspace", os.path.dirname(execspace.__file__), _IRRELEVANT)
        return found + _sources("execspace_compiler", os.path.dirname(os.path.dirname(__file__)))
    own = getattr(sys.modules.get(package), "__file__", None)
    if own is None:
        return []
    if os.path.basename(own) == "__init__.py":
        return _sources(package, os.path.dirname(own))
    return [(own, package, os.stat(own))]


def _sources(name: str, folder: str, left_out: frozenset[str] = frozenset()) -> list[File]:
    found: list[File] = []
    with os.scandir(folder) as entries:
        for entry in sorted(entries, key=lambda e: e.name):
            inner = f"{name}/{entry.name}"
            if entry.name in left_out | {"__pycache__"} or entry.name.startswith("."):
                continue
            if entry.is_dir():
                found += _sources(inner, entry.path)
            else:  # Python, and headers of generated source
                found.append((entry.path, inner, entry.stat()))
    return found
