"""Ctrl-C waits while something is under way that cannot be begun a second time.

An import of a large library or the first start of a compiler that is broken off half-way leaves
modules behind that no later import completes. So an interrupt is noted meanwhile, and is passed on
when the work is done. One who presses Ctrl-C again does not want to wait: that goes through.
"""

from __future__ import annotations

import signal
from collections.abc import Callable
from types import FrameType, TracebackType
from typing import Any


class _Waiting:
    """A handler of SIGINT that keeps the first from the one whose place it takes."""

    def __init__(self, handler: Callable[[int, FrameType | None], Any]) -> None:
        self.handler = handler
        self.noted: tuple[int, FrameType | None] | None = None
        self.is_over = False  # somebody may have kept this handler, and put it back later

    def __call__(self, number: int, frame: FrameType | None) -> None:
        if self.is_over or self.noted is not None:
            self.noted = None
            self.handler(number, frame)
        else:
            self.noted = number, frame


class held:
    """Hold Ctrl-C back within a `with` block: the program's handler is called at its end.

    The second Ctrl-C within goes through at once. On other threads than the main one, where Python
    handles no signals, and where the handler is none of Python's, this does nothing; nor does one
    block within another. A handler that was set within stays, and is the one that is called.
    """

    def __init__(self) -> None:
        self._waiting: _Waiting | None = None

    def __enter__(self) -> None:
        handler = signal.getsignal(signal.SIGINT)
        within = isinstance(handler, _Waiting) and not handler.is_over
        if within or not callable(handler) or isinstance(handler, signal.Handlers):
            return
        waiting = _Waiting(handler)
        try:
            signal.signal(signal.SIGINT, waiting)
        except ValueError:  # not the main thread of the main interpreter
            return
        self._waiting = waiting

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        waiting, self._waiting = self._waiting, None
        if waiting is None:
            return
        waiting.is_over = True
        now: Any = signal.getsignal(signal.SIGINT)
        if now is waiting:
            now = waiting.handler
            signal.signal(signal.SIGINT, now)
        noted, waiting.noted = waiting.noted, None
        if noted is not None and callable(now) and not isinstance(now, signal.Handlers):
            now(*noted)
