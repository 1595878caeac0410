"""Runs a job of `worker` in a process of its own, so that nothing it does reaches this one.

Third parties' code may raise, print, hang, abort or crash. The job writes what it finds to a
file, line by line, so that what it found before it died is known, and where it was when it did.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import field
from pathlib import Path
from typing import Any

from ..base.dataclass import dataclass


@dataclass
class Outcome:
    """What a job reported, and how its process ended.

    Attributes
    ----------
    events : list of dict
        In the order in which they came; "event" says of what kind each is.
    death : str
        How it ended if not well, as "died of SIGSEGV", and the line of Python where it was; ""
        if it exited with 0.
    """

    events: list[dict[str, Any]] = field(default_factory=list)
    death: str = ""

    def of(self, kind: str) -> list[dict[str, Any]]:
        """The events of a kind."""
        return [event for event in self.events if event["event"] == kind]

    def last(self, kind: str, key: str) -> Any:
        """What the latest event of a kind says of `key`; None if there was none."""
        found = self.of(kind)
        return found[-1][key] if found else None


def run(job: str, *arguments: str, timeout: float, settings: Mapping[str, str]) -> Outcome:
    """Run a job in a fresh interpreter; blocks until it ends, for `timeout` seconds at most.

    `settings` are environment variables that differ from those of this process.
    """
    with tempfile.TemporaryDirectory(prefix="execspace-", ignore_cleanup_errors=True) as name:
        report, log = Path(name, "report"), Path(name, "log")
        command = [sys.executable, "-P", "-X", "faulthandler", "-m", f"{__package__}.worker"]
        with log.open("wb") as output:
            process = subprocess.Popen(
                [*command, str(report), job, *arguments],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                env={**os.environ, **settings},
                start_new_session=True,  # so that children of its own end with it
            )
            try:
                with _guarded(process):
                    code = _waited(process, timeout)
            finally:
                _end(process)
        outcome = Outcome(list(_events(report)))
        if code != 0:
            text = log.read_text(encoding="utf-8", errors="replace")
            outcome.death = _death(code, timeout, text)
        return outcome


# Reads to the end of what this process never writes to: it is there when this process is no more.
_GUARD = "import os, sys; sys.stdin.buffer.read(); os.killpg(int(sys.argv[1]), 9)"


@contextlib.contextmanager
def _guarded(process: subprocess.Popen[bytes]) -> Iterator[None]:
    """Have a process and all that it started killed if this one dies, of whatever it may be."""
    if os.name != "posix":
        yield
        return
    guard = subprocess.Popen(
        [sys.executable, "-I", "-S", "-c", _GUARD, str(process.pid)],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,  # the user's Ctrl-C is for this process, which then ends both
    )
    try:
        yield
    finally:
        guard.kill()  # before the process is waited for, whose number may be another's after that
        guard.communicate()


def _waited(process: subprocess.Popen[bytes], timeout: float) -> int | None:
    """The exit code; None if it has to be ended, which is under way then."""
    try:
        return process.wait(timeout)
    except subprocess.TimeoutExpired:
        _ask_where(process)
        return None


def _ask_where(process: subprocess.Popen[bytes]) -> None:
    """Have faulthandler write where a process hangs; this ends it, if anything still can."""
    if os.name == "posix":
        process.send_signal(signal.SIGABRT)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(2.0)


def _end(process: subprocess.Popen[bytes]) -> None:
    """Kill a process and all that it started; no error if nothing is left."""
    with contextlib.suppress(OSError):
        if hasattr(os, "killpg"):
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()
    process.wait()


def _events(report: Path) -> list[dict[str, Any]]:
    found = []
    with contextlib.suppress(OSError):
        for line in report.read_text(encoding="ascii").splitlines():
            with contextlib.suppress(ValueError):  # half a line: it died while writing
                found.append(json.loads(line))
    return found


def _death(code: int | None, timeout: float, log: str) -> str:
    if code is None:
        text = f"did not end within {timeout:g} s"
    elif code < 0:
        try:
            text = f"died of {signal.Signals(-code).name}"
        except ValueError:
            text = f"died of signal {-code}"
    else:
        text = f"ended with exit code {code}"
    where = _where(log)
    if where:
        return f"{text} in {where}"
    lines = [line for line in log.splitlines() if line.strip()]
    return f"{text} ({lines[-1].strip()[:300]})" if lines and code is not None else text


def _where(log: str) -> str:
    """The innermost line of Python of the thread that crashed, from what faulthandler wrote."""
    stack = re.search(r"^Current thread .*\n((?:  .*\n)+)", log, re.MULTILINE)
    frame = stack and re.search(r'^  File "(.*)", line (\d+) in (.*)$', stack[1], re.MULTILINE)
    return f"{frame[3]}, {frame[1]}:{frame[2]}" if frame else ""
