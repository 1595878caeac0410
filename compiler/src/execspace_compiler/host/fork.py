"""Parts of a launch on a space's own threads.

Compiled code calls a C function with the parts of a range; here that function calls a Python
function of the space, which passes the parts to a thread pool, a scheduler, or the like.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable
from typing import Any

from execspace import LaunchError

_PART = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64)
_FORK = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64, ctypes.c_void_p)

# Two int64 of a launch, for compiled code: the address of the C function
# `void fork(void (*part)(void *, int64_t), void *data, int64_t parts, void *table)`, and the number
# of its calls that failed.
_TABLE = ctypes.c_int64 * 2


class Fork:
    """Runs the parts of launches through a Python function, for ``Launcher("fork", ...)``.

    Parameters
    ----------
    run : callable
        ``run(part, parts)`` calls ``part(n)`` once for each `n` in ``range(parts)``, in any order
        and on any threads, and returns when all of these calls have returned. ``part(n)`` blocks
        until the part has finished, without holding the GIL. One launch may call `run` several
        times (a scan has two passes), several threads may launch at the same time, and `run` may
        launch kernels itself, also on its own space.

    Notes
    -----
    Exceptions of `run` propagate from the launch; parts that have not started are then dropped, and
    running ones are waited for, because they use the memory of the launch. If `run` returns before
    all parts were called, the launch raises LaunchError.
    """

    def __init__(self, run: Callable[[Callable[[int], None], int], None]) -> None:
        if not callable(run):
            raise TypeError(f"Fork({run!r}): expected a function run(part, parts).")
        self.run = run
        self._callback = _FORK(self._called)
        self._failures: dict[int, BaseException] = {}  # by address of the launch's table

    def _called(self, function: int, data: int, parts: int, table: int) -> None:
        state = _TABLE.from_address(table)
        if state[1] > 1:
            return  # an earlier pass of this launch failed
        team = _Pass(_PART(function), data, parts)
        failure: BaseException | None = None
        try:
            self.run(team.part, parts)
        except BaseException as error:
            failure = error
        while not team.ended:
            try:
                team.end()
            except BaseException as error:
                failure = error
        if failure is None and team.waiting:
            failure = LaunchError(
                f"the space ran {parts - len(team.waiting)} of the {parts} parts of a launch; "
                f"expected its run(part, parts) to call part(n) for each n in range(parts)."
            )
        if failure is None:
            state[1] = 0
        else:
            self._failures[table] = failure


class _Pass:
    """The parts of one pass: those that have not started, and the number of running ones."""

    def __init__(self, call: Callable[[int, int], None], data: int, parts: int) -> None:
        self.call = call
        self.data = data
        self.waiting = set(range(parts))
        self.under_way = 0
        self.over = self.ended = False
        self.changed = threading.Condition()

    def part(self, n: int) -> None:
        with self.changed:
            if self.over:
                return  # the launch was abandoned, and its memory is gone
            if n not in self.waiting:
                raise LaunchError(
                    f"part({n!r}) was called twice, or there is no such part; expected one call "
                    f"for each n in range(parts)."
                )
            self.waiting.remove(n)
            self.under_way += 1
        try:
            self.call(self.data, n)
        finally:
            with self.changed:
                self.under_way -= 1
                self.changed.notify_all()

    def end(self) -> None:
        """Prevent further parts from starting, and wait for running ones."""
        with self.changed:
            self.over = True
            while self.under_way:
                self.changed.wait()
            self.ended = True


def checked_call(call: Callable[..., Any], kernel: str, fork: Fork) -> Callable[..., Any]:
    """A launch that raises if its threads did not run all of it.

    `call` takes as last argument the address of the launch's table. It is of the launch and not of
    the thread, because `run` may launch, too: a scheduler does other work while it waits.
    """
    function = ctypes.cast(fork._callback, ctypes.c_void_p).value or 0

    def launch(bounds: tuple[int, ...], args: tuple[Any, ...]) -> Any:
        table = _TABLE(function, 0)
        address = ctypes.addressof(table)
        try:
            result = call(bounds, (*args, address))
        finally:
            failure = fork._failures.pop(address, None)
        if table[1]:
            if failure is None:  # Python could not call `run`
                failure = LaunchError(f"Kernel '{kernel}': the launch was interrupted.")
            try:
                raise failure
            finally:
                del failure  # whose traceback has this frame
        return result

    return launch
