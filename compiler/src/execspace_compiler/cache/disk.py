"""The on-disk cache of compiled kernels that all backends share.

Entries are named by the SHA-256 of everything that they depend on. They are written by rename, so
that readers never see half a file, and sealed with a checksum, so that damaged entries are deleted
and compiled again. If an entry cannot be written, there is one warning. When the folder exceeds
its size limit, the least recently used entries are deleted.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import re
import stat
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import platformdirs

import execspace
from execspace.base import config
from execspace.base.files import (
    UntrustedFolderError,
    clear_place,
    private_folder,
    read_regular,
    write_atomically,
)
from execspace.base.frames import program_level
from execspace.base.locks import new_rlock

from . import own_code
from .sha256 import sha256

write = write_atomically  # for files that are not entries

# Tags a folder as a cache, as backup programs know it: https://bford.info/cachedir/
TAG = "CACHEDIR.TAG"
_TAG_TEXT = """Signature: 8a477f597d28d172789f06886806bc55
# Kernels compiled by execspace; may be deleted at any time, for example by execspace cache clear.
"""
HISTORY = "history"
"""Folder of misses next to the entries of a kind; see `cache.history`."""

# Names from `key`, and of files that were being written when their process ended.
_ENTRY = re.compile(r"(execspace_)?[0-9a-f]{40}(-[0-9a-f]{16})?\.[a-z0-9]{1,8}")
_UNFINISHED = re.compile(r"\.\w+\.tmp")
_ASIDE = re.compile(r"set-aside-\w+")  # of `clear_place`
_STALE = 3600.0  # seconds after which such a file is abandoned
_KIND = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")
# A path that cannot be a folder: reads miss, and writes are lost.
_NOWHERE = Path(os.devnull, "execspace")

_lock = new_rlock()
_replaced: dict[str, Path] = {}  # folders that cannot be used -> their replacements
_full: set[Path] = set()  # folders for which a warning of failed writes was given


def key(*parts: str, package: str = "") -> str:
    """Name of an entry: a digest of all that it depends on.

    These are the parts, the code of execspace itself, and the code of `package`, a backend.
    """
    return digest(*parts, code(package))


def code(package: str = "") -> str:
    """The digest of the code of execspace, and of a backend's package if `package` is given."""
    return own_code.digest(_digests_file(), package)


def _digests_file() -> Path:
    """File with digests of code; `folder` warns if files cannot be written at all."""
    name = f"{digest('code')}.txt"
    try:
        return _own(location() / "code") / name
    except OSError:
        return _NOWHERE / name


def compiler_version() -> str:
    """Version and digest of execspace, for records of why something was compiled."""
    return f"{execspace.__version__} ({code()[:12]})"


def digest(*parts: str) -> str:
    """A short digest of a sequence of strings."""
    found = sha256()
    for part in parts:
        data = part.encode()
        found.update(len(data).to_bytes(8, "little"))
        found.update(data)
    return found.hexdigest()[:40]


def location() -> Path:
    """The folder of the cache, which may not exist: EXECSPACE_CACHE_DIR, or the user's."""
    chosen = config.get("CACHE_DIR") or platformdirs.user_cache_dir("execspace", appauthor=False)
    return Path(chosen).expanduser()


def folder(kind: str) -> Path:
    """Folder for entries of one kind, created if needed.

    It is in `location()`, and other users must not be able to write to it, since its contents are
    executed. If that is impossible, a temporary folder takes its place, with one warning; entries
    then last until the process ends. A folder with files that this function did not create is not
    used.

    Raises
    ------
    ValueError
        If `kind` is not the name of a folder.
    ConfigError
        If EXECSPACE_CACHE_SIZE is not a size, even if nothing needs to be deleted.
    """
    size_limit()
    if not _KIND.fullmatch(kind):
        raise ValueError(f"{kind!r} is not a kind of entry; expected letters, digits, '_', '-'.")
    path = location() / kind
    with _lock:
        known = _replaced.get(str(path))
        if known is not None:
            return known
        try:
            return _own(path)
        except OSError as error:
            used = _replaced[str(path)] = _temporary(kind)
            untrusted = isinstance(error, UntrustedFolderError)
            warnings.warn(
                f"Cache folder {path} {'is not used' if untrusted else 'cannot be written'} "
                f"({error}); compiled kernels are lost when the process ends. Set "
                f"EXECSPACE_CACHE_DIR to a folder of your own.",
                stacklevel=program_level(),
            )
            return used


