"""The on-disk cache of compiled kernels that all backends share.

Entries are named by the SHA-256 of everything that they depend on and written by rename, so
that readers never see half a file. When the folder exceeds its size limit the entries that
were used longest ago go first.
"""

from __future__ import annotations

import contextlib
import hashlib
import tempfile
import warnings
from functools import cache
from pathlib import Path

import platformdirs

import execspace
from execspace import config
from execspace.files import write_whole

from . import own_code

write = write_whole  # entries appear as a whole, or not at all

# Marks a folder of ours; programs that make backups know it: https://bford.info/cachedir/
TAG = "CACHEDIR.TAG"
_TAG_TEXT = """Signature: 8a477f597d28d172789f06886806bc55
# Kernels compiled by execspace; may be deleted at any time, for example by execspace cache clear.
"""


def key(*parts: str, package: str = "") -> str:
    """Name of an entry: a digest of all that it depends on.

    That is the parts, the code of execspace itself, and that of `package`, a backend.
    """
    return digest(*parts, code(package))


def code(package: str = "") -> str:
    """The digest of the code of execspace, and of a backend's package if one is named."""
    return own_code.digest(str(_writable(str(location()))), package)


def made_by() -> str:
    """Version and code of execspace, for notes of why something was compiled."""
    return f"{execspace.__version__} ({code()[:12]})"


def digest(*parts: str) -> str:
    """A short digest of texts and their order."""
    found = hashlib.sha256()
    for part in parts:
        data = part.encode()
        found.update(len(data).to_bytes(8, "little"))
        found.update(data)
    return found.hexdigest()[:40]


def folder(kind: str) -> Path:
    """Folder for entries of one kind, made if need be.

    It is in `location()`. If that cannot be written a temporary folder is used, with one
    warning: nothing then lasts beyond the process.
    """
    path = _writable(str(location())) / kind
    path.mkdir(parents=True, exist_ok=True)
    if not (path / TAG).exists():
        write(path / TAG, _TAG_TEXT)
    return path


def location() -> Path:
    """The folder of the cache, which need not be there: EXECSPACE_CACHE_DIR, or the user's."""
    chosen = config.get("CACHE_DIR") or platformdirs.user_cache_dir("execspace", appauthor=False)
    return Path(chosen).expanduser()


def is_tagged(path: Path) -> bool:
    """Whether `folder` made that folder; nothing else may be deleted."""
    try:
        return (path / TAG).read_text(encoding="utf-8") == _TAG_TEXT
    except (OSError, UnicodeDecodeError):
        return False


@cache
def _writable(chosen: str) -> Path:
    path = Path(chosen)
    try:
        path.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=path):
            return path
    except OSError as error:
        fallback = Path(tempfile.mkdtemp(prefix="execspace-"))
        warnings.warn(
            f"Cache folder {path} cannot be written ({error}); compiled kernels go to {fallback} "
            f"and are lost when the process ends. Set EXECSPACE_CACHE_DIR.",
            stacklevel=4,
        )
        return fallback


def limit_size(root: Path) -> None:
    """Delete the files used longest ago until the folder is within EXECSPACE_CACHE_SIZE."""
    limit = (config.get_int("CACHE_SIZE") or 1024) * 2**20
    files = []
    for path in root.rglob("*"):
        with contextlib.suppress(OSError):
            if path.is_file() and path.name != TAG:
                status = path.stat()
                files.append((max(status.st_atime, status.st_mtime), status.st_size, path))
    total = sum(size for _, size, _ in files)
    for _, size, path in sorted(files):
        if total <= limit:
            return
        with contextlib.suppress(OSError):
            path.unlink()
            total -= size
