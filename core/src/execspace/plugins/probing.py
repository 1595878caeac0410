"""Asking a space whether it can be used here, with a time limit.

A probe runs on a daemon thread, because nothing else gets a hanging driver's call off the
program's back. One that has not answered in time counts as "not usable"; its thread is left
behind, and if it answers later, later questions get that answer. "Usable" is remembered;
a space that was not usable is asked again, because its user may have done what it said.
"""

from __future__ import annotations

import contextlib
import sys
import threading
import time
from collections.abc import Iterator
from functools import cache

from ..base import config
from ..contract.entries import Probe, SpaceEntry


@cache
def processor() -> str:
    """The host's processor in words."""
    import platform
    from pathlib import Path

    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        lines = []
    named = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(named, "") or platform.processor() or platform.machine() or "a processor"


def described(failure: BaseException) -> str:
    """Type and text of an exception, on which a third party's `__str__` may fail, too."""
    try:
        text = str(failure)
    except Exception:
        text = "(its text cannot be had: __str__ raised)"
    name = type(failure).__name__
    return f"{name}: {text}" if text else name


def is_of_program(failure: BaseException) -> bool:
    """Whether an exception says nothing of the third party whose code it went through.

    The user's Ctrl-C, and Python's own lack of memory: at the next try all may be well. Where a
    device lacks memory, libraries have exceptions of their own for it.
    """
    return isinstance(failure, KeyboardInterrupt) or type(failure) is MemoryError


@contextlib.contextmanager
def said_if_slow(seconds: float, text: str) -> Iterator[None]:
    """Write a line to standard error if what is within takes longer than that."""

    def say() -> None:
        with contextlib.suppress(Exception):  # there may be no standard error
            sys.stderr.write(f"{text}\n")
            sys.stderr.flush()

    timer = threading.Timer(seconds, say)
    timer.daemon = True
    with contextlib.suppress(RuntimeError):  # the interpreter shuts down
        timer.start()
    try:
        yield
    finally:
        timer.cancel()


class _Question:
    """One call of a probe."""

    def __init__(self, entry: SpaceEntry) -> None:
        self.entry = entry
        self.began = time.monotonic()
        self.answered = threading.Event()
        self.answer = Probe(False)

    def ask(self) -> None:
        try:
            answer = self.entry.probe()
            if isinstance(answer, Probe):
                self.answer = answer
            else:
                self.answer = Probe(
                    False, f"its probe returned {answer!r}, expected execspace.Probe"
                )
        except BaseException as failure:  # also SystemExit: nobody else is on this thread
            self.answer = Probe(False, f"its probe raised {described(failure)}")
        self.answered.set()


# By name of the space: probes that said "usable", and those that did not answer in time.
_kept: dict[str, _Question] = {}


def probe(entry: SpaceEntry) -> Probe:
    """Ask a space whether it is usable; blocks for EXECSPACE_PROBE_TIMEOUT seconds at most.

    Never raises for what the probe does: one that raises, returns something else or does not
    answer in time is "not usable", and the reason says so. After a time-out the same call is
    waited for, not started again. Where no thread can be started, as when the interpreter
    shuts down, the probe runs without a limit.

    Raises
    ------
    ValueError
        If EXECSPACE_PROBE_TIMEOUT is not a number of seconds.
    """
    limit = config.get_seconds("PROBE_TIMEOUT")
    question = _kept.get(entry.name)
    if question is None or question.entry is not entry:
        question = _Question(entry)
        thread = threading.Thread(target=question.ask, name=f"probe of {entry.name}", daemon=True)
        try:
            thread.start()
        except RuntimeError:
            question.ask()
    left = question.began + limit - time.monotonic()
    answered = question.answered.wait(max(left, 0.0))
    if answered and not question.answer.usable:
        _kept.pop(entry.name, None)
    else:
        _kept[entry.name] = question
    if answered:
        return question.answer
    return Probe(
        False,
        f"its probe did not answer within {limit:g} s; EXECSPACE_PROBE_TIMEOUT sets the limit",
    )


def is_late(name: str) -> bool:
    """Whether the probe of the space of that name has not answered in time, nor since."""
    question = _kept.get(name)
    return question is not None and not question.answered.is_set()


def forget() -> None:
    """Ask every space anew."""
    _kept.clear()
