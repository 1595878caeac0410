"""``execspace cache``: show the folder of compiled kernels, or delete its contents.

Registered with the command line through the entry-point group `"execspace.commands"`. It touches
only files that the cache has named, in folders that it has tagged as its own, whatever
EXECSPACE_CACHE_DIR says.
"""

from __future__ import annotations

import argparse
import contextlib
from dataclasses import field
from datetime import datetime
from pathlib import Path
from typing import Any

from execspace.base.console import add_actions, table, write, write_json
from execspace.base.dataclass import dataclass

from . import disk, history

HELP = """Show the folder of compiled kernels by kind, or delete what is in it.

Kernels that are deleted are compiled again when they are needed; programs that run meanwhile
are not disturbed."""
_ACTIONS = {
    "show": "size and age of what is kept, by kind (host, opencl, ...); the default",
    "clear": "delete it, without a question",
    "misses": "which kernels were compiled last, and why they were not found in it",
    "path": "print the folder",
}
_MOST_MISSES = 50  # shown at most


@dataclass
class Kind:
    """The files of one kind of entry, for instance "host"."""

    name: str
    folder: Path
    files: list[Path] = field(default_factory=list)
    nbytes: int = 0
    oldest: float | None = None
    newest: float | None = None

    def record(self) -> dict[str, Any]:
        """As JSON."""
        return {
            "kind": self.name,
            "files": len(self.files),
            "bytes": self.nbytes,
            "oldest_use": _iso(self.oldest),
            "newest_use": _iso(self.newest),
        }


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_actions(parser, _ACTIONS)["clear"].add_argument(
        "--kind",
        action="append",
        metavar="K",
        help="only this kind of entry, such as host; may be given more than once",
    )


def run(arguments: argparse.Namespace) -> int:
    """Run the command; returns the exit code."""
    root = disk.location()
    as_json = arguments.json
    if arguments.action == "path":
        write_json({"folder": str(root)}) if as_json else write(str(root))
        return 0
    kinds, foreign = _kinds(root)
    if arguments.action == "clear":
        return _clear(root, kinds, arguments.kind, as_json)
    if arguments.action == "misses":
        _show_misses(kinds, as_json)
        return 0
    limit = disk.size_limit()
    if as_json:
        write_json(
            {
                "folder": str(root),
                "limit_bytes": limit,
                "kinds": [kind.record() for kind in kinds],
                "not_ours": foreign,
            }
        )
        return 0
    write(f"folder: {root}" + ("" if root.is_dir() else " (not there yet)"))
    write(f"limit of each kind: {_size(limit)} (EXECSPACE_CACHE_SIZE)")
    if kinds:
        write()
        headers = ["kind", "files", "size", "oldest use", "newest use"]
        table(headers, [_row(kind) for kind in kinds])
    if foreign:
        write(f"not made by this version, left alone: {', '.join(foreign)}")
    return 0


def _row(kind: Kind) -> list[str]:
    ages = [_iso(kind.oldest) or "", _iso(kind.newest) or ""]
    return [kind.name, str(len(kind.files)), _size(kind.nbytes), *ages]


def _kinds(root: Path) -> tuple[list[Kind], list[str]]:
    """Kinds of entries in the cache, and folders next to them that are not the cache's."""
    kinds, foreign = [], []
    for folder in sorted(root.iterdir()) if root.is_dir() else []:
        if not folder.is_dir() or folder.is_symlink():
            continue
        if disk.is_tagged(folder):
            kinds.append(_look(folder))
        else:
            foreign.append(folder.name)
    return kinds, foreign


def _look(folder: Path) -> Kind:
    kind = Kind(folder.name, folder)
    for path, status in disk.files(folder):
        used = max(status.st_atime, status.st_mtime)
        kind.files.append(path)
        kind.nbytes += status.st_size
        kind.oldest = used if kind.oldest is None else min(used, kind.oldest)
        kind.newest = used if kind.newest is None else max(used, kind.newest)
    return kind


def _show_misses(kinds: list[Kind], as_json: bool) -> None:
    """The latest misses, the most recent one last."""
    found = [(m.moment, kind.name, m) for kind in kinds for m in history.misses(kind.folder)]
    found = sorted(found, key=lambda row: row[0])[-_MOST_MISSES:]
    if as_json:
        rows = [
            {"kind": kind, "kernel": m.kernel, "key": m.key, "reason": m.reason, "time": _iso(when)}
            for when, kind, m in found
        ]
        write_json({"misses": rows})
        return
    if not found:
        write("none is known")
    for when, kind, m in found:
        write(f"{_iso(when)} {kind}: {m.kernel}: {m.reason}")


def _clear(root: Path, kinds: list[Kind], names: list[str] | None, as_json: bool) -> int:
    known = [kind.name for kind in kinds]
    for name in names or []:
        if name not in known:
            raise ValueError(
                f"The cache {root} has no entries of kind '{name}'; kinds: "
                f"{', '.join(known) or 'none'}."
            )
    rows: list[dict[str, Any]] = []
    failures: list[str] = []
    for kind in kinds:
        if names is None or kind.name in names:
            deleted, nbytes, failed = _delete(kind)
            rows.append({"kind": kind.name, "files": deleted, "bytes": nbytes})
            failures += failed
    if as_json:
        write_json({"folder": str(root), "deleted": rows, "failures": failures})
    else:
        for row in rows:
            write(f"{row['kind']}: {row['files']} files deleted, {_size(row['bytes'])}")
        if not rows:
            write(f"nothing to delete in {root}")
        for text in failures:
            write(f"not deleted: {text}")
    return 1 if failures else 0


def _delete(kind: Kind) -> tuple[int, int, list[str]]:
    """Number and bytes of the files deleted, and files that could not be deleted."""
    deleted, nbytes, failures = 0, 0, []
    for path in kind.files:
        try:
            status = path.lstat()
            path.unlink()
        except FileNotFoundError:
            continue
        except OSError as error:
            failures.append(str(error))
            continue
        deleted += 1
        nbytes += status.st_size
    with contextlib.suppress(OSError):  # not empty, or not there
        (kind.folder / disk.HISTORY).rmdir()
    return deleted, nbytes, failures


def _size(nbytes: int) -> str:
    for unit, size in (("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10)):
        if nbytes >= size:
            return f"{nbytes / size:.1f} {unit}"
    return f"{nbytes} bytes"


def _iso(moment: float | None) -> str | None:
    """A time as ISO 8601, in the local time zone."""
    if moment is None:
        return None
    return datetime.fromtimestamp(moment).astimezone().isoformat(timespec="seconds")
