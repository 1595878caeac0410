"""A few threads of the host that copy memory beside the one that asks for it.

They are started when they are first needed, wait for work without cost, and are daemons: they hold
nothing that must be given back. None runs after the interpreter's exit functions, nor in a child.
"""

from __future__ import annotations

import atexit
import os
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from queue import Empty, SimpleQueue
from typing import Any, Generic, TypeVar

import numpy as np
import numpy.typing as npt

MOST_THREADS = 8  # at one copy: more gain nothing, for memory is the limit then
_PATIENCE = 1.0  # seconds that the end of the program waits for a thread
_POLL = 0.01
_LEAST = 1 << 22  # bytes of an array that several threads copy
_SLICE = 1 << 20

T = TypeVar("T")
Task = Callable[[], None]


def usable_cores() -> int:
    """Cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def usable_threads() -> int:
    """Threads for one copy, the one that asks for it among them."""
    return min(usable_cores(), MOST_THREADS)


class Workers:
    """Threads that do tasks, which must not raise.

    Nobody may count on a task being done soon, or at all: in a forked child, and when the program
    ends, there are no threads.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._threads: list[threading.Thread] = []
        self._tasks: SimpleQueue[Task | None] = SimpleQueue()
        self._ended = False

    def give(self, task: Task, times: int) -> None:
        """Have a task done so many times, each in a thread of its own if it is free."""
        if len(self._threads) < times:
            self._start(times)
        for _ in range(min(times, len(self._threads))):
            self._tasks.put(task)

    def _start(self, count: int) -> None:
        with self._lock:
            if self._ended:
                return
            if not self._threads:
                atexit.register(self._end)
                if hasattr(os, "register_at_fork"):
                    os.register_at_fork(after_in_child=self._forget)
            while len(self._threads) < count:
                name = f"execspace copies {len(self._threads)}"
                thread = threading.Thread(target=_work, args=(self._tasks,), name=name, daemon=True)
                try:
                    thread.start()
                except RuntimeError:  # the system has no more, or the interpreter ends
                    return
                self._threads.append(thread)

    def _end(self) -> None:
        with self._lock:
            self._ended = True
            threads, self._threads = self._threads, []
        for _ in threads:
            self._tasks.put(None)
        for thread in threads:
            thread.join(_PATIENCE)

    def _forget(self) -> None:
        """In a child, which has none of the threads, and maybe a lock that one of them held."""
        self._lock = threading.Lock()
        self._threads, self._tasks, self._ended = [], SimpleQueue(), True


def _work(tasks: SimpleQueue[Task | None]) -> None:
    while (task := tasks.get()) is not None:
        task()
        del task  # with what it holds, which may be large


WORKERS = Workers()


class Job(Generic[T]):
    """Pieces of work that several threads take, one after the other, until none is left.

    Parameters
    ----------
    pieces : iterable
    work : callable
        Does a piece.
    prepare : callable, optional
        What a helping thread does before.
    """

    def __init__(
        self,
        pieces: Iterable[T],
        work: Callable[[T], Any],
        prepare: Callable[[], None] = lambda: None,
    ) -> None:
        self.pieces = deque(pieces)
        self._do, self._prepare = work, prepare
        # Of helpers: who has begun is told before the first piece is taken, so that whoever sees no
        # piece left knows for whom to wait. Helpers that come later find nothing to do.
        self._begun: list[None] = []
        self._ended: list[None] = []
        self._errors: list[BaseException] = []
        self._news: SimpleQueue[None] = SimpleQueue()

    def run(self, helpers: int, work: Callable[[T], Any] | None = None) -> None:
        """Do it with so many threads more, none of which is at it any more when it comes back.

        `work` is what the calling thread does with a piece, if that is something else. Raises the
        first error of whoever had one.
        """
        try:
            if helpers > 0:
                WORKERS.give(self._help, helpers)
            self._take(work or self._do)
            self._await_helpers()
        except BaseException:  # Ctrl-C among them, which comes to this thread only
            self.pieces.clear()
            while True:
                try:
                    self._await_helpers()
                    break
                except KeyboardInterrupt:
                    continue  # the memory is not the caller's before they have ended
            raise
        if self._errors:
            raise self._errors[0]

    def taken(self) -> Iterator[T]:
        """The pieces that nobody has begun, each of which the caller is to do."""
        while True:
            try:
                piece = self.pieces.popleft()
            except IndexError:
                return
            yield piece

    def _take(self, work: Callable[[T], Any]) -> None:
        for piece in self.taken():
            work(piece)

    def _await_helpers(self) -> None:
        while len(self._ended) < len(self._begun):
            try:
                self._news.get(timeout=_POLL)
            except Empty:
                continue

    def _help(self) -> None:
        self._begun.append(None)
        try:
            if self.pieces:
                self._prepare()
                self._take(self._do)
        except BaseException as error:  # for the thread that asked
            self._errors.append(error)
            self.pieces.clear()
        finally:
            self._ended.append(None)
            self._news.put(None)


def copy_array(target: npt.NDArray[Any], source: npt.NDArray[Any]) -> None:
    """Assign all elements, in several threads if they are many; warnings are as in one."""
    helpers = usable_threads() - 1
    if target.nbytes < _LEAST or not helpers:
        target[...] = source
        return
    longest = max(range(target.ndim), key=lambda d: target.shape[d])
    length = target.shape[longest]
    step = max(1, length * _SLICE // target.nbytes)
    settings: Any = np.geterr()  # which each thread has its own of

    def work(first: int) -> None:
        at = (slice(None),) * longest + (slice(first, first + step),)
        with np.errstate(**settings):
            target[at] = source[at]

    Job(range(0, length, step), work).run(helpers)
