"""What sanitizers have reported in this process, with the lines of generated source that it is
about.

They know nothing of libraries that were loaded after their first report; addr2line does.
"""

from __future__ import annotations

import ctypes
import os
import re
import subprocess
from pathlib import Path

from . import machine

TEXTS: dict[str, tuple[Path, str]] = {}  # of each library that was loaded: where it is, its text
_TOLD = 6000  # characters of reports that an error repeats
_FRAME = re.compile(r"^( +#\d+).*?\(\S*?(kernels\d+\.so)\+(0x[0-9a-f]+)\).*$", re.MULTILINE)
_LINE = re.compile(r"(?:kernel\.\w+|<stdin>):(\d+)")
_read: dict[Path, int] = {}  # bytes that were told of


def _files() -> list[Path]:
    prefix = os.environ.get("HIP_ON_HOST_LOG")
    if not prefix:
        return []
    return [Path(f"{prefix}{more}.{os.getpid()}") for more in ("", "-undefined", "-late")]


def begin() -> None:
    """Have UBSan write into a file; GCC has it in a library that does not look at its own path."""
    prefix = os.environ.get("HIP_ON_HOST_LOG")
    if machine.sanitizer() == "address" and prefix:
        loaded = [p for p in os.environ.get("LD_PRELOAD", "").split() if "libubsan" in p]
        if not loaded:
            raise RuntimeError(
                "HIP_ON_HOST_SANITIZER=address wants libasan and libubsan in LD_PRELOAD, which has "
                "no libubsan; start the process with run.py."
            )
        ctypes.CDLL(loaded[0]).__sanitizer_set_report_path(f"{prefix}-undefined".encode())


def news() -> str:
    """What was reported since this was last asked."""
    told = ""
    if machine.sanitizer():
        for path in _files():
            size = path.stat().st_size if path.exists() else 0
            before = _read.get(path, 0)
            if size > before:
                _read[path] = size
                with path.open("rb") as file:
                    file.seek(before)
                    told += file.read(size - before).decode(errors="replace")
    return _placed(told[:_TOLD]) if told else ""


def _placed(report: str) -> str:
    """With the lines of the text that addresses in kernels belong to."""
    wanted: dict[str, dict[str, str]] = {}
    for _, library, address in _FRAME.findall(report):
        if library in TEXTS:
            wanted.setdefault(library, {})[address] = ""
    for library, addresses in wanted.items():
        path, text = TEXTS[library]
        addresses.update(zip(addresses, _lines(path, text, list(addresses)), strict=True))

    def place(frame: re.Match[str]) -> str:
        found = wanted.get(frame[2], {}).get(frame[3])
        return frame[0] if found is None else f"{frame[1]} {found}"

    return _FRAME.sub(place, report)


def _lines(path: Path, text: str, addresses: list[str]) -> list[str]:
    """Of each address in a library the function, the place, and the line if it is of the text."""
    command = ["addr2line", "-C", "-f", "-s", "-e", str(path), *addresses]
    own = {k: v for k, v in os.environ.items() if k != "LD_PRELOAD"}
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=own)
    told = done.stdout.splitlines()
    found = []
    for name, where in zip(told[::2], told[1::2], strict=True):
        line = _LINE.search(where)
        shown = f"\n        {text.splitlines()[int(line[1]) - 1].strip()}" if line else ""
        found.append(f"{name} {where}{shown}")
    return found