def _own(path: Path) -> Path:
    """The folder, tagged as the cache's; OSError if it is not, or cannot be."""
    try:
        str(path).encode()
    except UnicodeEncodeError:  # drivers take file names as str
        raise UntrustedFolderError("its name is not text in UTF-8") from None
    root = private_folder(path.parent)  # stricter than for parents of private folders
    if path.is_symlink():
        raise UntrustedFolderError("it is a symbolic link")
    found = private_folder(root / path.name)
    if not is_tagged(found):
        if not _may_tag(found):
            raise UntrustedFolderError("it holds files, and was not made by execspace")
        clear_place(found / TAG)
        write_atomically(found / TAG, _TAG_TEXT)
    return found


def _may_tag(path: Path) -> bool:
    """Whether a folder is empty, or the cache's with a damaged or missing tag."""
    names = set(os.listdir(path))
    others = names - {TAG, HISTORY}
    if not all(any(p.fullmatch(n) for p in (_ENTRY, _UNFINISHED, _ASIDE)) for n in others):
        return False
    entries = [path / name for name in others if _ENTRY.fullmatch(name)]
    for entry in entries:
        with contextlib.suppress(OSError):
            if _unsealed(entry.name, contents(entry)) is not None:
                return True
    return TAG in names or not entries


def _temporary(kind: str) -> Path:
    """A folder of this process, deleted when it ends."""
    import shutil  # with tempfile 2 ms, for processes that have no folder to keep
    import tempfile

    try:
        made = Path(tempfile.mkdtemp(prefix=f"execspace-{kind}-"))
    except OSError:  # on a full disk this fails, too
        return _NOWHERE
    owner = os.getpid()

    def clear() -> None:
        if os.getpid() == owner:  # not a forked child
            shutil.rmtree(made, ignore_errors=True)

    atexit.register(clear)
    try:
        return private_folder(made)
    except OSError:  # the folder of temporary files is not ours to use
        return _NOWHERE


def is_tagged(path: Path) -> bool:
    """Whether `folder` created that folder; files in others must not be deleted."""
    try:
        return contents(path / TAG) == _TAG_TEXT.encode()
    except OSError:
        return False


# -- entries --------------------------------------------------------------------------------------


def keep(path: Path, content: str | bytes) -> bool:
    """Write an entry atomically; returns whether that worked. If not, there is one warning.

    It is sealed: `read` accepts it only under this name, and only if no byte has changed.
    """
    data = content if isinstance(content, bytes) else content.encode()
    place = path.parent
    try:
        clear_place(path)
        write_atomically(path, data + _seal(path.name, data))
        _written(path, len(data) + _SEAL_LENGTH)
    except OSError as error:
        if place not in _full and not place.is_relative_to(_NOWHERE):
            _full.add(place)
            warnings.warn(
                f"Compiled kernels cannot be kept in {place} ({error}); the next process compiles "
                f"them again. Make room there, or set EXECSPACE_CACHE_DIR.",
                stacklevel=program_level(),
            )
        return False
    return True


def of_text(parts: tuple[str, ...], make: Callable[[], bytes]) -> bytes:
    """Machine code of hosts that depends on nothing but some texts: what is kept, or made now.

    Execspace's own code, part of other names, need not be read for it.
    """
    path = folder("host") / f"{digest(*parts)}.o"
    code = read(path)
    if code is None:
        code = make()
        keep(path, code)
    return code


