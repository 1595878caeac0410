"""PoCL's own cache in execspace's folder: where it is, and that what is in it was not damaged.

PoCL believes its files, and ends the process over one that is cut off. So their checksums are noted
when a process ends, and compared before the next one loads PoCL; a program that differs is thrown
away, and PoCL builds it again. It ends the process over a full disk, too, so there has to be room.
"""

from __future__ import annotations

import atexit
import contextlib
import hashlib
import json
import os
import re
import shutil
import stat
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path

from execspace.base import config
from execspace.base.files import private_folder, read_regular, write_atomically

_NOTES = "execspace.json"
_OURS = re.compile(r"[A-Z]{2}|tempfile_\w+|_UNCACHED|execspace\.json|\.\w{8}\.tmp")
_PROGRAM = re.compile(r"[A-Z]{20,}")
_ROOM = 16 << 20  # bytes; a program takes about a tenth of a MiB
_UNNOTED = "last_accessed"  # which PoCL touches at each use, and does not read

# By path in the folder: size, times of last change of content and of the file, and checksum.
_Note = tuple[int, int, int, str]


def name_cache() -> None:
    """Tell PoCL of a folder that the user chose for execspace, once nothing in it is damaged.

    It is not told of one that somebody else may write to, for it executes what is in it, or that
    holds anything else.
    """
    chosen = config.get("CACHE_DIR")
    if chosen is None or "POCL_CACHE_DIR" in os.environ:
        return
    with contextlib.suppress(OSError):  # execspace's own cache warns of that
        path = Path(chosen).expanduser()
        folder = private_folder(private_folder(path) / "pocl")
        if not all(_OURS.fullmatch(name) for name in os.listdir(folder)):
            return
        try:
            throw_damaged_away(folder)
            _take_room(folder)
        except OSError as error:
            os.environ["POCL_CACHE_DIR"] = _temporary()
            warnings.warn(
                f"What PoCL compiles cannot be kept in {folder} ({error}); the next process "
                f"compiles it again. Make room there, or set EXECSPACE_CACHE_DIR.",
                stacklevel=4,
            )
        else:
            os.environ["POCL_CACHE_DIR"] = str(folder)
            atexit.register(note_programs, folder)


def _take_room(folder: Path) -> None:
    """Raise OSError if there is no room for some programs."""
    with tempfile.TemporaryFile(dir=folder) as file:
        if hasattr(os, "posix_fallocate"):
            os.posix_fallocate(file.fileno(), 0, _ROOM)


def _temporary() -> str:
    """A folder of this process, deleted at its end; OSError if there is no room either."""
    folder = tempfile.mkdtemp(prefix="execspace-pocl-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    _take_room(Path(folder))
    return folder


def throw_damaged_away(folder: Path) -> None:
    """Delete programs of which a file is not what was noted; all of them without notes.

    A file of which nothing is noted stays: another process may just have made it. But what is no
    regular file is not PoCL's, which waits for ever where it opens a pipe.
    """
    for path in _irregular(folder):
        _delete(path)
    notes = _read(folder / _NOTES)
    if notes is None:
        for name in os.listdir(folder):
            _delete(folder / name)
        write_atomically(folder / _NOTES, _text({}))
        return
    for name, note in notes.items():
        short, program, *_ = Path(name).parts
        place = folder / short / program
        if not (folder / short).is_dir():
            _delete(folder / short)
        elif os.path.lexists(place) and not _is_as_noted(folder / name, note):
            _delete(place)


def note_programs(folder: Path) -> None:
    """Note all files of programs that are there; PoCL has written them by rename."""
    before = _read(folder / _NOTES) or {}
    notes = {}
    for path in _files(folder):
        with contextlib.suppress(OSError):
            name = path.relative_to(folder).as_posix()
            known = before.get(name)
            fresh = known is None or known[:3] != _stamp(path)
            notes[name] = (*_stamp(path), _checksum(path)) if fresh or known is None else known
    if notes != before:
        with contextlib.suppress(OSError):
            write_atomically(folder / _NOTES, _text(notes))


def _files(folder: Path) -> Iterator[Path]:
    for place, _, names in os.walk(folder):
        parts = Path(place).relative_to(folder).parts
        if len(parts) >= 2 and _PROGRAM.fullmatch(parts[1]):
            yield from (Path(place, n) for n in names if n != _UNNOTED)


def _irregular(folder: Path) -> Iterator[Path]:
    """What is neither a file nor a folder: pipes, links, sockets."""
    for place, folders, names in os.walk(folder):
        for name in (*folders, *names):
            path = Path(place, name)
            with contextlib.suppress(OSError):  # another process has thrown it away
                mode = os.lstat(path).st_mode
                if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
                    yield path


def _is_as_noted(path: Path, note: _Note) -> bool:
    try:
        stamp = _stamp(path)
        return stamp == note[:3] or (stamp[0] == note[0] and _checksum(path) == note[3])
    except OSError:
        return False


def _stamp(path: Path) -> tuple[int, int, int]:
    status = os.lstat(path)
    if not stat.S_ISREG(status.st_mode):
        raise OSError(f"{path} is not a file")
    return status.st_size, status.st_mtime_ns, status.st_ctime_ns


def _checksum(path: Path) -> str:
    return hashlib.sha256(read_regular(path)).hexdigest()


def _text(notes: dict[str, _Note]) -> str:
    text = json.dumps(notes)
    return f"{hashlib.sha256(text.encode()).hexdigest()}\n{text}"


def _read(path: Path) -> dict[str, _Note] | None:
    """What was noted; None if there is nothing, or it was damaged."""
    try:
        digest, _, text = read_regular(path).decode().partition("\n")
    except (OSError, UnicodeDecodeError):
        return None
    if hashlib.sha256(text.encode()).hexdigest() != digest:
        return None
    return {name: (n[0], n[1], n[2], n[3]) for name, n in json.loads(text).items()}


def _delete(path: Path) -> None:
    """Delete a file, a link or a folder of PoCL's."""
    with contextlib.suppress(OSError):
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink()
