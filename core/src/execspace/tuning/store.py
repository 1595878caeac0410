"""Tuned choices on disk: one JSON file for each device, replaced as a whole.

A file that cannot be read is not a reason to fail: it counts as empty, with one warning, and the
next choice that is kept replaces it.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import re
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from ..base import config
from ..base.dataclass import dataclass
from ..base.files import clear_place, read_regular, write_atomically
from ..base.locks import new_rlock
from ..base.version import __version__

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]
from ..contract.records import Choice
from .choices import choice_of

_FORMAT = 2
_LARGEST = 1 << 26  # bytes; a record has some hundred
_OURS = re.compile(r".*-[0-9a-f]{12}\.json")  # other files in the folder are somebody else's
_lock = new_rlock()
_read: dict[str, dict[str, Record]] = {}  # by device


@dataclass(frozen=True, slots=True)
class Record:
    """What tuning found for a kernel and a class of shapes on a device.

    Attributes
    ----------
    kernel : str
        Its name; shown, not compared.
    shapes : str
        Class of shapes.
    types : str
        Of its arguments; shown, not compared.
    choice : Choice
        Empty: the default was the best.
    default_seconds, seconds : float
        Medians of a launch without the choice and with it.
    date : str
        ISO 8601.
    """

    kernel: str
    shapes: str
    types: str
    choice: Choice
    default_seconds: float
    seconds: float
    date: str


def key_of(kernel: str, shapes: str) -> str:
    """Key of a record among those of a device."""
    return f"{kernel} {shapes}"


def records(device: str) -> Mapping[str, Record]:
    """What is kept of a device."""
    with _lock:
        path = _path(device)
        at = str(path)
        if at not in _read:
            _read[at] = _load(path, device)
        return _read[at]


def keep(device: str, key: str, record: Record) -> None:
    """Keep a record in place of an earlier one; what other processes kept meanwhile stays.

    Raises
    ------
    OSError
        If the folder cannot be written.
    """
    with _lock:
        path = _path(device)
        path.parent.mkdir(parents=True, exist_ok=True)
        with _alone(path.parent):
            _change(path, device, key, record)
        config.forget_tuned()


def _change(path: Path, device: str, key: str, record: Record) -> None:
    found = _load(path, device) | {key: record}
    document = {
        "format": _FORMAT,
        "version": _version(),
        "device": device,
        "records": {k: _as_json(r) for k, r in sorted(found.items())},
    }
    clear_place(path)
    write_atomically(path, json.dumps(document, indent=1))
    _read[str(path)] = found


def everything() -> dict[str, dict[str, Record]]:
    """All records by device and key."""
    found = {}
    for path in _files():
        document = _document(path)
        device = "" if document is None else str(document["device"])
        if document is not None and path == _path(device):  # not a copy by another name
            found[device] = _load(path, device)
    return found


def _files() -> list[Path]:
    folder = config.tuning_folder()
    return sorted(p for p in folder.glob("*.json") if _OURS.fullmatch(p.name))


@contextlib.contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Keep other processes from changing files of the folder, where the system has such locks."""
    clear_place(folder / ".lock")
    with open(folder / ".lock", "ab") as file:
        if fcntl is not None:
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def clear(device: str | None = None, kernel: str | None = None) -> int:
    """Forget records, of one device or of kernels of one name only; returns how many."""
    with _lock:
        if device is None and kernel is None:  # also what cannot be read
            count = sum(map(len, everything().values()))
            for path in _files():
                clear_place(path)
                path.unlink(missing_ok=True)
            forget()
            return count
        count = 0
        for name, found in everything().items():
            gone = [k for k, r in found.items() if kernel in (None, r.kernel)]
            if device not in (None, name) or not gone:
                continue
            document = _document(_path(name))
            assert document is not None
            for k in gone:
                del document["records"][k]
            write_atomically(_path(name), json.dumps(document, indent=1))
            count += len(gone)
        forget()
    return count


def forget() -> None:
    """Read files again when they are next asked for."""
    with _lock:
        _read.clear()
        config.forget_tuned()


def _version() -> str:

    return __version__


def _path(device: str) -> Path:
    short = "".join(c if c.isalnum() else "-" for c in device)[:40].strip("-")
    digest = hashlib.sha256(device.encode()).hexdigest()[:12]
    return config.tuning_folder() / f"{short}-{digest}.json"


def _as_json(record: Record) -> dict[str, Any]:
    return asdict(record) | {"choice": record.choice.options()}


def _document(path: Path) -> dict[str, Any] | None:
    """The content of a file; None if there is none, or another version has written it."""
    try:
        document = json.loads(read_regular(path, _LARGEST))
        if not isinstance(document["records"], dict) or not isinstance(document["device"], str):
            raise TypeError("'records' is not an object, or 'device' no text")
        same = (document["format"], document["version"]) == (_FORMAT, _version())
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        warnings.warn(
            f"Tuned choices in {path} cannot be read and are not used ({type(error).__name__}: "
            f"{error}). Remove them: execspace tune clear.",
            stacklevel=6,
        )
        return None
    return document if same else None


def _load(path: Path, device: str) -> dict[str, Record]:
    document = _document(path)
    if document is None or document.get("device") != device:
        return {}
    found = {}
    for key, entry in document["records"].items():
        with contextlib.suppress(TypeError, ValueError, KeyError):  # of a file edited by hand
            record = Record(**(entry | {"choice": choice_of(entry["choice"])}))
            texts = (record.kernel, record.shapes, record.types, record.date)
            times = (record.seconds, record.default_seconds)
            if all(isinstance(t, str) for t in texts) and all(0 < s < float("inf") for s in times):
                found[key] = record
    return found