def read(path: Path) -> bytes | None:
    """The content of an entry, or None; a damaged entry is deleted."""
    try:
        data = contents(path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError:
        discard(path)
        return None
    content = _unsealed(path.name, data)
    if content is None:
        discard(path)
    return content


def read_text(path: Path) -> str | None:
    """As `read`, for an entry that was written as text."""
    data = read(path)
    try:
        return None if data is None else data.decode()
    except UnicodeDecodeError:
        discard(path)
        return None


def holds_entries(path: Path, ending: str) -> bool:
    """Whether there is an entry with an ending such as ".bin" in a folder of entries."""
    with contextlib.suppress(OSError), os.scandir(path) as found:
        return any(entry.name.endswith(ending) for entry in found)
    return False


def is_kept(path: Path) -> bool:
    """Whether later processes find an entry: it is there, in a folder that outlives this one."""
    with _lock:
        return path.parent not in _replaced.values() and path.is_file()


def discard(path: Path) -> None:
    """Delete an unusable entry; `keep` moves entries that cannot be deleted."""
    with contextlib.suppress(OSError):
        path.unlink()


def _seal(name: str, content: bytes) -> bytes:
    """Bytes after the content of an entry, which loaders of programs and Python ignore."""
    digest = sha256(f"{name}\n".encode() + content).hexdigest()
    return f"\n# execspace {digest}\n".encode()


_SEAL_LENGTH = len(_seal("", b""))


def _unsealed(name: str, data: bytes) -> bytes | None:
    content = data[:-_SEAL_LENGTH]
    return content if data[len(content) :] == _seal(name, content) else None


def contents(path: Path) -> bytes:
    """Bytes, without the seal, of a regular file that others cannot write; otherwise OSError."""
    return read_regular(path, own=True)


def files(path: Path) -> Iterator[tuple[Path, os.stat_result]]:
    """The files that this cache has written to a folder of entries, without the tag."""
    if not is_tagged(path):
        return
    for place in (path, path / HISTORY):
        if place.is_symlink():
            continue
        with contextlib.suppress(OSError), os.scandir(place) as found:
            for entry in found:
                with contextlib.suppress(OSError):  # deleted in the meantime
                    status = entry.stat(follow_symlinks=False)
                    given_up = time.time() - status.st_mtime > _STALE
                    ours = _ENTRY.fullmatch(entry.name) or (
                        given_up and _UNFINISHED.fullmatch(entry.name)
                    )
                    if ours and stat.S_ISREG(status.st_mode):
                        yield Path(entry.path), status


def size_limit() -> int:
    """Maximum size of a folder of entries in bytes: EXECSPACE_CACHE_SIZE."""
    return (config.get_int("CACHE_SIZE") or 1024) * 2**20


# Of a folder: the bytes in it when it was last listed and those written since, and how many entries
# may be written until it is listed again, for other processes write there, too. Threads that write
# at once may lose a count, as those of processes are.
_sizes: dict[Path, tuple[int, int]] = {}
_UNSEEN = 64


def _written(path: Path, size: int) -> None:
    """Note what was written to a folder."""
    known = _sizes.get(path.parent)
    if known is not None:
        _sizes[path.parent] = known[0] + size, known[1] - 1


def limit_size(root: Path) -> None:
    """Delete least recently used entries until the folder is within EXECSPACE_CACHE_SIZE.

    Listing a folder of thousands of entries takes longer than compiling a kernel. So while this
    process has written few since it last did, and all of it is within the limit, it does not.
    """
    limit = size_limit()
    known, left = _sizes.get(root, (0, 0))
    if left > 0 and known <= limit:
        return
    found = [(max(s.st_atime, s.st_mtime), s.st_size, file) for file, s in files(root)]
    total = sum(size for _, size, _ in found)
    for _, size, file in sorted(found):
        if total <= limit:
            break
        with contextlib.suppress(OSError):
            file.unlink()
            total -= size
    _sizes[root] = total, _UNSEEN
